//! One decision for a whole gang: place by place, in order of preference.

use bevy_ecs::entity::Entity;

use crate::cycle::drive::{Scene, Turn};
use crate::cycle::explain;
use crate::cycle::worksheet::{Portion, Sheet};
use crate::policy::EvictPurpose;
use crate::statement::{Checkpoint, Plan, Statement};

use super::clear::{Hunt, Price, Taken};
use super::herd::Herd;
use super::need::Need;
use super::raid::{DomainSearch, Raid};
use super::refusal::{self, Refusals};
use super::reprieve::reprieve;
use super::sites::{Site, sites};

/// Gives a job its turn.
pub(super) fn serve(scene: &mut Scene<'_, '_>, raid: &Raid, herd: &mut Herd, job: Entity) -> Turn {
    let sheet = Sheet::of(scene, job, Portion::Requesting);
    if sheet.is_done() {
        return Turn::Passed;
    }
    let need = Need::of(scene, raid, job, &sheet);
    let mut refusals = Refusals::default();
    if raid.purpose == EvictPurpose::Reclaim && !is_entitled(scene, &need) {
        refusals.unentitled = true;
        refusal::explain(scene, raid, job, &refusals);
        return Turn::Over;
    }
    let candidates = herd.candidates(scene, raid, job, &mut refusals);
    let sites = sites(scene, raid, &need, &candidates);
    refusals.hopeful = !sites.is_empty();
    let mut statement = Statement::new(raid.action);
    let Some(taken) = search(scene, &mut statement, raid, &need, &sheet, &sites) else {
        refusal::explain(scene, raid, job, &refusals);
        return Turn::Over;
    };
    commit(scene, statement, herd, job, &taken);
    if scene.policies.job_starving(&scene.cluster.job(job)) { Turn::Again } else { Turn::Over }
}

/// May the queue of the job take back what others have?
fn is_entitled(scene: &Scene<'_, '_>, need: &Need) -> bool {
    let queue = scene.cluster.queue(need.evictor.queue(&scene.cluster));
    queue.deserved.0.is_some() && scene.policies.preemptive(&scene.cluster, &queue, &need.sum)
}

/// The victims of the place that is chosen; the statement then holds the decision.
fn search(
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    raid: &Raid,
    need: &Need,
    sheet: &Sheet,
    sites: &[Site],
) -> Option<Vec<Entity>> {
    let mut best: Option<(Price, Plan, Vec<Entity>)> = None;
    for site in sites {
        let hunt = Hunt { raid, need, sheet, site };
        let Some(taken) = hunt_down(&hunt, scene, statement) else { continue };
        let price = Price::of(raid, taken.iter().map(|one| hunt.unit(one)));
        let victims = taken.into_iter().flat_map(|one| one.tasks).collect();
        if raid.search == DomainSearch::First {
            return Some(victims);
        }
        if best.as_ref().is_none_or(|best| price < best.0) {
            best = Some((price, statement.save(Checkpoint::START), victims));
        }
        statement.rollback(&mut scene.cluster, Checkpoint::START);
    }
    best.map(|(_, plan, victims)| {
        statement.recover(&mut scene.cluster, &plan);
        victims
    })
}

/// Clears one place with as few victims as it takes, and proves once more that each may go.
fn hunt_down(
    hunt: &Hunt<'_>,
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
) -> Option<Vec<Taken>> {
    let taken = hunt.drive_out(scene, statement)?;
    let taken = reprieve(hunt, scene, statement, taken);
    statement.rollback(&mut scene.cluster, Checkpoint::START);
    let mut victims = taken.iter().flat_map(|one| &one.tasks).copied();
    let all: Vec<Entity> = victims.clone().collect();
    let allowed = hunt.allowed(scene, &all);
    let legal = victims.all(|task| allowed.contains(&task));
    if legal && hunt.redo(scene, statement, taken.iter()) {
        return Some(taken);
    }
    statement.rollback(&mut scene.cluster, Checkpoint::START);
    None
}

/// Makes it so. Whatever waits for victims is held; where none are left after all, the job is bound.
pub(super) fn commit(
    scene: &mut Scene<'_, '_>,
    mut statement: Statement,
    herd: &mut Herd,
    job: Entity,
    victims: &[Entity],
) {
    let now = scene.now.0;
    for &victim in victims {
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
