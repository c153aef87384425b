//! Good input: what the files and their short forms stand for.

use muster_core::ids::ObjectKey;

use super::*;
use crate::objects::{Node, Object, ObjectKind, Pod, PodGroup};
use crate::sim::expectation::{Assertion, PodCount, Range, Subject};
use crate::sim::scenario::{Checks, Delay, Deletion, FailBind, Kubelet};

fn pod<'a>(objects: &'a [Object], name: &str) -> &'a Pod {
    let found = objects.iter().find_map(|object| match object {
        Object::Pod(pod) if pod.metadata.name == name => Some(pod),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no pod {name}"))
}

fn group<'a>(objects: &'a [Object], name: &str) -> &'a PodGroup {
    let found = objects.iter().find_map(|object| match object {
        Object::PodGroup(group) if group.metadata.name == name => Some(group),
        _ => None,
    });
    found.unwrap_or_else(|| panic!("no PodGroup {name}"))
}

fn titles(objects: &[Object]) -> Vec<String> {
    let title =
        |object: &Object| format!("{} {}", object.kind(), object.kind().title(&object.key()));
    objects.iter().map(title).collect()
}

#[test]
fn every_acceptance_scenario_loads() {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../tests/scenarios");
    let scenarios = load_all(&[folder]).unwrap_or_else(|errors| panic!("{errors}"));
    assert!(scenarios.len() >= 69, "only {} found", scenarios.len());
    assert!(scenarios.iter().all(|scenario| !scenario.expect.is_empty()));
}

#[test]
fn a_node_set_is_so_many_nodes_alike() {
    let scenario = read_spec(
        "  objects:\n  - {kind: NodeSet, name: n, count: 2, labels: {zone: a}, allocatable: {cpu: 8}, \
         taints: [{key: k, effect: NoSchedule}]}\n",
    );
    assert_eq!(titles(&scenario.objects), ["Queue default", "Node n0", "Node n1"]);
    let Object::Node(node) = &scenario.objects[2] else { panic!("not a node") };
    let Node { metadata, spec, status } = &**node;
    let label = |key: &str| metadata.labels.get(key).map(String::as_str);
    assert_eq!((label("zone"), label("kubernetes.io/hostname")), (Some("a"), Some("n1")));
    assert_eq!(spec.taints[0].key, "k");
    let allocatable = status.allocatable.as_ref().unwrap();
    assert_eq!(allocatable["cpu"].as_str(), "8");
    assert_eq!(allocatable["pods"].as_str(), "110");
}

#[test]
fn a_gang_is_a_pod_group_and_its_pods() {
    let scenario = read_spec(
        "  objects:\n  - kind: Gang\n    name: job1\n    queue: default\n    minMember: 3\n    \
         priority: 10\n    preemptable: true\n    topology: {mode: soft, tier: 2}\n    created: -10s\n    \
         runFor: 300s\n    tasks:\n    - {role: worker, replicas: 2, min: 1, requests: {cpu: \"1\"}, \
         nodes: [n0]}\n    - {role: driver, replicas: 1}\n",
    );
    assert_eq!(
        titles(&scenario.objects),
        [
            "Queue default",
            "PriorityClass prio-10",
            "PodGroup default/job1",
            "Pod default/job1-worker-0",
            "Pod default/job1-worker-1",
            "Pod default/job1-driver-0"
        ]
    );
    let group = group(&scenario.objects, "job1");
    assert_eq!(group.spec.min_member, Some(3));
    assert_eq!(group.spec.min_task_member, [("worker".to_owned(), 1)].into());
    assert_eq!(group.spec.priority_class_name, "prio-10");
    assert_eq!(group.spec.min_resources, None);
    assert_eq!(group.metadata.annotations["volcano.sh/preemptable"], "true");
    assert_eq!(group.metadata.created_ms, Some(-10_000));
    assert_eq!(group.status.phase, None);
    let topology = group.spec.network_topology.as_ref().unwrap();
    assert_eq!((&*topology.mode, topology.highest_tier_allowed), ("soft", Some(2)));

    let first = pod(&scenario.objects, "job1-worker-0");
    assert_eq!(first.spec.node_name.as_deref(), Some("n0"));
    assert_eq!(first.status.phase.as_deref(), Some("Running"));
    assert_eq!(first.spec.scheduler_name.as_deref(), Some("volcano"));
    assert_eq!(first.spec.priority_class_name.as_deref(), Some("prio-10"));
    let annotation = |key: &str| first.metadata.annotations.get(key).map(String::as_str);
    assert_eq!(annotation("scheduling.k8s.io/group-name"), Some("job1"));
    assert_eq!(annotation("volcano.sh/task-spec"), Some("worker"));
    assert_eq!(annotation("volcano.sh/preemptable"), Some("true"));
    assert_eq!(annotation("muster.sh/run-for"), Some("300000ms"));
    assert_eq!(first.spec.containers[0].resources.requests["cpu"].as_str(), "1");
    assert_eq!(pod(&scenario.objects, "job1-worker-1").spec.node_name, None);
}

