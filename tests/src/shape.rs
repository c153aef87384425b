//! Random objects: a few names of each kind, each with random facts, so that objects refer to each
//! other, to themselves, and to objects that are not there.

use muster_core::delta::{
    BudgetFacts, ClusterDelta, DomainMember, GroupLimits, ObjectRef, Operator, Ownership, PodFacts,
    PodOwner, PodPhase, PodSetFacts, PodSetKind, PodSetRef, Requirement, Share, SubGroupPolicy,
    Taint, TaintEffect, Toleration, TopologyMode,
};
use muster_core::ids::TimeMs;
use muster_core::resource::ResourceList;
use muster_core::status::QueueState;
use proptest::collection::vec;
use proptest::option::{self, weighted};
use proptest::prelude::*;
use proptest::sample::select;

use muster_core::testing::{self as build, key};

/// Nodes that may exist; the last is never there.
const NODES: [&str; 7] = ["n1", "n2", "n3", "n10", "n011", "m", "lost"];
/// Queues that may exist; the last is never there.
const QUEUES: [&str; 6] = ["default", "q1", "q2", "q3", "q4", "nowhere"];
/// PodGroups that may exist; the last is never there.
const GROUPS: [&str; 5] = ["g1", "g2", "g3", "g4", "orphan"];
/// Priority classes that may exist; the last is never there.
const CLASSES: [&str; 4] = ["low", "high", "spare", "unknown"];
/// Domains that may exist; the last is never there.
const DOMAINS: [&str; 6] = ["d1", "d2", "d3", "d4", "d5", "void"];
/// Services and controllers that may exist.
const SETS: [(PodSetKind, &str); 4] = [
    (PodSetKind::Service, "s1"),
    (PodSetKind::Service, "s2"),
    (PodSetKind::ReplicaSet, "r1"),
    (PodSetKind::StatefulSet, "r1"),
];
/// Number of pods that may exist.
const PODS: usize = 14;
/// More names than a resource vector has lanes.
const EXTENDED: [&str; 7] =
    ["nvidia.com/gpu", "x.io/a", "x.io/b", "x.io/c", "x.io/d", "x.io/e", "x.io/f"];

/// All but the last of a list: those that may exist.
fn real<const N: usize>(names: &'static [&'static str; N]) -> &'static [&'static str] {
    &names[..N - 1]
}

/// One object that may exist: what it may look like, and which it is.
struct Slot {
    set: BoxedStrategy<ClusterDelta>,
    object: ObjectRef,
}

/// Some of the possible objects, each once, in a fixed order of kinds and names.
pub fn any_objects() -> impl Strategy<Value = Vec<ClusterDelta>> {
    let objects: Vec<_> = slots().into_iter().map(|slot| weighted(0.8, slot.set)).collect();
    objects.prop_map(|objects| objects.into_iter().flatten().collect())
}

/// For some of the possible objects what happened to each, in order: set, changed, gone, set aside,
/// back again.
pub fn any_histories() -> impl Strategy<Value = Vec<Vec<ClusterDelta>>> {
    let histories: Vec<_> = slots()
        .into_iter()
        .map(|slot| {
            let gone = ClusterDelta::Gone(slot.object.clone());
            let aside = ClusterDelta::SetAside { object: slot.object, reason: "unreadable".into() };
            vec(prop_oneof![8 => slot.set, 3 => Just(gone), 1 => Just(aside)], 0..4)
        })
        .collect();
    histories
}

fn slots() -> Vec<Slot> {
    let mut slots = Vec::new();
    for name in real(&CLASSES) {
        slots.push(slot(any_class(name), ObjectRef::PriorityClass((*name).into())));
    }
    for name in real(&QUEUES) {
        slots.push(slot(any_queue(name), ObjectRef::Queue((*name).into())));
    }
    for name in real(&NODES) {
        slots.push(slot(any_node(name), ObjectRef::Node((*name).into())));
    }
    for name in real(&DOMAINS) {
        slots.push(slot(any_domain(name), ObjectRef::Domain((*name).into())));
    }
    for name in real(&GROUPS) {
        slots.push(slot(any_group(name), ObjectRef::PodGroup(key(name))));
    }
    for name in ["b1", "b2"] {
        slots.push(slot(any_budget(name), ObjectRef::DisruptionBudget(key(name))));
    }
    for (kind, name) in SETS {
        let set = PodSetRef { kind, key: key(name) };
        slots.push(slot(any_set(set.clone()), ObjectRef::PodSet(set)));
    }
    for index in 0..PODS {
        let name = format!("p-a-{index}");
        let object = ObjectRef::Pod(key(&name));
        slots.push(slot(any_pod(name), object));
    }
    slots
}

