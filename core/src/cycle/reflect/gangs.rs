//! What PodGroups of KAI's say of their past and of why they wait, told when it changes.
//!
//! Their phase and their counters belong to KAI's own controllers. A condition is not taken away when the
//! group runs, and none is written while a pod of it holds room: both as in KAI, where whoever deals out
//! node pools goes by the last condition.

use bevy_ecs::entity::Entity;

use crate::delta::{GroupTree, Tries};
use crate::intent::Intent;
use crate::place::Session;
use crate::status::{
    GangLack, GangWait, GroupPastReport, NON_PREEMPTIBLE_OVER_QUOTA, OVER_LIMIT,
    POD_SCHEDULING_ERRORS, QUEUE_DOES_NOT_EXIST, SaidIn, WaitClass,
};
use crate::verdict::{Reason, Verdict};
use crate::world::{JobReadOnlyItem, TaskStatus};

/// Pods that hold room, or for which it is held.
const HOLDING: [TaskStatus; 5] = [
    TaskStatus::Allocated,
    TaskStatus::Pipelined,
    TaskStatus::Binding,
    TaskStatus::Bound,
    TaskStatus::Running,
];

/// Why a group waits, beside what was told of it last.
enum WaitNews {
    /// The same, or nobody has looked at it since.
    None,
    /// It waits no longer.
    Over,
    /// This, which was not told.
    Waits(GangWait),
}

/// Tells what is new of these PodGroups.
pub(super) fn reflect(session: &mut Session<'_, '_>, gangs: &[Entity]) {
    let mut news = Vec::new();
    for &job in gangs {
        let item = session.cluster.job(job);
        let Some(tree) = item.spec.tree.as_deref() else { continue };
        let past = past_news(&item, tree);
        let wait = wait_news(session, &item, tree);
        if past.is_some() || !matches!(wait, WaitNews::None) {
            news.push((job, past, wait));
        }
    }
    news.sort_by_cached_key(|&(job, ..)| session.cluster.job(job).identity.key.clone());
    for (job, past, wait) in news {
        tell(session, job, past, wait);
    }
}

fn past_news(job: &JobReadOnlyItem<'_, '_>, tree: &GroupTree) -> Option<GroupPastReport> {
    let times = tree.times();
    let told = job.identity.told.as_ref();
    (told.is_none_or(|told| told.times != times)).then(|| GroupPastReport {
        times,
        holding: job.counts().count(&HOLDING),
        needed: job.spec.min_available,
    })
}

/// Notes what is told, and asks for it to be written.
fn tell(session: &mut Session<'_, '_>, job: Entity, past: Option<GroupPastReport>, wait: WaitNews) {
    let mut item = session.cluster.job_mut(job);
    let group = item.identity.key.object().clone();
    let told = item.identity.told.get_or_insert_default();
    let intents = &mut session.outcome.0.intents;
    if let Some(report) = past {
        told.times = report.times;
        intents.push(Intent::GroupPast { group: group.clone(), report: Box::new(report) });
    }
    match wait {
        WaitNews::None => {}
        WaitNews::Over => told.wait = None,
        WaitNews::Waits(wait) => {
            if wait.class.said == SaidIn::Status {
                told.failed_in = Some(wait.pool.clone());
            }
            told.wait = Some(wait.clone());
            intents.push(Intent::GroupWait { group, wait: Box::new(wait) });
        }
    }
}

fn wait_news(
    session: &Session<'_, '_>,
    job: &JobReadOnlyItem<'_, '_>,
    tree: &GroupTree,
) -> WaitNews {
    let told = job.identity.told.as_ref().and_then(|told| told.wait.as_ref());
    if job.counts().pending() == 0 {
        return if told.is_some() { WaitNews::Over } else { WaitNews::None };
    }
    match &job.verdict.0 {
        Some(verdict) if says_something(verdict.reason) => {
            let class = class_of(session, job, verdict);
            if told.is_some_and(|told| told.class == class && told.pool == tree.pool) {
                return WaitNews::None;
            }
            let message = in_pool(tree, verdict.message.clone());
            WaitNews::Waits(GangWait { class, pool: tree.pool.clone(), message })
        }
        _ => WaitNews::None,
    }
}

/// Is it more than that the group was let alone for a while, or has room held?
fn says_something(reason: Reason) -> bool {
    !matches!(reason, Reason::WaitingForVictims | Reason::TriedOnce)
}

fn class_of(
    session: &Session<'_, '_>,
    job: &JobReadOnlyItem<'_, '_>,
    verdict: &Verdict,
) -> WaitClass {
    let lack = match verdict.reason {
        Reason::GangIncomplete | Reason::Gated => GangLack::NotReady,
        _ => GangLack::Unschedulable,
    };
    // Nobody has seen yet that there is no place for it.
    let cut_short = matches!(verdict.reason, Reason::SearchCut | Reason::BindBackoff);
    let holds = job.counts().count(&HOLDING) > 0;
    let in_status = lack == GangLack::Unschedulable && !cut_short && !holds;
    let queue_exists = session.cluster.queue(job.spec.queue).identity.present;
    WaitClass {
        lack,
        said: if in_status { SaidIn::Status } else { SaidIn::EventAlone },
        reason: match verdict.reason {
            Reason::QueueOverCapability => OVER_LIMIT,
            Reason::QueueOverQuota => NON_PREEMPTIBLE_OVER_QUOTA,
            _ if !queue_exists => QUEUE_DOES_NOT_EXIST,
            _ => POD_SCHEDULING_ERRORS,
        },
        code: verdict.reason,
    }
}

/// The words of a group that is tried once in a node pool say in which.
pub(super) fn in_pool(tree: &GroupTree, message: String) -> String {
    match tree.tries {
        Tries::Many => message,
        Tries::One => format!("Node-Pool '{}': {message}", tree.pool),
    }
}
