//! Another configuration for a scheduler that keeps all it knows.
//!
//! Nothing of what the cluster said or what was decided depends on the configuration, with four
//! exceptions, and those are derived anew: the rankings of nodes, what queues say of groups of nodes
//! and whom pods are spread from by default (both only where a plugin reads it), and the due and
//! limits of queues. The stages and plugins themselves are replaced.

use bevy_ecs::entity::Entity;

use super::{Scheduler, Settled};
use crate::class::{Classes, Rankings};
use crate::config::SchedulerConfig;
use crate::cycle::{self, Settings, ingest};
use crate::evict::Hopeless;
use crate::policy::Policies;
use crate::world::{Agenda, JobOverdue, Names, NodeGroups, QueueDeserved, QueueTerms};

/// The rules of the new configuration read what the scheduler has not kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the scheduler keeps of pods only what its first configuration reads")]
pub struct NotKept;

impl Scheduler {
    /// Puts another configuration in force from the next cycle on. Nothing is forgotten but verdicts'
    /// grounds: every job is looked at again. The number of threads stays as it was.
    ///
    /// Fails, and changes nothing, on a scheduler that is not [lasting](Self::lasting) and keeps too
    /// little.
    pub fn reconfigure(&mut self, config: &SchedulerConfig) -> Result<(), NotKept> {
        let world = &mut self.world;
        let mut policies = Policies::new(config, &mut world.resource_mut::<Names>().0);
        self.guests.iter().for_each(|guest| guest.join(&mut policies));
        if !world.resource::<Classes>().reads().covers(policies.reads()) {
            return Err(NotKept);
        }
        let stopwatch = world.resource_mut::<Settings>().stopwatch.take();
        world.insert_resource(Settings { stopwatch, ..Settings::new(config) });
        let spreads = |policies: &Policies| policies.near().1.spread != 0;
        let (spread, spreads) = (spreads(world.resource::<Policies>()), spreads(&policies));
        world.insert_resource(policies);
        world.insert_resource(Rankings::default());
        world.insert_resource(Hopeless::default());
        ingest::regroup_nodes(world, NodeGroups::new(config).inheritance);
        if spread != spreads {
            ingest::rejoin_kin(world);
        }
        let mut queues = world.query::<(&mut QueueDeserved, &mut QueueTerms)>();
        for (mut deserved, mut terms) in queues.iter_mut(world) {
            (*deserved, *terms) = (QueueDeserved::default(), QueueTerms::default());
        }
        world.resource_scope::<Agenda, _>(|world, mut agenda| {
            let mut jobs = world.query::<(Entity, &mut JobOverdue)>();
            for (job, mut overdue) in jobs.iter_mut(world) {
                *overdue = JobOverdue::default();
                agenda.note(job);
            }
        });
        // Systems that have never run take everything as changed.
        self.schedule = cycle::schedule(config);
        self.settled = Settled::No;
        Ok(())
    }
}
