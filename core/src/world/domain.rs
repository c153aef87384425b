//! Columns of a topology domain, and the tree the domains form over the nodes.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{Component, Resource};

use crate::delta::DomainFacts;
use crate::ids::Name;
use crate::resource::ResourceVec;

/// The object as given, or only its name while others merely mention it.
#[derive(Clone, Debug, PartialEq, Component)]
pub struct DomainSpec {
    /// Object name.
    pub name: Name,
    /// The object, once seen and not gone.
    pub facts: Option<DomainFacts>,
}

/// Where the domain stands in the tree; renewed whenever domains or nodes come or go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct DomainSpot {
    /// Tier; lower is closer.
    pub tier: u32,
    /// The next wider domain.
    pub parent: Option<Entity>,
    /// Rows of its nodes, ascending.
    pub rows: Vec<u32>,
    /// Why it takes no part, if it does not: a cycle, a second parent, a bad pattern.
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
}

/// Domains by tier, each tier in the stable order of names.
#[derive(Debug, Default, Resource)]
pub struct DomainIndex {
    /// Tiers in ascending order with their domains.
    pub tiers: Vec<(u32, Vec<Entity>)>,
    /// Tier names met, with their numbers.
    pub tier_names: Vec<(Name, u32)>,
}
