//! The core's face to the outside: feed deltas, run a cycle or follow one that does, change the
//! configuration, read what is known.

mod follow;
mod reconfigure;

pub use reconfigure::NotKept;

use std::collections::BTreeMap;
use std::sync::Arc;

use bevy_ecs::prelude::{Schedule, World};

use crate::class::{Classes, Rankings, Reads};
use crate::config::{Gates, SchedulerConfig};
use crate::cycle::drive::Alarm;
use crate::cycle::ingest::{self, Dirty, Inbox, SetAside};
use crate::cycle::{self, NextDue, Now, Outcome, Role, Settings, Stopwatch, ToldQueues};
use crate::delta::{ClusterDelta, GroupPhase, ObjectRef, QueueState};
use crate::evict::Hopeless;
use crate::ids::{Name, ObjectKey, TimeMs};
use crate::intent::{Decision, Intent};
use crate::near::Near;
use crate::policy::{Policies, Policy};
use crate::reservation::ReservationCounts;
use crate::resource::Quantity;
use crate::status::{Condition, QueueReport};
use crate::verdict::Reason;
use crate::world::{
    self, Agenda, Budgets, ChangeLog, ClusterTotals, ClusterUse, Directory, DomainIndex, Images,
    Names, NodeGroups, PodSets, PriorityClasses, Quotas, Reservations, Symbols, Volumes,
};

/// A scheduler with all it knows.
pub struct Scheduler {
    world: World,
    schedule: Schedule,
    pool: Arc<rayon::ThreadPool>,
    /// Did the last cycle leave anything to do without further news?
    settled: Settled,
    /// Plugins no configuration names.
    guests: Vec<Guest>,
}

/// A plugin of another maker.
struct Guest {
    tier: usize,
    policy: Arc<dyn Policy>,
}

impl Guest {
    fn join(&self, policies: &mut Policies) {
        policies.add(self.tier, Arc::clone(&self.policy), Gates::default());
    }
}

/// Whether a cycle without news could decide anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled {
    /// The last cycle decided something, or none has run.
    No,
    /// Only time can change anything, at the earliest then.
    Until(Option<TimeMs>),
}

/// What one cycle decided.
#[derive(Debug, Default)]
pub struct CycleOutcome {
    /// Calls to make, in order.
    pub intents: Vec<Intent>,
    /// What was decided, in the order it was decided.
    pub decisions: Vec<Decision>,
    /// Stages in running order, each with the microseconds it took; empty without a stopwatch.
    pub laps: Vec<(&'static str, u64)>,
}

impl CycleOutcome {
    /// Makes room for decisions about so many pods with their calls, and for reports on so many jobs
    /// and queues: lists of a large cycle are not copied while they grow. Memory nobody writes to costs
    /// nothing.
    pub(crate) fn expect(&mut self, pods: usize, reports: usize) {
        self.decisions.reserve(pods);
        self.intents.reserve(pods + reports);
    }
}

impl Scheduler {
    /// A scheduler that knows nothing yet. `pool` is the one thread pool of the process. It keeps of
    /// pods and nodes what the rules of this configuration read.
    pub fn new(config: &SchedulerConfig, pool: Arc<rayon::ThreadPool>) -> Self {
        Self::keeping(Reads::default(), config, pool)
    }

    /// A scheduler that keeps what the rules of any configuration read, so that it can be
    /// [reconfigured](Self::reconfigure).
    pub fn lasting(config: &SchedulerConfig, pool: Arc<rayon::ThreadPool>) -> Self {
        Self::keeping(Reads::ALL, config, pool)
    }

    fn keeping(more: Reads, config: &SchedulerConfig, pool: Arc<rayon::ThreadPool>) -> Self {
        let mut world = World::new();
        world.init_resource::<Directory>();
        world.init_resource::<Symbols>();
        world.init_resource::<Rankings>();
        world.init_resource::<PriorityClasses>();
        world.init_resource::<DomainIndex>();
        world.init_resource::<ClusterTotals>();
        world.init_resource::<ClusterUse>();
        world.init_resource::<Quotas>();
        world.init_resource::<ChangeLog>();
        world.init_resource::<Agenda>();
        world.init_resource::<Near>();
        world.init_resource::<Volumes>();
        world.init_resource::<Budgets>();
        world.init_resource::<PodSets>();
        world.init_resource::<Inbox>();
        world.init_resource::<Dirty>();
        world.init_resource::<SetAside>();
        world.init_resource::<Outcome>();
        world.init_resource::<Now>();
        world.init_resource::<Role>();
        world.init_resource::<NextDue>();
        world.init_resource::<Alarm>();
        world.init_resource::<Hopeless>();
        world.init_resource::<ToldQueues>();
        let mut names = Names::default();
        let policies = Policies::new(config, &mut names.0);
        let reads = policies.reads().or(more);
        world.insert_resource(Classes::new(reads));
        world.insert_resource(Images::new(reads));
        world.insert_resource(NodeGroups::new(config));
        world.insert_resource(policies);
        world.insert_resource(names);
        world.insert_resource(Settings::new(config));
        world.insert_resource(Reservations::new(config.pipeline));
        ingest::found(&mut world);
        let schedule = cycle::schedule(config);
        Self { world, schedule, pool, settled: Settled::No, guests: Vec::new() }
    }

