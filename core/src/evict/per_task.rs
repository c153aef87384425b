//! One task after the other, as Volcano's `preempt` and `reclaim` do it.
//!
//! Each task takes the node that costs least: lowest priority of its victims, then fewest of them. The
//! first task of a job with a topology wish chooses the domain, and the others look only there; one
//! that finds nothing ends the attempt. Nothing is committed unless the job's minimum is covered.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bevy_ecs::entity::Entity;

use crate::place::{PendingTasks, Rows, Session, place_one_task};
use crate::policy::{EvictPurpose, Evictor, Purpose, Unit};
use crate::resource::ResourceVec;
use crate::statement::{Checkpoint, Statement};
use crate::world::TaskStatus;

use super::action::EvictAction;
use super::by_node::{VictimsByNode, job_priority};
use super::candidates::{Candidate, is_standing};
use super::domains::{FreeableRoom, barred};
use super::evictor_view::EvictorView;
use super::fairness::Fairness;
use super::refusal::SearchEnd;
use super::search::grounds;
use super::shortage::Shortage;
use super::{EvictionPlan, reprieve};

/// Who makes way for the job, together with its placement.
pub(super) fn decide(
    session: &mut Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    pending: &PendingTasks,
    view: &mut EvictorView,
) -> Result<EvictionPlan, SearchEnd> {
    let bound = view.freeable.bound_of_all(session, shortage);
    let (mut slots, mut tried) = (bound.slots, bound.hopeful);
    let mut found = None;
    if bound.hopeful {
        found = attempt(session, action, shortage, pending, view.victims_by_node(session));
    }
    if found.is_none() && action.purpose == EvictPurpose::Preempt {
        let own = [Candidate::own(session, action, shortage.evictor.job)];
        let barred = barred(session, shortage);
        let freeable = FreeableRoom::new(session, barred, &own);
        let bound = freeable.bound_of_all(session, shortage);
        slots += bound.slots;
        tried |= bound.hopeful;
        if bound.hopeful {
            found = attempt(
                session,
                action,
                shortage,
                pending,
                &VictimsByNode::new(session, &own, &freeable),
            );
        }
    }
    let failed = if tried { SearchEnd::Failed } else { SearchEnd::Infeasible(slots) };
    let mut found = found.ok_or(failed)?;
    give_back(session, &mut found, shortage.evictor.job);
    Ok(found)
}

/// Places tasks until the job's minimum is covered; returns that and who has to go. Without success
/// nothing is changed.
fn attempt(
    session: &mut Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    pending: &PendingTasks,
    victims_by_node: &VictimsByNode,
) -> Option<EvictionPlan> {
    let mut statement = Statement::new(action.name);
    let victims = place_tasks(session, action, shortage, pending, victims_by_node, &mut statement);
    if victims.is_none() {
        statement.rollback(&mut session.cluster, Checkpoint::START);
    }
    victims.map(|victims| EvictionPlan { statement, victims })
}

