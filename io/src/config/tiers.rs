//! The `tiers` section: which plugins decide, in which order, with which switches and arguments.

use std::collections::BTreeMap;

use muster_core::config::{Arguments, Dialect, Gate, Gates};
use muster_core::policy::{BadArgument, PluginConfig, PluginSpec};

use super::error::Problem;
use super::gang_aware::GangAware;
use super::reader::{Field, Reader};
use super::tree::{Entry, Node, Place, Value};
use super::{arguments, flags, kai, nearest};

/// Reads all tiers; switches for gang-aware eviction found on the way go to `gang_aware`.
pub(super) fn read(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
    gang_aware: &mut GangAware,
) -> Vec<Vec<PluginConfig>> {
    let mut seen = BTreeMap::new();
    let mut tiers = Vec::new();
    for (index, tier) in reader.list(node, field).iter().enumerate() {
        tiers.push(read_tier(reader, tier, Field::Item(&field, index), &mut seen, gang_aware));
    }
    tiers
}

fn read_tier(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
    seen: &mut BTreeMap<&'static str, Place>,
    gang_aware: &mut GangAware,
) -> Vec<PluginConfig> {
    let mut plugins = Vec::new();
    for entry in reader.map(node, field) {
        let here = Field::Key(&field, &entry.key);
        match entry.key.as_str() {
            "plugins" => {
                for (index, plugin) in reader.list(&entry.node, here).iter().enumerate() {
                    let item = Field::Item(&here, index);
                    plugins.extend(read_plugin(reader, plugin, item, seen, gang_aware));
                }
            }
            "arguments" => {
                for argument in reader.map(&entry.node, here) {
                    gang_aware.read_of_tier(reader, argument, Field::Key(&here, &argument.key));
                }
            }
            _ => {
                let hint = nearest::hint(&entry.key, ["plugins", "arguments"]);
                let problem = Problem::UnknownKey { key: entry.key.clone(), hint };
                reader.error(entry.key_at, here, problem);
            }
        }
    }
    refuse_two_queue_orders(reader, node.at, field, &plugins);
    plugins
}

/// Volcano refuses such a file too: both would decide the order of queues in the same place.
fn refuse_two_queue_orders(
    reader: &mut Reader<'_>,
    at: Place,
    field: Field<'_>,
    plugins: &[PluginConfig],
) {
    let hierarchy = plugins
        .iter()
        .any(|plugin| plugin.spec.name == "drf" && plugin.gates.is_open(Gate::Hierarchy));
    if hierarchy && plugins.iter().any(|plugin| plugin.spec.name == "proportion") {
        reader.error(at, field, Problem::HierarchyWithProportion);
    }
}

fn read_plugin(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
    seen: &mut BTreeMap<&'static str, Place>,
    gang_aware: &mut GangAware,
) -> Option<PluginConfig> {
    let entries = reader.map(node, field);
    let gates = read_flags(reader, entries, field);
    let Some(named) = entries.iter().find(|entry| entry.key == "name") else {
        // A map that is none has been reported already.
        if matches!(node.value, Value::Map(_) | Value::Null) {
            let advice = "write `name:` and the plugin's name";
            reader.error(node.at, Field::Key(&field, "name"), Problem::Missing { advice });
        }
        return None;
    };
    let spec = read_name(reader, named, Field::Key(&field, "name"), seen)?;
    let mut plugin = PluginConfig { spec, gates, arguments: Arguments::default() };
    if let Some(given) = entries.iter().find(|entry| entry.key == "arguments") {
        let here = Field::Key(&field, "arguments");
        let own = reader.map(&given.node, here);
        for entry in own.iter().filter(|entry| GangAware::is_key(&entry.key)) {
            gang_aware.read(reader, entry, Field::Key(&here, &entry.key));
        }
        plugin.arguments =
            arguments::read(reader, own, here, spec.name, spec.arguments, GangAware::is_key);
        check_arguments(reader, given, here, &plugin);
    }
    Some(plugin)
}

/// Has the plugin itself say what is wrong with its arguments.
pub(super) fn check_arguments(
    reader: &mut Reader<'_>,
    given: &Entry,
    field: Field<'_>,
    plugin: &PluginConfig,
) {
    let Err(BadArgument { key, problem }) = (plugin.spec.check)(plugin.values()) else { return };
    let entries = reader.map(&given.node, field);
    let at = entries.iter().find(|entry| entry.key == key).map_or(given.key_at, |own| own.node.at);
    reader.error(at, Field::Key(&field, &key), Problem::BadArgument { problem });
}

fn read_name(
    reader: &mut Reader<'_>,
    entry: &Entry,
    field: Field<'_>,
    seen: &mut BTreeMap<&'static str, Place>,
) -> Option<&'static PluginSpec> {
    let name = reader.text(&entry.node, field)?;
    let Some(spec) = reader.registry.plugin(name) else {
        let hint = nearest::hint(name, reader.registry.plugins().map(|spec| spec.name));
        let problem = Problem::UnknownPlugin { name: name.to_owned(), hint };
        reader.error(entry.node.at, field, problem);
        return None;
    };
    if let Some(first) = seen.get(spec.name) {
        let problem = Problem::DuplicatePlugin { name: name.to_owned(), first_line: first.line };
        reader.error(entry.node.at, field, problem);
    } else {
        seen.insert(spec.name, entry.node.at);
    }
    Some(spec)
}

fn read_flags(reader: &mut Reader<'_>, entries: &[Entry], field: Field<'_>) -> Gates {
    let mut gates = Gates::default();
    let mut seen: BTreeMap<Gate, Place> = BTreeMap::new();
    for entry in entries.iter().filter(|entry| !matches!(entry.key.as_str(), "name" | "arguments"))
    {
        let here = Field::Key(&field, &entry.key);
        if flags::REMOVED.contains(&entry.key.as_str()) {
            let why = "has no effect: Volcano no longer has namespaces take turns, nor does this";
            reader.warn(entry.key_at, here, why);
            continue;
        }
        if reader.registry.dialect() == Dialect::Kai && kai::is_idle_switch(&entry.key) {
            reader.warn(
                entry.key_at,
                here,
                "has no effect: KAI takes such switches and reads none",
            );
            continue;
        }
        let Some(gate) = flags::gate(&entry.key) else {
            reader.error(entry.key_at, here, unknown_key(&entry.key));
            continue;
        };
        if let Some(first) = seen.insert(gate, entry.key_at) {
            let problem = Problem::DuplicateFlag { key: entry.key.clone(), first_line: first.line };
            reader.error(entry.key_at, here, problem);
        }
        match entry.node.value {
            Value::Bool(true) => gates.open(gate),
            Value::Bool(false) => gates.close(gate),
            Value::Text(_) => {
                reader.wrong_type_with(&entry.node, here, "true or false", "; remove the quotes");
            }
            _ => reader.wrong_type(&entry.node, here, "true or false"),
        }
    }
    gates
}

fn unknown_key(key: &str) -> Problem {
    let known = ["name", "arguments"].into_iter().chain(flags::FLAGS.iter().map(|flag| flag.key));
    let hint = nearest::hint(key, known);
    let key = key.to_owned();
    if key.to_lowercase().starts_with("enable") {
        Problem::UnknownFlag { key, hint }
    } else {
        Problem::UnknownKey { key, hint }
    }
}
