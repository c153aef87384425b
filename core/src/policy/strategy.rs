//! `resource-strategy-fit`: each resource packed or spread as its kind deserves.
//!
//! Promise: a node's score is the mean over the resources a pod asks for, each as full (`MostAllocated`)
//! or as empty (`LeastAllocated`) as the pod would leave the node, with its weight, from 0 to 100, times
//! the plugin's weight. A node the pod would overfill in one of them scores nothing. A pod that carries
//! the annotations `volcano.sh/resource-strategy-scoring-type` and `volcano.sh/resource-strategy-weight`
//! is scored by those instead.
//!
//! With `sra` on (scarce resource avoidance), nodes score the higher the fewer of the scarce resources
//! they have. With `proportional` on, a pod that asks for none of the listed devices must leave cpu and
//! memory idle on a node for each of its idle devices.
//!
//! Arguments: `resourceStrategyFitWeight` 10 (0 switches the score off), `resources` (by name `type`
//! and `weight`; a name may end in `*`, the exact name counts first, then the longest beginning; default
//! cpu and memory `LeastAllocated` of weight 1), `sra` (`enable` false, `resources` comma separated,
//! `weight` 1, `resourceWeight` by name 1), `proportional` (`enable` false, `resources` comma separated,
//! `resourceProportion` by `<device>.cpu` and `<device>.memory`, cores and gigabytes for each, 1).

use glam::I64Vec2;

use super::mean::{Term, add_mean};
use super::{Bar, Obstacle, Pairing, Point, Policy};
use crate::class::{Class, Reads};
use crate::config::{ArgumentValue, Arguments};
use crate::delta::{Packing, StrategyWish};
use crate::kernel::ratio::SCORE_SCALE;
use crate::resource::{Dim, ResourceNames, Tail};
use crate::world::NodeColumns;

/// The plugin with its arguments.
pub(super) struct StrategyFit {
    weight: i64,
    exact: Vec<(Dim, Term)>,
    /// Beginnings of names, longest first.
    prefixes: Vec<(String, Term)>,
    scarce: Option<Scarce>,
    kept: Vec<Kept>,
}

/// Avoidance of nodes with scarce resources.
struct Scarce {
    weight: i64,
    resources: Vec<(Dim, i64)>,
    total: i64,
}

/// What pods without devices must leave for each idle device.
struct Kept {
    device: Dim,
    /// Millionths of a milli-core for a thousandth of a device: millionths of a core for a device.
    cpu: i64,
    /// Bytes for a thousandth of a device.
    memory: i64,
}

fn map<'a>(arguments: &'a Arguments, key: &str) -> Option<&'a Arguments> {
    match arguments.get(key) {
        Some(ArgumentValue::Map(map)) => Some(map),
        _ => None,
    }
}

fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty())
}

impl StrategyFit {
    pub(super) fn new(arguments: &Arguments, names: &mut ResourceNames) -> Self {
        let mut plugin = Self {
            weight: match arguments.int("resourceStrategyFitWeight", 10) {
                weight if weight < 0 => 10,
                weight => weight,
            },
            exact: Vec::new(),
            prefixes: Vec::new(),
            scarce: map(arguments, "sra").and_then(|sra| Scarce::new(sra, names)),
            kept: map(arguments, "proportional").map_or_else(Vec::new, |map| Kept::all(map, names)),
        };
        let default = [Dim::CPU, Dim::MEMORY].map(|dim| (dim, Term::of(&Arguments::default())));
        match map(arguments, "resources") {
            None => plugin.exact.extend(default),
            Some(resources) => resources.0.iter().for_each(|entry| plugin.resource(entry, names)),
        }
        plugin.exact.sort_by_key(|entry| entry.0);
        plugin.prefixes.sort_by_key(|entry| std::cmp::Reverse(entry.0.len()));
        plugin
    }

    fn resource(&mut self, entry: &(String, ArgumentValue), names: &mut ResourceNames) {
        let (name, ArgumentValue::Map(given)) = entry else { return };
        let term = Term::of(given);
        match name.strip_suffix('*') {
            None => self.exact.push((names.dim(&name.as_str().into()), term)),
            // Alone, it would mean every resource there will ever be, as upstream refuses too.
            Some("") => {}
            Some(prefix) => self.prefixes.push((prefix.to_owned(), term)),
        }
    }

    fn term(&self, dim: Dim, names: &ResourceNames) -> Option<Term> {
        if let Ok(at) = self.exact.binary_search_by_key(&dim, |entry| entry.0) {
            return Some(self.exact[at].1);
        }
        if self.prefixes.is_empty() {
            return None;
        }
        let name = names.name(dim);
        self.prefixes.iter().find(|entry| name.starts_with(&entry.0)).map(|entry| entry.1)
    }
}

impl Term {
    fn of(given: &Arguments) -> Self {
        let packing = match given.text("type", "LeastAllocated") {
            "MostAllocated" => Packing::Most,
            _ => Packing::Least,
        };
        Self { weight: given.int("weight", 1).max(1), packing }
    }
}

/// How a pod's own annotations count a resource.
fn wished(wish: &StrategyWish, dim: Dim, names: &ResourceNames) -> Option<Term> {
    let name = names.name(dim);
    let entry = wish.weights.iter().find(|entry| entry.0 == *name)?;
    Some(Term { weight: entry.1.max(0), packing: wish.packing })
}

