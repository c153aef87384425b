//! Ends a cycle: what changed in reservations and in the status of PodGroups, queues and waiting pods
//! becomes intents, memory that is no longer needed is given back.
//!
//! Reads: job counts, queue use. Writes: phases, verdicts of jobs that need nothing any more.

mod groups;
mod gangs;
mod mirror;
mod queues;
mod shards;
mod refused;
mod waits;

use bevy_ecs::prelude::{Res, ResMut, Resource};

use crate::delta::GroupPhase;
use crate::ids::TimeMs;
use crate::place::{AFTER_OTHERS, Now, OUT_OF_TIME, Session};
use crate::world::{Cluster, Shards, UsageRecord};

pub(crate) use queues::ReportedQueues;
pub(super) use waits::tell_waits;

/// When the next cycle is due even if nothing happens: the end of the first pause, or of the first
/// patience, of a job, of a reservation, of the wait for an answer, of what is known of the load of a
/// node, or of the hours of lent nodes; or past use is to be weighed anew.
#[derive(Clone, Copy, Debug, Default, Resource)]
pub(crate) struct NextDue(pub(crate) Option<TimeMs>);

pub(super) fn reflect(
    mut session: Session<'_, '_>,
    mut due: ResMut<'_, NextDue>,
    mut told: ResMut<'_, ReportedQueues>,
    mut shards: ResMut<'_, Shards>,
    record: Res<'_, UsageRecord>,
) {
    mirror::reflect(&mut session);
    let alarm = session.alarm.0.take().filter(|&time| time > session.now.0);
    let waits_end = session.cluster.next_due();
    let load_ends = session.cluster.loads.fades_at();
    let hour = session.cluster.lending.until;
    let overdue = session.cluster.next_overdue();
    let weighing = usage_due(&mut session, &record);
    let due_at = [next_due(&mut session), alarm, waits_end, overdue, load_ends, hour, weighing];
    due.0 = due_at.into_iter().flatten().min();
    refused::join(&mut session);
    let gangs = groups::reflect(&mut session);
    gangs::reflect(&mut session, &gangs);
    queues::reflect(&mut session, &mut told);
    shards::reflect(&mut session, &mut shards);
    session.rankings.end_cycle();
    let nodes = session.cluster.columns().len();
    session.cluster.log.trim(nodes);
}

/// Takes jobs off the active ones that wait for nothing: until something of them is written there is
/// nothing to do for them.
pub(super) fn rest(mut cluster: Cluster<'_, '_>, now: Res<'_, Now>) {
    let Cluster { active_jobs, jobs, .. } = &mut cluster;
    active_jobs.retain(|&job| {
        jobs.get(job).is_ok_and(|job| {
            job.counts().waiting() > 0
                || job.spec.phase == GroupPhase::Pending
                || job.backoff.until.is_some_and(|until| until > now.0)
        })
    });
}

/// When past use is weighed next. While nobody waits it changes nothing, and whoever comes later finds it
/// weighed then.
fn usage_due(session: &mut Session<'_, '_>, record: &UsageRecord) -> Option<TimeMs> {
    let due = record.due()?;
    let mut open = session.cluster.open_jobs().into_iter();
    open.any(|job| session.cluster.job(job).counts().waiting() > 0).then_some(due)
}

fn next_due(session: &mut Session<'_, '_>) -> Option<TimeMs> {
    let now = session.now.0;
    let mut due: Option<TimeMs> = None;
    for job in session.cluster.open_jobs() {
        let job = session.cluster.job(job);
        if let Some(until) = job.backoff.until.filter(|&until| until > now) {
            due = Some(due.map_or(until, |due| due.min(until)));
        }
        let waits = job.spec.phase == GroupPhase::Pending || job.counts().pending() > 0;
        if let Some(end) = session.policies.deadline(&job).filter(|&end| waits && end > now) {
            due = Some(due.map_or(end, |due| due.min(end)));
        }
        let said = job.verdict.0.as_ref().map(|verdict| &*verdict.message);
        if matches!(said, Some(OUT_OF_TIME | AFTER_OTHERS)) {
            due = Some(now);
        }
    }
    due
}
