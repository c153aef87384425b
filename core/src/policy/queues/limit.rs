//! What a request would exceed, along the path from a queue to the root.

use bevy_ecs::entity::Entity;

use super::room::reclaimable;
use crate::policy::{Desk, Evictions};
use crate::resource::{Dim, ResourceNames, ResourceVec};
use crate::verdict::{Reason, Verdict};
use crate::world::{Cluster, JobReadOnlyItem, QueueReadOnlyItem, lacking};

/// May the queue, and every queue above it, take the request on top of what is used and held?
///
/// The objection is [`Reason::QueueOverCapability`] where the queue's own capability is in the way and
/// [`Reason::NotEnoughResources`] where what the cluster has left for it is.
pub(crate) fn fits(
    cluster: &Cluster<'_, '_>,
    names: &ResourceNames,
    queue: &QueueReadOnlyItem<'_, '_>,
    request: &ResourceVec,
) -> Result<(), Verdict> {
    let mut next = Some(queue.entity);
    while let Some(at) = next {
        let queue = cluster.queue(at);
        if let Some(ceiling) = queue.terms.ceiling.as_ref().filter(|_| is_limited(&queue)) {
            let over = |dim: Dim, asked: i64| {
                queue.usage.taken(dim).saturating_add(asked) > ceiling.get(dim)
                    && is_judged(&queue, dim)
            };
            if let Some((dim, asked)) = first_by_name(names, request, over) {
                let used = queue.usage.taken(dim);
                return Err(excess(names, &queue, dim, used, asked));
            }
        }
        next = queue.spec.parent;
    }
    Ok(())
}

/// May a job be admitted: does what it still needs of its `minResources` fit below every ceiling on its
/// path, beside what is used and promised there?
///
/// What jobs hold beyond their minimum does not count, they can do without it. Where pods may be
/// evicted, neither does what the job's queue may take back from the others below the same ceiling: it
/// would have to be admitted before it could.
pub(crate) fn admissible(
    cluster: &Cluster<'_, '_>,
    desk: &Desk<'_>,
    job: &JobReadOnlyItem<'_, '_>,
) -> Result<(), Verdict> {
    let asked = lacking(job.spec, job.held);
    let mut next = Some(job.spec.queue);
    while let Some(at) = next {
        let queue = cluster.queue(at);
        next = queue.spec.parent;
        let Some(ceiling) = queue.terms.ceiling.as_ref().filter(|_| is_limited(&queue)) else {
            continue;
        };
        let own = at == job.spec.queue;
        let spare = spare(cluster, desk, job.spec.queue, (!own).then_some(at));
        let used = |dim: Dim| {
            let use_of = queue.usage;
            let firm = use_of.allocated.get(dim).saturating_sub(use_of.elastic.get(dim));
            let firm = firm.saturating_add(use_of.inqueue.get(dim));
            firm.saturating_sub(spare.get(dim)).max(0)
        };
        let over = |dim: Dim, asked: i64| {
            used(dim).saturating_add(asked) > ceiling.get(dim) && is_judged(&queue, dim)
        };
        if let Some((dim, asked)) = first_by_name(desk.names, &asked, over) {
            let mut verdict = excess(desk.names, &queue, dim, used(dim), asked);
            verdict.reason = Reason::QueueOverCapability;
            return Err(verdict);
        }
    }
    Ok(())
}

/// Is the queue to be judged? How much of the whole cluster is in use is a matter of its nodes, unless
/// the root has a limit of its own.
fn is_limited(queue: &QueueReadOnlyItem<'_, '_>) -> bool {
    queue.spec.parent.is_some() || queue.spec.capability.is_some()
}

/// What the queue could take back from others below the ancestor; nothing from itself.
fn spare(
    cluster: &Cluster<'_, '_>,
    desk: &Desk<'_>,
    queue: Entity,
    ancestor: Option<Entity>,
) -> ResourceVec {
    match ancestor {
        Some(_) if desk.evictions == Evictions::Configured => reclaimable(cluster, queue, ancestor),
        _ => ResourceVec::default(),
    }
}

/// Does the resource count? Every pod is one of `pods`, so they count only where somebody limits them.
fn is_judged(queue: &QueueReadOnlyItem<'_, '_>, dim: Dim) -> bool {
    let named = || queue.spec.capability.iter().flatten().any(|(name, _)| &**name == "pods");
    dim != Dim::PODS || named()
}

/// The first resource by name that the request asks for and that is over.
fn first_by_name(
    names: &ResourceNames,
    request: &ResourceVec,
    over: impl Fn(Dim, i64) -> bool,
) -> Option<(Dim, i64)> {
    let asked = request.iter().filter(|&(_, asked)| asked > 0);
    let over = asked.filter(|&(dim, asked)| over(dim, asked));
    over.min_by(|a, b| names.name(a.0).cmp(names.name(b.0)))
}

/// The objection in words.
fn excess(
    names: &ResourceNames,
    queue: &QueueReadOnlyItem<'_, '_>,
    dim: Dim,
    used: i64,
    asked: i64,
) -> Verdict {
    let name = names.name(dim);
    let show = |amount: i64| names.display(dim, amount);
    let capability = queue.spec.capability.iter().flatten().find(|entry| entry.0 == *name);
    let capability = capability.map(|entry| ResourceNames::units(dim, entry.1));
    let (who, used_text, asked_text) = (&queue.identity.name, show(used), show(asked));
    if let Some(limit) = capability.filter(|&limit| used.saturating_add(asked) > limit) {
        let limit = show(limit);
        let message = format!(
            "queue {who:?} has capability {name} {limit}: {used_text} taken, {asked_text} asked"
        );
        return Verdict::new(Reason::QueueOverCapability, message);
    }
    let ceiling = queue.terms.ceiling.as_ref().map_or(0, |ceiling| ceiling.get(dim));
    let message = format!(
        "queue {who:?} may use {name} {}, what the cluster has beside the guarantees of other queues: \
         {used_text} taken, {asked_text} asked",
        show(ceiling)
    );
    Verdict::new(Reason::NotEnoughResources, message)
}
