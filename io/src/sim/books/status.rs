//! What a pod is doing, as its object says.

use muster_core::delta::{PodFacts, PodPhase};

use super::held_node;

/// What a pod is doing, as the objects say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum PodStatus {
    /// Waits for a node.
    Pending,
    /// Waits, with room held for it.
    Pipelined,
    /// Has a node, does not run yet.
    Bound,
    /// Runs.
    Running,
    /// Is leaving.
    Releasing,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// Its node stopped reporting.
    Unknown,
}

impl PodStatus {
    /// The word used in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Pipelined => "Pipelined",
            Self::Bound => "Bound",
            Self::Running => "Running",
            Self::Releasing => "Releasing",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Unknown => "Unknown",
        }
    }

    pub(super) fn of(facts: &PodFacts) -> Self {
        match facts.phase {
            PodPhase::Succeeded => Self::Succeeded,
            PodPhase::Failed => Self::Failed,
            _ if facts.deleting => Self::Releasing,
            PodPhase::Unknown => Self::Unknown,
            PodPhase::Running => Self::Running,
            PodPhase::Pending if facts.node.is_some() => Self::Bound,
            PodPhase::Pending if held_node(facts).is_some() => Self::Pipelined,
            PodPhase::Pending => Self::Pending,
        }
    }

    /// On a node and there to stay.
    pub fn is_bound(self) -> bool {
        matches!(self, Self::Bound | Self::Running | Self::Unknown)
    }

    /// No longer takes room.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}
