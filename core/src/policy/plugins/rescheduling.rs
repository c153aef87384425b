//! `rescheduling`: pods move from nodes with much load to nodes with little, by the action `shuffle`.
//!
//! Promise: once in an `interval`, and by the strategy `lowNodeUtilization` alone. A node whose loads are
//! all below `thresholds` is idle, unless it is cordoned; one with a load above its `targetThresholds` is
//! overloaded. Pods leave overloaded nodes, the most loaded first, until no load is above its target, and
//! together ask for no more than idle nodes can take without coming above theirs. Of a node the pods
//! without priority go first, then those of lower priority, then by how firmly their resources are
//! promised to them (`BestEffort`, `Burstable`, `Guaranteed`), then the youngest. A pod stays that asks
//! for nothing of what its node has too much of.
//!
//! Loads are those measured of cpu and memory, and the pods of a node as a part of what it takes. A node
//! whose load is not known, or was measured before the last round, is neither idle nor overloaded: no node
//! loses pods twice for one measurement. A pod that asks for nothing is taken to use 250m and 200Mi.
//!
//! Who is named may still be held back by guards and by the limits of the action.

use std::cmp::Reverse;

use bevy_ecs::entity::Entity;

use crate::config::ArgumentKind::{Bool, Duration, List, Map, OneOf, Percent, Text};
use crate::config::{ArgumentSpec, Values, arg};
use crate::ids::TimeMs;
use crate::policy::{Build, Plugin, PluginSpec, Proposal, Setup, VictimTasksPlugin, plugin};
use crate::resource::{Dim, Lanes};
use crate::world::{Cluster, NodeReadOnlyItem, Reads, TaskReadOnlyItem, WHOLE_LOAD, load_share};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    arguments: &[
        arg("interval", Duration, "5m", "shortest time between two rounds"),
        arg("metricsPeriod", Duration, "5m", "span of the load averages to read (no effect)")
            .without_effect("the load that is known is used, whatever span it was measured over"),
        arg("strategies", List(&Map(STRATEGY)), "", "what counts as idle and as overloaded"),
    ],
    ..PluginSpec::of::<Rescheduling>(
        "rescheduling",
        "pods are moved from overloaded nodes to idle ones, by the shuffle action",
    )
};

const STRATEGY: &[ArgumentSpec] = &[
    arg("name", OneOf(&["lowNodeUtilization"]), "lowNodeUtilization", "name of the strategy"),
    arg(
        "params",
        Map(&[
            arg("thresholds", Map(LOADS), "", "a node below all of these is idle"),
            arg("targetThresholds", Map(LOADS), "", "a node above any of these is overloaded"),
            arg("thresholdPriorityClassName", Text, "", "accepted, as in Volcano (no effect)")
                .without_effect("pods of every priority may be moved; use conformance or pdb"),
            arg("nodeFit", Bool, "", "accepted, as in Volcano (no effect)")
                .without_effect("a pod goes wherever it fits once it is placed again"),
        ]),
        "",
        "its numbers",
    ),
];

const LOADS: &[ArgumentSpec] = &[
    arg("cpu", Percent, "100", "load of the cpu, in percent"),
    arg("memory", Percent, "100", "load of the memory, in percent"),
    arg("pods", Percent, "100", "used pod slots, in percent"),
    arg("pod", Percent, "100", "the same, where `pods` is not given"),
];

/// CPU, memory and pod slots.
const LOAD_DIMS: [Dim; 3] = [Dim::CPU, Dim::MEMORY, Dim::PODS];

/// Loads of cpu, memory and pod slots, in units of [`WHOLE_LOAD`].
type Loads = [i64; 3];

/// What a pod is taken to use that asks for nothing.
const SILENT: [i64; 2] = [250, 200 << 20];

/// The plugin with its arguments.
pub(in crate::policy) struct Rescheduling {
    interval_ms: i64,
    strategies: Vec<LowNodeUtilization>,
}

/// Loads below which a node is idle and above which it is overloaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct LowNodeUtilization {
    idle: Loads,
    target: Loads,
}

/// A node whose load is known.
struct LoadedNode<'a> {
    node: NodeReadOnlyItem<'a, 'a>,
    loads: Loads,
}

impl LowNodeUtilization {
    fn new(params: Values<'_>) -> Self {
        Self {
            idle: loads(params.map("thresholds")),
            target: loads(params.map("targetThresholds")),
        }
    }

    fn is_idle(&self, node: &LoadedNode<'_>) -> bool {
        !node.node.rules.unschedulable && all(&node.loads, &self.idle, |load, limit| load < limit)
    }

    fn is_overloaded(&self, loads: &Loads) -> bool {
        !all(loads, &self.target, |load, target| load <= target)
    }

    /// Which of the candidates are to leave.
    fn victims(&self, cluster: &Cluster<'_, '_>, candidates: &[Entity]) -> Vec<Entity> {
        let last = cluster.rounds().last(SPEC.name);
        let known = cluster.nodes.iter().filter(|node| node.identity.present);
        let known: Vec<LoadedNode<'_>> = known.filter_map(|node| loaded(node, last)).collect();
        let (idle, busy): (Vec<_>, Vec<_>) = known.into_iter().partition(|node| self.is_idle(node));
        let mut hot: Vec<LoadedNode<'_>> =
            busy.into_iter().filter(|node| self.is_overloaded(&node.loads)).collect();
        if idle.is_empty() || hot.is_empty() {
            return Vec::new();
        }
        hot.sort_by_key(|hot| (Reverse(hot.loads[0] + hot.loads[1]), hot.node.place.ordinal));
        let mut room = self.room(&idle);
        let mut by_node: Vec<(Entity, Entity)> = candidates
            .iter()
            .filter_map(|&task| cluster.task(task).status().1.map(|node| (node, task)))
            .collect();
        by_node.sort_by_key(|entry| entry.0);
        let mut victims = Vec::new();
        for hot in hot {
            let first = by_node.partition_point(|entry| entry.0 < hot.node.entity);
            let here = by_node[first..].iter().take_while(|entry| entry.0 == hot.node.entity);
            let mut tasks: Vec<Entity> = here.map(|entry| entry.1).collect();
            tasks.sort_by_cached_key(|&task| order(&cluster.task(task)));
            self.relieve(cluster, hot, &tasks, &mut room, &mut victims);
        }
        victims
    }

