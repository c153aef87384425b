//! KAI's `usageDBConfig` section: from where it is known what queues used of late, and what of it counts.
//!
//! `clientType: prometheus` asks a Prometheus, on a real cluster. `clientType: record` is our own: the
//! scheduler writes down itself what queues hold over time.

mod params;

use std::time::Duration;

use http::Uri;
use muster_core::config::{UsageRecording, UsageSpan, UsageWindow};
use muster_core::policy::SchedulerConfig;

use self::params::UsageParams;
use super::error::Problem;
use super::nearest;
use super::reader::{Field, Reader};
use super::tree::{Entry, Node, Value, quoted};

const KEYS: [&str; 4] = ["clientType", "connectionString", "connectionStringEnvVar", "usageParams"];
/// `extraParams` of the same section, which older files have beside `usageParams`.
const EXTRA: &str = "extraParams";

const PROMETHEUS: &str = "prometheus";
const RECORD: &str = "record";
/// What KAI's own tests name.
const FAKES: [&str; 2] = ["fake", "fake-with-history"];

/// What the section asks for.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum UsageDb {
    /// Somebody else knows.
    Source(Box<UsageSource>),
    /// It is written down here.
    Record(UsageRecording),
}

impl UsageDb {
    /// Who else knows, and how it is written down here.
    pub(super) fn split(asked: Option<Self>) -> (Option<UsageSource>, Option<UsageRecording>) {
        match asked {
            Some(Self::Source(source)) => (Some(*source), None),
            Some(Self::Record(recording)) => (None, Some(recording)),
            None => (None, None),
        }
    }
}

/// A Prometheus that knows what queues used of late, on a real cluster.
#[derive(Clone, Debug, PartialEq)]
pub struct UsageSource {
    /// Where it is.
    pub address: UsageAddress,
    /// What of past use counts.
    pub window: UsageWindow,
    /// How often it is asked.
    pub every: Duration,
    /// After how long what it said last is old: it still counts, with a warning.
    pub stale_after: Duration,
    /// How long the first decision waits for its first answer.
    pub wait_at_most: Duration,
    /// How long all answers of one reading may take.
    pub answer_within: Duration,
    /// How far samples are apart.
    pub resolution: Duration,
    /// The series of cpu, memory and GPUs.
    pub series: [UsageSeries; 3],
}

/// Where a Prometheus is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageAddress {
    /// There.
    Given(Uri),
    /// Where this variable of the environment says.
    Variable(String),
}

/// The queries one resource is known by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageSeries {
    /// What it is called in messages.
    pub resource: &'static str,
    /// What each queue holds, by the label `queue_name`.
    pub held: String,
    /// What there is.
    pub there: String,
}

impl UsageSource {
    /// What is asked where, for people.
    pub fn describe(&self) -> String {
        let at = match &self.address {
            UsageAddress::Given(address) => without_password(address),
            UsageAddress::Variable(name) => format!("the address in {name}"),
        };
        let window = describe_window(&self.window);
        format!("Prometheus at {at}, every {} ms: {window}", self.every.as_millis())
    }
}

/// An address as it may be shown.
fn without_password(address: &Uri) -> String {
    let text = address.to_string();
    match (text.split_once("://"), text.rsplit_once('@')) {
        (Some((scheme, _)), Some((_, host))) => format!("{scheme}://{host}"),
        _ => text,
    }
}

/// What of past use counts, for people.
pub fn describe_window(window: &UsageWindow) -> String {
    let span = match &window.span {
        UsageSpan::Sliding(size) => format!("what was used in the last {size} ms"),
        UsageSpan::Tumbling { size_ms, .. } => {
            format!("what was used since the last window of {size_ms} ms began")
        }
        UsageSpan::Cron(_) => "what was used since the last time cronString names".to_owned(),
    };
    let half = window.half_life_ms.map(|ms| format!(", which counts half after {ms} ms"));
    format!("{span}{}", half.unwrap_or_default())
}

/// Reads the section.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node, field: Field<'_>) -> Option<UsageDb> {
    let entries = reader.map(node, field);
    check_keys(reader, entries, field);
    let find = |key: &str| entries.iter().find(|entry| entry.key == key);
    let kind = client_type(reader, node, find("clientType"), field);
    let params = UsageParams::read(reader, find("usageParams"), find(EXTRA), field);
    let address = address(reader, node, entries, field, kind);
    match kind? {
        Client::Record => {
            params.warn_of_idle(reader);
            Some(UsageDb::Record(params.recording()?))
        }
        Client::Prometheus => Some(UsageDb::Source(Box::new(params.source(address?)?))),
    }
}

