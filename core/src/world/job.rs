//! Columns of a job: a PodGroup, or a pod without one as a gang of one.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Component;

use super::index::JobKey;
use super::task::TaskStatus;
use crate::delta::{
    GroupBudget, GroupPhase, GroupTree, RoleTopology, SubGroupPolicy, TopologyWish,
};
use crate::ids::{Name, TimeMs};
use crate::resource::{ResourceList, ResourceVec};
use crate::status::{GangWait, GroupReport, GroupTimes};
use crate::verdict::Verdict;

/// Who the job is.
#[derive(Clone, Debug, Component)]
pub struct JobIdentity {
    /// PodGroup or lone pod.
    pub key: JobKey,
    /// Uid of the object behind it.
    pub uid: Name,
    /// Creation time.
    pub created: TimeMs,
    /// Has the PodGroup been seen and not gone? Pods may name it before.
    pub present: bool,
    /// Status last written to the object, or read from it.
    pub announced: Option<(GroupPhase, GroupReport)>,
    /// The same for one of KAI's PodGroups, whose phase nobody writes.
    pub told: Option<Box<ToldGang>>,
}

/// What was last written to a PodGroup of KAI's, or read from it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToldGang {
    /// The times in its annotations.
    pub times: GroupTimes,
    /// Why it waits, as last told.
    pub wait: Option<GangWait>,
    /// The node pool it last said it cannot be scheduled in.
    pub failed_in: Option<Name>,
}

impl ToldGang {
    /// What the object itself says; none unless it is one of KAI's.
    pub(crate) fn read(tree: Option<&GroupTree>) -> Option<Box<Self>> {
        let tree = tree?;
        let (times, failed_in) = (tree.times(), tree.failed_in.clone());
        Some(Box::new(Self { times, wait: None, failed_in }))
    }

    /// The same, where it is open whether the times were written that were decided since.
    pub(crate) fn unsure(tree: Option<&GroupTree>) -> Option<Box<Self>> {
        let told = Self::read(tree)?;
        Some(Box::new(Self { times: GroupTimes::default(), ..*told }))
    }
}

/// What the job asks for.
#[derive(Clone, Debug, PartialEq, Component)]
pub struct JobSpec {
    /// Its queue.
    pub queue: Entity,
    /// Tasks that must run together.
    pub min_available: u32,
    /// Priority class, resolved whenever classes change.
    pub priority_class: Option<Name>,
    /// Priority.
    pub priority: i32,
    /// Resources it must find to be admitted, as far as pods can ask for them.
    pub min_resources: Option<ResourceVec>,
    /// The same as written, with the names only quotas know; empty where nothing is.
    pub min_quota: ResourceList,
    /// Longest wait it names itself, in milliseconds.
    pub wait_ms: Option<i64>,
    /// Which of its roles want to share nodes, and which do not.
    pub role_topology: Option<Box<RoleTopology>>,
    /// How close its tasks must sit.
    pub topology: Option<TopologyWish>,
    /// How its tasks form sub-groups.
    pub subgroups: Vec<SubGroupPolicy>,
    /// Its tree of sub-groups and its own terms; none unless it is one of KAI's PodGroups.
    pub tree: Option<Box<GroupTree>>,
    /// May its tasks be evicted for others, by the PodGroup's own word? One that says nothing may.
    pub preemptable: Option<bool>,
    /// How many of its tasks may be missing while lent nodes are cleared.
    pub budget: Option<GroupBudget>,
    /// Phase as last decided.
    pub phase: GroupPhase,
}

/// Priority of a PodGroup of KAI's whose class, and the default one, do not exist: that of training.
const KAI_PRIORITY: i32 = 50;

/// Priority of a job that no priority class says anything of.
pub(crate) fn priority_without_class(tree: Option<&GroupTree>) -> i32 {
    if tree.is_some() { KAI_PRIORITY } else { 0 }
}

impl JobSpec {
    /// Notes that its minimum has started, where its object keeps such a note.
    pub(crate) fn note_start(&mut self, now: TimeMs) {
        if let Some(tree) = &mut self.tree {
            tree.last_start = Some(now);
        }
    }

    /// May others take its room, as KAI sees it: by its own word, else by its priority?
    pub fn is_preemptible(&self) -> bool {
        /// Priorities from here on are those of work that must not be interrupted.
        const FIRM: i32 = 100;
        self.preemptable.unwrap_or(self.priority < FIRM)
    }

