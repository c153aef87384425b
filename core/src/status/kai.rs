//! What the scheduler writes into a PodGroup of KAI's: the times of its past, and why it waits.
//!
//! KAI's reasons are fewer than our codes; the code stands in the message, as with Volcano's conditions.
//! Within one class, and in one node pool, the message stays as it was first written.

use crate::ids::{Name, TimeMs};
use crate::verdict::Reason;

/// What became of a PodGroup, as far as decisions depend on it; none of what has not happened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupTimes {
    /// When its minimum last started.
    pub last_start: Option<TimeMs>,
    /// Since when it has run without its minimum.
    pub stale_since: Option<TimeMs>,
    /// When a pod of it was last evicted.
    pub last_eviction: Option<TimeMs>,
}

/// The times of a PodGroup with how it stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupPastReport {
    /// The times.
    pub times: GroupTimes,
    /// Pods of it that hold room.
    pub holding: u32,
    /// Pods it needs.
    pub needed: u32,
}

/// Where it is said that somebody waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SaidIn {
    /// In the status, and by an event.
    #[default]
    Status,
    /// By an event alone.
    EventAlone,
}

/// What a PodGroup waits for, in KAI's words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GangLack {
    /// Pods that do not exist, or are gated.
    NotReady,
    /// A place for them.
    Unschedulable,
}

impl GangLack {
    /// The reason of the event, and of the condition.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotReady => "NotReady",
            Self::Unschedulable => UNSCHEDULABLE,
        }
    }
}

/// The reason of whoever finds no place.
pub const UNSCHEDULABLE: &str = "Unschedulable";

/// What tells why one PodGroup waits from why another does, numbers aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitClass {
    /// What it waits for.
    pub lack: GangLack,
    /// Where that is said.
    pub said: SaidIn,
    /// KAI's reason.
    pub reason: &'static str,
    /// Stable code of ours.
    pub code: Reason,
}

/// Why a PodGroup waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GangWait {
    /// The kind of reason.
    pub class: WaitClass,
    /// The node pool it waits in.
    pub pool: Name,
    /// The same as a sentence.
    pub message: String,
}

/// KAI's reason of a group for which there is no place.
pub const POD_SCHEDULING_ERRORS: &str = "PodSchedulingErrors";
/// KAI's reason of a group with which its queue would exceed a limit.
pub const OVER_LIMIT: &str = "OverLimit";
/// KAI's reason of a group that makes way for nobody and with which its queue would exceed a quota.
pub const NON_PREEMPTIBLE_OVER_QUOTA: &str = "NonPreemptibleOverQuota";
/// KAI's reason of a group without a queue.
pub const QUEUE_DOES_NOT_EXIST: &str = "QueueDoesNotExist";

impl GangWait {
    /// Code and sentence.
    pub fn text(&self) -> String {
        format!("{}: {}", self.class.code.as_str(), self.message)
    }
}
