//! Small clusters for the tests of what reads the books: facts made by hand, decisions made by hand.

use muster_core::delta::{
    ClusterDelta, Constraints, DomainFacts, DomainMember, GroupPhase, NodeFacts, NodeGroupFacts,
    Ownership, PodFacts, PodGroupFacts, PodPhase, QueueFacts,
};
use muster_core::ids::{Name, ObjectKey, TimeMs};
use muster_core::intent::{Decision, DecisionOp, Ruling};
use muster_core::resource::{Quantity, ResourceList};
use muster_core::status::QueueState;

use super::books::Books;

/// A key in the namespace `default`.
pub(crate) fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn cpu(units: i64) -> ResourceList {
    vec![("cpu".into(), Quantity::from_units(units)), ("pods".into(), Quantity::from_units(1))]
}

/// A node with so much cpu.
pub(crate) fn node(name: &str, cpus: i64) -> ClusterDelta {
    let mut allocatable = cpu(cpus);
    allocatable[1].1 = Quantity::from_units(110);
    ClusterDelta::from(NodeFacts {
        name: name.into(),
        labels: vec![("host".into(), name.into())],
        taints: Vec::new(),
        unschedulable: false,
        allocatable,
        images: Vec::new(),
    })
}

/// A waiting pod of a gang; its fields are changed as the test needs.
pub(crate) fn pod(name: &str, gang: &str, cpus: i64) -> PodFacts {
    PodFacts {
        key: key(name),
        uid: format!("uid-{name}").into(),
        created: TimeMs(0),
        ownership: Ownership::Ours,
        group: Some(gang.into()),
        queue: None,
        role: "".into(),
        priority: None,
        priority_class: None,
        preemptable: None,
        preempts: None,
        cooldown_ms: 0,
        request: cpu(cpus),
        constraints: Constraints::default(),
        claims: Vec::new(),
        labels: Vec::new(),
        owner: None,
        gates: Vec::new(),
        phase: PodPhase::Pending,
        node: None,
        nominated: None,
        annotated: None,
        version: None,
        deleting: false,
    }
}

/// A running pod of a gang.
pub(crate) fn running(name: &str, gang: &str, cpus: i64, node: &str) -> PodFacts {
    PodFacts { phase: PodPhase::Running, node: Some(node.into()), ..pod(name, gang, cpus) }
}

/// A gang.
pub(crate) fn gang(name: &str, min_member: u32) -> PodGroupFacts {
    PodGroupFacts {
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
        topology: None,
        subgroups: Vec::new(),
        phase: GroupPhase::Pending,
        report: muster_core::status::GroupReport::default(),
    }
}

/// A queue without limits.
pub(crate) fn queue(name: &str) -> QueueFacts {
    QueueFacts {
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
    }
}

/// So much cpu and nothing else.
pub(crate) fn only_cpu(units: i64) -> ResourceList {
    vec![("cpu".into(), Quantity::from_units(units))]
}

/// A domain of these nodes.
pub(crate) fn domain(name: &str, tier: u32, nodes: &[&str]) -> ClusterDelta {
    let member = |node: &&str| DomainMember::Node(Name::from(*node));
    ClusterDelta::from(DomainFacts {
        name: name.into(),
        tier,
        tier_name: None,
        members: nodes.iter().map(member).collect(),
    })
}

/// The pod as a delta.
pub(crate) fn set(pod: PodFacts) -> ClusterDelta {
    ClusterDelta::from(pod)
}

/// The gang as a delta.
pub(crate) fn set_gang(gang: PodGroupFacts) -> ClusterDelta {
    ClusterDelta::from(gang)
}

/// The queue as a delta.
pub(crate) fn set_queue(queue: QueueFacts) -> ClusterDelta {
    ClusterDelta::from(queue)
}

/// Books with these objects.
pub(crate) fn books(deltas: &[ClusterDelta]) -> Books {
    let mut books = Books::default();
    for delta in deltas {
        books.apply(delta);
    }
    books
}

/// A decision about a pod.
pub(crate) fn decide(op: DecisionOp, pod: &str, node: &str, job: &str) -> Decision {
    let ruling = Ruling { action: "preempt", op, job: key(job), beneficiary: None, reason: None };
    Decision { pod: key(pod), node: node.into(), ruling: ruling.into() }
}

/// The same with another ruling.
pub(crate) fn ruled(decision: Decision, change: impl FnOnce(&mut Ruling)) -> Decision {
    let mut ruling = Ruling::clone(&decision);
    change(&mut ruling);
    Decision { ruling: ruling.into(), ..decision }
}

/// An eviction for a job.
pub(crate) fn evict_for(winner: &str, pod: &str, node: &str, job: &str) -> Decision {
    let evict = decide(DecisionOp::Evict, pod, node, job);
    ruled(evict, |ruling| ruling.beneficiary = Some(key(winner)))
}
