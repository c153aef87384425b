//! One task after the other, as Volcano's `preempt` and `reclaim` do it.
//!
//! Each task takes the node that costs least: lowest priority of its victims, then fewest of them. The
//! first task of a job with a topology wish chooses the domain, and the others look only there; one
//! that finds nothing ends the attempt. Nothing is committed unless the job's minimum is covered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bevy_ecs::entity::Entity;

use crate::cycle::drive::Scene;
use crate::cycle::place::{self, Rows};
use crate::cycle::worksheet::Sheet;
use crate::policy::{EvictPurpose, Evictor, Purpose, Unit};
use crate::resource::ResourceVec;
use crate::statement::{Checkpoint, Statement};
use crate::world::TaskStatus;

use super::Decision;
use super::clear::grounds;
use super::fairness::Fairness;
use super::herd::{Candidate, is_standing};
use super::need::Need;
use super::prey::{Prey, job_priority};
use super::raid::Raid;
use super::refusal::Search;
use super::reprieve;
use super::sites::{Terrain, barred};
use super::view::View;

/// Who makes way for the job, together with its placement.
pub(super) fn decide(
    scene: &mut Scene<'_, '_>,
    raid: &Raid,
    need: &Need,
    sheet: &Sheet,
    view: &mut View,
) -> Result<Decision, Search> {
    let survey = view.terrain.survey_all(scene, need);
    let (mut slots, mut tried) = (survey.slots, survey.hopeful);
    let mut found = None;
    if survey.hopeful {
        found = attempt(scene, raid, need, sheet, view.prey(scene));
    }
    if found.is_none() && raid.purpose == EvictPurpose::Preempt {
        let own = [Candidate::own(scene, raid, need.evictor.job)];
        let barred = barred(scene, need);
        let terrain = Terrain::new(scene, barred, &own);
        let survey = terrain.survey_all(scene, need);
        slots += survey.slots;
        tried |= survey.hopeful;
        if survey.hopeful {
            found = attempt(scene, raid, need, sheet, &Prey::new(scene, &own, &terrain));
        }
    }
    let failed = if tried { Search::Failed } else { Search::Hopeless(slots) };
    let mut found = found.ok_or(failed)?;
    give_back(scene, &mut found, need.evictor.job);
    Ok(found)
}

/// Places tasks until the job's minimum is covered; returns that and who has to go. Without success
/// nothing is changed.
fn attempt(
    scene: &mut Scene<'_, '_>,
    raid: &Raid,
    need: &Need,
    sheet: &Sheet,
    prey: &Prey,
) -> Option<Decision> {
    let mut statement = Statement::new(raid.action);
    let victims = place_tasks(scene, raid, need, sheet, prey, &mut statement);
    if victims.is_none() {
        statement.rollback(&mut scene.cluster, Checkpoint::START);
    }
    victims.map(|victims| Decision { statement, victims })
}

fn place_tasks(
    scene: &mut Scene<'_, '_>,
    raid: &Raid,
    need: &Need,
    sheet: &Sheet,
    prey: &Prey,
    statement: &mut Statement,
) -> Option<Vec<Entity>> {
    let job = need.evictor.job;
    let mut domains = domains(scene, job);
    let mut victims = Vec::new();
    let mut left = sheet.open_tasks().count();
    for task in sheet.open_tasks() {
        let evictor = Evictor { task: Some(task), ..need.evictor };
        let found = domains.iter().enumerate().find_map(|(at, rows)| {
            let taken = one(scene, raid, statement, &evictor, prey, rows.as_deref());
            taken.map(|taken| (at, taken))
        });
        left -= 1;
        let everywhere = domains.len() == 1 && domains[0].is_none();
        match found {
            Some((domain, taken)) => {
                victims.extend(taken);
                domains = vec![domains.swap_remove(domain)];
            }
            // Without a topology wish other tasks may still be enough.
            None if everywhere && may_be_covered(scene, job, left) => continue,
            None => return None,
        }
        if !scene.policies.job_starving(&scene.cluster.job(job)) {
            break;
        }
    }
    let placed = statement.checkpoint() > Checkpoint::START;
    (placed && scene.policies.job_pipelined(&scene.cluster.job(job))).then_some(victims)
}

