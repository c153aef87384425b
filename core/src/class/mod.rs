//! Classes of tasks that no rule can tell apart, so that a thousand-pod gang costs one scan.

mod selector;
mod ranking;
mod cells;
mod tree;

pub use ranking::{Ranking, Rankings, Rules};
pub use selector::{Matcher, ToleranceSet};

use std::sync::Arc;

use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::delta::Constraints;
use crate::near::{Marks, Near, NearRules, SelectorId};
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
    /// Rules about other pods, their own and others' about them.
    pub near: NearRules,
    /// What other pods count each of them by.
    pub marks: Marks,
    origin: Arc<Origin>,
}

/// What a class is made from: equal origins are one class.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Origin {
    request: ResourceVec,
    constraints: Constraints,
    /// Selectors of the tasks' own rules.
    own: Vec<SelectorId>,
    /// Selectors of anybody's rules the tasks match, sorted. Labels no selector looks at do not
    /// tell classes apart.
    matched: Vec<SelectorId>,
}

/// Every class met so far. Classes are made while deltas are taken in; a cycle only reads them.
#[derive(Debug, Default, Resource)]
pub struct Classes {
    by_origin: HashMap<Arc<Origin>, ClassId, FxBuildHasher>,
    list: Vec<Class>,
    /// State of the rules of others all classes know of.
    near_version: u32,
}

impl Classes {
    /// The class of a request with constraints and with labels that match certain selectors, a new
    /// one if it was never met.
    pub(crate) fn intern(
        &mut self,
        request: &ResourceVec,
        constraints: &Constraints,
        matched: Vec<SelectorId>,
        near: &mut Near,
        symbols: &mut Symbols,
    ) -> ClassId {
        let learned = near.learn(&constraints.near);
        let origin = Origin {
            request: request.clone(),
            constraints: constraints.clone(),
            own: learned.own.clone(),
            matched,
        };
        if let Some(&id) = self.by_origin.get(&origin) {
            return id;
        }
        let id = ClassId(self.list.len() as u32);
        let origin = Arc::new(origin);
        self.list.push(Class {
            request: request.clone(),
            nodes: Matcher::compile(constraints, symbols),
            tolerances: ToleranceSet::compile(&constraints.tolerations, symbols),
            marks: near.marks(&learned, &origin.matched),
            near: NearRules::compile(near, &constraints.near, &origin.matched, symbols),
            origin: Arc::clone(&origin),
        });
        self.by_origin.insert(origin, id);
        id
    }

    /// The class of the same tasks, once they match other selectors.
    pub(crate) fn rematch(
        &mut self,
        class: ClassId,
        matched: Vec<SelectorId>,
        near: &mut Near,
        symbols: &mut Symbols,
    ) -> ClassId {
        let origin = Arc::clone(&self.get(class).origin);
        self.intern(&origin.request, &origin.constraints, matched, near, symbols)
    }

    /// Tells every class the rules others have made since.
    pub(crate) fn settle(&mut self, near: &mut Near, symbols: &mut Symbols) {
        if self.near_version == near.version() {
            return;
        }
        for class in &mut self.list {
            let Origin { constraints, own, matched, .. } = &*class.origin;
            // A class with a selector out of use has no tasks any more.
            if matched.is_empty() || !own.iter().all(|&selector| near.is_live(selector)) {
                continue;
            }
            let rules = NearRules::compile(near, &constraints.near, matched, symbols);
            if rules.rules != class.near.rules {
                class.near = rules;
            }
        }
        self.near_version = near.version();
    }

    /// The class of a number.
    pub fn get(&self, id: ClassId) -> &Class {
        &self.list[id.0 as usize]
    }

    /// Number of classes.
    pub fn len(&self) -> usize {
        self.list.len()
    }

    /// No class yet?
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }
}

impl Class {
    /// Selectors of the tasks' own rules, sorted.
    pub(crate) fn own_selectors(&self) -> &[SelectorId] {
        &self.origin.own
    }

    /// Selectors of anybody's rules the tasks match, sorted.
    pub(crate) fn matched_selectors(&self) -> &[SelectorId] {
        &self.origin.matched
    }
}
