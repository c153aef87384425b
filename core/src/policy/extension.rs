//! One trait for each extension point: what a plugin is asked there.
//!
//! A plugin sees batches: filters and scores get one class of tasks and a run of node rows and are
//! called once for all of them, never once per node. Orders are keys, smaller first, so that a heap
//! compares integers. How the answers of several plugins combine is in [`Policies`](super::Policies).

use bevy_ecs::entity::Entity;

use super::context::{
    AdmissionContext, Admittance, CycleScene, LentZones, Pairing, Purpose, ScoreScale, SearchSpace,
    Unit, UnitAsks, Vote,
};
use super::evict::{Ballot, Evictor, Proposal};
use super::plugin::Plugin;
use super::queues::{Claims, Portion};
use crate::class::Class;
use crate::delta::UsedParts;
use crate::ids::TimeMs;
use crate::intent::Consultation;
use crate::interpod::{InterPodFilters, InterPodScores};
use crate::resource::{Limits, ResourceNames, ResourceVec};
use crate::verdict::Verdict;
use crate::world::{
    Cluster, DeviceOrder, DomainTotals, Exclusion, JobReadOnlyItem, QueueReadOnlyItem, QueueUse,
    TaskReadOnlyItem,
};

/// Excludes nodes for a class of tasks. A node any plugin excludes is excluded.
pub trait FilterPlugin: Plugin {
    /// Bars nodes that may not serve the class; a node already closed may be left as it is.
    fn filter(&self, pairing: &Pairing<'_>, exclusions: &mut [Exclusion]);

    /// Which rules about other pods bar nodes.
    fn interpod_filters(&self) -> InterPodFilters {
        InterPodFilters::default()
    }

    /// What it has to say to those who ask why nodes are barred for the class, beyond their number.
    fn remark(&self, _class: &Class) -> Option<String> {
        None
    }
}

/// Hears when a cycle begins and ends. It is for a plugin whose answers rest on more than the cluster:
/// what it said in one cycle is not kept for the next, and every ranking and every proof is made anew.
/// Within a cycle the same question gets the same answer from it as from any other.
pub trait CyclePlugin: Plugin {
    /// A cycle begins: what happened is known, and nothing is decided yet.
    fn cycle_begins(&self, cluster: &Cluster<'_, '_>, scene: &CycleScene<'_>);

    /// It has ended.
    fn cycle_ends(&self) -> Consultation {
        Consultation::default()
    }
}

/// Hears which jobs are admitted. Everybody is told.
pub trait JobEnqueuedPlugin: Plugin {
    /// The job is about to be admitted.
    fn job_enqueued(&self, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>);
}

/// Hears who gets a place and who loses one, when that is decided and not while it is tried. The first
/// objection undoes the whole transaction.
pub trait PlacementPlugin: Plugin {
    /// Tasks leave their nodes, or room held for them is given up: each with the node.
    fn left(&self, _cluster: &Cluster<'_, '_>, _tasks: &[(Entity, Entity)]) {}