    /// Gives the actions a watch, in microseconds from any start, so that their time budget counts.
    /// Without one a budget has no effect and the same input gives the same result.
    #[must_use]
    pub fn with_stopwatch(mut self, stopwatch: Arc<dyn Fn() -> u64 + Send + Sync>) -> Self {
        self.world.resource_mut::<Settings>().stopwatch = Some(Stopwatch(stopwatch));
        self
    }

    /// Adds a plugin of another maker to a tier, after the configured ones there. It has a say at all of
    /// its points, keeps it when the configuration changes, and is to be added before anything is fed.
    #[must_use]
    pub fn with_policy(mut self, tier: usize, policy: Arc<dyn Policy>) -> Self {
        let reads = self.world.resource::<Classes>().reads().or(policy.reads());
        self.world.insert_resource(Classes::new(reads));
        self.world.insert_resource(Images::new(reads));
        let guest = Guest { tier, policy };
        guest.join(&mut self.world.resource_mut::<Policies>());
        self.guests.push(guest);
        self
    }

    /// Queues deltas; they take effect at the start of the next cycle.
    pub fn feed(&mut self, deltas: impl IntoIterator<Item = ClusterDelta>) {
        self.world.resource_mut::<Inbox>().0.extend(deltas);
    }

    /// Drains the deltas and runs the configured actions once. If nothing was fed, the last cycle
    /// decided nothing and no pause has ended, there is nothing to do and nothing is done.
    pub fn run_cycle(&mut self, now: TimeMs) -> CycleOutcome {
        self.world.resource_mut::<Reservations>().now = now;
        let quiet = match self.settled {
            Settled::No => false,
            Settled::Until(due) => due.is_none_or(|due| now < due),
        };
        if quiet && self.world.resource::<Inbox>().0.is_empty() {
            return CycleOutcome::default();
        }
        self.world.insert_resource(Role::Leads);
        self.world.insert_resource(Now(now));
        let stopwatch = self.world.resource::<Settings>().stopwatch.clone();
        let begun = stopwatch.map_or(0, |stopwatch| (stopwatch.0)());
        let (world, schedule) = (&mut self.world, &mut self.schedule);
        self.pool.install(|| schedule.run(world));
        let mut outcome = std::mem::take(&mut self.world.resource_mut::<Outcome>().0);
        outcome.laps.iter_mut().fold(begun, |begun, lap| {
            let ended = lap.1;
            lap.1 = ended.saturating_sub(begun);
            ended
        });
        // What a queue uses and why a pod waits is written for others to read: it gives nobody
        // anything to do.
        let stirs = |intent: &Intent| {
            !matches!(intent, Intent::QueueStatus { .. } | Intent::Unscheduled { .. })
        };
        self.settled = if outcome.decisions.is_empty() && !outcome.intents.iter().any(stirs) {
            Settled::Until(self.world.resource::<NextDue>().0)
        } else {
            Settled::No
        };
        outcome
    }

    /// Every pod that is ours or on a node, sorted by key.
    pub fn pods(&mut self) -> Vec<PodView> {
        world::pods(&mut self.world)
    }

    /// Every job, sorted by key.
    pub fn jobs(&mut self) -> Vec<JobView> {
        world::jobs(&mut self.world)
    }

    /// How many pods wait for which reason, and for how many room is held.
    pub fn census(&mut self) -> Census {
        world::census(&mut self.world)
    }

    /// Every queue that exists, sorted by name.
    pub fn queues(&mut self) -> Vec<QueueView> {
        world::queues(&mut self.world)
    }

    /// Objects set aside, with the reason for each, sorted.
    pub fn set_aside(&self) -> Vec<(ObjectRef, String)> {
        let aside = &self.world.resource::<SetAside>().0;
        aside.iter().map(|(object, reason)| (object.clone(), reason.clone())).collect()
    }

