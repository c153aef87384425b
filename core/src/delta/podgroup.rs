//! PodGroups: gangs, and how close their pods must sit.

use super::{Requirement, Share};
use crate::ids::{Name, ObjectKey, TimeMs};
use crate::resource::ResourceList;
use crate::status::{GroupReport, GroupTimes, SaidIn};

/// A PodGroup as scheduling sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct PodGroupFacts {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Object uid.
    pub uid: Name,
    /// Creation time.
    pub created: TimeMs,
    /// Queue named, none is the default queue.
    pub queue: Option<Name>,
    /// `spec.minMember`.
    pub min_member: u32,
    /// `spec.minTaskMember`, sorted by role.
    pub min_task_member: Vec<(Name, u32)>,
    /// `spec.minResources`.
    pub min_resources: Option<ResourceList>,
    /// Longest wait the group names itself, in milliseconds.
    pub wait_ms: Option<i64>,
    /// `spec.priorityClassName`.
    pub priority_class: Option<Name>,
    /// Annotation or label, if given.
    pub preemptable: Option<bool>,
    /// Annotation `volcano.sh/jdb-min-available` or `volcano.sh/jdb-max-unavailable`.
    pub budget: Option<GroupBudget>,
    /// Annotations `volcano.sh/task-topology-affinity`, `volcano.sh/task-topology-anti-affinity` and
    /// `volcano.sh/task-topology-task-order`.
    pub role_topology: Option<Box<RoleTopology>>,
    /// `spec.networkTopology`.
    pub topology: Option<TopologyWish>,
    /// `spec.subGroupPolicy`.
    pub subgroups: Vec<SubGroupPolicy>,
    /// `status.phase` as last written; none before anybody has.
    pub phase: Option<GroupPhase>,
    /// The rest of `status` as last written, so that a restart writes nothing again.
    pub report: GroupReport,
    /// What KAI's PodGroups say beside; none for Volcano's.
    pub tree: Option<Box<GroupTree>>,
}

/// A PodGroup of KAI's: its sub-groups form a tree, and it says itself how long it may be broken.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GroupTree {
    /// Sub-groups, parents before their children.
    pub subgroups: Vec<SubGroupNode>,
    /// Top sub-groups that must be whole; none is all of them.
    pub min_subgroups: Option<u32>,
    /// Within which levels of a topology its pods go.
    pub levels: Option<LevelWish>,
    /// How long it may run without its minimum before it is evicted, in milliseconds; below zero is
    /// for ever, none is as the scheduler is set.
    pub staleness_grace_ms: Option<i64>,
    /// How long it waits after its creation, and after it was evicted, before others make way for it.
    pub preemption_delay_ms: i64,
    /// When its minimum last started.
    pub last_start: Option<TimeMs>,
    /// Since when it has run without its minimum.
    pub stale_since: Option<TimeMs>,
    /// When it was last evicted.
    pub last_eviction: Option<TimeMs>,
    /// The node pool it is to run in.
    pub pool: Name,
    /// Where its pods say why they wait.
    pub pods_say: SaidIn,
    /// How often it is tried in one node pool.
    pub tries: Tries,
    /// The node pool it last said it cannot be scheduled in.
    pub failed_in: Option<Name>,
}

/// How often a PodGroup is tried in one node pool.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tries {
    /// Until it runs.
    #[default]
    Many,
    /// Once: somebody else gives it another pool then.
    One,
}

impl GroupTree {
    /// What became of it.
    pub fn times(&self) -> GroupTimes {
        let Self { last_start, stale_since, last_eviction, .. } = *self;
        GroupTimes { last_start, stale_since, last_eviction }
    }

    /// Says these times, as an object they were written into.
    pub fn say(&mut self, times: GroupTimes) {
        let GroupTimes { last_start, stale_since, last_eviction } = times;
        (self.last_start, self.stale_since) = (last_start, stale_since);
        self.last_eviction = last_eviction;
    }

    /// Puts what was decided since in place of what the object says and cannot say yet.
    pub(crate) fn keep(&mut self, decided: GroupTimes) {
        self.last_start = self.last_start.max(decided.last_start);
        self.last_eviction = self.last_eviction.max(decided.last_eviction);
        self.stale_since = decided.stale_since;
    }
}

/// Label by which a pod says its [sub-group](SubGroupNode).
pub const SUBGROUP_LABEL: &str = "kai.scheduler/subgroup-name";

/// A sub-group in a tree of them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubGroupNode {
    /// Its name, which pods say in the label [`SUBGROUP_LABEL`].
    pub name: Name,
    /// Index of the sub-group it is part of; none at the top.
    pub parent: Option<u16>,
    /// When it is whole.
    pub whole: WholeWhen,
    /// Within which levels of a topology its pods go.
    pub levels: Option<LevelWish>,
}

/// What a sub-group needs to be whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WholeWhen {
    /// So many pods that say they are its own: it has no sub-groups.
    Pods(u32),
    /// So many of its sub-groups; none is all of them.
    SubGroups(Option<u32>),
}

/// Within which levels of a topology pods go: each level is the node label that tells its domains
/// apart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelWish {
    /// Name of the topology.
    pub topology: Name,
    /// All in one domain of this level.
    pub required: Option<Name>,
    /// If possible, in one domain of this level.
    pub preferred: Option<Name>,
}

/// How many pods of a group may be missing, by the group's own word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupBudget {
    /// So many must run.
    MinAvailable(Share),
    /// So many may be missing.
    MaxUnavailable(Share),
}

/// Which roles of a group want to share nodes, and which do not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RoleTopology {
    /// Groups of roles that belong together; a role alone in one belongs with its like.
    pub affinity: Vec<Vec<Name>>,
    /// Groups of roles that keep apart, likewise.
    pub anti_affinity: Vec<Vec<Name>>,
    /// Roles in the order they are placed in.
    pub order: Vec<Name>,
}

/// Phase of a PodGroup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GroupPhase {
    /// Not admitted.
    #[default]
    Pending,
    /// Admitted, waiting for room.
    Inqueue,
    /// At least its minimum is on nodes.
    Running,
    /// Part of it runs, the rest cannot.
    Unknown,
    /// All of it has ended.
    Completed,
}

/// How close the pods of a gang must sit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyWish {
    /// Must or should.
    pub mode: TopologyMode,
    /// The widest tier allowed.
    pub tier: Option<TierRef>,
}

/// Must or should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyMode {
    /// No placement rather than a wide one.
    Hard,
    /// Close if possible.
    Soft,
}

/// A tier by number or by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TierRef {
    /// `highestTierAllowed`.
    Number(u32),
    /// `highestTierName`.
    Named(Name),
}

/// One entry of `spec.subGroupPolicy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubGroupPolicy {
    /// Name of the policy.
    pub name: Name,
    /// Pods of one sub-group that must run together.
    pub size: u32,
    /// Sub-groups that must run.
    pub min_subgroups: u32,
    /// Labels whose values tell the sub-groups apart.
    pub match_label_keys: Vec<Name>,
    /// Which pods the policy looks at; `None` means every pod.
    pub selector: Option<Vec<Requirement>>,
    /// How close the pods of one sub-group must sit.
    pub topology: Option<TopologyWish>,
}
