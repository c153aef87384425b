//! Room that is guaranteed to others and that they do not use: nobody else may have it.
//!
//! A ceiling holds one queue back; several that are each below their ceilings can still take together
//! what is kept for another one. So a request must leave, below every queue on its path, what is kept
//! for those beside the path. One that stays within what is kept for its own side takes nothing from
//! anybody and needs no further look.

use bevy_ecs::entity::Entity;

use super::limit::first_by_name;
use crate::resource::{Dim, ResourceNames, ResourceVec};
use crate::verdict::{Reason, Verdict};
use crate::world::{Cluster, QueueReadOnlyItem};

/// Would the request leave others what is guaranteed to them?
pub(super) fn leaves_guarantees(
    cluster: &Cluster<'_, '_>,
    names: &ResourceNames,
    queue: &QueueReadOnlyItem<'_, '_>,
    request: &ResourceVec,
) -> Result<(), Verdict> {
    let intrudes = |dim: Dim, asked: i64| {
        // Pods count where a capability names them and nowhere else.
        dim != Dim::PODS
            && is_close(cluster, queue.entity, dim, asked)
            && intrusion(cluster, queue.entity, dim, asked).is_some()
    };
    let Some((dim, asked)) = first_by_name(names, request, intrudes) else { return Ok(()) };
    let (at, kept) = intrusion(cluster, queue.entity, dim, asked).unwrap_or((queue.entity, 0));
    let at = cluster.queue(at);
    let show = |amount: i64| names.display(dim, amount);
    let message = format!(
        "queue {:?} may use {} {}, of which {} are kept for the guarantees of others: {} taken, {} asked",
        at.identity.name,
        names.name(dim),
        show(ceiling(&at, dim)),
        show(kept),
        show(at.usage().taken(dim)),
        show(asked)
    );
    Err(Verdict::new(Reason::NotEnoughResources, message))
}

/// Could the request be too much, if nobody used anything of a guarantee? Cheap, and no almost always.
fn is_close(cluster: &Cluster<'_, '_>, queue: Entity, dim: Dim, asked: i64) -> bool {
    let mut next = Some(queue);
    while let Some(at) = next {
        let queue = cluster.queue(at);
        next = queue.spec.parent;
        let most = queue.terms.guarantee.get(dim);
        let needed = queue.usage().taken(dim).saturating_add(asked).saturating_add(most);
        if most > 0 && needed > ceiling(&queue, dim) {
            return true;
        }
    }
    false
}

/// The first queue on the path below which too little would be left, and what is kept there for those
/// beside the path.
fn intrusion(
    cluster: &Cluster<'_, '_>,
    queue: Entity,
    dim: Dim,
    asked: i64,
) -> Option<(Entity, i64)> {
    let (mut next, mut below, mut others) = (Some(queue), None, 0i64);
    while let Some(at) = next {
        let queue = cluster.queue(at);
        let guarantee = queue.terms.guarantee.get(dim);
        if guarantee > 0 {
            others = others.saturating_add(kept_below(cluster, at, below, dim));
        }
        let needed = queue.usage().taken(dim).saturating_add(asked).saturating_add(others);
        if needed <= guarantee {
            return None;
        }
        if others > 0 && needed > ceiling(&queue, dim) {
            return Some((at, others));
        }
        (next, below) = (queue.spec.parent, Some(at));
    }
    None
}

/// What is kept, and not used, for the children of a queue; without one of them, if any is named.
fn kept_below(cluster: &Cluster<'_, '_>, parent: Entity, without: Option<Entity>, dim: Dim) -> i64 {
    let children = cluster.queues.iter().filter(|queue| queue.spec.parent == Some(parent));
    let others = children.filter(|child| Some(child.entity) != without);
    others.fold(0, |sum, child| sum.saturating_add(kept(cluster, &child, dim)))
}

/// What is kept for a queue and not used: its own guarantee or those below it, as far as it may use it.
fn kept(cluster: &Cluster<'_, '_>, queue: &QueueReadOnlyItem<'_, '_>, dim: Dim) -> i64 {
    let guarantee = queue.terms.guarantee.get(dim);
    if guarantee <= 0 {
        return 0;
    }
    let taken = queue.usage().taken(dim);
    let own = guarantee.saturating_sub(taken);
    let room = ceiling(queue, dim).saturating_sub(taken);
    own.max(kept_below(cluster, queue.entity, None, dim)).min(room).max(0)
}

fn ceiling(queue: &QueueReadOnlyItem<'_, '_>, dim: Dim) -> i64 {
    queue.terms.ceiling.as_ref().map_or(i64::MAX, |ceiling| ceiling.get(dim))
}