#[test]
fn a_gang_without_minimum_needs_all_its_pods_and_says_nothing_it_was_not_told() {
    let scenario = read_spec(
        "  objects:\n  - {kind: Gang, name: g, tasks: [{role: a, replicas: 2, nodes: [n0, n0]}, {role: b, \
         replicas: 1, nodes: [n1]}]}\n",
    );
    let group = group(&scenario.objects, "g");
    assert_eq!(group.spec.min_member, Some(3));
    assert!(group.metadata.annotations.is_empty() && group.spec.min_task_member.is_empty());
    assert_eq!(group.spec.queue, "default");
    assert_eq!(group.status.phase.as_deref(), Some("Running"));
}

#[test]
fn a_priority_class_that_is_given_is_reused() {
    let scenario = read_spec(
        "  objects:\n  - {kind: Gang, name: a, priority: 5}\n  - {kind: Gang, name: b, priority: 5}\n  \
         - {kind: Gang, name: c, priority: 7}\n  \
         - {apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {name: prio-7}, value: 70}\n  \
         timeline:\n  - {at: 5s, apply: [{kind: Gang, name: d, priority: 5}]}\n",
    );
    let classes = |objects: &[Object]| {
        titles(objects).into_iter().filter(|title| title.starts_with("Prio")).collect::<Vec<_>>()
    };
    assert_eq!(classes(&scenario.objects), ["PriorityClass prio-5", "PriorityClass prio-7"]);
    assert_eq!(classes(&scenario.timeline[0].apply), [""; 0]);
}

#[test]
fn objects_are_created_in_order_of_appearance_and_from_their_time() {
    let scenario = read_spec(
        "  objects:\n  - {kind: Gang, name: a, tasks: [{role: w}]}\n  - {kind: Gang, name: b}\n  \
         - {kind: Pod, metadata: {name: p, creationTimestamp: '2026-01-01T00:00:02Z', uid: own}}\n  \
         timeline:\n  - {at: 9s, apply: [{kind: Gang, name: d}]}\n  \
         - {at: 5s, apply: [{kind: Gang, name: c}]}\n  - {at: 9s, apply: [{kind: Gang, name: e}]}\n",
    );
    let created = |objects: &[Object], name: &str| group(objects, name).metadata.created_ms;
    assert_eq!(created(&scenario.objects, "a"), Some(0));
    assert_eq!(pod(&scenario.objects, "a-w-0").metadata.created_ms, Some(0));
    assert_eq!(created(&scenario.objects, "b"), Some(1));
    assert_eq!(pod(&scenario.objects, "p").metadata.created_ms, Some(2000));
    assert_eq!(pod(&scenario.objects, "p").metadata.uid.as_deref(), Some("own"));
    let times: Vec<i64> = scenario.timeline.iter().map(|entry| entry.at_ms).collect();
    assert_eq!(times, [5000, 9000, 9000]);
    assert_eq!(created(&scenario.timeline[0].apply, "c"), Some(5000));
    assert_eq!(created(&scenario.timeline[1].apply, "d"), Some(9000));
    assert_eq!(created(&scenario.timeline[2].apply, "e"), Some(9001));
    let mut uids: Vec<_> = scenario
        .objects
        .iter()
        .chain(scenario.timeline.iter().flat_map(|entry| &entry.apply))
        .map(|object| object.metadata().unwrap().uid.clone().unwrap())
        .collect();
    let all = uids.len();
    uids.sort();
    uids.dedup();
    assert_eq!(uids.len(), all);
}