    /// Tasks take places, or room that is held for them: each with the node. Who objects has forgotten
    /// all of them.
    fn placed(&self, cluster: &Cluster<'_, '_>, tasks: &[(Entity, Entity)]) -> Result<(), Verdict>;
}

/// Says at which hours lent nodes may be used. The first plugin that has the trait counts.
pub trait LentZonesPlugin: Plugin {
    /// Which zones there are, whether each is open at that time, and until when that holds. A zone is
    /// what the label `volcano.sh/revocable-zone` of a node names.
    fn lent_zones(&self, now: TimeMs) -> LentZones;
}

/// Says which device of a node a part of one goes to. Plugins that say the opposite of each other cancel
/// out.
pub trait DeviceOrderPlugin: Plugin {
    /// Fuller or emptier ones first.
    fn device_order(&self) -> DeviceOrder;
}

/// Scores nodes for a class of tasks. Scores of all plugins add up.
pub trait ScorePlugin: Plugin {
    /// Adds its score for each node, in units of [`SCORE_SCALE`](super::SCORE_SCALE): 0 to 100 of them.
    fn score(&self, pairing: &Pairing<'_>, scale: ScoreScale, scores: &mut [i64]);

    /// Looks at all nodes once, for two numbers that scale the scores.
    fn measure(&self, _pairing: &Pairing<'_>) -> ScoreScale {
        ScoreScale::NONE
    }

    /// How much rules about other pods count in the score.
    fn interpod_scores(&self) -> InterPodScores {
        InterPodScores::default()
    }
}

/// Scores nodes for the tasks of one job by where its other tasks are, on top of what a class scores.
/// Scores of all plugins add up.
pub trait JobScorePlugin: Plugin {
    /// How the tasks of the job want to lie to each other. `None` if that does not matter: such a job is
    /// asked once when it is placed, and costs nothing more.
    fn arrangement(
        &self,
        cluster: &Cluster<'_, '_>,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Option<Box<dyn Arrangement>>;
}

/// How the tasks of one job want to lie to each other, while it is placed.
pub trait Arrangement {
    /// Adds what each of the rows is worth to a task that waits, as things stand now, in units of
    /// [`SCORE_SCALE`](super::SCORE_SCALE).
    fn score(&self, cluster: &Cluster<'_, '_>, task: Entity, rows: &[u32], scores: &mut [i64]);
}

/// Draws tasks that may go anywhere to domains. What all plugins say adds up.
pub trait DomainPullPlugin: Plugin {
    /// What being in a domain of a tier adds to the score of each node inside it; without sums, what
    /// being in no domain of that tier adds. `at` is the index of the tier in the list of all, of which
    /// the last is that of the cluster and never asked for.
    fn domain_pull(
        &self,
        class: &Class,
        tiers: &[u64],
        at: usize,
        totals: Option<&DomainTotals>,
    ) -> i64;
}

/// Says within which domains a job or sub-group may be placed. The first answer counts.
pub trait SearchSpacePlugin: Plugin {
    /// Where the job or sub-group may be placed; none is no opinion.
    fn search_space(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        purpose: Purpose,
    ) -> Option<SearchSpace>;
}

/// Scores domains for a job or sub-group. Scores of all plugins add up.
pub trait DomainScorePlugin: Plugin {
    /// How good the domain is for the job or sub-group; the highest sum is tried first. Asked before any
    /// of its waiting tasks is placed there.
    fn domain_score(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        asks: &UnitAsks,
        domain: Entity,
    ) -> i64;
}

/// Fills the parts of a domain one after the other. The first answer counts.
pub trait InnerDomainsPlugin: Plugin {
    /// Domains inside a domain, or inside the cluster, that the unit is to fill one after the other
    /// instead of going to the best nodes wherever they are; an empty list is no opinion.
    fn inner_domains(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        domain: Option<Entity>,
    ) -> Vec<Entity>;
}

/// Orders the jobs of a queue. The first plugin that tells two jobs apart decides.
pub trait JobOrderPlugin: Plugin {
    /// Key of a job among the jobs of its queue.
    fn job_order(&self, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> i64;
}

/// Orders the tasks of a job. The first plugin that tells two tasks apart decides.
pub trait TaskOrderPlugin: Plugin {
    /// Key of a task among the tasks of its job.
    fn task_order(&self, task: &TaskReadOnlyItem<'_, '_>) -> i64;

    /// Keys of tasks of one job, where the place of one depends on the others: while the job is placed
    /// they count instead. None is the answer for most jobs.
    fn joint_task_order(
        &self,
        _cluster: &Cluster<'_, '_>,
        _job: &JobReadOnlyItem<'_, '_>,
        _tasks: &[TaskReadOnlyItem<'_, '_>],
    ) -> Option<Vec<i64>> {
        None
    }
}

/// Orders the sub-groups of a job. The first plugin that tells two of them apart decides.
pub trait SubGroupOrderPlugin: Plugin {
    /// Key of a sub-group among those of its job; `members` are its tasks in every status.
    fn subgroup_order(&self, cluster: &Cluster<'_, '_>, unit: Unit<'_>, members: &[Entity]) -> i64;
}

/// Orders queues. The first plugin that tells two queues apart decides.
pub trait QueueOrderPlugin: Plugin {
    /// Writes the keys of a queue among all queues, most decisive first. `next` is the job that would be
    /// served next of it or of those below it, where that is known.
    fn queue_order(
        &self,
        cluster: &Cluster<'_, '_>,
        queue: &QueueReadOnlyItem<'_, '_>,
        next: Option<Entity>,
        keys: &mut [i64],
    );

    /// Are queues compared level by level, from the root down, each with the others below the same
    /// parent? Otherwise each is compared with all.
    fn by_level(&self) -> bool {
        false
    }

    /// How many keys it gives a queue, the most decisive first.
    fn queue_levels(&self) -> usize {
        1
    }

