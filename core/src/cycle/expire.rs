//! Ends what has waited long enough: reservations whose room did not come free, and calls nobody
//! answered.
//!
//! Pods that were leaving when a reservation was made and still are when it ends have had their time:
//! the room they take is no longer counted as room to come, for anybody, until they are really gone.
//! So the gang is placed afresh in the same cycle, on what is free or on room others leave, but does
//! not wait for the same pods again. Where KAI's dialect is spoken, the same goes for a pod that should
//! have been gone two minutes ago, whether or not anybody waits for it.
//!
//! Reads: deadlines. Writes: assumptions, through a Statement or as a failed call does; pauses.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{Res, ResMut};

use super::stale;
use crate::ids::TimeMs;
use crate::place::Outcome;
use crate::policy::Policies;
use crate::reservation::Release;
use crate::statement::Statement;
use crate::world::{Assumption, Cluster, TaskReadOnlyItem};

pub(super) fn expire(
    mut cluster: Cluster<'_, '_>,
    policies: Res<'_, Policies>,
    mut outcome: ResMut<'_, Outcome>,
) {
    for task in cluster.take_overdue() {
        let leaves = |task: TaskReadOnlyItem<'_, '_>| {
            task.timing.leaving.get().is_some() && !task.timing.stuck
        };
        if cluster.tasks.get(task).is_ok_and(leaves) {
            cluster.distrust(task);
        }
    }
    let mut held = Vec::new();
    for task in cluster.take_due() {
        match cluster.task(task).assumed.0 {
            Some(Assumption::Pipelined(node)) => held.push((task, node)),
            Some(Assumption::Binding(_)) => unanswered_bind(&mut cluster, task),
            Some(Assumption::Moving(node)) if !is_over(&cluster, task) => held.push((task, node)),
            Some(Assumption::Evicting | Assumption::Moving(_)) => {
                unanswered_eviction(&mut cluster, task);
            }
            Some(Assumption::Allocated(_)) | None => {}
        }
    }
    if held.is_empty() {
        return;
    }
    distrust(&mut cluster, &held);
    let mut statement = Statement::new("allocate");
    for (task, job) in stale::last_first(&cluster, &policies, held.into_iter().map(|held| held.0)) {
        stale::give_up(&mut cluster, &policies, &mut statement, (task, job), Release::Deadline);
    }
    let _not_refused = statement.conclude(&mut cluster, &policies, &mut outcome.0);
}

/// A record that runs out while its bind is under way is no reason to doubt the bind.
fn unanswered_bind(cluster: &mut Cluster<'_, '_>, task: Entity) {
    if is_over(cluster, task) {
        cluster.bind_refused(task);
    }
}

fn unanswered_eviction(cluster: &mut Cluster<'_, '_>, task: Entity) {
    if is_over(cluster, task) {
        cluster.stay(task);
    }
}

fn is_over(cluster: &Cluster<'_, '_>, task: Entity) -> bool {
    let now = cluster.reservations.now;
    cluster.task(task).timing.answer_by.get().is_some_and(|until| until <= now)
}

/// Stops counting on pods that have been leaving these nodes for as long as room was held there.
fn distrust(cluster: &mut Cluster<'_, '_>, held: &[(Entity, Entity)]) {
    let mut waited: BTreeMap<Entity, TimeMs> = BTreeMap::new();
    for &(task, node) in held {
        let since = cluster.task(task).cold.nomination.0.map(|record| record.since);
        let Some(since) = since else { continue };
        let latest = waited.entry(node).or_insert(since);
        *latest = (*latest).max(since);
    }
    let stuck = cluster.tasks.iter().filter(|task| {
        let held = task.status().1.and_then(|node| waited.get(&node));
        let leaving = task.timing.leaving.get().filter(|_| !task.timing.stuck);
        leaving.zip(held).is_some_and(|(leaving, &since)| leaving <= since)
    });
    let stuck: Vec<Entity> = stuck.map(|task| task.entity).collect();
    for task in stuck {
        cluster.distrust(task);
    }
}
