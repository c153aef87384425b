//! From names to entities.

use std::fmt;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{Name, ObjectKey};

type Map<K> = HashMap<K, Entity, FxBuildHasher>;

/// What a job stands for.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum JobKey {
    /// A PodGroup.
    Group(ObjectKey),
    /// A pod without PodGroup, as a gang of one.
    Lone(ObjectKey),
}

impl JobKey {
    /// Namespace and name of the object.
    pub fn object(&self) -> &ObjectKey {
        match self {
            Self::Group(key) | Self::Lone(key) => key,
        }
    }
}

impl fmt::Display for JobKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.object().fmt(f)
    }
}

/// Lookup only: nothing iterates these maps.
#[derive(Debug, Default, Resource)]
#[expect(missing_docs, reason = "each field maps names of that kind")]
pub struct Directory {
    pub nodes: Map<Name>,
    pub tasks: Map<ObjectKey>,
    pub jobs: Map<JobKey>,
    pub queues: Map<Name>,
    pub domains: Map<Name>,
}