    /// How many reservations were made, restored, confirmed and given up, by cause.
    pub fn reservations(&self) -> ReservationCounts {
        self.world.resource::<Reservations>().counts
    }

    /// Every total that differs from its recomputation, in words; empty is right.
    pub fn audit(&mut self) -> Vec<String> {
        let mut faults = world::audit(&mut self.world);
        faults.extend(world::audit_reservations(&mut self.world));
        faults
    }

    /// The world itself, for tests that look inside.
    #[cfg(test)]
    pub(crate) fn world(&self) -> &World {
        &self.world
    }

    /// The same, when the scheduler is not needed any more.
    #[cfg(test)]
    pub(crate) fn into_world(self) -> World {
        self.world
    }

    /// All that is known and assumed, as text in an order that depends on names alone.
    pub fn fingerprint(&mut self) -> String {
        world::fingerprint(&mut self.world)
    }
}

/// Pods that wait, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Pods that wait, by why their job does; none for jobs nobody has looked at yet.
    pub waiting: BTreeMap<Option<Reason>, u32>,
    /// Pods with room held for them.
    pub reserved: u32,
}

/// A pod as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodView {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Status: Pending, Allocated, Pipelined, Binding, Bound, Running, Releasing, Succeeded,
    /// Failed, Unknown.
    pub status: &'static str,
    /// Node it is on or is being bound to.
    pub node: Option<Name>,
    /// Node held for it.
    pub nominated: Option<Name>,
    /// Its job.
    pub job: Option<ObjectKey>,
    /// Why it waits, if it does: its own reason, else its job's.
    pub reason: Option<Reason>,
    /// The same for people; the same situation gives the same text.
    pub message: Option<String>,
    /// The reason of its condition `PodScheduled=False`: `Schedulable` if it would have a place but
    /// for the rest of its gang, else `Unschedulable`. None if it does not wait, or is gated: then
    /// the condition is not the scheduler's.
    pub unscheduled: Option<&'static str>,
    /// The room held for it, if any.
    pub reservation: Option<ReservationView>,
}

/// Room held for a pod, as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationView {
    /// Where.
    pub node: Name,
    /// Since when.
    pub since: TimeMs,
    /// Given up at this time if the room is not free by then.
    pub until: TimeMs,
    /// Were pods evicted for it?
    pub evicted: bool,
    /// Pods on that node that are leaving, sorted by key; none where the room is free and the rest of
    /// the gang is waited for.
    pub waits_for: Vec<ObjectKey>,
}

/// A job as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobView {
    /// Namespace and name of the PodGroup, or of the pod that is a gang of one.
    pub key: ObjectKey,
    /// Its queue.
    pub queue: Name,
    /// Phase.
    pub phase: GroupPhase,
    /// Minimum number of pods.
    pub min_available: u32,
    /// Pods allocated, binding, bound, running or succeeded.
    pub ready: u32,
    /// Pods with room held for them.
    pub pipelined: u32,
    /// Pods waiting.
    pub pending: u32,
    /// Why it waits, if it does.
    pub reason: Option<Reason>,
    /// The same for people, with numbers. Where room is held it ends with the time left: unlike the
    /// condition, which is written, it changes with every look.
    pub message: Option<String>,
    /// Conditions as last told to the outside, or read from it.
    pub conditions: Vec<Condition>,
}

/// A queue as the scheduler sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueView {
    /// Object name.
    pub name: Name,
    /// What its pods and those of its children use, sorted by name.
    pub allocated: Vec<(Name, Quantity)>,
    /// Its due, as far as a plugin computes one, sorted by name.
    pub deserved: Vec<(Name, Quantity)>,
    /// Does it take jobs?
    pub state: QueueState,
    /// Largest part of its due (or of the cluster) it uses, in parts per million.
    pub share_ppm: u64,
    /// Its hard limit, sorted by name.
    pub capability: Vec<(Name, Quantity)>,
    /// Room kept for it, sorted by name.
    pub guarantee: Vec<(Name, Quantity)>,
    /// What it uses beyond its due, sorted by name; empty where no plugin says what is due.
    pub borrowed: Vec<(Name, Quantity)>,
    /// What is odd about its limits or its place in the tree, for people.
    pub warnings: Vec<String>,
}

impl QueueView {
    /// What the queue's status says.
    pub(crate) fn report(self) -> QueueReport {
        let Self { state, allocated, deserved, share_ppm, borrowed, .. } = self;
        QueueReport { state, allocated, deserved, share_ppm, borrowed }
    }
}
