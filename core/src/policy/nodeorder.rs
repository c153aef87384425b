//! `nodeorder`: which of the nodes that may serve serves best.
//!
//! Promise: the sum of weighted scores of 0 to 100 points each. Emptier nodes score higher
//! (`leastrequested.weight` 1), fuller ones if asked (`mostrequested.weight` 0), nodes whose cpu and
//! memory would be used in step (`balancedresource.weight` 1), nodes that fulfil preferred affinity
//! (`nodeaffinity.weight` 2), nodes without `PreferNoSchedule` taints the pod does not tolerate
//! (`tainttoleration.weight` 3), nodes near pods it likes and far from those
//! it dislikes (`podaffinity.weight` 2), nodes with fewer pods of its kind around where it wants an
//! even spread or belongs together with them (`podtopologyspread.weight` 2), nodes that hold the pod's images (`imagelocality.weight` 1). Affinity
//! and taints are scaled by the best and worst node of the whole cluster, so that a node's score does
//! not depend on which others happen to have room. In how empty or full a node is, a container that
//! asks for no cpu counts as 100m and one that asks for no memory as 200Mi: pods without requests are
//! spread too.

mod images;

use glam::I64Vec2;

use super::{Pairing, Point, Policy};
use crate::class::Reads;
use crate::config::Arguments;
use crate::delta::TaintEffect;
use crate::kernel::pair;
use crate::kernel::ratio::{self, SCORE_SCALE};
use crate::near::NearScores;
use crate::resource::{Dim, LANES, Lanes, ResourceNames};
use crate::world::{NodeRules, Oddities};

/// Lanes the emptiness of a node is judged by, equally.
const CPU_MEMORY: [i64; LANES] = [1, 1, 0, 0, 0, 0, 0, 0];

/// The plugin with its arguments.
pub(super) struct NodeOrder {
    least: i64,
    most: i64,
    balanced: i64,
    images: i64,
    /// Of affinity and of taints.
    wishes: I64Vec2,
    near: NearScores,
    /// Lanes that should be used in step; the last is that of the GPU.
    balance: [usize; 3],
}

impl NodeOrder {
    pub(super) fn new(arguments: &Arguments, names: &mut ResourceNames) -> Self {
        let lane = |dim: Dim| dim.lane().unwrap_or(Dim::CPU.0 as usize);
        let gpu = names.dim(&"nvidia.com/gpu".into());
        Self {
            balance: [Dim::CPU, Dim::MEMORY, gpu].map(lane),
            least: arguments.int("leastrequested.weight", 1),
            most: arguments.int("mostrequested.weight", 0),
            balanced: arguments.int("balancedresource.weight", 1),
            images: arguments.int("imagelocality.weight", 1),
            near: NearScores {
                affinity: arguments.int("podaffinity.weight", 2),
                spread: arguments.int("podtopologyspread.weight", 2),
            },
            wishes: I64Vec2::new(
                arguments.int("nodeaffinity.weight", 2),
                arguments.int("tainttoleration.weight", 3),
            ),
        }
    }

    /// How empty and how full nodes are, with what containers without request are taken to need.
    fn score_room(&self, pairing: &Pairing<'_>, scores: &mut [i64]) {
        let mut request = pairing.class.request.hot;
        raise(&mut request, pairing.class.unasked);
        let nodes = &pairing.nodes;
        if !pairing.odd.any(Oddities::UNASKED) {
            self.score_emptiness(&request, nodes.used, nodes.allocatable, scores);
            return;
        }
        for first in (0..scores.len()).step_by(ROWS) {
            let rows = first..scores.len().min(first + ROWS);
            let nodes = pairing.nodes.rows(rows.clone());
            let mut used = [Lanes::default(); ROWS];
            let used = &mut used[..rows.len()];
            used.copy_from_slice(nodes.used);
            used.iter_mut().zip(nodes.unasked).for_each(|(used, more)| raise(used, more.0));
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

impl Policy for NodeOrder {
    fn name(&self) -> &'static str {
        "nodeorder"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::Score]
    }

    fn reads(&self) -> Reads {
        let unasked = self.least != 0 || self.most != 0;
        Reads { images: self.images != 0, unasked, ..Reads::default() }
    }

    fn near_scores(&self) -> NearScores {
        self.near
    }

    /// The highest preference any node fulfils and the most taints any node repels with.
    fn measure(&self, pairing: &Pairing<'_>) -> I64Vec2 {
        // Without preferences of its own, only nodes that warn have anything to say.
        let prefers = pairing.class.nodes.has_preferences();
        if !prefers && !pairing.odd.any(Oddities::WARNS) {
            return I64Vec2::ZERO;
        }
        let rows = pairing.nodes.rules.iter().zip(pairing.nodes.oddities);
        let says = rows.filter(|(_, odd)| prefers || odd.any(Oddities::WARNS));
        says.map(|(node, _)| wishes(pairing, node)).fold(I64Vec2::ZERO, I64Vec2::max)
    }

    fn score(&self, pairing: &Pairing<'_>, scale: I64Vec2, scores: &mut [i64]) {
        let (request, nodes) = (&pairing.class.request.hot, &pairing.nodes);
        let (used, allocatable) = (nodes.used, nodes.allocatable);
        let asked = pairing.class.unasked == [0; 2] && !pairing.odd.any(Oddities::UNASKED);
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
        let around = pairing.around.images;
        if self.images != 0 && images::matter(pairing.class, around) {
            for (score, node) in scores.iter_mut().zip(nodes.rules) {
                *score += images::points(pairing.class, around, node) * self.images;
            }
        }
        if scale == I64Vec2::ZERO {
            return;
        }
        for (score, node) in scores.iter_mut().zip(nodes.rules) {
            let points = wishes(pairing, node) * 100 / scale.max(I64Vec2::ONE);
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
