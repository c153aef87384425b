//! Classes of tasks that no rule can tell apart, so that a thousand-pod gang costs one scan.

mod selector;
mod ranking;
mod tree;

pub use ranking::{Ranking, Rankings, Rules};
pub use selector::{Matcher, ToleranceSet};

use std::sync::Arc;

use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::delta::Constraints;
use crate::resource::ResourceVec;
use crate::world::{Symbols, VolumeNeeds, VolumeRules};

/// Number of a class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClassId(pub u32);

/// What all tasks of a class have in common, compiled for matching.
#[derive(Clone, Debug)]
pub struct Class {
    /// What each of them asks for.
    pub request: ResourceVec,
    /// Where each of them may go and would like to go.
    pub nodes: Matcher,
    /// Which taints each of them bears.
    pub tolerances: ToleranceSet,
    /// What the claims of each of them ask of a node; none if nothing.
    pub volumes: Option<Arc<VolumeRules>>,
    key: Arc<ClassKey>,
}

/// What tells classes apart.
#[derive(Debug, PartialEq, Eq, Hash)]
struct ClassKey {
    request: ResourceVec,
    constraints: Constraints,
    volumes: VolumeNeeds,
}

/// Every class met so far. Classes are made while deltas are taken in; a cycle only reads them.
#[derive(Debug, Default, Resource)]
pub struct Classes {
    by_key: HashMap<Arc<ClassKey>, ClassId, FxBuildHasher>,
    classes: Vec<Class>,
}

impl Classes {
    /// The class of a request with constraints and volumes, a new one if it was never met.
    pub fn intern(
        &mut self,
        request: &ResourceVec,
        constraints: &Constraints,
        volumes: VolumeNeeds,
        symbols: &mut Symbols,
    ) -> ClassId {
        // Borrowed parts cannot look up an owned key; the key is built once per pod taken in.
        let (request, constraints) = (request.clone(), constraints.clone());
        self.intern_key(ClassKey { request, constraints, volumes }, symbols)
    }

    /// The class that differs from another in what its claims need.
    pub(crate) fn with_volumes(
        &mut self,
        id: ClassId,
        volumes: VolumeNeeds,
        symbols: &mut Symbols,
    ) -> ClassId {
        let key = &self.get(id).key;
        if key.volumes == volumes {
            return id;
        }
        let (request, constraints) = (key.request.clone(), key.constraints.clone());
        self.intern_key(ClassKey { request, constraints, volumes }, symbols)
    }

    fn intern_key(&mut self, key: ClassKey, symbols: &mut Symbols) -> ClassId {
        if let Some(&id) = self.by_key.get(&key) {
            return id;
        }
        let id = ClassId(self.classes.len() as u32);
        let key = Arc::new(key);
        let volumes = (!key.volumes.is_empty())
            .then(|| Arc::new(VolumeRules::compile(&key.volumes, symbols)));
        self.classes.push(Class {
            request: key.request.clone(),
            nodes: Matcher::compile(&key.constraints, symbols),
            tolerances: ToleranceSet::compile(&key.constraints.tolerations, symbols),
            volumes,
            key: Arc::clone(&key),
        });
        self.by_key.insert(key, id);
        id
    }

    /// The class of a number.
    pub fn get(&self, id: ClassId) -> &Class {
        &self.classes[id.0 as usize]
    }

    /// Number of classes.
    pub fn len(&self) -> usize {
        self.classes.len()
    }

    /// No class yet?
    pub fn is_empty(&self) -> bool {
        self.classes.is_empty()
    }
}