fn slot(set: impl Strategy<Value = ClusterDelta> + 'static, object: ObjectRef) -> Slot {
    Slot { set: set.boxed(), object }
}

fn any_class(name: &'static str) -> impl Strategy<Value = ClusterDelta> {
    (-3..4_i32, weighted(0.3, Just(()))).prop_map(move |(value, default)| {
        let class = build::priority_class(name, value);
        ClusterDelta::from(muster_core::delta::PriorityClassFacts {
            global_default: default.is_some(),
            ..class
        })
    })
}

fn any_queue(name: &'static str) -> impl Strategy<Value = ClusterDelta> {
    let state = prop_oneof![6 => Just(QueueState::Open), 1 => Just(QueueState::Closed)];
    let place = (weighted(0.6, select(&QUEUES[..])), state, 0..3_i64, 1..4_u32);
    let limits =
        [weighted(0.3, any_amounts()), weighted(0.3, any_amounts()), weighted(0.2, any_amounts())];
    let cap = weighted(0.5, (select(&["ga", "gb"][..]), 0..6_i64));
    (place, limits, cap).prop_map(move |((parent, state, age, weight), limits, cap)| {
        let mut queue = build::queue(name).facts();
        queue.parent = parent.map(Into::into);
        queue.state = state;
        queue.created = TimeMs(age);
        queue.weight = weight;
        [queue.capability, queue.deserved, queue.guarantee] = limits;
        if let Some((group, cpus)) = cap {
            let amounts = build::amounts([("cpu", cpus)]);
            queue.node_groups.anti_preferred.push(group.into());
            queue.node_groups.limits = GroupLimits::Given(vec![(group.into(), amounts)]);
            queue.hierarchy = vec![(group.into(), 2000), (name.into(), 1000)];
        }
        ClusterDelta::from(queue)
    })
}

/// Limits of a queue, or the least a gang asks for.
fn any_amounts() -> impl Strategy<Value = ResourceList> {
    let name = select(&["cpu", "memory", "nvidia.com/gpu", "x.io/f", "requests.cpu"][..]);
    vec((name, 0..9_i64), 0..4).prop_map(build::amounts)
}

/// A budget over one set of pods, all of them or none.
fn any_budget(name: &'static str) -> impl Strategy<Value = ClusterDelta> {
    let sets = prop_oneof![
        1 => Just(None),
        1 => Just(Some(Vec::new())),
        4 => select(&["x", "y"][..]).prop_map(|set| Some(vec![in_set(set)])),
    ];
    (sets, option::of(0..3_u32), option::of(0..3_i64)).prop_map(
        move |(selector, least, allowed)| {
            ClusterDelta::from(BudgetFacts {
                key: key(name),
                selector,
                min_available: least.map(Share::Count),
                max_unavailable: None,
                allowed,
                disrupted: Vec::new(),
            })
        },
    )
}

/// A Service or a controller of some pods.
fn any_set(set: PodSetRef) -> impl Strategy<Value = ClusterDelta> {
    let role = Requirement { key: "tier".into(), operator: Operator::Exists, values: Vec::new() };
    let selector = prop_oneof![
        3 => select(&["x", "y"][..]).prop_map(|set| vec![in_set(set)]),
        1 => Just(vec![role.clone()]),
        1 => Just(vec![in_set("x"), role]),
    ];
    selector
        .prop_map(move |selector| ClusterDelta::from(PodSetFacts { set: set.clone(), selector }))
}

fn in_set(set: &str) -> Requirement {
    Requirement { key: "set".into(), operator: Operator::In, values: vec![set.into()] }
}

