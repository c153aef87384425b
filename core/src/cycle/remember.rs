//! Keeps the record of what queues hold over time, where the configuration asks for one: at the start of a
//! cycle what was used of late is weighed anew if it is time, at its end what is held from now on is noted.
//!
//! Reads: totals of queues, what the nodes offer. Writes: the record, past use of queues.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{DetectChanges, DetectChangesMut, Local, Query, Ref, Res, ResMut};

use crate::place::Now;
use crate::policy::SharedResources;
use crate::world::{ClusterTotals, Names, QueuePast, QueueUse, UsageRecord};

pub(super) fn weigh(
    mut queues: Query<'_, '_, (Entity, &mut QueuePast)>,
    mut record: ResMut<'_, UsageRecord>,
    now: Res<'_, Now>,
) {
    let Some(past) = record.weigh(now.0) else { return };
    for (queue, mut used) in &mut queues {
        used.set_if_neq(past(queue));
    }
}

pub(crate) fn note(
    queues: Query<'_, '_, (Entity, Ref<'_, QueueUse>)>,
    total: Res<'_, ClusterTotals>,
    (mut record, mut names): (ResMut<'_, UsageRecord>, ResMut<'_, Names>),
    now: Res<'_, Now>,
    mut shared: Local<'_, Option<SharedResources>>,
) {
    if !record.is_kept() {
        return;
    }
    let resources = *shared.get_or_insert_with(|| SharedResources::new(&mut names.0));
    if total.is_changed() {
        record.offer(now.0, resources.amounts(total.offered()));
    }
    for (queue, usage) in queues.iter().filter(|(_, usage)| usage.is_changed()) {
        record.hold(now.0, queue, resources.amounts(&usage.allocated));
    }
}
