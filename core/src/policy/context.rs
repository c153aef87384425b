//! What plugins are shown besides the cluster itself, and the answers they give.

use std::ops::Range;

use bevy_ecs::entity::Entity;
use glam::I64Vec2;

use crate::class::Class;
use crate::delta::{LevelWish, TopologyWish};
use crate::ids::{Name, TimeMs};
use crate::resource::{ResourceNames, ResourceVec};
use crate::verdict::Verdict;
use crate::world::{
    COVERED, Cluster, ClusterFacts, JobReadOnlyItem, NodeColumns, NodeFlags, Progress, Quotas,
    SubGroup, Symbols, TaskReadOnlyItem, TaskStatus,
};

/// A class of tasks and the nodes it is held against.
#[derive(Clone, Copy)]
pub struct Pairing<'a> {
    /// The tasks.
    pub class: &'a Class,
    /// The nodes.
    pub nodes: NodeColumns<'a>,
    /// Whatever is out of the ordinary about any of them.
    pub flags: NodeFlags,
    /// Texts behind symbols.
    pub symbols: &'a Symbols,
    /// The cluster as a whole.
    pub cluster_facts: ClusterFacts<'a>,
}

impl Pairing<'_> {
    /// Some of the nodes.
    #[must_use]
    pub fn rows(&self, range: Range<usize>) -> Self {
        let nodes = self.nodes.rows(range);
        Self { nodes, flags: NodeFlags::among(nodes.flags), ..*self }
    }
}

/// Two numbers a scoring plugin has found over all nodes, to scale its scores by.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ScoreScale(pub(super) I64Vec2);

impl ScoreScale {
    /// Nothing to scale by.
    pub const NONE: Self = Self(I64Vec2::ZERO);

    /// The two numbers.
    pub fn new(first: i64, second: i64) -> Self {
        Self(I64Vec2::new(first, second))
    }

    /// The first number.
    pub fn first(self) -> i64 {
        self.0.x
    }

    /// The second number.
    pub fn second(self) -> i64 {
        self.0.y
    }
}

/// What a cycle begins with, beside the cluster.
#[derive(Clone, Copy, Debug)]
pub struct CycleScene<'a> {
    /// Names of resources.
    pub names: &'a ResourceNames,
    /// Texts behind symbols.
    pub symbols: &'a Symbols,
    /// When it is.
    pub now: TimeMs,
}

/// What a transaction comes to for those who hear of places.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Shifts {
    /// Tasks that leave, or give up room held for them, each with the node.
    pub left: Vec<(Entity, Entity)>,
    /// Tasks that take a place, or room that is held for them, each with the node.
    pub taken: Vec<(Entity, Entity)>,
}

/// Zones of lent nodes at some time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LentZones {
    /// Each with whether it is open.
    pub zones: Vec<(Name, bool)>,
    /// When the first of them opens or closes.
    pub until: Option<TimeMs>,
}

/// A plugin's opinion where several plugins vote.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Vote {
    /// Yes, and later tiers need not be asked.
    Permit,
    /// No opinion.
    Abstain,
    /// No, whatever others say.
    Reject,
}

/// A plugin's opinion on admitting a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Admittance {
    /// Yes, and later tiers need not be asked.
    Permit,
    /// No opinion.
    Abstain,
    /// No, whatever others say, and why.
    Reject(Verdict),
}

impl From<Result<(), Verdict>> for Admittance {
    /// Without an objection the job is admitted.
    fn from(judged: Result<(), Verdict>) -> Self {
        judged.map_or_else(Self::Reject, |()| Self::Permit)
    }
}

/// What admission is judged by besides the cluster.
#[derive(Clone, Copy, Debug)]
pub struct AdmissionContext<'a> {
    /// Names of resources, for messages.
    pub names: &'a ResourceNames,
    /// Quotas of namespaces.
    pub quotas: &'a Quotas,
    /// May room come from evictions?
    pub evictions: Evictions,
}

