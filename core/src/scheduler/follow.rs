//! Keeping up with another scheduler that decides, ready to take over at any time.
//!
//! A follower takes in what the cluster says and decides nothing. What it assumes is what the one that
//! leads has written down: reservations by `nominatedNodeName`, phases of PodGroups by their status.
//! Taking over is nothing but the next [`run_cycle`](Scheduler::run_cycle).

use bevy_ecs::prelude::World;

use super::{Scheduler, Settled};
use crate::cycle::ingest::{self, Inbox};
use crate::cycle::{self, Leadership, ReportedQueues};
use crate::ids::TimeMs;
use crate::place::Now;
use crate::world::{ActiveJobs, ChangeLog, Directory};

impl Scheduler {
    /// Drains the deltas and decides nothing. A scheduler that led until now first gives up every
    /// assumption the cluster has not confirmed: whether its calls were made is for the cluster to
    /// say.
    pub fn follow(&mut self, now: TimeMs) {
        let led = *self.world.resource::<Leadership>() == Leadership::Leads;
        if !led && self.world.resource::<Inbox>().0.is_empty() {
            return;
        }
        self.world.insert_resource(Now(now));
        self.world.insert_resource(Leadership::Follows);
        self.settled = Settled::No;
        let world = &mut self.world;
        self.pool.install(|| {
            if led {
                ingest::give_up_assumptions(world);
                *world.resource_mut::<ReportedQueues>() = ReportedQueues::default();
            }
            ingest::ingest(world);
            note_use(world);
            trim_logs(world);
        });
    }
}

/// Whoever takes over goes on with a record of its own.
fn note_use(world: &mut World) {
    let run = world.run_system_cached(cycle::remember::note);
    debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
}

/// Nobody reads the log and the list of active jobs before the next cycle does.
fn trim_logs(world: &mut World) {
    let nodes = world.resource::<Directory>().nodes.len();
    world.resource_mut::<ChangeLog>().trim(nodes);
    world.resource_mut::<ActiveJobs>().tidy();
}