    /// Where the place of one queue depends on others: all of them, to be kept from turn to turn. It
    /// then answers instead of [`Self::queue_order`].
    fn queue_table(&self, _cluster: &Cluster<'_, '_>) -> Option<Box<dyn QueueTable>> {
        None
    }
}

/// The order of all queues as one plugin sees it.
pub trait QueueTable {
    /// A job has changed: so may the places of its queue and of others.
    fn job_moved(&mut self, cluster: &Cluster<'_, '_>, job: Entity);

    /// Writes the keys of a queue, most decisive first.
    fn keys(&self, queue: Entity, keys: &mut [i64]);
}

/// Keeps jobs from being tried. The first objection counts.
pub trait JobValidPlugin: Plugin {
    /// Why the job must not even be tried.
    fn job_valid(&self, job: &JobReadOnlyItem<'_, '_>) -> Result<(), Verdict>;
}

/// Says when what was placed may be bound. All plugins must agree.
pub trait JobReadyPlugin: Plugin {
    /// May what was placed be bound?
    fn job_ready(&self, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> bool;

    /// Why it may not, where more is to be said than how many tasks have a place.
    fn unready(
        &self,
        _cluster: &Cluster<'_, '_>,
        _job: &JobReadOnlyItem<'_, '_>,
    ) -> Option<Verdict> {
        None
    }

    /// How many more tasks must have a place, at least, before it may be ready.
    fn job_lacks(&self, _job: &JobReadOnlyItem<'_, '_>) -> u32 {
        0
    }
}

/// Says when what was placed may be held as a reservation. A rejection ends the vote, a permit ends it
/// at its tier, and silence agrees.
pub trait JobPipelinedPlugin: Plugin {
    /// May what was placed be held as a reservation?
    fn job_pipelined(&self, job: &JobReadOnlyItem<'_, '_>) -> Vote;
}

/// Says which jobs may evict. All plugins of the first tier with a say must agree.
pub trait JobStarvingPlugin: Plugin {
    /// Does the job lack what it needs to run?
    fn job_starving(&self, job: &JobReadOnlyItem<'_, '_>) -> bool;
}

/// Limits how long jobs wait. The earliest end counts.
pub trait DeadlinePlugin: Plugin {
    /// Until when the job may wait; afterwards it is overdue.
    fn deadline(&self, job: &JobReadOnlyItem<'_, '_>) -> Option<TimeMs>;
}

/// Says which queues have had enough. Any plugin's word is enough.
pub trait OverusedPlugin: Plugin {
    /// Has the queue had its part?
    fn overused(&self, cluster: &Cluster<'_, '_>, queue: &QueueReadOnlyItem<'_, '_>) -> bool;
}

/// Limits what a queue takes. The first objection counts.
pub trait AllocatablePlugin: Plugin {
    /// May the job take so much more of its queue: what a task of it asks for, or several together? A
    /// job that may take several at once may take them one after the other. The reason is its verdict if
    /// not; with [`Reason::NotEnoughResources`](crate::verdict::Reason) it gives way to what nodes lack.
    fn allocatable(
        &self,
        cluster: &Cluster<'_, '_>,
        names: &ResourceNames,
        job: &JobReadOnlyItem<'_, '_>,
        request: &ResourceVec,
    ) -> Result<(), Verdict>;
}

/// Divides the cluster among the queues. The first plugin that divides counts.
pub trait ApportionPlugin: Plugin {
    /// One portion for each claim. Asked at the start of a cycle in which anything it depends on has
    /// changed.
    fn apportion(&self, claims: &Claims<'_>) -> Vec<Portion>;

    /// The same division, to be kept up to date as long as no queue comes, goes or is changed. None where
    /// every change makes it anew.
    fn keep(&self, _claims: &Claims<'_>) -> Option<Box<dyn KeptDivision>> {
        None
    }

    /// Which queues are compared when one queue takes from another: the ancestors this many levels
    /// above the two, and at most those where their paths part. None if nobody need be, because the
    /// plugin itself keeps queues from taking from each other in circles.
    fn levels_compared(&self) -> Option<usize> {
        Some(usize::MAX)
    }
}

/// A division of the cluster that is kept up to date.
pub trait KeptDivision: Send + Sync {
    /// What there is may be something else now, and some queues have or want something else, or have used
    /// more or less of late. Returns the queues with another due, and that.
    fn update(
        &mut self,
        total: &ResourceVec,
        others: &ResourceVec,
        changed: &[QueueNews<'_>],
    ) -> Vec<(usize, Limits)>;
}

/// What a queue has, wants and used of late, now that any of it is something else.
#[derive(Clone, Copy, Debug)]
pub struct QueueNews<'a> {
    /// Its index among the claims.
    pub queue: usize,
    /// What it and its children have and want.
    pub usage: &'a QueueUse,
    /// What they used of late.
    pub past: UsedParts,
}

/// Admits jobs. A rejection ends the vote, a permit ends it at its tier, and silence agrees.
pub trait JobEnqueueablePlugin: Plugin {
    /// May the job be admitted?
    fn job_enqueueable(
        &self,
        cluster: &Cluster<'_, '_>,
        context: &AdmissionContext<'_>,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Admittance;
}

/// Says which job may reclaim. All plugins must agree.
pub trait PreemptivePlugin: Plugin {
    /// May the job's queue take back what others have, to place tasks of the job that ask for so much
    /// together?
    fn preemptive(
        &self,
        cluster: &Cluster<'_, '_>,
        job: &JobReadOnlyItem<'_, '_>,
        request: &ResourceVec,
    ) -> bool;
}

/// Limits who is evicted for a task of the same queue. The first tier that leaves anybody decides.
pub trait PreemptablePlugin: Plugin {
    /// Which of the candidates may be evicted for a task of their own queue.
    fn preemptable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot;
}

/// Limits who is evicted for a task of another queue. The first tier that leaves anybody decides.
pub trait ReclaimablePlugin: Plugin {
    /// Which of the candidates may be evicted for a task of another queue. They come in the order in
    /// which they would go: a plugin with a limit on their number lets the first ones go.
    fn reclaimable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot;
}

/// Limits who is evicted for a whole gang. Only those go whom every plugin lets go.
pub trait UnifiedEvictablePlugin: Plugin {
    /// Which of the candidates may be evicted for a whole gang; the purpose is the evictor's.
    fn unified_evictable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot;

