//! Entries of `expect`: values to [`Expectation`].

use std::collections::BTreeMap;
use std::fmt::Write;

use muster_core::delta::GroupPhase;
use muster_core::ids::{Name, ObjectKey};
use muster_core::resource::Quantity;
use muster_core::verdict::Reason;
use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::decode::{decode, expected_one_of};
use super::error::FieldError;
use crate::objects::Scalar;
use crate::sim::expectation::{Assertion, Beyond, Bounds, Expectation, PodCount, Range, Subject};

/// Reads one entry of `expect`.
pub(super) fn read(value: Value) -> Result<Expectation, FieldError> {
    let text = on_one_line(&value);
    let (cycle, assertion) = match decode(value)? {
        Written::Bound(pods) => (pods.cycle, Assertion::Bound(pods.count("bound")?)),
        Written::Pipelined(pods) => (pods.cycle, Assertion::Pipelined(pods.count("pipelined")?)),
        Written::Pending(pods) => (pods.cycle, Assertion::Pending(pods.count("pending")?)),
        Written::Evicted(evicted) => (evicted.cycle, evicted.assertion()?),
        Written::SameDomain(same) => {
            let SameDomain { gang, sub_group: subgroup, tier, cycle } = same;
            (cycle, Assertion::SameDomain { gang: gang.0, subgroup, tier })
        }
        Written::Phase(phase) => {
            (phase.cycle, Assertion::Phase { pod_group: phase.pod_group.0, is: phase.is })
        }
        Written::Reason(reason) => {
            (reason.cycle, Assertion::Reason { gang: reason.gang.0, is: reason.is })
        }
        Written::QuietAfter(cycle) => (None, Assertion::QuietAfter(cycle)),
        Written::Queue(queue) => {
            if queue.is_bare() {
                let problem = "expected allocated, fairShare or usage";
                return Err(FieldError::new("queue", problem));
            }
            let fair_share = queue.fair_share.into_iter().flatten();
            let assertion = Assertion::Queue {
                name: queue.name.into(),
                allocated: bounds(queue.allocated),
                fair_share: fair_share.map(|(name, share)| (name.into(), share.0)).collect(),
                usage: bounds(queue.usage),
            };
            (queue.cycle, assertion)
        }
        Written::Node(node) => (node.cycle, node.assertion()?),
        Written::Devices(devices) => (devices.cycle, Assertion::Beyond(Beyond::Devices)),
        Written::Free(free) => (free.cycle, Assertion::Beyond(Beyond::Devices)),
    };
    if cycle == Some(0) {
        return Err(FieldError::new("cycle", "0 is not a cycle; the first one is 1"));
    }
    Ok(Expectation { text, cycle, assertion })
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
enum Written {
    Bound(Placed),
    Pipelined(Placed),
    Pending(Placed),
    Evicted(Evicted),
    SameDomain(SameDomain),
    Phase(Phase),
    Reason(Why),
    QuietAfter(u32),
    Queue(Queue),
    Node(Node),
    Devices(Devices),
    Free(Free),
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Placed {
    gang: Option<KeyText>,
    pod: Option<KeyText>,
    #[serde(default, deserialize_with = "some_range")]
    pods: Option<Range<u64>>,
    node: Option<OneOrMore>,
    gpu_group: Option<OneOrMore>,
    numa_zones: Option<Vec<String>>,
    cycle: Option<u32>,
}

impl Placed {
    fn count(self, field: &str) -> Result<PodCount, FieldError> {
        let of = match (self.gang, self.pod) {
            (Some(gang), None) => Subject::Gang(gang.0),
            (None, Some(pod)) => Subject::Pod(pod.0),
            _ => return Err(FieldError::new(field, "expected either gang or pod")),
        };
        let beyond = self.numa_zones.map(|_| Beyond::NumaZones);
        let [nodes, devices] = [self.node, self.gpu_group].map(|names| names.map(OneOrMore::names));
        if field == "pending" && devices.is_some() {
            return Err(FieldError::new("gpuGroup", "a pod that waits for a node has no GPU"));
        }
        Ok(PodCount { of, pods: self.pods, nodes, devices, beyond })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Evicted {
    #[serde(default, deserialize_with = "some_range")]
    total: Option<Range<u64>>,
    gang: Option<KeyText>,
    pod: Option<KeyText>,
    #[serde(default, deserialize_with = "some_range")]
    times: Option<Range<u64>>,
    cycle: Option<u32>,
}

impl Evicted {
    fn assertion(self) -> Result<Assertion, FieldError> {
        let (of, times) = match (self.total, self.gang, self.pod, self.times) {
            (Some(total), None, None, None) => (Subject::All, Some(total)),
            (None, Some(gang), None, times) => (Subject::Gang(gang.0), times),
            (None, None, Some(pod), times) => (Subject::Pod(pod.0), times),
            _ => {
                let problem = "expected total alone, or either gang or pod with times";
                return Err(FieldError::new("evicted", problem));
            }
        };
        // Without a number the entry says that it happened.
        Ok(Assertion::Evicted { of, times: times.unwrap_or(Range { min: Some(1), max: None }) })
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct SameDomain {
    gang: KeyText,
    sub_group: Option<String>,
    tier: u32,
    cycle: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Phase {
    pod_group: KeyText,
    #[serde(deserialize_with = "group_phase")]
    is: GroupPhase,
    cycle: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Why {
    gang: KeyText,
    #[serde(deserialize_with = "reason")]
    is: Reason,
    cycle: Option<u32>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Queue {
    name: String,
    #[serde(default, deserialize_with = "amount_ranges")]
    allocated: Option<Ranges>,
    fair_share: Option<BTreeMap<String, Amount>>,
    #[serde(default, deserialize_with = "amount_ranges")]
    usage: Option<Ranges>,
    cycle: Option<u32>,
}

impl Queue {
    /// Does it expect nothing?
    fn is_bare(&self) -> bool {
        self.allocated.is_none() && self.fair_share.is_none() && self.usage.is_none()
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Node {
    name: String,
    #[serde(default, deserialize_with = "amount_ranges")]
    idle: Option<Ranges>,
    #[serde(default, deserialize_with = "amount_ranges")]
    releasing: Option<Ranges>,
    numa_available: Option<BTreeMap<String, BTreeMap<String, Amount>>>,
    cycle: Option<u32>,
}

impl Node {
    fn assertion(self) -> Result<Assertion, FieldError> {
        if self.numa_available.is_some() {
            return Ok(Assertion::Beyond(Beyond::NumaZones));
        }
        if self.idle.is_none() && self.releasing.is_none() {
            return Err(FieldError::new("node", "expected idle, releasing or both"));
        }
        let (idle, releasing) = (bounds(self.idle), bounds(self.releasing));
        Ok(Assertion::Node { name: self.name.into(), idle, releasing })
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Devices {
    #[serde(rename = "claim")]
    _claim: KeyText,
    #[serde(rename = "node")]
    _node: Option<OneOrMore>,
    #[serde(rename = "count", default, deserialize_with = "some_range")]
    _count: Option<Range<u64>>,
    #[serde(rename = "names")]
    _names: Option<Vec<String>>,
    cycle: Option<u32>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Free {
    #[serde(rename = "nodes")]
    _nodes: OneOrMore,
    #[serde(rename = "class")]
    _class: String,
    #[serde(rename = "count", default, deserialize_with = "some_range")]
    _count: Option<Range<u64>>,
    cycle: Option<u32>,
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "expected a name or a list of them")]
enum OneOrMore {
    One(String),
    More(Vec<String>),
}

impl OneOrMore {
    fn names(self) -> Vec<Name> {
        match self {
            Self::One(name) => vec![name.into()],
            Self::More(names) => names.into_iter().map(Into::into).collect(),
        }
    }
}

/// `namespace/name`, or a name in the namespace `default`.
#[derive(Clone, Debug)]
pub(super) struct KeyText(pub(super) ObjectKey);

impl<'de> Deserialize<'de> for KeyText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        let (namespace, name) = text.split_once('/').unwrap_or(("default", &text));
        if namespace.is_empty() || name.is_empty() || name.contains('/') {
            return Err(D::Error::custom(format!("{text:?} is not namespace/name")));
        }
        Ok(Self(ObjectKey::new(namespace, name)))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, bound = "T: DeserializeOwned")]
struct MinMax<T> {
    min: Option<T>,
    max: Option<T>,
}

/// A single value, or `{min, max}` with at least one of them.
fn range<T: DeserializeOwned + PartialOrd + Copy>(value: Value) -> Result<Range<T>, String> {
    let told = |error: FieldError| {
        if error.field.is_empty() {
            error.problem
        } else {
            format!("{}: {}", error.field, error.problem)
        }
    };
    if !value.is_object() {
        return decode::<T>(value).map(Range::exactly).map_err(told);
    }
    let MinMax { min, max } = decode::<MinMax<T>>(value).map_err(told)?;
    if min.is_none() && max.is_none() {
        return Err("expected min, max or both".to_owned());
    }
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        return Err("min is above max".to_owned());
    }
    Ok(Range { min, max })
}

fn some_range<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Range<u64>>, D::Error> {
    range(Value::deserialize(deserializer)?).map(Some).map_err(D::Error::custom)
}

/// A quantity, checked while it is read.
#[derive(Clone, Copy, PartialEq, PartialOrd)]
struct Amount(Quantity);

impl<'de> Deserialize<'de> for Amount {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = Scalar::deserialize(deserializer)?;
        text.as_str().parse().map(Self).map_err(D::Error::custom)
    }
}

/// Bounds of amounts by resource name.
type Ranges = BTreeMap<String, Range<Quantity>>;

fn bounds(ranges: Option<Ranges>) -> Bounds {
    ranges.into_iter().flatten().map(|(name, bound)| (name.into(), bound)).collect()
}

fn amount_ranges<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Ranges>, D::Error> {
    let written = BTreeMap::<String, Value>::deserialize(deserializer)?;
    let read = written.into_iter().map(|(name, value)| match range::<Amount>(value) {
        Ok(Range { min, max }) => {
            let plain = |amount: Amount| amount.0;
            Ok((name, Range { min: min.map(plain), max: max.map(plain) }))
        }
        Err(problem) => Err(D::Error::custom(format!("{name}: {problem}"))),
    });
    read.collect::<Result<_, _>>().map(Some)
}

/// Every phase, as the PodGroup's status spells it.
const PHASES: [(&str, GroupPhase); 5] = [
    ("Pending", GroupPhase::Pending),
    ("Inqueue", GroupPhase::Inqueue),
    ("Running", GroupPhase::Running),
    ("Unknown", GroupPhase::Unknown),
    ("Completed", GroupPhase::Completed),
];

fn group_phase<'de, D: Deserializer<'de>>(deserializer: D) -> Result<GroupPhase, D::Error> {
    one_of("phase", &PHASES, deserializer)
}

/// Every reason the core can give.
const REASONS: [Reason; 17] = [
    Reason::SetAside,
    Reason::Gated,
    Reason::GangIncomplete,
    Reason::QueueClosed,
    Reason::QueueOverCapability,
    Reason::QueueOverQuota,
    Reason::NotAdmitted,
    Reason::NoNodeMatches,
    Reason::NotEnoughResources,
    Reason::TopologyUnsatisfied,
    Reason::NeverFits,
    Reason::NoLegalVictims,
    Reason::WaitingForVictims,
    Reason::BindBackoff,
    Reason::SearchCut,
    Reason::Refused,
    Reason::TriedOnce,
];

fn reason<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Reason, D::Error> {
    let named = REASONS.map(|reason| (reason.as_str(), reason));
    one_of("reason", &named, deserializer)
}

fn one_of<'de, D: Deserializer<'de>, T: Copy>(
    what: &str,
    known: &[(&str, T)],
    deserializer: D,
) -> Result<T, D::Error> {
    let text = String::deserialize(deserializer)?;
    known.iter().find(|entry| entry.0 == text).map(|entry| entry.1).ok_or_else(|| {
        let names: Vec<&str> = known.iter().map(|entry| entry.0).collect();
        D::Error::custom(format!("{text:?} is not a {what}; {}", expected_one_of(&text, &names)))
    })
}

/// The entry on one line: `bound {gang: default/a, pods: 3}`.
fn on_one_line(value: &Value) -> String {
    let mut text = String::new();
    match value {
        Value::Object(map) if map.len() == 1 => {
            for (name, body) in map {
                text.push_str(name);
                text.push(' ');
                write_flow(&mut text, body);
            }
        }
        other => write_flow(&mut text, other),
    }
    text
}

fn write_flow(text: &mut String, value: &Value) {
    match value {
        Value::Object(map) => {
            text.push('{');
            for (at, (key, value)) in map.iter().enumerate() {
                let _ = write!(text, "{}{key}: ", if at == 0 { "" } else { ", " });
                write_flow(text, value);
            }
            text.push('}');
        }
        Value::Array(list) => {
            text.push('[');
            for (at, value) in list.iter().enumerate() {
                text.push_str(if at == 0 { "" } else { ", " });
                write_flow(text, value);
            }
            text.push(']');
        }
        Value::String(string) => text.push_str(string),
        other => {
            let _ = write!(text, "{other}");
        }
    }
}
