//! `predicates` of KAI: where a pod may run.
//!
//! Promise: what Volcano's plugin of that name promises, except that nobody asks how evenly the pods of
//! a set are spread, and that GPUs are of the kind asked for: instances of divided GPUs only where GPUs are
//! divided and nobody holds some that cannot be counted; on nodes with `nvidia.com/mig.strategy: mixed`
//! instances only, with `single` whole GPUs only. How many volumes a node takes and in which zone a volume lies is looked at here;
//! KAI leaves both to its binder, which then fails.
//!
//! No arguments.

use crate::class::Class;
use crate::delta::Division;
use crate::interpod::InterPodFilters;
use crate::policy::plugins::predicates::Predicates;
use crate::policy::{
    Build, FilterPlugin, Pairing, Plugin, PluginSpec, Setup, Support, Words, plugin,
};
use crate::resource::Dim;
use crate::world::{DeviceAsk, Exclusion, Obstacle};

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
pub(in crate::policy) struct KaiPredicates {
    plain: Predicates,
    gpu: Dim,
}

plugin!(KaiPredicates);

impl Plugin for KaiPredicates {}

impl Build for KaiPredicates {
    fn build(setup: &mut Setup<'_>) -> Self {
        Self { plain: Predicates::all(), gpu: super::gpu(setup) }
    }
}

impl FilterPlugin for KaiPredicates {
    fn interpod_filters(&self) -> InterPodFilters {
        InterPodFilters { spread: false, ..self.plain.interpod_filters() }
    }

    fn filter(&self, pairing: &Pairing<'_>, exclusions: &mut [Exclusion]) {
        self.plain.filter(pairing, exclusions);
        let Some(kind) = Kind::of(pairing.class, self.gpu) else { return };
        let rows = exclusions.iter_mut().zip(pairing.nodes.devices);
        for (exclusion, devices) in rows.filter(|(exclusion, _)| !exclusion.is_closed()) {
            if !kind.suits(devices.division()) {
                exclusion.raise(Obstacle::DeviceKind);
            } else if kind == Kind::Instances && devices.has_loose_instances() {
                exclusion.raise(Obstacle::LooseInstances);
            }
        }
    }
}

/// What a class asks of GPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Whole,
    Share,
    Instances,
}

impl Kind {
    /// `None` if it asks for none.
    fn of(class: &Class, gpu: Dim) -> Option<Self> {
        match class.asked.devices.as_deref() {
            Some(DeviceAsk::Share(_)) => Some(Self::Share),
            Some(DeviceAsk::Instances(_) | DeviceAsk::LooseInstances) => Some(Self::Instances),
            None => (class.request.get(gpu) > 0).then_some(Self::Whole),
        }
    }

    /// Are there such GPUs where they are divided like that?
    fn suits(self, division: Division) -> bool {
        match division {
            Division::None => self != Self::Instances,
            Division::Some => true,
            Division::Single => self == Self::Whole,
            Division::Mixed => self == Self::Instances,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_asked_for_must_suit_how_devices_are_divided() {
        use Division::{Mixed, None, Single, Some};
        let suits =
            |division| [Kind::Whole, Kind::Share, Kind::Instances].map(|kind| kind.suits(division));
        assert_eq!(suits(None), [true, true, false]);
        assert_eq!(suits(Some), [true, true, true]);
        assert_eq!(suits(Single), [true, false, false]);
        assert_eq!(suits(Mixed), [false, false, true]);
    }
}
