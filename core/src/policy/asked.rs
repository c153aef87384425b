//! Whom a point asks, in order: by tier, and within a tier as the configuration lists them.

use std::sync::Arc;

/// The plugins with a say at one point.
pub(super) struct PluginsAsked<P: ?Sized>(Vec<Entry<P>>);

struct Entry<P: ?Sized> {
    tier: usize,
    name: &'static str,
    plugin: Arc<P>,
}

impl<P: ?Sized> Default for PluginsAsked<P> {
    fn default() -> Self {
        Self(Vec::new())
    }
}

impl<P: ?Sized> PluginsAsked<P> {
    /// Adds a plugin behind those of its tier and of earlier ones.
    pub(super) fn add(&mut self, tier: usize, name: &'static str, plugin: Arc<P>) {
        let at = self.0.partition_point(|entry| entry.tier <= tier);
        self.0.insert(at, Entry { tier, name, plugin });
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.0.iter().map(|entry| entry.name)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &P> {
        self.0.iter().map(|entry| &*entry.plugin)
    }

    pub(super) fn named(&self) -> impl Iterator<Item = (&'static str, &P)> {
        self.0.iter().map(|entry| (entry.name, &*entry.plugin))
    }

    /// The plugins tier by tier, with their names.
    pub(super) fn tiers(&self) -> impl Iterator<Item = impl Iterator<Item = (&'static str, &P)>> {
        let tiers = self.0.chunk_by(|a, b| a.tier == b.tier);
        tiers.map(|tier| tier.iter().map(|entry| (entry.name, &*entry.plugin)))
    }
}