impl Scarce {
    fn new(given: &Arguments, names: &mut ResourceNames) -> Option<Self> {
        if !given.bool("enable", false) {
            return None;
        }
        let weights = map(given, "resourceWeight");
        let resources: Vec<(Dim, i64)> = listed(given.text("resources", ""))
            .map(|name| {
                let weight = weights.map_or(1, |weights| weights.int(name, 1));
                (names.dim(&name.into()), weight.max(0))
            })
            .collect();
        let total = resources.iter().map(|entry| entry.1).sum();
        (total > 0).then(|| Self { weight: given.int("weight", 1).max(0), resources, total })
    }

    fn score(&self, class: &Class, nodes: &NodeColumns<'_>, row: usize) -> i64 {
        let offers = |dim: Dim| match dim.lane() {
            Some(lane) => nodes.allocatable[row].0[lane] > 0,
            None => nodes.tails[row].allocatable.get(dim) > 0,
        };
        if class.request.iter().any(|(dim, asked)| asked > 0 && !offers(dim)) {
            return 0;
        }
        let had = self.resources.iter().filter(|entry| offers(entry.0));
        let had: i64 = had.map(|entry| entry.1).sum();
        (self.total - had) * 100 * SCORE_SCALE / self.total * self.weight
    }
}

impl Kept {
    fn all(given: &Arguments, names: &mut ResourceNames) -> Vec<Self> {
        if !given.bool("enable", false) {
            return Vec::new();
        }
        let rates = map(given, "resourceProportion");
        let devices = listed(given.text("resources", "")).map(|name| {
            let rate = |what: &str| {
                let key = format!("{name}.{what}");
                millionths(rates.and_then(|rates| rates.get(&key)))
            };
            // A millionth of a gigabyte for a device is a byte for a thousandth of one.
            Self { device: names.dim(&name.into()), cpu: rate("cpu"), memory: rate("memory") }
        });
        devices.collect()
    }

    /// Would taking cpu and memory out of that room leave too little for the idle devices?
    fn is_short(&self, devices: i64, cpu: i64, memory: i64) -> bool {
        let devices = i128::from(devices.max(0));
        let cpu_kept = devices * i128::from(self.cpu) / 1_000_000;
        i128::from(cpu) < cpu_kept || i128::from(memory) < devices * i128::from(self.memory)
    }
}

/// A rate in millionths; 1 where none is given.
#[expect(clippy::float_arithmetic, reason = "a rate of the configuration becomes an integer, once")]
fn millionths(rate: Option<&ArgumentValue>) -> i64 {
    match rate {
        Some(ArgumentValue::Float(rate)) => (rate.max(0.0) * 1e6).round() as i64,
        Some(ArgumentValue::Int(rate)) => rate.max(&0).saturating_mul(1_000_000),
        _ => 1_000_000,
    }
}

/// Room of a row in one dimension: free now, and free once what leaves has left.
fn room(nodes: &NodeColumns<'_>, row: usize, dim: Dim) -> [i64; 2] {
    let tails = &nodes.tails[row];
    let of = |hot: &[crate::resource::Lanes], tail: &Tail| {
        dim.lane().map_or_else(|| tail.get(dim), |lane| hot[row].0[lane])
    };
    let idle = of(nodes.idle, &tails.idle);
    let leaving = of(nodes.releasing, &tails.releasing);
    [idle, idle + leaving - of(nodes.pipelined, &tails.pipelined)]
}

impl Policy for StrategyFit {
    fn name(&self) -> &'static str {
        "resource-strategy-fit"
    }

    fn points(&self) -> &'static [Point] {
        match (self.kept.is_empty(), self.weight == 0 && self.scarce.is_none()) {
            (true, true) => &[],
            (true, false) => &[Point::Score],
            (false, true) => &[Point::Filter],
            (false, false) => &[Point::Filter, Point::Score],
        }
    }

    fn reads(&self) -> Reads {
        Reads { strategy: self.weight != 0, ..Reads::default() }
    }

    fn filter(&self, pairing: &Pairing<'_>, bars: &mut [Bar]) {
        let (request, nodes) = (&pairing.class.request, &pairing.nodes);
        if self.kept.iter().any(|kept| request.get(kept.device) > 0) {
            return;
        }
        let (cpu, memory) = (request.get(Dim::CPU), request.get(Dim::MEMORY));
        for (row, bar) in bars.iter_mut().enumerate() {
            for kept in &self.kept {
                let devices = room(nodes, row, kept.device);
                let cpus = room(nodes, row, Dim::CPU).map(|idle| idle - cpu);
                let memories = room(nodes, row, Dim::MEMORY).map(|idle| idle - memory);
                if kept.is_short(devices[0], cpus[0], memories[0]) {
                    bar.raise_now(Obstacle::Proportional);
                }
                if kept.is_short(devices[1], cpus[1], memories[1]) {
                    bar.raise_later(Obstacle::Proportional);
                }
            }
        }
    }

    fn score(&self, pairing: &Pairing<'_>, _scale: I64Vec2, scores: &mut [i64]) {
        let (class, names) = (pairing.class, pairing.around.names);
        if self.weight != 0 {
            let term = |dim: Dim| match &class.strategy {
                Some(wish) => wished(wish, dim, names),
                None => self.term(dim, names),
            };
            add_mean(pairing, self.weight, term, scores);
        }
        if let Some(scarce) = &self.scarce {
            for (row, score) in scores.iter_mut().enumerate() {
                *score += scarce.score(class, &pairing.nodes, row);
            }
        }
    }
}

#[cfg(test)]
mod tests;
