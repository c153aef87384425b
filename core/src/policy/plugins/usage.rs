//! `usage`: pods go where little is really in use, and nowhere where too much is.
//!
//! Promise: a node of which more cpu or memory is in use than its threshold takes no more pods, whoever
//! leaves it. Other nodes score the higher the less of them is in use: the mean of what is left of cpu
//! and memory, each with its weight, 0 to 100 points.
//!
//! In use is what was measured, and an estimate for pods that are in no measurement yet: a part of what
//! they ask for and of the room up to their limits, or a fixed amount for those that have neither. Where
//! a node with that would be loaded above the threshold of risk, the estimate is raised by a factor, but
//! not above their limits. Thresholds look at what was measured alone.
//!
//! A measurement counts for five minutes. A node without one is closed to nobody and scores nothing: not
//! to know its load is not to know that it is idle.

use crate::config::ArgumentKind::{Amount, FloatFrom, Fraction, IntFrom, Map, Percent};
use crate::config::{AmountScale, ArgumentSpec, Values, arg};
use crate::kernel::ratio::SCORE_SCALE;
use crate::policy::{
    Build, FilterPlugin, Pairing, Plugin, PluginSpec, Point, ScorePlugin, ScoreScale, Setup,
    Weight, Words, plugin,
};
use crate::world::{Exclusion, NodeLoad, Obstacle, Reads, Unmeasured, WHOLE_LOAD, load_share};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    arguments: &[
        arg("usage.weight", IntFrom(0), "5", "factor of its node score; 0 switches it off"),
        arg("cpu.weight", IntFrom(0), "1", "weight of cpu load in the mean"),
        arg("memory.weight", IntFrom(0), "1", "weight of memory load in the mean"),
        arg("thresholds", Map(THRESHOLDS), "", "loads above which a node takes no more pods"),
        arg("estimator", Map(ESTIMATOR), "", "load of pods not yet seen in metrics"),
    ],
    words: Words {
        filter: Some("measured load allows"),
        scores: &[("little measured load", Weight::Argument("usage.weight"))],
        ..Words::NONE
    },
    ..PluginSpec::of::<Usage>(
        "usage",
        "nodes with less measured load are preferred, and overloaded ones avoided",
    )
};

const THRESHOLDS: &[ArgumentSpec] = &[
    arg("cpu", Percent, "80", "cpu load in percent above which a node takes no more pods"),
    arg("mem", Percent, "80", "memory load in percent above which it takes no more"),
];

const ESTIMATOR: &[ArgumentSpec] = &[
    arg("request_ratio", Fraction, "0.7", "part of a request assumed to be used"),
    arg("burst_ratio", Fraction, "0.0", "part of the room up to the limit assumed to be used"),
    arg("risk_threshold", Fraction, "0.6", "load from which estimates are raised"),
    arg("risk_factor", FloatFrom(1), "1.2", "how much they are raised"),
    arg("be_cpu", Amount, "250", "cpu of a pod that requests nothing, in thousandths of a core"),
    arg("be_mem", Amount, "200Mi", "memory of a pod that requests nothing"),
];

/// The plugin with its arguments.
pub(in crate::policy) struct Usage {
    weight: i64,
    /// Of cpu and memory in the mean.
    weights: [i64; 2],
    /// Loads of cpu and memory above which a node is closed, in units of [`WHOLE_LOAD`].
    thresholds: [i64; 2],
    estimator: Estimator,
}

/// What pods are taken to use that are in no measurement. Ratios are in millionths.
struct Estimator {
    request_ratio: i64,
    burst_ratio: i64,
    /// In units of [`WHOLE_LOAD`].
    risk_threshold: i64,
    risk_factor: i64,
    /// Milli-cpu and bytes of memory of a pod that says nothing.
    silent: [i64; 2],
}

/// A ratio of one.
const ONE: i64 = 1_000_000;

/// The largest factor, so that products with any amount stay inside 128 bits.
const FACTOR_MAX: f64 = 1e3;

/// Largest weight of a resource: sums of products stay far inside the range of an integer.
const WEIGHT_MAX: i64 = 1_000_000;

/// A ratio of the configuration in millionths.
fn millionths(arguments: Values<'_>, key: &str) -> i64 {
    (arguments.float(key).min(FACTOR_MAX) * ONE as f64).round() as i64
}

