//! Objects in a few words: `pod("g-a-0").group("g").ask("cpu", 2).running_on("n1")`.
//!
//! Amounts are whole units. A builder starts from the plainest object of its kind and turns into
//! facts with `facts()`, or into a delta with `into()`. Tests of every crate and benchmarks build
//! their objects with it; the feature `testing` makes it visible outside.

use std::borrow::Borrow;

use crate::delta::{
    ClusterDelta, Constraints, DomainFacts, DomainMember, GroupTree, LevelWish, NodeDeviceFacts,
    NodeFacts, NodeGroupFacts, Ownership, PodFacts, PodGroupFacts, PodPhase, PreemptionPolicy,
    PriorityClassFacts, QosClass, QueueFacts, SubGroupNode, TierRef, TopologyFacts, TopologyLevel,
    TopologyMode, TopologyWish, WholeWhen,
};
use crate::ids::{Name, ObjectKey, TimeMs};
use crate::resource::{Quantity, ResourceList};
use crate::status::QueueState;

/// The namespace of everything built here.
pub const NAMESPACE: &str = "default";

/// A key in the one namespace.
pub fn key(name: &str) -> ObjectKey {
    ObjectKey::new(NAMESPACE, name)
}

/// Puts an amount into a list that stays sorted by name.
fn put(list: &mut ResourceList, name: &str, units: i64) {
    let amount = Quantity::from_units(units);
    match list.binary_search_by(|entry| (*entry.0).cmp(name)) {
        Ok(at) => list[at].1 = amount,
        Err(at) => list.insert(at, (name.into(), amount)),
    }
}

/// A list of whole units.
pub fn amounts<'a>(entries: impl IntoIterator<Item = impl Borrow<(&'a str, i64)>>) -> ResourceList {
    let mut list = ResourceList::new();
    for entry in entries {
        let (name, units) = *entry.borrow();
        put(&mut list, name, units);
    }
    list
}

/// A builder over the facts of one kind.
#[derive(Clone, Debug)]
pub struct Built<T>(T);

impl<T> Built<T> {
    /// The object.
    pub fn facts(self) -> T {
        self.0
    }

    /// Changes the object in a way no other method has a name for.
    #[must_use]
    pub fn with(mut self, change: impl FnOnce(&mut T)) -> Self {
        change(&mut self.0);
        self
    }
}

impl<T> From<T> for Built<T> {
    fn from(facts: T) -> Self {
        Self(facts)
    }
}

/// A node that offers room for 110 pods and nothing else.
pub fn node(name: &str) -> Built<NodeFacts> {
    Built(NodeFacts {
        name: name.into(),
        labels: Vec::new(),
        taints: Vec::new(),
        unschedulable: false,
        allocatable: amounts([("pods", 110)]),
        capacity: [None; 2],
        images: Vec::new(),
        devices: NodeDeviceFacts::default(),
    })
}

impl Built<NodeFacts> {
    /// Offers so much of a resource.
    #[must_use]
    pub fn offer(self, resource: &str, units: i64) -> Self {
        self.with(|node| put(&mut node.allocatable, resource, units))
    }

    /// Has a label.
    #[must_use]
    pub fn label(self, key: &str, value: &str) -> Self {
        self.with(|node| {
            node.labels.push((key.into(), value.into()));
            node.labels.sort();
        })
    }
}

/// A pod of ours without PodGroup that asks for a slot only, created at time zero.
pub fn pod(name: &str) -> Built<PodFacts> {
    Built(PodFacts {
        key: key(name),
        uid: format!("uid-{name}").into(),
        created: TimeMs(0),
        ownership: Ownership::Ours,
        group: None,
        queue: None,
        role: Name::default(),
        priority: None,
        priority_class: None,
        preemptable: None,
        preempts: None,
        cooldown_ms: 0,
        request: amounts([("pods", 1)]),
        devices: None,
        shared_devices: Vec::new(),
        qos: QosClass::Burstable,
        constraints: Constraints::default(),
        claims: Vec::new(),
        inline_drivers: Vec::new(),
        labels: Vec::new(),
        owner: None,
        gates: Vec::new(),
        phase: PodPhase::Pending,
        node: None,
        placed: None,
        nominated: None,
        annotated: None,
        version: None,
        deleting: false,
        leave_by: None,
    })
}

impl Built<PodFacts> {
    /// Belongs to a PodGroup.
    #[must_use]
    pub fn group(self, group: &str) -> Self {
        self.with(|pod| pod.group = Some(group.into()))
    }

    /// Asks for so much of a resource.
    #[must_use]
    pub fn ask(self, resource: &str, units: i64) -> Self {
        self.with(|pod| put(&mut pod.request, resource, units))
    }

    /// Has a role within its gang.
    #[must_use]
    pub fn role(self, role: &str) -> Self {
        self.with(|pod| pod.role = role.into())
    }

    /// Names a queue of its own.
    #[must_use]
    pub fn queue(self, queue: &str) -> Self {
        self.with(|pod| pod.queue = Some(queue.into()))
    }

    /// Runs on a node.
    #[must_use]
    pub fn running_on(self, node: &str) -> Self {
        self.with(|pod| {
            pod.phase = PodPhase::Running;
            pod.node = Some(node.into());
        })
    }