    /// Cpu and memory that idle nodes can take together before one of them comes above its target.
    fn room(&self, idle: &[LoadedNode<'_>]) -> [i64; 2] {
        let left = |at: usize| {
            let of_node = |one: &LoadedNode<'_>| {
                let whole = lane(one.node.allocatable(), at);
                let part = i128::from(self.target[at] - one.loads[at]) * i128::from(whole);
                let part = i64::try_from(part / i128::from(WHOLE_LOAD)).unwrap_or(i64::MAX);
                part.saturating_sub(one.node.load().unmeasured().requests[at]).max(0)
            };
            idle.iter().map(of_node).fold(0, i64::saturating_add)
        };
        [left(0), left(1)]
    }

    /// Takes tasks off a node until none of its loads is above its target, as far as there is room.
    fn relieve(
        &self,
        cluster: &Cluster<'_, '_>,
        mut hot: LoadedNode<'_>,
        tasks: &[Entity],
        room: &mut [i64; 2],
        victims: &mut Vec<Entity>,
    ) {
        for &task in tasks {
            if !self.is_overloaded(&hot.loads) {
                return;
            }
            let asks = asks(&cluster.task(task));
            let lighter = shares(asks, &hot.node);
            let helps = (0..3).any(|at| lighter[at] > 0 && hot.loads[at] > self.target[at]);
            if !helps || (0..2).any(|at| asks[at] > room[at]) {
                continue;
            }
            (0..2).for_each(|at| room[at] -= asks[at]);
            (0..3).for_each(|at| hot.loads[at] -= lighter[at]);
            victims.push(task);
        }
    }
}

fn all(loads: &Loads, limits: &Loads, is_so: impl Fn(i64, i64) -> bool) -> bool {
    loads.iter().zip(limits).all(|(&load, &limit)| is_so(load, limit))
}

/// Limits in units of [`WHOLE_LOAD`].
fn loads(percents: Values<'_>) -> Loads {
    let pods = if percents.given("pods").is_some() { "pods" } else { "pod" };
    ["cpu", "memory", pods].map(|key| percents.int(key) * WHOLE_LOAD / 100)
}

fn lane(lanes: &Lanes, at: usize) -> i64 {
    LOAD_DIMS[at].lane().map_or(0, |lane| lanes.0[lane])
}

/// The loads of a node, if they were measured after the last round.
fn loaded<'a>(node: NodeReadOnlyItem<'a, 'a>, last: Option<TimeMs>) -> Option<LoadedNode<'a>> {
    let load = node.load();
    let [cpu, memory] = load.shares().filter(|_| last.is_none_or(|last| load.measured() > last))?;
    let pods = load_share(lane(node.used(), 2), lane(node.allocatable(), 2)).unwrap_or(0);
    Some(LoadedNode { node, loads: [cpu, memory, pods] })
}

/// Cpu and memory a pod is taken to use.
fn asks(task: &TaskReadOnlyItem<'_, '_>) -> [i64; 2] {
    let asks = [0, 1].map(|at| lane(&task.request.amounts.hot, at));
    if asks == [0; 2] { SILENT } else { asks }
}

/// What a node's loads lose with a pod that is taken to use so much.
fn shares(asks: [i64; 2], node: &NodeReadOnlyItem<'_, '_>) -> Loads {
    let capacity = node.load().capacity();
    let share = |amount, whole| load_share(amount, whole).unwrap_or(0);
    let slot = share(1000, lane(node.allocatable(), 2));
    [share(asks[0], capacity[0]), share(asks[1], capacity[1]), slot]
}

/// Who leaves first.
fn order(task: &TaskReadOnlyItem<'_, '_>) -> impl Ord + use<> {
    let priority = task.priority;
    let given = priority.own.is_some() || priority.class.is_some();
    let identity = task.identity;
    let youth = (Reverse(identity.created), Reverse(identity.index), Reverse(identity.key.clone()));
    (given.then_some(priority.value), task.traits.qos, youth)
}

plugin!(Rescheduling);

impl Plugin for Rescheduling {
    fn reads(&self) -> Reads {
        Reads { load: true, ..Reads::default() }
    }
}

impl Build for Rescheduling {
    fn build(setup: &mut Setup<'_>) -> Self {
        let arguments = setup.arguments;
        let strategies = arguments.maps("strategies").map(|one| one.map("params"));
        Self {
            interval_ms: arguments.duration_ms("interval").unwrap_or(0),
            strategies: strategies.map(LowNodeUtilization::new).collect(),
        }
    }
}

impl VictimTasksPlugin for Rescheduling {
    fn victim_tasks(&self, cluster: &Cluster<'_, '_>, _: TimeMs, tasks: &[Entity]) -> Proposal {
        let mut named: Vec<Entity> = Vec::new();
        for strategy in &self.strategies {
            named.extend(strategy.victims(cluster, tasks));
        }
        Proposal { tasks: named, again: None }
    }

    fn interval_ms(&self) -> Option<i64> {
        Some(self.interval_ms)
    }
}

#[cfg(test)]
mod tests;
