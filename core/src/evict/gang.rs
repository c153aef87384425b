//! One decision for a whole gang: place by place, in order of preference.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::place::{PendingTasks, Session};
use crate::policy::EvictPurpose;
use crate::statement::{Checkpoint, Plan, Statement};

use super::EvictionPlan;
use super::action::{DomainSearch, EvictAction, MoveTerms};
use super::consolidate;
use super::domains::{SearchDomain, search_domains};
use super::evictor_view::EvictorView;
use super::moves::place_some;
use super::refusal::SearchEnd;
use super::reprieve::reprieve;
use super::search::{Price, TakenBundle, VictimSearch};
use super::shortage::Shortage;
use super::surplus::{GangTask, Harm, is_surplus};

/// Who makes way for the job, together with its placement.
pub(super) fn decide(
    session: &mut Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    pending: &PendingTasks,
    view: &mut EvictorView,
) -> Result<EvictionPlan, SearchEnd> {
    let search_domains =
        search_domains(session, action, shortage, view).map_err(SearchEnd::Infeasible)?;
    let mut statement = Statement::new(action.name);
    let victims = search(session, &mut statement, action, shortage, pending, &search_domains);
    if let Some(victims) = victims {
        if action.moves != MoveTerms::Never {
            place_some(session, &mut statement, &victims, &shortage.valued());
        }
        return Ok(EvictionPlan { statement, victims });
    }
    // Who may not be taken from may still be moved.
    let moves = action.moves == MoveTerms::Free && action.purpose == EvictPurpose::Reclaim;
    let plan = moves.then(|| consolidate::decide(session, action, shortage, pending, view).ok());
    plan.flatten().ok_or(SearchEnd::Failed)
}

/// The victims of the place that is chosen; the statement then holds the decision.
fn search(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    action: &EvictAction,
    shortage: &Shortage,
    pending: &PendingTasks,
    search_domains: &[SearchDomain],
) -> Option<Vec<Entity>> {
    let mut best: Option<(Price, Plan, Vec<Entity>)> = None;
    for domain in search_domains {
        // Where a gang has to end in the first place that works, one where none has to is better.
        let settled = action.search == DomainSearch::First && best.is_some();
        if settled && domain.estimate.breaks {
            continue;
        }
        let search = VictimSearch { action, shortage, pending, domain };
        let Some(taken) = search_by_harm(&search, session, statement) else { continue };
        let price = Price::of(action, taken.iter().map(|one| search.bundle(one)));
        let victims = taken.into_iter().flat_map(|one| one.tasks).collect();
        if action.search == DomainSearch::First && !price.breaks {
            return Some(victims);
        }
        if best.as_ref().is_none_or(|best| price < best.0) {
            best = Some((price, statement.save(Checkpoint::START), victims));
        }
        statement.rollback(&mut session.cluster, Checkpoint::START);
    }
    best.map(|(_, plan, victims)| {
        statement.recover(&mut session.cluster, &plan);
        victims
    })
}

/// Clears one place with as few victims as it takes, and proves once more that each may go.
fn search_by_harm(
    search: &VictimSearch<'_>,
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
) -> Option<Vec<TakenBundle>> {
    // Surplus first; then any tasks of gangs with surplus, if in the end no gang gives more than that;
    // whole gangs last.
    let surplus: &[Harm] = &[Harm::Safe];
    for states in [surplus, &[Harm::Safe, Harm::Instead], &[Harm::Safe, Harm::Whole]] {
        if states.get(1).is_some_and(|&state| !search.domain.bundles.has(state)) {
            continue;
        }
        let offered = search.domain.bundles.of_states(states);
        let Some(taken) = search.take_until_placed(session, statement, &offered) else { continue };
        let taken = reprieve(search, session, statement, taken);
        statement.rollback(&mut session.cluster, Checkpoint::START);
        if is_legal(search, session, &taken) && search.redo(session, statement, taken.iter()) {
            return Some(taken);
        }
        statement.rollback(&mut session.cluster, Checkpoint::START);
    }
    None
}

/// May all of these go together, and does no gang lose part of what it needs?
fn is_legal(search: &VictimSearch<'_>, session: &Session<'_, '_>, taken: &[TakenBundle]) -> bool {
    let mut given: BTreeMap<Entity, Vec<GangTask>> = BTreeMap::new();
    for one in taken.iter().filter(|one| search.bundle(one).state != Harm::Whole) {
        let parts = one.tasks.iter().map(|&task| GangTask::of(&session.cluster, task));
        given.entry(search.bundle(one).job).or_default().extend(parts);
    }
    for one in taken.iter().filter(|one| search.bundle(one).state == Harm::Whole) {
        given.remove(&search.bundle(one).job);
    }
    if !given.iter().all(|(&job, parts)| is_surplus(&session.cluster.job(job), parts)) {
        return false;
    }
    let mut victims = taken.iter().flat_map(|one| &one.tasks).copied();
    let all: Vec<Entity> = victims.clone().collect();
    let allowed = search.allowed(session, &all);
    victims.all(|task| allowed.contains(&task))
}
