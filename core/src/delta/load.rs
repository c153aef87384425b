//! How much of a node is in use.

use crate::ids::{Name, TimeMs};

/// What somebody measured of a node. It is known until something newer is, and counts until it is old.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeLoadFacts {
    /// Name of the node.
    pub node: Name,
    /// How much of it is in use.
    pub usage: MeasuredUsage,
    /// When that was measured.
    pub measured: TimeMs,
    /// Over how long a time it was measured, in milliseconds: a pod that had been running for so long is
    /// in it.
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
