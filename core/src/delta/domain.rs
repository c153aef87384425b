//! Topology domains.

use super::Requirement;
use crate::ids::Name;

/// A topology domain (HyperNode).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainFacts {
    /// Object name.
    pub name: Name,
    /// Lower is closer.
    pub tier: u32,
    /// `spec.tierName`.
    pub tier_name: Option<Name>,
    /// Who belongs to it.
    pub members: Vec<DomainMember>,
}

/// A member of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DomainMember {
    /// The node of that name.
    Node(Name),
    /// Every node whose name the pattern finds (unanchored).
    NodePattern(Name),
    /// Every node whose labels match.
    NodeLabels(Vec<Requirement>),
    /// The domain of that name.
    Domain(Name),
}

/// A topology by the labels of nodes: nodes with equal values of a level's label, and of those above
/// it, are one domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyFacts {
    /// Object name.
    pub name: Name,
    /// Its levels, the widest first.
    pub levels: Vec<TopologyLevel>,
}

/// A level of a topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyLevel {
    /// The label whose values tell its domains apart.
    pub label: Name,
    /// Another word for it in wishes.
    pub alias: Option<Name>,
}
