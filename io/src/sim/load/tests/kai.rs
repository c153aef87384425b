//! What Scenarios of KAI's dialect need.

use muster_core::ids::Name;
use muster_core::resource::Quantity;

use super::*;
use crate::objects::{Object, ObjectKind};
use crate::sim::expectation::{Assertion, Beyond, Range};
use crate::sim::invariants::Invariant;
use crate::sim::scenario::Checks;

const QUEUE: &str = "{apiVersion: scheduling.run.ai/v2, kind: Queue, metadata: {name: q}, \
                     spec: {resources: {}}}";

fn kinds(scenario: &Scenario) -> Vec<ObjectKind> {
    scenario.objects.iter().map(Object::kind).collect()
}

#[test]
fn kinds_of_one_name_are_told_apart_by_their_group() {
    let scenario = read_spec(&format!(
        "  objects:\n  - {QUEUE}\n  - {{kind: Queue, metadata: {{name: v}}}}\n  \
         - {{apiVersion: scheduling.run.ai/v2alpha2, kind: PodGroup, metadata: {{name: g}}, \
         spec: {{queue: q}}}}\n  \
         - {{apiVersion: kai.scheduler/v1alpha1, kind: Topology, metadata: {{name: t}}, \
         spec: {{levels: [{{nodeLabel: zone}}]}}}}\n  \
         - {{apiVersion: kai.scheduler/v1, kind: SchedulingShard, metadata: {{name: s}}}}\n"
    ));
    let expected = [
        ObjectKind::KaiQueue,
        ObjectKind::Queue,
        ObjectKind::KaiPodGroup,
        ObjectKind::LevelTopology,
        ObjectKind::SchedulingShard,
    ];
    assert_eq!(kinds(&scenario), expected);
    assert_eq!(scenario.warnings, ["SchedulingShard s is read by no rule of this version"]);
}

#[test]
fn no_default_queue_is_made_beside_queues_of_kai() {
    let scenario = read_spec(&format!("  objects: [{QUEUE}]\n"));
    assert_eq!(kinds(&scenario), [ObjectKind::KaiQueue]);
    assert_eq!(kinds(&read_spec("  objects: []\n")), [ObjectKind::Queue]);
}

#[test]
fn a_deletion_means_the_kind_that_is_there_or_the_one_it_names() {
    let deleted = |delete: &str| {
        let spec = format!(
            "  objects: [{QUEUE}]\n  timeline:\n  - {{at: 1s, delete: [{{kind: Queue, {delete}}}]}}\n"
        );
        load_text(&format!("kind: Scenario\nspec:\n{spec}"))
            .map(|scenario| scenario.timeline[0].delete[0].kind)
            .map_err(|LoadErrors(errors)| errors[0].problem.clone())
    };
    assert_eq!(deleted("name: q"), Ok(ObjectKind::KaiQueue));
    assert_eq!(deleted("name: q, apiVersion: scheduling.run.ai/v2"), Ok(ObjectKind::KaiQueue));
    let volcano = deleted("name: q, apiVersion: scheduling.volcano.sh/v1beta1").unwrap_err();
    assert_eq!(volcano, "Queue q does not exist by then; nothing to delete");
    let unknown = deleted("name: q, apiVersion: example.com/v1").unwrap_err();
    assert!(unknown.starts_with("\"Queue\" (example.com/v1) is not a kind of object"), "{unknown}");
}

#[test]
fn invariants_can_be_left_out_by_name() {
    let checks = read_spec("  invariants: {except: [no-useless-eviction, ledger]}\n").invariants;
    assert_eq!(checks, Checks::Except(vec![Invariant::NoUselessEviction, Invariant::Ledger]));
    assert!(checks.any() && !checks.has(Invariant::Ledger) && checks.has(Invariant::NodeBounds));
    assert_eq!(
        spec_complaints("  invariants: {except: [ledgers]}\n"),
        ["f.yaml:3: document 1: spec.invariants: \"ledgers\" is not an invariant; did you mean \
          ledger? (expected one of no-repeat-eviction, no-useless-eviction, minimal-victims, \
          all-or-nothing, ledger, queue-bounds, hard-topology, node-bounds)"]
    );
    assert_eq!(
        spec_complaints("  invariants: {expect: []}\n"),
        ["f.yaml:3: document 1: spec.invariants: expect: is not known here; did you mean except? \
          (expected one of except)"]
    );
}

