//! What queues used of late.

use crate::ids::Name;

/// The part of the cluster a queue used of late: of cpu, of memory and of GPUs, each in millionths.
pub type UsedParts = [u64; 3];

/// What a queue used of late, by somebody's record. A newer word replaces it, and until then it counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PastUseFacts {
    /// Name of the queue.
    pub queue: Name,
    /// What it used.
    pub parts: UsedParts,
}
