//! The end of a transaction: what stays of it becomes decisions, calls and records.

use std::sync::Arc;

use bevy_ecs::entity::Entity;
use hashbrown::HashMap;
use hashbrown::hash_map::Entry::{Occupied, Vacant};
use rustc_hash::FxBuildHasher;

use super::{Grounds, LoggedOp, Statement, Why};
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
        let at = match places.entry(task) {
            Vacant(place) => {
                touched.push(Touched { task, before, cause: None, grounds: None });
                *place.insert(touched.len() - 1)
            }
            Occupied(place) => *place.get(),
        };
        let entry = &mut touched[at];
        match why {
            Why::Placed => entry.cause = None,
            Why::Released(cause) => entry.cause = Some(cause),
            // A victim that is moved then goes for the same reason.
            Why::Evicted(grounds) => (entry.cause, entry.grounds) = (None, Some(grounds)),
        }
    }
    touched
}

/// Who leaves a place and who takes one, as things stand at the end of a transaction.
pub(super) fn shifts(statement: &Statement, cluster: &Cluster<'_, '_>) -> Shifts {
    use Assumption::{Allocated, Binding, Evicting, Moving, Pipelined};
    let mut shifts = Shifts::default();
    for Touched { task, before, .. } in touched(statement.log.iter().cloned()) {
        let item = cluster.task(task);
        let place = |assumption: Option<Assumption>| match assumption {
            Some(Allocated(node) | Binding(node) | Pipelined(node) | Moving(node)) => Some(node),
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
    /// Why room was given up, if the last operation did that.
    cause: Option<Release>,
    /// Why it is evicted, if it is.
    grounds: Option<Box<Grounds>>,
}

/// Turns the final state of one task into its decisions, its call and its record.
fn settle(
    cluster: &mut Cluster<'_, '_>,
    outcome: &mut CycleOutcome,
    CommitOrigin { action, evicts }: CommitOrigin,
    Touched { task, before, cause, grounds }: Touched,
) {
    let Ok(mut item) = cluster.tasks.get_mut(task) else { return };
    let (after, held) = (item.assumed.0, item.cold.nomination.0.map(|record| record.node));
    let seen_on = item.observed.node;
    if item.cold.last.0.is_some() {
        item.cold.last = LastTransaction(None);
    }
    if after == before {
        return;
    }
    let eviction = grounds.filter(|_| is_eviction(after) && !is_eviction(before));
    let seat = place_of(after).or(held_by(before));
    if let Some(held) = held {
        // A bind where the room was held keeps the record until it is answered.
        let binds = matches!(after, Some(Assumption::Allocated(_) | Assumption::Binding(_)));
        if !binds || seat != Some(held) {
            // Else it has a place elsewhere, which it looks for only if its own is closed to it.
            cluster.end_reservation(task, End::Released(cause.unwrap_or(Release::Closed)));
        }
    }
    let decided = |op, node| Decided { action, op, task, node, cause };
    if let (Some(grounds), Some(node)) = (eviction, seen_on) {
        cluster.begin_leaving(task);
        announce(cluster, outcome, decided(DecisionOp::Evict, node), Some(*grounds));
    }
    let Some(node) = seat else { return };
    let op = match after {
        Some(Assumption::Allocated(_) | Assumption::Binding(_)) => {
            cluster.assume(task, Some(Assumption::Binding(node)));
            cluster.await_answer(task);
            DecisionOp::Bind
        }
        Some(Assumption::Pipelined(_) | Assumption::Moving(_)) => {
            cluster.begin_reservation(task, node, evicts);
            DecisionOp::Pipeline
        }
        Some(Assumption::Evicting) | None => DecisionOp::Unpipeline,
    };
    announce(cluster, outcome, decided(op, node), None);
    if op == DecisionOp::Unpipeline {
        cluster.close_vacancy(task);
    }
}

fn is_eviction(assumption: Option<Assumption>) -> bool {
    assumption.is_some_and(Assumption::is_eviction)
}

/// The node on which room is assumed to be held.
fn held_by(assumption: Option<Assumption>) -> Option<Entity> {
    match assumption? {
        Assumption::Pipelined(node) | Assumption::Moving(node) => Some(node),
        _ => None,
    }
}

/// The node that is assumed to be taken or held.
fn place_of(assumption: Option<Assumption>) -> Option<Entity> {
    use Assumption::{Allocated, Binding, Evicting, Moving, Pipelined};
    match assumption? {
        Allocated(node) | Binding(node) | Pipelined(node) | Moving(node) => Some(node),
        Evicting => None,
    }
}

/// A decision before it is put into words.
struct Decided {
    action: &'static str,
    op: DecisionOp,
    task: Entity,
    node: Entity,
    cause: Option<Release>,
}

fn announce(
    cluster: &Cluster<'_, '_>,
    outcome: &mut CycleOutcome,
    decided: Decided,
    grounds: Option<Grounds>,
) {
    let task = cluster.task(decided.task);
    let (pod, uid) = (task.identity.key.clone(), task.identity.uid.clone());
    let node = cluster.node(decided.node).identity.name.clone();
    let job = task.membership.job.map(|job| cluster.job(job));
    let of_kai = job.as_ref().is_some_and(|job| job.spec.tree.is_some());
    let job = job.map(|job| job.identity.key.object().clone());
    let (beneficiary, reason) = match (grounds, decided.cause) {
        (Some(grounds), _) => (grounds.beneficiary, Some(grounds.reason)),
        (None, Some(cause)) if decided.op == DecisionOp::Unpipeline => {
            (None, Some(cause.describe().into()))
        }
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
            if !task.cold.devices.is_empty() {
                let devices = task.cold.devices.as_slice().into();
                let (pod, uid, node) = (pod.clone(), uid.clone(), node.clone());
                outcome.intents.push(Intent::FixDevices { pod, uid, node, devices });
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