impl Estimator {
    fn new(arguments: Values<'_>) -> Self {
        Self {
            request_ratio: millionths(arguments, "request_ratio"),
            burst_ratio: millionths(arguments, "burst_ratio"),
            risk_threshold: millionths(arguments, "risk_threshold") * WHOLE_LOAD / ONE,
            risk_factor: millionths(arguments, "risk_factor"),
            silent: [
                arguments.amount("be_cpu", AmountScale::MilliCpu),
                arguments.amount("be_mem", AmountScale::Bytes),
            ],
        }
    }

    /// What pods are taken to use, raised by a factor.
    fn estimate(&self, pods: &Unmeasured, at: usize, factor: i64) -> i64 {
        let [request, limit, factor] = [pods.requests[at], pods.limits[at], factor].map(i128::from);
        let calm = request * i128::from(self.request_ratio)
            + (limit - request) * i128::from(self.burst_ratio);
        let one = i128::from(ONE);
        let spoken = (calm / one * factor / one).clamp(0, limit);
        let silent = i128::from(pods.silent) * i128::from(self.silent[at].max(0)) * factor / one;
        i64::try_from(spoken + silent).unwrap_or(i64::MAX)
    }
}

impl Usage {
    /// Parts of cpu and memory that are in use or soon will be; `None` where nothing is known.
    fn loads(&self, load: &NodeLoad) -> Option<[i64; 2]> {
        let measured = load.shares()?.map(|share| share.clamp(0, WHOLE_LOAD));
        let pods = load.unmeasured();
        if *pods == Unmeasured::NONE {
            return Some(measured);
        }
        let with = |factor| {
            std::array::from_fn(|at| {
                let more = self.estimator.estimate(pods, at, factor);
                let more = load_share(more, load.capacity()[at]).unwrap_or(0);
                measured[at].saturating_add(more).min(WHOLE_LOAD)
            })
        };
        let calm = with(ONE);
        let risky = self.mean(calm) >= self.estimator.risk_threshold;
        Some(if risky { with(self.estimator.risk_factor) } else { calm })
    }

    /// The mean of two parts by the weights of cpu and memory.
    fn mean(&self, parts: [i64; 2]) -> i64 {
        let [cpu, memory] = self.weights;
        (parts[0] * cpu + parts[1] * memory) / (cpu + memory).max(1)
    }

    fn points(&self, load: &NodeLoad) -> i64 {
        let left = self.loads(load).map(|loads| loads.map(|load| WHOLE_LOAD - load));
        left.map_or(0, |left| self.mean(left) * (100 * SCORE_SCALE / WHOLE_LOAD))
    }
}

plugin!(Usage);

impl Plugin for Usage {
    fn takes_part(&self, point: Point) -> bool {
        point != Point::Score || (self.weight != 0 && self.weights != [0; 2])
    }

    fn reads(&self) -> Reads {
        Reads { load: true, ..Reads::default() }
    }
}

impl Build for Usage {
    fn build(setup: &mut Setup<'_>) -> Self {
        let arguments = setup.arguments;
        let thresholds = arguments.map("thresholds");
        let weights = ["cpu.weight", "memory.weight"];
        Self {
            weight: arguments.int("usage.weight"),
            weights: weights.map(|key| arguments.int(key).min(WEIGHT_MAX)),
            thresholds: ["cpu", "mem"].map(|key| thresholds.int(key) * WHOLE_LOAD / 100),
            estimator: Estimator::new(arguments.map("estimator")),
        }
    }
}

impl FilterPlugin for Usage {
    fn filter(&self, pairing: &Pairing<'_>, exclusions: &mut [Exclusion]) {
        for (exclusion, load) in exclusions.iter_mut().zip(pairing.nodes.loads) {
            let Some([cpu, memory]) = load.shares() else { continue };
            if cpu > self.thresholds[0] {
                exclusion.raise(Obstacle::CpuLoad);
            } else if memory > self.thresholds[1] {
                exclusion.raise(Obstacle::MemoryLoad);
            }
        }
    }
}

impl ScorePlugin for Usage {
    fn score(&self, pairing: &Pairing<'_>, _scale: ScoreScale, scores: &mut [i64]) {
        for (score, load) in scores.iter_mut().zip(pairing.nodes.loads) {
            *score = score.saturating_add(self.points(load).saturating_mul(self.weight));
        }
    }
}

#[cfg(test)]
mod tests;
