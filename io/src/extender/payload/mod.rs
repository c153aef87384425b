//! What the server is sent: objects under Volcano's field names, as Go writes its structures.
//!
//! A field that Volcano has and Muster does not know of is left out, which Go reads as its zero. What is
//! there means the same as in Volcano: resources in milli-units but for bytes, statuses as powers of two,
//! jobs named `namespace/name`.

mod task;
mod node;
mod job;
mod queue;

use jiff::Timestamp;
use muster_core::ids::TimeMs;
use muster_core::resource::{Dim, Format, Lanes, ResourceList, ResourceNames, ResourceVec, Tail};
use serde_json::{Map, Value, json};

pub(super) use job::job;
pub(super) use node::{NodeTasks, node};
pub(super) use queue::queue;
pub(super) use task::{example, task};

/// An amount of every resource, as `Resource`.
fn resource(names: &ResourceNames, amounts: &ResourceVec) -> Value {
    let others = amounts.iter().filter(|(dim, _)| !matches!(*dim, Dim::CPU | Dim::MEMORY));
    let scalar = |(dim, amount): (Dim, i64)| {
        // Volcano counts all but cpu, memory and pods in thousandths; some of ours are whole.
        let whole = dim != Dim::PODS && !dim.in_milli();
        let amount = if whole { amount.saturating_mul(1_000) } else { amount };
        (names.name(dim).to_string(), json!(amount))
    };
    json!({
        "MilliCPU": amounts.get(Dim::CPU),
        "Memory": amounts.get(Dim::MEMORY),
        "ScalarResources": others.map(scalar).collect::<Map<_, _>>(),
        "MaxTaskNum": amounts.get(Dim::PODS),
    })
}

/// The same of what a node has.
fn lanes(names: &ResourceNames, hot: &Lanes, tail: &Tail) -> Value {
    resource(names, &ResourceVec { hot: *hot, tail: tail.clone() })
}

/// Quantities by name, as `v1.ResourceList`.
fn quantities(names: &ResourceNames, amounts: &ResourceVec) -> Value {
    let written = |(dim, amount)| (names.name(dim).to_string(), json!(names.display(dim, amount)));
    Value::Object(amounts.iter().map(written).collect())
}

/// The same of a list.
fn list(amounts: &ResourceList) -> Value {
    let written = |(name, quantity): &(muster_core::ids::Name, muster_core::resource::Quantity)| {
        (name.to_string(), json!(quantity.format(Format::of(name))))
    };
    Value::Object(amounts.iter().map(written).collect())
}

/// A point in time; none for one no calendar has.
fn time(at: TimeMs) -> Option<String> {
    let at = Timestamp::from_millisecond(at.0).ok()?;
    Some(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Texts by name.
fn texts<'a>(
    entries: impl IntoIterator<Item = (&'a muster_core::ids::Name, &'a muster_core::ids::Name)>,
) -> Value {
    let entries = entries.into_iter();
    Value::Object(entries.map(|(key, value)| (key.to_string(), json!(&**value))).collect())
}
