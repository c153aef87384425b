//! `nodeorder`: which of the nodes that may serve serves best.
//!
//! Promise: the sum of weighted scores of 0 to 100 points each. Emptier nodes score higher, fuller ones
//! if asked; nodes whose cpu and memory would be used in step; nodes that fulfil preferred affinity;
//! nodes without `PreferNoSchedule` taints the pod does not tolerate; nodes near pods it likes and far
//! from those it dislikes; nodes with fewer pods of its kind around where it wants an even spread or
//! belongs together with them; nodes that hold the pod's images. Each has its weight as an argument.
//!
//! Affinity and taints are scaled by the best and worst node of the whole cluster, so that a node's
//! score does not depend on which others happen to have room. In how empty or full a node is, a
//! container that asks for no cpu counts as 100m and one that asks for no memory as 200Mi: pods without
//! requests are spread too.

mod images;

use glam::I64Vec2;

use crate::config::ArgumentKind::Int;
use crate::config::arg;
use crate::delta::TaintEffect;
use crate::interpod::InterPodScores;
use crate::kernel::pair;
use crate::kernel::ratio::{self, SCORE_SCALE};
use crate::policy::{
    Build, Pairing, Plugin, PluginSpec, ScorePlugin, ScoreScale, Setup, Weight, Words, plugin,
};
use crate::resource::{Dim, LANES, Lanes};
use crate::world::{NodeFlags, NodeRules, Reads};

/// Lanes the emptiness of a node is judged by, equally.
const CPU_MEMORY: [i64; LANES] = [1, 1, 0, 0, 0, 0, 0, 0];

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    arguments: &[
        arg("leastrequested.weight", Int, "1", "prefers nodes with more room left (spreads)"),
        arg("mostrequested.weight", Int, "0", "prefers nodes with less room left (packs)"),
        arg("nodeaffinity.weight", Int, "2", "prefers nodes the pod prefers"),
        arg("podaffinity.weight", Int, "2", "prefers nodes near, or far from, other pods"),
        arg("balancedresource.weight", Int, "1", "prefers nodes left with cpu and memory even"),
        arg("tainttoleration.weight", Int, "3", "avoids nodes that would rather not have it"),
        arg("imagelocality.weight", Int, "1", "prefers nodes that hold the images already"),
        arg("podtopologyspread.weight", Int, "2", "prefers zones and hosts with fewer peers"),
    ],
    words: Words {
        scores: &[
            ("free room", Weight::Argument("leastrequested.weight")),
            ("little free room", Weight::Argument("mostrequested.weight")),
            ("the pod's preferences", Weight::Argument("nodeaffinity.weight")),
            ("nearness to other pods", Weight::Argument("podaffinity.weight")),
            ("balance of cpu and memory", Weight::Argument("balancedresource.weight")),
            ("few unwelcoming taints", Weight::Argument("tainttoleration.weight")),
            ("images at hand", Weight::Argument("imagelocality.weight")),
            ("even spread", Weight::Argument("podtopologyspread.weight")),
        ],
        ..Words::NONE
    },
    ..PluginSpec::of::<NodeOrder>(
        "nodeorder",
        "nodes are ranked by free room, balance, and the pod's and node's preferences",
    )
};

/// The plugin with its arguments.
pub(in crate::policy) struct NodeOrder {
    least: i64,
    most: i64,
    balanced: i64,
    images: i64,
    /// Of affinity and of taints.
    wishes: I64Vec2,
    interpod: InterPodScores,
    /// Lanes that should be used in step; the last is that of the GPU.
    balance: [usize; 3],
}

impl NodeOrder {
    /// How empty and how full nodes are, with what containers without request are taken to need.
    fn score_room(&self, pairing: &Pairing<'_>, scores: &mut [i64]) {
        let mut request = pairing.class.request.hot;
        raise(&mut request, pairing.class.unasked);
        let nodes = &pairing.nodes;
        if !pairing.flags.any(NodeFlags::UNASKED) {
            self.score_emptiness(&request, nodes.used, nodes.allocatable, scores);
            return;
        }
        for first in (0..scores.len()).step_by(ROWS) {
            let rows = first..scores.len().min(first + ROWS);
            let nodes = pairing.nodes.rows(rows.clone());
            let mut used = [Lanes::default(); ROWS];
            let used = &mut used[..rows.len()];
            used.copy_from_slice(nodes.used);
            used.iter_mut().zip(nodes.unasked).for_each(|(used, more)| raise(used, *more));
            self.score_emptiness(&request, used, nodes.allocatable, &mut scores[rows]);
        }
    }

    fn score_emptiness(
        &self,
        request: &Lanes,
        used: &[Lanes],
        allocatable: &[Lanes],
        scores: &mut [i64],
    ) {
        let Self { least, most, .. } = *self;
        if least != 0 {
            ratio::least_requested(request, &CPU_MEMORY, least, used, allocatable, scores);
        }
        if most != 0 {
            ratio::most_requested(request, &CPU_MEMORY, most, used, allocatable, scores);
        }
    }

