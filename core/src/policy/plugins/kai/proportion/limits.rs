//! What a queue may take: within its limit and, for work that makes way for nobody, within its quota; the
//! same for every queue above it. Only what is asked for is looked at.

use bevy_ecs::entity::Entity;

use super::KaiProportion;
use crate::policy::queues::first_by_name;
use crate::policy::{AllocatablePlugin, upwards};
use crate::resource::{Dim, Limits, ResourceNames, ResourceVec};
use crate::verdict::{Reason, Verdict};
use crate::world::{Cluster, JobReadOnlyItem, QuotaTerms};

/// Which bound of a queue.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ShareBound {
    Limit,
    Quota,
}

impl AllocatablePlugin for KaiProportion {
    fn allocatable(
        &self,
        cluster: &Cluster<'_, '_>,
        names: &ResourceNames,
        job: &JobReadOnlyItem<'_, '_>,
        request: &ResourceVec,
    ) -> Result<(), Verdict> {
        misplaced(cluster, job.spec.queue)?;
        let firm = !job.spec.is_preemptible();
        for queue in upwards(cluster, job.spec.queue) {
            self.within(cluster, names, queue, ShareBound::Limit, request)?;
            if firm {
                self.within(cluster, names, queue, ShareBound::Quota, request)?;
            }
        }
        Ok(())
    }
}

/// A job belongs into a queue without children.
pub(super) fn misplaced(cluster: &Cluster<'_, '_>, queue: Entity) -> Result<(), Verdict> {
    let queue = cluster.queue(queue);
    // The root has children from the beginning, and no jobs but those of a queue that is gone.
    if !queue.terms.is_parent {
        return Ok(());
    }
    let name = &queue.identity.name;
    let message = format!("queue {name:?} has child queues; name one of its children instead");
    Err(Verdict::new(Reason::NotAdmitted, message))
}

impl KaiProportion {
    /// Does the request fit below a bound of one queue, beside what counts towards it?
    fn within(
        &self,
        cluster: &Cluster<'_, '_>,
        names: &ResourceNames,
        queue: Entity,
        bound: ShareBound,
        request: &ResourceVec,
    ) -> Result<(), Verdict> {
        let queue = cluster.queue(queue);
        let Some(terms) = &queue.terms.quotas else { return Ok(()) };
        let has = |dim: Dim| match bound {
            ShareBound::Limit => queue.usage().taken(dim),
            ShareBound::Quota => queue.usage().non_preemptible.get(dim),
        };
        let most = |dim: Dim| self.bound(terms, bound, dim);
        let sum = |of: &dyn Fn(Dim) -> i64, dim: Dim| {
            self.alike(dim).map(of).fold(0, i64::saturating_add)
        };
        let asks = |dim: Dim| sum(&|dim| request.get(dim), dim);
        let over = |dim: Dim, _| {
            most(dim).is_some_and(|most| sum(&has, dim).saturating_add(asks(dim)) > most)
        };
        let Some((dim, _)) = first_by_name(names, request, over) else { return Ok(()) };
        let show = |amount: i64| names.display(dim, amount);
        let (word, whose) = match bound {
            ShareBound::Limit => ("limit", ""),
            ShareBound::Quota => ("quota", " by jobs that are not preemptible"),
        };
        let message = format!(
            "queue {:?} has {word} {} {}: {} taken{whose}, {} asked",
            queue.identity.name,
            names.name(dim),
            show(most(dim).unwrap_or(0)),
            show(sum(&has, dim)),
            show(asks(dim)),
        );
        let reason = match bound {
            ShareBound::Limit => Reason::QueueOverCapability,
            ShareBound::Quota => Reason::QueueOverQuota,
        };
        Err(Verdict::new(reason, message))
    }

    /// The bound of a dimension; GPUs of all makers have one together.
    fn bound(&self, terms: &QuotaTerms, bound: ShareBound, dim: Dim) -> Option<i64> {
        let named: &Limits = match bound {
            ShareBound::Limit => &terms.limit,
            ShareBound::Quota => &terms.quota,
        };
        self.resources
            .index(dim)
            .map_or_else(|| named.get(dim), |at| self.resources.named(named)[at])
    }

    /// The dimensions that count with this one.
    fn alike(&self, dim: Dim) -> impl Iterator<Item = Dim> {
        self.resources.alike(dim)
    }
}
