//! Takes queued deltas into the world, in one batch before a cycle.
//!
//! Three passes: make an entity for everything the batch names, write what is now known of each
//! while all totals follow, and sweep up what nothing refers to any more. Structural changes happen
//! here and nowhere else.

mod spawn;
mod intake;
mod pods;
mod moves;
mod subgroups;
mod volumes;
mod devices;
mod shards;
mod loads;
mod domains;
mod groups;
mod selectors;
mod default_spread;
mod budgets;
mod sweep;

use bevy_ecs::prelude::{Resource, World};

use crate::delta::ClusterDelta;

pub(crate) use default_spread::switch as switch_default_spread;
pub(crate) use groups::switch as regroup_nodes;

/// Deltas waiting for the next cycle.
#[derive(Debug, Default, Resource)]
pub(crate) struct Inbox(pub(crate) Vec<ClusterDelta>);

/// What a batch has changed that needs a pass of its own at the end.
#[derive(Debug, Default, Resource)]
#[expect(clippy::struct_excessive_bools, reason = "independent marks, not states")]
pub(crate) struct Dirty {
    /// Nodes came, went or changed what rules read of them.
    pub(crate) nodes: bool,
    /// Those nodes.
    pub(crate) changed_nodes: Vec<bevy_ecs::entity::Entity>,
    /// Domains came, went or changed members.
    pub(crate) domains: bool,
    /// Queues came, went or changed parents.
    pub(crate) queues: bool,
    /// Jobs changed queues.
    pub(crate) groups: bool,
    /// Labels of namespaces that selectors look at changed.
    pub(crate) namespaces: bool,
    /// Priority classes changed.
    pub(crate) priorities: bool,
    /// Shards of nodes came, went or changed.
    pub(crate) shards: bool,
    /// Volumes that may be had, or who holds them, changed.
    pub(crate) volumes: bool,
    /// The smallest or largest devices have other memory.
    pub(crate) devices: bool,
    /// Loads of nodes were measured.
    pub(crate) loads: bool,
    /// Claims whose pods need another look at them.
    pub(crate) claims: std::collections::BTreeSet<crate::ids::ObjectKey>,
    /// Services and controllers that came, changed or went, by namespace.
    pub(crate) sets: std::collections::BTreeMap<crate::ids::Name, default_spread::SetChanges>,
    /// Waiting pods that are new, while room is held for pods to come.
    pub(crate) arrivals: Vec<bevy_ecs::entity::Entity>,
    /// Entities that may have lost their last reference.
    pub(crate) vacant: Vec<bevy_ecs::entity::Entity>,
}

/// Makes what there is before the first object: catalogs without entries, the root and the default
/// queue.
pub(crate) fn init(world: &mut World) {
    intake::init(world);
    spawn::found(world);
}

/// Ends every assumption the cluster has not confirmed, and forgets what was told: another one
/// decides from now on.
pub(crate) fn give_up_assumptions(world: &mut World) {
    let run = world.run_system_cached(pods::give_up);
    debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
}

/// Another setting says which nodes are ours.
pub(crate) fn reshard(world: &mut World) {
    world.resource_mut::<Dirty>().shards = true;
    sweep::sweep(world);
}

/// Drains the inbox.
pub(crate) fn ingest(world: &mut World) {
    let deltas = std::mem::take(&mut world.resource_mut::<Inbox>().0);
    if deltas.is_empty() {
        return;
    }
    spawn::make_entities(world, &deltas);
    intake::apply(world, deltas);
    sweep::sweep(world);
}
