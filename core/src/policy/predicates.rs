//! `predicates`: where a pod may run.
//!
//! Promise: a task goes only to a node that exists, is not marked unschedulable (unless tolerated),
//! matches its node selector and required affinity, and has no `NoSchedule` or `NoExecute` taint it
//! does not tolerate; where no pod has a host port it wants, all pods it must be near and none it must
//! stay away from are near, no pod there keeps it away, its spread stays even enough, and its volumes can be
//! reached, see [`volumes`]. Room, the number of pods included, is not a matter of this plugin: it is
//! always checked, in whole vectors.
//!
//! Arguments: `predicate.NodeAffinityEnable`, `predicate.TaintTolerationEnable`,
//! `predicate.NodePortsEnable`, `predicate.PodAffinityEnable`, `predicate.PodTopologySpreadEnable`,
//! `predicate.VolumeBindingEnable`, `predicate.VolumeZoneEnable` and
//! `predicate.NodeVolumeLimitsEnable`, all true.

mod volumes;

use super::{Bar, Obstacle, Pairing, Point, Policy};
use crate::config::Arguments;
use crate::delta::TaintEffect;
use crate::near::NearFilters;
use crate::world::{NodeTaint, Oddities, Symbol};

/// The plugin with its arguments.
pub(super) struct Predicates {
    node_affinity: bool,
    taints: bool,
    near: NearFilters,
    volumes: volumes::VolumeChecks,
}

impl Predicates {
    pub(super) fn new(arguments: &Arguments) -> Self {
        Self {
            node_affinity: arguments.bool("predicate.NodeAffinityEnable", true),
            taints: arguments.bool("predicate.TaintTolerationEnable", true),
            near: NearFilters {
                ports: arguments.bool("predicate.NodePortsEnable", true),
                affinity: arguments.bool("predicate.PodAffinityEnable", true),
                spread: arguments.bool("predicate.PodTopologySpreadEnable", true),
            },
            volumes: volumes::VolumeChecks::new(arguments),
        }
    }
}

impl Policy for Predicates {
    fn name(&self) -> &'static str {
        "predicates"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::Filter]
    }

    fn near_filters(&self) -> NearFilters {
        self.near
    }

    fn filter(&self, pairing: &Pairing<'_>, bars: &mut [Bar]) {
        let class = pairing.class;
        let match_nodes = self.node_affinity && !class.nodes.is_open();
        let unschedulable = Symbol::UNSCHEDULABLE;
        // Where nothing can bar a node its rules are not read at all.
        let looks = match_nodes || pairing.odd.any(Oddities::UNSCHEDULABLE | Oddities::REPELS);
        let rows = bars.iter_mut().zip(pairing.nodes.rules).filter(|_| looks);
        for (bar, rules) in rows.filter(|(bar, _)| !bar.is_closed()) {
            if rules.unschedulable && !class.tolerances.bears_unschedulable(unschedulable) {
                bar.raise(Obstacle::Unschedulable);
            } else if match_nodes && !class.nodes.admits(rules, pairing.symbols) {
                bar.raise(Obstacle::NodeAffinity);
            } else if self.taints
                && rules.taints.iter().any(|taint| repels(taint) && !class.tolerances.bears(taint))
            {
                bar.raise(Obstacle::Taint);
            }
        }
        if let Some(volumes) = &class.volumes {
            self.volumes.filter(volumes, pairing, bars);
        }
    }
}

fn repels(taint: &NodeTaint) -> bool {
    matches!(taint.effect, TaintEffect::NoSchedule | TaintEffect::NoExecute)
}