fn any_node(name: &'static str) -> impl Strategy<Value = ClusterDelta> {
    let room = (0..9_i64, 0..13_i64, 1..7_i64);
    let extended = vec((select(&EXTENDED[..]), 0..4_i64), 0..4);
    let taint = weighted(0.2, any_taint());
    let rare = weighted(0.1, Just(()));
    let group = weighted(0.3, select(&["ga", "gb"][..]));
    (room, extended, select(&["a", "b"][..]), taint, rare, group).prop_map(
        move |((cpu, memory, pods), extended, zone, taint, unschedulable, group)| {
            let mut node = build::node(name).label("zone", zone).label("host", name);
            if let Some(group) = group {
                node = node.label("volcano.sh/nodegroup-name", group);
            }
            for (resource, units) in
                [("cpu", cpu), ("memory", memory), ("pods", pods)].into_iter().chain(extended)
            {
                node = node.offer(resource, units);
            }
            let mut node = node.facts();
            node.taints.extend(taint);
            node.unschedulable = unschedulable.is_some();
            ClusterDelta::from(node)
        },
    )
}

fn any_taint() -> impl Strategy<Value = Taint> {
    let effects = [TaintEffect::NoSchedule, TaintEffect::PreferNoSchedule, TaintEffect::NoExecute];
    select(effects.to_vec()).prop_map(|effect| Taint {
        key: "dedicated".into(),
        value: "some".into(),
        effect,
    })
}

fn any_domain(name: &'static str) -> impl Strategy<Value = ClusterDelta> {
    (1..4_u32, vec(any_member(), 0..4), weighted(0.3, Just("rack"))).prop_map(
        move |(tier, members, tier_name)| {
            let mut domain = build::domain(name, tier).facts();
            domain.members = members;
            domain.tier_name = tier_name.map(Into::into);
            ClusterDelta::from(domain)
        },
    )
}

fn any_member() -> impl Strategy<Value = DomainMember> {
    let pattern = select(&["n1", "^n", "m|n3", "("][..]);
    prop_oneof![
        4 => select(&NODES[..]).prop_map(|node| DomainMember::Node(node.into())),
        2 => pattern.prop_map(|pattern| DomainMember::NodePattern(pattern.into())),
        1 => select(&["a", "b"][..]).prop_map(|zone| DomainMember::NodeLabels(vec![in_zone(zone)])),
        3 => select(&DOMAINS[..]).prop_map(|domain| DomainMember::Domain(domain.into())),
    ]
}

fn in_zone(zone: &str) -> Requirement {
    Requirement { key: "zone".into(), operator: Operator::In, values: vec![zone.into()] }
}

fn any_group(name: &'static str) -> impl Strategy<Value = ClusterDelta> {
    let topology = weighted(0.3, (select(&[TopologyMode::Hard, TopologyMode::Soft][..]), 1..3_u32));
    let role = weighted(0.3, (select(&["a", "b"][..]), 0..3_u32));
    let queue = weighted(0.7, select(&QUEUES[..]));
    let about = (0..3_u32, 0..4_i64);
    let class = option::of(select(&CLASSES[..]));
    let wants = (weighted(0.5, any_amounts()), weighted(0.2, 1..9_000_i64));
    (0..5_u32, about, queue, class, topology, role, weighted(0.3, any_policy()), wants).prop_map(
        move |(min, (life, age), queue, class, topology, role, policy, (least, wait_ms))| {
            let mut group = build::group(name, min);
            if let Some((mode, tier)) = topology {
                group = group.within(mode, tier);
            }
            if let Some((role, min)) = role {
                group = group.role_min(role, min);
            }
            let mut group = group.facts();
            group.uid = format!("uid-{name}-{life}").into();
            group.created = TimeMs(age);
            group.queue = queue.map(Into::into);
            group.priority_class = class.map(Into::into);
            group.subgroups.extend(policy);
            group.min_resources = least;
            group.wait_ms = wait_ms;
            ClusterDelta::from(group)
        },
    )
}

/// A policy that makes sub-groups by label, of all pods or of those of one set.
fn any_policy() -> impl Strategy<Value = SubGroupPolicy> {
    (1..3_u32, 0..3_u32, option::of(Just("x"))).prop_map(|(size, min_subgroups, chosen)| {
        let is = |set: &str| Requirement {
            key: "set".into(),
            operator: Operator::In,
            values: vec![set.into()],
        };
        SubGroupPolicy {
            name: "sets".into(),
            size,
            min_subgroups,
            match_label_keys: vec!["set".into()],
            selector: chosen.map(|set| vec![is(set)]),
            topology: None,
        }
    })
}