    /// The GPU's lane counts only for tasks that ask for one.
    fn lanes(&self, request: &Lanes) -> &[usize] {
        let asks = request.0[self.balance[2]] > 0;
        if asks { &self.balance } else { &self.balance[..2] }
    }
}

/// Rows at a time, on the stack: few, because mostly it is a single one.
const ROWS: usize = 8;

/// Adds milli-cpu and bytes of memory.
fn raise(lanes: &mut Lanes, more: [i64; 2]) {
    for (lane, more) in [Dim::CPU, Dim::MEMORY].into_iter().zip(more) {
        let lane = &mut lanes.0[lane.index()];
        *lane = lane.saturating_add(more);
    }
}

plugin!(NodeOrder);

impl Plugin for NodeOrder {
    fn reads(&self) -> Reads {
        let unasked = self.least != 0 || self.most != 0;
        Reads { images: self.images != 0, unasked, ..Reads::default() }
    }
}

impl Build for NodeOrder {
    fn build(setup: &mut Setup<'_>) -> Self {
        let lane = |dim: Dim| dim.lane().unwrap_or(Dim::CPU.0 as usize);
        let gpu = setup.names.dim(&"nvidia.com/gpu".into());
        let weight = |key: &str| setup.arguments.int(key);
        Self {
            balance: [Dim::CPU, Dim::MEMORY, gpu].map(lane),
            least: weight("leastrequested.weight"),
            most: weight("mostrequested.weight"),
            balanced: weight("balancedresource.weight"),
            images: weight("imagelocality.weight"),
            interpod: InterPodScores {
                affinity: weight("podaffinity.weight"),
                spread: weight("podtopologyspread.weight"),
            },
            wishes: I64Vec2::new(weight("nodeaffinity.weight"), weight("tainttoleration.weight")),
        }
    }
}

impl ScorePlugin for NodeOrder {
    fn interpod_scores(&self) -> InterPodScores {
        self.interpod
    }

    /// The highest preference any node fulfils and the most taints any node repels with.
    fn measure(&self, pairing: &Pairing<'_>) -> ScoreScale {
        // Without preferences of its own, only nodes that warn have anything to say.
        let prefers = pairing.class.nodes.has_preferences();
        if !prefers && !pairing.flags.any(NodeFlags::WARNS) {
            return ScoreScale::NONE;
        }
        let rows = pairing.nodes.rules.iter().zip(pairing.nodes.flags);
        let says = rows.filter(|(_, flags)| prefers || flags.any(NodeFlags::WARNS));
        let most = says.map(|(node, _)| wishes(pairing, node)).fold(I64Vec2::ZERO, I64Vec2::max);
        ScoreScale(most)
    }

    fn score(&self, pairing: &Pairing<'_>, scale: ScoreScale, scores: &mut [i64]) {
        let (request, nodes) = (&pairing.class.request.hot, &pairing.nodes);
        let (used, allocatable) = (nodes.used, nodes.allocatable);
        let asked = pairing.class.unasked == [0; 2] && !pairing.flags.any(NodeFlags::UNASKED);
        match *self.lanes(request) {
            // What is counted as used is the same for all: one pass does.
            [cpu, memory] if asked => {
                let Self { least, most, balanced, .. } = *self;
                let weights = pair::Weights { least, most, balanced };
                pair::score(request, [cpu, memory], weights, used, allocatable, scores);
            }
            ref lanes => {
                if self.least != 0 || self.most != 0 {
                    self.score_room(pairing, scores);
                }
                if self.balanced != 0 {
                    ratio::balanced(request, lanes, self.balanced, used, allocatable, scores);
                }
            }
        }
        let cluster_facts = pairing.cluster_facts.images;
        if self.images != 0 && images::matter(pairing.class, cluster_facts) {
            for (score, node) in scores.iter_mut().zip(nodes.rules) {
                *score += images::points(pairing.class, cluster_facts, node) * self.images;
            }
        }
        let ScoreScale(most) = scale;
        if most == I64Vec2::ZERO {
            return;
        }
        for (score, node) in scores.iter_mut().zip(nodes.rules) {
            let points = wishes(pairing, node) * 100 / most.max(I64Vec2::ONE);
            // Fulfilled wishes count for the node, taints against it.
            let points = I64Vec2::new(points.x, 100 - points.y);
            *score += (points * self.wishes).element_sum() * SCORE_SCALE;
        }
    }
}

/// Weight of the fulfilled wishes, and number of taints that would rather keep the task away.
fn wishes(pairing: &Pairing<'_>, node: &NodeRules) -> I64Vec2 {
    let class = pairing.class;
    let preference = if class.nodes.has_preferences() {
        class.nodes.preference(node, pairing.symbols)
    } else {
        0
    };
    let repelling = node.taints.iter().filter(|taint| {
        taint.effect == TaintEffect::PreferNoSchedule && !class.tolerances.bears(taint)
    });
    I64Vec2::new(preference, repelling.count() as i64)
}
