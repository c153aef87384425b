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
//! The plugin's weight of 0 switches the score off. A name among `resources` may end in `*`; the exact
//! name counts first, then the longest beginning. Of `proportional`, rates are cores and gigabytes for
//! each device.

use crate::class::Class;
use crate::config::ArgumentKind::{Bool, FloatFrom, IntFrom, Map, OneOf, Text};
use crate::config::{ArgumentSpec, Values, arg};
use crate::delta::{Packing, StrategyWish};
use crate::kernel::ratio::SCORE_SCALE;
use crate::policy::mean::{MeanTerm, add_mean};
use crate::policy::{
    Build, FilterPlugin, Pairing, Plugin, PluginSpec, Point, ScorePlugin, ScoreScale, Setup,
    Weight, Words, plugin,
};
use crate::resource::{Dim, ResourceNames, Tail};
use crate::world::{Exclusion, NodeColumns, Obstacle, Reads};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    arguments: ARGUMENTS,
    words: Words {
        filter: Some("keep room for their devices"),
        scores: &[("each resource's own strategy", Weight::Argument("resourceStrategyFitWeight"))],
        ..Words::NONE
    },
    ..PluginSpec::of::<StrategyFit>(
        "resource-strategy-fit",
        "each resource is spread or packed as configured, and scarce ones are spared",
    )
};

const STRATEGIES: &[&str] = &["LeastAllocated", "MostAllocated"];

const ARGUMENTS: &[ArgumentSpec] = &[
    arg("resourceStrategyFitWeight", IntFrom(0), "10", "factor of its score; 0 switches it off"),
    arg(
        "resources",
        Map(&[arg(
            "*",
            Map(&[
                arg("type", OneOf(STRATEGIES), "LeastAllocated", "spreads or packs the resource"),
                arg("weight", IntFrom(1), "1", "weight of the resource in the mean"),
            ]),
            "",
            "how nodes are scored for that resource; the name may end in *",
        )]),
        "cpu and memory LeastAllocated",
        "how nodes are scored for each resource",
    ),
    arg(
        "sra",
        Map(&[
            arg("enable", Bool, "false", "keeps other pods off nodes with scarce resources"),
            arg("resources", Text, "", "the scarce resources, comma separated"),
            arg("weight", IntFrom(0), "1", "factor of that score"),
            arg(
                "resourceWeight",
                Map(&[arg("*", IntFrom(0), "1", "weight of that resource")]),
                "",
                "weight of each scarce resource",
            ),
        ]),
        "",
        "avoidance of nodes whose scarce resources the pod does not need",
    ),
    arg(
        "proportional",
        Map(&[
            arg("enable", Bool, "false", "keeps cpu and memory free for the devices of a node"),
            arg("resources", Text, "", "the devices, comma separated"),
            arg(
                "resourceProportion",
                Map(&[arg("*", FloatFrom(0), "1", "cpu cores, or gigabytes, kept per device")]),
                "",
                "keys `<device>.cpu` and `<device>.memory`",
            ),
        ]),
        "",
        "room that pods without devices must leave on nodes with devices",
    ),
];

/// The plugin with its arguments.
pub(in crate::policy) struct StrategyFit {
    weight: i64,
    exact: Vec<(Dim, MeanTerm)>,
    /// Beginnings of names, longest first.
    prefixes: Vec<(String, MeanTerm)>,
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

fn listed(text: &str) -> impl Iterator<Item = &str> {
    text.split(',').map(str::trim).filter(|name| !name.is_empty())
}

impl StrategyFit {
    fn resource(&mut self, name: &str, given: Values<'_>, names: &mut ResourceNames) {
        let term = MeanTerm::of(given);
        match name.strip_suffix('*') {
            None => self.exact.push((names.dim(&name.into()), term)),
            // Alone, it would mean every resource there will ever be, as upstream refuses too.
            Some("") => {}
            Some(prefix) => self.prefixes.push((prefix.to_owned(), term)),
        }
    }

