//! Gives back what turned out not to be needed.
//!
//! Units that the policies would rather keep come first, among equals the largest. A unit goes back
//! first of all if the placement that was found does not need it. Then, for as long as it costs little,
//! the job is placed anew without a unit: it may find its room elsewhere.

use std::cmp::Reverse;

use bevy_ecs::entity::Entity;

use crate::class::ClassId;
use crate::cycle::drive::Scene;
use crate::reservation::Release;
use crate::statement::Statement;
use crate::world::TaskStatus;

use super::bundle::State;
use super::clear::{Hunt, Taken};

/// Operations new placements may cost altogether: units left times tasks moved.
const PLACED_ANEW: usize = 20_000;

/// Gives back units one by one; what is left is needed, each of it. The statement holds evictions and
/// placement before and after.
pub(super) fn reprieve(
    hunt: &Hunt<'_>,
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    mut taken: Vec<Taken>,
) -> Vec<Taken> {
    respect_surplus(hunt, scene, statement, &mut taken);
    statement.pipeline_all_allocated(&mut scene.cluster, hunt.need.evictor.job);
    let placed = placed(scene, hunt.need.evictor.job);
    for at in order(hunt, &taken) {
        if stays_with_its_gang(hunt, &taken, at) {
            continue;
        }
        if spare(scene, statement, &placed, &taken[at].tasks) {
            taken[at].tasks.clear();
        }
    }
    taken.retain(|one| !one.tasks.is_empty());
    place_anew(hunt, scene, statement, taken)
}

/// Of gangs that gave more than their surplus, gives back what the job can be placed without.
fn respect_surplus(
    hunt: &Hunt<'_>,
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    taken: &mut Vec<Taken>,
) {
    let is_instead = |one: &Taken| hunt.unit(one).state == State::Instead;
    if !taken.iter().any(is_instead) {
        return;
    }
    let mut at = taken.len();
    while at > 0 {
        at -= 1;
        let job = hunt.unit(&taken[at]).job;
        let of_job = taken.iter().filter(|one| hunt.unit(one).job == job);
        if of_job.count() <= hunt.site.market.surplus(job) {
            continue;
        }
        let others = taken.iter().enumerate().filter(|&(other, _)| other != at);
        if hunt.redo(scene, statement, others.map(|(_, one)| one)) {
            taken.remove(at);
        }
    }
    let placed = hunt.redo(scene, statement, taken.iter());
    debug_assert!(placed, "what is left was enough a moment ago");
}

/// Sends victims back to their nodes if the placement is as good with them; else nothing changes.
pub(super) fn spare(
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    placed: &[(u32, ClassId, Entity)],
    victims: &[Entity],
) -> bool {
    let start = statement.checkpoint();
    for &task in victims {
        let spared = statement.spare(&mut scene.cluster, task);
        debug_assert!(spared.is_ok(), "it was evicted by this statement");
    }
    let good = still_good(scene, statement, placed, victims);
    if !good {
        statement.rollback(&mut scene.cluster, start);
    }
    good
}

/// Places the job without one unit after the other, as long as that may succeed and is cheap.
fn place_anew(
    hunt: &Hunt<'_>,
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    mut taken: Vec<Taken>,
) -> Vec<Taken> {
    let mut budget = PLACED_ANEW;
    for at in order(hunt, &taken) {
        let moved = taken.iter().map(|one| one.tasks.len()).sum::<usize>() + hunt.need.missing;
        let others = || taken.iter().enumerate().filter(|&(other, _)| other != at);
        let room = hunt.room(others().map(|(_, one)| one).filter(|one| !one.tasks.is_empty()));
        if budget < moved || !hunt.need.least.fits(&room) || stays_with_its_gang(hunt, &taken, at) {
            continue;
        }
        budget -= moved;
        if hunt.redo(scene, statement, others().map(|(_, one)| one)) {
            taken[at].tasks.clear();
        }
    }
    taken.retain(|one| !one.tasks.is_empty());
    let placed = hunt.redo(scene, statement, taken.iter());
    debug_assert!(placed, "what is left was enough a moment ago");
    statement.pipeline_all_allocated(&mut scene.cluster, hunt.need.evictor.job);
    taken
}

/// Which unit is to be given back first: the last by policy, then the largest, then the last taken.
fn order(hunt: &Hunt<'_>, taken: &[Taken]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..taken.len()).collect();
    order.sort_by_cached_key(|&at| {
        let unit = hunt.unit(&taken[at]);
        Reverse((hunt.site.market.policy_rank(unit, hunt.raid.purpose), unit.cost, at))
    });
    order
}

/// Is it a safe task of a gang whose core has been taken? The core goes back first or not at all.
fn stays_with_its_gang(hunt: &Hunt<'_>, taken: &[Taken], at: usize) -> bool {
    let unit = hunt.unit(&taken[at]);
    unit.state != State::Whole
        && taken.iter().any(|other| {
            let other_unit = hunt.unit(other);
            other_unit.state == State::Whole
                && other_unit.job == unit.job
                && !other.tasks.is_empty()
        })
}

/// Where room is held for the job, by class.
pub(super) fn placed(scene: &Scene<'_, '_>, job: Entity) -> Vec<(u32, ClassId, Entity)> {
    let members = scene.cluster.job(job).members.0.iter().map(|&task| scene.cluster.task(task));
    let mut placed: Vec<(u32, ClassId, Entity)> = members
        .filter_map(|task| match task.status() {
            (TaskStatus::Pipelined, Some(node)) => {
                Some((scene.cluster.node(node).place.row, task.membership.class, task.entity))
            }
            _ => None,
        })
        .collect();
    placed.sort_unstable();
    placed
}

/// Is the placement as good as before with these tasks back on their nodes?
fn still_good(
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    placed: &[(u32, ClassId, Entity)],
    back: &[Entity],
) -> bool {
    let row_of = |scene: &Scene<'_, '_>, task: Entity| {
        let node = scene.cluster.task(task).status().1;
        node.map(|node| scene.cluster.node(node).place.row)
    };
    let mut rows: Vec<u32> = back.iter().filter_map(|&task| row_of(scene, task)).collect();
    rows.sort_unstable();
    rows.dedup();
    let kept = |row: u32| {
        let room = scene.cluster.columns().future(row as usize);
        back.iter().all(|&task| {
            let holds = scene.cluster.task(task).whole_request();
            row_of(scene, task) != Some(row)
                || holds.iter().all(|(dim, amount)| amount <= 0 || room.get(dim) >= 0)
        })
    };
    rows.iter().all(|&row| kept(row))
        && placed.iter().all(|&(row, class, _)| {
            let company = !scene.classes.get(class).near.rules.is_empty();
            let touched = rows.binary_search(&row).is_ok();
            !(company || touched) || !scene.ranking(class).bar_of_held(row).is_closed()
        })
        && queue_agrees(scene, statement, placed)
}

/// Would the queue let each class have its last task once more?
fn queue_agrees(
    scene: &mut Scene<'_, '_>,
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
        if statement.unpipeline(&mut scene.cluster, task, Release::Uncovered).is_err() {
            return true;
        }
        let job = scene.cluster.task(task).membership.job;
        let queue = job.map(|job| scene.cluster.queue(scene.cluster.job(job).spec.queue));
        let agreed = queue.is_none_or(|queue| {
            let request = &scene.classes.get(class).request;
            scene.policies.allocatable(&scene.cluster, &scene.names.0, &queue, request).is_ok()
        });
        statement.rollback(&mut scene.cluster, start);
        agreed
    })
}
