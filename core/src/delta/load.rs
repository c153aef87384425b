//! How much of a node is in use.

use crate::ids::{Name, TimeMs};

/// A measurement of the load of a node. A newer one replaces it, and it counts until it is too old.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLoadFacts {
    /// Name of the node.
    pub node: Name,
    /// How much of it is in use.
    pub usage: MeasuredUsage,
    /// When that was measured.
    pub measured: TimeMs,
    /// The time it is a mean over, in milliseconds: the load of a pod that had been running for that long
    /// is in it.
    pub window_ms: i64,
}

/// CPU and memory in use, as the source of a measurement tells them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MeasuredUsage {
    /// Milli-cpu and bytes of memory.
    Amounts([i64; 2]),
    /// Parts of what the node has, each in thousandths of a percent.
    Shares([i64; 2]),
}
