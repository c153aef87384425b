//! The end of a transaction: what stays of it becomes decisions, calls and records.

use std::sync::Arc;

use bevy_ecs::entity::Entity;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry::{Occupied, Vacant};
use rustc_hash::FxBuildHasher;

use super::{LoggedOp, Statement, Why};
use crate::ids::ObjectKey;
use crate::intent::{CycleOutcome, Decision, DecisionOp, Intent, Ruling};
use crate::policy::Shifts;
use crate::reservation::Release;
use crate::world::{Assumption, BulkKey, BulkPlace, Cluster, End, LastTransaction};

pub(super) fn commit(
    Statement { action, log, .. }: Statement,
    cluster: &mut Cluster<'_, '_>,
    outcome: &mut CycleOutcome,
) {
    if let Some(places) = binds_only(cluster, &log) {
        for run in places.chunk_by(|a, b| a.0 == b.0) {
            let places: Vec<BulkPlace> = run.iter().map(|place| place.1).collect();
            bind_alike(cluster, outcome, action, run[0].0, &places);
        }
        return;
    }
    let evicts = log.iter().any(|entry| matches!(entry.why, Why::Evicted(_)));
    let origin = CommitOrigin { action, evicts };
    for task in touched(log) {
        settle(cluster, outcome, origin, task);
    }
}

/// The tasks of a transaction, in the order they were first touched.
fn touched(log: impl IntoIterator<Item = LoggedOp>) -> Vec<Touched> {
    let log = log.into_iter();
    let count = log.size_hint().0;
    let mut places = HashMap::with_capacity_and_hasher(count, FxBuildHasher);
    let mut touched: Vec<Touched> = Vec::with_capacity(count);
    for LoggedOp { task, before, why, .. } in log {
        // The first entry of a task holds what was assumed before the transaction, the last one
        // why it stands as it does now.
        match places.entry(task) {
            Vacant(place) => {
                place.insert(touched.len());
                touched.push(Touched { task, before, why });
            }
            Occupied(place) => touched[*place.get()].why = why,
        }
    }
    touched
}

/// Who leaves a place and who takes one, as things stand at the end of a transaction.
pub(super) fn shifts(statement: &Statement, cluster: &Cluster<'_, '_>) -> Shifts {
    use Assumption::{Allocated, Binding, Evicting, Pipelined};
    let mut shifts = Shifts::default();
    for Touched { task, before, .. } in touched(statement.log.iter().cloned()) {
        let item = cluster.task(task);
        let place = |assumption: Option<Assumption>| match assumption {
            Some(Allocated(node) | Binding(node) | Pipelined(node)) => Some(node),
            Some(Evicting) => None,
            None => item.observed.node,
        };
        let (before, after) = (place(before), place(item.assumed.0));
        if before != after {
            shifts.left.extend(before.map(|node| (task, node)));
            shifts.taken.extend(after.map(|node| (task, node)));
        }
    }
    shifts
}

/// The places of a transaction with the kind of each task, in the order they were taken; `None` if it did
/// anything else, or to tasks with volumes, budgets or the like. Whoever waited before and has a place now was
/// touched once: a second touch would begin or end otherwise.
fn binds_only(cluster: &Cluster<'_, '_>, log: &[LoggedOp]) -> Option<Vec<(BulkKey, BulkPlace)>> {
    let tasks = cluster.task_columns()?;
    let place = |entry: &LoggedOp| {
        let (None, Some(Assumption::Allocated(node))) = (entry.before, entry.after) else {
            return None;
        };
        Some((BulkKey::of(&tasks, cluster.row(entry.task))?, (entry.task, node)))
    };
    log.iter().map(place).collect()
}

/// Binds tasks of one kind that have their places.
fn bind_alike(
    cluster: &mut Cluster<'_, '_>,
    outcome: &mut CycleOutcome,
    action: &'static str,
    kind: BulkKey,
    places: &[BulkPlace],
) {
    cluster.begin_binds(kind, places);
    cluster.await_answers(places.iter().map(|place| place.0));
    let Some(tasks) = cluster.task_columns() else { return };
    let nodes = cluster.columns();
    let ruling = Arc::new(Ruling {
        action,
        op: DecisionOp::Bind,
        job: cluster.job(kind.job).identity.key.object().clone(),
        beneficiary: None,
        reason: None,
    });
    for &(task, node) in places {
        let identity = &tasks.identity[cluster.row(task)];
        let (pod, uid) = (identity.key.clone(), identity.uid.clone());
        let node = nodes.identities[cluster.row(node)].name.clone();
        let decision =
            Decision { pod: pod.clone(), node: node.clone(), ruling: Arc::clone(&ruling) };
        outcome.decisions.push(decision);
        outcome.intents.push(Intent::Bind { pod, uid, node, ruling: Arc::clone(&ruling) });
    }
}

