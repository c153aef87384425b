//! Marks jobs that have waited as long as they may, before the actions ask.
//!
//! Reads: the time, what plugins say of a job's patience. Writes: the mark.

use bevy_ecs::prelude::{Query, Res};

use crate::place::Now;
use crate::policy::{Point, Policies};
use crate::world::{Job, JobOverdue};

pub(super) fn mark(mut jobs: Query<'_, '_, Job>, policies: Res<'_, Policies>, now: Res<'_, Now>) {
    if !policies.is_asked(Point::Deadline) {
        return;
    }
    let is_over = |job: &_| policies.deadline(job).is_some_and(|end| end <= now.0);
    let stale: Vec<_> = jobs
        .iter()
        .map(|job| (job.entity, job.overdue.0, is_over(&job)))
        .filter(|(_, marked, over)| marked != over)
        .map(|(job, _, over)| (job, over))
        .collect();
    for (job, over) in stale {
        if let Ok(mut job) = jobs.get_mut(job) {
            *job.overdue = JobOverdue(over);
        }
    }
}
