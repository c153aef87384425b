//! Columns of a task, and its status as a pure function of what was observed and what is assumed.

use std::num::NonZero;
use std::ops::Deref;
use std::sync::{Arc, LazyLock};

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Component;

use crate::delta::{Ownership, PodPhase, PreemptionPolicy, QosClass};
use crate::ids::{Name, ObjectKey, TimeMs};
use crate::resource::ResourceVec;
use crate::verdict::Reason;
use crate::world::device::WHOLE;
use crate::world::{ClassId, CountedBy, DeviceAsk, ShareAsk, Unmeasured};

/// Where a task stands. The order is Volcano's and indexes the counts of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum TaskStatus {
    /// Waiting, nothing decided.
    Pending,
    /// Placed by an open Statement.
    Allocated,
    /// Room that is not free yet is held for it.
    Pipelined,
    /// Its bind call is under way.
    Binding,
    /// On its node, not running yet.
    Bound,
    /// Running.
    Running,
    /// Leaving its node.
    Releasing,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// The node stopped reporting.
    Unknown,
}

impl TaskStatus {
    /// Number of statuses.
    pub const COUNT: usize = 10;

    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "Pending",
            Self::Allocated => "Allocated",
            Self::Pipelined => "Pipelined",
            Self::Binding => "Binding",
            Self::Bound => "Bound",
            Self::Running => "Running",
            Self::Releasing => "Releasing",
            Self::Succeeded => "Succeeded",
            Self::Failed => "Failed",
            Self::Unknown => "Unknown",
        }
    }

    /// Does the task hold room of its queue?
    pub fn is_allocated(self) -> bool {
        matches!(self, Self::Allocated | Self::Binding | Self::Bound | Self::Running)
    }

    /// Has the task ended?
    pub fn is_ended(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed)
    }
}

/// What the API server last said of the task. What its pod says of a reservation is in
/// [`Said`](super::Said).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Component)]
pub struct Observed {
    /// `status.phase`.
    pub phase: PodPhase,
    /// `spec.nodeName`.
    pub node: Option<Entity>,
    /// Has a deletion timestamp.
    pub deleting: bool,
}

/// What was decided about the task and is not observed yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assumption {
    /// Placed on the node by an open Statement.
    Allocated(Entity),
    /// Being bound to the node.
    Binding(Entity),
    /// Room on the node is held for it.
    Pipelined(Entity),
    /// Being evicted from where it is.
    Evicting,
    /// Being evicted from where it is, with room held on the node for the pod that comes in its place.
    Moving(Entity),
}

impl Assumption {
    /// Is the task being evicted?
    pub fn is_eviction(self) -> bool {
        matches!(self, Self::Evicting | Self::Moving(_))
    }
}

/// The assumption in force, if any.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Component)]
pub struct Assumed(pub Option<Assumption>);

/// The status of a task and the node that status concerns.
///
/// Observation wins where it is final: an ended or leaving task is that, whatever was assumed; a
/// bound one is on the node it was seen on.
pub fn status_of(observed: &Observed, assumed: Assumed) -> (TaskStatus, Option<Entity>) {
    use Assumption::{Allocated, Binding, Evicting, Moving, Pipelined};
    match observed.phase {
        PodPhase::Succeeded => return (TaskStatus::Succeeded, None),
        PodPhase::Failed => return (TaskStatus::Failed, None),
        PodPhase::Unknown => return (TaskStatus::Unknown, observed.node),
        PodPhase::Pending | PodPhase::Running => {}
    }
    if observed.deleting {
        return (TaskStatus::Releasing, observed.node);
    }
    if let Some(node) = observed.node {
        let status = match (assumed.0, observed.phase) {
            (Some(Evicting | Moving(_)), _) => TaskStatus::Releasing,
            (_, PodPhase::Running) => TaskStatus::Running,
            _ => TaskStatus::Bound,
        };
        return (status, Some(node));
    }
    match assumed.0 {
        Some(Allocated(node)) => (TaskStatus::Allocated, Some(node)),
        Some(Binding(node)) => (TaskStatus::Binding, Some(node)),
        Some(Pipelined(node)) => (TaskStatus::Pipelined, Some(node)),
        Some(Evicting | Moving(_)) | None => (TaskStatus::Pending, None),
    }
}

