//! What queues used of late, as parts of the cluster: told by somebody, or from a record kept here.
//!
//! A queue with others below it used what they used. Whoever was told of a queue that is not there yet
//! finds it again once it is.

mod decay;
mod account;
mod record;

use bevy_ecs::prelude::{Component, Resource};
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

pub(crate) use self::record::UsageRecord;
use crate::delta::{PastUseFacts, UsedParts};
use crate::ids::Name;

/// The part of the cluster a queue used of late: of cpu, of memory and of GPUs, each in millionths.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Component)]
pub struct QueuePast(pub UsedParts);

/// What was told of queues, whether they are there or not.
#[derive(Debug, Default, Resource)]
pub struct ToldUse(HashMap<Name, UsedParts, FxBuildHasher>);

impl ToldUse {
    /// What was told of a queue last; nothing is no use.
    pub(crate) fn of(&self, queue: &Name) -> QueuePast {
        QueuePast(self.0.get(queue).copied().unwrap_or_default())
    }

    /// Takes in what is told of a queue.
    pub(crate) fn set(&mut self, facts: PastUseFacts) {
        self.0.insert(facts.queue, facts.parts);
    }

    /// Nothing is told of it any more.
    pub(crate) fn remove(&mut self, queue: &Name) {
        self.0.remove(queue);
    }
}
