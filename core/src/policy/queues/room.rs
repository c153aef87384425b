//! What a queue could take back from others, as far as totals tell.

use bevy_ecs::entity::Entity;

use crate::resource::{Dim, ResourceVec};
use crate::world::{Cluster, QueueReadOnlyItem};

/// What the queue is still due and others below the ancestor hold beyond theirs; below the root where
/// none is given. An upper bound: which pods may really go is for the evicting actions to find.
pub(crate) fn reclaimable(
    cluster: &Cluster<'_, '_>,
    queue: Entity,
    ancestor: Option<Entity>,
) -> ResourceVec {
    let mine = cluster.queue(queue);
    let mut surplus = ResourceVec::default();
    for other in &cluster.queues {
        let leaf = !other.terms.is_parent && other.entity != queue && other.spec.reclaimable;
        if leaf && ancestor.is_none_or(|ancestor| is_below(cluster, other.entity, ancestor)) {
            surplus.add(&beyond_due(&other));
        }
    }
    let mut back = ResourceVec::default();
    for (dim, surplus) in surplus.iter() {
        back.set(dim, surplus.min(still_due(&mine, dim)));
    }
    back
}

/// What a queue holds beyond its due and its guarantee. A resource its due does not name among others
/// may go with one it does.
fn beyond_due(queue: &QueueReadOnlyItem<'_, '_>) -> ResourceVec {
    let mut beyond = ResourceVec::default();
    let due = queue.lasting_due();
    for (dim, amount) in queue.usage().allocated.iter() {
        let due = due.map_or(0, |due| due.values().get(dim)).max(queue.terms.guarantee.get(dim));
        beyond.set(dim, amount.saturating_sub(due).max(0));
    }
    beyond
}

/// How much more the queue may have before it has its due; without bound where its due names other
/// resources, nothing where it names none at all.
fn still_due(queue: &QueueReadOnlyItem<'_, '_>, dim: Dim) -> i64 {
    let Some(due) = queue.lasting_due() else { return 0 };
    match due.get(dim) {
        Some(due) => due.saturating_sub(queue.usage().taken(dim)).max(0),
        None if due.is_empty() => 0,
        None => i64::MAX,
    }
}

fn is_below(cluster: &Cluster<'_, '_>, queue: Entity, ancestor: Entity) -> bool {
    let mut next = Some(queue);
    while let Some(at) = next {
        if at == ancestor {
            return true;
        }
        next = cluster.queue(at).spec.parent;
    }
    false
}
