//! Why each pod waits, told when it begins to wait or waits for another class of reason.
//!
//! Only jobs are looked into that were tried, changed or judged since: a trial moves the counts of a
//! job even if it is undone.
//!
//! Reads: verdicts, tasks of such jobs. Writes: what was told of each task.

use std::sync::Arc;

use bevy_ecs::prelude::{DetectChanges, Query, Ref, ResMut};
use bevy_ecs::query::QueryData;

use crate::inspect::Wait;
use crate::intent::Intent;
use crate::place::Outcome;
use crate::status::WaitReport;
use crate::world::{
    ActiveJobs, JobCounts, JobIdentity, JobMembers, JobVerdict, NodeIdentity, ReportedWait, Task,
};

/// What is read of a job.
#[derive(QueryData)]
pub(in crate::cycle) struct Waiting {
    identity: &'static JobIdentity,
    members: &'static JobMembers,
    counts: Ref<'static, JobCounts>,
    verdict: Ref<'static, JobVerdict>,
}

pub(in crate::cycle) fn tell_waits(
    jobs: Query<'_, '_, Waiting>,
    mut tasks: Query<'_, '_, Task>,
    nodes: Query<'_, '_, &NodeIdentity>,
    mut active_jobs: ResMut<'_, ActiveJobs>,
    mut outcome: ResMut<'_, Outcome>,
) {
    for &job in active_jobs.jobs() {
        let Ok(job) = jobs.get(job) else { continue };
        let stirred = job.counts.is_changed() || job.verdict.is_changed();
        if !stirred || job.counts.waiting() == 0 {
            continue;
        }
        let verdict = job.verdict.0.as_ref();
        let mut reports = Reports::default();
        for &task in &job.members.0 {
            let Ok(item) = tasks.get(task) else { continue };
            let wait = Wait::of(&item, verdict).filter(|wait| wait.condition().is_some());
            let class = wait.and_then(|wait| Some((wait.condition()?, wait.code(verdict))));
            if item.cold.told.0 == class {
                continue;
            }
            if let (Some(wait), Some((reason, code))) = (wait, class) {
                let node = item.status().1.and_then(|node| nodes.get(node).ok());
                outcome.0.intents.push(Intent::Unscheduled {
                    pod: item.identity.key.clone(),
                    uid: item.identity.uid.clone(),
                    job: job.identity.key.object().clone(),
                    wait: reports.get(wait, || WaitReport {
                        reason,
                        code,
                        message: wait.message(verdict, node.map(|node| &node.name)),
                    }),
                });
            }
            if let Ok(mut item) = tasks.get_mut(task) {
                item.cold.told = ReportedWait(class);
                item.cold.trim();
            }
        }
    }
}

/// What most pods of a job share.
#[derive(Default)]
struct Reports {
    stuck: Option<Arc<WaitReport>>,
    for_gang: Option<Arc<WaitReport>>,
}

impl Reports {
    fn get(&mut self, wait: Wait, make: impl FnOnce() -> WaitReport) -> Arc<WaitReport> {
        let make = || Arc::new(make());
        match wait {
            Wait::Stuck => self.stuck.get_or_insert_with(make).clone(),
            Wait::ForGang => self.for_gang.get_or_insert_with(make).clone(),
            Wait::Gated | Wait::ForRoom => make(),
        }
    }
}
