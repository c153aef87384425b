//! Columns of a topology domain, and the tree the domains form over the nodes.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{Component, Resource};

use super::domain_tree::DomainTree;
use super::levels::{LevelTree, LevelValues};
use crate::delta::DomainFacts;
use crate::ids::Name;
use crate::resource::{Lanes, ResourceVec};

/// The object as given, or only its name while others merely mention it; or what labels of nodes make
/// a domain.
#[derive(Clone, Debug, PartialEq, Component)]
pub struct DomainSpec {
    /// Object name, or the values of labels joined by dots.
    pub name: Name,
    /// The object, once seen and not gone.
    pub facts: Option<DomainFacts>,
    /// Which of a topology's domains it is; `None` for one that an object names.
    pub level: Option<LevelValues>,
}

/// Where the domain stands in the tree; renewed whenever domains or nodes come or go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct DomainSpot {
    /// Tier; lower is closer. In a topology by labels the last level is tier 1.
    pub tier: u32,
    /// The next wider domain.
    pub parent: Option<Entity>,
    /// Rows of its nodes, ascending.
    pub rows: Vec<u32>,
    /// Why it takes no part, if it does not: a pattern that is none.
    pub set_aside: Option<String>,
}

/// Sums over the domain's nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct DomainTotals {
    /// What they offer.
    pub allocatable: ResourceVec,
    /// What is free.
    pub idle: ResourceVec,
    /// What is taken.
    pub used: ResourceVec,
    /// What is leaving.
    pub releasing: ResourceVec,
    /// What is held.
    pub pipelined: ResourceVec,
    /// What nodes lack that have less than nothing left, in the hot lanes. With it
    /// [`Self::room_at_most`] follows from sums alone: what one node is over is no less room on
    /// the others.
    pub debt: Lanes,
}

impl DomainTotals {
    /// The most that all nodes together have free or will have once what is leaving has left, less
    /// what is held. The room of each single node counts, debts of others do not.
    pub fn room_at_most(&self) -> Lanes {
        let mut room = self.idle.hot;
        room.add(&self.releasing.hot);
        room.sub(&self.pipelined.hot);
        room.add(&self.debt);
        room
    }
}

/// By how much a node is over, lane by lane: zero where it is not.
pub fn node_debt(idle: &Lanes, releasing: &Lanes, pipelined: &Lanes) -> Lanes {
    let mut room = *idle;
    room.add(releasing);
    room.sub(pipelined);
    room.debt()
}

/// Domains by tier, each tier in the stable order of names; and the topologies by labels, which have
/// nothing to do with tiers.
#[derive(Debug, Resource)]
pub struct DomainIndex {
    /// Tiers in ascending order with their domains.
    pub tiers: Vec<(u32, Vec<Entity>)>,
    /// Tier names met, with their numbers.
    pub tier_names: Vec<(Name, u32)>,
    /// Tier of the cluster as a whole: one above all tiers there are.
    pub root: u64,
    /// Domains directly inside each domain, in the order of names; those inside no other are inside
    /// the cluster, which has no entity. Of topologies by labels the widest domains are not among those.
    pub inner: BTreeMap<Option<Entity>, Vec<Entity>>,
    /// The same in numbers, without topologies by labels.
    pub nested: DomainTree,
    /// Topologies by labels, by name.
    pub topologies: BTreeMap<Name, LevelTree>,
    /// Counts how often the tree was drawn.
    pub version: u64,
}

impl DomainIndex {
    /// Domains directly inside a domain, or inside none but the cluster.
    pub fn inside(&self, domain: Option<Entity>) -> &[Entity] {
        self.inner.get(&domain).map_or(&[], Vec::as_slice)
    }
}

impl Default for DomainIndex {
    fn default() -> Self {
        Self {
            tiers: Vec::new(),
            tier_names: Vec::new(),
            root: 1,
            inner: BTreeMap::new(),
            nested: DomainTree::default(),
            topologies: BTreeMap::new(),
            version: 0,
        }
    }
}