    /// Which of the candidates may be moved for a whole gang: evicted with room held for them elsewhere, so
    /// that their queues lose nothing. Those who may be evicted, unless the plugin knows better.
    fn may_move(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        self.unified_evictable(cluster, evictor, candidates)
    }
}

/// Chooses who makes way for a whole gang. The first answer counts.
pub trait GangVictimsPlugin: Plugin {
    /// Who makes way for a whole gang in one place, instead of the cheapest: jobs in the order they go,
    /// each with its tasks that do. `candidates` are the jobs with tasks in that place that may make
    /// way as far as the action is concerned; `need` is what the evictor lacks. None is no opinion.
    ///
    /// What is named is still judged by every [`UnifiedEvictablePlugin`], a gang is still not left with
    /// part of what it needs, and victims that turn out not to be needed are given back.
    fn gang_victims(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        need: &ResourceVec,
        candidates: &[Entity],
    ) -> Option<Vec<(Entity, Vec<Entity>)>>;
}

/// Gives jobs time to run before others take their room. The latest end counts.
pub trait MinRuntimePlugin: Plugin {
    /// Until when the job keeps its minimum from this evictor; what it has beyond it may go earlier. None
    /// is no opinion. A cycle comes when the time ends for somebody who might have made way.
    fn keeps_until(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Option<TimeMs>;
}

/// Orders the queues that victims are taken from.
pub trait VictimQueueOrderPlugin: Plugin {
    /// Key of a queue with victims when a job of queue `wants` evicts; smaller goes first.
    fn victim_queue_order(
        &self,
        cluster: &Cluster<'_, '_>,
        queue: &QueueReadOnlyItem<'_, '_>,
        wants: Entity,
    ) -> i64;
}

/// Names pods that are to be placed again. The first tier that names any decides.
pub trait VictimTasksPlugin: Plugin {
    /// Who is to leave its node, to be placed again. `candidates` are the running tasks that may be
    /// evicted as far as the action is concerned; who is named beside them does not count.
    fn victim_tasks(
        &self,
        cluster: &Cluster<'_, '_>,
        now: TimeMs,
        candidates: &[Entity],
    ) -> Proposal;

    /// It is asked once in so many milliseconds, and first when so long has passed since the scheduler
    /// began; a cycle comes for it. None is asked whenever the action runs.
    fn interval_ms(&self) -> Option<i64> {
        None
    }
}

/// Holds back pods that others name. Only those go whom every plugin lets go.
pub trait VictimGuardPlugin: Plugin {
    /// Which of the tasks that a [`VictimTasksPlugin`] names may go. They come in the order in which
    /// they would: a plugin that lets only so many go lets the first ones go.
    fn victim_guard(&self, cluster: &Cluster<'_, '_>, proposed: &[Entity]) -> Ballot;
}
