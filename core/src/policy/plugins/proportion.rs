//! `proportion`: queues share the cluster by weight.
//!
//! Promise: what the cluster has of each resource is divided among the queues that want it as their
//! weights are, to the last unit: nobody is due more than it asks for or may use, nobody less than
//! its guarantee, and nothing is left undivided while a queue wants it and may have it. A queue is
//! served while it is below its due and never beyond it; the one of higher priority first, then the
//! one that has the smaller part of its due. A job is admitted if its `minResources` fit below the
//! ceilings of its queue and of those above it. A queue that is below its due may take back what others
//! have beyond theirs: pods that hold some of it, while guarantees stay covered. Parents count for
//! ceilings and guarantees only: weights compare all queues with each other.
//!
//! No arguments.

use bevy_ecs::entity::Entity;

use crate::policy::queues::{
    Claim, Claims, Giving, Portion, QueueClaim, admissible, ceilings, divide, exceeds_due, fits,
};
use crate::policy::{
    AdmissionContext, Admittance, AllocatablePlugin, ApportionPlugin, Ballot, Build, EvictPurpose,
    Evictor, JobEnqueueablePlugin, OverusedPlugin, Plugin, PluginSpec, PreemptivePlugin,
    QueueOrderPlugin, ReclaimablePlugin, Setup, UnifiedEvictablePlugin, Words, plugin,
};
use crate::resource::{Dim, Limits, ResourceNames, ResourceVec};
use crate::status::QueueState;
use crate::verdict::{Reason, Verdict};
use crate::world::{Cluster, JobReadOnlyItem, QueueReadOnlyItem};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    words: Words {
        queue_order: Some("higher priority, then smallest part of its due used"),
        admits: Some("its queue stays within its capability"),
        victims: Some("their queue uses more than its due and keeps its guarantee"),
        gang_victims: &[EvictPurpose::Reclaim],
        ..Words::NONE
    },
    ..PluginSpec::of::<Proportion>(
        "proportion",
        "queues share the cluster by weight, within their guarantee and capability",
    )
};

/// The plugin.
pub(in crate::policy) struct Proportion;

plugin!(Proportion);

impl Plugin for Proportion {}

impl Build for Proportion {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl ApportionPlugin for Proportion {
    fn apportion(&self, claims: &Claims<'_>) -> Vec<Portion> {
        apportion(claims)
    }
}

impl QueueOrderPlugin for Proportion {
    fn queue_order(
        &self,
        _cluster: &Cluster<'_, '_>,
        queue: &QueueReadOnlyItem<'_, '_>,
        _next: Option<Entity>,
        keys: &mut [i64],
    ) {
        let share = queue.deserved.share(|dim| queue.usage().taken(dim)).unwrap_or(0);
        let own = [-i64::from(queue.spec.priority), share];
        keys.copy_from_slice(&own[..keys.len()]);
    }

    fn queue_levels(&self) -> usize {
        2
    }
}

impl OverusedPlugin for Proportion {
    fn overused(&self, _cluster: &Cluster<'_, '_>, queue: &QueueReadOnlyItem<'_, '_>) -> bool {
        let Some(due) = &queue.deserved.0 else { return false };
        // What is only held does not count: its jobs must have their turns to take it.
        due.iter().all(|(dim, due)| due <= queue.usage().allocated.get(dim))
    }
}

impl AllocatablePlugin for Proportion {
    fn allocatable(
        &self,
        cluster: &Cluster<'_, '_>,
        names: &ResourceNames,
        job: &JobReadOnlyItem<'_, '_>,
        request: &ResourceVec,
    ) -> Result<(), Verdict> {
        let queue = cluster.queue(job.spec.queue);
        fits(cluster, names, &queue, request)?;
        let Some((dim, asked)) = beyond_due(&queue, request, names) else { return Ok(()) };
        let due = queue.deserved.0.as_ref().map_or(0, |due| due.values().get(dim));
        let message = format!(
            "queue {:?} is due {} {} of the cluster by its weight: {} taken, {} asked",
            queue.identity.name,
            names.name(dim),
            names.display(dim, due),
            names.display(dim, queue.usage().taken(dim)),
            names.display(dim, asked)
        );
        Err(Verdict::new(Reason::NotEnoughResources, message))
    }
}

impl PreemptivePlugin for Proportion {
    fn preemptive(
        &self,
        cluster: &Cluster<'_, '_>,
        job: &JobReadOnlyItem<'_, '_>,
        request: &ResourceVec,
    ) -> bool {
        let queue = cluster.queue(job.spec.queue);
        let Some(due) = &queue.deserved.0 else { return true };
        let within = |dim: Dim, asked: i64| {
            queue.usage().taken(dim).saturating_add(asked) <= due.values().get(dim)
        };
        queue.spec.state == QueueState::Open
            && wanted(request).all(|(dim, asked)| within(dim, asked))
    }
}

impl JobEnqueueablePlugin for Proportion {
    fn job_enqueueable(
        &self,
        cluster: &Cluster<'_, '_>,
        context: &AdmissionContext<'_>,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Admittance {
        admissible(cluster, context, job).into()
    }
}

impl ReclaimablePlugin for Proportion {
    fn reclaimable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        beyond_dues(cluster, evictor, candidates)
    }
}

impl UnifiedEvictablePlugin for Proportion {
    fn unified_evictable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        match evictor.purpose {
            EvictPurpose::Preempt | EvictPurpose::Consolidate => Ballot::Abstain,
            EvictPurpose::Reclaim => beyond_dues(cluster, evictor, candidates),
        }
    }
}

