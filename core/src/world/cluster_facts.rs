//! What rules read besides a class and the rows: images over all nodes, groups of nodes, names.

use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::domain_tree::DomainView;
use super::groups::NodeGroups;
use super::lending::Lending;
use super::symbol::Symbol;
use super::volume::Volumes;
use crate::resource::ResourceNames;
use crate::world::Reads;

/// Facts about the cluster as a whole that rules hold a class and its nodes against.
#[derive(Clone, Copy)]
pub struct ClusterFacts<'a> {
    /// Which queue may use which group of nodes.
    pub groups: &'a NodeGroups,
    /// Which zones of lent nodes are open.
    pub lending: &'a Lending,
    /// How common images are.
    pub images: &'a Images,
    /// Domains and what is in them.
    pub domains: DomainView<'a>,
    /// Volumes and who has them.
    pub volumes: &'a Volumes,
    /// Names of resources.
    pub names: &'a ResourceNames,
}

/// How many nodes hold each image. Kept only where a rule reads it.
#[derive(Debug, Default, Resource)]
pub struct Images {
    /// Does any rule read images? Without one nothing is kept.
    pub(crate) read: bool,
    holders: HashMap<Symbol, u32, FxBuildHasher>,
    nodes: u32,
}

impl Images {
    /// No node yet, for rules that read this.
    pub(crate) fn new(reads: Reads) -> Self {
        Self { read: reads.images, ..Self::default() }
    }

    /// A node with these images came.
    pub(crate) fn add(&mut self, images: &[(Symbol, i64)]) {
        self.nodes += 1;
        for (image, _) in images {
            *self.holders.entry(*image).or_default() += 1;
        }
    }

    /// A node with these images went.
    pub(crate) fn remove(&mut self, images: &[(Symbol, i64)]) {
        self.nodes -= 1;
        for (image, _) in images {
            if let Some(count) = self.holders.get_mut(image) {
                *count -= 1;
            }
        }
    }

    /// Nodes that hold the image.
    pub fn holders(&self, image: Symbol) -> u32 {
        self.holders.get(&image).copied().unwrap_or(0)
    }

    /// Nodes in all.
    pub fn nodes(&self) -> u32 {
        self.nodes
    }
}
