//! Third pass, shards: which nodes are ours, written into the nodes whose answer changed.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;

use super::Dirty;
use crate::world::{NodeFlags, NodeIdentity, NodeRules, NodeShare, Shards};

pub(super) fn settle(world: &mut World, dirty: &mut Dirty) {
    world.resource_scope::<Shards, _>(|world, mut shards| {
        shards.settle();
        let mut nodes = world.query::<(Entity, &NodeIdentity, &mut NodeRules, &mut NodeFlags)>();
        for (node, identity, mut rules, mut flags) in nodes.iter_mut(world) {
            let share =
                if identity.present { shards.share(&identity.name) } else { NodeShare::default() };
            if rules.share != share {
                rules.share = share;
                *flags = flags.with_object(identity, &rules);
                dirty.nodes = true;
                dirty.changed_nodes.push(node);
            }
        }
    });
}
