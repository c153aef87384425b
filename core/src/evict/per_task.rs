//! One task after the other, as Volcano's `preempt` and `reclaim` do it.
//!
//! Each task takes the node that costs least: lowest priority of its victims, then fewest of them. The
//! first task of a job with a topology wish chooses the domain, and the others look only there; one
//! that finds nothing ends the attempt. Nothing is committed unless the job's minimum is covered.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::cycle::drive::{Scene, Turn};
use crate::cycle::place::{self, Rows};
use crate::cycle::worksheet::{Portion, Sheet};
use crate::policy::{EvictPurpose, Evictor, Purpose, Unit};
use crate::statement::{Checkpoint, Statement};
use crate::world::TaskStatus;

use super::clear::grounds;
use super::fairness::Fairness;
use super::gang::commit;
use super::herd::{Candidate, Herd};
use super::need::Need;
use super::raid::Raid;
use super::refusal::{self, Refusals, Search, denied};
use super::reprieve;
use super::sites::Terrain;

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
    let mut refusals = Refusals::default();
    let others = herd.candidates(scene, raid, job, &mut refusals);
    let own = vec![Candidate::own(scene, raid, job)];
    let rounds: &[&[Candidate]] = match raid.purpose {
        EvictPurpose::Preempt => &[&others, &own],
        EvictPurpose::Reclaim => &[&others],
    };
    let mut search = Search::Hopeless(&others);
    for candidates in rounds {
        let terrain = Terrain::new(scene, &need, candidates);
        if !terrain.is_hopeful(scene, &need) {
            continue;
        }
        search = Search::Failed(&others);
        let mut statement = Statement::new(raid.action);
        let prey = Prey::new(candidates, &terrain);
        if let Some(victims) = attempt(scene, raid, &need, &sheet, prey, &mut statement) {
            let victims = give_back(scene, &mut statement, job, victims);
            commit(scene, statement, herd, job, &victims);
            return Turn::Over;
        }
        statement.rollback(&mut scene.cluster, Checkpoint::START);
    }
    refusal::explain(scene, raid, &need, search, &refusals);
    Turn::Over
}

/// Places tasks until the job's minimum is covered; returns who has to go.
fn attempt(
    scene: &mut Scene<'_, '_>,
    raid: &Raid,
    need: &Need,
    sheet: &Sheet,
    mut prey: Prey,
    statement: &mut Statement,
) -> Option<Vec<Entity>> {
    let job = need.evictor.job;
    let mut domains = domains(scene, job);
    let mut victims = Vec::new();
    let mut placed = false;
    let mut left = sheet.open_tasks().count();
    for task in sheet.open_tasks() {
        let evictor = Evictor { task: Some(task), ..need.evictor };
        let found = domains.iter().position(|rows| {
            let found = one(scene, raid, statement, &evictor, &prey, rows.as_deref());
            let done = found.is_some();
            if let Some(taken) = found {
                prey.remove(&taken);
                victims.extend(taken);
            }
            done
        });
        left -= 1;
        match found {
            Some(domain) => {
                placed = true;
                domains = vec![domains.swap_remove(domain)];
            }
            None if domains.len() == 1 && domains[0].is_none() => {
                let item = scene.cluster.job(job);
                let has = (item.counts.ready() + item.counts.pipelined()) as usize;
                if has + left < item.spec.min_available as usize {
                    return None;
                }
                continue;
            }
            None => return None,
        }
        let item = scene.cluster.job(job);
        if !scene.policies.job_starving(&item) {
            break;
        }
    }
    let covered = scene.policies.job_pipelined(&scene.cluster.job(job));
    (placed && covered).then_some(victims)
}

/// Spares those who are needless by now: room that was made for one task may have served the next. The
/// last taken is looked at first.
fn give_back(
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    mut victims: Vec<Entity>,
) -> Vec<Entity> {
    if victims.len() < 2 {
        return victims;
    }
    statement.pipeline_all_allocated(&mut scene.cluster, job);
    let placed = reprieve::placed(scene, job);
    for at in (0..victims.len()).rev() {
        if reprieve::spare(scene, statement, &placed, &victims[at..=at]) {
            victims.remove(at);
        }
    }
    victims
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

/// Tasks that may make way, by row.
struct Prey {
    rows: BTreeMap<u32, Vec<Entity>>,
}

impl Prey {
    fn new(candidates: &[Candidate], terrain: &Terrain) -> Self {
        let mut rows: BTreeMap<u32, Vec<Entity>> = BTreeMap::new();
        for stand in candidates.iter().flat_map(|candidate| &candidate.footprint.open) {
            if terrain.is_open(stand.row) {
                rows.entry(stand.row).or_default().push(stand.task);
            }
        }
        Self { rows }
    }

    fn remove(&mut self, taken: &[Entity]) {
        for tasks in self.rows.values_mut() {
            tasks.retain(|task| !taken.contains(task));
        }
    }
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
    let mut offers: Vec<Offer> = Vec::new();
    for (&row, tasks) in &prey.rows {
        if rows.is_none_or(|rows| rows.binary_search(&row).is_ok())
            && let Some(offer) = offer(scene, evictor, row, tasks)
        {
            offers.push(offer);
        }
    }
    offers.sort_by_key(|offer| (offer.price, offer.ordinal));
    for offer in offers {
        if let Some(victims) = take(scene, raid, statement, evictor, &offer) {
            return Some(victims);
        }
    }
    None
}

/// Who could go on one node, in the order they would.
struct Offer {
    row: u32,
    ordinal: u32,
    /// Highest priority and number of those it takes if only resources count.
    price: (i32, usize),
    tasks: Vec<Entity>,
}

fn offer(scene: &Scene<'_, '_>, evictor: &Evictor, row: u32, tasks: &[Entity]) -> Option<Offer> {
    let mut tasks = tasks.to_vec();
    scene.policies.sort_victims(&scene.cluster, evictor, &mut tasks);
    let request = scene.cluster.task(evictor.task?).whole_request();
    let tasks = match evictor.purpose {
        EvictPurpose::Preempt => scene.policies.preemptable(&scene.cluster, evictor, &tasks),
        EvictPurpose::Reclaim => {
            let mut named = scene.policies.reclaimable(&scene.cluster, evictor, &tasks);
            let mut fairness = Fairness::new(&scene.cluster, evictor, &request);
            named.retain(|&task| fairness.take(task));
            named
        }
    };
    let nodes = scene.cluster.columns();
    let mut room = nodes.future(row as usize);
    let mut price = (i32::MIN, 0);
    for &task in &tasks {
        if request.fits(&room) {
            break;
        }
        let item = scene.cluster.task(task);
        let job = item.membership.job.map(|job| scene.cluster.job(job).spec.priority);
        price = (price.0.max(job.unwrap_or(i32::MAX)), price.1 + 1);
        room.add(&item.whole_request());
    }
    let ordinal = nodes.places[row as usize].ordinal;
    (!tasks.is_empty() && request.fits(&room)).then_some(Offer { row, ordinal, price, tasks })
}

/// Evicts on one node until the task fits, then spares whom it does not need.
fn take(
    scene: &mut Scene<'_, '_>,
    raid: &Raid,
    statement: &mut Statement,
    evictor: &Evictor,
    offer: &Offer,
) -> Option<Vec<Entity>> {
    let task = evictor.task?;
    let start = statement.checkpoint();
    let rows = [offer.row];
    let grounds = grounds(scene, raid, evictor.job);
    let mut victims = Vec::new();
    let mut placed = false;
    for &victim in &offer.tasks {
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