/// Could the job's minimum be covered with so many more tasks?
fn may_be_covered(scene: &Scene<'_, '_>, job: Entity, more: usize) -> bool {
    let item = scene.cluster.job(job);
    let has = item.counts.ready() + item.counts.pipelined();
    has as usize + more >= item.spec.min_available as usize
}

/// Spares those who are needless by now: room that was made for one task may have served the next. The
/// last taken is looked at first.
fn give_back(scene: &mut Scene<'_, '_>, decision: &mut Decision, job: Entity) {
    let Decision { statement, victims } = decision;
    if victims.len() < 2 {
        return;
    }
    statement.pipeline_all_allocated(&mut scene.cluster, job);
    let placed = reprieve::placed(scene, job);
    for at in (0..victims.len()).rev() {
        if reprieve::spare(scene, statement, &placed, &victims[at..=at]) {
            victims.remove(at);
        }
    }
}

/// Rows of the domains the job may use, in order of preference; none is all rows.
fn domains(scene: &Scene<'_, '_>, job: Entity) -> Vec<Option<Vec<u32>>> {
    let item = scene.cluster.job(job);
    let unit = Unit { job: &item, subgroup: None };
    let space = scene.policies.search_space(&scene.cluster, unit, Purpose::Evict);
    let Some(space) = space else { return vec![None] };
    let domains = space.groups.into_iter().flatten();
    let rows = |domain: Entity| scene.cluster.domain(domain).spot.rows.clone();
    domains.map(|domain| domain.map(rows)).collect()
}

/// Makes room for one task; returns who has to go. None, and nothing is changed, if there is no node.
fn one(
    scene: &mut Scene<'_, '_>,
    raid: &Raid,
    statement: &mut Statement,
    evictor: &Evictor,
    prey: &Prey,
    rows: Rows<'_>,
) -> Option<Vec<Entity>> {
    let task = evictor.task?;
    if raid.purpose == EvictPurpose::Reclaim {
        let queue = scene.cluster.queue(evictor.queue(&scene.cluster));
        let request = scene.cluster.task(task).whole_request();
        if !scene.policies.preemptive(&scene.cluster, &queue, &request) {
            return None;
        }
    }
    if place::one_task(scene, statement, evictor.job, task, rows) {
        return Some(Vec::new());
    }
    // Nodes by what they cost at least; what one costs in fact is found out when its turn comes.
    let request = scene.cluster.task(task).whole_request();
    let nodes = scene.cluster.columns();
    let in_reach = |row: u32| rows.is_none_or(|rows| rows.binary_search(&row).is_ok());
    let pens = prey.rows.iter().filter(|&(&row, pen)| !pen.tasks.is_empty() && in_reach(row));
    let mut heap: BinaryHeap<Reverse<Bid>> = pens
        .map(|(&row, pen)| {
            let price = pen.at_least(&request, &nodes.future(row as usize));
            Reverse(Bid { price, ordinal: nodes.places[row as usize].ordinal, row, tasks: None })
        })
        .filter(|bid| bid.0.price.1 < usize::MAX)
        .collect();
    while let Some(Reverse(bid)) = heap.pop() {
        let Some(tasks) = bid.tasks else {
            let pen = prey.rows.get(&bid.row)?;
            let offer = offer(scene, evictor, &request, bid.row, &pen.tasks);
            let known = |(price, tasks)| Reverse(Bid { price, tasks: Some(tasks), ..bid });
            heap.extend(offer.map(known));
            continue;
        };
        if let Some(victims) = take(scene, raid, statement, evictor, bid.row, &tasks) {
            return Some(victims);
        }
    }
    None
}