fn assertions(expect: &str) -> Vec<Assertion> {
    let scenario = read_spec(&format!(
        "  objects:\n  - {QUEUE}\n  - {{kind: NodeSet, name: n, count: 1, allocatable: {{cpu: 1}}}}\n  \
         - {{kind: Gang, name: g, queue: q, tasks: [{{role: w}}]}}\n  expect:\n{expect}"
    ));
    scenario.expect.into_iter().map(|expectation| expectation.assertion).collect()
}

#[test]
fn shares_and_rooms_read_as_written() {
    let read = assertions(
        "  - queue: {name: q, fairShare: {nvidia.com/gpu: '1.5', memory: 2000000}}\n  \
         - node: {name: n0, idle: {cpu: '1'}, releasing: {cpu: {max: '2'}}}\n",
    );
    let amount = |text: &str| text.parse::<Quantity>().unwrap();
    let fair_share =
        vec![("memory".into(), amount("2000000")), ("nvidia.com/gpu".into(), amount("1.5"))];
    let (allocated, usage) = (Vec::new(), Vec::new());
    assert_eq!(read[0], Assertion::Queue { name: "q".into(), allocated, fair_share, usage });
    assert_eq!(
        read[1],
        Assertion::Node {
            name: "n0".into(),
            idle: vec![("cpu".into(), Range::exactly(amount("1")))],
            releasing: vec![("cpu".into(), Range { min: None, max: Some(amount("2")) })],
        }
    );
}

#[test]
fn what_this_version_does_not_have_is_read_and_marked() {
    let read = assertions(
        "  - bound: {gang: g, numaZones: [zone-0]}\n  - node: {name: n0, numaAvailable: {zone-0: {cpu: '1'}}}\n  \
         - devices: {claim: default/c, node: n0, count: 2, names: [gpu-0, gpu-1]}\n  \
         - free: {nodes: n0, class: gpu, count: 3}\n",
    );
    let marks = read.iter().map(|assertion| match assertion {
        Assertion::Bound(count) | Assertion::Pipelined(count) => count.beyond,
        Assertion::Beyond(beyond) => Some(*beyond),
        _ => None,
    });
    let expected = [Beyond::NumaZones, Beyond::NumaZones, Beyond::Devices, Beyond::Devices];
    assert_eq!(marks.collect::<Vec<_>>(), expected.map(Some));
}

#[test]
fn expectations_name_shared_devices() {
    let read = assertions(
        "  - bound: {gang: g, gpuGroup: '0'}\n  - pipelined: {gang: g, gpuGroup: [a, b]}\n",
    );
    let devices = read.iter().map(|assertion| match assertion {
        Assertion::Bound(count) | Assertion::Pipelined(count) => count.devices.clone(),
        _ => None,
    });
    let names = |names: &[&str]| Some(names.iter().map(|name| Name::from(*name)).collect());
    assert_eq!(devices.collect::<Vec<_>>(), [names(&["0"]), names(&["a", "b"])]);
}

#[test]
fn expectations_that_say_nothing_or_speak_of_nobody_are_refused() {
    let complaint = |expect: &str| {
        spec_complaints(&format!("  objects: [{QUEUE}]\n  expect: [{expect}]\n")).remove(0)
    };
    for (expect, problem) in [
        ("{queue: {name: q}}", "queue: expected allocated, fairShare or usage"),
        ("{node: {name: n0}}", "node: expected idle, releasing or both"),
        (
            "{node: {name: n0, idle: {cpu: 1}}}",
            "node.name: node n0 never exists; expected one that objects or the timeline bring in",
        ),
    ] {
        let told = complaint(expect);
        assert!(told.ends_with(problem), "{told}");
    }
}

#[test]
fn times_of_objects_count_from_time_zero() {
    let scenario = read_spec(&format!(
        "  objects:\n  - {QUEUE}\n  - apiVersion: scheduling.run.ai/v2alpha2\n    kind: PodGroup\n    \
         metadata:\n      name: g\n      creationTimestamp: '2025-12-31T23:58:00Z'\n      \
         annotations: {{kai.scheduler/last-start-timestamp: '2025-12-31T23:59:00Z'}}\n    \
         spec: {{queue: q}}\n"
    ));
    let Object::KaiPodGroup(group) = &scenario.objects[1] else { panic!("not a PodGroup") };
    assert_eq!(group.metadata.created_ms, Some(-120_000));
    assert_eq!(group.past.last_start_ms, Some(-60_000));
    let told =
        spec_complaints("  objects: [{kind: Pod, metadata: {name: p, deletionTimestamp: now}}]\n");
    assert!(
        told[0].contains("metadata.deletionTimestamp: \"now\" is not an RFC 3339 time"),
        "{told:?}"
    );
}
