//! What queues would have left while they give pods back: candidates one after the other, each judged
//! as if those chosen before it had gone.

use std::collections::BTreeMap;
use std::iter::successors;

use bevy_ecs::entity::Entity;

use super::surplus::covers;
use crate::policy::Evictor;
use crate::resource::ResourceVec;
use crate::world::Cluster;

/// A candidate as queues see it.
pub(crate) struct Lot {
    /// The queue it would be taken from.
    pub(crate) queue: Entity,
    /// What the queue would give.
    pub(crate) request: ResourceVec,
}

impl Lot {
    /// `None` where its queue gives nothing to other queues: it is not `reclaimable`, or there is no
    /// such queue and so nothing that says what is borrowed.
    fn of(cluster: &Cluster<'_, '_>, task: Entity) -> Option<Self> {
        let task = cluster.task(task);
        let queue = cluster.queue(cluster.job(task.membership.job?).spec.queue);
        let gives = queue.identity.present && queue.spec.reclaimable;
        gives.then(|| Self { queue: queue.entity, request: task.whole_request() })
    }
}

/// The queue, its parent and so on up to the root.
pub(crate) fn upwards<'a>(
    cluster: &'a Cluster<'_, '_>,
    queue: Entity,
) -> impl Iterator<Item = Entity> + 'a {
    successors(Some(queue), |&at| cluster.queue(at).spec.parent)
}

/// Queues while a queue takes back what others have.
pub(crate) struct Giving<'a, 'w, 's> {
    cluster: &'a Cluster<'w, 's>,
    /// The queue that takes and those above it.
    taker: Vec<Entity>,
    /// What queues have left that have given something.
    left: BTreeMap<Entity, ResourceVec>,
}

impl<'a, 'w, 's> Giving<'a, 'w, 's> {
    pub(crate) fn new(cluster: &'a Cluster<'w, 's>, evictor: &Evictor) -> Self {
        let taker = upwards(cluster, evictor.queue(cluster)).collect();
        Self { cluster, taker, left: BTreeMap::new() }
    }

    /// Judges a candidate by what is left, and takes it if it may go. Whatever the judge says, no queue
    /// that loses by it falls below its guarantee, and none takes from itself.
    pub(crate) fn take(&mut self, task: Entity, may_go: impl FnOnce(&Self, &Lot) -> bool) -> bool {
        let lot = Lot::of(self.cluster, task).filter(|lot| lot.queue != self.taker[0]);
        let Some(lot) = lot else { return false };
        let goes = self.guarantees_hold(&lot) && may_go(self, &lot);
        if goes {
            for queue in upwards(self.cluster, lot.queue) {
                let has = || self.cluster.queue(queue).usage().allocated.clone();
                self.left.entry(queue).or_insert_with(has).sub(&lot.request);
            }
        }
        goes
    }

    /// What the queue has left. Reservations are nothing it could give.
    pub(crate) fn left(&self, queue: Entity) -> &ResourceVec {
        self.left.get(&queue).unwrap_or_else(|| &self.cluster.queue(queue).usage().allocated)
    }

    /// The queue and those above it that lose something: what moves between two queues below a
    /// common one is no loss to that.
    pub(crate) fn losers(&self, queue: Entity) -> impl Iterator<Item = Entity> + '_ {
        successors(Some(queue), |&at| self.parent_apart(at))
    }

    /// The parent, unless what is taken stays below it.
    fn parent_apart(&self, queue: Entity) -> Option<Entity> {
        self.cluster.queue(queue).spec.parent.filter(|parent| !self.taker.contains(parent))
    }

    fn guarantees_hold(&self, lot: &Lot) -> bool {
        self.losers(lot.queue).all(|queue| {
            covers(self.left(queue), &self.cluster.queue(queue).terms.floor, &lot.request)
        })
    }
}
