//! What a request would exceed, along the path from a queue to the root.

use bevy_ecs::entity::Entity;

use super::kept::leaves_guarantees;
use super::room::reclaimable;
use crate::policy::{AdmissionContext, Evictions};
use crate::resource::{Dim, ResourceNames, ResourceVec};
use crate::verdict::{Reason, Verdict};
use crate::world::{Cluster, JobReadOnlyItem, QueueReadOnlyItem, lacking};

/// May the queue, and every queue above it, take the request on top of what is used and held, and are
/// others left what is guaranteed to them?
///
/// The objection is [`Reason::QueueOverCapability`] where the queue's own capability is in the way and
/// [`Reason::NotEnoughResources`] where what the cluster has left for it is.
pub(crate) fn fits(
    cluster: &Cluster<'_, '_>,
    names: &ResourceNames,
    queue: &QueueReadOnlyItem<'_, '_>,
    request: &ResourceVec,
) -> Result<(), Verdict> {
    let taken = |queue: &QueueReadOnlyItem<'_, '_>, dim: Dim| queue.usage().taken(dim);
    check(cluster, names, queue.entity, request, taken)?;
    leaves_guarantees(cluster, names, queue, request)
}

/// May a job be admitted: does what it still needs of its `minResources` fit below every ceiling on its
/// path, beside what is used and promised there?
///
/// What jobs hold beyond their minimum does not count, they can do without it. Where pods may be
/// evicted, neither does what the job's queue may take back from the others below the same ceiling: it
/// would have to be admitted before it could.
pub(crate) fn admissible(
    cluster: &Cluster<'_, '_>,
    context: &AdmissionContext<'_>,
    job: &JobReadOnlyItem<'_, '_>,
) -> Result<(), Verdict> {
    let asked = lacking(job.spec, job.held());
    let firm = |queue: &QueueReadOnlyItem<'_, '_>, dim: Dim| {
        let usage = queue.usage();
        let firm = usage.allocated.get(dim).saturating_sub(usage.elastic.get(dim));
        firm.saturating_add(usage.inqueue.get(dim))
    };
    let checked = check(cluster, context.names, job.spec.queue, &asked, firm);
    if checked.is_ok() || context.evictions == Evictions::None {
        return checked.map_err(as_capability);
    }
    // Dearer, and needed only where the plain sum is too much.
    let spared = |queue: &QueueReadOnlyItem<'_, '_>, dim: Dim| {
        let ancestor = Some(queue.entity).filter(|&at| at != job.spec.queue);
        let spare = ancestor.map(|at| reclaimable(cluster, job.spec.queue, Some(at)).get(dim));
        firm(queue, dim).saturating_sub(spare.unwrap_or(0)).max(0)
    };
    check(cluster, context.names, job.spec.queue, &asked, spared).map_err(as_capability)
}

/// Admission looks at no node: whatever the ceiling rests on, it is the queue's.
fn as_capability(objection: Verdict) -> Verdict {
    Verdict { reason: Reason::QueueOverCapability, ..objection }
}

/// Looks for a ceiling the request would exceed, by a measure of what is there already.
fn check(
    cluster: &Cluster<'_, '_>,
    names: &ResourceNames,
    queue: Entity,
    request: &ResourceVec,
    used: impl Fn(&QueueReadOnlyItem<'_, '_>, Dim) -> i64,
) -> Result<(), Verdict> {
    let mut next = Some(queue);
    while let Some(at) = next {
        let queue = cluster.queue(at);
        next = queue.spec.parent;
        let Some(ceiling) = queue.terms.ceiling.as_ref().filter(|_| is_limited(&queue)) else {
            continue;
        };
        let over = |dim: Dim, asked: i64| {
            used(&queue, dim).saturating_add(asked) > ceiling.get(dim) && is_judged(&queue, dim)
        };
        if let Some((dim, asked)) = first_by_name(names, request, over) {
            return Err(excess(cluster, names, at, (dim, asked), used));
        }
    }
    Ok(())
}

/// Is the queue to be judged? How much of the whole cluster is in use is a matter of its nodes, unless
/// the root has a limit of its own.
fn is_limited(queue: &QueueReadOnlyItem<'_, '_>) -> bool {
    queue.spec.parent.is_some() || queue.spec.capability.is_some()
}

/// Does the resource count? Every pod is one of `pods`, so they count only where somebody limits them.
fn is_judged(queue: &QueueReadOnlyItem<'_, '_>, dim: Dim) -> bool {
    let named = || queue.spec.capability.iter().flatten().any(|(name, _)| &**name == "pods");
    dim != Dim::PODS || named()
}

/// The first resource by name that the request asks for and that is over.
pub(crate) fn first_by_name(
    names: &ResourceNames,
    request: &ResourceVec,
    over: impl Fn(Dim, i64) -> bool,
) -> Option<(Dim, i64)> {
    let asked = request.iter().filter(|&(_, asked)| asked > 0);
    let over = asked.filter(|&(dim, asked)| over(dim, asked));
    over.min_by(|a, b| names.name(a.0).cmp(names.name(b.0)))
}

/// The objection in words: the capability that is in the way, of the queue or of one above it, or else
/// what the cluster has left.
fn excess(
    cluster: &Cluster<'_, '_>,
    names: &ResourceNames,
    queue: Entity,
    (dim, asked): (Dim, i64),
    used: impl Fn(&QueueReadOnlyItem<'_, '_>, Dim) -> i64,
) -> Verdict {
    let name = names.name(dim);
    let show = |amount: i64| names.display(dim, amount);
    let mut next = Some(queue);
    while let Some(at) = next {
        let above = cluster.queue(at);
        next = above.spec.parent;
        let capability = above.spec.capability.iter().flatten().find(|entry| entry.0 == *name);
        let capability = capability.map(|entry| ResourceNames::units(dim, entry.1));
        let there = used(&above, dim);
        if let Some(limit) = capability.filter(|&limit| there.saturating_add(asked) > limit) {
            let message = format!(
                "queue {:?} has capability {name} {}: {} taken, {} asked",
                above.identity.name,
                show(limit),
                show(there),
                show(asked)
            );
            return Verdict::new(Reason::QueueOverCapability, message);
        }
    }
    let queue = cluster.queue(queue);
    let ceiling = queue.terms.ceiling.as_ref().map_or(0, |ceiling| ceiling.get(dim));
    let message = format!(
        "queue {:?} may use {name} {}, what the cluster has beside the guarantees of other queues: {} \
         taken, {} asked",
        queue.identity.name,
        show(ceiling),
        show(used(&queue, dim)),
        show(asked)
    );
    Verdict::new(Reason::NotEnoughResources, message)
}
