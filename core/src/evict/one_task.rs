//! Room for one task: free if there is some, else on the node where that costs least.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bevy_ecs::entity::Entity;

use crate::delta::PreemptionPolicy;
use crate::place::{Rows, Session, place_one_task};
use crate::policy::{EvictPurpose, Evictor};
use crate::statement::{Checkpoint, Statement};
use crate::world::{Request, TaskStatus};

use super::action::EvictAction;
use super::by_node::{VictimsByNode, job_priority};
use super::candidates::is_standing;
use super::fairness::{Entitlement, Fairness};
use super::search::grounds;

/// Makes room for one task; returns who has to go. None, and nothing is changed, if there is no node.
pub(super) fn make_room(
    session: &mut Session<'_, '_>,
    (action, entitlement): (&EvictAction, Entitlement),
    statement: &mut Statement,
    evictor: &Evictor,
    victims_by_node: &VictimsByNode,
    rows: Rows<'_>,
) -> Option<Vec<Entity>> {
    let task = evictor.task?;
    if action.purpose == EvictPurpose::Reclaim {
        let job = session.cluster.job(evictor.job);
        let request = session.cluster.task(task).whole_request();
        if !session.policies.preemptive(&session.cluster, &job, &request) {
            return None;
        }
    }
    if place_one_task(session, statement, evictor.job, task, rows) {
        return Some(Vec::new());
    }
    if session.cluster.task(task).priority.preempts == PreemptionPolicy::Never {
        return None;
    }
    // Nodes by what they cost at least; what one costs in fact is found out when its turn comes.
    let request = session.cluster.task(task).request.clone();
    let nodes = session.cluster.columns();
    let in_reach = |row: u32| rows.is_none_or(|rows| rows.binary_search(&row).is_ok());
    let with_victims = victims_by_node
        .rows
        .iter()
        .filter(|&(&row, node_victims)| !node_victims.tasks.is_empty() && in_reach(row));
    let mut heap: BinaryHeap<Reverse<NodeOffer>> = with_victims
        .map(|(&row, node_victims)| {
            let price = node_victims.at_least(request.room(), &nodes.future(row as usize));
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
            let tasks = &node_victims.tasks;
            let exact = make_offer(session, (evictor, entitlement), &request, offer.row, tasks);
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

/// Who could go on one node, in the order they would, and what that costs; `None` if it is not enough.
fn make_offer(
    session: &Session<'_, '_>,
    (evictor, entitlement): (&Evictor, Entitlement),
    request: &Request,
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
        EvictPurpose::Preempt | EvictPurpose::Consolidate => {
            session.policies.preemptable(&session.cluster, evictor, &tasks)
        }
        EvictPurpose::Reclaim => {
            let mut named = session.policies.reclaimable(&session.cluster, evictor, &tasks);
            let mut fairness = Fairness::new(session, evictor, &request.amounts, entitlement);
            named.retain(|&task| fairness.take(task));
            named
        }
    };
    let mut room = session.cluster.columns().future(row as usize);
    let mut price = (i32::MIN, 0);
    for &task in &tasks {
        if request.room().fits(&room) {
            break;
        }
        price = (price.0.max(job_priority(session, task)), price.1 + 1);
        room.add(&session.cluster.task(task).request.freed_at_most());
    }
    (!tasks.is_empty() && request.room().fits(&room)).then_some((price, tasks))
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