/// Does any configured action evict?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Evictions {
    /// Yes: what is borrowed can be taken back.
    Configured,
    /// No: what is taken stays taken.
    None,
}

/// What a search for room is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Placing tasks in free room.
    Allocate,
    /// Making room by evictions.
    Evict,
}

/// What the waiting tasks of a job or sub-group ask for together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnitAsks {
    /// All of them.
    pub all: ResourceVec,
    /// Those that are placed first: as many as it lacks, at least one.
    pub first: ResourceVec,
}

/// Where a job may be placed: groups of domains in order of preference; the first group in which any
/// domain holds the job decides, and within it the best domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchSpace {
    /// Groups, most preferred first. A domain of none is the whole cluster.
    pub groups: Vec<Vec<Option<Entity>>>,
    /// How many of them, at most, a search for victims goes into.
    pub limit: usize,
}

/// A job, or one of its sub-groups: what is placed as a whole.
#[derive(Clone, Copy)]
pub struct Unit<'a> {
    /// The job.
    pub job: &'a JobReadOnlyItem<'a, 'a>,
    /// Index of the sub-group; `None` is the whole job.
    pub subgroup: Option<u16>,
}

impl<'a> Unit<'a> {
    /// How close its tasks must sit, by a wish of its own.
    pub fn wish(self) -> Option<&'a TopologyWish> {
        let spec = self.job.spec;
        let Some(at) = self.subgroup else { return spec.topology.as_ref() };
        let policy = self.job.counts().subgroups[usize::from(at)].policy;
        spec.subgroups[usize::from(policy)].topology.as_ref()
    }

    /// Within which levels of a topology its tasks go, by a wish of its own.
    pub fn levels(self) -> Option<&'a LevelWish> {
        let tree = self.job.spec.tree.as_deref()?;
        let Some(at) = self.subgroup else { return tree.levels.as_ref() };
        tree.subgroups.get(usize::from(at))?.levels.as_ref()
    }

    /// The same by a wish of its own, or else of the closest set it is in, or of the job.
    pub fn levels_around(self) -> Option<&'a LevelWish> {
        let mut unit = self;
        loop {
            let levels = unit.levels();
            let (None, Some(at)) = (levels, unit.subgroup) else { return levels };
            let parent = self.job.tree().and_then(|tree| tree.parent(usize::from(at)));
            unit.subgroup = parent.map(|parent| parent as u16);
        }
    }

    /// What a sub-group has of what makes it whole, counting tasks with a place or with room held;
    /// `None` for a job without sub-groups.
    pub fn progress(self) -> Option<Progress> {
        let count = |group: &SubGroup| group.count(&COVERED);
        if let Some(progress) = self.job.progress_of(count) {
            return Some(progress.of(self.subgroup));
        }
        let group = &self.job.counts().subgroups[usize::from(self.subgroup?)];
        let needs = self.job.spec.subgroups[usize::from(group.policy)].size;
        let has = count(group);
        Some(Progress { has, needs, lacks: needs.saturating_sub(has) })
    }

    /// Does a task of the job belong to it?
    pub fn has(self, task: &TaskReadOnlyItem<'_, '_>) -> bool {
        let Some(own) = self.subgroup else { return true };
        let Some(subgroup) = task.membership.subgroup else { return false };
        subgroup == own || self.job.tree().is_some_and(|tree| tree.is_within(subgroup, Some(own)))
    }

    /// Nodes its tasks have places on, or room held on: one entry for each task, in no particular
    /// order.
    pub fn seats(self, cluster: &Cluster<'_, '_>) -> Vec<Entity> {
        if self.job.counts().tasks() == self.job.counts().pending() {
            return Vec::new();
        }
        let placed = self.job.members.0.iter().filter_map(|&task| {
            let task = cluster.task(task);
            let (status, node) = task.status();
            let ours = self.has(&task);
            let counts = status.is_allocated() || status == TaskStatus::Pipelined;
            node.filter(|_| ours && counts)
        });
        placed.collect()
    }
}
