//! `priority`: higher priority first.
//!
//! Promise: of two jobs of a queue the one of higher priority class is served first, of two tasks of
//! a job the one of higher pod priority. Alone, it calls a job starving while any of its tasks waits.

use super::{Point, Policy};
use crate::world::{Cluster, JobReadOnlyItem, TaskReadOnlyItem};

/// The plugin; it has no arguments.
pub(super) struct Priority;

impl Policy for Priority {
    fn name(&self) -> &'static str {
        "priority"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::JobOrder, Point::TaskOrder, Point::JobStarving]
    }

    fn job_order(&self, _cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> i64 {
        -i64::from(job.spec.priority)
    }

    fn task_order(&self, task: &TaskReadOnlyItem<'_, '_>) -> i64 {
        -i64::from(task.traits.priority)
    }

    fn job_starving(&self, job: &JobReadOnlyItem<'_, '_>) -> bool {
        job.counts.ready() + job.counts.pipelined() < job.counts.tasks()
    }
}
