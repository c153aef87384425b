//! What plugins are asked about evictions: for whom, which of the candidates may go, and who should.

use bevy_ecs::entity::Entity;

pub use crate::config::EvictPurpose;
use crate::ids::TimeMs;
use crate::world::Cluster;

/// Who would get the room: the preemptor, or the job of a queue that takes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Evictor {
    /// The job that lacks room.
    pub job: Entity,
    /// The task room is wanted for; `None` where it is the job as a whole.
    pub task: Option<Entity>,
    /// Why.
    pub purpose: EvictPurpose,
}

impl Evictor {
    /// The queue of the job.
    pub fn queue(&self, cluster: &Cluster<'_, '_>) -> Entity {
        cluster.job(self.job).spec.queue
    }
}

/// A plugin's answer to which of the candidates may be evicted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ballot {
    /// No opinion: the others decide.
    Abstain,
    /// These and no others, in the order of the candidates. Nobody at all ends the tier, and the
    /// next one decides.
    Only(Vec<Entity>),
}

impl Ballot {
    /// The candidates a test lets pass, asked in order.
    pub fn filter(candidates: &[Entity], mut may_go: impl FnMut(Entity) -> bool) -> Self {
        Self::Only(candidates.iter().copied().filter(|&task| may_go(task)).collect())
    }
}

/// Whom a plugin wants to leave their nodes, though nobody asks for the room.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Proposal {
    /// Some of the candidates, in any order.
    pub tasks: Vec<Entity>,
    /// When it wants to be asked again, even if nothing happens until then.
    pub again: Option<TimeMs>,
}
