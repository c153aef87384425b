//! `nodeplacement`: fuller or emptier nodes first.
//!
//! Promise: of the nodes other rules like equally a pod goes to the one that has least left of GPUs, or
//! of cpu if it asks for no GPU; with `spread` to the one that has the larger part of it left. What pods
//! that leave give back counts as left.

use crate::config::ArgumentKind::OneOf;
use crate::config::{Values, arg};
use crate::policy::{
    Build, Pairing, Plugin, PluginSpec, SCORE_SCALE, ScorePlugin, ScoreScale, Setup, Weight, Words,
    plugin,
};
use crate::resource::Dim;

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    arguments: &[
        arg("gpu", OneOf(&["binpack", "spread"]), "binpack", "how pods with GPUs are placed"),
        arg("cpu", OneOf(&["binpack", "spread"]), "binpack", "how pods without GPUs are placed"),
    ],
    words: Words { scores: &[("fullness, or emptiness", Weight::Fixed(9))], ..Words::NONE },
    ..PluginSpec::of::<NodePlacement>(
        "nodeplacement",
        "pods are packed on few nodes, or spread over many",
    )
};

/// Points of the fullest node that has the resource.
const BEST: i64 = 9 * SCORE_SCALE;

/// Which nodes are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Strategy {
    Binpack,
    Spread,
}

impl Strategy {
    fn of(arguments: Values<'_>, key: &str) -> Self {
        match arguments.text(key) {
            "spread" => Self::Spread,
            _ => Self::Binpack,
        }
    }

    /// Points of a node that has so much of what it offers left, where `most` is what any offers.
    fn points(self, left: i64, offers: i64, most: i64) -> i64 {
        let left = i128::from(left.max(0));
        let points = match self {
            _ if offers <= 0 => 0,
            Self::Binpack => i128::from(BEST) - i128::from(BEST) * left / i128::from(most.max(1)),
            Self::Spread => i128::from(SCORE_SCALE) * left / i128::from(offers),
        };
        i64::try_from(points).unwrap_or(0)
    }
}

/// The plugin with its arguments.
pub(in crate::policy) struct NodePlacement {
    gpu_dim: Dim,
    gpu: Strategy,
    cpu: Strategy,
}

impl NodePlacement {
    /// The resource that counts for a class, and how.
    fn rule(&self, pairing: &Pairing<'_>) -> (Dim, Strategy) {
        if pairing.class.request.get(self.gpu_dim) > 0 {
            (self.gpu_dim, self.gpu)
        } else {
            (Dim::CPU, self.cpu)
        }
    }
}

plugin!(NodePlacement);

impl Plugin for NodePlacement {}

impl Build for NodePlacement {
    fn build(setup: &mut Setup<'_>) -> Self {
        Self {
            gpu_dim: super::gpu(setup),
            gpu: Strategy::of(setup.arguments, "gpu"),
            cpu: Strategy::of(setup.arguments, "cpu"),
        }
    }
}

impl ScorePlugin for NodePlacement {
    fn measure(&self, pairing: &Pairing<'_>) -> ScoreScale {
        let (dim, _) = self.rule(pairing);
        let rows = 0..pairing.nodes.allocatable.len();
        let most = rows.map(|row| pairing.nodes.offered(row, dim)).max();
        ScoreScale::new(most.unwrap_or(0), 0)
    }

    fn score(&self, pairing: &Pairing<'_>, scale: ScoreScale, scores: &mut [i64]) {
        let (dim, strategy) = self.rule(pairing);
        let nodes = &pairing.nodes;
        for (row, score) in scores.iter_mut().enumerate() {
            let (left, offers) = (nodes.future_idle(row, dim), nodes.offered(row, dim));
            *score += strategy.points(left, offers, scale.first());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packing_likes_the_node_with_least_left_whatever_its_size() {
        let points = |left, offers| Strategy::Binpack.points(left, offers, 8);
        assert_eq!([points(0, 8), points(8, 8), points(0, 0)], [BEST, 0, 0]);
        assert!(points(1, 8) > points(2, 8));
        assert_eq!(points(2, 4), points(2, 8));
    }

    #[test]
    fn spreading_likes_the_node_with_the_larger_part_left() {
        let points = |left, offers| Strategy::Spread.points(left, offers, 8);
        assert_eq!([points(8, 8), points(2, 4), points(0, 0)], [SCORE_SCALE, SCORE_SCALE / 2, 0]);
        assert!(points(3, 4) > points(5, 8));
    }
}
