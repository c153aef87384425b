//! One decision for a whole gang: place by place, in order of preference.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::cycle::drive::Scene;
use crate::cycle::worksheet::Sheet;
use crate::statement::{Checkpoint, Plan, Statement};

use super::Decision;
use super::bundle::{Part, State, is_surplus};
use super::clear::{Hunt, Price, Taken};
use super::need::Need;
use super::raid::{DomainSearch, Raid};
use super::refusal::Search;
use super::reprieve::reprieve;
use super::sites::{Site, sites};
use super::view::View;

/// Who makes way for the job, together with its placement.
pub(super) fn decide(
    scene: &mut Scene<'_, '_>,
    raid: &Raid,
    need: &Need,
    sheet: &Sheet,
    view: &mut View,
) -> Result<Decision, Search> {
    let sites = sites(scene, raid, need, view).map_err(Search::Hopeless)?;
    let mut statement = Statement::new(raid.action);
    let victims = search(scene, &mut statement, raid, need, sheet, &sites);
    victims.map(|victims| Decision { statement, victims }).ok_or(Search::Failed)
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
