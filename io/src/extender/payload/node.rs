//! A node, as `NodeInfo`.

use muster_core::delta::TaintEffect;
use muster_core::resource::{ResourceNames, ResourceVec};
use muster_core::world::{NodeColumns, NodeRules, Symbol, Symbols};
use serde_json::{Map, Value, json};

use super::{lanes, quantities, texts};

/// Whether the tasks on a node are told with it.
pub(in super::super) enum NodeTasks {
    /// No: there are many nodes, and a cycle's beginning has told all of them.
    Untold,
    /// These, by uid.
    Told(Map<String, Value>),
}

/// A row of nodes.
pub(in super::super) fn node(
    names: &ResourceNames,
    symbols: &Symbols,
    nodes: &NodeColumns<'_>,
    row: usize,
    tasks: NodeTasks,
) -> Value {
    let (identity, rules, tails) = (&nodes.identities[row], &nodes.rules[row], &nodes.tails[row]);
    let allocatable = ResourceVec { hot: nodes.allocatable[row], tail: tails.allocatable.clone() };
    let offer = super::resource(names, &allocatable);
    let tasks = match tasks {
        NodeTasks::Untold => Value::Null,
        NodeTasks::Told(tasks) => Value::Object(tasks),
    };
    json!({
        "Name": &*identity.name,
        "Node": object(symbols, &identity.name, rules, &quantities(names, &allocatable)),
        "State": {"Phase": if identity.present { 1 } else { 2 }, "Reason": ""},
        "Releasing": lanes(names, &nodes.releasing[row], &tails.releasing),
        "Pipelined": lanes(names, &nodes.pipelined[row], &tails.pipelined),
        "Idle": lanes(names, &nodes.idle[row], &tails.idle),
        "Used": lanes(names, &nodes.used[row], &tails.used),
        "Allocatable": offer,
        "Capacity": offer,
        "RevocableZone": rules.label(Symbol::LENT_ZONE).map_or("", |zone| symbols.text(zone)),
        "Tasks": tasks,
    })
}

/// What is known of the object, as `v1.Node`.
fn object(symbols: &Symbols, name: &str, rules: &NodeRules, offer: &Value) -> Value {
    let labels = rules.labels.iter();
    let taint = |taint: &muster_core::world::NodeTaint| {
        json!({
            "key": &**symbols.text(taint.key),
            "value": &**symbols.text(taint.value),
            "effect": effect(taint.effect),
        })
    };
    let taints: Vec<Value> = rules.taints.iter().map(taint).collect();
    json!({
        "metadata": {
            "name": name,
            "labels": texts(labels.map(|&(key, value)| (symbols.text(key), symbols.text(value)))),
        },
        "spec": {"unschedulable": rules.unschedulable, "taints": taints},
        "status": {"allocatable": offer, "capacity": offer},
    })
}

fn effect(effect: TaintEffect) -> &'static str {
    match effect {
        TaintEffect::NoSchedule => "NoSchedule",
        TaintEffect::PreferNoSchedule => "PreferNoSchedule",
        TaintEffect::NoExecute => "NoExecute",
    }
}
