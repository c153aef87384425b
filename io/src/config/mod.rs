//! The configuration file: Volcano's format in full, KAI's, and the sections `schedule` and `pipeline`
//! of our own.
//!
//! Volcano skips what it does not know and goes on with defaults; a typing error then shows up weeks
//! later as a job that was not scheduled as intended. Here every key, name and value is checked, all
//! errors of a file are reported together, and what is valid but without effect is a warning.
//!
//! Reading order: the file becomes a `tree` of values with places, `reader` walks it, one module a
//! section (`actions`, `tiers`, `schedule`, `pipeline`, `metrics`) checks it against the [`Registry`], and
//! [`advice`] says what a valid policy leaves out, [`words`] what it means.

pub mod error;
pub mod flags;
pub mod advice;
pub mod words;
mod conflicts;
mod tree;
mod reader;
mod nearest;
mod kai;
pub mod params;
mod shard;
mod arguments;
mod gang_aware;
mod actions;
mod tiers;
mod schedule;
mod pipeline;
pub mod sharding;
mod metrics;
mod usage_db;
pub(crate) mod time_zone;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod tests_docs;

use std::path::Path;

use muster_core::config::{Dialect, PipelineConfig, Tuning, View, boolean, duration};
use muster_core::policy::{Clock, Registry, SchedulerConfig};

pub use self::error::{ConfigError, ConfigErrors, Hint, Problem};
use self::metrics::READERS as LOAD_READERS;
pub use self::metrics::{Certificates, Elasticsearch, LoadServer, LoadSource};
pub use self::tree::Place;
pub(crate) use self::usage_db::parse_address;
pub use self::usage_db::{UsageAddress, UsageSeries, UsageSource, describe_window};

use crate::extender;

use self::gang_aware::GangAware;
use self::params::Params;
use self::reader::{Field, Reader};
use self::tree::{Node, Value};
use self::usage_db::UsageDb;

/// What holds without a file: Volcano's built-in configuration.
pub const DEFAULT_TEXT: &str = "\
actions: \"enqueue, allocate, backfill\"
tiers:
- plugins:
  - name: priority
  - name: gang
  - name: conformance
- plugins:
  - name: overcommit
  - name: drf
  - name: predicates
  - name: proportion
  - name: nodeorder
";

/// The sections of the file.
const SECTIONS: [&str; 7] =
    ["actions", "tiers", "configurations", "metrics", "schedule", "pipeline", "sharding"];

/// A configuration that was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Parsed {
    /// What the cycle is built from.
    pub config: SchedulerConfig,
    /// Where the load of nodes is read on a real cluster, if anywhere.
    pub load_source: Option<LoadSource>,
    /// Who knows, on a real cluster, what queues used of late, if anybody outside does.
    pub usage_source: Option<UsageSource>,
    /// What is valid but has no effect, or leaves out what people rely on; one sentence each. To be
    /// shown at every start.
    pub warnings: Vec<String>,
}

impl Parsed {
    /// Says so if plugins read the load of nodes and no source of it is named: on a real cluster they
    /// then know nothing.
    pub fn missing_load_source(&self) -> Option<String> {
        let plugins = self.config.tiers.iter().flatten().map(|plugin| plugin.spec.name);
        let mut readers = plugins.filter(|name| LOAD_READERS.contains(name));
        let first = readers.next().filter(|_| self.load_source.is_none())?;
        Some(format!("{first} knows the load of no node: metrics names no source of it"))
    }
}

/// What a configuration of this program may name: all the core has, and the plugin that asks a server
/// outside, which the core cannot.
pub fn registry() -> Registry {
    let all = Registry::standard().with(&extender::SPEC);
    all.expect("the core has no plugin of that name, which a test checks")
}

/// Reads a configuration that may name what the registry has. `source_name` is the file's name for
/// messages.
pub fn parse(registry: &Registry, source_name: &str, text: &str) -> Result<Parsed, ConfigErrors> {
    parse_with(registry, &Params::default(), source_name, text)
}