/// A node with what making room there costs: at least, or in fact if it is known who would go.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Bid {
    /// Highest priority and number of those who go, if only resources count.
    price: (i32, usize),
    ordinal: u32,
    row: u32,
    /// Who could go, in the order they would.
    tasks: Option<Vec<Entity>>,
}

/// Who could go on one node, in the order they would, and what that costs; none if it is not enough.
fn offer(
    scene: &Scene<'_, '_>,
    evictor: &Evictor,
    request: &ResourceVec,
    row: u32,
    tasks: &[Entity],
) -> Option<((i32, usize), Vec<Entity>)> {
    let standing = tasks.iter().copied().filter(|&task| is_standing(&scene.cluster.task(task)));
    let mut tasks: Vec<Entity> = standing.collect();
    scene.policies.sort_victims(&scene.cluster, evictor, &mut tasks);
    let tasks = match evictor.purpose {
        EvictPurpose::Preempt => scene.policies.preemptable(&scene.cluster, evictor, &tasks),
        EvictPurpose::Reclaim => {
            let mut named = scene.policies.reclaimable(&scene.cluster, evictor, &tasks);
            let mut fairness = Fairness::new(&scene.cluster, evictor, request);
            named.retain(|&task| fairness.take(task));
            named
        }
    };
    let mut room = scene.cluster.columns().future(row as usize);
    let mut price = (i32::MIN, 0);
    for &task in &tasks {
        if request.fits(&room) {
            break;
        }
        price = (price.0.max(job_priority(scene, task)), price.1 + 1);
        room.add(&scene.cluster.task(task).whole_request());
    }
    (!tasks.is_empty() && request.fits(&room)).then_some((price, tasks))
}

/// Evicts on one node until the task fits, then spares whom it does not need.
fn take(
    scene: &mut Scene<'_, '_>,
    raid: &Raid,
    statement: &mut Statement,
    evictor: &Evictor,
    row: u32,
    tasks: &[Entity],
) -> Option<Vec<Entity>> {
    let task = evictor.task?;
    let start = statement.checkpoint();
    let rows = [row];
    let grounds = grounds(scene, raid, evictor.job);
    let mut victims = Vec::new();
    let mut placed = false;
    for &victim in tasks {
        if statement.evict(&mut scene.cluster, victim, grounds.clone()).is_err() {
            continue;
        }
        victims.push(victim);
        placed = place::one_task(scene, statement, evictor.job, task, Some(&rows));
        if placed {
            break;
        }
    }
    if !placed {
        statement.rollback(&mut scene.cluster, start);
        return None;
    }
    // The last one was needed; of the others perhaps not all.
    for at in (0..victims.len().saturating_sub(1)).rev() {
        let fewer: Vec<Entity> =
            victims.iter().enumerate().filter(|&(i, _)| i != at).map(|(_, &task)| task).collect();
        if redo(scene, statement, start, evictor, &fewer, &grounds, &rows) {
            victims = fewer;
        }
    }
    let done = redo(scene, statement, start, evictor, &victims, &grounds, &rows);
    debug_assert!(done, "it was enough a moment ago");
    debug_assert!(scene.cluster.task(task).status().0 != TaskStatus::Pending, "it has a place");
    Some(victims)
}

fn redo(
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    start: Checkpoint,
    evictor: &Evictor,
    victims: &[Entity],
    grounds: &crate::statement::Grounds,
    rows: &[u32],
) -> bool {
    statement.rollback(&mut scene.cluster, start);
    for &victim in victims {
        let evicted = statement.evict(&mut scene.cluster, victim, grounds.clone());
        debug_assert!(evicted.is_ok(), "it stood there a moment ago");
    }
    evictor
        .task
        .is_some_and(|task| place::one_task(scene, statement, evictor.job, task, Some(rows)))
}
