//! A Scenario as its file writes it. Our own kind, so unknown fields are errors.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::expect::KeyText;
use super::variants;
use crate::sim::duration::{self, DurationMs};
use crate::sim::scenario::Delay;

/// The document around the spec.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Document {
    pub(super) api_version: Option<String>,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default)]
    pub(super) metadata: Metadata,
    #[serde(default)]
    pub(super) spec: Spec,
}

/// `metadata`: the name, and what other tools may have written beside it.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(super) struct Metadata {
    pub(super) name: Option<String>,
}

/// `spec`; `objects` is taken out before.
#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Spec {
    pub(super) config: Option<String>,
    pub(super) period: Option<DurationMs>,
    pub(super) cycles: Option<u32>,
    pub(super) kubelet: Kubelet,
    pub(super) recreate: bool,
    pub(super) objects: Vec<Value>,
    pub(super) timeline: Vec<Entry>,
    pub(super) invariants: Switch,
    pub(super) expect: Vec<Value>,
    pub(super) variants: Vec<variants::Written>,
}

#[derive(Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub(super) struct Kubelet {
    #[serde(deserialize_with = "start_delay")]
    pub(super) start: Option<Delay>,
    #[serde(deserialize_with = "terminate_delay")]
    pub(super) terminate: Option<Delay>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) at: DurationMs,
    #[serde(default)]
    pub(super) apply: Vec<Value>,
    #[serde(default)]
    pub(super) delete: Vec<Delete>,
    #[serde(default)]
    pub(super) fail_bind: Vec<FailBind>,
    #[serde(default)]
    pub(super) restart: bool,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct Delete {
    pub(super) kind: String,
    pub(super) namespace: Option<String>,
    pub(super) name: String,
    /// Only says more than needed.
    #[serde(rename = "apiVersion")]
    _api_version: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FailBind {
    pub(super) pod: KeyText,
    #[serde(default = "once")]
    pub(super) times: i64,
}

fn once() -> i64 {
    1
}

/// `on` or `off`; YAML of old reads both as booleans.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Switch {
    #[default]
    On,
    Off,
}

impl<'de> Deserialize<'de> for Switch {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match Value::deserialize(deserializer)? {
            Value::Bool(true) => Ok(Self::On),
            Value::Bool(false) => Ok(Self::Off),
            Value::String(word) if word == "on" => Ok(Self::On),
            Value::String(word) if word == "off" => Ok(Self::Off),
            other => Err(D::Error::custom(format!("{other} is neither on nor off"))),
        }
    }
}

fn start_delay<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Delay>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    delay(&value, &["never"]).map(Some).map_err(D::Error::custom)
}

fn terminate_delay<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Delay>, D::Error> {
    let value = Value::deserialize(deserializer)?;
    delay(&value, &["grace", "never"]).map(Some).map_err(D::Error::custom)
}

fn delay(value: &Value, words: &[&str]) -> Result<Delay, String> {
    let text = match value {
        Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    match text.as_str() {
        "grace" if words.contains(&"grace") => return Ok(Delay::Grace),
        "never" => return Ok(Delay::Never),
        _ => {}
    }
    match duration::parse_ms(&text) {
        Ok(ms) if ms >= 0 => Ok(Delay::Ms(ms)),
        Ok(_) => Err(format!("{text:?} is negative; expected 0s or more")),
        Err(_) => Err(format!(
            "{text:?} is not a delay; expected a duration such as 30s or {}",
            words.join(", ")
        )),
    }
}
