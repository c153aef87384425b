//! `binpack`: fill nodes up before opening others.
//!
//! Promise: a node scores the higher the fuller the task would leave it, averaged over the resources
//! the task asks for, each with its weight; a node the task would overfill scores nothing.
//!
//! Arguments: `binpack.weight` 1, `binpack.cpu` 1, `binpack.memory` 1, `binpack.resources` (a comma
//! separated list of further names) and `binpack.resources.<name>` 1 each. A negative weight of a
//! resource counts as 1; `binpack.weight: 0` switches the plugin off.

use glam::I64Vec2;

use super::weights::weights;
use super::{Pairing, Point, Policy};
use crate::config::Arguments;
use crate::kernel::ratio;
use crate::resource::{LANES, ResourceNames};

/// The plugin with its arguments.
pub(super) struct Binpack {
    weight: i64,
    lanes: [i64; LANES],
}

impl Binpack {
    pub(super) fn new(arguments: &Arguments, names: &mut ResourceNames) -> Self {
        let mut lanes = [0; LANES];
        for (dim, weight) in weights(arguments, "binpack", names) {
            // Scores are computed over hot lanes; names the configuration lists get theirs first.
            if let Some(lane) = dim.lane() {
                lanes[lane] = weight;
            }
        }
        Self { weight: arguments.int("binpack.weight", 1), lanes }
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
        ratio::binpack(request, &self.lanes, self.weight, nodes.used, nodes.allocatable, scores);
    }
}
