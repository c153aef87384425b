//! The `metrics` section: where the load of nodes is read on a real cluster.

use std::time::Duration;

use http::Uri;
use muster_core::config::{boolean, duration};
use muster_core::policy::SchedulerConfig;

use super::error::Problem;
use super::nearest;
use super::reader::{Field, Reader};
use super::tree::{Entry, Node, Value};

const KEYS: [&str; 8] = [
    "type",
    "address",
    "interval",
    "tls.insecureSkipVerify",
    "elasticsearch.index",
    "elasticsearch.username",
    "elasticsearch.password",
    "elasticsearch.hostnameFieldName",
];

const TYPES: [&str; 3] = ["prometheus", "prometheus_adaptor", "elasticsearch"];

/// How often loads are read where the file does not say.
const INTERVAL: Duration = Duration::from_secs(30);

/// Plugins that read the load of nodes.
pub(crate) const READERS: [&str; 2] = ["usage", "rescheduling"];

/// Where the load of nodes is read.
#[derive(Clone, Debug, PartialEq)]
pub struct LoadSource {
    /// Who is asked.
    pub server: LoadServer,
    /// How often.
    pub interval: Duration,
    /// Whether a certificate nobody vouches for is accepted.
    pub certificates: Certificates,
}

/// What is asked of the certificate of a server.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Certificates {
    /// Somebody the system trusts vouches for it.
    #[default]
    Verified,
    /// Nothing.
    Any,
}

/// Who knows the load of nodes.
#[derive(Clone, Debug, PartialEq)]
pub enum LoadServer {
    /// Prometheus, with the series of node exporters.
    Prometheus {
        /// Its address.
        address: Uri,
    },
    /// The custom metrics API of the cluster itself.
    CustomMetrics,
    /// Elasticsearch, with the documents of Metricbeat.
    Elasticsearch(Elasticsearch),
}

/// An Elasticsearch and where its documents are.
#[derive(Clone, Debug, PartialEq)]
pub struct Elasticsearch {
    /// Its address.
    pub address: Uri,
    /// Pattern of indices.
    pub index: String,
    /// Field with the name of the node.
    pub hostname_field: String,
    /// Who asks: name and password.
    pub credentials: Option<(String, String)>,
}

impl LoadSource {
    /// What is read where, for people.
    pub fn describe(&self) -> String {
        let from = match &self.server {
            LoadServer::Prometheus { address } => format!("Prometheus at {address}"),
            LoadServer::CustomMetrics => "the custom metrics API of the cluster".to_owned(),
            LoadServer::Elasticsearch(one) => {
                format!("Elasticsearch at {}, indices {}", one.address, one.index)
            }
        };
        let unverified = match self.certificates {
            Certificates::Verified => "",
            Certificates::Any => ", whatever its certificate",
        };
        format!("{from}, every {} ms{unverified}", self.interval.as_millis())
    }
}

/// The section with what it says of each key.
struct Section<'n> {
    at: &'n Node,
    entries: &'n [Entry],
}

impl Section<'_> {
    /// The text of a key. Volcano takes any scalar as a text here, `tls.insecureSkipVerify: true`
    /// included; nothing is the same as an empty text.
    fn text(&self, key: &str) -> Option<String> {
        let entry = self.entries.iter().find(|entry| entry.key == key)?;
        let text = match &entry.node.value {
            Value::Text(text) => text.clone(),
            Value::Bool(yes) => yes.to_string(),
            Value::Int(number) => number.to_string(),
            Value::Float(number) => number.to_string(),
            Value::Null | Value::List(_) | Value::Map(_) => return None,
        };
        Some(text).filter(|text| !text.is_empty())
    }

    fn node(&self, key: &str) -> &Node {
        let entry = self.entries.iter().find(|entry| entry.key == key);
        entry.map_or(self.at, |entry| &entry.node)
    }
}

