//! One decision for a whole gang: place by place, in order of preference.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::cycle::drive::{Scene, Turn};
use crate::cycle::explain;
use crate::cycle::worksheet::{Portion, Sheet};
use crate::statement::{Checkpoint, Plan, Statement};

use super::bundle::{Part, State, is_surplus};
use super::clear::{Hunt, Price, Taken};
use super::herd::Herd;
use super::need::Need;
use super::raid::{DomainSearch, Raid};
use super::refusal::{self, Search, denied};
use super::reprieve::reprieve;
use super::sites::{Site, sites};
use super::view::View;

/// Gives a job its turn.
pub(super) fn serve(scene: &mut Scene<'_, '_>, raid: &Raid, herd: &mut Herd, job: Entity) -> Turn {
    let sheet = Sheet::of(scene, job, Portion::Requesting);
    if sheet.is_done() {
        return Turn::Passed;
    }
    let need = Need::of(scene, raid, job, &sheet);
    if let Some(denied) = denied(scene, &need) {
        refusal::deny(scene, raid, job, denied);
        return Turn::Over;
    }
    let mut view = View::of(scene, raid, herd, &need);
    let sites = sites(scene, raid, &need, &mut view);
    let mut statement = Statement::new(raid.action);
    let taken = search(scene, &mut statement, raid, &need, &sheet, &sites);
    let search = if sites.is_empty() { Search::Hopeless } else { Search::Failed };
    drop(sites);
    let Some(taken) = taken else {
        let refusals = view.refusals(scene, raid, herd, &need);
        refusal::explain(scene, raid, &need, &view.candidates, refusals, search);
        herd.last_view = Some(view);
        return Turn::Over;
    };
    herd.last_view = Some(view);
    commit(scene, statement, herd, job, &taken);
    if scene.policies.job_starving(&scene.cluster.job(job)) { Turn::Again } else { Turn::Over }
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
        // Where a gang has to end in the first place that works, one where none has to is better.
        let settled = raid.search == DomainSearch::First && best.is_some();
        if settled && site.estimate.breaks {
            continue;
        }
        let hunt = Hunt { raid, need, sheet, site };
        let Some(taken) = hunt_down(&hunt, scene, statement) else { continue };
        let price = Price::of(raid, taken.iter().map(|one| hunt.unit(one)));
        let victims = taken.into_iter().flat_map(|one| one.tasks).collect();
        if raid.search == DomainSearch::First && !price.breaks {
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
    // Surplus first; then any tasks of gangs with surplus, if in the end no gang gives more than that;
    // whole gangs last.
    let surplus: &[State] = &[State::Safe];
    for states in [surplus, &[State::Safe, State::Instead], &[State::Safe, State::Whole]] {
        if states.get(1).is_some_and(|&state| !hunt.site.market.has(state)) {
            continue;
        }
        let offered = hunt.site.market.of_states(states);
        let Some(taken) = hunt.drive_out(scene, statement, &offered) else { continue };
        let taken = reprieve(hunt, scene, statement, taken);
        statement.rollback(&mut scene.cluster, Checkpoint::START);
        if is_legal(hunt, scene, &taken) && hunt.redo(scene, statement, taken.iter()) {
            return Some(taken);
        }
        statement.rollback(&mut scene.cluster, Checkpoint::START);
    }
    None
}

/// May all of these go together, and does no gang lose part of what it needs?
fn is_legal(hunt: &Hunt<'_>, scene: &Scene<'_, '_>, taken: &[Taken]) -> bool {
    let mut given: BTreeMap<Entity, Vec<Part>> = BTreeMap::new();
    for one in taken.iter().filter(|one| hunt.unit(one).state != State::Whole) {
        let parts = one.tasks.iter().map(|&task| Part::of(&scene.cluster, task));
        given.entry(hunt.unit(one).job).or_default().extend(parts);
    }
    for one in taken.iter().filter(|one| hunt.unit(one).state == State::Whole) {
        given.remove(&hunt.unit(one).job);
    }
    if !given.iter().all(|(&job, parts)| is_surplus(&scene.cluster.job(job), parts)) {
        return false;
    }
    let mut victims = taken.iter().flat_map(|one| &one.tasks).copied();
    let all: Vec<Entity> = victims.clone().collect();
    let allowed = hunt.allowed(scene, &all);
    victims.all(|task| allowed.contains(&task))
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
