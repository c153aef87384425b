//! Which pods queues give back by the rules of `capacity`, and which queue gives first.
//!
//! A pod may go for a task of another queue if all of this holds, counting those before it as gone:
//!
//! 1. it holds something the task asks for;
//! 2. its queue, and each one above it that loses by the exchange, keeps its guarantee;
//! 3. its queue has more than its due of something the pod holds, or its due speaks of nothing the
//!    pod holds; two queues that are due nothing of it and are close relatives (a common parent below
//!    the root, as many levels up as `ancestorReclaimLevel` says) leave each other alone;
//! 4. the same is true of the queues above it, as many levels up, as far as they lose.
//!
//! For whole gangs 2 and 3 count, without the part about relatives.

use bevy_ecs::entity::Entity;

use crate::policy::queues::{Giving, is_borrowed, is_due_any, upwards};
use crate::policy::{Ballot, EvictPurpose, Evictor};
use crate::resource::{Dim, ResourceVec};
use crate::world::Cluster;

/// Candidates that may go for the task the evictor names; parents have a say `levels` up.
pub(super) fn for_a_task(
    cluster: &Cluster<'_, '_>,
    evictor: &Evictor,
    candidates: &[Entity],
    levels: usize,
) -> Ballot {
    let asked = evictor.task.map(|task| cluster.task(task).whole_request());
    let taker = evictor.queue(cluster);
    let taker_is_due = asked.as_ref().is_some_and(|asked| is_due(cluster, taker, asked));
    let mut giving = Giving::new(cluster, evictor);
    Ballot::filter(candidates, |task| {
        giving.take(task, |giving, lot| {
            let is_useful = asked.as_ref().is_none_or(|asked| has_common(&lot.request, asked));
            let is_borrowed = || {
                let mut judges = giving.losers(lot.queue).take(levels.saturating_add(1));
                judges.all(|queue| gives(cluster, queue, giving.left(queue), &lot.request))
            };
            let nobody_is_due = || !taker_is_due && !is_due(cluster, lot.queue, &lot.request);
            let is_equal = || nobody_is_due() && are_relatives(cluster, [lot.queue, taker], levels);
            is_useful && is_borrowed() && !is_equal()
        })
    })
}

/// Candidates that may go for the evictor's whole job.
pub(super) fn for_a_gang(
    cluster: &Cluster<'_, '_>,
    evictor: &Evictor,
    candidates: &[Entity],
) -> Ballot {
    match evictor.purpose {
        // Nothing changes hands between queues.
        EvictPurpose::Preempt | EvictPurpose::Consolidate => Ballot::Only(candidates.to_vec()),
        EvictPurpose::Reclaim => {
            let mut giving = Giving::new(cluster, evictor);
            Ballot::filter(candidates, |task| {
                giving.take(task, |giving, lot| {
                    gives(cluster, lot.queue, giving.left(lot.queue), &lot.request)
                })
            })
        }
    }
}

/// Key of a queue with victims: the closer it is related to the queue that wants room, the smaller.
pub(super) fn nearest_first(cluster: &Cluster<'_, '_>, queue: Entity, wants: Entity) -> i64 {
    let mut path = upwards(cluster, queue);
    let common = path.find(|&at| upwards(cluster, wants).any(|other| other == at));
    let depth = common.map_or(0, |common| upwards(cluster, common).count());
    -i64::try_from(depth).unwrap_or(i64::MAX)
}

/// Is what the pod holds borrowed, for the queue that has so much left? A queue nobody computed a due
/// for is not judged.
fn gives(
    cluster: &Cluster<'_, '_>,
    queue: Entity,
    left: &ResourceVec,
    request: &ResourceVec,
) -> bool {
    let due = cluster.queue(queue).deserved.0.as_ref();
    due.is_some_and(|due| is_borrowed(left, due, request))
}

/// Is the queue due any of what a pod holds or asks for?
fn is_due(cluster: &Cluster<'_, '_>, queue: Entity, request: &ResourceVec) -> bool {
    cluster.queue(queue).deserved.0.as_ref().is_some_and(|due| is_due_any(due, request))
}

/// Have the queues a common parent below the root, within a number of levels above each?
fn are_relatives(cluster: &Cluster<'_, '_>, [one, other]: [Entity; 2], levels: usize) -> bool {
    let parents = |queue: Entity| {
        let above = upwards(cluster, queue).skip(1).take(levels);
        above.filter(|&at| cluster.queue(at).spec.parent.is_some())
    };
    parents(one).any(|parent| parents(other).any(|at| at == parent))
}

/// Does each hold some of the same, pods aside?
fn has_common(one: &ResourceVec, other: &ResourceVec) -> bool {
    one.iter().any(|(dim, amount)| dim != Dim::PODS && amount > 0 && other.get(dim) > 0)
}

#[cfg(test)]
mod tests;
