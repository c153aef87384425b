//! What the loop reacts to, all through one channel: changes of the cluster, calls that failed,
//! leadership, configuration, the request to stop.

use std::time::Instant;

use muster_core::delta::ClusterDelta;

use crate::config::Parsed;
use crate::objects::ObjectKind;

/// Something the loop reacts to.
#[derive(Debug)]
pub enum LoopEvent {
    /// An object changed, or a call failed for good.
    Delta {
        /// The change.
        delta: ClusterDelta,
        /// When this process heard of it.
        heard: Instant,
    },
    /// What queues used of late was read for the first time.
    UsageKnown,
    /// Every object of the kind that existed at the start has been sent.
    Listed(ObjectKind),
    /// This process may decide from now on, or no longer.
    Leadership(Leadership),
    /// The configuration file has a new, valid text.
    Config(Box<NewConfig>),
    /// The process is to end.
    Stop,
}

/// May this process decide?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Leadership {
    /// It decides and issues calls.
    Leads,
    /// Another process does.
    Follows,
}

/// A configuration that was read and found valid.
#[derive(Debug)]
pub struct NewConfig {
    /// What it says.
    pub parsed: Parsed,
    /// Hash of its text.
    pub hash: u64,
}

impl From<ClusterDelta> for LoopEvent {
    fn from(delta: ClusterDelta) -> Self {
        Self::Delta { delta, heard: Instant::now() }
    }
}
