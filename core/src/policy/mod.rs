//! The rules: what a plugin may take part in, and the plugins themselves, one file each.
//!
//! A plugin sees batches: filters and scores get one class of tasks and a run of node rows and are
//! called once for all of them, never once per node. Orders are keys, smaller first, so that a heap
//! compares integers. How several plugins combine over the tiers is in [`Policies`].

#[cfg(test)]
pub(crate) mod bed;
mod evict;
mod bar;
mod tiers;
mod weights;
mod mean;
mod gang;
mod priority;
mod drf;
mod sla;
mod queues;
mod proportion;
mod capacity;
mod overcommit;
mod resourcequota;
mod predicates;
mod nodeorder;
mod binpack;
mod topology;
mod conformance;
mod nodegroup;
mod pdb;
mod strategy;

pub use bar::{Bar, Obstacle};
/// What plugins know nodes, tasks, jobs, queues and domains by.
pub use bevy_ecs::entity::Entity;
pub use evict::{Ballot, EvictPurpose, Evictor, Proposal};
pub use queues::{Claims, Portion, QueueClaim, Wants};
pub(crate) use queues::{Giving, upwards};
pub use tiers::{Moves, OrderKey, Policies, Standings};

use std::ops::Range;

use glam::I64Vec2;

use crate::class::{Class, Reads};
use crate::config::{Gate, PluginConfig};
use crate::delta::TopologyWish;
use crate::ids::TimeMs;
use crate::near::{NearFilters, NearScores};
use crate::resource::{ResourceNames, ResourceVec};
use crate::verdict::Verdict;
use crate::world::{
    Around, Cluster, DomainTotals, JobReadOnlyItem, NodeColumns, Oddities, QueueReadOnlyItem,
    Quotas, Symbols, TaskReadOnlyItem, TaskStatus,
};

/// A place in the cycle where plugins have a say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Point {
    /// Excludes nodes for a class of tasks.
    Filter,
    /// Scores nodes for a class of tasks.
    Score,
    /// Which job of a queue is served next.
    JobOrder,
    /// Which queue is served next.
    QueueOrder,
    /// Which task of a job is placed next.
    TaskOrder,
    /// May the job be tried at all?
    JobValid,
    /// May what was placed be bound?
    JobReady,
    /// May what was placed be held as a reservation?
    JobPipelined,
    /// Does the job lack what it needs to run?
    JobStarving,
    /// Has the queue had its part?
    Overused,
    /// May the queue take one more task of a class?
    Allocatable,
    /// How good is a domain for a job or sub-group?
    DomainScore,
    /// Within which domains may a job or sub-group be placed?
    SearchSpace,
    /// Which parts of a domain are to be filled one after the other?
    InnerDomains,
    /// What does being in a domain add to the score of a node?
    DomainPull,
    /// Which sub-group of a job is placed next.
    SubGroupOrder,
    /// Who may be evicted for a task of the same queue.
    Preemptable,
    /// Who may be evicted for a task of another queue.
    Reclaimable,
    /// Who may be evicted for a whole gang.
    UnifiedEvictable,
    /// Which queue's tasks are evicted first.
    VictimQueueOrder,
    /// What is each queue due, and what may it use at most?
    Apportion,
    /// May the job be admitted?
    JobEnqueueable,
    /// May the queue take back what others have, for so much?
    Preemptive,
    /// Until when may the job wait?
    Deadline,
    /// Who makes way for a whole gang, instead of the cheapest.
    GangVictims,
    /// Who is to leave its node though nobody asks for the room.
    VictimTasks,
    /// Which of those may.
    VictimGuard,
}

impl Point {
    /// Number of points.
    pub const COUNT: usize = 27;

    /// The flag that switches a plugin's part at this point.
    pub fn gate(self) -> Option<Gate> {
        match self {
            Self::Filter => Some(Gate::Predicate),
            Self::Score | Self::InnerDomains | Self::DomainPull => Some(Gate::NodeOrder),
            Self::JobOrder => Some(Gate::JobOrder),
            Self::QueueOrder => Some(Gate::QueueOrder),
            Self::TaskOrder => Some(Gate::TaskOrder),
            Self::JobValid
            | Self::UnifiedEvictable
            | Self::VictimQueueOrder
            | Self::Apportion
            | Self::Deadline
            | Self::GangVictims => None,
            Self::JobReady => Some(Gate::JobReady),
            Self::JobPipelined => Some(Gate::JobPipelined),
            Self::JobStarving => Some(Gate::JobStarving),
            Self::Overused => Some(Gate::Overused),
            Self::Allocatable => Some(Gate::Allocatable),
            Self::DomainScore => Some(Gate::HyperNodeOrder),
            Self::SearchSpace => Some(Gate::HyperNodeGradient),
            Self::SubGroupOrder => Some(Gate::SubJobOrder),
            Self::Preemptable => Some(Gate::Preemptable),
            Self::Reclaimable => Some(Gate::Reclaimable),
            Self::JobEnqueueable => Some(Gate::JobEnqueued),
            Self::Preemptive => Some(Gate::Preemptive),
            Self::VictimTasks | Self::VictimGuard => Some(Gate::Victim),
        }
    }
}

