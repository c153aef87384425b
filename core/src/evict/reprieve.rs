//! Gives back what turned out not to be needed.
//!
//! Bundles that the policies would rather keep come first, among equals the largest. A bundle goes back
//! first of all if the placement that was found does not need it. Then, for as long as it costs little,
//! the job is placed again without a bundle: it may find its room elsewhere.

use std::cmp::Reverse;

use bevy_ecs::entity::Entity;

use crate::place::Session;
use crate::reservation::Release;
use crate::statement::Statement;
use crate::world::{ClassId, TaskStatus};

use super::search::{TakenBundle, VictimSearch};
use super::surplus::Harm;

/// Operations new placements may cost altogether: bundles left times tasks moved.
const PLACED_ANEW: usize = 20_000;

/// Gives back bundles one by one; what is left is needed, each of it. The statement holds evictions and
/// placement before and after.
pub(super) fn reprieve(
    search: &VictimSearch<'_>,
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    mut taken: Vec<TakenBundle>,
) -> Vec<TakenBundle> {
    respect_surplus(search, session, statement, &mut taken);
    statement.pipeline_all_allocated(&mut session.cluster, search.shortage.evictor.job);
    let placed = placed(session, search.shortage.evictor.job);
    for at in order(search, &taken) {
        if stays_with_its_gang(search, &taken, at) {
            continue;
        }
        if spare(session, statement, &placed, &taken[at].tasks) {
            taken[at].tasks.clear();
        }
    }
    taken.retain(|one| !one.tasks.is_empty());
    place_anew(search, session, statement, taken)
}

/// Of gangs that gave more than their surplus, gives back what the job can be placed without.
fn respect_surplus(
    search: &VictimSearch<'_>,
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    taken: &mut Vec<TakenBundle>,
) {
    let is_instead = |one: &TakenBundle| search.bundle(one).state == Harm::Instead;
    if !taken.iter().any(is_instead) {
        return;
    }
    let mut at = taken.len();
    while at > 0 {
        at -= 1;
        let job = search.bundle(&taken[at]).job;
        let of_job = taken.iter().filter(|one| search.bundle(one).job == job);
        if of_job.count() <= search.domain.bundles.surplus(job) {
            continue;
        }
        let others = taken.iter().enumerate().filter(|&(other, _)| other != at);
        if search.redo(session, statement, others.map(|(_, one)| one)) {
            taken.remove(at);
        }
    }
    let placed = search.redo(session, statement, taken.iter());
    debug_assert!(placed, "what is left was enough a moment ago");
}

/// Sends victims back to their nodes if the placement is as good with them; else nothing changes.
pub(super) fn spare(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    placed: &[(u32, ClassId, Entity)],
    victims: &[Entity],
) -> bool {
    let start = statement.checkpoint();
    for &task in victims {
        let spared = statement.spare(&mut session.cluster, task);
        debug_assert!(spared.is_ok(), "it was evicted by this statement");
    }
    let good = still_good(session, statement, placed, victims);
    if !good {
        statement.rollback(&mut session.cluster, start);
    }
    good
}

/// Places the job without one bundle after the other, as long as that may succeed and is cheap.
fn place_anew(
    search: &VictimSearch<'_>,
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    mut taken: Vec<TakenBundle>,
) -> Vec<TakenBundle> {
    let mut budget = PLACED_ANEW;
    for at in order(search, &taken) {
        let moved =
            taken.iter().map(|one| one.tasks.len()).sum::<usize>() + search.shortage.missing;
        let others = || taken.iter().enumerate().filter(|&(other, _)| other != at);
        let room = search.room(others().map(|(_, one)| one).filter(|one| !one.tasks.is_empty()));
        if budget < moved
            || !search.shortage.least.fits(&room)
            || stays_with_its_gang(search, &taken, at)
        {
            continue;
        }
        budget -= moved;
        if search.redo(session, statement, others().map(|(_, one)| one)) {
            taken[at].tasks.clear();
        }
    }
    taken.retain(|one| !one.tasks.is_empty());
    // A pod nobody may be evicted for may go elsewhere where a victim was given back, and be in the way there: what is
    // left is then not enough, and the caller, who places the job once more, gives the place up.
    search.redo(session, statement, taken.iter());
    statement.pipeline_all_allocated(&mut session.cluster, search.shortage.evictor.job);
    taken
}

