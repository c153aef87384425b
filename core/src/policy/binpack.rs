//! `binpack`: fill nodes up before opening others.
//!
//! Promise: a node scores the higher the fuller the task would leave it, averaged over the resources
//! the task asks for, each with its weight; a node the task would overfill scores nothing.
//!
//! Arguments: `binpack.weight` 1, `binpack.cpu` 1, `binpack.memory` 1, `binpack.resources` (a comma
//! separated list of further names) and `binpack.resources.<name>` 1 each. A negative weight of a
//! resource counts as 1; `binpack.weight: 0` switches the plugin off.

use glam::I64Vec2;

use super::mean::{Term, add_mean};
use super::weights::weights;
use super::{Pairing, Point, Policy};
use crate::config::Arguments;
use crate::delta::Packing;
use crate::kernel::ratio;
use crate::resource::{Dim, LANES, ResourceNames};

/// The plugin with its arguments.
pub(super) struct Binpack {
    weight: i64,
    lanes: [i64; LANES],
    /// Weights of resources beyond the hot lanes.
    tail: Vec<(Dim, i64)>,
}

impl Binpack {
    pub(super) fn new(arguments: &Arguments, names: &mut ResourceNames) -> Self {
        let mut lanes = [0; LANES];
        let mut tail = Vec::new();
        for (dim, weight) in weights(arguments, "binpack", names) {
            match dim.lane() {
                Some(lane) => lanes[lane] = weight,
                None => tail.push((dim, weight)),
            }
        }
        Self { weight: arguments.int("binpack.weight", 1), lanes, tail }
    }

    fn term(&self, dim: Dim) -> Option<Term> {
        let of_tail = || self.tail.iter().find(|entry| entry.0 == dim).map_or(0, |entry| entry.1);
        let weight = dim.lane().map_or_else(of_tail, |lane| self.lanes[lane]);
        (weight > 0).then_some(Term { weight, packing: Packing::Most })
    }
}

impl Policy for Binpack {
    fn name(&self) -> &'static str {
        "binpack"
    }

    fn points(&self) -> &'static [Point] {
        if self.weight == 0 { &[] } else { &[Point::Score] }
    }

    fn score(&self, pairing: &Pairing<'_>, _scale: I64Vec2, scores: &mut [i64]) {
        let (request, nodes) = (&pairing.class.request.hot, &pairing.nodes);
        let tail = &pairing.class.request.tail;
        if self.tail.iter().any(|&(dim, _)| tail.get(dim) > 0) {
            add_mean(pairing, self.weight, |dim| self.term(dim), scores);
            return;
        }
        ratio::binpack(request, &self.lanes, self.weight, nodes.used, nodes.allocatable, scores);
    }
}