fn place_tasks(
    session: &mut Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    pending: &PendingTasks,
    victims_by_node: &VictimsByNode,
    statement: &mut Statement,
) -> Option<Vec<Entity>> {
    let job = shortage.evictor.job;
    let mut domains = domains(session, job);
    let mut victims = Vec::new();
    let mut left = pending.open_tasks().count();
    for task in pending.open_tasks() {
        let evictor = Evictor { task: Some(task), ..shortage.evictor };
        let found = domains.iter().enumerate().find_map(|(at, rows)| {
            let taken = one(session, action, statement, &evictor, victims_by_node, rows.as_deref());
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
            None if everywhere && may_be_covered(session, job, left) => continue,
            None => return None,
        }
        if !session.policies.job_starving(&session.cluster.job(job)) {
            break;
        }
    }
    let placed = statement.checkpoint() > Checkpoint::START;
    (placed && session.policies.job_pipelined(&session.cluster.job(job))).then_some(victims)
}

/// Could the job's minimum be covered with this many more tasks?
fn may_be_covered(session: &Session<'_, '_>, job: Entity, more: usize) -> bool {
    let item = session.cluster.job(job);
    let has = item.counts().ready() + item.counts().pipelined();
    has as usize + more >= item.spec.min_available as usize
}

/// Spares those who are needless by now: room that was made for one task may have served the next. The
/// last taken is looked at first.
fn give_back(session: &mut Session<'_, '_>, plan: &mut EvictionPlan, job: Entity) {
    let EvictionPlan { statement, victims } = plan;
    if victims.len() < 2 {
        return;
    }
    statement.pipeline_all_allocated(&mut session.cluster, job);
    let placed = reprieve::placed(session, job);
    for at in (0..victims.len()).rev() {
        if reprieve::spare(session, statement, &placed, &victims[at..=at]) {
            victims.remove(at);
        }
    }
}

/// Rows of the domains the job may use, in order of preference; `None` means every row.
fn domains(session: &Session<'_, '_>, job: Entity) -> Vec<Option<Vec<u32>>> {
    let item = session.cluster.job(job);
    let unit = Unit { job: &item, subgroup: None };
    let space = session.policies.search_space(&session.cluster, unit, Purpose::Evict);
    let Some(space) = space else { return vec![None] };
    let domains = space.groups.into_iter().flatten();
    let rows = |domain: Entity| session.cluster.domain(domain).spot.rows.clone();
    domains.map(|domain| domain.map(rows)).collect()
}

/// Makes room for one task; returns who has to go. None, and nothing is changed, if there is no node.
fn one(
    session: &mut Session<'_, '_>,
    action: &EvictAction,
    statement: &mut Statement,
    evictor: &Evictor,
    victims_by_node: &VictimsByNode,
    rows: Rows<'_>,
) -> Option<Vec<Entity>> {
    let task = evictor.task?;
    if action.purpose == EvictPurpose::Reclaim {
        let queue = session.cluster.queue(evictor.queue(&session.cluster));
        let request = session.cluster.task(task).whole_request();
        if !session.policies.preemptive(&session.cluster, &queue, &request) {
            return None;
        }
    }
    if place_one_task(session, statement, evictor.job, task, rows) {
        return Some(Vec::new());
    }
    // Nodes by what they cost at least; what one costs in fact is found out when its turn comes.
    let request = session.cluster.task(task).whole_request();
    let nodes = session.cluster.columns();
    let in_reach = |row: u32| rows.is_none_or(|rows| rows.binary_search(&row).is_ok());
    let with_victims = victims_by_node
        .rows
        .iter()
        .filter(|&(&row, node_victims)| !node_victims.tasks.is_empty() && in_reach(row));
    let mut heap: BinaryHeap<Reverse<NodeOffer>> = with_victims
        .map(|(&row, node_victims)| {
            let price = node_victims.at_least(&request, &nodes.future(row as usize));
            Reverse(NodeOffer {
                price,
                ordinal: nodes.places[row as usize].ordinal,
                row,
                tasks: None,
            })
        })
        .filter(|offer| offer.0.price.1 < usize::MAX)
        .collect();
    while let Some(Reverse(offer)) = heap.pop() {
        let Some(tasks) = offer.tasks else {
            let node_victims = victims_by_node.rows.get(&offer.row)?;
            let exact = make_offer(session, evictor, &request, offer.row, &node_victims.tasks);
            let known = |(price, tasks)| Reverse(NodeOffer { price, tasks: Some(tasks), ..offer });
            heap.extend(exact.map(known));
            continue;
        };
        if let Some(victims) = take(session, action, statement, evictor, offer.row, &tasks) {
            return Some(victims);
        }
    }
    None
}

/// A node with what making room there costs: at least, or in fact if it is known who would go.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct NodeOffer {
    /// Highest priority and number of those who go, if only resources count.
    price: (i32, usize),
    ordinal: u32,
    row: u32,
    /// Who could go, in the order they would.
    tasks: Option<Vec<Entity>>,
}

