//! Why each pod waits, told when it begins to wait or waits for another class of reason.
//!
//! Only jobs are looked into that were tried, changed or judged since: a trial moves the counts of a
//! job even if it is undone.
//!
//! Reads: verdicts, tasks of such jobs. Writes: what was told of each task.

use std::sync::Arc;

use bevy_ecs::prelude::{DetectChanges, Query, Ref, ResMut};
use bevy_ecs::query::QueryData;

use super::gangs;
use crate::delta::GroupTree;
use crate::inspect::Wait;
use crate::intent::Intent;
use crate::place::Outcome;
use crate::status::{UNSCHEDULABLE, WaitReport};
use crate::verdict::{Reason, Verdict};
use crate::world::{
    ActiveJobs, JobCounts, JobIdentity, JobMembers, JobSpec, JobVerdict, NodeIdentity,
    ReportedWait, Task,
};

/// What is read of a job.
#[derive(QueryData)]
pub(in crate::cycle) struct Waiting {
    identity: &'static JobIdentity,
    spec: &'static JobSpec,
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
        let tree = job.spec.tree.as_deref();
        if tree.is_some() && verdict.is_some_and(|verdict| is_for_the_group(verdict.reason)) {
            continue;
        }
        let mut reports = Reports::default();
        for &task in &job.members.0 {
            let Ok(item) = tasks.get(task) else { continue };
            let wait = Wait::of(&item, verdict).filter(|wait| wait.condition().is_some());
            let class = wait.and_then(|wait| Some((reason(wait, tree)?, wait.code(verdict))));
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
                        message: message(wait, verdict, node, tree),
                        said: tree.map(|tree| tree.pods_say).unwrap_or_default(),
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

/// Is it for a PodGroup of KAI's alone to say? A pod that says it cannot be scheduled asks autoscalers for
/// a node, which does not help a gang that lacks pods; and one that is left alone has said it before.
fn is_for_the_group(reason: Reason) -> bool {
    matches!(reason, Reason::GangIncomplete | Reason::Gated | Reason::TriedOnce)
}

/// Reason of the condition; KAI has one for all pods that wait.
fn reason(wait: Wait, tree: Option<&GroupTree>) -> Option<&'static str> {
    let reason = wait.condition()?;
    Some(if tree.is_some() { UNSCHEDULABLE } else { reason })
}

fn message(
    wait: Wait,
    verdict: Option<&Verdict>,
    node: Option<&NodeIdentity>,
    tree: Option<&GroupTree>,
) -> String {
    let message = wait.message(verdict, node.map(|node| &node.name));
    match tree {
        Some(tree) => gangs::in_pool(tree, message),
        None => message,
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
