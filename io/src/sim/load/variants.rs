//! Variants: one file, several runs that differ in a few keys of the configuration.
//!
//! A variant names what it changes in the words of the configuration file. The changed configuration
//! is written out as a text, so that the code that runs a Scenario need not know about variants.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::decode::expected_one_of;
use super::error::{FieldError, LoadError, LoadErrors};
use crate::config::DEFAULT_TEXT;
use crate::sim::expectation::Expectation;
use crate::sim::scenario::{Scenario, Variant};

/// An entry of `spec.variants`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Written {
    pub(super) name: String,
    actions: Option<String>,
    #[serde(default)]
    plugins: Vec<Change>,
    #[serde(default)]
    configurations: Vec<Change>,
    #[serde(default)]
    pub(super) expect: Vec<Value>,
}

/// New values for an entry of the configuration that has this name.
#[derive(Deserialize)]
struct Change {
    name: String,
    #[serde(flatten)]
    keys: Map<String, Value>,
}

/// A variant once read.
pub(super) struct Read {
    pub(super) variant: Variant,
    /// The configuration as changed; `None` where it stays as it is.
    pub(super) config: Option<String>,
    /// What must hold beside the expectations all variants share.
    pub(super) expect: Vec<Expectation>,
}

/// Checks that names can be told apart, and can be written on a command line.
pub(super) fn check_names(written: &[Written]) -> Vec<FieldError> {
    let mut seen = BTreeSet::new();
    let mut errors = Vec::new();
    for (at, Written { name, .. }) in written.iter().enumerate() {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        let problem = if name.is_empty() || !name.bytes().all(plain) {
            format!("{name:?} is not a variant's name; expected lower-case letters, digits and '-'")
        } else if !seen.insert(name) {
            format!("{name:?} is the name of an earlier variant too")
        } else {
            continue;
        };
        errors.push(FieldError::new(format!("spec.variants[{at}].name"), problem));
    }
    errors
}

impl Written {
    /// The configuration of this variant, if it differs from the Scenario's own. `path` is where the
    /// variant stands, for messages.
    pub(super) fn config(
        &self,
        own: Option<&str>,
        path: &str,
    ) -> Result<Option<String>, FieldError> {
        if self.actions.is_none() && self.plugins.is_empty() && self.configurations.is_empty() {
            return Ok(None);
        }
        let mut root = read(own.unwrap_or(DEFAULT_TEXT))?;
        if let Some(actions) = &self.actions {
            root.insert("actions".to_owned(), actions.as_str().into());
        }
        for (at, change) in self.plugins.iter().enumerate() {
            change_plugin(&mut root, change)
                .map_err(|error| error.within(&format!("{path}.plugins[{at}]")))?;
        }
        for change in &self.configurations {
            change_configuration(&mut root, change);
        }
        Ok(Some(Value::Object(root).to_string()))
    }
}

/// The configuration as a map, read as the scheduler reads it.
fn read(text: &str) -> Result<Map<String, Value>, FieldError> {
    let options = serde_saphyr::options! { with_snippet: false };
    serde_saphyr::from_str_with_options(text, options).map_err(|error| {
        let error = error.without_snippet();
        FieldError::new("spec.config", format!("cannot be changed by variants: {error}"))
    })
}

fn change_plugin(root: &mut Map<String, Value>, change: &Change) -> Result<(), FieldError> {
    let mut names = Vec::new();
    for plugin in root.get_mut("tiers").into_iter().flat_map(plugins_of) {
        match plugin.get("name").and_then(Value::as_str) {
            Some(name) if name == change.name => {
                merge(plugin, &change.keys);
                return Ok(());
            }
            name => names.extend(name.map(str::to_owned)),
        }
    }
    let known: Vec<&str> = names.iter().map(String::as_str).collect();
    let expected = expected_one_of(&change.name, &known);
    Err(FieldError::new(
        "name",
        format!("{:?} is in no tier of spec.config; {expected}", change.name),
    ))
}

/// The plugins of all tiers. What has another shape is left for the reader of the configuration to
/// complain about.
fn plugins_of(tiers: &mut Value) -> impl Iterator<Item = &mut Map<String, Value>> {
    let tiers = tiers.as_array_mut().into_iter().flatten();
    let lists = tiers.filter_map(|tier| tier.get_mut("plugins")?.as_array_mut());
    lists.flatten().filter_map(Value::as_object_mut)
}

fn change_configuration(root: &mut Map<String, Value>, change: &Change) {
    let list = root.entry("configurations").or_insert_with(|| Value::Array(Vec::new()));
    if list.is_null() {
        *list = Value::Array(Vec::new());
    }
    let Value::Array(list) = list else { return };
    let named = |entry: &&mut Map<String, Value>| {
        entry.get("name").and_then(Value::as_str) == Some(&change.name)
    };
    if let Some(entry) = list.iter_mut().filter_map(Value::as_object_mut).find(named) {
        return merge(entry, &change.keys);
    }
    let mut entry = Map::from_iter([("name".to_owned(), change.name.as_str().into())]);
    merge(&mut entry, &change.keys);
    list.push(Value::Object(entry));
}

/// Puts keys into an entry: what is a map on both sides is merged, anything else replaced.
fn merge(entry: &mut Map<String, Value>, keys: &Map<String, Value>) {
    for (key, value) in keys {
        match (entry.get_mut(key), value) {
            (Some(Value::Object(old)), Value::Object(new)) => merge(old, new),
            _ => drop(entry.insert(key.clone(), value.clone())),
        }
    }
}

/// The runs a Scenario stands for: itself, or one for each variant.
pub(super) fn expand(scenario: Scenario, variants: Vec<Read>) -> Vec<Scenario> {
    if variants.is_empty() {
        return vec![scenario];
    }
    let run = |read: Read| {
        let mut run = scenario.clone();
        run.name = format!("{} ({})", scenario.name, read.variant.name);
        run.config = read.config.or(run.config);
        run.expect.extend(read.expect);
        run.variant = Some(read.variant);
        run
    };
    variants.into_iter().map(run).collect()
}

/// The run of that variant.
pub(super) fn choose(runs: Vec<Scenario>, name: &str) -> Result<Scenario, LoadErrors> {
    let name_of = |run: &Scenario| run.variant.as_ref().map(|variant| variant.name.clone());
    let names: Vec<String> = runs.iter().filter_map(name_of).collect();
    let file = runs.first().map(|run| run.source.clone()).unwrap_or_default();
    let mut runs = runs.into_iter();
    runs.find(|run| name_of(run).as_deref() == Some(name)).ok_or_else(|| {
        let known: Vec<&str> = names.iter().map(String::as_str).collect();
        let problem = match known[..] {
            [] => format!("has no variants, so none is called {name:?}"),
            _ => format!("{name:?} is not a variant; {}", expected_one_of(name, &known)),
        };
        let field = "spec.variants".to_owned();
        LoadError { file, document: None, line: None, field, problem }.into()
    })
}