/// What decisions of one transaction share.
#[derive(Clone, Copy)]
struct CommitOrigin {
    action: &'static str,
    /// Does it evict anybody?
    evicts: bool,
}

/// A task a transaction has touched.
struct Touched {
    task: Entity,
    /// What was assumed of it before the transaction.
    before: Option<Assumption>,
    /// What the last operation on it was for.
    why: Why,
}

/// Turns the final state of one task into its decision, its call and its record.
fn settle(
    cluster: &mut Cluster<'_, '_>,
    outcome: &mut CycleOutcome,
    CommitOrigin { action, evicts }: CommitOrigin,
    Touched { task, before, why }: Touched,
) {
    let Ok(mut item) = cluster.tasks.get_mut(task) else { return };
    let (after, held) = (item.assumed.0, item.cold.nomination.0.map(|record| record.node));
    if item.cold.last.0.is_some() {
        item.cold.last = LastTransaction(None);
    }
    if after == before {
        return;
    }
    let (op, node) = match (after, before) {
        (Some(Assumption::Allocated(node) | Assumption::Binding(node)), _) => {
            cluster.assume(task, Some(Assumption::Binding(node)));
            (DecisionOp::Bind, node)
        }
        (Some(Assumption::Pipelined(node)), _) => (DecisionOp::Pipeline, node),
        (None, Some(Assumption::Pipelined(node))) => (DecisionOp::Unpipeline, node),
        (Some(Assumption::Evicting), _) => match item.observed.node {
            Some(node) => (DecisionOp::Evict, node),
            None => return,
        },
        (None, _) => return,
    };
    if let Some(held) = held {
        // A bind where the room was held keeps the record until it is answered.
        if op != DecisionOp::Bind || held != node {
            cluster.end_reservation(task, End::Released(cause_of(&why)));
        }
    }
    match op {
        DecisionOp::Bind => cluster.await_answer(task),
        DecisionOp::Evict => cluster.begin_leaving(task),
        DecisionOp::Pipeline => cluster.begin_reservation(task, node, evicts),
        DecisionOp::Unpipeline => {}
    }
    announce(cluster, outcome, Decided { action, op, task, node, why });
}

/// Why a reservation ends with an operation.
fn cause_of(why: &Why) -> Release {
    match why {
        Why::Released(cause) => *cause,
        // It has a place elsewhere, which it looks for only if its own is closed to it.
        Why::Placed | Why::Evicted(_) => Release::Closed,
    }
}

/// A decision before it is put into words.
struct Decided {
    action: &'static str,
    op: DecisionOp,
    task: Entity,
    node: Entity,
    why: Why,
}

fn announce(cluster: &Cluster<'_, '_>, outcome: &mut CycleOutcome, decided: Decided) {
    let task = cluster.task(decided.task);
    let (pod, uid) = (task.identity.key.clone(), task.identity.uid.clone());
    let node = cluster.node(decided.node).identity.name.clone();
    let job = task.membership.job.map(|job| cluster.job(job));
    let of_kai = job.as_ref().is_some_and(|job| job.spec.tree.is_some());
    let job = job.map(|job| job.identity.key.object().clone());
    let (beneficiary, reason) = match (decided.op, &decided.why) {
        (DecisionOp::Evict, Why::Evicted(grounds)) => {
            (grounds.beneficiary.clone(), Some(grounds.reason.clone()))
        }
        (DecisionOp::Unpipeline, Why::Released(cause)) => (None, Some(cause.describe().into())),
        _ => (None, None),
    };
    let job = job.unwrap_or_else(|| pod.clone());
    let Decided { action, op, .. } = decided;
    let ruling = Arc::new(Ruling { action, op, job, beneficiary, reason });
    let decision = Decision { pod: pod.clone(), node: node.clone(), ruling: Arc::clone(&ruling) };
    outcome.decisions.push(decision);
    match op {
        DecisionOp::Bind => {
            for (claim, volume) in cluster.claims_to_fix(&task.cold.volumes) {
                let claim = ObjectKey::new(pod.namespace.clone(), claim);
                let (pod, node) = (pod.clone(), node.clone());
                outcome.intents.push(Intent::FixClaim { claim, volume, node, pod });
            }
            outcome.intents.push(Intent::Bind { pod, uid, node, ruling });
        }
        DecisionOp::Evict => outcome.intents.push(Intent::Evict { pod, uid, ruling }),
        DecisionOp::Pipeline if of_kai => {
            outcome.intents.push(Intent::Held { pod, uid, node, ruling });
        }
        // What the pod is to say of its reservation is settled when the cycle ends.
        DecisionOp::Pipeline | DecisionOp::Unpipeline => {}
    }
}
