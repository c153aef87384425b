//! `resourcetype`: pods without GPUs go to nodes without GPUs.
//!
//! Promise: for a pod that asks for no GPU a node that has none scores ten points more, which is more
//! than any packing gives.
//!
//! No arguments.

use crate::policy::{
    Build, Pairing, Plugin, PluginSpec, SCORE_SCALE, ScorePlugin, ScoreScale, Setup, Weight, Words,
    plugin,
};
use crate::resource::Dim;

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    words: Words {
        scores: &[("no GPUs where none are asked for", Weight::Fixed(10))],
        ..Words::NONE
    },
    ..PluginSpec::of::<ResourceType>("resourcetype", "pods without GPUs prefer nodes without GPUs")
};

/// The plugin.
pub(in crate::policy) struct ResourceType {
    gpu: Dim,
}

plugin!(ResourceType);

impl Plugin for ResourceType {}

impl Build for ResourceType {
    fn build(setup: &mut Setup<'_>) -> Self {
        Self { gpu: super::gpu(setup) }
    }
}

impl ScorePlugin for ResourceType {
    fn score(&self, pairing: &Pairing<'_>, _scale: ScoreScale, scores: &mut [i64]) {
        if pairing.class.request.get(self.gpu) > 0 {
            return;
        }
        for (row, score) in scores.iter_mut().enumerate() {
            if pairing.nodes.offered(row, self.gpu) <= 0 {
                *score += 10 * SCORE_SCALE;
            }
        }
    }
}