/// The node where room is held for the pod that comes in the place of one that leaves. Once the pod
/// is seen to leave, nothing but the room is assumed.
pub fn heir_home_of(observed: &Observed, assumed: Assumed) -> Option<Entity> {
    let (Some(Assumption::Moving(node) | Assumption::Pipelined(node)), Some(_)) =
        (assumed.0, observed.node)
    else {
        return None;
    };
    (status_of(observed, assumed).0 == TaskStatus::Releasing).then_some(node)
}

/// Who the task is.
#[derive(Clone, Debug, Component)]
pub struct TaskIdentity {
    /// Namespace and name of the pod.
    pub key: ObjectKey,
    /// Uid of the pod; empty until it is seen.
    pub uid: Name,
    /// The newest version of the pod that was seen.
    pub version: Option<NonZero<u64>>,
    /// Creation time.
    pub created: TimeMs,
    /// Number at the end of the pod's name, zero where the name has less than three parts: members of
    /// one role are served in that order.
    pub index: u64,
}

/// Facts about a task that rules and actions read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Component)]
pub struct TaskTraits {
    /// Asks for nothing but a pod slot.
    pub best_effort: bool,
    /// Held by a scheduling gate.
    pub gated: bool,
    /// How firmly what it asks for is promised to it.
    pub qos: QosClass,
    /// Whose it is.
    pub ownership: Ownership,
    /// May it be evicted for others, by its own word? One that says nothing may.
    pub preemptable: Option<bool>,
    /// May it use lent nodes?
    pub borrows: bool,
    /// How long it must be left alone once it runs, in milliseconds.
    pub cooldown_ms: i64,
}

/// How important the task is, and where that comes from: it follows a priority class that changes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct TaskPriority {
    /// Its priority: [`own`](Self::own), else that of its class.
    pub value: i32,
    /// May others be evicted for it? By its [own word](Self::own_preempts), else by that of its class.
    pub preempts: PreemptionPolicy,
    /// Given by the pod itself.
    pub own: Option<i32>,
    /// Whether others may be evicted for it, where the pod itself says so.
    pub own_preempts: Option<PreemptionPolicy>,
    /// Class to look up for what the pod does not say.
    pub class: Option<Name>,
}

/// What the task is to the node it is on. Tasks of a class share it.
#[derive(Clone, Debug, PartialEq, Eq, Component)]
pub struct Request {
    shared: Arc<Asked>,
}

/// What a task takes of a node, and what it counts for there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Asked {
    /// What it asks for.
    pub amounts: ResourceVec,
    /// Milli-cpu and bytes of memory that scores count for it above that; zero where no rule reads it.
    pub unasked: [i64; 2],
    /// What it counts for on its node until it is in a measurement; nothing where no rule reads loads.
    pub unmeasured: Unmeasured,
    /// What other pods count it by.
    pub counted_by: CountedBy,
    /// What it asks of devices that is no whole one; `None` for most.
    pub devices: Option<Box<DeviceAsk>>,
}

impl Asked {
    /// What it takes of the lanes of a node, devices that it shares aside.
    pub fn room(&self) -> &ResourceVec {
        self.devices.as_ref().and_then(|ask| ask.room()).unwrap_or(&self.amounts)
    }

    /// The part of devices it asks for.
    pub fn share(&self) -> Option<&ShareAsk> {
        match self.devices.as_deref() {
            Some(DeviceAsk::Share(share)) => Some(share),
            _ => None,
        }
    }

    /// The most it could free on its node when it leaves: of a device it shares that may be all.
    pub(crate) fn freed_at_most(&self) -> ResourceVec {
        let mut room = self.room().clone();
        if let Some(share) = self.share() {
            room.set(share.dim, WHOLE * i64::from(share.share.devices));
        }
        room
    }
}

impl From<Asked> for Request {
    fn from(asked: Asked) -> Self {
        Self { shared: Arc::new(asked) }
    }
}

impl Default for Request {
    /// Nothing. Every task begins with it, so it is made once.
    fn default() -> Self {
        static NOTHING: LazyLock<Request> = LazyLock::new(|| Asked::default().into());
        NOTHING.clone()
    }
}

impl Deref for Request {
    type Target = Asked;

    fn deref(&self) -> &Asked {
        &self.shared
    }
}

/// Which job the task belongs to, as what.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Component)]
pub struct Membership {
    /// The job; `None` for a pod of another scheduler.
    pub job: Option<Entity>,
    /// Its position in the job's list of members.
    pub seat: u32,
    /// Index of its role in the job.
    pub role: u16,
    /// Index of its sub-group in the job, if it belongs to one.
    pub subgroup: Option<u16>,
    /// Class of tasks no rule can tell apart.
    pub class: ClassId,
}

