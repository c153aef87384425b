//! Action `allocate`: gangs into free room, whole or not at all.
//!
//! A job's turn ends in one of three ways. Ready: its places are bound. Covered by what is free plus
//! what is leaving: all of its places are held and nothing is bound early. Neither: everything is
//! undone, and the room is there for the next job in the same cycle.
//!
//! Reads: the whole cluster. Writes: assumptions through a Statement, verdicts.

use bevy_ecs::entity::Entity;

use super::enqueue;
use crate::delta::ObjectRef;
use crate::place::{
    Bounds, Entitled, PendingTasks, Reach, ReturnedJobs, Session, Shortfall, TaskSet, Turn, drive,
    explain, place_job,
};
use crate::reservation::Release;
use crate::statement::Statement;
use crate::verdict::{Reason, Verdict};
use crate::world::JobKey;

/// The action: which tasks it places, and how many jobs of one queue it tries in a cycle.
pub(super) fn allocate(set: TaskSet, queue_depth: Option<u32>) -> impl FnMut(Session<'_, '_>) {
    move |mut session: Session<'_, '_>| place_jobs(&mut session, "allocate", set, queue_depth)
}

/// Serves every job that has tasks of the set to place: those with reservations before others.
pub(super) fn place_jobs(
    session: &mut Session<'_, '_>,
    action: &'static str,
    set: TaskSet,
    queue_depth: Option<u32>,
) {
    let (reserved, fresh): (Vec<Entity>, Vec<Entity>) = eligible(session, action)
        .into_iter()
        .partition(|&job| session.cluster.job(job).counts().pipelined() > 0);
    let tasks =
        reserved.iter().chain(&fresh).map(|&job| session.cluster.job(job).counts().waiting());
    let tasks = tasks.map(|tasks| tasks as usize).sum();
    let reports = session.cluster.open_jobs().len() + session.cluster.queues.iter().len();
    session.outcome.0.expect(tasks, reports);
    session.cluster.reservations.expect(tasks);
    session.cluster.log.expect(tasks);
    let entitled = (Entitled::BelowDue, queue_depth);
    let returned = ReturnedJobs::among(session, &fresh);
    drive(session, entitled, [reserved, fresh], |session, job, pending| {
        let pending = pending.get_or_insert_with(|| PendingTasks::of(session, job, set));
        if pending.is_done() || returned.defers(session, job) {
            return Turn::Passed;
        }
        let turn = serve(session, (action, set), job, pending);
        returned.served(session, job);
        turn
    });
}

/// Jobs with something to place that may be tried.
pub(super) fn eligible(session: &mut Session<'_, '_>, action: &'static str) -> Vec<Entity> {
    let (mut waiting, mut empty) = (session.cluster.open_jobs(), Vec::new());
    waiting.retain(|&job| {
        let item = session.cluster.job(job);
        if item.counts().tasks() == 0 && item.identity.present {
            empty.push(job);
        }
        item.counts().waiting() > 0
    });
    // Controllers make the pods of a group once it is let in.
    for job in empty {
        enqueue::is_admitted(session, job);
    }
    let mut orphans = Vec::new();
    let tried =
        waiting.into_iter().filter(|&job| may_be_tried(session, job, &mut orphans)).collect();
    // Jobs are met in an order that depends on their history, which must not be seen.
    orphans.sort_by_cached_key(|&(job, _)| session.cluster.job(job).identity.key.clone());
    for (job, cause) in orphans {
        release(session, action, job, cause);
    }
    tried
}

/// Jobs whose reservations have lost their ground, and how.
type Orphans = Vec<(Entity, Release)>;

/// Jobs that cannot be served whatever happens on the nodes join the orphans: what is held for them
/// is to be given up.
fn may_be_tried(session: &mut Session<'_, '_>, job: Entity, orphans: &mut Orphans) -> bool {
    let item = session.cluster.job(job);
    if !item.identity.present {
        let verdict = absent(session, &item.identity.key);
        session.judge(job, Some(verdict));
        // Nobody asks for the gang any more: its room is not kept for it.
        orphans.push((job, Release::OwnerGone));
        return false;
    }
    if item.has_given_up() {
        // What was found then stays; a scheduler that starts anew does not know it.
        if item.verdict.0.is_none() {
            session.judge(job, Some(tried_once(session, job)));
        }
        return false;
    }
    // The most specific reason counts: what is wrong with the job itself before what keeps it out.
    if let Err(verdict) = session.policies.job_valid(&item) {
        give_up_uncovered(session, job, orphans);
        session.judge(job, Some(verdict));
        return false;
    }
    if let Err(verdict) = enqueue::queue_exists(session, item.spec.queue) {
        session.judge(job, Some(verdict));
        // A limit may hold again when the queue is back; room is not kept for a job past it.
        orphans.push((job, Release::OwnerGone));
        return false;
    }
    if item.backoff.until.is_some_and(|until| until > session.now.0) {
        give_up_uncovered(session, job, orphans);
        // The length of the pause, not what is left of it: the text stays while the job waits.
        let message = format!(
            "{} binds failed in a row; it pauses {} s before the next attempt",
            item.backoff.failures,
            (item.backoff.pause_ms + 999) / 1000
        );
        session.judge(job, Some(Verdict::new(Reason::BindBackoff, message)));
        return false;
    }
    let admitted = enqueue::is_admitted(session, job);
    if !admitted {
        orphans.push((job, Release::NotAdmitted));
    }
    admitted
}

