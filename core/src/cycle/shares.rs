//! Divides the cluster among the queues, before the actions ask what each may have.
//!
//! Runs through only when a queue, what queues use and want, or what nodes offer has changed since.
//!
//! Reads: queues and their totals, what the nodes offer. Writes: due and limits of queues.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{DetectChanges, Local, Query, Ref, Res, ResMut};
use bevy_ecs::query::QueryData;

use crate::policy::{Claims, Policies, Portion, QueueClaim, Wants};
use crate::resource::ResourceNames;
use crate::world::{
    ClusterTotals, Names, QueueDeserved, QueueIdentity, QueueSpec, QueueTerms, QueueUse,
};

/// What the division reads and writes of a queue.
#[derive(QueryData)]
#[query_data(mutable)]
pub(super) struct Side {
    entity: Entity,
    identity: Ref<'static, QueueIdentity>,
    spec: Ref<'static, QueueSpec>,
    usage: Ref<'static, QueueUse>,
    deserved: &'static mut QueueDeserved,
    terms: &'static mut QueueTerms,
}

pub(super) fn apportion(
    mut queues: Query<'_, '_, Side>,
    policies: Res<'_, Policies>,
    total: Res<'_, ClusterTotals>,
    mut names: ResMut<'_, Names>,
    mut known: Local<'_, usize>,
) {
    let changed = |side: &SideReadOnlyItem<'_, '_>| {
        side.identity.is_changed() || side.spec.is_changed() || side.usage.is_changed()
    };
    let count = queues.iter().len();
    if *known == count && !total.is_changed() && !queues.iter().any(|side| changed(&side)) {
        return;
    }
    *known = count;
    let Some(portions) = divide(&queues, &policies, &total, &mut names.0) else { return };
    for (queue, Portion { deserved, terms }) in portions {
        let Ok(mut side) = queues.get_mut(queue) else { continue };
        side.deserved.0 = Some(deserved);
        *side.terms = terms;
    }
}

/// The portion of every queue; `None` if no plugin divides.
fn divide(
    queues: &Query<'_, '_, Side>,
    policies: &Policies,
    total: &ClusterTotals,
    names: &mut ResourceNames,
) -> Option<Vec<(Entity, Portion)>> {
    let mut sides: Vec<SideReadOnlyItem<'_, '_>> = queues.iter().collect();
    sides.sort_by(|a, b| a.identity.name.cmp(&b.identity.name));
    let entities: Vec<Entity> = sides.iter().map(|side| side.entity).collect();
    let mut places: Vec<(Entity, usize)> = entities.iter().copied().zip(0..).collect();
    places.sort_unstable();
    let index = |queue: Entity| {
        let at = places.binary_search_by_key(&queue, |place| place.0).ok()?;
        Some(places[at].1)
    };
    let claims = sides.iter().map(|side| QueueClaim {
        name: &side.identity.name,
        parent: side.spec.parent.and_then(index),
        weight: side.spec.weight,
        capability: side
            .spec
            .capability
            .as_ref()
            .map(|list| names.limits(list))
            .unwrap_or_default(),
        deserved: side.spec.deserved.as_ref().map(|list| names.limits(list)),
        guarantee: side.spec.guarantee.as_ref().map(|list| names.vector(list)).unwrap_or_default(),
        priority: side.spec.priority,
        created: side.identity.created,
        uid: &side.identity.uid,
        over_quota: side.spec.over_quota.as_ref().map(|terms| terms.weights),
        usage: &side.usage,
        wants: if side.identity.present { Wants::Everything } else { Wants::WhatItHas },
    });
    let queues: Vec<QueueClaim<'_>> = claims.collect();
    let (total, others) = (total.offered(), total.by_others());
    let portions = policies.apportion(&Claims { queues, total, others, names })?;
    Some(entities.into_iter().zip(portions).collect())
}