/// The same with parameters that count before those the text has.
pub fn parse_with(
    registry: &Registry,
    params: &Params,
    source_name: &str,
    text: &str,
) -> Result<Parsed, ConfigErrors> {
    let root = tree::read(text).map_err(|error| syntax_errors(source_name, &error))?;
    let is_shard = shard::is_shard(&root);
    if let Some((at, kind)) = object_kind(&root).filter(|_| !is_shard) {
        let problem = Problem::KubernetesObject { kind: kind.to_owned() };
        return Err(whole_file(source_name.to_owned(), at, problem));
    }
    let dialect = if is_shard { Dialect::Kai } else { kai::dialect(&root) };
    let registry = &registry.speaking(dialect);
    let mut reader = Reader::new(source_name, registry);
    let read =
        if is_shard { read_shard(&mut reader, &root) } else { read_document(&mut reader, &root) };
    let (Read { mut config, load_source, usage_source, params: own }, mut warnings) =
        reader.finish(read)?;
    warnings.extend(params.over(&own).apply(&mut config));
    warnings.extend(advice::warnings(&config));
    warnings.extend(metrics::warnings(&config, load_source.as_ref()));
    warnings.extend(usage_db::warnings(&config, usage_source.as_ref()));
    Ok(Parsed { config, load_source, usage_source, warnings })
}

/// Reads a configuration file.
pub fn load(registry: &Registry, path: &Path) -> Result<Parsed, ConfigErrors> {
    parse(registry, &path.display().to_string(), &text_of(path)?)
}

/// The text of a configuration file.
pub(crate) fn text_of(path: &Path) -> Result<String, ConfigErrors> {
    std::fs::read_to_string(path).map_err(|error| {
        let problem = Problem::Unreadable { message: error.to_string() };
        whole_file(path.display().to_string(), Place::default(), problem)
    })
}

/// The configuration that holds without a file.
pub fn default_config() -> Parsed {
    parse(&registry(), "built-in configuration", DEFAULT_TEXT)
        .expect("the built-in text is valid, which a test checks")
}

/// What kind of object the document is, if it is one: people pass the `ConfigMap` that holds their
/// configuration, and an error for each of its keys would tell them nothing.
fn object_kind(root: &Node) -> Option<(Place, &str)> {
    let Value::Map(entries) = &root.value else { return None };
    let find = |key: &str| entries.iter().find(|entry| entry.key == key);
    find("apiVersion")?;
    let kind = find("kind")?;
    let Value::Text(name) = &kind.node.value else { return None };
    Some((kind.key_at, name))
}

/// What a file says.
struct Read {
    config: SchedulerConfig,
    load_source: Option<LoadSource>,
    usage_source: Option<UsageSource>,
    /// Parameters of the process that the text has.
    params: Params,
}

fn read_shard(reader: &mut Reader<'_>, root: &Node) -> Read {
    let shard::Resolved { actions, plugins, params, usage } = shard::read(reader, root);
    let (usage_source, usage_record) = UsageDb::split(usage);
    let config = SchedulerConfig {
        actions,
        tiers: kai::one_tier(reader.registry, Some(plugins)),
        tuning: Tuning::default(),
        pipeline: of_dialect(PipelineConfig::default(), Dialect::Kai),
        sharding: None,
        usage_record,
        view: View::default(),
        clock: Clock::default(),
        dialect: Dialect::Kai,
    };
    Read { config, load_source: None, usage_source, params }
}

/// How reservations are kept where a file of that dialect says nothing of pods that are stuck.
fn of_dialect(pipeline: PipelineConfig, dialect: Dialect) -> PipelineConfig {
    let stuck_after_ms = (dialect == Dialect::Kai).then_some(kai::STUCK_AFTER_MS);
    PipelineConfig { stuck_after_ms, ..pipeline }
}

