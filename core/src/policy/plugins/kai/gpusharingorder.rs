//! `gpusharingorder`: parts of GPUs go to nodes with a GPU in shared use.
//!
//! Promise: a node with a shared GPU that has room for the part a pod asks for scores ten thousand points
//! more, unless all who share it are leaving. As in KAI a pod that asks for no GPU finds room on any such
//! GPU, and so prefers these nodes, too; one that asks for whole GPUs never does.
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
        scores: &[("a shared GPU with room for the part asked for", Weight::Fixed(POINTS))],
        ..Words::NONE
    },
    ..PluginSpec::of::<GpuSharingOrder>(
        "gpusharingorder",
        "shares of GPUs go to nodes with a GPU in shared use",
    )
};

const POINTS: i64 = 10_000;

/// The plugin.
pub(in crate::policy) struct GpuSharingOrder {
    gpu: Dim,
}

plugin!(GpuSharingOrder);

impl Plugin for GpuSharingOrder {}

impl Build for GpuSharingOrder {
    fn build(setup: &mut Setup<'_>) -> Self {
        Self { gpu: super::gpu(setup) }
    }
}

impl ScorePlugin for GpuSharingOrder {
    fn score(&self, pairing: &Pairing<'_>, _scale: ScoreScale, scores: &mut [i64]) {
        let share = pairing.class.share();
        if share.is_none() && pairing.class.request.get(self.gpu) > 0 {
            return;
        }
        for (devices, score) in pairing.nodes.devices.iter().zip(scores) {
            if devices.takes_in(share) {
                *score += POINTS * SCORE_SCALE;
            }
        }
    }
}
