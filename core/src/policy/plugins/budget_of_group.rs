//! How many pods a job may lose at a time, by the annotations of its PodGroup.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::delta::GroupBudget;
use crate::world::{Cluster, JobReadOnlyItem, TaskStatus};

/// What is left of the budgets of jobs while a list of candidates is gone through.
#[derive(Default)]
pub(super) struct Allowance(BTreeMap<Entity, i64>);

impl Allowance {
    /// May the task go, besides those that were taken before? Then it is one of them.
    pub(super) fn take(&mut self, cluster: &Cluster<'_, '_>, task: Entity) -> bool {
        let Some(job) = cluster.task(task).membership.job else { return false };
        let left = self.0.entry(job).or_insert_with(|| allowed(&cluster.job(job)));
        *left -= 1;
        *left >= 0
    }
}

/// Tasks a job may lose as things stand. One at a time where it says nothing.
fn allowed(job: &JobReadOnlyItem<'_, '_>) -> i64 {
    let counts = job.counts();
    let all = counts.tasks();
    let running = i64::from(counts.count(&[TaskStatus::Running]));
    let ended = counts.count(&[TaskStatus::Succeeded, TaskStatus::Failed]);
    match job.spec.budget {
        None => 1,
        Some(GroupBudget::MinAvailable(least)) => running - least.of(all),
        Some(GroupBudget::MaxUnavailable(most)) => {
            most.of(all) - (i64::from(all - ended) - running)
        }
    }
}