fn check_keys(reader: &mut Reader<'_>, entries: &[Entry], field: Field<'_>) {
    for entry in entries.iter().filter(|entry| !KEYS.contains(&&*entry.key) && entry.key != EXTRA) {
        let hint = nearest::hint(&entry.key, KEYS);
        let problem = Problem::UnknownKey { key: entry.key.clone(), hint };
        reader.error(entry.key_at, Field::Key(&field, &entry.key), problem);
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Client {
    Prometheus,
    Record,
}

fn client_type(
    reader: &mut Reader<'_>,
    section: &Node,
    entry: Option<&Entry>,
    field: Field<'_>,
) -> Option<Client> {
    let here = Field::Key(&field, "clientType");
    let Some(entry) = entry else {
        let advice = "write clientType: prometheus, or clientType: record to keep use here";
        reader.error(section.at, here, Problem::Missing { advice });
        return None;
    };
    match reader.text(&entry.node, here)? {
        PROMETHEUS => return Some(Client::Prometheus),
        RECORD => return Some(Client::Record),
        other => {
            let expected = if FAKES.contains(&other) {
                "prometheus or record: this one is a stand-in of KAI's own tests and knows nothing; \
                 record keeps use here, without anybody outside"
            } else {
                "prometheus, or record to keep use here"
            };
            let problem =
                Problem::OutOfRange { expected: expected.to_owned(), found: quoted(other) };
            reader.error(entry.node.at, here, problem);
        }
    }
    None
}

/// Where the Prometheus is: one of the two keys says so.
fn address(
    reader: &mut Reader<'_>,
    section: &Node,
    entries: &[Entry],
    field: Field<'_>,
    kind: Option<Client>,
) -> Option<UsageAddress> {
    let given: Vec<&Entry> = entries
        .iter()
        .filter(|entry| entry.key.starts_with("connectionString") && KEYS.contains(&&*entry.key))
        .filter(|entry| !matches!(&entry.node.value, Value::Null))
        .collect();
    if kind == Some(Client::Record) {
        for entry in given {
            let why = "has no effect: clientType record asks nobody";
            reader.warn(entry.key_at, Field::Key(&field, &entry.key), why);
        }
        return None;
    }
    let here = Field::Key(&field, "connectionString");
    match given.as_slice() {
        [] => {
            let advice = "write for example connectionString: \"http://prometheus:9090\", or the \
                          name of a variable in connectionStringEnvVar";
            reader.error(section.at, here, Problem::Missing { advice });
            None
        }
        [one] if one.key == "connectionString" => {
            let text = reader.text(&one.node, here)?;
            let address = parse_address(text);
            if address.is_none() {
                let expected = "an address such as \"http://prometheus:9090\"".to_owned();
                let found = quoted(text);
                reader.error(one.node.at, here, Problem::OutOfRange { expected, found });
            }
            address.map(UsageAddress::Given)
        }
        [one] => {
            let text = reader.text(&one.node, Field::Key(&field, &one.key))?;
            Some(UsageAddress::Variable(text.to_owned()))
        }
        [_, second, ..] => {
            let expected = "only one of connectionString and connectionStringEnvVar".to_owned();
            let problem = Problem::OutOfRange { expected, found: "both".to_owned() };
            reader.error(second.key_at, Field::Key(&field, &second.key), problem);
            None
        }
    }
}

/// An address of the web.
pub(crate) fn parse_address(text: &str) -> Option<Uri> {
    let is_web = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    text.parse::<Uri>().ok().filter(is_web)
}

/// What is said of past use in vain.
pub(super) fn warnings(config: &SchedulerConfig, source: Option<&UsageSource>) -> Vec<String> {
    let known = source.is_some() || config.usage_record.is_some();
    let divides = config.plugin("proportion");
    let k_value = divides.filter(|plugin| plugin.arguments.get("kValue").is_some());
    let mut said = Vec::new();
    if known && divides.is_none() {
        said.push(
            "usageDBConfig has no effect: proportion, which reads past use, is not among the plugins"
                .to_owned(),
        );
    }
    if let (true, Some(plugin)) = (known, k_value)
        && plugin.values().float("kValue") <= 0.0
    {
        said.push("usageDBConfig has no effect: kValue of proportion is 0".to_owned());
    }
    if !known && k_value.is_some() {
        said.push(
            "kValue of proportion has no effect: nothing is known of past use. usageDBConfig says \
             from where; clientType: record keeps it here"
                .to_owned(),
        );
    }
    said
}

#[cfg(test)]
mod tests;
