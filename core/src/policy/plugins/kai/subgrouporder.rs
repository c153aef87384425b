//! `subgrouporder`: sub-groups that lack pods first.
//!
//! Promise: a sub-group below its minimum is served first; then the one that has fewest pods for its
//! minimum; one that needs none comes after those that do. A set of sub-groups counts those that are
//! whole.
//!
//! No arguments.

use bevy_ecs::entity::Entity;

use crate::policy::{Build, Plugin, PluginSpec, Setup, SubGroupOrderPlugin, Unit, plugin};
use crate::world::Cluster;

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec::of::<SubGroupOrder>(
    "subgrouporder",
    "sub-groups below their minimum go first, then those that have least for it",
);

/// The plugin.
pub(in crate::policy) struct SubGroupOrder;

plugin!(SubGroupOrder);

impl Plugin for SubGroupOrder {}

impl Build for SubGroupOrder {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl SubGroupOrderPlugin for SubGroupOrder {
    fn subgroup_order(&self, _: &Cluster<'_, '_>, unit: Unit<'_>, _: &[Entity]) -> i64 {
        unit.progress().map_or(i64::MIN, |progress| place(progress.has, progress.needs))
    }
}

/// Where a sub-group stands that has so many pods, or sub-groups, and needs so many.
fn place(has: u32, min: u32) -> i64 {
    /// The largest ratio that is told apart, in thousandths.
    const NEEDS_NONE: i64 = 1 << 60;
    let has = i64::from(has);
    match i64::from(min) {
        0 => NEEDS_NONE + has,
        min if has < min => i64::MIN,
        min => (has << 24) / min,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn below_the_minimum_then_by_ratio_then_those_that_need_none() {
        let mut groups = [(2, 0), (4, 2), (1, 0), (3, 2), (1, 2), (0, 5)];
        groups.sort_by_key(|&(has, min)| place(has, min));
        assert_eq!(groups, [(1, 2), (0, 5), (3, 2), (4, 2), (1, 0), (2, 0)]);
    }
}
