//! Classes of tasks that no rule can tell apart, so that a thousand-pod gang costs one scan.

mod selector;
mod ranking;
mod tree;

pub use ranking::{Ranking, Rankings, Rules};
pub use selector::{Matcher, ToleranceSet};

use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::delta::Constraints;
use crate::resource::ResourceVec;
use crate::world::Symbols;

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
}

/// Every class met so far. Classes are made while deltas are taken in; a cycle only reads them.
#[derive(Debug, Default, Resource)]
pub struct Classes {
    by_key: HashMap<(ResourceVec, Constraints), ClassId, FxBuildHasher>,
    classes: Vec<Class>,
}

impl Classes {
    /// The class of a request with constraints, a new one if it was never met.
    pub fn intern(
        &mut self,
        request: &ResourceVec,
        constraints: &Constraints,
        symbols: &mut Symbols,
    ) -> ClassId {
        // A borrowed pair cannot look up an owned one; the key is built once per pod taken in.
        let key = (request.clone(), constraints.clone());
        if let Some(&id) = self.by_key.get(&key) {
            return id;
        }
        let id = ClassId(self.classes.len() as u32);
        self.classes.push(Class {
            request: request.clone(),
            nodes: Matcher::compile(constraints, symbols),
            tolerances: ToleranceSet::compile(&constraints.tolerations, symbols),
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
