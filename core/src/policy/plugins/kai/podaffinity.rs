//! `podaffinity`: nodes near pods a pod likes.
//!
//! Promise: preferred affinity and anti-affinity between pods counts a million points at most, more than
//! anything but a nomination. KAI takes the plain sum of weights, which has no bounds and can outweigh a
//! nomination; here the best node has all of the points and the worst has none.
//!
//! No arguments.

use crate::interpod::InterPodScores;
use crate::policy::{
    Build, Pairing, Plugin, PluginSpec, ScorePlugin, ScoreScale, Setup, Weight, Words, plugin,
};

/// A hundred points at most, so many times.
const WEIGHT: i64 = 10_000;

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    words: Words { scores: &[("nearness to other pods", Weight::Fixed(WEIGHT))], ..Words::NONE },
    ..PluginSpec::of::<PodAffinity>("podaffinity", "nodes near pods a pod likes are preferred")
};

/// The plugin.
pub(in crate::policy) struct PodAffinity;

plugin!(PodAffinity);

impl Plugin for PodAffinity {}

impl Build for PodAffinity {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl ScorePlugin for PodAffinity {
    fn score(&self, _: &Pairing<'_>, _: ScoreScale, _: &mut [i64]) {}

    fn interpod_scores(&self) -> InterPodScores {
        InterPodScores { affinity: WEIGHT, spread: 0 }
    }
}
