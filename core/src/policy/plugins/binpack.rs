//! `binpack`: fill nodes up before opening others.
//!
//! Promise: a node scores the higher the fuller the task would leave it, averaged over the resources
//! the task asks for, each with its weight; a node the task would overfill scores nothing.
//!
//! Each resource has its weight as an argument; a weight of the plugin of 0 switches it off.

use crate::config::ArgumentKind::{Int, IntFrom, Text};
use crate::config::arg;
use crate::delta::Packing;
use crate::kernel::ratio;
use crate::policy::mean::{MeanTerm, add_mean};
use crate::policy::weights::weights;
use crate::policy::{
    Build, Pairing, Plugin, PluginSpec, Point, ScorePlugin, ScoreScale, Setup, Weight, Words,
    plugin,
};
use crate::resource::{Dim, LANES};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    arguments: &[
        arg("binpack.weight", Int, "1", "factor of its node score; 0 switches it off"),
        arg("binpack.cpu", IntFrom(0), "1", "weight of cpu in the mean"),
        arg("binpack.memory", IntFrom(0), "1", "weight of memory in the mean"),
        arg("binpack.resources", Text, "", "further resources that count, comma separated"),
        arg("binpack.resources.*", IntFrom(0), "1", "weight of that resource in the mean"),
    ],
    words: Words { scores: &[("fullness", Weight::Argument("binpack.weight"))], ..Words::NONE },
    ..PluginSpec::of::<Binpack>(
        "binpack",
        "fuller nodes are preferred, so that large holes stay free for large pods",
    )
};

/// The plugin with its arguments.
pub(in crate::policy) struct Binpack {
    weight: i64,
    lanes: [i64; LANES],
    /// Weights of resources beyond the hot lanes.
    tail: Vec<(Dim, i64)>,
}

impl Binpack {
    fn term(&self, dim: Dim) -> Option<MeanTerm> {
        let of_tail = || self.tail.iter().find(|entry| entry.0 == dim).map_or(0, |entry| entry.1);
        let weight = dim.lane().map_or_else(of_tail, |lane| self.lanes[lane]);
        (weight > 0).then_some(MeanTerm { weight, packing: Packing::Most })
    }
}

plugin!(Binpack);

impl Plugin for Binpack {
    fn takes_part(&self, _point: Point) -> bool {
        self.weight != 0
    }
}

impl Build for Binpack {
    fn build(setup: &mut Setup<'_>) -> Self {
        let mut lanes = [0; LANES];
        let mut tail = Vec::new();
        for (dim, weight) in weights(setup, "binpack") {
            match dim.lane() {
                Some(lane) => lanes[lane] = weight,
                None => tail.push((dim, weight)),
            }
        }
        Self { weight: setup.arguments.int("binpack.weight"), lanes, tail }
    }
}

impl ScorePlugin for Binpack {
    fn score(&self, pairing: &Pairing<'_>, _scale: ScoreScale, scores: &mut [i64]) {
        let (request, nodes) = (&pairing.class.request.hot, &pairing.nodes);
        let tail = &pairing.class.request.tail;
        if self.tail.iter().any(|&(dim, _)| tail.get(dim) > 0) {
            add_mean(pairing, self.weight, |dim| self.term(dim), scores);
            return;
        }
        ratio::binpack(request, &self.lanes, self.weight, nodes.used, nodes.allocatable, scores);
    }
}