/// A class of tasks and the nodes it is held against.
#[derive(Clone, Copy)]
pub struct Pairing<'a> {
    /// The tasks.
    pub class: &'a Class,
    /// The nodes.
    pub nodes: NodeColumns<'a>,
    /// Whatever is out of the ordinary about any of them.
    pub odd: Oddities,
    /// Texts behind symbols.
    pub symbols: &'a Symbols,
    /// The cluster as a whole.
    pub around: Around<'a>,
}

impl Pairing<'_> {
    /// Some of the nodes.
    #[must_use]
    pub fn rows(&self, range: Range<usize>) -> Self {
        let nodes = self.nodes.rows(range);
        Self { nodes, odd: Oddities::among(nodes.oddities), ..*self }
    }
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

/// What admission is judged by besides the cluster.
#[derive(Clone, Copy, Debug)]
pub struct Desk<'a> {
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
    /// Index of the sub-group; none is the whole job.
    pub subgroup: Option<u16>,
}

impl<'a> Unit<'a> {
    /// How close its tasks must sit, by a wish of its own.
    pub fn wish(self) -> Option<&'a TopologyWish> {
        let spec = self.job.spec;
        let Some(at) = self.subgroup else { return spec.topology.as_ref() };
        let policy = self.job.counts.subgroups[usize::from(at)].policy;
        spec.subgroups[usize::from(policy)].topology.as_ref()
    }

    /// Nodes its tasks have places on, or room held on: one entry for each task, in no particular
    /// order.
    pub fn seats(self, cluster: &Cluster<'_, '_>) -> Vec<Entity> {
        if self.job.counts.tasks() == self.job.counts.pending() {
            return Vec::new();
        }
        let placed = self.job.members.0.iter().filter_map(|&task| {
            let task = cluster.task(task);
            let (status, node) = task.status();
            let ours = self.subgroup.is_none() || task.membership.subgroup == self.subgroup;
            let counts = status.is_allocated() || status == TaskStatus::Pipelined;
            node.filter(|_| ours && counts)
        });
        placed.collect()
    }
}

/// The order of all queues as one plugin sees it.
pub trait QueueTable {
    /// A job has changed: so may the places of its queue and of others.
    fn job_moved(&mut self, cluster: &Cluster<'_, '_>, job: Entity);

    /// Writes the keys of a queue, most decisive first.
    fn keys(&self, queue: Entity, keys: &mut [i64]);
}

/// A plugin. Every method has a neutral default; [`Policy::points`] lists those that count.
pub trait Policy: Send + Sync {
    /// Its name in the configuration.
    fn name(&self) -> &'static str;

    /// Where it has a say.
    fn points(&self) -> &'static [Point];

    /// What it reads of pods beyond request and node constraints.
    fn reads(&self) -> Reads {
        Reads::default()
    }