/// Where a pod is in its life.
#[derive(Clone, Copy, Debug)]
enum Life {
    Waiting,
    Bound,
    Running,
    Leaving,
    Ended(PodPhase),
    Lost,
}

fn any_pod(name: String) -> impl Strategy<Value = ClusterDelta> {
    let life = prop_oneof![
        6 => Just(Life::Waiting),
        1 => Just(Life::Bound),
        3 => Just(Life::Running),
        2 => Just(Life::Leaving),
        1 => select(&[Life::Ended(PodPhase::Succeeded), Life::Ended(PodPhase::Failed)][..]),
        1 => Just(Life::Lost),
    ];
    let about = (0..2_u32, 0..4_i64, weighted(0.1, Just(())), weighted(0.1, Just(())));
    let kind = (select(&["", "a", "b"][..]), weighted(0.6, select(&["x", "y"][..])));
    let home = (weighted(0.8, select(&GROUPS[..])), weighted(0.3, select(&QUEUES[..])));
    let rank = (weighted(0.2, -2..3_i32), option::of(select(&CLASSES[..])));
    let place = (life, select(&NODES[..]));
    (about, home, rank, place, any_request(), kind, any_wish()).prop_map(
        move |((uid, age, foreign, gated), (group, queue), rank, place, request, kind, wish)| {
            let (role, set) = kind;
            let mut pod = build::pod(&name).role(role);
            for (resource, units) in request {
                pod = pod.ask(resource, units);
            }
            let mut pod = live(pod.facts(), place);
            pod.uid = format!("uid-{name}-{uid}").into();
            pod.created = TimeMs(age);
            pod.group = group.map(Into::into);
            pod.labels.extend(set.map(|set| ("set".into(), set.into())));
            if age == 0 {
                pod.labels.push(("tier".into(), "front".into()));
            }
            let sets = SETS.iter().filter(|set| set.0 != PodSetKind::Service);
            let owner = sets.cycle().nth(age as usize).filter(|_| uid == 0);
            pod.owner = owner.map(|(kind, name)| PodOwner { kind: *kind, name: (*name).into() });
            pod.queue = queue.map(Into::into);
            pod.priority = rank.0;
            pod.priority_class = rank.1.map(Into::into);
            if foreign.is_some() {
                pod.ownership = Ownership::Foreign;
            }
            if gated.is_some() {
                pod.gates.push("hold".into());
            }
            match wish {
                Wish::None => {}
                Wish::Zone(zone) => {
                    pod.constraints.node_selector.push(("zone".into(), zone.into()));
                }
                Wish::Tolerates => pod.constraints.tolerations.push(Toleration {
                    key: None,
                    value: None,
                    effect: None,
                }),
            }
            ClusterDelta::from(pod)
        },
    )
}

/// What a pod wants besides room.
#[derive(Clone, Copy, Debug)]
enum Wish {
    None,
    Zone(&'static str),
    Tolerates,
}

fn any_wish() -> impl Strategy<Value = Wish> {
    prop_oneof![
        6 => Just(Wish::None),
        1 => select(&["a", "b"][..]).prop_map(Wish::Zone),
        1 => Just(Wish::Tolerates),
    ]
}

/// Few different requests, so that pods share classes.
fn any_request() -> impl Strategy<Value = Vec<(&'static str, i64)>> {
    prop_oneof![
        1 => Just(Vec::new()),
        5 => (1..4_i64).prop_map(|cpu| vec![("cpu", cpu), ("memory", 2)]),
        2 => (0..3_i64).prop_map(|gpu| vec![("cpu", 1), ("nvidia.com/gpu", gpu)]),
        1 => (select(&EXTENDED[..]), 0..3_i64).prop_map(|(name, units)| vec![(name, units)]),
    ]
}

fn live(mut pod: PodFacts, (life, node): (Life, &str)) -> PodFacts {
    let (phase, deleting) = match life {
        Life::Waiting => return pod,
        Life::Bound => (PodPhase::Pending, false),
        Life::Running => (PodPhase::Running, false),
        Life::Leaving => (PodPhase::Running, true),
        Life::Ended(phase) => (phase, false),
        Life::Lost => (PodPhase::Unknown, false),
    };
    pod.node = Some(node.into());
    pod.phase = phase;
    pod.deleting = deleting;
    pod
}