/// Which bundle is to be given back first: the last by policy, then the largest, then the last taken.
fn order(search: &VictimSearch<'_>, taken: &[TakenBundle]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..taken.len()).collect();
    order.sort_by_cached_key(|&at| {
        let bundle = search.bundle(&taken[at]);
        Reverse((search.domain.bundles.policy_rank(bundle, search.action.purpose), bundle.cost, at))
    });
    order
}

/// Is it a safe task of a gang whose core has been taken? The core goes back first or not at all.
fn stays_with_its_gang(search: &VictimSearch<'_>, taken: &[TakenBundle], at: usize) -> bool {
    let bundle = search.bundle(&taken[at]);
    bundle.state != Harm::Whole
        && taken.iter().any(|other| {
            let other_unit = search.bundle(other);
            other_unit.state == Harm::Whole
                && other_unit.job == bundle.job
                && !other.tasks.is_empty()
        })
}

/// Where room is held for the job, by class.
pub(super) fn placed(session: &Session<'_, '_>, job: Entity) -> Vec<(u32, ClassId, Entity)> {
    let members = session.cluster.job(job).members.0.iter().map(|&task| session.cluster.task(task));
    let mut placed: Vec<(u32, ClassId, Entity)> = members
        .filter_map(|task| match task.status() {
            (TaskStatus::Pipelined, Some(node)) => {
                Some((session.cluster.node(node).place.row, task.membership.class, task.entity))
            }
            _ => None,
        })
        .collect();
    placed.sort_unstable();
    placed
}

/// Is the placement as good as before with these tasks back on their nodes?
fn still_good(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    placed: &[(u32, ClassId, Entity)],
    back: &[Entity],
) -> bool {
    let row_of = |session: &Session<'_, '_>, task: Entity| {
        let node = session.cluster.task(task).status().1;
        node.map(|node| session.cluster.node(node).place.row)
    };
    let mut rows: Vec<u32> = back.iter().filter_map(|&task| row_of(session, task)).collect();
    rows.sort_unstable();
    rows.dedup();
    let kept = |row: u32| {
        let room = session.cluster.columns().future(row as usize);
        back.iter().all(|&task| {
            let holds = session.cluster.task(task).request.freed_at_most();
            row_of(session, task) != Some(row)
                || holds.iter().all(|(dim, amount)| amount <= 0 || room.get(dim) >= 0)
        }) && !session.cluster.columns().devices[row as usize].is_overbooked()
    };
    rows.iter().all(|&row| kept(row))
        && placed.iter().all(|&(row, class, _)| {
            let company = !session.classes.get(class).interpod.rules.is_empty();
            let touched = rows.binary_search(&row).is_ok();
            !(company || touched) || !session.ranking(class).exclusion_of_held(row).is_closed()
        })
        && queue_agrees(session, statement, placed)
}

/// Would the queue let each class have its last task once more?
fn queue_agrees(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    placed: &[(u32, ClassId, Entity)],
) -> bool {
    let mut asked: Vec<ClassId> = Vec::new();
    placed.iter().all(|&(_, class, task)| {
        if asked.contains(&class) {
            return true;
        }
        asked.push(class);
        let start = statement.checkpoint();
        if statement.unpipeline(&mut session.cluster, task, Release::Uncovered).is_err() {
            return true;
        }
        let job = session.cluster.task(task).membership.job;
        let agreed = job.is_none_or(|job| {
            let request = session.classes.get(class).least();
            let (cluster, names) = (&session.cluster, &session.names.0);
            session.policies.allocatable(cluster, names, &cluster.job(job), request).is_ok()
        });
        statement.rollback(&mut session.cluster, start);
        agreed
    })
}
