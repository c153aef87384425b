//! What the loop is told, all through one channel: changes of the cluster, outcomes of calls,
//! leadership, configuration, the wish to stop.

use std::time::Instant;

use muster_core::delta::ClusterDelta;

use crate::config::Parsed;
use crate::objects::ObjectKind;

/// Something the loop must know of.
#[derive(Debug)]
pub enum News {
    /// An object changed, or a call failed for good.
    Delta {
        /// The change.
        delta: ClusterDelta,
        /// When this process heard of it.
        heard: Instant,
    },
    /// Every object of a kind that existed at the start has been told.
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
    /// Another one does.
    Follows,
}

/// A configuration that was read and found valid.
#[derive(Debug)]
pub struct NewConfig {
    /// What it says.
    pub parsed: Parsed,
    /// Tells texts apart.
    pub hash: u64,
}

impl From<ClusterDelta> for News {
    fn from(delta: ClusterDelta) -> Self {
        Self::Delta { delta, heard: Instant::now() }
    }
}
