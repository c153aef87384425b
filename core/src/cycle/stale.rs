//! Gives up reservations that cannot be kept: their node is gone, or more is held on it than is
//! free or leaving. The lowest task goes first, and a job that falls below its minimum gives up the
//! rest of what is held for it.
//!
//! Reads: node rows that changed since the last cycle. Writes: assumptions, through a Statement.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{Local, Res, ResMut};

use super::ingest::Dirty;
use crate::kernel::overbooked::overbooked;
use crate::place::Outcome;
use crate::policy::Policies;
use crate::reservation::Release;
use crate::resource::Lanes;
use crate::statement::Statement;
use crate::world::{ChangeLog, Cluster, LogMark, NodeColumns, TaskStatus};

pub(super) fn release(
    mut cluster: Cluster<'_, '_>,
    policies: Res<'_, Policies>,
    mut outcome: ResMut<'_, Outcome>,
    mut dirty: ResMut<'_, Dirty>,
    mut seen: Local<'_, Option<LogMark>>,
) {
    let rows = overbooked_rows(cluster.columns(), &cluster.log, *seen);
    *seen = Some(cluster.log.mark());
    if rows.is_empty() {
        return;
    }
    let nodes: Vec<Entity> =
        rows.iter().map(|&row| cluster.columns().entities[row as usize]).collect();
    let mut held = held_on(&mut cluster, &nodes);
    let mut statement = Statement::new("allocate");
    for node in nodes {
        let present = cluster.node(node).identity.present;
        let cause = if present { Release::Overbooked } else { Release::NodeGone };
        let tasks = held.remove(&node).unwrap_or_default();
        for held in last_first(&cluster, &policies, tasks) {
            if !is_overbooked(&cluster, node) {
                break;
            }
            give_up(&mut cluster, &policies, &mut statement, held, cause);
        }
        if !present {
            // Nobody may need it any more; the next batch finds out.
            dirty.vacant.push(node);
        }
    }
    let _not_refused = statement.conclude(&mut cluster, &policies, &mut outcome.0);
}

/// Changed rows on which more is held than is free or leaving.
fn overbooked_rows(nodes: NodeColumns<'_>, log: &ChangeLog, seen: Option<LogMark>) -> Vec<u32> {
    let over = |row: u32| over(&nodes, row as usize);
    let mut rows: Vec<u32> = match seen.and_then(|mark| log.since(mark)) {
        Some(changed) => changed.iter().copied().filter(|&row| over(row)).collect(),
        None => all_overbooked(&nodes),
    };
    rows.sort_by_key(|&row| nodes.places[row as usize].ordinal);
    rows.dedup();
    rows
}

/// The same over all rows: one pass over the columns, and a closer look at what they do not show.
fn all_overbooked(nodes: &NodeColumns<'_>) -> Vec<u32> {
    let mut rows = Vec::new();
    overbooked(nodes.idle, nodes.releasing, nodes.pipelined, &mut rows);
    let hidden = |row: &u32| {
        let tails = &nodes.tails[*row as usize];
        let absent = !nodes.identities[*row as usize].present;
        let shared = !nodes.devices[*row as usize].shared().is_empty();
        (absent || shared || !tails.pipelined.is_empty()) && over(nodes, *row as usize)
    };
    rows.extend((0..nodes.len() as u32).filter(hidden));
    rows
}

fn over(nodes: &NodeColumns<'_>, row: usize) -> bool {
    if nodes.pipelined[row] == Lanes::ZERO {
        return false;
    }
    let mut room = nodes.idle[row];
    room.add(&nodes.releasing[row]);
    let tails = &nodes.tails[row];
    let mut tail = tails.idle.clone();
    tail.add(&tails.releasing);
    !nodes.identities[row].present
        || !nodes.pipelined[row].fits(&room)
        || !tails.pipelined.fits(&tail)
        || nodes.devices[row].is_overbooked()
}

fn is_overbooked(cluster: &Cluster<'_, '_>, node: Entity) -> bool {
    let row = cluster.node(node).place.row as usize;
    over(&cluster.columns(), row)
}

/// Tasks these nodes are held for. Looks at the members of jobs that hold anything, and at nobody
/// else.
fn held_on(cluster: &mut Cluster<'_, '_>, nodes: &[Entity]) -> BTreeMap<Entity, Vec<Entity>> {
    let mut held: BTreeMap<Entity, Vec<Entity>> =
        nodes.iter().map(|&node| (node, Vec::new())).collect();
    for job in cluster.open_jobs() {
        let job = cluster.job(job);
        if job.counts().pipelined() == 0 {
            continue;
        }
        for &task in &job.members.0 {
            let item = cluster.task(task);
            let own = match item.status() {
                (TaskStatus::Pipelined, node) => node,
                _ => None,
            };
            if let Some(node) = own.or(item.heir_home())
                && let Some(tasks) = held.get_mut(&node)
            {
                tasks.push(task);
            }
        }
    }
    held
}

/// Tasks with their jobs, the one to give up first in front.
pub(super) fn last_first(
    cluster: &Cluster<'_, '_>,
    policies: &Policies,
    tasks: impl IntoIterator<Item = Entity>,
) -> Vec<(Entity, Option<Entity>)> {
    let keyed = |task: Entity| {
        let item = cluster.task(task);
        let job = item.membership.job;
        let job_key = job.map(|job| policies.job_key(cluster, &cluster.job(job)));
        ((job_key, policies.task_key(&item)), task, job)
    };
    let mut held: Vec<_> = tasks.into_iter().map(keyed).collect();
    held.sort_by(|a, b| b.0.cmp(&a.0));
    held.into_iter().map(|(_, task, job)| (task, job)).collect()
}

/// Gives up one reservation, and the rest of the job's if it no longer reaches its minimum.
pub(super) fn give_up(
    cluster: &mut Cluster<'_, '_>,
    policies: &Policies,
    statement: &mut Statement,
    (task, job): (Entity, Option<Entity>),
    cause: Release,
) {
    // A task that lost its reservation with the rest of its job is simply not pipelined any more.
    if statement.unpipeline(cluster, task, cause).is_err() {
        return;
    }
    let Some(job) = job else { return };
    let item = cluster.job(job);
    if policies.job_ready(cluster, &item) || policies.job_pipelined(&item) {
        return;
    }
    for task in policies.members_last_first(cluster, job) {
        let _not_held = statement.unpipeline(cluster, task, Release::Uncovered);
    }
}
