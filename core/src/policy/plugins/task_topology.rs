//! `task-topology`: roles of a job that want to share nodes are placed so, and those that do not apart.
//!
//! Promise: a PodGroup says in annotations which of its roles belong together and which keep away from
//! each other. Its pods are sorted into buckets: each pod joins the bucket it belongs to most, and opens
//! one of its own where it keeps away from all. A bucket is drawn to a node that has room for all of it,
//! and that has pods of it already; its pods are placed one after the other, larger buckets first.
//! Wishes are scores: where a bucket fits nowhere whole its pods are placed all the same.
//!
//! Buckets follow from where the pods of the job are and from nothing else. They are found anew whenever
//! the job is tried, so whatever is given back or lost counts at once, and equal input gives equal places.
//! Jobs without these annotations cost nothing.
//!
//! Arguments: its weight.

mod buckets;

use bevy_ecs::entity::Entity;

use self::buckets::Buckets;
use crate::config::ArgumentKind::Int;
use crate::config::arg;
use crate::policy::{
    Arrangement, Build, JobScorePlugin, Plugin, PluginSpec, Point, Setup, TaskOrderPlugin, Weight,
    Words, plugin,
};
use crate::world::{Cluster, JobReadOnlyItem, TaskReadOnlyItem};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    arguments: &[arg("task-topology.weight", Int, "1", "factor of its node score")],
    words: Words {
        scores: &[("roles together or apart", Weight::Argument("task-topology.weight"))],
        ..Words::NONE
    },
    ..PluginSpec::of::<TaskTopology>(
        "task-topology",
        "roles of a job that want to be together, or apart, are placed so",
    )
};

/// The plugin with its arguments.
pub(in crate::policy) struct TaskTopology {
    weight: i64,
}

plugin!(TaskTopology);

impl Plugin for TaskTopology {
    fn takes_part(&self, point: Point) -> bool {
        point != Point::JobScore || self.weight != 0
    }
}

impl Build for TaskTopology {
    fn build(setup: &mut Setup<'_>) -> Self {
        Self { weight: setup.arguments.int("task-topology.weight") }
    }
}

impl TaskOrderPlugin for TaskTopology {
    fn task_order(&self, _task: &TaskReadOnlyItem<'_, '_>) -> i64 {
        0
    }

    fn joint_task_order(
        &self,
        cluster: &Cluster<'_, '_>,
        job: &JobReadOnlyItem<'_, '_>,
        tasks: &[TaskReadOnlyItem<'_, '_>],
    ) -> Option<Vec<i64>> {
        Buckets::of(cluster, job).map(|buckets| buckets.order(tasks))
    }
}

impl JobScorePlugin for TaskTopology {
    fn arrangement(
        &self,
        cluster: &Cluster<'_, '_>,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Option<Box<dyn Arrangement>> {
        let buckets = Buckets::of(cluster, job)?;
        Some(Box::new(Arranged { buckets, job: job.entity, weight: self.weight }))
    }
}

/// The buckets of a job while it is placed.
struct Arranged {
    buckets: Buckets,
    job: Entity,
    weight: i64,
}

impl Arrangement for Arranged {
    fn score(&self, cluster: &Cluster<'_, '_>, task: Entity, rows: &[u32], scores: &mut [i64]) {
        self.buckets.score(cluster, (self.job, task), self.weight, rows, scores);
    }
}

#[cfg(test)]
mod tests;
