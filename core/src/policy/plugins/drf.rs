//! `drf`: dominant resource fairness between the jobs of a queue, and between queues if asked.
//!
//! Promise: the job whose largest part of any one resource of the cluster is smaller is served
//! first, so that equal elastic jobs take turns. A job is preempted for another only as long as it
//! keeps at least the share the other will have.
//!
//! With `enableHierarchy: true` queues form a tree by their annotations `volcano.sh/hierarchy` and
//! `volcano.sh/hierarchy-weights`, and the queue whose branch has the smaller share for its weight is
//! served first, level by level; see [`hierarchy`]. Then a task is reclaimed for a queue that stays
//! behind the task's own even without that task.
//!
//! It has no arguments.

mod hierarchy;

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use self::hierarchy::Tree;
use crate::config::Gate;
use crate::policy::{
    Ballot, Build, Evictor, JobOrderPlugin, Plugin, PluginSpec, PreemptablePlugin,
    QueueOrderPlugin, QueueTable, ReclaimablePlugin, Setup, Words, plugin,
};
use crate::resource::ResourceVec;
use crate::world::{Cluster, JobReadOnlyItem, QueueReadOnlyItem, TaskReadOnlyItem};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    extra_gates: &[Gate::Hierarchy],
    with_hierarchy: &[Gate::QueueOrder, Gate::Reclaimable],
    words: Words {
        job_order: Some("smallest share of its most used resource"),
        queue_order: Some("smallest share by the hierarchy of queues"),
        victims: Some("their job holds a larger share"),
        ..Words::NONE
    },
    ..PluginSpec::of::<Drf>(
        "drf",
        "the job holding the smallest share of its most used resource goes first",
    )
};

/// The plugin.
pub(in crate::policy) struct Drf;

/// Shares are compared in parts per billion: finer than one milli-core of a million.
const PARTS: i128 = 1_000_000_000;

/// Shares closer than this are equal when victims are chosen: a millionth.
const CLOSE: i64 = 1_000;

plugin!(Drf);

impl Plugin for Drf {}

impl Build for Drf {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl JobOrderPlugin for Drf {
    fn job_order(&self, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> i64 {
        dominant_share(&holding(job), cluster.capacity())
    }
}

impl QueueOrderPlugin for Drf {
    fn queue_order(
        &self,
        cluster: &Cluster<'_, '_>,
        queue: &QueueReadOnlyItem<'_, '_>,
        _next: Option<Entity>,
        keys: &mut [i64],
    ) {
        QueueTable::keys(&Tree::of(cluster), queue.entity, keys);
    }

    /// Queues below one branch move it together.
    fn queue_table(&self, cluster: &Cluster<'_, '_>) -> Option<Box<dyn QueueTable>> {
        Some(Box::new(Tree::of(cluster)))
    }

    fn queue_levels(&self) -> usize {
        hierarchy::LEVELS
    }
}

impl PreemptablePlugin for Drf {
    fn preemptable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        let total = cluster.capacity();
        let mut gains = holding(&cluster.job(evictor.job));
        if let Some(task) = evictor.task {
            gains.add(&request(&cluster.task(task)));
        }
        let gains = dominant_share(&gains, total);
        // Whatever is said of one candidate, the next of its job is judged as if it had gone.
        let mut left: BTreeMap<Entity, ResourceVec> = BTreeMap::new();
        Ballot::filter(candidates, |victim| {
            let victim = cluster.task(victim);
            let Some(job) = victim.membership.job else { return false };
            let rest = left.entry(job).or_insert_with(|| holding(&cluster.job(job)));
            rest.sub(&request(&victim));
            gains <= dominant_share(rest, total).saturating_add(CLOSE)
        })
    }
}

impl ReclaimablePlugin for Drf {
    fn reclaimable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        let mut tree = Tree::of(cluster);
        if let Some(task) = evictor.task {
            tree.promise(evictor.job, &request(&cluster.task(task)));
        }
        let wants = evictor.queue(cluster);
        Ballot::filter(candidates, |victim| {
            let victim = cluster.task(victim);
            let Some(job) = victim.membership.job else { return false };
            let request = request(&victim);
            tree.sub(job, &request);
            let behind = tree.keys(wants) < tree.keys(cluster.job(job).spec.queue);
            tree.add(job, &request);
            behind
        })
    }
}

/// What a job holds. Reservations count: a job that waits for room must not look poorer than it
/// will be.
fn holding(job: &JobReadOnlyItem<'_, '_>) -> ResourceVec {
    let mut held = job.held().allocated.clone();
    held.add(&job.held().reserved);
    held
}

fn request(task: &TaskReadOnlyItem<'_, '_>) -> ResourceVec {
    task.whole_request()
}

/// The largest part of any resource, in parts per billion.
fn dominant_share(held: &ResourceVec, total: &ResourceVec) -> i64 {
    let parts = held.iter().filter(|&(_, amount)| amount > 0).map(|(dim, amount)| {
        let whole = i128::from(total.get(dim));
        // A resource the cluster no longer has is held entirely.
        if whole <= 0 { PARTS } else { i128::from(amount) * PARTS / whole }
    });
    i64::try_from(parts.max().unwrap_or(0)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests;
