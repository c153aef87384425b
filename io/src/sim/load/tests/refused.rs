//! Bad input: each class of it with the exact complaint.

use super::*;

#[test]
fn a_bad_quantity_is_named_with_line_document_and_field() {
    assert_eq!(
        complaints(
            "apiVersion: v1\nkind: Node\nmetadata: {name: n0}\n---\napiVersion: v1\nkind: Pod\n\
             metadata: {name: p}\nspec:\n  containers:\n  - name: c\n    resources:\n      \
             requests:\n        cpu: abc\n"
        ),
        ["f.yaml:13: document 2: spec.containers[0].resources.requests.cpu: Pod default/p: \
             \"abc\" is not a quantity: it has no digits in front of its suffix; expected a \
             decimal number, then nothing, an exponent such as e3, or one of n u m k M G T P E Ki \
             Mi Gi Ti Pi Ei (for example 1500m or 32Gi)"]
    );
}

#[test]
fn negative_amounts_and_counts_are_refused() {
    let objects = "  objects:\n  - {kind: NodeSet, name: n, count: -1, allocatable: {cpu: 1}}\n  \
                   - {kind: NodeSet, name: m, count: 1, allocatable: {cpu: -1}}\n  \
                   - {kind: Gang, name: g, tasks: [{role: w, replicas: -3}]}\n  \
                   - {kind: PodGroup, metadata: {name: pg}, spec: {minMember: -1}}\n  \
                   - {kind: QueueSpec, name: q, capability: {cpu: lots}}\n";
    assert_eq!(
        spec_complaints(objects),
        [
            "f.yaml:4: document 1: spec.objects[0].count: invalid value: integer `-1`, expected a \
             whole number, 0 or more",
            "f.yaml:5: document 1: spec.objects[1].allocatable.cpu: \"-1\" is negative; expected \
             0 or more",
            "f.yaml:6: document 1: spec.objects[2].tasks[0].replicas: invalid value: integer \
             `-3`, expected a whole number, 0 or more",
            "f.yaml:7: document 1: spec.objects[3].spec.minMember: PodGroup default/pg: -1 is not \
             a count; expected 0 or more",
            "f.yaml:8: document 1: spec.objects[4].capability.cpu: \"lots\" is not a quantity: it \
             has no digits in front of its suffix; expected a decimal number, then nothing, an \
             exponent such as e3, or one of n u m k M G T P E Ki Mi Gi Ti Pi Ei (for example \
             1500m or 32Gi)"
        ]
    );
}

#[test]
fn unknown_fields_of_our_own_kinds_are_refused_with_the_nearest_name() {
    assert_eq!(
        spec_complaints("  cycels: 5\n"),
        ["f.yaml:3: document 1: spec.cycels: is not known here; did you mean cycles? (expected \
             one of config, period, cycles, kubelet, recreate, objects, timeline, invariants, \
             expect, variants)"]
    );
    assert_eq!(
        spec_complaints("  objects:\n  - {kind: Gang, name: g, minMembers: 1}\n"),
        ["f.yaml:4: document 1: spec.objects[0].minMembers: is not known here; did you mean \
             minMember? (expected one of name, namespace, queue, minMember, priority, \
             preemptable, topology, created, runFor, tasks)"]
    );
    assert_eq!(
        spec_complaints("  expect:\n  - bond: {gang: g}\n"),
        ["f.yaml:4: document 1: spec.expect[0]: \"bond\" is not known here; did you mean \
             bound? (expected one of bound, pipelined, pending, evicted, sameDomain, phase, \
             reason, quietAfter, queue, node, devices, free)"]
    );
    assert_eq!(
        spec_complaints("  timeline:\n  - {at: 1s, aply: []}\n"),
        ["f.yaml:4: document 1: spec.timeline[0].aply: is not known here; did you mean apply? \
             (expected one of at, apply, delete, failBind, restart)"]
    );
}

