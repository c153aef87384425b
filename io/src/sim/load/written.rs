//! A Scenario as its file writes it. Our own kind, so unknown fields are errors.

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::decode::{decode, expected_one_of};
use super::expect::KeyText;
use super::variants;
use crate::sim::duration::{self, DurationMs};
use crate::sim::invariants::Invariant;
use crate::sim::scenario::{Checks, Delay};

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
    #[serde(deserialize_with = "checks")]
    pub(super) invariants: Checks,
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
    /// Tells apart kinds that share a name.
    pub(super) api_version: Option<String>,
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

/// Which invariants are left out.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Except {
    except: Vec<String>,
}

/// `on` or `off`, which YAML of old reads as booleans, or the names of those left out.
fn checks<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Checks, D::Error> {
    match Value::deserialize(deserializer)? {
        Value::Bool(true) => Ok(Checks::All),
        Value::Bool(false) => Ok(Checks::Off),
        Value::String(word) if word == "on" => Ok(Checks::All),
        Value::String(word) if word == "off" => Ok(Checks::Off),
        written @ Value::Object(_) => {
            let Except { except } = decode(written).map_err(|error| {
                let separator = if error.field.is_empty() { "" } else { ": " };
                D::Error::custom(format!("{}{separator}{}", error.field, error.problem))
            })?;
            let left_out = except.iter().map(|name| invariant(name).map_err(D::Error::custom));
            left_out.collect::<Result<_, _>>().map(Checks::Except)
        }
        other => Err(D::Error::custom(format!("{other} is neither on nor off"))),
    }
}

fn invariant(name: &str) -> Result<Invariant, String> {
    Invariant::ALL.into_iter().find(|one| one.as_str() == name).ok_or_else(|| {
        let known = Invariant::ALL.map(Invariant::as_str);
        format!("{name:?} is not an invariant; {}", expected_one_of(name, &known))
    })
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
