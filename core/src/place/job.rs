//! Finds places for a job: domain by domain, sub-group by sub-group.
//!
//! Everything is tried on a Statement. A sub-group that cannot be placed whole leaves no trace, and so
//! does a domain that was not chosen.

use bevy_ecs::entity::Entity;

use super::domain_order::{DomainNeed, rank_domains};
use super::part_order::PartOrder;
use super::pending::{Leftover, PendingTasks};
use super::reach::{Bounds, Enough, PlaceScope, Reach, Rows, Shortfall, enough, served};
use super::session::Session;
use super::tasks::place_tasks;
use super::tree::place_set;
use crate::policy::{Purpose, SearchSpace, Unit};
use crate::statement::{Plan, Statement};

/// Places tasks of a job until it is ready or none is left.
pub(crate) fn place_job(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    pending: &mut PendingTasks,
    bounds: Bounds,
) -> Reach {
    let space = search_space(session, job, None, bounds);
    // One of KAI's gets room held for what it lacks, and grows by a pod at a time.
    let grows_in_steps = session.cluster.job(job).spec.tree.is_some();
    let enough = if grows_in_steps { Enough::Step } else { Enough::Ready };
    try_domains(
        session,
        statement,
        (job, None),
        space.as_ref(),
        None,
        pending,
        |session, statement, pending, rows| {
            place_subgroups(session, statement, job, pending, PlaceScope { rows, bounds, enough })
        },
    )
}

/// Places tasks of a job on some rows until its minimum is covered; its sub-groups keep their wishes.
pub(crate) fn place_minimum(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    pending: &mut PendingTasks,
    rows: Rows<'_>,
) -> Reach {
    let scope = PlaceScope { rows, bounds: Bounds::Kept, enough: Enough::Covered };
    place_subgroups(session, statement, job, pending, scope)
}

/// Places tasks of a job again that are being evicted, on some rows, until its minimum is covered or another
/// one of them has a place; the job and its sub-groups keep their wishes.
pub(crate) fn place_again(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    pending: &mut PendingTasks,
    rows: Rows<'_>,
) -> Reach {
    let (bounds, enough) = (Bounds::Kept, Enough::Covered);
    let space = search_space(session, job, None, bounds);
    try_domains(
        session,
        statement,
        (job, None),
        space.as_ref(),
        rows,
        pending,
        |session, statement, pending, rows| {
            place_subgroups(session, statement, job, pending, PlaceScope { rows, bounds, enough })
        },
    )
}

pub(super) fn search_space(
    session: &Session<'_, '_>,
    job: Entity,
    subgroup: Option<u16>,
    bounds: Bounds,
) -> Option<SearchSpace> {
    if bounds == Bounds::Ignored {
        return None;
    }
    let unit = Unit { job: &session.cluster.job(job), subgroup };
    session.policies.search_space(&session.cluster, unit, Purpose::Allocate)
}

/// Tries the domains of a group on a checkpoint, the best first, and keeps the first plan by which the
/// unit can start; if it can start in none, the first by which it can wait for room. The first group
/// that has a plan decides. Without a search space there is nothing to choose.
pub(super) fn try_domains<S: Leftover>(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    unit: (Entity, Option<u16>),
    space: Option<&SearchSpace>,
    outer: Rows<'_>,
    left: &mut S,
    mut attempt: impl FnMut(&mut Session<'_, '_>, &mut Statement, &mut S, Rows<'_>) -> Reach,
) -> Reach {
    let Some(space) = space else { return attempt(session, statement, left, outer) };
    let need = DomainNeed::of(session, unit.0, unit.1, left.left_over());
    let mut short = Shortfall::default();
    for group in &space.groups {
        let mut waiting: Option<(Plan, S)> = None;
        for trial in rank_domains(session, unit, &need, group, outer) {
            if waiting.is_some() && !trial.at_once {
                break;
            }
            let start = statement.checkpoint();
            let rows =
                trial.domain.map(|domain| inside(&session.cluster.domain(domain).spot.rows, outer));
            let mut trial = left.clone();
            match attempt(session, statement, &mut trial, rows.as_deref().or(outer)) {
                Reach::Ready => {
                    *left = trial;
                    return Reach::Ready;
                }
                Reach::Covered if waiting.is_none() => {
                    waiting = Some((statement.save(start), trial));
                }
                // The furthest attempt says most about what is lacking.
                Reach::Short(other) if short.is_empty() || other.placed > short.placed => {
                    short = other;
                }
                Reach::Covered | Reach::Short(_) => {}
            }
            statement.rollback(&mut session.cluster, start);
        }
        if let Some((plan, trial)) = waiting {
            statement.recover(&mut session.cluster, &plan);
            *left = trial;
            return Reach::Covered;
        }
    }
    if short.is_empty() {
        // No domain was worth a trial.
        short.classes.extend(need.wants.first().map(|want| want.class));
    }
    Reach::Short(short)
}

/// Rows of a domain that lie inside another choice of rows.
pub(crate) fn inside(rows: &[u32], outer: Rows<'_>) -> Vec<u32> {
    let kept = |row: &&u32| outer.is_none_or(|outer| outer.binary_search(row).is_ok());
    rows.iter().filter(kept).copied().collect()
}

/// Places the parts of what is pending in order until the job is ready.
fn place_subgroups(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    pending: &mut PendingTasks,
    scope: PlaceScope<'_>,
) -> Reach {
    if session.cluster.job(job).tree().is_some() {
        let short = match place_set(session, statement, job, None, pending, scope) {
            Reach::Short(short) => short,
            Reach::Ready | Reach::Covered => Shortfall::default(),
        };
        return outcome(session, job, short);
    }
    let before = statement.checkpoint();
    let mut short = Shortfall::default();
    let mut order = PartOrder::of(session, job, pending);
    while let Some(at) = order.next(session, job, pending) {
        let part = pending.part_mut(at);
        let (start, untried) = (statement.checkpoint(), part.clone());
        let space = part.subgroup.and_then(|at| search_space(session, job, Some(at), scope.bounds));
        let reach = try_domains(
            session,
            statement,
            (job, part.subgroup),
            space.as_ref(),
            scope.rows,
            part,
            |session, statement, part, rows| {
                place_tasks(session, statement, job, part, PlaceScope { rows, ..scope })
            },
        );
        if let Reach::Short(shortfall) = reach {
            if part.subgroup.is_some() {
                statement.rollback(&mut session.cluster, start);
            }
            PartOrder::failed_on(session, part, untried, &shortfall);
            short.merge(shortfall);
        } else {
            order.placed(session, job, part);
        }
        if statement.checkpoint() > before
            && let Some(reach) = enough(scope, served(session, job, None))
        {
            return reach;
        }
    }
    outcome(session, job, short)
}

/// How far a job has come when all was tried, and what it failed on, if on anything.
fn outcome(session: &Session<'_, '_>, job: Entity, short: Shortfall) -> Reach {
    let item = session.cluster.job(job);
    match session.policies.job_ready(&session.cluster, &item) {
        // Nothing of the surplus found a place: the job goes on as it is, and says why.
        true if !short.is_empty() => Reach::Short(short),
        true => Reach::Ready,
        false if session.policies.job_pipelined(&item) => Reach::Covered,
        false => Reach::Short(short),
    }
}
