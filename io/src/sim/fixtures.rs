//! Small clusters for the tests of what reads the books: facts made by hand, decisions made by hand.

use muster_core::delta::{
    ClusterDelta, PodFacts, PodGroupFacts, PodPhase, QueueFacts, SubGroupPolicy, TopologyWish,
};
use muster_core::intent::{Decision, DecisionOp, Ruling};
use muster_core::resource::ResourceList;
use muster_core::testing;
pub(crate) use muster_core::testing::key;

use super::books::Books;

/// A node with so much cpu.
pub(crate) fn node(name: &str, cpus: i64) -> ClusterDelta {
    testing::node(name).label("host", name).offer("cpu", cpus).into()
}

/// A waiting pod of a gang; its fields are changed as the test needs.
pub(crate) fn pod(name: &str, gang: &str, cpus: i64) -> PodFacts {
    testing::pod(name).group(gang).ask("cpu", cpus).facts()
}

/// A running pod of a gang.
pub(crate) fn running(name: &str, gang: &str, cpus: i64, node: &str) -> PodFacts {
    PodFacts { phase: PodPhase::Running, node: Some(node.into()), ..pod(name, gang, cpus) }
}

/// A gang.
pub(crate) fn gang(name: &str, min_member: u32) -> PodGroupFacts {
    testing::group(name, min_member).facts()
}

/// Sub-groups of two by the label `half`.
pub(crate) fn halves(topology: Option<TopologyWish>) -> SubGroupPolicy {
    SubGroupPolicy {
        name: "half".into(),
        size: 2,
        min_subgroups: 1,
        match_label_keys: vec!["half".into()],
        selector: None,
        topology,
    }
}

/// A queue without limits.
pub(crate) fn queue(name: &str) -> QueueFacts {
    testing::queue(name).facts()
}

/// So much cpu and nothing else.
pub(crate) fn only_cpu(units: i64) -> ResourceList {
    testing::amounts([("cpu", units)])
}

/// A domain of these nodes.
pub(crate) fn domain(name: &str, tier: u32, nodes: &[&str]) -> ClusterDelta {
    nodes.iter().fold(testing::domain(name, tier), |domain, node| domain.node(node)).into()
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
