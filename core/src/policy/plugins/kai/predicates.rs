//! `predicates` of KAI: where a pod may run.
//!
//! Promise: what Volcano's plugin of that name promises, except that nobody asks how evenly the pods of
//! a set are spread. How many volumes a node takes and in which zone a volume lies is looked at here;
//! KAI leaves both to its binder, which then fails.
//!
//! No arguments.

use crate::interpod::InterPodFilters;
use crate::policy::plugins::predicates::Predicates;
use crate::policy::{
    Build, FilterPlugin, Pairing, Plugin, PluginSpec, Setup, Support, Words, plugin,
};
use crate::world::Exclusion;

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    support: Support::Partial("ConfigMaps a pod needs are not looked for, nor resource claims"),
    words: Words { filter: Some("selectors, affinity, taints and volumes allow"), ..Words::NONE },
    ..PluginSpec::of::<KaiPredicates>(
        "predicates",
        "a pod runs only on nodes that satisfy all it asks for, spread aside",
    )
};

/// The plugin.
pub(in crate::policy) struct KaiPredicates(Predicates);

plugin!(KaiPredicates);

impl Plugin for KaiPredicates {}

impl Build for KaiPredicates {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self(Predicates::all())
    }
}

impl FilterPlugin for KaiPredicates {
    fn interpod_filters(&self) -> InterPodFilters {
        InterPodFilters { spread: false, ..self.0.interpod_filters() }
    }

    fn filter(&self, pairing: &Pairing<'_>, exclusions: &mut [Exclusion]) {
        self.0.filter(pairing, exclusions);
    }
}
