//! From names to entities.

use std::fmt;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::{Name, ObjectKey};

type DirectoryMap<K> = HashMap<K, Entity, FxBuildHasher>;

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

/// Objects of a kind by namespace and name. Namespaces are few: a name alone is half of a key.
#[derive(Debug, Default)]
pub struct ByKey(HashMap<Name, DirectoryMap<Name>, FxBuildHasher>);

impl ByKey {
    /// The entity of a key.
    pub fn get(&self, key: &ObjectKey) -> Option<&Entity> {
        self.0.get(&key.namespace)?.get(&key.name)
    }

    /// The entity of a key, made if there is none. What is made gets the key in memory that all of a
    /// namespace share.
    pub fn get_or_make(
        &mut self,
        key: &ObjectKey,
        make: impl FnOnce(ObjectKey) -> Entity,
    ) -> Entity {
        if !self.0.contains_key(&key.namespace) {
            self.0.insert(key.namespace.clone(), DirectoryMap::default());
        }
        let entry = self.0.get_key_value_mut(&key.namespace);
        let (namespace, names) = entry.expect("it was put there a moment ago");
        *names.entry_ref(&key.name).or_insert_with(|| {
            make(ObjectKey { namespace: namespace.clone(), name: key.name.clone() })
        })
    }

    /// Every entity of a namespace, in no order: sort them before the order can be seen.
    pub fn inside(&self, namespace: &Name) -> impl Iterator<Item = Entity> + '_ {
        self.0.get(namespace).into_iter().flat_map(|names| names.values().copied())
    }

    /// Forgets a key.
    pub fn remove(&mut self, key: &ObjectKey) {
        if let Some(names) = self.0.get_mut(&key.namespace) {
            names.remove(&key.name);
            if names.is_empty() {
                self.0.remove(&key.namespace);
            }
        }
    }
}

/// For lookup: code that goes through one of these maps sorts what it finds.
#[derive(Debug, Default, Resource)]
#[expect(missing_docs, reason = "each field maps names of that kind")]
pub struct Directory {
    pub nodes: DirectoryMap<Name>,
    pub tasks: ByKey,
    pub jobs: DirectoryMap<JobKey>,
    pub queues: DirectoryMap<Name>,
    pub domains: DirectoryMap<Name>,
}