/// Who could go on one node, in the order they would, and what that costs; none if it is not enough.
fn make_offer(
    session: &Session<'_, '_>,
    evictor: &Evictor,
    request: &ResourceVec,
    row: u32,
    tasks: &[Entity],
) -> Option<((i32, usize), Vec<Entity>)> {
    // A pod that asks for nothing but its slot may take that of another such pod and nobody else's.
    let modest = evictor.task.is_some_and(|task| session.cluster.task(task).traits.best_effort);
    let standing = |task: &Entity| {
        let task = session.cluster.task(*task);
        is_standing(&task) && (!modest || task.traits.best_effort)
    };
    let mut tasks: Vec<Entity> = tasks.iter().copied().filter(standing).collect();
    session.policies.sort_victims(&session.cluster, evictor, &mut tasks);
    let tasks = match evictor.purpose {
        EvictPurpose::Preempt => session.policies.preemptable(&session.cluster, evictor, &tasks),
        EvictPurpose::Reclaim => {
            let mut named = session.policies.reclaimable(&session.cluster, evictor, &tasks);
            let mut fairness = Fairness::new(session, evictor, request);
            named.retain(|&task| fairness.take(task));
            named
        }
    };
    let mut room = session.cluster.columns().future(row as usize);
    let mut price = (i32::MIN, 0);
    for &task in &tasks {
        if request.fits(&room) {
            break;
        }
        price = (price.0.max(job_priority(session, task)), price.1 + 1);
        room.add(&session.cluster.task(task).whole_request());
    }
    (!tasks.is_empty() && request.fits(&room)).then_some((price, tasks))
}

/// Evicts on one node until the task fits, then spares whom it does not need.
fn take(
    session: &mut Session<'_, '_>,
    action: &EvictAction,
    statement: &mut Statement,
    evictor: &Evictor,
    row: u32,
    tasks: &[Entity],
) -> Option<Vec<Entity>> {
    let task = evictor.task?;
    let start = statement.checkpoint();
    let rows = [row];
    let grounds = grounds(session, action, evictor.job);
    let mut victims = Vec::new();
    let mut placed = false;
    for &victim in tasks {
        if statement.evict(&mut session.cluster, victim, grounds.clone()).is_err() {
            continue;
        }
        victims.push(victim);
        placed = place_one_task(session, statement, evictor.job, task, Some(&rows));
        if placed {
            break;
        }
    }
    if !placed {
        statement.rollback(&mut session.cluster, start);
        return None;
    }
    // The last one was needed; of the others perhaps not all.
    for at in (0..victims.len().saturating_sub(1)).rev() {
        let fewer: Vec<Entity> =
            victims.iter().enumerate().filter(|&(i, _)| i != at).map(|(_, &task)| task).collect();
        if redo(session, statement, start, evictor, &fewer, &grounds, &rows) {
            victims = fewer;
        }
    }
    let done = redo(session, statement, start, evictor, &victims, &grounds, &rows);
    debug_assert!(done, "it was enough a moment ago");
    debug_assert!(session.cluster.task(task).status().0 != TaskStatus::Pending, "it has a place");
    Some(victims)
}

fn redo(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    start: Checkpoint,
    evictor: &Evictor,
    victims: &[Entity],
    grounds: &crate::statement::Grounds,
    rows: &[u32],
) -> bool {
    statement.rollback(&mut session.cluster, start);
    for &victim in victims {
        let evicted = statement.evict(&mut session.cluster, victim, grounds.clone());
        debug_assert!(evicted.is_ok(), "it stood there a moment ago");
    }
    evictor
        .task
        .is_some_and(|task| place_one_task(session, statement, evictor.job, task, Some(rows)))
}
