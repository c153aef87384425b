//! What the scheduler writes into the status of a PodGroup, of a queue and of a pod that waits.
//!
//! A PodGroup carries one condition at a time, the one that holds: `Unschedulable` while it waits,
//! `Scheduled` once enough of it has a place. The reason is one of Volcano's constants, which tools
//! look for; the message begins with a count and our own stable code, then says why in words:
//!
//! ```text
//! 3/3 tasks in gang unschedulable: NotEnoughResources: 2 of 3 pods find a place; …
//! ```
//!
//! Two reports are of one *class* when their conditions and codes agree. Numbers in the message move
//! with the cluster, and writing each of them would load the API server without telling anybody
//! anything: within one class the message stays as it was first written.

mod kai;

pub use kai::{
    GangLack, GangWait, GroupPastReport, GroupTimes, NON_PREEMPTIBLE_OVER_QUOTA, OVER_LIMIT,
    POD_SCHEDULING_ERRORS, QUEUE_DOES_NOT_EXIST, SaidIn, UNSCHEDULABLE, WaitClass,
};

use crate::ids::Name;
use crate::resource::ResourceList;
use crate::verdict::Reason;

/// What a PodGroup's status says beside its phase.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupReport {
    /// Pods that run.
    pub running: u32,
    /// Pods that ended well.
    pub succeeded: u32,
    /// Pods that failed.
    pub failed: u32,
    /// Conditions that hold; none for a group without pods.
    pub conditions: Vec<Condition>,
}

/// What a scheduler says of its shard of nodes; every list is sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardReport {
    /// Nodes it uses.
    pub in_use: Vec<Name>,
    /// Nodes it is to use and cannot yet, because another scheduler does.
    pub to_add: Vec<Name>,
    /// Nodes it uses and is to use no longer.
    pub to_remove: Vec<Name>,
}

/// One condition that holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Condition {
    /// Which one.
    pub kind: ConditionKind,
    /// Volcano's constant for why it holds.
    pub reason: Name,
    /// The same as a sentence.
    pub message: String,
}

/// Type of a [`Condition`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ConditionKind {
    /// Not enough of the gang has a place.
    Unschedulable,
    /// Enough of it has.
    Scheduled,
}

impl ConditionKind {
    /// The type as written in the object.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unschedulable => "Unschedulable",
            Self::Scheduled => "Scheduled",
        }
    }
}

/// Volcano's reason of a gang that lacks room, or whatever else is not a lack of pods.
pub const NOT_ENOUGH_RESOURCES: &str = "NotEnoughResources";
/// Volcano's reason of a gang of which too few pods exist.
pub const NOT_ENOUGH_TASKS: &str = "NotEnoughTasks";
/// Volcano's reason of a gang of which too few pods of a role, or sub-groups, exist.
pub const NOT_ENOUGH_PODS_OF_TASK: &str = "NotEnoughPodsOfTask";
/// Volcano's reason of a gang that is ready; it is a sentence there too.
pub const READY: &str = "tasks in gang are ready to be scheduled";

/// Stands between the count and the code of a message.
const TASKS_UNSCHEDULABLE: &str = " tasks in gang unschedulable: ";

impl Condition {
    /// Enough of the gang has a place.
    pub fn scheduled() -> Self {
        Self { kind: ConditionKind::Scheduled, reason: READY.into(), message: String::new() }
    }

    /// A number of the pods cannot be placed, for the reason given.
    pub fn unschedulable(
        constant: &'static str,
        (stuck, all): (u32, u32),
        code: Reason,
        why: &str,
    ) -> Self {
        let message = format!("{stuck}/{all}{TASKS_UNSCHEDULABLE}{}: {why}", code.as_str());
        Self { kind: ConditionKind::Unschedulable, reason: constant.into(), message }
    }

    /// The stable code in the message; `None` where somebody else wrote it.
    pub fn code(&self) -> Option<&str> {
        let (_, rest) = self.message.split_once(TASKS_UNSCHEDULABLE)?;
        rest.split_once(": ").map(|(code, _)| code)
    }
}

/// What the condition of a pod that waits says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitReport {
    /// Reason of the condition: `Unschedulable`, or `Schedulable` for a pod that would have a place
    /// but for the rest of its gang.
    pub reason: &'static str,
    /// Stable code of why it waits.
    pub code: Reason,
    /// The same as a sentence.
    pub message: String,
    /// Where it is said.
    pub said: SaidIn,
}

/// State of a queue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum QueueState {
    /// Takes jobs.
    #[default]
    Open,
    /// Takes none, finishes what it has.
    Closing,
    /// Takes none.
    Closed,
}

/// What a queue's status says. Volcano's object has a place for state and allocated; the others are
/// for reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QueueReport {
    /// Whether it takes jobs. To be written only where the object says nothing: opening and closing
    /// a queue is its controller's.
    pub state: QueueState,
    /// What its pods and those of its children use, sorted by name.
    pub allocated: ResourceList,
    /// Its due as a plugin computed it, else as the object gives it, sorted by name.
    pub deserved: ResourceList,
    /// Largest part of its due (or of the cluster) it uses, in parts per million.
    pub share_ppm: u64,
    /// What it uses above its due, sorted by name; empty where it has no due.
    pub borrowed: ResourceList,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_code_is_read_back_from_the_message_that_carries_it() {
        let condition = Condition::unschedulable(
            NOT_ENOUGH_RESOURCES,
            (2, 3),
            Reason::NeverFits,
            "needs room: a lot",
        );
        assert_eq!(
            condition.message,
            "2/3 tasks in gang unschedulable: NeverFits: needs room: a lot"
        );
        assert_eq!(condition.code(), Some("NeverFits"));
        assert_eq!(Condition::scheduled().code(), None);
        let foreign = Condition { message: "pod group is not ready".into(), ..condition };
        assert_eq!(foreign.code(), None);
    }
}
