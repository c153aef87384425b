//! A `SchedulingShard` of KAI's: the object from which its operator makes the configuration and the flags
//! of one scheduler. Read as a file it is resolved in the same way.
//!
//! Plugins and actions begin with a priority each and are switched on; the object moves them, switches
//! them off or adds others. Arguments that are given replace the defaults as a whole.

use std::collections::BTreeMap;

use muster_core::config::{ActionConfig, ActionSpec, ArgumentValue, Arguments, Gates};
use muster_core::policy::{PluginConfig, PluginSpec};

use super::error::Problem;
use super::params::{self, Params};
use super::reader::{Field, Reader};
use super::tree::{Entry, Node, Value};
use super::usage_db::{self, UsageDb};
use super::{actions, arguments, boolean, kai, nearest, tiers};

/// The kind of such an object, and its API group.
const KIND: &str = "SchedulingShard";
const GROUP: &str = "kai.scheduler";

/// The fields of its `spec`.
const FIELDS: [&str; 9] = [
    "args",
    "placementStrategy",
    "partitionLabelValue",
    "queueDepthPerAction",
    "minRuntime",
    "kValue",
    "usageDBConfig",
    "plugins",
    "actions",
];

/// Plugins that are there without being named, with their priorities: the higher first.
const PLUGINS: [(&str, i64); 20] = [
    ("predicates", 1900),
    ("proportion", 1800),
    ("priority", 1700),
    ("nodeavailability", 1600),
    ("resourcetype", 1500),
    ("podaffinity", 1400),
    ("elastic", 1300),
    ("kubeflow", 1200),
    ("ray", 1100),
    ("subgrouporder", 1000),
    ("taskorder", 900),
    ("nominatednode", 800),
    ("dynamicresources", 700),
    ("minruntime", 600),
    ("topology", 500),
    ("snapshot", 400),
    ("gpupack", 300),
    ("gpuspread", 300),
    ("nodeplacement", 200),
    ("gpusharingorder", 100),
];

/// Actions that are there without being named, likewise.
const ACTIONS: [(&str, i64); 5] = [
    ("allocate", 500),
    ("consolidation", 400),
    ("reclaim", 300),
    ("preempt", 200),
    ("stalegangeviction", 100),
];

/// What the object comes to.
pub(super) struct Resolved {
    pub(super) actions: Vec<ActionConfig>,
    pub(super) plugins: Vec<PluginConfig>,
    pub(super) params: Params,
    pub(super) usage: Option<UsageDb>,
}

/// Is the document such an object?
pub(super) fn is_shard(root: &Node) -> bool {
    let text = |key| match kai::find(root, key).map(|node| &node.value) {
        Some(Value::Text(text)) => text.as_str(),
        _ => "",
    };
    text("kind") == KIND && text("apiVersion").split('/').next() == Some(GROUP)
}

/// Reads the object.
pub(super) fn read(reader: &mut Reader<'_>, root: &Node) -> Resolved {
    let field = Field::Key(&Field::Root, "spec");
    let empty = Node::default();
    let spec = kai::find(root, "spec").unwrap_or(&empty);
    refuse_others(reader, spec, field, &FIELDS);
    let find = |name: &'static str| kai::find(spec, name).map(|node| (node, name));
    let strategy = Strategy::read(reader, find("placementStrategy"), field);
    let mut defaults = Defaults::of(&strategy);
    if let Some((node, name)) = find("kValue") {
        let here = Field::Key(&field, name);
        defaults.give(reader, ("proportion", "kValue"), node, here);
    }
    if let Some((node, name)) = find("minRuntime") {
        read_min_runtime(reader, node, Field::Key(&field, name), &mut defaults);
    }
    let plugins = read_plugins(reader, find("plugins"), field, &mut defaults);
    let actions = read_actions(reader, find("actions"), field, &strategy);
    let mut depths = BTreeMap::new();
    if let Some((node, name)) = find("queueDepthPerAction") {
        kai::read_depths(reader, node, Field::Key(&field, name), &mut depths);
    }
    let actions = actions::assemble(reader, &actions, &depths);
    if actions.is_empty() {
        let at = find("actions").map_or(spec.at, |(node, _)| node.at);
        let found = "none that is enabled".to_owned();
        let problem = Problem::OutOfRange { expected: "an action".to_owned(), found };
        reader.error(at, Field::Key(&field, "actions"), problem);
    }
    let usage = find("usageDBConfig")
        .and_then(|(node, name)| usage_db::read(reader, node, Field::Key(&field, name)));
    let given =
        find("args").map(|(node, name)| params::read(reader, node, Field::Key(&field, name)));
    let params = given.unwrap_or_default().over(&pool(reader, find("partitionLabelValue"), field));
    Resolved { actions, plugins, params, usage }
}

fn refuse_others(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
    known: &'static [&'static str],
) {
    for entry in reader.map(node, field).iter().filter(|entry| !known.contains(&&*entry.key)) {
        let hint = nearest::hint(&entry.key, known.iter().copied());
        let problem = Problem::UnknownKey { key: entry.key.clone(), hint };
        reader.error(entry.key_at, Field::Key(&field, &entry.key), problem);
    }
}