/// Why a PodGroup is left alone that was to be tried once in its node pool.
fn tried_once(session: &Session<'_, '_>, job: Entity) -> Verdict {
    let pool = session.cluster.job(job).spec.tree.as_ref().map(|tree| tree.pool.clone());
    let message = format!(
        "it was tried once in node pool {:?}, as its schedulingBackoff says; in another one it is tried again",
        pool.unwrap_or_default()
    );
    Verdict::new(Reason::TriedOnce, message)
}

/// A gang that cannot be mended now and lacks a member, or the room for one, holds nothing for the
/// others either.
fn give_up_uncovered(session: &Session<'_, '_>, job: Entity, orphans: &mut Orphans) {
    if !is_covered(session, job) {
        orphans.push((job, Release::Uncovered));
    }
}

/// Why a PodGroup that pods name is not there.
fn absent(session: &Session<'_, '_>, key: &JobKey) -> Verdict {
    match session.aside.0.get(&ObjectRef::PodGroup(key.object().clone())) {
        Some(why) => {
            Verdict::new(Reason::SetAside, format!("its PodGroup cannot be understood: {why}"))
        }
        None => Verdict::new(Reason::NotAdmitted, format!("PodGroup {key} does not exist (yet)")),
    }
}

fn serve(
    session: &mut Session<'_, '_>,
    (action, set): (&'static str, TaskSet),
    job: Entity,
    pending: &mut PendingTasks,
) -> Turn {
    let mut statement = Statement::new(action);
    let starts = !session.cluster.job(job).has_started();
    match place_job(session, &mut statement, job, pending, Bounds::Kept) {
        Reach::Ready => {
            let moved = !statement.is_empty();
            if let Err(verdict) = session.conclude(statement) {
                session.forget_attempt(job);
                session.judge(job, Some(verdict));
                return Turn::Over;
            }
            if starts && moved {
                let now = session.now.0;
                session.cluster.job_mut(job).spec.note_start(now);
            }
            if moved && !pending.is_done() { Turn::Again } else { Turn::Over }
        }
        Reach::Covered => {
            let verdict = match hold(session, statement, job) {
                Ok(()) => explain::waiting(session, job),
                Err(verdict) => {
                    session.forget_attempt(job);
                    Some(verdict)
                }
            };
            session.judge(job, verdict);
            Turn::Over
        }
        Reach::Short(shortfall)
            if set == TaskSet::BestEffort && shortfall.placed > 0 && shortfall.is_empty() =>
        {
            // All of these find a place: it is the rest of the gang that finds none, as was said.
            statement.discard(&mut session.cluster);
            release_uncovered(session, action, job, &shortfall);
            Turn::Over
        }
        Reach::Short(shortfall) => {
            // What nodes lack is seen while the part that fits still has its places.
            let lacks = explain::lacks(session, job, &shortfall);
            session.forget_attempt(job);
            statement.discard(&mut session.cluster);
            release_uncovered(session, action, job, &shortfall);
            let verdict = explain::shortfall(session, job, &shortfall, &lacks);
            session.judge(job, Some(verdict));
            Turn::Over
        }
    }
}

/// Holds all that a covered job was given, unless a plugin objects. Where nothing but a plugin's word keeps
/// the job from starting, no room is held for it: nobody knows when that word comes.
fn hold(
    session: &mut Session<'_, '_>,
    mut statement: Statement,
    job: Entity,
) -> Result<(), Verdict> {
    let unready = session.policies.unready(&session.cluster, &session.cluster.job(job));
    if let Some(verdict) = unready {
        statement.discard(&mut session.cluster);
        return Err(verdict);
    }
    statement.pipeline_all_allocated(&mut session.cluster, job);
    session.conclude(statement)
}

/// Gives up what is held for a job that is no longer covered by it: the room is there for others in
/// the same cycle. Reservations on nodes that are closed to their tasks go in any case.
fn release_uncovered(
    session: &mut Session<'_, '_>,
    action: &'static str,
    job: Entity,
    shortfall: &Shortfall,
) {
    let mut statement = Statement::new(action);
    for &task in &shortfall.closed {
        let _not_held = statement.unpipeline(&mut session.cluster, task, Release::Closed);
    }
    let _not_refused = session.conclude(statement);
    if !is_covered(session, job) {
        release(session, action, job, Release::Uncovered);
    }
}

/// Has the job its minimum, in places or in room held?
fn is_covered(session: &Session<'_, '_>, job: Entity) -> bool {
    let item = session.cluster.job(job);
    session.policies.job_ready(&session.cluster, &item) || session.policies.job_pipelined(&item)
}

/// Gives up whatever is held for a job.
fn release(session: &mut Session<'_, '_>, action: &'static str, job: Entity, cause: Release) {
    if session.cluster.job(job).counts().pipelined() == 0 {
        return;
    }
    let mut statement = Statement::new(action);
    for task in session.policies.members_last_first(&session.cluster, job) {
        // Members without a reservation have nothing to give up.
        let _not_held = statement.unpipeline(&mut session.cluster, task, cause);
    }
    let _not_refused = session.conclude(statement);
}
