//! Random clusters as they should be: gangs that want room, nodes with a little too few of it, and
//! what runs fits where it runs.

use muster_core::delta::{
    ClusterDelta, DomainMember, NodeFacts, Ownership, PodFacts, PodGroupFacts, TopologyMode,
    TopologyWish,
};
use muster_core::ids::TimeMs;
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;

use muster_core::testing::{self as build, Built};

/// Nodes in their stable order; the last is in no domain.
const NODES: [&str; 5] = ["n1", "n2", "n3", "n10", "n11"];

/// Tier and nodes of every domain: two racks in a zone.
pub const DOMAINS: [(u32, &[&str]); 3] =
    [(1, &["n1", "n2"]), (1, &["n3", "n10"]), (2, &["n1", "n2", "n3", "n10"])];

/// A cluster, in no particular order of kinds.
pub fn any_cluster() -> impl Strategy<Value = Vec<ClusterDelta>> {
    let nodes: Vec<_> = NODES.iter().map(|name| weighted(0.9, any_node(name))).collect();
    let gangs = vec(any_gang(), 1..7);
    let others = vec(any_other(), 0..4);
    (nodes, gangs, others, weighted(0.2, Just(()))).prop_map(|(nodes, gangs, others, closed)| {
        let nodes: Vec<NodeFacts> = nodes.into_iter().flatten().collect();
        let q2 = build::queue("q2").parent("q1");
        let q2 = if closed.is_some() { q2.closed() } else { q2 };
        let mut objects = vec![build::queue("q1").into(), q2.into()];
        for (name, value) in [("low", -1), ("high", 5)] {
            objects.push(ClusterDelta::from(build::priority_class(name, value)));
        }
        objects.extend(domains());
        let mut running = Vec::new();
        for (at, gang) in gangs.iter().enumerate() {
            gang.write(at, &nodes, &mut running, &mut objects);
        }
        for (at, (other, node)) in others.into_iter().enumerate() {
            let pod = named(other, &format!("other-pod-{at}")).facts();
            settle(pod, node, &nodes, &mut running, &mut objects);
        }
        objects.extend(nodes.into_iter().map(ClusterDelta::from));
        objects
    })
}

fn domains() -> impl Iterator<Item = ClusterDelta> {
    let racks = DOMAINS[..2].iter().enumerate().map(|(at, (tier, nodes))| {
        let rack = build::domain(&format!("rack{at}"), *tier);
        nodes.iter().fold(rack, |rack, node| rack.node(node)).into()
    });
    let zone = ["rack0", "rack1"].iter().fold(build::domain("zone", DOMAINS[2].0), |zone, rack| {
        zone.member(DomainMember::Domain((*rack).into()))
    });
    racks.chain([zone.into()])
}

fn any_node(name: &'static str) -> impl Strategy<Value = NodeFacts> {
    (2..10_i64, 4..16_i64, 3..9_i64, 0..5_i64, select(&["a", "b"][..])).prop_map(
        move |(cpu, memory, pods, gpus, zone)| {
            let node = build::node(name).label("zone", zone).offer("cpu", cpu);
            let node = node.offer("memory", memory).offer("pods", pods);
            node.offer("nvidia.com/gpu", gpus).facts()
        },
    )
}

/// A PodGroup with its pods.
#[derive(Clone, Debug)]
struct Gang {
    members: Vec<(PodFacts, State)>,
    /// Members that need not run.
    surplus: u32,
    age: i64,
    queue: Option<&'static str>,
    class: Option<&'static str>,
    topology: Option<TopologyWish>,
    role_min: Option<u32>,
}

