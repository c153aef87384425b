//! Reclaiming moves the cluster towards what queues are due, never in circles.
//!
//! A task may be taken only while its queue is further over its due than the taker's queue will be when
//! it has what it asks for. Queues are compared where their paths part: what moves between two queues
//! below a common parent is no matter of that parent. Only resources the taker asks for are compared,
//! and of those only what a due speaks of.
//!
//! Why no circle: every exchange lowers the larger of the two shares, so the shares of all queues,
//! sorted, only ever fall.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::policy::upwards;
use crate::resource::{Dim, ResourceVec};
use crate::world::Cluster;

use super::need::Need;

/// A share no use exceeds.
const BOUNDLESS: i128 = i128::MAX;
/// Parts of a whole share.
const WHOLE: i128 = 1_000_000_000;

/// Queues while one of them takes tasks from others.
pub(super) struct Fairness<'a, 'w, 's> {
    cluster: &'a Cluster<'w, 's>,
    need: &'a ResourceVec,
    /// The queue that takes and those above it.
    taker: Vec<Entity>,
    /// What queues have left that have given something.
    left: BTreeMap<Entity, ResourceVec>,
}

impl<'a, 'w, 's> Fairness<'a, 'w, 's> {
    pub(super) fn new(cluster: &'a Cluster<'w, 's>, need: &'a Need) -> Self {
        let taker = upwards(cluster, need.evictor.queue(cluster)).collect();
        Self { cluster, need: &need.sum, taker, left: BTreeMap::new() }
    }

    /// May the task go? If so it counts as gone for those after it.
    pub(super) fn take(&mut self, task: Entity) -> bool {
        let item = self.cluster.task(task);
        let Some(job) = item.membership.job else { return false };
        let queue = self.cluster.job(job).spec.queue;
        let Some((giver, taker)) = self.fork(queue) else { return false };
        let held = item.whole_request();
        let fair = self.share_of_giver(giver, &held) > self.share_of_taker(taker);
        if fair {
            for queue in upwards(self.cluster, queue) {
                let has = || self.cluster.queue(queue).usage.allocated.clone();
                self.left.entry(queue).or_insert_with(has).sub(&held);
            }
        }
        fair
    }

    /// The queues just below the first one both are in; none if one contains the other.
    fn fork(&self, queue: Entity) -> Option<(Entity, Entity)> {
        let mut giver = queue;
        for at in upwards(self.cluster, queue) {
            if let Some(level) = self.taker.iter().position(|&above| above == at) {
                return level
                    .checked_sub(1)
                    .filter(|_| giver != at)
                    .map(|l| (giver, self.taker[l]));
            }
            giver = at;
        }
        None
    }

    /// The largest part of its due the queue would have of what is asked for.
    fn share_of_taker(&self, queue: Entity) -> i128 {
        let item = self.cluster.queue(queue);
        let Some(due) = &item.deserved.0 else { return BOUNDLESS };
        let shares = asked(self.need).filter_map(|(dim, ask)| {
            due.get(dim).map(|due| share(item.usage.taken(dim).saturating_add(ask), due))
        });
        shares.max().unwrap_or(0)
    }

    /// The largest part of its due the queue has of what is asked for and the task holds; boundless if
    /// its due does not speak of it, because then all of it is borrowed.
    fn share_of_giver(&self, queue: Entity, held: &ResourceVec) -> i128 {
        let item = self.cluster.queue(queue);
        let Some(due) = &item.deserved.0 else { return 0 };
        let has = self.left.get(&queue).unwrap_or(&item.usage.allocated);
        let shares = asked(self.need)
            .filter(|&(dim, _)| held.get(dim) > 0)
            .filter_map(|(dim, _)| due.get(dim).map(|due| share(has.get(dim), due)));
        shares.max().unwrap_or(BOUNDLESS)
    }
}

fn asked(need: &ResourceVec) -> impl Iterator<Item = (Dim, i64)> + '_ {
    need.iter().filter(|&(dim, ask)| ask > 0 && dim != Dim::PODS)
}

fn share(used: i64, due: i64) -> i128 {
    match (used.max(0), due.max(0)) {
        (0, _) => 0,
        (_, 0) => BOUNDLESS,
        (used, due) => i128::from(used) * WHOLE / i128::from(due),
    }
}
