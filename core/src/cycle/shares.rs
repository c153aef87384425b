//! Divides the cluster among the queues, before the actions ask what each may have.
//!
//! Runs through only when a queue, what queues use, want or used of late, or what nodes offer has changed
//! since. A plugin may keep its division up to date from change to change; then only a queue that comes,
//! goes or is changed makes it anew.
//!
//! Reads: queues and their totals, what the nodes offer. Writes: due and limits of queues.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{DetectChanges, Local, Query, Ref, Res, ResMut};
use bevy_ecs::query::QueryData;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::policy::{Claims, KeptDivision, Policies, Portion, QueueClaim, QueueNews, Wants};
use crate::resource::ResourceNames;
use crate::world::{
    ClusterTotals, Names, QueueDeserved, QueueIdentity, QueuePast, QueueSpec, QueueTerms, QueueUse,
};

/// What the division reads and writes of a queue.
#[derive(QueryData)]
#[query_data(mutable)]
pub(super) struct Side {
    entity: Entity,
    identity: Ref<'static, QueueIdentity>,
    spec: Ref<'static, QueueSpec>,
    usage: Ref<'static, QueueUse>,
    past: Ref<'static, QueuePast>,
    deserved: &'static mut QueueDeserved,
    terms: &'static mut QueueTerms,
}

/// A division that is kept up to date.
pub(super) struct LastDivision {
    division: Box<dyn KeptDivision>,
    /// The queues, by their index among the claims.
    queues: Vec<Entity>,
    /// The index of each.
    at: HashMap<Entity, usize, FxBuildHasher>,
}

pub(super) fn apportion(
    mut queues: Query<'_, '_, Side>,
    policies: Res<'_, Policies>,
    total: Res<'_, ClusterTotals>,
    mut names: ResMut<'_, Names>,
    (mut known, mut kept): (Local<'_, usize>, Local<'_, Option<LastDivision>>),
) {
    let is_other =
        |side: &SideReadOnlyItem<'_, '_>| side.identity.is_changed() || side.spec.is_changed();
    let count = queues.iter().len();
    let same_queues = *known == count && !queues.iter().any(|side| is_other(&side));
    let moved = total.is_changed() || queues.iter().any(|side| is_news(&side));
    if same_queues && !moved {
        return;
    }
    *known = count;
    if let Some(kept) = kept.as_mut().filter(|_| same_queues) {
        update(&mut queues, kept, &total);
        debug_assert!(is_anew(&queues, &policies, &total, &mut names.0), "kept is as made anew");
        return;
    }
    let Some(divided) = divide(&queues, &policies, &total, &mut names.0) else { return };
    *kept = divided.kept;
    for (queue, Portion { deserved, terms }) in divided.portions {
        let Ok(mut side) = queues.get_mut(queue) else { continue };
        side.deserved.0 = Some(deserved);
        *side.terms = terms;
    }
}

/// Does the queue have, want or have used something else than before?
fn is_news(side: &SideReadOnlyItem<'_, '_>) -> bool {
    side.usage.is_changed() || side.past.is_changed()
}

/// Tells a division what has changed, and queues what they are due by it.
fn update(queues: &mut Query<'_, '_, Side>, kept: &mut LastDivision, total: &ClusterTotals) {
    let sides: Vec<SideReadOnlyItem<'_, '_>> = queues.iter().filter(is_news).collect();
    let index = |side: &SideReadOnlyItem<'_, '_>| kept.at.get(&side.entity).copied();
    let changed = sides.iter().filter_map(|side| {
        Some(QueueNews { queue: index(side)?, usage: &side.usage, past: side.past.0 })
    });
    let changed: Vec<QueueNews<'_>> = changed.collect();
    for (at, due) in kept.division.update(total.offered(), total.by_others(), &changed) {
        let Ok(mut side) = queues.get_mut(kept.queues[at]) else { continue };
        side.deserved.0 = Some(due);
    }
}

/// Is every queue due what a new division gives it?
fn is_anew(
    queues: &Query<'_, '_, Side>,
    policies: &Policies,
    total: &ClusterTotals,
    names: &mut ResourceNames,
) -> bool {
    let anew = divide(queues, policies, total, names).map(|divided| divided.portions);
    anew.into_iter().flatten().all(|(queue, portion)| {
        queues.get(queue).is_ok_and(|side| side.deserved.0 == Some(portion.deserved))
    })
}

/// A division of the cluster.
struct Divided {
    /// The portion of every queue.
    portions: Vec<(Entity, Portion)>,
    /// The division itself, if it is kept up to date.
    kept: Option<LastDivision>,
}

/// The division of the cluster; `None` if no plugin divides.
fn divide(
    queues: &Query<'_, '_, Side>,
    policies: &Policies,
    total: &ClusterTotals,
    names: &mut ResourceNames,
) -> Option<Divided> {
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
        past: side.past.0,
    });
    let queues: Vec<QueueClaim<'_>> = claims.collect();
    let (total, others) = (total.offered(), total.by_others());
    let claims = Claims { queues, total, others, names };
    let portions = entities.iter().copied().zip(policies.apportion(&claims)?).collect();
    let at = entities.iter().copied().zip(0..).collect();
    let division = policies.keep_division(&claims);
    Some(Divided {
        portions,
        kept: division.map(|division| LastDivision { division, queues: entities, at }),
    })
}