/// Candidates that hold something of which their queue has more than its due, each counted as gone
/// before the next one is judged.
fn beyond_dues(cluster: &Cluster<'_, '_>, evictor: &Evictor, candidates: &[Entity]) -> Ballot {
    let mut giving = Giving::new(cluster, evictor);
    Ballot::filter(candidates, |task| {
        giving.take(task, |giving, lot| {
            let due = cluster.queue(lot.queue).lasting_due();
            due.is_some_and(|due| exceeds_due(giving.left(lot.queue), due, &lot.request))
        })
    })
}

/// What a request asks for and queues are judged by.
fn wanted(request: &ResourceVec) -> impl Iterator<Item = (Dim, i64)> + '_ {
    request.iter().filter(|&(dim, asked)| asked > 0 && dim != Dim::PODS)
}

/// The first resource by name of which the queue would have more than its due.
fn beyond_due(
    queue: &QueueReadOnlyItem<'_, '_>,
    request: &ResourceVec,
    names: &ResourceNames,
) -> Option<(Dim, i64)> {
    let due = queue.deserved.0.as_ref()?;
    let beyond = wanted(request).filter(|&(dim, asked)| {
        queue.usage().taken(dim).saturating_add(asked) > due.values().get(dim)
    });
    beyond.min_by(|a, b| names.name(a.0).cmp(names.name(b.0)))
}

/// What each queue is due of the cluster, and of what other schedulers leave of it.
fn apportion(claims: &Claims<'_>) -> Vec<Portion> {
    let mut portions = divide_among(claims, claims.total);
    if claims.others.iter().any(|(_, taken)| taken > 0) {
        let mut left = claims.total.clone();
        left.sub(claims.others);
        let lasting = divide_among(claims, &left);
        for (portion, lasting) in portions.iter_mut().zip(lasting) {
            portion.terms.lasting_due = Some(lasting.deserved);
        }
    }
    portions
}

/// Divides a total of each resource among all queues. A parent is due what its own jobs and its children
/// are.
fn divide_among(claims: &Claims<'_>, total: &ResourceVec) -> Vec<Portion> {
    let terms = ceilings(claims);
    let demands: Vec<ResourceVec> = claims.queues.iter().map(QueueClaim::demand).collect();
    // A child that may not want more has asked for it all the same: it is not its parent's wish.
    let below = claims.of_children(|at| claims.queues[at].usage.requested.clone());
    let mut portions: Vec<Portion> =
        terms.into_iter().map(|terms| Portion { deserved: Limits::default(), terms }).collect();
    let kept_below = claims.of_children(|at| portions[at].terms.guarantee.clone());
    for dim in dims(claims) {
        let mut sides: Vec<Claim> = claims
            .queues
            .iter()
            .zip(demands.iter().zip(&below))
            .zip(portions.iter().zip(&kept_below))
            .map(|((queue, (demand, below)), (portion, kept))| {
                let wants = demand.get(dim).saturating_sub(below.get(dim)).max(0);
                let ceiling = portion.terms.ceiling.as_ref().map_or(0, |most| most.get(dim)).max(0);
                // What is kept for its children is theirs.
                let floor = portion.terms.guarantee.get(dim).saturating_sub(kept.get(dim)).max(0);
                Claim { weight: queue.weight.max(1), floor, cap: wants.min(ceiling).max(floor) }
            })
            .collect();
        cap_families(claims, &portions, dim, &mut sides);
        for (portion, due) in portions.iter_mut().zip(divide(total.get(dim), &sides)) {
            portion.deserved.set(dim, due);
        }
    }
    for &at in claims.top_down().iter().rev() {
        if let Some(parent) = claims.queues[at].parent {
            for (dim, due) in portions[at].deserved.clone().iter() {
                let sum = portions[parent].deserved.values().get(dim).saturating_add(due);
                portions[parent].deserved.set(dim, sum);
            }
        }
    }
    portions
}

/// Where a queue and those below it together may not have what each of them may, they divide what
/// they may have: the rest is for others.
fn cap_families(claims: &Claims<'_>, portions: &[Portion], dim: Dim, sides: &mut [Claim]) {
    let mut families: Vec<Vec<usize>> = (0..sides.len()).map(|at| vec![at]).collect();
    for &at in claims.top_down().iter().rev() {
        let mut family = std::mem::take(&mut families[at]);
        family.sort_unstable();
        let most = portions[at].terms.ceiling.as_ref().map_or(0, |most| most.get(dim)).max(0);
        let caps = family.iter().map(|&member| sides[member].cap);
        if family.len() > 1 && caps.fold(0i64, i64::saturating_add) > most {
            let own: Vec<Claim> = family.iter().map(|&member| sides[member]).collect();
            for (&member, due) in family.iter().zip(divide(most, &own)) {
                sides[member].cap = due.max(sides[member].floor);
            }
        }
        if let Some(parent) = claims.queues[at].parent {
            families[parent].extend(family);
        }
    }
}

/// Every resource the cluster has, or a queue wants or is guaranteed.
fn dims(claims: &Claims<'_>) -> Vec<Dim> {
    let queues = claims.queues.iter();
    let wanted =
        queues.flat_map(|queue| queue.usage.requested.iter().chain(queue.guarantee.iter()));
    let mut dims: Vec<Dim> = claims.total.iter().chain(wanted).map(|(dim, _)| dim).collect();
    dims.sort_unstable();
    dims.dedup();
    dims
}

#[cfg(test)]
mod tests;
