//! Second and third pass, loads of nodes: what was measured, and which pods are in it.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;

use super::Dirty;
use super::intake::Intake;
use crate::delta::{NodeFacts, NodeLoadFacts};
use crate::ids::Name;
use crate::resource::{Dim, ResourceVec};
use crate::world::Cluster;

impl Intake<'_, '_> {
    /// A measurement, or that there is none any more. It may come before the node or after.
    pub(super) fn node_load(&mut self, name: &Name, facts: Option<NodeLoadFacts>) {
        self.cluster.loads.set(name, facts);
        if let Some(&node) = self.directory.nodes.get(name) {
            self.write_load(node);
        }
    }

    /// Writes what was measured of a node into its column.
    fn write_load(&mut self, node: Entity) {
        let Ok(mut item) = self.cluster.nodes.get_mut(node) else { return };
        let facts = self.cluster.loads.get(&item.identity.name);
        let seen = item.load.sees_until();
        if item.load.measure(facts, self.now.0) {
            self.cluster.log.touch(item.place.row);
        }
        self.dirty.loads |= seen != item.load.sees_until();
    }

    /// Writes what the node has, of which loads are parts, and its load anew.
    pub(super) fn write_capacity(&mut self, node: Entity, facts: &NodeFacts, offer: &ResourceVec) {
        let Ok(mut item) = self.cluster.nodes.get_mut(node) else { return };
        let offered = [Dim::CPU, Dim::MEMORY].map(|dim| offer.get(dim));
        let capacity = std::array::from_fn(|at| facts.capacity[at].unwrap_or(offered[at]));
        if item.load.capacity() != capacity {
            item.load.set_capacity(capacity);
            self.cluster.log.touch(item.place.row);
        }
        self.write_load(node);
    }
}

/// Counts pods as measured that are in what was measured since.
pub(super) fn settle(world: &mut World, dirty: &Dirty) {
    if dirty.loads {
        let run = world.run_system_cached(enter_loads);
        debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
    }
}

fn enter_loads(mut cluster: Cluster<'_, '_>) {
    let is_seen = |since, node: Option<Entity>| {
        node.and_then(|node| cluster.nodes.get(node).ok())
            .is_some_and(|node| node.load.has_seen(since))
    };
    let unseen = cluster.tasks.iter().filter(|task| {
        let running = task.timing.running.get().filter(|_| !task.timing.measured);
        running.is_some_and(|since| is_seen(since, task.observed.node))
    });
    let seen: Vec<Entity> = unseen.map(|task| task.entity).collect();
    for task in seen {
        cluster.detach(task);
        if let Ok(mut item) = cluster.tasks.get_mut(task) {
            item.timing.measured = true;
        }
        cluster.attach(task);
    }
}