    /// A job nothing is known of but its queue.
    pub fn empty(queue: Entity) -> Self {
        Self {
            queue,
            min_available: 0,
            priority_class: None,
            priority: 0,
            min_resources: None,
            min_quota: ResourceList::new(),
            wait_ms: None,
            topology: None,
            subgroups: Vec::new(),
            tree: None,
            preemptable: None,
            budget: None,
            role_topology: None,
            phase: GroupPhase::Pending,
        }
    }
}

/// A role within a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Role {
    /// Its name; empty for pods without one.
    pub name: Name,
    /// Tasks of the role that must run.
    pub min: u32,
    /// Tasks by status.
    pub counts: [u32; TaskStatus::COUNT],
    /// Pending tasks held by a gate.
    pub gated_pending: u32,
}

impl Role {
    /// Tasks in any of the statuses.
    pub fn count(&self, statuses: &[TaskStatus]) -> u32 {
        statuses.iter().map(|&status| self.counts[status as usize]).sum()
    }
}

/// Tasks of a job that must run together, distinguished by the values of their labels.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubGroup {
    /// Index of the policy that makes it, in the job's list.
    pub policy: u16,
    /// Values of the policy's label keys.
    pub values: Vec<Name>,
    /// Tasks by status.
    pub counts: [u32; TaskStatus::COUNT],
    /// Pending tasks held by a gate.
    pub gated_pending: u32,
}

impl SubGroup {
    /// Tasks in any of the statuses.
    pub fn count(&self, statuses: &[TaskStatus]) -> u32 {
        statuses.iter().map(|&status| self.counts[status as usize]).sum()
    }

    /// The first value as a number, zero if it is none: sub-groups are served in that order.
    pub fn index(&self) -> u64 {
        self.values.first().and_then(|value| value.parse().ok()).unwrap_or(0)
    }
}

/// How many tasks are in which status, in all, by role and by sub-group.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct JobCounts {
    /// Tasks by status.
    pub total: [u32; TaskStatus::COUNT],
    /// Pending tasks held by a gate.
    pub gated_pending: u32,
    /// Roles, in the order they were met.
    pub roles: Vec<Role>,
    /// Sub-groups, in the order they were met.
    pub subgroups: Vec<SubGroup>,
}

/// Statuses that count as ready.
pub const READY: [TaskStatus; 5] = [
    TaskStatus::Allocated,
    TaskStatus::Binding,
    TaskStatus::Bound,
    TaskStatus::Running,
    TaskStatus::Succeeded,
];

/// Statuses that count as ready, or as having room held.
pub const COVERED: [TaskStatus; 6] = [
    TaskStatus::Allocated,
    TaskStatus::Binding,
    TaskStatus::Bound,
    TaskStatus::Running,
    TaskStatus::Succeeded,
    TaskStatus::Pipelined,
];

impl JobCounts {
    /// Tasks in any of the statuses.
    pub fn count(&self, statuses: &[TaskStatus]) -> u32 {
        statuses.iter().map(|&status| self.total[status as usize]).sum()
    }

    /// Tasks that have a place or have ended well.
    pub fn ready(&self) -> u32 {
        self.count(&READY)
    }

    /// Tasks room is held for.
    pub fn pipelined(&self) -> u32 {
        self.total[TaskStatus::Pipelined as usize]
    }

    /// Tasks waiting.
    pub fn pending(&self) -> u32 {
        self.total[TaskStatus::Pending as usize]
    }

    /// Tasks waiting, those room is held for included.
    pub fn waiting(&self) -> u32 {
        self.pending() + self.pipelined()
    }

    /// Tasks that run, wait or ended well: what the minimum can be made of.
    pub fn valid(&self) -> u32 {
        self.ready() + self.pipelined() + self.pending()
    }

    /// All tasks.
    pub fn tasks(&self) -> u32 {
        self.total.iter().sum()
    }

    /// Sum of the roles' minima.
    pub fn role_minimum(&self) -> u32 {
        self.roles.iter().map(|role| role.min).sum()
    }

    /// The index of a sub-group, a new one if it was never met.
    pub fn subgroup(&mut self, policy: u16, values: Vec<Name>) -> u16 {
        let same = |group: &SubGroup| group.policy == policy && group.values == values;
        let index = self.subgroups.iter().position(same).unwrap_or_else(|| {
            let counts = [0; TaskStatus::COUNT];
            self.subgroups.push(SubGroup { policy, values, counts, gated_pending: 0 });
            self.subgroups.len() - 1
        });
        index as u16
    }

