//! Action `allocate`: gangs into free room, whole or not at all.
//!
//! A job's turn ends in one of three ways. Ready: its places are bound. Covered by what is free plus
//! what is leaving: all of its places are held and nothing is bound early. Neither: everything is
//! undone, and the room is there for the next job in the same cycle.
//!
//! Reads: the whole cluster. Writes: assumptions through a Statement, verdicts.

use bevy_ecs::entity::Entity;

use super::drive::{Entitled, Scene, Turn, drive};
use super::place::{self, Bounds, Reach, Shortfall};
use super::worksheet::{Portion, Sheet};
use super::{enqueue, explain};
use crate::delta::ObjectRef;
use crate::reservation::Release;
use crate::statement::Statement;
use crate::verdict::{Reason, Verdict};
use crate::world::JobKey;

pub(super) fn allocate(mut scene: Scene<'_, '_>) {
    place_jobs(&mut scene, "allocate", Portion::Requesting);
}

/// Serves every job that has tasks of the portion to place: those with reservations before others.
pub(super) fn place_jobs(scene: &mut Scene<'_, '_>, action: &'static str, portion: Portion) {
    let (reserved, fresh): (Vec<Entity>, Vec<Entity>) = eligible(scene, action)
        .into_iter()
        .partition(|&job| scene.cluster.job(job).counts.pipelined() > 0);
    let tasks = reserved.iter().chain(&fresh).map(|&job| scene.cluster.job(job).counts.waiting());
    let tasks = tasks.map(|tasks| tasks as usize).sum();
    let reports = scene.cluster.open_jobs().len() + scene.cluster.queues.iter().len();
    scene.outcome.0.expect(tasks, reports);
    scene.cluster.reservations.expect(tasks);
    scene.cluster.log.expect(tasks);
    drive(scene, Entitled::BelowDue, [reserved, fresh], |scene, job, sheet| {
        let sheet = sheet.get_or_insert_with(|| Sheet::of(scene, job, portion));
        if sheet.is_done() {
            return Turn::Passed;
        }
        serve(scene, (action, portion), job, sheet)
    });
}

/// Jobs with something to place that may be tried.
pub(super) fn eligible(scene: &mut Scene<'_, '_>, action: &'static str) -> Vec<Entity> {
    let mut waiting = scene.cluster.open_jobs();
    waiting.retain(|&job| scene.cluster.job(job).counts.waiting() > 0);
    let mut orphans = Vec::new();
    let tried = waiting.into_iter().filter(|&job| may_be_tried(scene, job, &mut orphans)).collect();
    // Jobs are met in an order that depends on their history, which must not be seen.
    orphans.sort_by_cached_key(|&(job, _)| scene.cluster.job(job).identity.key.clone());
    for (job, cause) in orphans {
        release(scene, action, job, cause);
    }
    tried
}

/// Jobs whose reservations have lost their ground, and how.
type Orphans = Vec<(Entity, Release)>;

/// Jobs that cannot be served whatever happens on the nodes join the orphans: what is held for them
/// is to be given up.
fn may_be_tried(scene: &mut Scene<'_, '_>, job: Entity, orphans: &mut Orphans) -> bool {
    let item = scene.cluster.job(job);
    if !item.identity.present {
        let verdict = absent(scene, &item.identity.key);
        scene.judge(job, Some(verdict));
        // Nobody asks for the gang any more: its room is not kept for it.
        orphans.push((job, Release::OwnerGone));
        return false;
    }
    // The most specific reason counts: what is wrong with the job itself before what keeps it out.
    if let Err(verdict) = scene.policies.job_valid(&item) {
        give_up_uncovered(scene, job, orphans);
        scene.judge(job, Some(verdict));
        return false;
    }
    if let Err(verdict) = enqueue::queue_exists(scene, item.spec.queue) {
        scene.judge(job, Some(verdict));
        // A limit may hold again when the queue is back; room is not kept for a job past it.
        orphans.push((job, Release::OwnerGone));
        return false;
    }
    if item.backoff.until.is_some_and(|until| until > scene.now.0) {
        give_up_uncovered(scene, job, orphans);
        // The length of the pause, not what is left of it: the text stays while the job waits.
        let message = format!(
            "{} binds failed in a row; it pauses {} s before the next attempt",
            item.backoff.failures,
            (item.backoff.pause_ms + 999) / 1000
        );
        scene.judge(job, Some(Verdict::new(Reason::BindBackoff, message)));
        return false;
    }
    let admitted = enqueue::is_admitted(scene, job);
    if !admitted {
        orphans.push((job, Release::NotAdmitted));
    }
    admitted
}

