//! Room from evictions: who could go, in which units, in which order, and how few are enough.
//!
//! One search serves one job in one place ([`sites`]): candidates ([`herd`]) are bundled into units
//! that go together ([`bundle`]), put into order ([`market`]), judged by the policies and taken until
//! the job's minimum can be placed ([`clear`]); what turned out not to be needed is given back
//! ([`reprieve`]). Everything happens on a Statement, and nothing leaves it but a whole gang's
//! reservations together with the evictions that make them good.
//!
//! [`gang`] serves a whole gang in one decision, [`per_task`] a task at a time, as Volcano does.
//! Evictions that make room for nobody begin with the same candidates ([`movable`]).

mod raid;
mod need;
mod herd;
mod bundle;
mod market;
mod fairness;
mod sites;
mod view;
mod clear;
mod reprieve;
mod gang;
mod prey;
mod per_task;
mod refusal;
mod hopeless;

pub(crate) use hopeless::Hopeless;
pub(crate) use raid::{Limits, Raid};

use bevy_ecs::entity::Entity;

use crate::cycle::drive::{Entitled, Scene, Turn, drive};
use crate::cycle::explain;
use crate::cycle::worksheet::{Portion, Sheet};
use crate::delta::PreemptionPolicy;
use crate::policy::EvictPurpose;
use crate::statement::Statement;

use herd::Herd;
use hopeless::Found;
use need::Need;
use raid::Style;
use refusal::{Denied, Refusals, Search};
use view::View;

/// Evictions and the placement they make good, not committed yet.
struct Decision {
    statement: Statement,
    victims: Vec<Entity>,
}

/// Serves every job that lacks its minimum and could take room from others.
pub(crate) fn run(scene: &mut Scene<'_, '_>, raid: &Raid, waiting: Vec<Entity>) {
    let starving: Vec<Entity> =
        waiting.into_iter().filter(|&job| may_evict(scene, raid, job)).collect();
    let mut hopeless = std::mem::take(&mut *scene.hopeless);
    // Nobody is counted before somebody could gain by it.
    let mut herd = None;
    let entitled = match raid.purpose {
        EvictPurpose::Preempt => Entitled::All,
        EvictPurpose::Reclaim => Entitled::BelowDue,
    };
    drive(scene, entitled, [starving], |scene, job, _| {
        serve(scene, raid, &mut hopeless, &mut herd, job)
    });
    *scene.hopeless = hopeless;
}

/// Running tasks that may be taken though nobody asks for their room, in a stable order. A cycle comes
/// when the first of those may go that are spared for the time being.
pub(crate) fn movable(scene: &mut Scene<'_, '_>, limits: &Limits) -> Vec<Entity> {
    let mut refusals = Refusals::default();
    let tasks = Herd::new(scene).movable(scene, limits, &mut refusals);
    scene.wake_at(refusals.until);
    tasks
}

/// Does the job lack what it needs to run, and do its pods let others make way for them?
fn may_evict(scene: &mut Scene<'_, '_>, raid: &Raid, job: Entity) -> bool {
    let item = scene.cluster.job(job);
    if item.counts.pending() == 0 || !scene.policies.job_starving(&item) {
        return false;
    }
    let mut members = item.members.0.iter().map(|&task| scene.cluster.task(task));
    let waits = members
        .any(|task| task.priority.preempts == PreemptionPolicy::Never && task.status().1.is_none());
    if waits {
        refusal::deny(scene, raid, job, Denied::Never);
    }
    !waits
}

/// Gives a job its turn.
fn serve(
    scene: &mut Scene<'_, '_>,
    raid: &Raid,
    hopeless: &mut Hopeless,
    herd: &mut Option<Herd>,
    job: Entity,
) -> Turn {
    let sheet = Sheet::of(scene, job, Portion::Requesting);
    if sheet.is_done() {
        return Turn::Passed;
    }
    let need = Need::of(scene, raid, job, &sheet);
    if let Some(denied) = refusal::denied(scene, &need) {
        refusal::deny(scene, raid, job, denied);
        return Turn::Over;
    }
    if let Some(why) = hopeless.still(scene, raid, &need) {
        debug_assert!(is_hopeless(scene, raid, &need, &sheet), "what was proved holds");
        refusal::tell(scene, raid, job, &why);
        return Turn::Over;
    }
    let herd = herd.get_or_insert_with(|| Herd::new(scene));
    let mut view = View::of(scene, raid, herd, &need);
    let turn = match decide(scene, raid, &need, &sheet, &mut view) {
        Ok(decision) => {
            commit(scene, herd, job, decision);
            let more = scene.policies.job_starving(&scene.cluster.job(job));
            if more { Turn::Again } else { Turn::Over }
        }
        Err(search) => {
            let refusals = view.refusals(scene, raid, herd, &need);
            scene.wake_at(refusals.until);
            let why = refusal::explain(scene, raid, &need, &view.candidates, refusals, search);
            refusal::tell(scene, raid, job, &why);
            if let Search::Hopeless(slots) = search {
                let found = Found { slots, until: refusals.until, why };
                hopeless.note(scene, raid, &need, &view.terrain, found);
            }
            Turn::Over
        }
    };
    herd.last_view = Some(view);
    turn
}

fn decide(
    scene: &mut Scene<'_, '_>,
    raid: &Raid,
    need: &Need,
    sheet: &Sheet,
    view: &mut View,
) -> Result<Decision, Search> {
    match raid.style {
        Style::Gang => gang::decide(scene, raid, need, sheet, view),
        Style::Task => per_task::decide(scene, raid, need, sheet, view),
    }
}

/// Is there nothing to be had, as a search that remembers nothing sees it?
fn is_hopeless(scene: &mut Scene<'_, '_>, raid: &Raid, need: &Need, sheet: &Sheet) -> bool {
    let mut herd = Herd::new(scene);
    let mut view = View::of(scene, raid, &mut herd, need);
    matches!(decide(scene, raid, need, sheet, &mut view), Err(Search::Hopeless(_)))
}

/// Makes it so. Whatever waits for victims is held; where none are left after all, the job is bound.
fn commit(scene: &mut Scene<'_, '_>, herd: &mut Herd, job: Entity, decision: Decision) {
    let Decision { mut statement, victims } = decision;
    let now = scene.now.0;
    for victim in victims {
        let Some(of) = scene.cluster.task(victim).membership.job else { continue };
        herd.forget(of);
        scene.cluster.job_mut(of).evictions.note(now);
    }
    if !scene.policies.job_ready(&scene.cluster.job(job)) {
        statement.pipeline_all_allocated(&mut scene.cluster, job);
    }
    statement.commit(&mut scene.cluster, &mut scene.outcome.0);
    let verdict = explain::waiting(scene, job);
    scene.judge(job, Some(verdict));
}