#[test]
fn duplicates_in_one_list_are_refused() {
    assert_eq!(
        spec_complaints(
            "  objects:\n  - {kind: NodeSet, name: n, count: 2, allocatable: {}}\n  \
             - {kind: Node, metadata: {name: n1}}\n"
        ),
        ["f.yaml:5: document 1: spec.objects[1].metadata.name: Node n1 is given twice; \
             spec.objects[0] has it already"]
    );
    assert_eq!(
        complaints("kind: Queue\nmetadata: {name: q}\n---\nkind: Queue\nmetadata: {name: q}\n"),
        ["f.yaml:5: document 2: metadata.name: Queue q is given twice; an earlier document has \
             it already"]
    );
}

#[test]
fn names_that_never_exist_are_refused() {
    assert_eq!(
        spec_complaints(
            "  objects: []\n  timeline:\n  - at: 1s\n    delete: [{kind: Node, name: n1}, {kind: Nod, name: n1}]\n    \
             failBind: [{pod: default/p1}]\n  expect:\n  - bound: {gang: default/g}\n  \
             - evicted: {pod: p}\n  - phase: {podGroup: default/g, is: Running}\n  \
             - queue: {name: q, allocated: {cpu: 1}}\n  - reason: {gang: g, is: Gated}\n"
        ),
        [
            "f.yaml:6: document 1: spec.timeline[0].delete[0]: Node n1 does not exist by then; \
             nothing to delete",
            "f.yaml:6: document 1: spec.timeline[0].delete[1].kind: \"Nod\" is not a kind of \
             object; did you mean Node? (expected one of Node, Pod, PodGroup, Queue, Topology, \
             HyperNode, NodeShard, PriorityClass, Namespace, PodDisruptionBudget, ResourceQuota, PersistentVolume, \
             PersistentVolumeClaim, StorageClass, CSINode, CSIDriver, CSIStorageCapacity, Service, \
             ReplicationController, ReplicaSet, StatefulSet, NodeMetrics, QueueUsage, Numatopology, \
             SchedulingShard)",
            "f.yaml:7: document 1: spec.timeline[0].failBind[0].pod: pod default/p1 never exists; \
             expected one that objects or the timeline bring in",
            "f.yaml:9: document 1: spec.expect[0].bound.gang: gang default/g never exists; \
             expected one that objects or the timeline bring in",
            "f.yaml:10: document 1: spec.expect[1].evicted.pod: pod default/p never exists; \
             expected one that objects or the timeline bring in",
            "f.yaml:11: document 1: spec.expect[2].phase.podGroup: PodGroup default/g never \
             exists; expected one that objects or the timeline bring in",
            "f.yaml:12: document 1: spec.expect[3].queue.name: queue q never exists; expected one \
             that objects or the timeline bring in",
            "f.yaml:13: document 1: spec.expect[4].reason.gang: gang default/g never exists; \
             expected one that objects or the timeline bring in"
        ]
    );
}

#[test]
fn bad_durations_and_delays_are_refused() {
    assert_eq!(
        spec_complaints("  period: 5\n"),
        ["f.yaml:3: document 1: spec.period: \"5\" is not a duration; write one such as 30s, \
             1m30s or 500ms"]
    );
    assert_eq!(
        spec_complaints("  period: 0s\n"),
        ["f.yaml:3: document 1: spec.period: is not above 0s; time would stand still"]
    );
    assert_eq!(
        spec_complaints("  timeline:\n  - {at: soon}\n"),
        ["f.yaml:4: document 1: spec.timeline[0].at: \"soon\" is not a duration; write one \
             such as 30s, 1m30s or 500ms"]
    );
    assert_eq!(
        spec_complaints("  kubelet: {start: grace}\n"),
        ["f.yaml:3: document 1: spec.kubelet.start: \"grace\" is not a delay; expected a \
             duration such as 30s or never"]
    );
    assert_eq!(
        spec_complaints("  timeline:\n  - {at: -5s}\n"),
        ["f.yaml:4: document 1: spec.timeline[0].at: is before 0s, when the run begins"]
    );
    assert_eq!(
        spec_complaints("  objects:\n  - {kind: Gang, name: g, runFor: -1s}\n"),
        ["f.yaml:4: document 1: spec.objects[0].runFor: is negative; a pod cannot run for less \
             than 0s"]
    );
    assert_eq!(
        spec_complaints(
            "  objects:\n  - {kind: Pod, metadata: {name: p, annotations: {muster.sh/run-for: long}}}\n"
        ),
        ["f.yaml:4: document 1: spec.objects[0].metadata.annotations[\"muster.sh/run-for\"]: \
             \"long\" is not a duration; write one such as 30s, 1m30s or 500ms"]
    );
}

