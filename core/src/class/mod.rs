//! Classes of tasks that no rule can tell apart, so that a thousand-pod gang costs one scan.

mod selector;
mod ranking;
mod tree;

pub use ranking::{Ranking, Rankings, Rules};
pub use selector::{Matcher, ToleranceSet};

use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::delta::{Constraints, StrategyWish};
use crate::resource::ResourceVec;
use crate::world::{GroupRuleId, Symbol, Symbols};

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
    /// What their queue says of groups of nodes; none where no plugin reads groups.
    pub group_rule: Option<GroupRuleId>,
    /// Images of their containers, one for each.
    pub images: Vec<Symbol>,
    /// Milli-cpu and bytes of memory that scores count above the request.
    pub unasked: [i64; 2],
    /// How each of them wants its resources scored.
    pub strategy: Option<StrategyWish>,
}

/// What rules in force read of a pod beyond request and node constraints. What none reads does not
/// tell tasks apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reads {
    /// Images of containers.
    pub images: bool,
    /// Amounts assumed for containers without request.
    pub unasked: bool,
    /// How the pod wants its resources scored.
    pub strategy: bool,
}

impl Reads {
    /// What either reads.
    #[must_use]
    pub fn or(self, other: Self) -> Self {
        Self {
            images: self.images || other.images,
            unasked: self.unasked || other.unasked,
            strategy: self.strategy || other.strategy,
        }
    }

    fn kept(self, constraints: &Constraints) -> Constraints {
        let mut kept = constraints.clone();
        if !self.images {
            kept.images.clear();
        }
        if !self.unasked {
            kept.unasked = [0; 2];
        }
        if !self.strategy {
            kept.strategy = None;
        }
        kept
    }
}

/// What tells classes apart.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Key {
    request: ResourceVec,
    constraints: Constraints,
    group_rule: Option<GroupRuleId>,
}

/// Every class met so far. Classes are made while deltas are taken in; a cycle only reads them.
#[derive(Debug, Default, Resource)]
pub struct Classes {
    reads: Reads,
    by_key: HashMap<Key, ClassId, FxBuildHasher>,
    keys: Vec<Key>,
    known: Vec<Class>,
}

impl Classes {
    /// No class yet, for rules that read this of pods.
    pub fn new(reads: Reads) -> Self {
        Self { reads, ..Self::default() }
    }

    /// The class of a request with constraints, a new one if it was never met.
    pub fn intern(
        &mut self,
        request: &ResourceVec,
        constraints: &Constraints,
        group_rule: Option<GroupRuleId>,
        symbols: &mut Symbols,
    ) -> ClassId {
        // A borrowed key cannot look up an owned one; the key is built once per pod taken in.
        let constraints = self.reads.kept(constraints);
        self.find_or_make(Key { request: request.clone(), constraints, group_rule }, symbols)
    }

    /// The class that differs from one only in what the queue says of groups of nodes.
    pub fn with_group_rule(
        &mut self,
        class: ClassId,
        group_rule: Option<GroupRuleId>,
        symbols: &mut Symbols,
    ) -> ClassId {
        if self.get(class).group_rule == group_rule {
            return class;
        }
        let key = Key { group_rule, ..self.keys[class.0 as usize].clone() };
        self.find_or_make(key, symbols)
    }

    fn find_or_make(&mut self, key: Key, symbols: &mut Symbols) -> ClassId {
        if let Some(&id) = self.by_key.get(&key) {
            return id;
        }
        let id = ClassId(self.known.len() as u32);
        let constraints = &key.constraints;
        self.known.push(Class {
            request: key.request.clone(),
            nodes: Matcher::compile(constraints, symbols),
            tolerances: ToleranceSet::compile(&constraints.tolerations, symbols),
            group_rule: key.group_rule,
            images: constraints.images.iter().map(|image| symbols.intern(image)).collect(),
            unasked: constraints.unasked,
            strategy: constraints.strategy.clone(),
        });
        self.keys.push(key.clone());
        self.by_key.insert(key, id);
        id
    }

    /// The class of a number.
    pub fn get(&self, id: ClassId) -> &Class {
        &self.known[id.0 as usize]
    }

    /// Number of classes.
    pub fn len(&self) -> usize {
        self.known.len()
    }

    /// No class yet?
    pub fn is_empty(&self) -> bool {
        self.known.is_empty()
    }
}
