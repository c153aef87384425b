//! Phase, counters and condition of each PodGroup, told when they change.
//!
//! As Volcano's, with four differences: the condition that no longer holds is taken away instead of
//! staying beside the new one, the reasons `NotEnoughTasks` and `NotEnoughPodsOfTask` are written
//! instead of only logged, a group without pods is never `Completed`, and one that is not let in says
//! why, although its controller makes no pods before it is.

use bevy_ecs::entity::Entity;

use crate::delta::GroupPhase;
use crate::intent::Intent;
use crate::place::Session;
use crate::status::{self, Condition, ConditionKind, GroupReport};
use crate::verdict::{Reason, Verdict};
use crate::world::{JobKey, JobReadOnlyItem, JobVerdict, TaskStatus};

/// What is new about a job.
struct GroupChange {
    job: Entity,
    phase: GroupPhase,
    /// Set for jobs of which nothing waits; actions speak of the others.
    verdict: Option<JobVerdict>,
    /// Set if the outside is to be told.
    report: Option<GroupReport>,
}

/// Gives back the PodGroups of KAI's it met: they say other things.
pub(super) fn reflect(session: &mut Session<'_, '_>) -> Vec<Entity> {
    let (mut news, mut of_kai) = (Vec::new(), Vec::new());
    for job in session.cluster.open_jobs() {
        let item = session.cluster.job(job);
        news.extend(news_of(session, &item));
        if item.identity.present && item.spec.tree.is_some() {
            of_kai.push(job);
        }
    }
    news.sort_by_cached_key(|news| session.cluster.job(news.job).identity.key.clone());
    for GroupChange { job, phase, verdict, report } in news {
        session.cluster.set_phase(job, phase);
        let mut item = session.cluster.job_mut(job);
        if let Some(verdict) = verdict {
            *item.verdict = verdict;
        }
        let Some(report) = report else { continue };
        item.identity.announced = Some((phase, report.clone()));
        // The status of KAI's PodGroups is written by others.
        let ours = item.identity.present && item.spec.tree.is_none();
        if let (JobKey::Group(key), true) = (&item.identity.key, ours) {
            let intent = Intent::GroupStatus { group: key.clone(), phase, report };
            session.outcome.0.intents.push(intent);
        }
    }
    of_kai
}

fn news_of(session: &Session<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> Option<GroupChange> {
    let idle = job.counts().waiting() == 0 && !is_kept_out(job);
    let verdict = idle.then(|| JobVerdict(missing(session, job)));
    let standing = standing(session, job, verdict.as_ref().unwrap_or(job.verdict).0.as_ref());
    let phase = phase_of(session, job, standing);
    let known = verdict.as_ref().is_none_or(|verdict| verdict == job.verdict);
    let told = is_told(job, phase, standing);
    if known && told && phase == job.spec.phase {
        return None;
    }
    let report = (!told).then(|| report_of(job, standing));
    Some(GroupChange { job: job.entity, phase, verdict, report })
}

/// Is it a group that has no pods because it is not let in?
fn is_kept_out(job: &JobReadOnlyItem<'_, '_>) -> bool {
    let refused = job.verdict.0.as_ref().is_some_and(|verdict| {
        matches!(
            verdict.reason,
            Reason::NotAdmitted | Reason::QueueClosed | Reason::QueueOverCapability
        )
    });
    let empty = job.counts().tasks() == 0 && job.identity.present;
    empty && refused && job.spec.phase == GroupPhase::Pending
}

/// What a job of which nothing waits lacks: pods that do not exist, unless it has ended.
fn missing(session: &Session<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> Option<Verdict> {
    let over = phase_of(session, job, GroupStanding::Kept) == GroupPhase::Completed;
    if over || !job.identity.present { None } else { session.policies.job_valid(job).err() }
}

/// How a gang stands, for its condition.
#[derive(Clone, Copy)]
enum GroupStanding<'a> {
    /// It has no pods though it might, or they name a group that does not exist.
    Empty,
    /// Enough of it has a place.
    Ready,
    /// It has not, and this is why.
    Stuck(&'a Verdict),
    /// As it was: its pods are leaving, or nobody has looked at it yet.
    Kept,
}

fn standing<'a>(
    session: &Session<'_, '_>,
    job: &JobReadOnlyItem<'_, '_>,
    verdict: Option<&'a Verdict>,
) -> GroupStanding<'a> {
    let counts = job.counts();
    if let Some(verdict) = verdict.filter(|_| is_kept_out(job)) {
        return GroupStanding::Stuck(verdict);
    }
    if counts.tasks() == 0 || !job.identity.present {
        return GroupStanding::Empty;
    }
    // Without the gang plugin every job may start; it still has its minimum.
    if counts.ready() >= job.spec.min_available && session.policies.job_ready(&session.cluster, job)
    {
        return GroupStanding::Ready;
    }
    let leaving = counts.waiting() == 0
        && counts.total[TaskStatus::Releasing as usize] > 0
        && scheduled(session, job) >= job.spec.min_available;
    match verdict {
        Some(verdict) if !leaving => GroupStanding::Stuck(verdict),
        _ => GroupStanding::Kept,
    }
}