#[test]
fn the_rest_of_a_scenario_reads_as_written() {
    let scenario = read_spec(
        "  config: |\n    actions: allocate\n  period: 500ms\n  cycles: 7\n  \
         kubelet: {start: never, terminate: grace}\n  recreate: true\n  invariants: off\n  \
         objects: [{kind: Gang, name: g, tasks: [{role: w}]}]\n  \
         timeline:\n  - at: 1m30s\n    delete: [{kind: Pod, name: g-w-0}]\n    \
         failBind: [{pod: default/g-w-0, times: 3}, {pod: g-w-0, times: -1}]\n    restart: true\n",
    );
    assert_eq!(scenario.name, "f");
    assert_eq!(scenario.config.as_deref(), Some("actions: allocate\n"));
    assert_eq!((scenario.period_ms, scenario.cycles), (500, Some(7)));
    assert_eq!(scenario.kubelet, Kubelet { start: Delay::Never, terminate: Delay::Grace });
    assert!(scenario.recreate && !scenario.invariants.any());
    let entry = &scenario.timeline[0];
    let key = ObjectKey::new("default", "g-w-0");
    assert_eq!(entry.at_ms, 90_000);
    assert_eq!(entry.delete, [Deletion { kind: ObjectKind::Pod, key: key.clone() }]);
    assert_eq!(
        entry.fail_bind,
        [FailBind { pod: key.clone(), times: Some(3) }, FailBind { pod: key, times: None }]
    );
    assert!(entry.restart);
    let plain = read_spec("  objects: []\n");
    assert_eq!((plain.period_ms, plain.cycles, plain.invariants), (1000, None, Checks::All));
    assert_eq!(plain.kubelet, Kubelet { start: Delay::Ms(0), terminate: Delay::Ms(0) });
}

#[test]
fn expectations_read_as_written() {
    let scenario = read_spec(
        "  objects: [{kind: Gang, name: g, tasks: [{role: w}]}]\n  expect:\n  \
         - bound: {gang: default/g, pods: {min: 1, max: 4}, cycle: 3}\n  \
         - bound: {pod: g-w-0, node: [n0, n1]}\n  - evicted: {total: 1}\n  - quietAfter: 10\n  \
         - queue: {name: default, allocated: {cpu: {max: \"8\"}, memory: 1Gi}}\n",
    );
    let text: Vec<&str> = scenario.expect.iter().map(|entry| &*entry.text).collect();
    assert_eq!(text[0], "bound {gang: default/g, pods: {min: 1, max: 4}, cycle: 3}");
    assert_eq!(text[1], "bound {pod: g-w-0, node: [n0, n1]}");
    assert_eq!(text[3], "quietAfter 10");
    assert_eq!(scenario.expect[0].cycle, Some(3));
    let gang = Subject::Gang(ObjectKey::new("default", "g"));
    let pods = Some(Range { min: Some(1), max: Some(4) });
    assert_eq!(
        scenario.expect[0].assertion,
        Assertion::Bound(PodCount { of: gang, pods, nodes: None, devices: None, beyond: None })
    );
    let of = Subject::Pod(ObjectKey::new("default", "g-w-0"));
    let nodes = Some(vec!["n0".into(), "n1".into()]);
    assert_eq!(
        scenario.expect[1].assertion,
        Assertion::Bound(PodCount { of, pods: None, nodes, devices: None, beyond: None })
    );
    assert_eq!(
        scenario.expect[2].assertion,
        Assertion::Evicted { of: Subject::All, times: Range::exactly(1) }
    );
    let bound = |text: &str| Some(text.parse().unwrap());
    assert_eq!(
        scenario.expect[4].assertion,
        Assertion::Queue {
            name: "default".into(),
            allocated: vec![
                ("cpu".into(), Range { min: None, max: bound("8") }),
                ("memory".into(), Range { min: bound("1Gi"), max: bound("1Gi") })
            ],
            fair_share: Vec::new(),
            usage: Vec::new(),
        }
    );
}