#[test]
fn bad_expectations_are_refused() {
    let expect = |entry: &str| {
        spec_complaints(&format!("  objects: [{{kind: Gang, name: g}}]\n  expect:\n  - {entry}\n"))
    };
    assert_eq!(
        expect("bound: {pods: 3}"),
        ["f.yaml:5: document 1: spec.expect[0].bound: expected either gang or pod"]
    );
    assert_eq!(
        expect("bound: {gang: g, pods: {min: 3, max: 1}}"),
        ["f.yaml:5: document 1: spec.expect[0].bound.pods: min is above max"]
    );
    assert_eq!(
        expect("bound: {gang: g, pods: {least: 3}}"),
        ["f.yaml:5: document 1: spec.expect[0].bound.pods: least: is not known here; expected \
             one of min, max"]
    );
    assert_eq!(
        expect("bound: {gang: a/b/c}"),
        ["f.yaml:5: document 1: spec.expect[0].bound.gang: \"a/b/c\" is not namespace/name"]
    );
    assert_eq!(
        expect("reason: {gang: g, is: NeverFit}"),
        ["f.yaml:5: document 1: spec.expect[0].reason.is: \"NeverFit\" is not a reason; did \
             you mean NeverFits? (expected one of SetAside, Gated, GangIncomplete, QueueClosed, \
             QueueOverCapability, QueueOverQuota, NotAdmitted, NoNodeMatches, \
             NotEnoughResources, TopologyUnsatisfied, NeverFits, NoLegalVictims, \
             WaitingForVictims, BindBackoff, SearchCut, Refused, TriedOnce)"]
    );
    assert_eq!(
        expect("phase: {podGroup: g, is: running}"),
        ["f.yaml:5: document 1: spec.expect[0].phase.is: \"running\" is not a phase; did you \
             mean Running? (expected one of Pending, Inqueue, Running, Unknown, Completed)"]
    );
    assert_eq!(
        expect("queue: {name: default, allocated: {cpu: {max: x}}}"),
        ["f.yaml:5: document 1: spec.expect[0].queue.allocated: cpu: max: \"x\" is not a \
             quantity: it has no digits in front of its suffix; expected a decimal number, then \
             nothing, an exponent such as e3, or one of n u m k M G T P E Ki Mi Gi Ti Pi Ei (for \
             example 1500m or 32Gi)"]
    );
    assert_eq!(
        expect("bound: {gang: g, cycle: 0}"),
        ["f.yaml:5: document 1: spec.expect[0].cycle: 0 is not a cycle; the first one is 1"]
    );
    assert_eq!(
        expect("evicted: {total: 1, gang: g}"),
        ["f.yaml:5: document 1: spec.expect[0].evicted: expected total alone, or either gang \
             or pod with times"]
    );
    assert_eq!(
        expect("{bound: {gang: g}, cycle: 3}"),
        ["f.yaml:5: document 1: spec.expect[0]: invalid value: mapping, expected a mapping \
             with a single key"]
    );
}