    /// Bars nodes that may not serve the class; a node already closed may be left as it is.
    fn filter(&self, _pairing: &Pairing<'_>, _bars: &mut [Bar]) {}

    /// Looks at all nodes once, for two numbers that scale the scores.
    fn measure(&self, _pairing: &Pairing<'_>) -> I64Vec2 {
        I64Vec2::ZERO
    }

    /// Adds its score for each node, in units of [`crate::kernel::ratio::SCORE_SCALE`].
    fn score(&self, _pairing: &Pairing<'_>, _scale: I64Vec2, _scores: &mut [i64]) {}

    /// What being in a domain of a tier adds to the score of each node inside it, for a task that may
    /// go anywhere; without sums, what being in no domain of that tier adds. `at` is the index of the
    /// tier in the list of all, of which the last is that of the cluster and never asked for.
    fn domain_pull(
        &self,
        _class: &Class,
        _tiers: &[u64],
        _at: usize,
        _totals: Option<&DomainTotals>,
    ) -> i64 {
        0
    }

    /// Which rules about other pods bar nodes; asked at [`Point::Filter`].
    fn near_filters(&self) -> NearFilters {
        NearFilters::default()
    }

    /// How much rules about other pods count in the score; asked at [`Point::Score`].
    fn near_scores(&self) -> NearScores {
        NearScores::default()
    }

    /// Key of a job among the jobs of its queue.
    fn job_order(&self, _cluster: &Cluster<'_, '_>, _job: &JobReadOnlyItem<'_, '_>) -> i64 {
        0
    }

    /// Writes the keys of a queue among all queues, most decisive first.
    fn queue_order(
        &self,
        _cluster: &Cluster<'_, '_>,
        _queue: &QueueReadOnlyItem<'_, '_>,
        _keys: &mut [i64],
    ) {
    }

    /// Where the place of one queue depends on others: all of them, to be kept from turn to turn. It
    /// answers instead of [`Policy::queue_order`].
    fn queue_table(&self, _cluster: &Cluster<'_, '_>) -> Option<Box<dyn QueueTable>> {
        None
    }

    /// How many keys it gives a queue, the most decisive first.
    fn queue_levels(&self) -> usize {
        1
    }

    /// Key of a task among the tasks of its job.
    fn task_order(&self, _task: &TaskReadOnlyItem<'_, '_>) -> i64 {
        0
    }

    /// Why the job must not even be tried.
    fn job_valid(&self, _job: &JobReadOnlyItem<'_, '_>) -> Result<(), Verdict> {
        Ok(())
    }

    /// May what was placed be bound?
    fn job_ready(&self, _job: &JobReadOnlyItem<'_, '_>) -> bool {
        true
    }

    /// How many more tasks must have a place, at least, before it may be ready.
    fn job_lacks(&self, _job: &JobReadOnlyItem<'_, '_>) -> u32 {
        0
    }

    /// May what was placed be held as a reservation?
    fn job_pipelined(&self, _job: &JobReadOnlyItem<'_, '_>) -> Vote {
        Vote::Abstain
    }

    /// Does the job lack what it needs to run?
    fn job_starving(&self, _job: &JobReadOnlyItem<'_, '_>) -> bool {
        false
    }

    /// Has the queue had its part?
    fn overused(&self, _cluster: &Cluster<'_, '_>, _queue: &QueueReadOnlyItem<'_, '_>) -> bool {
        false
    }

    /// May the queue take so much more: what a task asks for, or several together? A queue that may
    /// take several at once may take them one after the other. The reason is the job's verdict if not;
    /// with [`Reason::NotEnoughResources`](crate::verdict::Reason) it gives way to what nodes lack.
    fn allocatable(
        &self,
        _cluster: &Cluster<'_, '_>,
        _names: &ResourceNames,
        _queue: &QueueReadOnlyItem<'_, '_>,
        _request: &ResourceVec,
    ) -> Result<(), Verdict> {
        Ok(())
    }

    /// Divides the cluster among the queues, one portion for each claim. Asked at the start of a cycle
    /// in which anything it depends on has changed; the first plugin that divides counts.
    fn apportion(&self, _claims: &Claims<'_>) -> Vec<Portion> {
        Vec::new()
    }

    /// May the job be admitted?
    fn job_enqueueable(
        &self,
        _cluster: &Cluster<'_, '_>,
        _desk: &Desk<'_>,
        _job: &JobReadOnlyItem<'_, '_>,
    ) -> Admittance {
        Admittance::Abstain
    }

    /// May the queue take back what others have, to place tasks that ask for so much together?
    fn preemptive(
        &self,
        _cluster: &Cluster<'_, '_>,
        _queue: &QueueReadOnlyItem<'_, '_>,
        _request: &ResourceVec,
    ) -> bool {
        true
    }

    /// Until when the job may wait; afterwards it is overdue.
    fn deadline(&self, _job: &JobReadOnlyItem<'_, '_>) -> Option<TimeMs> {
        None
    }

    /// Where the job or sub-group may be placed; none is no opinion.
    fn search_space(
        &self,
        _cluster: &Cluster<'_, '_>,
        _unit: Unit<'_>,
        _purpose: Purpose,
    ) -> Option<SearchSpace> {
        None
    }

    /// How good the domain is for the job or sub-group; the highest sum is tried first. `asks` is
    /// what all of its waiting tasks ask for together. Asked before any of them is placed there.
    fn domain_score(
        &self,
        _cluster: &Cluster<'_, '_>,
        _unit: Unit<'_>,
        _asks: &ResourceVec,
        _domain: Entity,
    ) -> i64 {
        0
    }

    /// Domains inside a domain, or inside the cluster, that the unit is to fill one after the other
    /// instead of going to the best nodes wherever they are; none is no opinion.
    fn inner_domains(
        &self,
        _cluster: &Cluster<'_, '_>,
        _unit: Unit<'_>,
        _domain: Option<Entity>,
    ) -> Vec<Entity> {
        Vec::new()
    }

    /// Key of a sub-group among those of its job; `members` are its tasks in every status.
    fn subgroup_order(
        &self,
        _cluster: &Cluster<'_, '_>,
        _unit: Unit<'_>,
        _members: &[Entity],
    ) -> i64 {
        0
    }

    /// Which of the candidates may be evicted for a task of their own queue.
    fn preemptable(
        &self,
        _cluster: &Cluster<'_, '_>,
        _evictor: &Evictor,
        _candidates: &[Entity],
    ) -> Ballot {
        Ballot::Abstain
    }

    /// Which of the candidates may be evicted for a task of another queue. They come in the order in
    /// which they would go: a plugin that lets only so many go lets the first ones go.
    fn reclaimable(
        &self,
        _cluster: &Cluster<'_, '_>,
        _evictor: &Evictor,
        _candidates: &[Entity],
    ) -> Ballot {
        Ballot::Abstain
    }

    /// Which of the candidates may be evicted for a whole gang; the purpose is the evictor's.
    fn unified_evictable(
        &self,
        _cluster: &Cluster<'_, '_>,
        _evictor: &Evictor,
        _candidates: &[Entity],
    ) -> Ballot {
        Ballot::Abstain
    }

    /// Who makes way for a whole gang in one place, instead of the cheapest: jobs in the order they go,
    /// each with its tasks that do. `candidates` are the jobs with tasks in that place that may make
    /// way as far as the action is concerned; `need` is what the evictor lacks. None is no opinion.
    ///
    /// What is named is still judged by [`Self::unified_evictable`], a gang is still not left with part
    /// of what it needs, and whoever turns out not to be needed is given back.
    fn gang_victims(
        &self,
        _cluster: &Cluster<'_, '_>,
        _evictor: &Evictor,
        _need: &ResourceVec,
        _candidates: &[Entity],
    ) -> Option<Vec<(Entity, Vec<Entity>)>> {
        None
    }

    /// Who is to leave its node, to be placed again. `candidates` are the running tasks that may be evicted
    /// as far as the action is concerned; who is named beside them does not count.
    fn victim_tasks(
        &self,
        _cluster: &Cluster<'_, '_>,
        _now: TimeMs,
        _candidates: &[Entity],
    ) -> Proposal {
        Proposal::default()
    }

    /// Which of the tasks that plugins name in [`Self::victim_tasks`] may go. They come in the order in
    /// which they would: a plugin that lets only so many go lets the first ones go.
    fn victim_guard(&self, _cluster: &Cluster<'_, '_>, _proposed: &[Entity]) -> Ballot {
        Ballot::Abstain
    }

    /// Key of a queue with victims when a job of queue `_wants` evicts; smaller goes first.
    fn victim_queue_order(
        &self,
        _cluster: &Cluster<'_, '_>,
        _queue: &QueueReadOnlyItem<'_, '_>,
        _wants: Entity,
    ) -> i64 {
        0
    }
}

/// The plugin of a configuration entry; none if this version does not have it, or if it has no say
/// because what it promises always holds (`cdp`).
///
/// Resources a configuration names get their dimension here, before any object is seen, so that they
/// have hot lanes.
pub fn build(config: &PluginConfig, names: &mut ResourceNames) -> Option<Box<dyn Policy>> {
    let arguments = &config.arguments;
    match config.spec.name {
        "gang" => Some(Box::new(gang::Gang)),
        "priority" => Some(Box::new(priority::Priority)),
        "drf" => Some(Box::new(drf::Drf::new(config.gates))),
        "sla" => Some(Box::new(sla::Sla::new(arguments))),
        "proportion" => Some(Box::new(proportion::Proportion)),
        "capacity" => Some(Box::new(capacity::Capacity::new(config))),
        "overcommit" => Some(Box::new(overcommit::Overcommit::new(arguments))),
        "resourcequota" => Some(Box::new(resourcequota::ResourceQuota)),
        "predicates" => Some(Box::new(predicates::Predicates::new(arguments))),
        "nodeorder" => Some(Box::new(nodeorder::NodeOrder::new(arguments, names))),
        "binpack" => Some(Box::new(binpack::Binpack::new(arguments, names))),
        "nodegroup" => Some(Box::new(nodegroup::NodeGroup::new(arguments))),
        "resource-strategy-fit" => Some(Box::new(strategy::StrategyFit::new(arguments, names))),
        "pdb" => Some(Box::new(pdb::Pdb)),
        "conformance" => Some(Box::new(conformance::Conformance)),
        "network-topology-aware" => Some(Box::new(topology::Topology::new(arguments, names))),
        _ => None,
    }
}