    /// The index of a role, a new one if it was never met.
    pub fn role(&mut self, name: &Name) -> u16 {
        let found = self.roles.iter().position(|role| role.name == *name);
        let index = found.unwrap_or_else(|| {
            let counts = [0; TaskStatus::COUNT];
            self.roles.push(Role { name: name.clone(), min: 0, counts, gated_pending: 0 });
            self.roles.len() - 1
        });
        index as u16
    }
}

/// What the job's tasks hold, what is held for them and what they wait for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct JobAllocated {
    /// Requests of tasks that hold room.
    pub allocated: ResourceVec,
    /// Requests of tasks room is held for.
    pub reserved: ResourceVec,
    /// Requests of all tasks that have not ended, wherever they stand.
    pub asked: ResourceVec,
    /// Requests of tasks that wait.
    pub waiting: ResourceVec,
    /// The part of `waiting` that is held by gates.
    pub gated: ResourceVec,
}

/// Has the job waited longer than it should?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Component)]
pub struct JobOverdue(pub bool);

/// The job's tasks, in no particular order.
#[derive(Clone, Debug, Default, Component)]
pub struct JobMembers(pub Vec<Entity>);

/// Why the job waits, as found by the last attempt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct JobVerdict(pub Option<Verdict>);

/// When tasks of the job were evicted, in the last hour, and whether it has asked for room since.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct JobEvictions {
    times: Vec<TimeMs>,
    unheard: bool,
}

impl JobEvictions {
    const HOUR_MS: i64 = 3_600_000;

    /// Notes an eviction, and forgets those more than an hour ago.
    pub fn note(&mut self, now: TimeMs) {
        self.times.retain(|then| then.0 > now.0 - Self::HOUR_MS);
        self.times.push(now);
    }

    /// The job has made way for another one: those who could evict it again are to have their turn first.
    pub fn await_turn(&mut self) {
        self.unheard = true;
    }

    /// Has the job made way for another one, and had no turn since in an action that evicts?
    pub fn is_unheard(&self) -> bool {
        self.unheard
    }

    /// The job has its turn in an action that evicts, or has found room without.
    pub fn hear(&mut self) {
        self.unheard = false;
    }

    /// Evictions in the hour before.
    pub fn in_hour_before(&self, now: TimeMs) -> u32 {
        self.times.iter().filter(|then| then.0 > now.0 - Self::HOUR_MS).count() as u32
    }

    /// The last of them, however long ago.
    pub fn last(&self) -> Option<TimeMs> {
        self.times.iter().copied().max()
    }

    /// When the first of them is an hour ago.
    pub fn relief(&self, now: TimeMs) -> Option<TimeMs> {
        let in_hour = self.times.iter().filter(|then| then.0 > now.0 - Self::HOUR_MS);
        in_hour.min().map(|then| TimeMs(then.0 + Self::HOUR_MS))
    }
}

/// Binds of the job that failed, and when the next attempt may be made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Component)]
pub struct JobBackoff {
    /// Cycles with failures since the last success.
    pub failures: u32,
    /// When the last of them was.
    pub last: Option<TimeMs>,
    /// No attempt before this time.
    pub until: Option<TimeMs>,
    /// How long the pause is that ends then.
    pub pause_ms: i64,
}

/// First pause after a bind failed twice in a row; it doubles with every further failure.
const BACKOFF_FIRST_MS: i64 = 2_000;
/// Longest pause.
const BACKOFF_MAX_MS: i64 = 300_000;

impl JobBackoff {
    /// Counts a failure; those of one cycle are one, so that a gang is not the worse off the larger it
    /// is. The first is retried at once; from then on the job pauses.
    pub fn fail(&mut self, now: TimeMs) {
        if self.last.replace(now) == Some(now) {
            return;
        }
        self.failures += 1;
        let doublings = self.failures.checked_sub(2).map(|more| more.min(16));
        let pause = doublings.map(|more| (BACKOFF_FIRST_MS << more).min(BACKOFF_MAX_MS));
        self.until = pause.map(|pause| TimeMs(now.0 + pause));
        self.pause_ms = pause.unwrap_or(0);
    }
}