#[test]
fn manifests_of_several_files_and_lists_form_one_scenario() {
    let files = [
        ("a.yaml", "kind: Node\napiVersion: v1\nmetadata: {name: n0, creationTimestamp: null}\n"),
        (
            "b.json",
            "{\"kind\": \"List\", \"apiVersion\": \"v1\", \"items\": [{\"kind\": \"Pod\", \
             \"apiVersion\": \"v1\", \"metadata\": {\"name\": \"p\"}}]}",
        ),
        ("c.yaml", "kind: PodList\napiVersion: v1\nitems:\n- metadata: {name: q}\n"),
    ];
    let scenario = with_files(&files, load_one).unwrap();
    let titles = titles(&scenario.objects);
    assert_eq!(titles, ["Queue default", "Node n0", "Pod default/p", "Pod default/q"]);
    assert_eq!((&*scenario.name, scenario.invariants), ("a", Checks::All));
}

#[test]
fn a_directory_gives_its_scenarios_and_leaves_other_files_alone() {
    let files = [
        ("b.yaml", "kind: Scenario\nmetadata: {name: second}\n---\nkind: Scenario\n"),
        ("a.yml", "kind: Scenario\nmetadata: {name: first}\n"),
        ("conf.yaml", "actions: allocate\n"),
        ("notes.txt", "}{"),
    ];
    let names = with_files(&files, |paths| {
        let folder = paths[0].parent().unwrap().to_owned();
        let scenarios = load_all(&[folder]).unwrap_or_else(|errors| panic!("{errors}"));
        scenarios.into_iter().map(|scenario| scenario.name).collect::<Vec<_>>()
    });
    assert_eq!(names, ["first", "second", "b"]);
}

#[test]
fn what_is_not_acted_on_is_said() {
    let scenario = read_spec(
        "  objects:\n  - {kind: Deployment, apiVersion: apps/v1, metadata: {name: d}}\n  \
         - {kind: Queue, apiVersion: example.com/v2, metadata: {name: q}}\n  \
         - {kind: Numatopology, apiVersion: nodeinfo.volcano.sh/v1alpha1, metadata: {name: b}}\n  \
         - {kind: Pod, metadata: {name: p}, spec: {resourceClaims: [{name: gpu}], \
         volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]}}\n  \
         - {kind: Pod, metadata: {name: r}, spec: {resourceClaims: [{name: gpu}], \
         preemptionPolicy: Sometimes}}\n",
    );
    assert_eq!(
        scenario.warnings,
        [
            "kind Deployment (apps/v1) is not understood; 1 object was skipped; no controller makes \
             its pods here, so give the pods themselves, or a Gang",
            "kind Queue (example.com/v2) is not understood; 1 object was skipped",
            "Numatopology b is read by no rule of this version",
            "Pod default/p asks for resourceClaims, which this version does not enforce \
             (and 1 more)",
            "Pod default/r has a preemptionPolicy \"Sometimes\" that is none and is not used",
        ]
    );
}
