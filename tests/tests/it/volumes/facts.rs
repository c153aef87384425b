//! The objects of the test, made of a few numbers, and what they say of each other.

use muster_core::delta::{
    AccessModes, BindingMode, ClaimFacts, ClaimRef, ClaimState, NodeFacts, NodeTerm, Operator,
    PodFacts, Requirement, StorageCapacityFacts, StorageClassFacts, VolumeFacts, VolumeMode,
    VolumeState,
};
use muster_core::ids::{Name, ObjectKey, TimeMs};
use muster_core::resource::Quantity;
use muster_core::testing::key;

pub(super) const ZONE: &str = "topology.kubernetes.io/zone";
pub(super) const OLD_ZONE: &str = "failure-domain.beta.kubernetes.io/zone";
pub(super) const HOST: &str = "kubernetes.io/hostname";
pub(super) const DRIVER: &str = "disk";

#[derive(Clone, Copy, Debug)]
pub(super) enum Reach {
    Everywhere,
    Host(usize),
    Zone(usize),
    Labelled(usize),
    LabelledBoth,
}

pub(super) fn one_of(key: &str, value: &str) -> NodeTerm {
    let test = Requirement { key: key.into(), operator: Operator::In, values: vec![value.into()] };
    NodeTerm { labels: vec![test], fields: Vec::new() }
}

pub(super) fn zone_name(zone: usize) -> &'static str {
    ["a", "b"][zone]
}

/// The classes, which never change: made anywhere, made in zone b, never made, bound at once. A
/// fifth does not exist.
pub(super) fn classes() -> Vec<StorageClassFacts> {
    let class =
        |name: &str, made: bool, waits: bool, topologies: Vec<NodeTerm>| StorageClassFacts {
            name: name.into(),
            created: TimeMs(0),
            provisioner: made.then(|| DRIVER.into()),
            binding: if waits { BindingMode::WaitForFirstConsumer } else { BindingMode::Immediate },
            is_default: false,
            topologies,
        };
    vec![
        class("c0", true, true, Vec::new()),
        class("c1", true, true, vec![one_of(ZONE, "b")]),
        class("c2", false, true, Vec::new()),
        class("c3", true, false, Vec::new()),
    ]
}

pub(super) fn volume(
    at: usize,
    class: usize,
    size: i64,
    reach: Reach,
    claim: Option<usize>,
    csi: bool,
) -> VolumeFacts {
    let (label, term) = match reach {
        Reach::Everywhere => (None, None),
        Reach::Host(at) => (None, Some(one_of(HOST, &format!("n{at}")))),
        Reach::Zone(zone) => (None, Some(one_of(ZONE, zone_name(zone)))),
        Reach::Labelled(zone) => (Some((ZONE, zone_name(zone))), None),
        Reach::LabelledBoth => (Some((OLD_ZONE, "a__b")), None),
    };
    let claim = claim.map(|at| ClaimRef { key: key(&format!("claim{at}")), uid: Name::default() });
    VolumeFacts {
        name: format!("v{at}").into(),
        labels: label.map(|(key, value)| (key.into(), value.into())).into_iter().collect(),
        capacity: Quantity::from_units(size),
        modes: AccessModes::ONCE.with(AccessModes::ONCE_POD),
        mode: VolumeMode::Filesystem,
        class: format!("c{class}").into(),
        claim,
        affinity: term.map(|term| vec![term]),
        driver: csi.then(|| DRIVER.into()),
        state: VolumeState::Usable,
    }
}

pub(super) fn claim(
    at: usize,
    class: usize,
    size: i64,
    once_pod: bool,
    volume: Option<usize>,
    state: u8,
) -> ClaimFacts {
    let state = match (state, volume) {
        (0, _) => ClaimState::Leaving,
        (1, Some(_)) => ClaimState::Lost,
        (2..12, Some(_)) => ClaimState::Bound,
        _ => ClaimState::Pending,
    };
    ClaimFacts {
        key: key(&format!("claim{at}")),
        uid: format!("uid-claim{at}").into(),
        owner: None,
        state,
        volume: volume.map(|at| format!("v{at}").into()),
        class: Some(format!("c{class}").into()),
        size: Quantity::from_units(size),
        modes: if once_pod { AccessModes::ONCE_POD } else { AccessModes::ONCE },
        mode: VolumeMode::Filesystem,
        selector: None,
        selected_node: None,
    }
}

pub(super) fn claims_of(pod: &PodFacts) -> impl Iterator<Item = ObjectKey> + '_ {
    pod.claims.iter().map(|claim| key(&claim.name))
}

pub(super) fn label<'a>(node: &'a NodeFacts, key: &str) -> Option<&'a Name> {
    node.labels.iter().find(|label| &*label.0 == key).map(|label| &label.1)
}

pub(super) fn holds(term: &NodeTerm, node: &NodeFacts) -> bool {
    term.labels.iter().all(|test| test.holds(label(node, &test.key)))
}

pub(super) fn reaches(volume: &VolumeFacts, node: &NodeFacts) -> bool {
    let terms = volume.affinity.as_ref();
    terms.is_none_or(|terms| terms.iter().any(|term| holds(term, node)))
}

pub(super) fn in_zone(volume: &VolumeFacts, node: &NodeFacts) -> bool {
    let Some(zone) = label(node, ZONE) else { return true };
    volume.labels.iter().all(|(_, zones)| zones.split("__").any(|one| *one == **zone))
}

/// What is left of a class on the nodes that are reached; nothing is said of a size where there is
/// none. Labelled volumes have no counterpart here: such an object names no node at all.
pub(super) fn capacity(
    at: usize,
    class: usize,
    size: Option<i64>,
    reach: Reach,
) -> StorageCapacityFacts {
    let segment = match reach {
        Reach::Everywhere => Some(Vec::new()),
        Reach::Host(at) => Some(one_of(HOST, &format!("n{at}")).labels),
        Reach::Zone(zone) => Some(one_of(ZONE, zone_name(zone)).labels),
        Reach::Labelled(_) | Reach::LabelledBoth => None,
    };
    StorageCapacityFacts {
        key: key(&format!("capacity{at}")),
        class: format!("c{class}").into(),
        segment,
        largest: size.map(Quantity::from_units),
    }
}

/// Is a volume of the size possible on the node?
pub(super) fn has_storage(facts: &StorageCapacityFacts, size: Quantity, node: &NodeFacts) -> bool {
    let there = |tests: &Vec<Requirement>| tests.iter().all(|t| t.holds(label(node, &t.key)));
    facts.segment.as_ref().is_some_and(there) && facts.largest.is_some_and(|most| most >= size)
}