    fn term(&self, dim: Dim, names: &ResourceNames) -> Option<MeanTerm> {
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

impl MeanTerm {
    fn of(given: Values<'_>) -> Self {
        let packing = match given.text("type") {
            "MostAllocated" => Packing::Most,
            _ => Packing::Least,
        };
        Self { weight: given.int("weight"), packing }
    }
}

/// How a pod's own annotations count a resource.
fn wished(wish: &StrategyWish, dim: Dim, names: &ResourceNames) -> Option<MeanTerm> {
    let name = names.name(dim);
    let entry = wish.weights.iter().find(|entry| entry.0 == *name)?;
    Some(MeanTerm { weight: entry.1.max(0), packing: wish.packing })
}

impl Scarce {
    fn new(given: Values<'_>, names: &mut ResourceNames) -> Option<Self> {
        if !given.bool("enable") {
            return None;
        }
        let weights = given.map("resourceWeight");
        let resources: Vec<(Dim, i64)> = listed(given.text("resources"))
            .map(|name| (names.dim(&name.into()), weights.int(name)))
            .collect();
        let total = resources.iter().map(|entry| entry.1).sum();
        (total > 0).then(|| Self { weight: given.int("weight"), resources, total })
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
    fn all(given: Values<'_>, names: &mut ResourceNames) -> Vec<Self> {
        if !given.bool("enable") {
            return Vec::new();
        }
        let rates = given.map("resourceProportion");
        let devices = listed(given.text("resources")).map(|name| {
            let rate = |what: &str| millionths(rates.float(&format!("{name}.{what}")));
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

/// A rate in millionths.
#[expect(clippy::float_arithmetic, reason = "a rate of the configuration becomes an integer, once")]
fn millionths(rate: f64) -> i64 {
    (rate * 1e6).round() as i64
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

plugin!(StrategyFit);

impl Plugin for StrategyFit {
    fn takes_part(&self, point: Point) -> bool {
        match point {
            Point::Filter => !self.kept.is_empty(),
            _ => self.weight != 0 || self.scarce.is_some(),
        }
    }

    fn reads(&self) -> Reads {
        Reads { strategy: self.weight != 0, ..Reads::default() }
    }
}

impl Build for StrategyFit {
    fn build(setup: &mut Setup<'_>) -> Self {
        let arguments = setup.arguments;
        let mut plugin = Self {
            weight: arguments.int("resourceStrategyFitWeight"),
            exact: Vec::new(),
            prefixes: Vec::new(),
            scarce: Scarce::new(arguments.map("sra"), setup.names),
            kept: Kept::all(arguments.map("proportional"), setup.names),
        };
        let resources = arguments.map("resources");
        match arguments.given("resources") {
            None => {
                let terms = [(Dim::CPU, "cpu"), (Dim::MEMORY, "memory")];
                plugin
                    .exact
                    .extend(terms.map(|(dim, name)| (dim, MeanTerm::of(resources.map(name)))));
            }
            Some(_) => {
                for (name, _) in resources.all_given() {
                    plugin.resource(name, resources.map(name), setup.names);
                }
            }
        }
        plugin.exact.sort_by_key(|entry| entry.0);
        plugin.prefixes.sort_by_key(|entry| std::cmp::Reverse(entry.0.len()));
        plugin
    }
}

impl FilterPlugin for StrategyFit {
    fn filter(&self, pairing: &Pairing<'_>, exclusions: &mut [Exclusion]) {
        let (request, nodes) = (&pairing.class.request, &pairing.nodes);
        if self.kept.iter().any(|kept| request.get(kept.device) > 0) {
            return;
        }
        let (cpu, memory) = (request.get(Dim::CPU), request.get(Dim::MEMORY));
        for (row, exclusion) in exclusions.iter_mut().enumerate() {
            for kept in &self.kept {
                let devices = room(nodes, row, kept.device);
                let cpus = room(nodes, row, Dim::CPU).map(|idle| idle - cpu);
                let memories = room(nodes, row, Dim::MEMORY).map(|idle| idle - memory);
                if kept.is_short(devices[0], cpus[0], memories[0]) {
                    exclusion.raise_now(Obstacle::Proportional);
                }
                if kept.is_short(devices[1], cpus[1], memories[1]) {
                    exclusion.raise_later(Obstacle::Proportional);
                }
            }
        }
    }
}

impl ScorePlugin for StrategyFit {
    fn score(&self, pairing: &Pairing<'_>, _scale: ScoreScale, scores: &mut [i64]) {
        let (class, names) = (pairing.class, pairing.cluster_facts.names);
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