    /// Runs on a node if one is given, and waits if not.
    #[must_use]
    pub fn on(self, node: Option<&str>) -> Self {
        match node {
            Some(node) => self.running_on(node),
            None => self,
        }
    }

    /// Has a deletion timestamp.
    #[must_use]
    pub fn leaving(self) -> Self {
        self.with(|pod| pod.deleting = true)
    }

    /// Has room held on a node.
    #[must_use]
    pub fn nominated(self, node: &str) -> Self {
        self.with(|pod| pod.nominated = Some(node.into()))
    }

    /// Has ended, well or badly, on a node.
    #[must_use]
    pub fn ended_on(self, node: &str, phase: PodPhase) -> Self {
        self.with(|pod| {
            pod.phase = phase;
            pod.node = Some(node.into());
        })
    }
}

/// A PodGroup of the default queue with a minimum, created at time zero.
pub fn group(name: &str, min_member: u32) -> Built<PodGroupFacts> {
    Built(PodGroupFacts {
        key: key(name),
        uid: format!("uid-{name}").into(),
        created: TimeMs(0),
        queue: None,
        min_member,
        min_task_member: Vec::new(),
        min_resources: None,
        wait_ms: None,
        priority_class: None,
        preemptable: None,
        budget: None,
        role_topology: None,
        topology: None,
        subgroups: Vec::new(),
        phase: None,
        report: crate::status::GroupReport::default(),
        tree: None,
    })
}

impl Built<PodGroupFacts> {
    /// Names a queue.
    #[must_use]
    pub fn queue(self, queue: &str) -> Self {
        self.with(|group| group.queue = Some(queue.into()))
    }

    /// Needs a number of pods of a role.
    #[must_use]
    pub fn role_min(self, role: &str, min: u32) -> Self {
        self.with(|group| {
            group.min_task_member.push((role.into(), min));
            group.min_task_member.sort();
        })
    }

    /// Names a priority class.
    #[must_use]
    pub fn class(self, class: &str) -> Self {
        self.with(|group| group.priority_class = Some(class.into()))
    }

    /// Wants its pods within one domain of a tier.
    #[must_use]
    pub fn within(self, mode: TopologyMode, tier: u32) -> Self {
        let wish = TopologyWish { mode, tier: Some(TierRef::Number(tier)) };
        self.with(|group| group.topology = Some(wish))
    }
}

/// An open queue of weight one below the root.
pub fn queue(name: &str) -> Built<QueueFacts> {
    Built(QueueFacts {
        name: name.into(),
        uid: format!("uid-{name}").into(),
        created: TimeMs(0),
        parent: None,
        weight: 1,
        priority: 0,
        capability: None,
        deserved: None,
        guarantee: None,
        reclaimable: true,
        state: QueueState::Open,
        hierarchy: Vec::new(),
        node_groups: NodeGroupFacts::default(),
        over_quota: None,
    })
}

impl Built<QueueFacts> {
    /// Is the child of another queue.
    #[must_use]
    pub fn parent(self, parent: &str) -> Self {
        self.with(|queue| queue.parent = Some(parent.into()))
    }

    /// Takes no jobs.
    #[must_use]
    pub fn closed(self) -> Self {
        self.with(|queue| queue.state = QueueState::Closed)
    }
}

/// A domain without members.
pub fn domain(name: &str, tier: u32) -> Built<DomainFacts> {
    Built(DomainFacts { name: name.into(), tier, tier_name: None, members: Vec::new() })
}

impl Built<DomainFacts> {
    /// Has a member.
    #[must_use]
    pub fn member(self, member: DomainMember) -> Self {
        self.with(|domain| domain.members.push(member))
    }

    /// Has a node as a member.
    #[must_use]
    pub fn node(self, node: &str) -> Self {
        self.member(DomainMember::Node(node.into()))
    }
}

/// A topology whose levels are these labels, the widest first.
pub fn topology(name: &str, labels: &[&str]) -> Built<TopologyFacts> {
    let level = |label: &&str| TopologyLevel { label: (*label).into(), alias: None };
    Built(TopologyFacts { name: name.into(), levels: labels.iter().map(level).collect() })
}

/// Sub-groups by name, parent and what makes them whole, parents first.
pub fn tree(subgroups: &[(&str, Option<&str>, WholeWhen)]) -> GroupTree {
    let named = |name: &str| subgroups.iter().position(|other| other.0 == name);
    let node = |&(name, parent, whole): &(&str, Option<&str>, WholeWhen)| SubGroupNode {
        name: name.into(),
        parent: parent.and_then(named).map(|at| at as u16),
        whole,
        levels: None,
    };
    GroupTree { subgroups: subgroups.iter().map(node).collect(), ..GroupTree::default() }
}

/// A wish for levels of a topology.
pub fn levels(topology: &str, required: Option<&str>, preferred: Option<&str>) -> LevelWish {
    let [required, preferred] = [required, preferred].map(|level| level.map(Name::from));
    LevelWish { topology: topology.into(), required, preferred }
}

/// A priority class.
pub fn priority_class(name: &str, value: i32) -> PriorityClassFacts {
    let preempts = PreemptionPolicy::default();
    PriorityClassFacts { name: name.into(), value, global_default: false, preempts }
}

impl<T: Into<ClusterDelta>> From<Built<T>> for ClusterDelta {
    fn from(built: Built<T>) -> Self {
        built.0.into()
    }
}