/// The parameter that `partitionLabelValue` is, and it always is: a shard is one of those that divide the
/// cluster.
fn pool(reader: &mut Reader<'_>, given: Option<(&Node, &'static str)>, field: Field<'_>) -> Params {
    let mut params = Params::default();
    let Some(param) = params::param(params::POOL_VALUE) else { return params };
    let empty = Node { value: Value::Text(String::new()), ..Node::default() };
    let (node, name) = given.unwrap_or((&empty, "partitionLabelValue"));
    let here = Field::Key(&field, name);
    let Some(text) = reader.text(node, here) else { return params };
    if let Err(expected) = params.give(param, text) {
        let (expected, found) = (expected.to_owned(), node.value.described());
        reader.error(node.at, here, Problem::OutOfRange { expected, found });
    }
    params
}

/// How pods are placed: packed, or spread.
struct Strategy {
    gpu: &'static str,
    cpu: &'static str,
}

const BINPACK: &str = "binpack";
const SPREAD: &str = "spread";

impl Strategy {
    fn read(
        reader: &mut Reader<'_>,
        given: Option<(&Node, &'static str)>,
        field: Field<'_>,
    ) -> Self {
        let mut strategy = Self { gpu: BINPACK, cpu: BINPACK };
        let Some((node, name)) = given else { return strategy };
        let here = Field::Key(&field, name);
        refuse_others(reader, node, here, &["gpu", "cpu"]);
        for (key, place) in [("gpu", &mut strategy.gpu), ("cpu", &mut strategy.cpu)] {
            let Some(node) = kai::find(node, key) else { continue };
            match &node.value {
                Value::Text(text) if text == BINPACK => *place = BINPACK,
                Value::Text(text) if text == SPREAD => *place = SPREAD,
                value => {
                    let (expected, found) = ("binpack or spread".to_owned(), value.described());
                    let problem = Problem::OutOfRange { expected, found };
                    reader.error(node.at, Field::Key(&here, key), problem);
                }
            }
        }
        strategy
    }

    fn spreads(&self) -> bool {
        self.gpu == SPREAD || self.cpu == SPREAD
    }
}

/// What follows for plugins from other fields.
struct Defaults {
    /// Their arguments.
    arguments: BTreeMap<&'static str, Arguments>,
    /// Those that are not in force unless they are named.
    off: &'static [&'static str],
}

impl Defaults {
    fn of(strategy: &Strategy) -> Self {
        let text = |key: &str, value: &str| (key.to_owned(), ArgumentValue::Text(value.to_owned()));
        let placement = Arguments(vec![text("cpu", strategy.cpu), text("gpu", strategy.gpu)]);
        let off: &[&str] = match strategy.gpu {
            SPREAD => &["gpupack", "gpusharingorder"],
            _ => &["gpuspread"],
        };
        Self { arguments: [("nodeplacement", placement)].into(), off }
    }

    /// Reads an argument that stands in a field of its own.
    fn give(
        &mut self,
        reader: &mut Reader<'_>,
        (plugin, key): (&'static str, &'static str),
        node: &Node,
        field: Field<'_>,
    ) {
        let Some(spec) = reader.registry.plugin(plugin) else { return };
        let Some(spec) = spec.arguments.iter().find(|spec| spec.key == key) else { return };
        if let Some(value) = arguments::value(reader, node, field, spec.kind, spec.default) {
            let given = &mut self.arguments.entry(plugin).or_default().0;
            given.push((key.to_owned(), value));
            given.sort_by(|left, right| left.0.cmp(&right.0));
        }
    }
}

fn read_min_runtime(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
    defaults: &mut Defaults,
) {
    const KEYS: [(&str, &str); 2] = [
        ("preemptMinRuntime", "defaultPreemptMinRuntime"),
        ("reclaimMinRuntime", "defaultReclaimMinRuntime"),
    ];
    refuse_others(reader, node, field, &[KEYS[0].0, KEYS[1].0]);
    for (key, argument) in KEYS {
        if let Some(node) = kai::find(node, key) {
            defaults.give(reader, ("minruntime", argument), node, Field::Key(&field, key));
        }
    }
}

/// A plugin or an action in the making, as it stands in the order.
struct Rank<S> {
    spec: S,
    enabled: bool,
    priority: i64,
    arguments: Arguments,
}

/// What is enabled, the highest priority first and then by name.
fn ordered<S>(ranks: BTreeMap<&'static str, Rank<S>>) -> Vec<Rank<S>> {
    let mut ranks: Vec<_> = ranks.into_values().filter(|rank| rank.enabled).collect();
    // They come by name, and equal ones stay as they are.
    ranks.sort_by_key(|rank| std::cmp::Reverse(rank.priority));
    ranks
}