#[test]
fn objects_that_are_malformed_are_refused() {
    let object = |text: &str| spec_complaints(&format!("  objects:\n  - {text}\n"));
    assert_eq!(
        object("just text"),
        ["f.yaml:4: document 1: spec.objects[0]: expected an object: a mapping with kind and \
             metadata"]
    );
    assert_eq!(
        object("{metadata: {name: p}}"),
        ["f.yaml:4: document 1: spec.objects[0].kind: is missing; expected the object's kind"]
    );
    assert_eq!(
        object("{kind: Pod}"),
        ["f.yaml:4: document 1: spec.objects[0].metadata.name: Pod: is missing; expected a \
             name"]
    );
    assert_eq!(
        object("{kind: Pod, metadata: {name: Upper_Case}}"),
        ["f.yaml:4: document 1: spec.objects[0].metadata.name: Pod default/Upper_Case: \
             \"Upper_Case\" is not a name; expected at most 253 lower-case letters, digits, '-' \
             and '.', beginning and ending with a letter or digit"]
    );
    assert_eq!(
        object("{kind: NodeSet, name: N, count: 1, allocatable: {}}"),
        ["f.yaml:4: document 1: spec.objects[0]: Node N0: \"N0\" is not a name; expected at \
             most 253 lower-case letters, digits, '-' and '.', beginning and ending with a letter \
             or digit (metadata.name of what it stands for)"]
    );
    assert_eq!(
        object("{kind: Pod, metadata: {name: p}, spec: {tolerations: [{key: a, effect: Never}]}}"),
        ["f.yaml:4: document 1: spec.objects[0].spec.tolerations[0].effect: Pod default/p: \
             \"Never\" is not an effect; expected NoSchedule, PreferNoSchedule or NoExecute"]
    );
    assert_eq!(
        object("{kind: Pod, metadata: {name: p, creationTimestamp: yesterday}}"),
        ["f.yaml:4: document 1: spec.objects[0].metadata.creationTimestamp: \"yesterday\" is \
             not an RFC 3339 time; expected one such as 2026-01-01T00:00:00Z"]
    );
    assert_eq!(
        object("{kind: Gang, name: g, tasks: [{role: w, replicas: 1, nodes: [a, b]}]}"),
        ["f.yaml:4: document 1: spec.objects[0].tasks[0].nodes: names 2 nodes for 1 replicas; \
             expected at most one node per replica"]
    );
    assert_eq!(
        object("{kind: Gang, name: g, tasks: [{role: w}, {role: w}]}"),
        ["f.yaml:4: document 1: spec.objects[0].tasks[1].role: \"w\" is the role of an earlier \
             task too"]
    );
    assert_eq!(
        object("{kind: Domain, name: d, tier: 1}"),
        ["f.yaml:4: document 1: spec.objects[0]: expected either nodes or domains"]
    );
    assert_eq!(
        object("{kind: NodeSet, name: n, count: 2000000, allocatable: {}}"),
        ["f.yaml:4: document 1: spec.objects[0].count: 2000000 nodes are too many; expected at \
             most 1000000"]
    );
    assert_eq!(
        object("{kind: Numatopology}"),
        ["f.yaml:4: document 1: spec.objects[0].metadata.name: is missing; expected a name"]
    );
}

#[test]
fn a_scenario_stands_alone() {
    assert_eq!(
        complaints("kind: Scenario\n---\nkind: Scenario\n"),
        ["f.yaml:3: document 2: kind: a second Scenario; expected one at a time (`test` runs \
             several)"]
    );
    assert_eq!(
        complaints("kind: Node\nmetadata: {name: n}\n---\nkind: Scenario\n"),
        ["f.yaml:1: document 1: kind: a Scenario stands alone; move this object into its \
             spec.objects or leave it out"]
    );
    assert_eq!(
        complaints("# nothing\n"),
        ["f.yaml: no objects here; expected Kubernetes manifests or a Scenario"]
    );
    assert_eq!(
        complaints("kind: Scenario\napiVersion: muster.sh/v2\n"),
        ["f.yaml:2: document 1: apiVersion: \"muster.sh/v2\" is not known; expected \
             muster.sh/v1alpha1"]
    );
    let missing = load_one(&["/no/such/file.yaml".into()]).unwrap_err().to_string();
    assert!(missing.starts_with("/no/such/file.yaml: cannot be read: "), "{missing}");
}
