//! Another configuration for a scheduler that keeps all it knows.
//!
//! Nothing of what the cluster said or what was decided depends on the configuration, with five
//! exceptions, and those are derived again: the rankings of nodes, whose nodes are, what queues say of
//! groups of nodes and whom pods are spread from by default (both only where a plugin reads it), and
//! the due and limits of queues. The stages and plugins themselves are replaced.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::DetectChangesMut;

use super::{Scheduler, Settled};
use crate::class::Classes;
use crate::cycle::{self, ingest};
use crate::evict::InfeasibleCache;
use crate::place::Settings;
use crate::policy::{Policies, SchedulerConfig};
use crate::ranking::Rankings;
use crate::world::{
    ActiveJobs, DeviceFleet, JobOverdue, Names, QueueDeserved, QueueIdentity, QueuePast,
    QueueTerms, Shards, ToldUse, UsageRecord,
};

/// The rules of the new configuration read what the scheduler has not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "plugin {plugin} as it is configured now tells pods apart by what this process has not kept of \
     them since it started; start it again with the new configuration, until then the old one is in \
     force"
)]
pub struct NotKept {
    /// The plugin that reads more.
    pub plugin: &'static str,
}

impl Scheduler {
    /// Puts another configuration in force from the next cycle on. Nothing is forgotten but verdicts'
    /// grounds: every job is looked at again. The number of threads stays as it was.
    ///
    /// Fails, and changes nothing, on a scheduler that is not [lasting](Self::lasting) and keeps too
    /// little.
    pub fn reconfigure(&mut self, config: &SchedulerConfig) -> Result<(), NotKept> {
        let world = &mut self.world;
        let policies = Policies::new(config, &mut world.resource_mut::<Names>().0);
        let kept = world.resource::<Classes>().reads();
        if let Some(plugin) = policies.reads_beyond(kept) {
            return Err(NotKept { plugin });
        }
        let stopwatch = world.resource_mut::<Settings>().stopwatch.take();
        world.insert_resource(Settings { stopwatch, ..Settings::new(config) });
        let spreads = |policies: &Policies| policies.interpod().1.spread != 0;
        let (spread, spreads) = (spreads(world.resource::<Policies>()), spreads(&policies));
        let node_groups = policies.node_groups();
        world.resource_mut::<DeviceFleet>().order = policies.device_order();
        world.insert_resource(policies);
        world.insert_resource(Rankings::default());
        world.insert_resource(InfeasibleCache::default());
        ingest::regroup_nodes(world, node_groups);
        if world.resource_mut::<Shards>().set_setting(config.sharding.clone()) {
            ingest::reshard(world);
        }
        if spread != spreads {
            ingest::switch_default_spread(world);
        }
        let (recording, clock) = (config.usage_record.as_ref(), &config.clock);
        world.resource_mut::<UsageRecord>().reconfigure(recording, clock.zero_ms);
        if recording.is_none() {
            // What was recorded here counts no more, and what others tell does.
            world.resource_scope::<ToldUse, _>(|world, told| {
                let mut queues = world.query::<(&QueueIdentity, &mut QueuePast)>();
                for (identity, mut past) in queues.iter_mut(world) {
                    past.set_if_neq(told.of(&identity.name));
                }
            });
        }
        let mut queues = world.query::<(&mut QueueDeserved, &mut QueueTerms)>();
        for (mut deserved, mut terms) in queues.iter_mut(world) {
            (*deserved, *terms) = (QueueDeserved::default(), QueueTerms::default());
        }
        world.resource_scope::<ActiveJobs, _>(|world, mut active_jobs| {
            let mut jobs = world.query::<(Entity, &mut JobOverdue)>();
            for (job, mut overdue) in jobs.iter_mut(world) {
                *overdue = JobOverdue::default();
                active_jobs.note(job);
            }
        });
        // Systems that have never run take everything as changed.
        self.schedule = cycle::schedule(config);
        self.settled = Settled::No;
        Ok(())
    }
}
