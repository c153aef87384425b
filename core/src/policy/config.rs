//! The scheduler's configuration after it was read and checked: what a cycle is built from.
//!
//! It names its plugins by their specs, which know how to make them. So a caller that has a configuration
//! has all it takes, plugins of others included; that is why it stands here and not with what it is
//! otherwise made of, in `config`.

use std::sync::Arc;

use super::plugin::Plugin;
use super::spec::{PluginSpec, Setup};
use crate::config::{
    ActionConfig, Arguments, Dialect, Gate, Gates, PipelineConfig, Sharding, Tuning,
    UsageRecording, Values, View, WallClock,
};
use crate::resource::ResourceNames;

/// A whole configuration.
#[derive(Clone, Debug, PartialEq)]
pub struct SchedulerConfig {
    /// Actions in running order.
    pub actions: Vec<ActionConfig>,
    /// Tiers of plugins, most decisive first.
    pub tiers: Vec<Vec<PluginConfig>>,
    /// How the cycle uses the machine.
    pub tuning: Tuning,
    /// How reservations are kept.
    pub pipeline: PipelineConfig,
    /// Which nodes are ours; `None` if all are.
    pub sharding: Option<Sharding>,
    /// What of the cluster is seen at all.
    pub view: View,
    /// How past use of queues is kept here; none if it is not.
    pub usage_record: Option<UsageRecording>,
    /// What clocks show where a plugin goes by the time of day.
    pub clock: Clock,
    /// Whose file it is.
    pub dialect: Dialect,
}

impl SchedulerConfig {
    /// The plugin of that name, if it is in any tier.
    pub fn plugin(&self, name: &str) -> Option<&PluginConfig> {
        self.tiers.iter().flatten().find(|plugin| plugin.spec.name == name)
    }
}

/// How times relate to the time of day.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Clock {
    /// Milliseconds from the beginning of 1970, UTC, to time zero.
    pub zero_ms: i64,
    /// The clock of whoever names no other, in time since 1970.
    pub local: WallClock,
}

/// One plugin of a tier.
#[derive(Clone, Debug, PartialEq)]
pub struct PluginConfig {
    /// Which.
    pub spec: &'static PluginSpec,
    /// Which of its extension points are on.
    pub gates: Gates,
    /// Its arguments, as given.
    pub arguments: Arguments,
}

impl PluginConfig {
    /// Its arguments, given or by default.
    pub fn values(&self) -> Values<'_> {
        self.spec.values(&self.arguments)
    }

    /// Does the flag mean anything to the plugin as it is configured? Some only count with
    /// `enableHierarchy`, some only with an argument.
    pub fn minds(&self, gate: Gate) -> bool {
        let counts =
            !self.spec.with_hierarchy.contains(&gate) || self.gates.is_open(Gate::Hierarchy);
        self.spec.has_gate(gate) && counts && self.is_equipped(gate)
    }

    /// Has it the arguments without which it takes no part in what the flag switches?
    pub fn is_equipped(&self, gate: Gate) -> bool {
        let needs = self.spec.with_argument.iter().filter(|(of, _)| *of == gate);
        let mut given = needs.map(|(_, key)| !self.values().text(key).is_empty()).peekable();
        given.peek().is_none() || given.any(|given| given)
    }

    /// Does it take part in what the flag switches?
    pub fn takes_part(&self, gate: Gate) -> bool {
        self.minds(gate) && self.gates.is_open(gate)
    }

    /// The plugin; `None` if this version does not have it, or if there is nothing to ask it.
    pub fn build(&self, clock: &Clock, names: &mut ResourceNames) -> Option<Arc<dyn Plugin>> {
        let build = self.spec.build?;
        Some(build(&mut Setup { gates: self.gates, arguments: self.values(), clock, names }))
    }

    /// The flags that are open and count.
    pub(super) fn open_gates(&self) -> Gates {
        let mut gates = self.gates;
        if !gates.is_open(Gate::Hierarchy) {
            self.spec.with_hierarchy.iter().for_each(|&gate| gates.close(gate));
        }
        gates
    }
}
