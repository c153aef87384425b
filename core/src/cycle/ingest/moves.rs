//! Pods that come in the place of others: who takes over the room that is held for them.
//!
//! A pod of the same name does, if it is of the same kind. Else a pod that is new in the job, of the same
//! role, sub-group and class, in the order of their names; of pods without a group one of the same
//! namespace, queue and priority.

use std::num::NonZero;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;

use super::Dirty;
use super::intake::Intake;
use super::pods::forget_sayings;
use crate::cycle::Leadership;
use crate::delta::{PodFacts, PodPhase};
use crate::ids::{Name, ObjectKey};
use crate::world::{
    Assumed, Assumption, Cluster, JobKey, Observed, TaskReadOnlyItem, TaskStatus, Timing,
};

/// How a pod is related to another one of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kinship {
    /// It is what the other was: no rule can tell them apart.
    Alike,
    /// It is something else.
    Other,
}

impl Intake<'_, '_> {
    /// Another pod of a name is seen. Nothing that was held for the old one is held for it, unless it
    /// comes in its place. To be called while the task is detached.
    pub(super) fn meet(&mut self, task: Entity, facts: &PodFacts, kinship: Kinship) {
        let item = self.cluster.task(task);
        let vacancy = item.is_vacancy().then(|| item.status().1).flatten();
        let room = item.heir_home().or(vacancy);
        let waits = facts.phase == PodPhase::Pending
            && facts.node.is_none()
            && !facts.deleting
            && facts.gates.is_empty();
        let leads = *self.role == Leadership::Leads;
        if let Some(node) = room.filter(|_| kinship == Kinship::Alike && waits && leads) {
            self.succeed(task, node);
            return;
        }
        self.forget_pod(task);
        if waits && leads && self.cluster.reservations.has_moves() {
            self.dirty.arrivals.push(task);
        }
    }

    /// The pod comes in the place of one of its name: the room that was held for it is its own.
    fn succeed(&mut self, task: Entity, node: Entity) {
        self.cluster.reservations.note_leave_by(task, None);
        let Ok(mut item) = self.cluster.tasks.get_mut(task) else { return };
        (item.identity.uid, item.identity.version) = (Name::default(), None::<NonZero<u64>>);
        *item.observed = Observed::default();
        *item.assumed = Assumed(Some(Assumption::Pipelined(node)));
        *item.timing = Timing::default();
        forget_sayings(&mut item.cold);
        let evicted = item.cold.nomination.0.is_some_and(|record| record.evicted);
        self.cluster.renew(task, node, evicted);
        self.cluster.note_moved(task);
    }

    /// A pod that was moved is gone: its task stands for the one that is to come.
    pub(super) fn vacate(&mut self, task: Entity) {
        let Some(node) = self.cluster.task(task).heir_home() else { return };
        self.cluster.vacate(task, node);
        if let Ok(mut item) = self.cluster.tasks.get_mut(task) {
            forget_sayings(&mut item.cold);
        }
    }
}

/// Gives room that is held for pods to come to those that have come.
pub(super) fn settle(world: &mut World, dirty: &mut Dirty) {
    let arrivals = std::mem::take(&mut dirty.arrivals);
    if !arrivals.is_empty() {
        let run = world.run_system_cached_with(pass_on, arrivals);
        debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
    }
    let mut reservations = world.resource_mut::<crate::world::Reservations>();
    dirty.vacant.append(&mut reservations.take_closed());
}

fn pass_on(
    bevy_ecs::prelude::In(arrivals): bevy_ecs::prelude::In<Vec<Entity>>,
    mut cluster: Cluster<'_, '_>,
) {
    let mut moved = cluster.moved();
    let name = |task: &TaskReadOnlyItem<'_, '_>| (task.identity.index, task.identity.key.clone());
    moved.sort_by_cached_key(|&task| name(&cluster.task(task)));
    let mut arrivals: Vec<((u64, ObjectKey), Entity)> = arrivals
        .into_iter()
        .filter_map(|task| Some((name(&cluster.tasks.get(task).ok()?), task)))
        .collect();
    arrivals.sort();
    arrivals.dedup();
    for (_, to) in arrivals {
        let item = cluster.task(to);
        if item.status().0 != TaskStatus::Pending || item.identity.uid.is_empty() {
            continue;
        }
        let found = moved.iter().position(|&from| is_of_kind(&cluster, from, to));
        if let Some(at) = found {
            let from = moved.remove(at);
            cluster.pass_on(from, to);
        }
    }
}

/// Can no rule tell the one that comes from the one that leaves?
fn is_of_kind(cluster: &Cluster<'_, '_>, from: Entity, to: Entity) -> bool {
    let (old, new) = (cluster.task(from), cluster.task(to));
    let (left, came) = (old.membership, new.membership);
    let (Some(left_job), Some(came_job)) = (left.job, came.job) else { return false };
    let alike = left.class == came.class && old.priority.value == new.priority.value;
    if left_job == came_job {
        return alike && (left.role, left.subgroup) == (came.role, came.subgroup);
    }
    let (left_job, came_job) = (cluster.job(left_job), cluster.job(came_job));
    let alone = |key: &JobKey| matches!(key, JobKey::Lone(_));
    alike
        && alone(&left_job.identity.key)
        && alone(&came_job.identity.key)
        && old.identity.key.namespace == new.identity.key.namespace
        && left_job.spec.queue == came_job.spec.queue
}

#[cfg(test)]
mod tests;
