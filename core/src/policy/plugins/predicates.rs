//! `predicates`: where a pod may run.
//!
//! Promise: a task goes only to a node that exists, is not marked unschedulable (unless tolerated),
//! matches its node selector and required affinity, and has no `NoSchedule` or `NoExecute` taint it
//! does not tolerate; where no pod has a host port it wants, all pods it must be near and none it must
//! stay away from are near, no pod there keeps it away, its spread stays even enough, and its volumes can be
//! reached, see [`volumes`]. Room, the number of pods included, is not a matter of this plugin: it is
//! always checked, in whole vectors.
//!
//! Each check has an argument that switches it off.

mod volumes;

use crate::config::ArgumentKind::{Bool, Int, IntFrom, List, Map, Percent};
use crate::config::{ArgumentSpec, Arguments, Values, arg};
use crate::delta::TaintEffect;
use crate::interpod::InterPodFilters;
use crate::policy::{
    Build, FilterPlugin, Pairing, Plugin, PluginSpec, Setup, Support, Words, plugin,
};
use crate::world::{Exclusion, NodeFlags, NodeTaint, Obstacle, Symbol};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    support: Support::Partial(
        "everything but resource claims (dynamicresources) and scores by how full storage is",
    ),
    arguments: ARGUMENTS,
    words: Words { filter: Some("selectors, affinity, taints and volumes allow"), ..Words::NONE },
    ..PluginSpec::of::<Predicates>(
        "predicates",
        "a pod runs only on nodes that satisfy all it asks for",
    )
};

const ARGUMENTS: &[ArgumentSpec] = &[
    arg("predicate.NodeAffinityEnable", Bool, "true", "checks node selector and affinity"),
    arg("predicate.NodePortsEnable", Bool, "true", "checks that host ports are free"),
    arg("predicate.TaintTolerationEnable", Bool, "true", "checks taints"),
    arg("predicate.PodAffinityEnable", Bool, "true", "checks affinity between pods"),
    arg("predicate.NodeVolumeLimitsEnable", Bool, "true", "checks a node's number of volumes"),
    arg("predicate.VolumeZoneEnable", Bool, "true", "checks the zone of bound volumes"),
    arg("predicate.PodTopologySpreadEnable", Bool, "true", "checks spread over zones and hosts"),
    arg("predicate.VolumeBindingEnable", Bool, "true", "checks that volumes can be bound"),
    arg(
        "predicate.CacheEnable",
        Bool,
        "false",
        "in Volcano, remembers answers by pod template; here equal pods are always judged once",
    )
    .without_effect("equal pods are always judged once"),
    arg(
        "predicate.DynamicResourceAllocationEnable",
        Bool,
        "",
        "accepted because Volcano's documents name it; Volcano does not read it either",
    )
    .without_effect("Volcano does not read it either; its feature gate decides there"),
    arg(
        "volumebinding.bindTimeoutSeconds",
        IntFrom(0),
        "600",
        "in Volcano, the longest wait for a volume; here a bind always waits ten minutes at most",
    ),
    arg(
        "volumebinding.weight",
        Int,
        "1",
        "in Volcano, factor of the score by free storage; this version has no such score",
    ),
    arg(
        "volumebinding.shape",
        List(&Map(&[
            arg("utilization", Percent, "", "used part of a storage pool, in percent"),
            arg("score", Int, "", "score of a node at that utilization, 0 to 10"),
        ])),
        "",
        "the same score by how full storage is; without effect in this version",
    ),
    arg(
        "dynamicresources.filterTimeoutSeconds",
        IntFrom(0),
        "10",
        "longest search for devices on one node",
    ),
];

/// The plugin with its arguments.
pub(in crate::policy) struct Predicates {
    node_affinity: bool,
    taints: bool,
    interpod: InterPodFilters,
    volumes: volumes::VolumeChecks,
}

plugin!(Predicates);

impl Plugin for Predicates {}

impl Build for Predicates {
    fn build(setup: &mut Setup<'_>) -> Self {
        Self::with(setup.arguments)
    }
}

impl Predicates {
    /// Every check, as it is without arguments.
    pub(super) fn all() -> Self {
        let given = Arguments::default();
        Self::with(SPEC.values(&given))
    }

    fn with(arguments: Values<'_>) -> Self {
        Self {
            node_affinity: arguments.bool("predicate.NodeAffinityEnable"),
            taints: arguments.bool("predicate.TaintTolerationEnable"),
            interpod: InterPodFilters {
                ports: arguments.bool("predicate.NodePortsEnable"),
                affinity: arguments.bool("predicate.PodAffinityEnable"),
                spread: arguments.bool("predicate.PodTopologySpreadEnable"),
            },
            volumes: volumes::VolumeChecks::new(arguments),
        }
    }
}

impl FilterPlugin for Predicates {
    fn interpod_filters(&self) -> InterPodFilters {
        self.interpod
    }

    fn filter(&self, pairing: &Pairing<'_>, exclusions: &mut [Exclusion]) {
        let class = pairing.class;
        let match_nodes = self.node_affinity && !class.nodes.is_open();
        let unschedulable = Symbol::UNSCHEDULABLE;
        // Where nothing can bar a node its rules are not read at all.
        let looks = match_nodes || pairing.flags.any(NodeFlags::UNSCHEDULABLE | NodeFlags::REPELS);
        let rows = exclusions.iter_mut().zip(pairing.nodes.rules).filter(|_| looks);
        for (exclusion, rules) in rows.filter(|(exclusion, _)| !exclusion.is_closed()) {
            if rules.unschedulable && !class.tolerances.bears_unschedulable(unschedulable) {
                exclusion.raise(Obstacle::Unschedulable);
            } else if match_nodes && !class.nodes.admits(rules, pairing.symbols) {
                exclusion.raise(Obstacle::NodeAffinity);
            } else if self.taints
                && rules.taints.iter().any(|taint| repels(taint) && !class.tolerances.bears(taint))
            {
                exclusion.raise(Obstacle::Taint);
            }
        }
        if let Some(volumes) = &class.volumes {
            self.volumes.filter(volumes, pairing, exclusions);
        }
    }
}

fn repels(taint: &NodeTaint) -> bool {
    matches!(taint.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute)
}
