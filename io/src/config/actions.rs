//! The `actions` line and the `configurations` section: what runs, in which order, with which
//! arguments.

use std::collections::BTreeMap;

use muster_core::config::{ActionConfig, ActionSpec, Arguments};

use super::error::Problem;
use super::reader::{Field, Reader};
use super::tree::{Entry, Node, Place, Value};
use super::{arguments, nearest};

/// Arguments given to an action, and where.
pub(super) struct Configured {
    pub(super) arguments: Arguments,
    pub(super) at: Place,
    pub(super) field: String,
}

/// Reads the `actions` line: names with commas between them.
pub(super) fn read_line(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
) -> Vec<&'static ActionSpec> {
    let text = match &node.value {
        Value::Text(text) => text.as_str(),
        Value::Null => "",
        _ => {
            let expected = "one text with commas, such as \"enqueue, allocate, backfill\"";
            reader.wrong_type(node, field, expected);
            return Vec::new();
        }
    };
    if text.trim().is_empty() {
        reader.error(node.at, field, Problem::NoActions);
        return Vec::new();
    }
    let mut actions = Vec::new();
    for name in text.split(',').map(str::trim) {
        if let Some(spec) = reader.registry.action(name) {
            actions.push(spec);
        } else if name.is_empty() {
            reader.error(node.at, field, Problem::EmptyActionName);
        } else {
            let problem = unknown_action(reader, name);
            reader.error(node.at, field, problem);
        }
    }
    actions
}

/// Reads the `configurations` section.
pub(super) fn read_configurations(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
) -> BTreeMap<&'static str, Configured> {
    let mut configured = BTreeMap::new();
    for (index, item) in reader.list(node, field).iter().enumerate() {
        read_configuration(reader, item, Field::Item(&field, index), &mut configured);
    }
    configured
}

fn read_configuration(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
    configured: &mut BTreeMap<&'static str, Configured>,
) {
    let entries = reader.map(node, field);
    for entry in entries {
        if !matches!(entry.key.as_str(), "name" | "arguments") {
            let hint = nearest::hint(&entry.key, ["name", "arguments"]);
            let problem = Problem::UnknownKey { key: entry.key.clone(), hint };
            reader.error(entry.key_at, Field::Key(&field, &entry.key), problem);
        }
    }
    let find = |key: &str| entries.iter().find(|entry| entry.key == key);
    let Some(named) = find("name") else {
        if matches!(node.value, Value::Map(_) | Value::Null) {
            let advice = "write `name:` and the action's name";
            reader.error(node.at, Field::Key(&field, "name"), Problem::Missing { advice });
        }
        return;
    };
    let Some(spec) = read_name(reader, named, Field::Key(&field, "name")) else { return };
    let given = find("arguments").map_or_else(Arguments::default, |entry| {
        let here = Field::Key(&field, "arguments");
        let entries = reader.map(&entry.node, here);
        arguments::read(reader, entries, here, spec.name, spec.arguments, |_| false)
    });
    if let Some(first) = configured.get(spec.name) {
        let (name, first_line) = (spec.name.to_owned(), first.at.line);
        let problem = Problem::DuplicateConfiguration { name, first_line };
        reader.error(named.node.at, Field::Key(&field, "name"), problem);
        return;
    }
    let here = Configured { arguments: given, at: named.node.at, field: field.to_string() };
    configured.insert(spec.name, here);
}

fn read_name(
    reader: &mut Reader<'_>,
    entry: &Entry,
    field: Field<'_>,
) -> Option<&'static ActionSpec> {
    let name = reader.text(&entry.node, field)?;
    let spec = reader.registry.action(name);
    if spec.is_none() {
        let problem = unknown_action(reader, name);
        reader.error(entry.node.at, field, problem);
    }
    spec
}

/// Puts actions and arguments together, and says which arguments belong to no action that runs.
pub(super) fn assemble(
    reader: &mut Reader<'_>,
    actions: &[&'static ActionSpec],
    configured: &BTreeMap<&'static str, Configured>,
) -> Vec<ActionConfig> {
    for (name, given) in configured {
        if !actions.iter().any(|spec| spec.name == *name) {
            let text = format!("has no effect: {name} is not among the actions");
            reader.warn(given.at, &given.field, text);
        }
    }
    let arguments = |name| configured.get(name).map(|given| given.arguments.clone());
    actions
        .iter()
        .map(|spec| ActionConfig { spec, arguments: arguments(spec.name).unwrap_or_default() })
        .collect()
}

/// Actions that files for old versions of Volcano have; today's refuses the whole file for them.
const REMOVED: [&str; 2] = ["elect", "reserve"];

fn unknown_action(reader: &Reader<'_>, name: &str) -> Problem {
    if let Some(name) = REMOVED.into_iter().find(|removed| *removed == name) {
        return Problem::RemovedAction { name };
    }
    let hint = nearest::hint(name, reader.registry.actions().map(|spec| spec.name));
    Problem::UnknownAction { name: name.to_owned(), hint }
}