/// Labels of the pod, sorted by key. Pods of one job share what is equal.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct Labels(pub Arc<[(Name, Name)]>);

impl Labels {
    /// These labels, in the memory of another pod's as far as they are the same.
    pub fn like(labels: &[(Name, Name)], other: Option<&Self>) -> Self {
        let Some(other) = other else { return Self(labels.into()) };
        if *other.0 == *labels {
            return other.clone();
        }
        let shared = |text: &Name, known: Option<&Name>| known.unwrap_or(text).clone();
        let like = labels.iter().map(|(key, value)| {
            let at = other.0.binary_search_by(|label| label.0.cmp(key)).ok();
            let known = at.map(|at| &other.0[at]);
            let same = known.map(|known| &known.1).filter(|known| *known == value);
            (shared(key, known.map(|known| &known.0)), shared(value, same))
        });
        Self(like.collect())
    }

    /// The value of a label.
    pub fn get(&self, key: &str) -> Option<&Name> {
        self.0.binary_search_by(|label| (*label.0).cmp(key)).ok().map(|at| &self.0[at].1)
    }
}

/// The condition last reported of a waiting task: its reason and the code of why it waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReportedWait(pub Option<(&'static str, Reason)>);

/// The last thing a discarded Statement had in mind for the task: kept for reports.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LastTransaction(pub Option<Assumption>);

#[cfg(test)]
mod tests {
    use super::*;

    fn observed(phase: PodPhase, node: Option<Entity>, deleting: bool) -> Observed {
        Observed { phase, node, deleting }
    }

    #[test]
    fn status_follows_from_what_was_seen_and_what_is_assumed() {
        use Assumption::{Allocated, Binding, Evicting, Moving, Pipelined};
        let (here, there) = (Entity::from_raw_u32(1).unwrap(), Entity::from_raw_u32(2).unwrap());
        let waiting = observed(PodPhase::Pending, None, false);
        let bound = observed(PodPhase::Pending, Some(here), false);
        let running = observed(PodPhase::Running, Some(here), false);
        let leaving = observed(PodPhase::Running, Some(here), true);
        let table = [
            (waiting, None, TaskStatus::Pending, None),
            (waiting, Some(Allocated(there)), TaskStatus::Allocated, Some(there)),
            (waiting, Some(Pipelined(there)), TaskStatus::Pipelined, Some(there)),
            (waiting, Some(Binding(there)), TaskStatus::Binding, Some(there)),
            (waiting, Some(Evicting), TaskStatus::Pending, None),
            (bound, None, TaskStatus::Bound, Some(here)),
            (bound, Some(Binding(there)), TaskStatus::Bound, Some(here)),
            (running, None, TaskStatus::Running, Some(here)),
            (running, Some(Evicting), TaskStatus::Releasing, Some(here)),
            (running, Some(Moving(there)), TaskStatus::Releasing, Some(here)),
            (leaving, Some(Pipelined(there)), TaskStatus::Releasing, Some(here)),
            (running, Some(Pipelined(there)), TaskStatus::Running, Some(here)),
            (leaving, None, TaskStatus::Releasing, Some(here)),
            (leaving, Some(Binding(there)), TaskStatus::Releasing, Some(here)),
            (
                observed(PodPhase::Pending, None, true),
                Some(Pipelined(there)),
                TaskStatus::Releasing,
                None,
            ),
            (observed(PodPhase::Succeeded, Some(here), false), None, TaskStatus::Succeeded, None),
            (observed(PodPhase::Failed, Some(here), true), None, TaskStatus::Failed, None),
            (observed(PodPhase::Unknown, Some(here), false), None, TaskStatus::Unknown, Some(here)),
        ];
        for (observed, assumption, status, node) in table {
            assert_eq!(
                status_of(&observed, Assumed(assumption)),
                (status, node),
                "{observed:?} {assumption:?}"
            );
        }
        let heir = |observed, assumption| heir_home_of(&observed, Assumed(Some(assumption)));
        assert_eq!(heir(running, Moving(there)), Some(there));
        assert_eq!(heir(leaving, Pipelined(there)), Some(there), "its room outlives it");
        assert_eq!(heir(running, Pipelined(there)), None, "that was its own, and it has a node");
        assert_eq!(heir(leaving, Evicting), None);
        let unbound = observed(PodPhase::Pending, None, true);
        assert_eq!(heir(unbound, Pipelined(there)), None, "nobody comes in its place");
    }
}