/// Where a pod starts.
#[derive(Clone, Copy, Debug)]
enum State {
    Waiting,
    Running(&'static str),
    Leaving(&'static str),
    Reserved(&'static str),
}

fn any_gang() -> impl Strategy<Value = Gang> {
    let wish = (select(&[TopologyMode::Hard, TopologyMode::Soft][..]), 1..3_u32);
    let wish =
        wish.prop_map(|(mode, tier)| build::group("x", 0).within(mode, tier).facts().topology);
    let members = (any_request(), any_request(), vec((0..4_u8, any_state()), 1..7));
    let about = (prop_oneof![3 => Just(0), 1 => 0..3_u32], 0..5_i64, weighted(0.2, 0..3_u32));
    let queue = select(&[None, Some("q1"), Some("q2"), Some("nowhere")][..]);
    let class = select(&[None, None, Some("low"), Some("high")][..]);
    (members, about, queue, class, weighted(0.4, wish)).prop_map(
        |((one, two, states), (surplus, age, role_min), queue, class, topology)| {
            let member = |(kind, state): (u8, State)| {
                // Most gangs are of one kind of pod, some of two.
                let pod = if kind == 3 { two.clone().role("b") } else { one.clone().role("a") };
                (pod.facts(), state)
            };
            let members = states.into_iter().map(member).collect();
            Gang { members, surplus, age, queue, class, topology: topology.flatten(), role_min }
        },
    )
}

fn any_state() -> impl Strategy<Value = State> {
    prop_oneof![
        10 => Just(State::Waiting),
        1 => select(&NODES[..]).prop_map(State::Running),
        2 => select(&NODES[..]).prop_map(State::Leaving),
        1 => select(&NODES[..]).prop_map(State::Reserved),
    ]
}

/// A pod that asks for something, without a name yet.
fn any_request() -> impl Strategy<Value = Built<PodFacts>> {
    prop_oneof![
        8 => (1..4_i64, 1..5_i64).prop_map(|(cpu, memory)| {
            build::pod("x").ask("cpu", cpu).ask("memory", memory)
        }),
        2 => (1..3_i64).prop_map(|gpus| build::pod("x").ask("cpu", 1).ask("nvidia.com/gpu", gpus)),
        1 => Just(build::pod("x")),
    ]
}

/// A pod without a gang, ours or not.
fn any_other() -> impl Strategy<Value = (Built<PodFacts>, State)> {
    let owner = select(&[Ownership::Ours, Ownership::Foreign][..]);
    (any_request(), any_state(), owner)
        .prop_map(|(pod, state, owner)| (pod.with(|pod| pod.ownership = owner), state))
}

fn named(pod: Built<PodFacts>, name: &str) -> Built<PodFacts> {
    pod.with(|pod| {
        pod.key = build::key(name);
        pod.uid = format!("uid-{name}").into();
    })
}

impl Gang {
    fn write(
        &self,
        at: usize,
        nodes: &[NodeFacts],
        running: &mut Vec<PodFacts>,
        objects: &mut Vec<ClusterDelta>,
    ) {
        let name = format!("g{at}");
        let min = (self.members.len() as u32).saturating_sub(self.surplus);
        let mut group = build::group(&name, min);
        group = self.queue.into_iter().fold(group, Built::<PodGroupFacts>::queue);
        group = self.class.into_iter().fold(group, Built::class);
        group = self.role_min.into_iter().fold(group, |group, min| group.role_min("a", min));
        objects.push(
            group
                .with(|group| {
                    group.created = TimeMs(self.age);
                    group.topology.clone_from(&self.topology);
                })
                .into(),
        );
        for (index, (pod, state)) in self.members.iter().enumerate() {
            let pod = named(pod.clone().into(), &format!("{name}-{}-{index}", pod.role));
            settle(pod.group(&name).facts(), *state, nodes, running, objects);
        }
    }
}

/// Puts a pod where it is to start, or nowhere if there is no room for it.
fn settle(
    pod: PodFacts,
    state: State,
    nodes: &[NodeFacts],
    running: &mut Vec<PodFacts>,
    objects: &mut Vec<ClusterDelta>,
) {
    let pod = Built::from(pod);
    let placed = match state {
        State::Waiting => None,
        State::Running(node) => Some(pod.clone().running_on(node)),
        State::Leaving(node) => Some(pod.clone().running_on(node).leaving()),
        State::Reserved(node) => return objects.push(pod.nominated(node).into()),
    };
    let placed = placed.map(Built::facts).filter(|pod| {
        let name = pod.node.as_ref();
        let node = nodes.iter().find(|node| Some(&node.name) == name);
        let tenants = running.iter().filter(|other| other.node.as_ref() == name);
        node.is_some_and(|node| overfull(node, tenants.chain([pod])).is_none())
    });
    running.extend(placed.clone());
    objects.push(placed.map_or(pod, Built::from).into());
}

/// A resource of which pods take more than their node offers, if there is one.
fn overfull<'a>(node: &NodeFacts, pods: impl IntoIterator<Item = &'a PodFacts>) -> Option<String> {
    let mut free = node.allocatable.clone();
    for (name, amount) in pods.into_iter().flat_map(|pod| &pod.request) {
        match free.iter_mut().find(|entry| entry.0 == *name) {
            Some(entry) => entry.1 = entry.1.sub(*amount),
            None if amount.is_zero() => {}
            None => return Some(name.to_string()),
        }
    }
    free.into_iter().find(|entry| entry.1.is_negative()).map(|entry| entry.0.to_string())
}
