//! The core's face to the outside: feed deltas, run a cycle or follow one that does, change the
//! configuration, read what is known.

mod follow;
mod reconfigure;

pub use reconfigure::NotKept;

use std::sync::Arc;

use bevy_ecs::prelude::{Schedule, World};

use crate::class::Classes;
use crate::cycle::ingest::{self, Dirty, Inbox};
use crate::cycle::{self, Leadership, NextDue, ReportedQueues, StaleGangs};
use crate::delta::{ClusterDelta, ObjectRef};
use crate::evict::InfeasibleCache;
use crate::ids::TimeMs;
use crate::inspect;
use crate::intent::{CycleOutcome, Intent};
use crate::interpod::SelectorRegistry;
use crate::place::{Alarm, Now, Outcome, Refused, Settings, Stopwatch};
use crate::policy::{Policies, SchedulerConfig};
use crate::ranking::Rankings;
use crate::report::{Census, JobView, PodView, QueueView};
use crate::reservation::ReservationCounts;
use crate::world::{
    self, DeviceFleet, Images, Names, NodeGroups, Reads, Reservations, SetAside, Shards,
    UsageRecord,
};

/// A scheduler with all it knows.
pub struct Scheduler {
    world: World,
    schedule: Schedule,
    pool: Arc<rayon::ThreadPool>,
    /// Did the last cycle leave anything to do without further news?
    settled: Settled,
}

/// Whether a cycle without news could decide anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Settled {
    /// The last cycle decided something, or none has run.
    No,
    /// Only time can change anything, at the earliest then.
    Until(Option<TimeMs>),
}

impl Scheduler {
    /// A scheduler that knows nothing yet. `pool` is the one thread pool of the process. It keeps of
    /// pods and nodes what the rules of this configuration read.
    pub fn new(config: &SchedulerConfig, pool: Arc<rayon::ThreadPool>) -> Self {
        Self::keeping(Reads::default(), config, pool)
    }

    /// A scheduler that keeps what nearly all rules read, whatever its configuration, so that it can be
    /// [reconfigured](Self::reconfigure).
    pub fn lasting(config: &SchedulerConfig, pool: Arc<rayon::ThreadPool>) -> Self {
        Self::keeping(Reads::COMMON, config, pool)
    }

    fn keeping(more: Reads, config: &SchedulerConfig, pool: Arc<rayon::ThreadPool>) -> Self {
        let mut world = World::new();
        world::init(&mut world);
        world.init_resource::<Rankings>();
        world.init_resource::<SelectorRegistry>();
        world.init_resource::<Inbox>();
        world.init_resource::<Dirty>();
        world.init_resource::<Outcome>();
        world.init_resource::<Now>();
        world.init_resource::<Leadership>();
        world.init_resource::<NextDue>();
        world.init_resource::<Alarm>();
        world.init_resource::<Refused>();
        world.init_resource::<InfeasibleCache>();
        world.init_resource::<StaleGangs>();
        world.init_resource::<ReportedQueues>();
        let mut names = Names::default();
        let policies = Policies::new(config, &mut names.0);
        let reads = policies.reads().or(more);
        world.insert_resource(Classes::new(reads));
        world.insert_resource(Images::new(reads));
        world.insert_resource(NodeGroups::new(policies.node_groups()));
        world.resource_mut::<DeviceFleet>().order = policies.device_order();
        world.insert_resource(policies);
        world.insert_resource(names);
        world.insert_resource(Settings::new(config));
        world.insert_resource(Shards::new(config.sharding.clone()));
        world.insert_resource(Reservations::new(config.pipeline));
        let (recording, clock) = (config.usage_record.as_ref(), &config.clock);
        world.insert_resource(UsageRecord::new(recording, clock.zero_ms));
        ingest::init(&mut world);
        let schedule = cycle::schedule(config);
        Self { world, schedule, pool, settled: Settled::No }
    }

    /// Gives the actions a watch, in microseconds from any start, so that their time budget counts.
    /// Without one a budget has no effect and the same input gives the same result.
    #[must_use]
    pub fn with_stopwatch(mut self, stopwatch: Arc<dyn Fn() -> u64 + Send + Sync>) -> Self {
        self.world.resource_mut::<Settings>().stopwatch = Some(Stopwatch(stopwatch));
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
        self.world.insert_resource(Leadership::Leads);
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
        // What a queue or a shard uses and why a pod waits is written for others to read: it gives
        // nobody anything to do.
        let stirs = |intent: &Intent| {
            !matches!(
                intent,
                Intent::QueueStatus { .. }
                    | Intent::ShardStatus { .. }
                    | Intent::Unscheduled { .. }
            )
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
        inspect::pods(&mut self.world)
    }

    /// Every job, sorted by key.
    pub fn jobs(&mut self) -> Vec<JobView> {
        inspect::jobs(&mut self.world)
    }

    /// How many pods wait for which reason, and for how many room is held.
    pub fn census(&mut self) -> Census {
        inspect::census(&mut self.world)
    }

    /// Every queue that exists, sorted by name.
    pub fn queues(&mut self) -> Vec<QueueView> {
        inspect::queues(&mut self.world)
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
        let mut faults = inspect::audit(&mut self.world);
        faults.extend(inspect::audit_reservations(&mut self.world));
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
        inspect::fingerprint(&mut self.world)
    }
}