/// The phase of a job by where its tasks stand and why it waits.
fn phase_of(
    session: &Session<'_, '_>,
    job: &JobReadOnlyItem<'_, '_>,
    standing: GroupStanding<'_>,
) -> GroupPhase {
    let counts = job.counts();
    if matches!(standing, GroupStanding::Stuck(_)) && counts.total[TaskStatus::Running as usize] > 0
    {
        return GroupPhase::Unknown;
    }
    let scheduled = scheduled(session, job);
    if scheduled > 0 && scheduled >= job.spec.min_available {
        let ended = counts.count(&[TaskStatus::Failed, TaskStatus::Succeeded]);
        return if scheduled == ended { GroupPhase::Completed } else { GroupPhase::Running };
    }
    match job.spec.phase {
        GroupPhase::Inqueue => GroupPhase::Inqueue,
        _ => GroupPhase::Pending,
    }
}

/// Tasks that are on a node or were: a task that is leaving counts only if it has one.
fn scheduled(session: &Session<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> u32 {
    use TaskStatus::{Bound, Failed, Releasing, Running, Succeeded};
    let settled = job.counts().count(&[Running, Bound, Failed, Succeeded]);
    // Of those room is held for, some may still be leaving.
    if job.counts().total[Releasing as usize] + job.counts().pipelined() == 0 {
        return settled;
    }
    let leaving = job.members.0.iter().filter(|&&task| {
        let (status, node) = session.cluster.task(task).status();
        status == Releasing && node.is_some()
    });
    settled + leaving.count() as u32
}

/// Does the outside know all of this, numbers in the message aside?
fn is_told(job: &JobReadOnlyItem<'_, '_>, phase: GroupPhase, standing: GroupStanding<'_>) -> bool {
    let Some((told_phase, told)) = &job.identity.announced else { return false };
    *told_phase == phase
        && (told.running, told.succeeded, told.failed) == counters(job)
        && is_of_class(job, &told.conditions, standing)
}

fn is_of_class(
    job: &JobReadOnlyItem<'_, '_>,
    told: &[Condition],
    standing: GroupStanding<'_>,
) -> bool {
    match (standing, told) {
        (GroupStanding::Kept, _) | (GroupStanding::Empty, []) => true,
        (GroupStanding::Ready, [one]) => one.kind == ConditionKind::Scheduled,
        (GroupStanding::Stuck(verdict), [one]) => {
            one.kind == ConditionKind::Unschedulable
                && *one.reason == *constant(job, verdict.reason)
                && one.code() == Some(verdict.reason.as_str())
        }
        _ => false,
    }
}

fn report_of(job: &JobReadOnlyItem<'_, '_>, standing: GroupStanding<'_>) -> GroupReport {
    let (running, succeeded, failed) = counters(job);
    let conditions = match standing {
        GroupStanding::Empty => Vec::new(),
        GroupStanding::Ready => vec![Condition::scheduled()],
        GroupStanding::Stuck(verdict) => vec![Condition::unschedulable(
            constant(job, verdict.reason),
            stuck_of_all(job),
            verdict.reason,
            &verdict.message,
        )],
        GroupStanding::Kept => job
            .identity
            .announced
            .as_ref()
            .map(|told| told.1.conditions.clone())
            .unwrap_or_default(),
    };
    GroupReport { running, succeeded, failed, conditions }
}

fn counters(job: &JobReadOnlyItem<'_, '_>) -> (u32, u32, u32) {
    let count = |status: TaskStatus| job.counts().total[status as usize];
    (count(TaskStatus::Running), count(TaskStatus::Succeeded), count(TaskStatus::Failed))
}

/// Tasks the gang still needs a place for, of all its tasks; those it needs and that do not exist
/// count too. Where only a role is short, all that wait are meant.
fn stuck_of_all(job: &JobReadOnlyItem<'_, '_>) -> (u32, u32) {
    let minimum = job.spec.min_available;
    let short = minimum.saturating_sub(job.counts().ready());
    let waiting = job.counts().pending() + job.counts().pipelined();
    (if short == 0 { waiting } else { short }, job.counts().tasks().max(minimum))
}

/// The word Volcano's tools know for a reason of ours.
fn constant(job: &JobReadOnlyItem<'_, '_>, reason: Reason) -> &'static str {
    match reason {
        Reason::GangIncomplete if job.counts().valid() < job.spec.min_available => {
            status::NOT_ENOUGH_TASKS
        }
        Reason::GangIncomplete => status::NOT_ENOUGH_PODS_OF_TASK,
        _ => status::NOT_ENOUGH_RESOURCES,
    }
}
