//! Victims that are placed again in the same transaction: moved rather than lost.
//!
//! Who fits again on its own node stays there and was never a victim. The largest are placed first, among
//! equals those who are served first. A gang that is broken is placed whole or not at all; what it has
//! above its minimum goes pod by pod.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::place::{PendingTasks, Rows, Session, is_served, place_again};
use crate::resource::ResourceVec;
use crate::statement::Statement;
use crate::world::{Assumption, TaskReadOnlyItem};

/// What a task has of a need, in millionths of it, summed over what is asked for.
pub(super) fn weight_of(request: &ResourceVec, need: &ResourceVec) -> i64 {
    let asked = need.iter().filter(|&(_, whole)| whole > 0);
    let parts = asked.map(|(dim, whole)| {
        let part = i128::from(request.get(dim).max(0)) * 1_000_000 / i128::from(whole);
        i64::try_from(part).unwrap_or(i64::MAX)
    });
    parts.fold(0, i64::saturating_add)
}

/// Is the task being evicted, with no other place?
pub(super) fn is_lost(task: &TaskReadOnlyItem<'_, '_>) -> bool {
    task.assumed.0 == Some(Assumption::Evicting)
}

/// Victims by job, in the order in which jobs are placed again.
fn by_job(
    session: &Session<'_, '_>,
    victims: &[Entity],
    need: &ResourceVec,
) -> Vec<(Entity, Vec<Entity>)> {
    let mut jobs: BTreeMap<Entity, Vec<Entity>> = BTreeMap::new();
    for &task in victims {
        if let Some(job) = session.cluster.task(task).membership.job {
            jobs.entry(job).or_default().push(task);
        }
    }
    let mut jobs: Vec<(Entity, Vec<Entity>)> = jobs.into_iter().collect();
    jobs.sort_by_cached_key(|(job, tasks)| {
        let weight = |&task: &Entity| weight_of(&session.cluster.task(task).request.amounts, need);
        let largest = tasks.iter().map(weight).max().unwrap_or(0);
        let key = session.policies.job_key(&session.cluster, &session.cluster.job(*job));
        (Reverse(largest), key)
    });
    jobs
}

/// Places every victim again on some rows; if there is one that finds no place, that one is returned.
pub(super) fn place_all(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    victims: &[Entity],
    need: &ResourceVec,
    rows: Rows<'_>,
) -> Result<(), Entity> {
    for (job, tasks) in by_job(session, victims, need) {
        place_tasks_of(session, statement, job, &tasks, rows);
        let lost = tasks.into_iter().find(|&task| is_lost(&session.cluster.task(task)));
        lost.map_or(Ok(()), Err)?;
    }
    Ok(())
}

/// Places victims again as far as they fit. Of a gang that does not reach its minimum in this way nothing
/// is.
pub(super) fn place_some(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    victims: &[Entity],
    need: &ResourceVec,
) {
    for (job, tasks) in by_job(session, victims, need) {
        let start = statement.checkpoint();
        place_tasks_of(session, statement, job, &tasks, None);
        if !is_served(session, job, None) {
            statement.rollback(&mut session.cluster, start);
        }
    }
}

/// Places victims of one job again, step by step, until none is left or none fits.
fn place_tasks_of(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    victims: &[Entity],
    rows: Rows<'_>,
) {
    // No part of a device is held for a pod that is to come.
    let whole = |task: &Entity| session.cluster.task(*task).request.share().is_none();
    let mut open: Vec<Entity> = victims.iter().copied().filter(whole).collect();
    while !open.is_empty() {
        let start = statement.checkpoint();
        let mut pending = PendingTasks::of_victims(session, job, &open);
        place_again(session, statement, job, &mut pending, rows);
        if statement.checkpoint() == start {
            return;
        }
        open.retain(|&task| is_lost(&session.cluster.task(task)));
    }
}