fn read_document(reader: &mut Reader<'_>, root: &Node) -> Read {
    let entries = reader.map(root, Field::Root);
    let find = |name: &'static str| {
        entries
            .iter()
            .find(|entry| entry.key == name)
            .map(|entry| (&entry.node, Field::Key(&Field::Root, name)))
    };
    let dialect = reader.registry.dialect();
    let of_kai = if dialect == Dialect::Kai { &kai::SECTIONS[..] } else { &[] };
    let known = |key: &str| SECTIONS.contains(&key) || of_kai.contains(&key);
    for entry in entries.iter().filter(|entry| !known(&entry.key)) {
        let hint = nearest::hint(&entry.key, SECTIONS.iter().chain(of_kai).copied());
        let problem = Problem::UnknownKey { key: entry.key.clone(), hint };
        reader.error(entry.key_at, Field::Key(&Field::Root, &entry.key), problem);
    }
    let mut gang_aware = GangAware::default();
    let tiers = find("tiers")
        .map(|(node, field)| tiers::read(reader, node, field, &mut gang_aware))
        .unwrap_or_default();
    let mut configured = find("configurations")
        .map(|(node, field)| actions::read_configurations(reader, node, field))
        .unwrap_or_default();
    gang_aware.merge(reader, &mut configured);
    if let Some((node, field)) = find("queueDepthPerAction") {
        kai::read_depths(reader, node, field, &mut configured);
    }
    let usage = find("usageDBConfig").and_then(|(node, field)| usage_db::read(reader, node, field));
    let (usage_source, usage_record) = UsageDb::split(usage);
    let mut specs = Vec::new();
    if let Some((node, field)) = find("actions") {
        specs = actions::read_line(reader, node, field);
    } else if dialect == Dialect::Kai {
        specs = kai::default_actions();
    } else if matches!(root.value, Value::Map(_) | Value::Null) {
        let advice = "write for example actions: \"enqueue, allocate, backfill\"";
        reader.error(Place::default(), "actions", Problem::Missing { advice });
    }
    let actions = actions::assemble(reader, &specs, &configured);
    let load_source = find("metrics").and_then(|(node, field)| metrics::read(reader, node, field));
    let tuning = find("schedule")
        .map(|(node, field)| schedule::read(reader, node, field))
        .unwrap_or_default();
    let pipeline = find("pipeline")
        .map(|(node, field)| pipeline::read(reader, node, field))
        .unwrap_or_default();
    let pipeline = of_dialect(pipeline, dialect);
    let params =
        find("args").map(|(node, field)| params::read(reader, node, field)).unwrap_or_default();
    let sharding = find("sharding").and_then(|(node, field)| sharding::read(reader, node, field));
    let tiers = match dialect {
        Dialect::Volcano => tiers,
        Dialect::Kai => {
            let given = find("tiers").map(|_| tiers.into_iter().flatten().collect());
            kai::one_tier(reader.registry, given)
        }
    };
    let config = SchedulerConfig {
        actions,
        tiers,
        tuning,
        pipeline,
        sharding,
        usage_record,
        view: View::default(),
        clock: Clock::default(),
        dialect,
    };
    Read { config, load_source, usage_source, params }
}

fn syntax_errors(source_name: &str, error: &serde_saphyr::Error) -> ConfigErrors {
    let error = error.without_snippet();
    let at = error.location().map(Place::of).unwrap_or_default();
    let problem = if let serde_saphyr::Error::DuplicateMappingKey { key: Some(key), .. } = error {
        Problem::DuplicateKey { key: key.clone() }
    } else {
        // The parser ends its text with the place, which already stands in front of ours.
        let text = error.render_with_formatter(&serde_saphyr::UserMessageFormatter);
        let suffix = format!(" at line {}, column {}", at.line, at.column);
        let message = text.strip_suffix(&suffix).unwrap_or(&text).to_owned();
        Problem::Syntax { message }
    };
    whole_file(source_name.to_owned(), at, problem)
}

fn whole_file(source_name: String, at: Place, problem: Problem) -> ConfigErrors {
    let error = ConfigError { at, field: String::new(), problem };
    ConfigErrors { source_name, errors: vec![error] }
}
