//! Topologies by labels of nodes: each has a tree of domains of its own, and all lie over the same nodes.
//!
//! Nodes with equal values of a level's label, and of those of the levels above, are one domain. Only a
//! node that has the labels of all levels takes part. The domains are rows of the same table as those
//! that objects name, so their sums are kept up in the same way.

use bevy_ecs::entity::Entity;

use super::domain::DomainIndex;
use crate::ids::Name;

/// What makes a domain one of a topology.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LevelValues {
    /// The topology.
    pub topology: Name,
    /// What its nodes have for the labels of the levels, the widest first, down to its own.
    pub values: Vec<Name>,
}

/// The domains of one topology.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LevelTree {
    /// Its levels, the widest first.
    pub levels: Vec<TreeLevel>,
}

/// A level of a topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeLevel {
    /// The label whose values tell its domains apart.
    pub label: Name,
    /// Another word for it in wishes.
    pub alias: Option<Name>,
    /// Its domains in the order of names.
    pub domains: Vec<Entity>,
}

impl LevelTree {
    /// The index of a level by its label, or else by its alias.
    pub fn level(&self, name: &str) -> Option<usize> {
        let by_label = self.levels.iter().position(|level| *level.label == *name);
        let is_alias =
            |level: &TreeLevel| level.alias.as_ref().is_some_and(|alias| **alias == *name);
        by_label.or_else(|| self.levels.iter().position(is_alias))
    }

    /// Its widest domains.
    pub fn outermost(&self) -> &[Entity] {
        self.levels.first().map_or(&[], |level| &level.domains)
    }
}

impl DomainIndex {
    /// The topology of a name; `None` if there is no such object.
    pub fn topology(&self, name: &str) -> Option<&LevelTree> {
        self.topologies.get(name)
    }

    /// Is there any domain, of whatever kind?
    pub fn has_domains(&self) -> bool {
        !self.tiers.is_empty() || !self.topologies.is_empty()
    }
}