/// Reads the section; `None` where it names no source.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node, field: Field<'_>) -> Option<LoadSource> {
    let entries = reader.map(node, field);
    for entry in entries {
        let here = Field::Key(&field, &entry.key);
        if !KEYS.contains(&entry.key.as_str()) {
            let hint = nearest::hint(&entry.key, KEYS);
            let problem = Problem::UnknownKey { key: entry.key.clone(), hint };
            reader.error(entry.key_at, here, problem);
        }
        if matches!(entry.node.value, Value::List(_) | Value::Map(_)) {
            reader.wrong_type(&entry.node, here, "a text");
        }
    }
    let section = Section { at: node, entries };
    let Some(kind) = section.text("type") else {
        if !entries.is_empty() {
            reader.warn(node.at, field, "has no effect: it has no type, so no load is read");
        }
        return None;
    };
    let server = server(reader, &section, field, &kind);
    let certificates = certificates(reader, &section, field);
    let interval = interval(reader, &section, field);
    Some(LoadSource { server: server?, interval: interval?, certificates: certificates? })
}

fn server(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    field: Field<'_>,
    kind: &str,
) -> Option<LoadServer> {
    match kind {
        "prometheus" => Some(LoadServer::Prometheus { address: address(reader, section, field)? }),
        "prometheus_adaptor" => Some(LoadServer::CustomMetrics),
        "elasticsearch" => {
            let text = |key: &str, default: &str| {
                section.text(&format!("elasticsearch.{key}")).unwrap_or_else(|| default.to_owned())
            };
            let (name, password) = (text("username", ""), text("password", ""));
            Some(LoadServer::Elasticsearch(Elasticsearch {
                address: address(reader, section, field)?,
                index: text("index", "metricbeat-*"),
                hostname_field: text("hostnameFieldName", "host.hostname"),
                credentials: (!name.is_empty()).then_some((name, password)),
            }))
        }
        other => {
            let (at, here) = (section.node("type").at, Field::Key(&field, "type"));
            let expected = format!("one of {}", TYPES.join(", "));
            let found = super::tree::quoted(other);
            reader.error(at, here, Problem::OutOfRange { expected, found });
            None
        }
    }
}

fn address(reader: &mut Reader<'_>, section: &Section<'_>, field: Field<'_>) -> Option<Uri> {
    let here = Field::Key(&field, "address");
    let Some(text) = section.text("address") else {
        let advice = "write for example address: \"http://prometheus.monitoring:9090\"";
        reader.error(section.at.at, here, Problem::Missing { advice });
        return None;
    };
    let is_web = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    let address = text.parse::<Uri>().ok().filter(is_web);
    if address.is_none() {
        let expected = "an address such as \"http://prometheus.monitoring:9090\"".to_owned();
        let found = super::tree::quoted(&text);
        let at = section.node("address").at;
        reader.error(at, here, Problem::OutOfRange { expected, found });
    }
    address
}

fn interval(reader: &mut Reader<'_>, section: &Section<'_>, field: Field<'_>) -> Option<Duration> {
    let Some(text) = section.text("interval") else { return Some(INTERVAL) };
    let length = duration::parse_ms(&text).filter(|&ms| ms >= 1000);
    if length.is_none() {
        let expected = "a length of time of at least 1s, such as \"30s\"".to_owned();
        let (node, here) = (section.node("interval"), Field::Key(&field, "interval"));
        let found = super::tree::quoted(&text);
        reader.error(node.at, here, Problem::OutOfRange { expected, found });
    }
    length.map(Duration::from_millis)
}

fn certificates(
    reader: &mut Reader<'_>,
    section: &Section<'_>,
    field: Field<'_>,
) -> Option<Certificates> {
    const KEY: &str = "tls.insecureSkipVerify";
    let Some(text) = section.text(KEY) else { return Some(Certificates::Verified) };
    match boolean::parse(&text) {
        Some(true) => Some(Certificates::Any),
        Some(false) => Some(Certificates::Verified),
        None => {
            reader.wrong_type(section.node(KEY), Field::Key(&field, KEY), "true or false");
            None
        }
    }
}

/// What a source is there for in vain, or is missing for.
pub(super) fn warnings(config: &SchedulerConfig, source: Option<&LoadSource>) -> Option<String> {
    let mut plugins = config.tiers.iter().flatten();
    let read = plugins.any(|plugin| READERS.contains(&plugin.spec.name));
    (source.is_some() && !read).then(|| {
        "metrics has no effect: usage and rescheduling, which read the load of nodes, are not among \
         the plugins"
            .to_owned()
    })
}
