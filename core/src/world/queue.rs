//! Columns of a queue.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Component;

use crate::delta::{NodeGroupFacts, QueueState};
use crate::ids::{Name, TimeMs};
use crate::resource::{ResourceList, ResourceVec};

/// Name of the queue, and whether the object is there.
#[derive(Clone, Debug, Component)]
pub struct QueueIdentity {
    /// Object name.
    pub name: Name,
    /// Uid of the object.
    pub uid: Name,
    /// Creation time.
    pub created: TimeMs,
    /// Has the queue object been seen and not gone?
    pub present: bool,
}

/// What the queue was given.
#[derive(Clone, Debug, PartialEq, Component)]
pub struct QueueSpec {
    /// Parent in force; none only for the root.
    pub parent: Option<Entity>,
    /// Parent the object names; another one is in force if that would make a circle.
    pub wanted_parent: Option<Name>,
    /// Weight among its siblings.
    pub weight: u32,
    /// Higher is served first.
    pub priority: i32,
    /// Hard limit; a name that is absent is unlimited.
    pub capability: Option<ResourceList>,
    /// Its due.
    pub deserved: Option<ResourceList>,
    /// Room kept for it.
    pub guarantee: Option<ResourceList>,
    /// May others take back what it borrowed?
    pub reclaimable: bool,
    /// Does it take jobs?
    pub state: QueueState,
    /// Its place in the tree of shares: names below the root with weights in thousandths.
    pub hierarchy: Vec<(Name, u32)>,
    /// What it says of groups of nodes.
    pub node_groups: NodeGroupFacts,
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self {
            parent: None,
            wanted_parent: None,
            weight: 1,
            priority: 0,
            capability: None,
            deserved: None,
            guarantee: None,
            reclaimable: true,
            state: QueueState::Open,
            hierarchy: Vec::new(),
            node_groups: NodeGroupFacts::default(),
        }
    }
}

/// What the queue and its children use.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct QueueUse {
    /// Requests of tasks that hold room.
    pub allocated: ResourceVec,
    /// Requests of tasks room is held for.
    pub reserved: ResourceVec,
}

/// The queue's due as a plugin computed it, if one does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct QueueDeserved(pub Option<ResourceVec>);