fn read_plugins(
    reader: &mut Reader<'_>,
    given: Option<(&Node, &'static str)>,
    field: Field<'_>,
    defaults: &mut Defaults,
) -> Vec<PluginConfig> {
    let mut ranks: BTreeMap<&'static str, Rank<&'static PluginSpec>> = BTreeMap::new();
    for (name, priority) in PLUGINS {
        let Some(spec) = reader.registry.plugin(name) else { continue };
        let arguments = defaults.arguments.remove(name).unwrap_or_default();
        let enabled = !defaults.off.contains(&name);
        ranks.insert(name, Rank { spec, enabled, priority, arguments });
    }
    for (entry, here) in entries(reader, given, &field) {
        let Some(spec) = reader.registry.plugin(&entry.key) else {
            let hint = nearest::hint(&entry.key, reader.registry.plugins().map(|spec| spec.name));
            let problem = Problem::UnknownPlugin { name: entry.key.clone(), hint };
            reader.error(entry.key_at, Field::Key(&here, &entry.key), problem);
            continue;
        };
        let new = || Rank { spec, enabled: true, priority: 0, arguments: Arguments::default() };
        let rank = ranks.entry(spec.name).or_insert_with(new);
        let here = Field::Key(&here, &entry.key);
        refuse_others(reader, &entry.node, here, &["enabled", "priority", "arguments"]);
        read_rank(reader, &entry.node, here, rank);
        if let Some(given) = entry_of(&entry.node, "arguments") {
            let here = Field::Key(&here, "arguments");
            let own = reader.map(&given.node, here);
            rank.arguments =
                arguments::read(reader, own, here, spec.name, spec.arguments, |_| false);
            let (gates, arguments) = (Gates::default(), rank.arguments.clone());
            tiers::check_arguments(reader, given, here, &PluginConfig { spec, gates, arguments });
        }
    }
    let plugin = |rank: Rank<&'static PluginSpec>| PluginConfig {
        spec: rank.spec,
        gates: Gates::default(),
        arguments: rank.arguments,
    };
    ordered(ranks).into_iter().map(plugin).collect()
}

fn read_actions(
    reader: &mut Reader<'_>,
    given: Option<(&Node, &'static str)>,
    field: Field<'_>,
    strategy: &Strategy,
) -> Vec<&'static ActionSpec> {
    let mut ranks: BTreeMap<&'static str, Rank<&'static ActionSpec>> = BTreeMap::new();
    for (name, priority) in ACTIONS {
        let Some(spec) = reader.registry.action(name) else { continue };
        // To pack what is to be spread would be work against oneself.
        let enabled = name != "consolidation" || !strategy.spreads();
        ranks.insert(name, Rank { spec, enabled, priority, arguments: Arguments::default() });
    }
    for (entry, here) in entries(reader, given, &field) {
        let Some(spec) = reader.registry.action(&entry.key) else {
            let hint = nearest::hint(&entry.key, reader.registry.actions().map(|spec| spec.name));
            let problem = Problem::UnknownAction { name: entry.key.clone(), hint };
            reader.error(entry.key_at, Field::Key(&here, &entry.key), problem);
            continue;
        };
        let new = || Rank { spec, enabled: true, priority: 0, arguments: Arguments::default() };
        let here = Field::Key(&here, &entry.key);
        refuse_others(reader, &entry.node, here, &["enabled", "priority"]);
        read_rank(reader, &entry.node, here, ranks.entry(spec.name).or_insert_with(new));
    }
    ordered(ranks).into_iter().map(|rank| rank.spec).collect()
}

/// The entries of a map of plugins or actions, each with the field they stand in.
fn entries<'n, 'f>(
    reader: &mut Reader<'_>,
    given: Option<(&'n Node, &'static str)>,
    field: &'f Field<'f>,
) -> Vec<(&'n Entry, Field<'f>)> {
    let Some((node, name)) = given else { return Vec::new() };
    let here = Field::Key(field, name);
    reader.map(node, here).iter().map(|entry| (entry, here)).collect()
}

fn entry_of<'n>(node: &'n Node, key: &str) -> Option<&'n Entry> {
    let Value::Map(entries) = &node.value else { return None };
    entries.iter().find(|entry| entry.key == key)
}

/// Reads `enabled` and `priority`.
fn read_rank<S>(reader: &mut Reader<'_>, node: &Node, field: Field<'_>, rank: &mut Rank<S>) {
    if let Some(node) = kai::find(node, "enabled") {
        match &node.value {
            Value::Bool(enabled) => rank.enabled = *enabled,
            Value::Text(text) if boolean::parse(text).is_some() => {
                rank.enabled = boolean::parse(text) == Some(true);
            }
            _ => reader.wrong_type(node, Field::Key(&field, "enabled"), "true or false"),
        }
    }
    if let Some(node) = kai::find(node, "priority") {
        match &node.value {
            Value::Int(priority) => rank.priority = *priority,
            _ => reader.wrong_type(node, Field::Key(&field, "priority"), "a whole number"),
        }
    }
}

#[cfg(test)]
mod tests;