/// A gang that cannot be mended now and lacks a member, or the room for one, holds nothing for the
/// others either.
fn give_up_uncovered(scene: &Scene<'_, '_>, job: Entity, orphans: &mut Orphans) {
    if !is_covered(scene, job) {
        orphans.push((job, Release::Uncovered));
    }
}

/// Why a PodGroup that pods name is not there.
fn absent(scene: &Scene<'_, '_>, key: &JobKey) -> Verdict {
    match scene.aside.0.get(&ObjectRef::PodGroup(key.object().clone())) {
        Some(why) => {
            Verdict::new(Reason::SetAside, format!("its PodGroup cannot be understood: {why}"))
        }
        None => Verdict::new(Reason::NotAdmitted, format!("PodGroup {key} does not exist (yet)")),
    }
}

fn serve(
    scene: &mut Scene<'_, '_>,
    (action, portion): (&'static str, Portion),
    job: Entity,
    sheet: &mut Sheet,
) -> Turn {
    let mut statement = Statement::new(action);
    match place::job(scene, &mut statement, job, sheet, Bounds::Kept) {
        Reach::Ready => {
            let moved = !statement.is_empty();
            statement.commit(&mut scene.cluster, &mut scene.outcome.0);
            if moved && !sheet.is_done() { Turn::Again } else { Turn::Over }
        }
        Reach::Covered => {
            statement.pipeline_all_allocated(&mut scene.cluster, job);
            statement.commit(&mut scene.cluster, &mut scene.outcome.0);
            let verdict = explain::waiting(scene, job);
            scene.judge(job, Some(verdict));
            Turn::Over
        }
        Reach::Short(shortfall)
            if portion == Portion::BestEffort && shortfall.placed > 0 && shortfall.is_empty() =>
        {
            // All of these find a place: it is the rest of the gang that finds none, as was said.
            statement.discard(&mut scene.cluster);
            release_uncovered(scene, action, job, &shortfall);
            Turn::Over
        }
        Reach::Short(shortfall) => {
            // What nodes lack is seen while the part that fits still has its places.
            let lacks = explain::lacks(scene, &shortfall);
            scene.forget_attempt(job);
            statement.discard(&mut scene.cluster);
            release_uncovered(scene, action, job, &shortfall);
            let verdict = explain::shortfall(scene, job, &shortfall, &lacks);
            scene.judge(job, Some(verdict));
            Turn::Over
        }
    }
}

/// Gives up what is held for a job that is no longer covered by it: the room is there for others in
/// the same cycle. Reservations on nodes that are closed to their tasks go in any case.
fn release_uncovered(
    scene: &mut Scene<'_, '_>,
    action: &'static str,
    job: Entity,
    shortfall: &Shortfall,
) {
    let mut statement = Statement::new(action);
    for &task in &shortfall.closed {
        let _not_held = statement.unpipeline(&mut scene.cluster, task, Release::Closed);
    }
    statement.commit(&mut scene.cluster, &mut scene.outcome.0);
    if !is_covered(scene, job) {
        release(scene, action, job, Release::Uncovered);
    }
}

/// Has the job its minimum, in places or in room held?
fn is_covered(scene: &Scene<'_, '_>, job: Entity) -> bool {
    let item = scene.cluster.job(job);
    scene.policies.job_ready(&item) || scene.policies.job_pipelined(&item)
}

/// Gives up whatever is held for a job.
fn release(scene: &mut Scene<'_, '_>, action: &'static str, job: Entity, cause: Release) {
    if scene.cluster.job(job).counts.pipelined() == 0 {
        return;
    }
    let mut statement = Statement::new(action);
    for task in scene.policies.members_last_first(&scene.cluster, job) {
        // Members without a reservation have nothing to give up.
        let _not_held = statement.unpipeline(&mut scene.cluster, task, cause);
    }
    statement.commit(&mut scene.cluster, &mut scene.outcome.0);
}
