//! Objects in, facts or the exact complaint out.

use muster_core::delta::{
    AnnotatedNode, ClusterDelta, DomainMember, Facts, GroupPhase, ObjectRef, Operator, Ownership,
    PodFacts, PodPhase, Requirement, TaintEffect, TierRef, TopologyMode,
};
use muster_core::ids::{Name, ObjectKey, TimeMs};
use muster_core::resource::ResourceList;
use muster_core::status::QueueState;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::*;
use crate::objects::Metadata;

fn read<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

fn delta(object: &Object) -> ClusterDelta {
    translate(object, &OwnerRule::simulation())
        .unwrap_or_else(|error| panic!("{error}"))
        .expect("a kind the core sees")
}

fn complaint(object: &Object) -> String {
    translate(object, &OwnerRule::simulation()).unwrap_err().to_string()
}

fn pod(spec: &Value) -> Object {
    Object::Pod(read(json!({"metadata": {"name": "p"}, "spec": spec})))
}

fn pod_facts(object: &Object) -> PodFacts {
    let ClusterDelta::Set(Facts::Pod(facts)) = delta(object) else { panic!("not a pod") };
    *facts
}

fn request(spec: &Value) -> Vec<(String, i64)> {
    let request = pod_facts(&pod(spec)).request;
    request.iter().map(|(name, quantity)| (name.to_string(), quantity.milli_ceil())).collect()
}

fn amounts(list: &[(&str, &str)]) -> ResourceList {
    list.iter().map(|(name, text)| (Name::from(*name), text.parse().unwrap())).collect()
}

fn container(cpu: &str) -> Value {
    json!({"name": "c", "resources": {"requests": {"cpu": cpu}}})
}

#[test]
fn a_pod_asks_for_the_sum_of_its_containers_and_one_slot() {
    let spec = json!({"containers": [container("1"), container("500m")]});
    assert_eq!(request(&spec), [("cpu".to_owned(), 1500), ("pods".to_owned(), 1000)]);
    assert_eq!(request(&json!({})), [("pods".to_owned(), 1000)]);
}

#[test]
fn an_init_container_counts_where_it_asks_for_more_than_the_rest_together() {
    let small = json!({"containers": [container("2")], "initContainers": [container("1")]});
    assert_eq!(request(&small)[0].1, 2000);
    let large = json!({"containers": [container("2")], "initContainers": [container("5")]});
    assert_eq!(request(&large)[0].1, 5000);
}

#[test]
fn sidecars_run_beside_the_containers_and_the_later_init_containers() {
    let sidecar = |cpu: &str| json!({"name": "s", "restartPolicy": "Always", "resources": {"requests": {"cpu": cpu}}});
    // Beside the container: 1 + 2 = 3. The init container after the sidecar needs 3 + 2 = 5.
    let after = json!({
        "containers": [container("1")], "initContainers": [sidecar("2"), container("3")]
    });
    assert_eq!(request(&after)[0].1, 5000);
    // Before the sidecar it runs alone: 3; beside the container the sidecar makes 3 too.
    let before = json!({
        "containers": [container("1")], "initContainers": [container("3"), sidecar("2")]
    });
    assert_eq!(request(&before)[0].1, 3000);
}

#[test]
fn pod_level_requests_replace_the_sum_and_overhead_comes_on_top() {
    let spec = json!({
        "containers": [container("1")],
        "resources": {"requests": {"cpu": "4", "example.com/x": "9"}, "limits": {"memory": "1k"}},
        "overhead": {"cpu": "250m"}
    });
    let expected = [("cpu", 4250), ("memory", 1_000_000), ("pods", 1000)];
    assert_eq!(request(&spec), expected.map(|(name, milli)| (name.to_owned(), milli)));
}

#[test]
fn a_limit_stands_in_for_a_request_that_is_absent() {
    let spec = json!({"containers": [{"name": "c", "resources": {
        "requests": {"cpu": 1}, "limits": {"cpu": 2, "nvidia.com/gpu": 4}
    }}]});
    let expected = [("cpu", 1000), ("nvidia.com/gpu", 4000), ("pods", 1000)];
    assert_eq!(request(&spec), expected.map(|(name, milli)| (name.to_owned(), milli)));
}

#[test]
fn a_pod_has_its_node_since_its_condition_says_so_or_its_kubelet() {
    let placed = |status: Value| {
        let mut object = Object::Pod(read(json!({"metadata": {"name": "p"}, "status": status})));
        object.read_times(|text| text.parse().ok());
        pod_facts(&object).placed
    };
    let scheduled = |status: &str, since: &str| {
        json!([
            {"type": "Ready", "status": "True", "lastTransitionTime": "7"},
            {"type": "PodScheduled", "status": status, "lastTransitionTime": since},
        ])
    };
    let both = json!({"startTime": "5", "conditions": scheduled("True", "3")});
    assert_eq!(placed(both), Some(TimeMs(3)));
    let waited = json!({"startTime": "5", "conditions": scheduled("False", "3")});
    assert_eq!(placed(waited), Some(TimeMs(5)));
    let unreadable = json!({"conditions": scheduled("True", "soon")});
    assert_eq!(placed(unreadable), None);
    assert_eq!(placed(json!({"phase": "Running"})), None);
}

#[test]
fn a_pod_carries_what_its_annotations_say() {
    let object = Object::Pod(read(json!({
        "metadata": {
            "name": "p", "namespace": "ns", "uid": "u", "deletionTimestamp": "2026-01-01T00:00:00Z",
            "labels": {"volcano.sh/task-spec": "label", "volcano.sh/preemptable": "false"},
            "annotations": {
                "scheduling.k8s.io/group-name": "g", "scheduling.volcano.sh/queue-name": "q",
                "volcano.sh/task-spec": "worker", "volcano.sh/task-priority": "7"
            }
        },
        "spec": {"priority": 3, "nodeName": "n0", "schedulingGates": [{"name": "hold"}]},
        "status": {"phase": "Running", "nominatedNodeName": "n1"}
    })));
    let facts = pod_facts(&object);
    assert_eq!(facts.key, ObjectKey::new("ns", "p"));
    assert_eq!((&*facts.uid, facts.deleting, facts.phase), ("u", true, PodPhase::Running));
    assert_eq!((facts.group.as_deref(), facts.queue.as_deref()), (Some("g"), Some("q")));
    assert_eq!((&*facts.role, facts.priority, facts.preemptable), ("worker", Some(7), Some(false)));
    assert_eq!((facts.node.as_deref(), facts.nominated.as_deref()), (Some("n0"), Some("n1")));
    assert_eq!(facts.gates, [Name::from("hold")]);
    let plain = pod_facts(&pod(&json!({"priority": 3})));
    assert_eq!((plain.priority, plain.preemptable, &*plain.role), (Some(3), None, ""));
}

#[test]
fn who_schedules_a_pod_depends_on_the_rule() {
    let simulation = OwnerRule::simulation();
    let cluster = OwnerRule::named(["muster"]);
    for (name, simulated, real) in [
        (None, Ownership::Ours, Ownership::Foreign),
        (Some("muster"), Ownership::Ours, Ownership::Ours),
        (Some("volcano"), Ownership::Ours, Ownership::Foreign),
        (Some("default-scheduler"), Ownership::Foreign, Ownership::Foreign),
    ] {
        assert_eq!((simulation.of(name), cluster.of(name)), (simulated, real), "{name:?}");
    }
}

#[test]
fn constraints_keep_their_meaning() {
    let facts = pod_facts(&pod(&json!({
        "nodeSelector": {"zone": "a"},
        "affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [
                {"matchExpressions": [{"key": "cores", "operator": "Gt", "values": ["8"]}]},
                {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n0"]}]}
            ]},
            "preferredDuringSchedulingIgnoredDuringExecution": [
                {"weight": 5, "preference": {"matchExpressions": [{"key": "k", "operator": "Exists"}]}}
            ]
        }},
        "tolerations": [
            {"operator": "Exists"},
            {"key": "k", "value": "v", "effect": "NoExecute"},
            {"key": "k"}
        ]
    })));
    let constraints = facts.constraints;
    assert_eq!(constraints.node_selector, [("zone".into(), "a".into())]);
    let required = constraints.required_affinity.unwrap();
    assert_eq!(
        required[0].labels,
        [Requirement { key: "cores".into(), operator: Operator::Gt, values: vec!["8".into()] }]
    );
    assert_eq!(required[1].fields[0].operator, Operator::In);
    assert_eq!(constraints.preferred_affinity[0].0, 5);
    let [all, valued, empty] = &constraints.tolerations[..] else { panic!("not three") };
    assert_eq!((&all.key, &all.value, all.effect), (&None, &None, None));
    assert_eq!(valued.value.as_deref(), Some("v"));
    assert_eq!(valued.effect, Some(TaintEffect::NoExecute));
    assert_eq!(empty.value.as_deref(), Some(""));
    assert_eq!(pod_facts(&pod(&json!({}))).constraints.required_affinity, None);
}

#[test]
fn bad_pods_are_refused_by_field() {
    let term = |expression: Value| {
        pod(&json!({"affinity": {"nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [expression]}]
            }
        }}}))
    };
    let path = "Pod default/p: spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuring\
                Execution.nodeSelectorTerms[0].matchExpressions[0]";
    for (object, expected) in [
        (
            term(json!({"key": "k", "operator": "Is", "values": ["v"]})),
            format!(
                "{path}.operator: \"Is\" is not an operator; expected In, NotIn, Exists, \
                 DoesNotExist, Gt or Lt"
            ),
        ),
        (
            term(json!({"key": "k", "operator": "Gt", "values": ["many"]})),
            format!("{path}.values: \"many\" is not an integer; Gt needs one"),
        ),
        (
            term(json!({"key": "k", "operator": "In"})),
            format!("{path}.values: In needs at least one value"),
        ),
        (
            term(json!({"key": "k", "operator": "Exists", "values": ["v"]})),
            format!("{path}.values: Exists takes no values"),
        ),
        (
            pod(&json!({"tolerations": [{"key": "k", "operator": "Like"}]})),
            "Pod default/p: spec.tolerations[0].operator: \"Like\" is not an operator; expected \
             Equal or Exists"
                .to_owned(),
        ),
        (
            pod(&json!({"tolerations": [{"value": "v"}]})),
            "Pod default/p: spec.tolerations[0].key: is missing; only operator Exists tolerates \
             every key"
                .to_owned(),
        ),
        (
            pod(&json!({"containers": [container("-1")]})),
            "Pod default/p: spec.containers[0].resources.requests.cpu: \"-1\" is negative; expected \
             0 or more"
                .to_owned(),
        ),
    ] {
        assert_eq!(complaint(&object), expected);
    }
}

#[test]
fn a_node_without_allocatable_offers_its_capacity() {
    let node = json!({
        "metadata": {"name": "n", "labels": {"b": "2", "a": "1"}},
        "spec": {"unschedulable": true, "taints": [{"key": "k", "effect": "PreferNoSchedule"}]},
        "status": {"capacity": {"cpu": 4, "memory": "1Gi"}}
    });
    let ClusterDelta::Set(Facts::Node(facts)) = delta(&Object::Node(read(node))) else {
        panic!("not a node")
    };
    assert_eq!(facts.allocatable, amounts(&[("cpu", "4"), ("memory", "1Gi")]));
    assert_eq!(facts.labels, [("a".into(), "1".into()), ("b".into(), "2".into())]);
    assert_eq!(facts.taints[0].effect, TaintEffect::PreferNoSchedule);
    assert!(facts.unschedulable);
}

fn group(spec: &Value) -> Object {
    Object::PodGroup(read(json!({
        "metadata": {"name": "g"}, "spec": spec, "status": {"phase": "Inqueue"}
    })))
}

#[test]
fn a_pod_group_carries_its_minima_and_wishes() {
    let object = group(&json!({
        "minMember": 2, "minTaskMember": {"w": 1}, "queue": "q", "minResources": {"cpu": "2"},
        "networkTopology": {"mode": "soft", "highestTierAllowed": 2},
        "subGroupPolicy": [{
            "name": "s", "matchLabelKeys": ["k"], "labelSelector": {"matchLabels": {"a": "b"}},
            "networkTopology": {"highestTierName": "rack"}
        }]
    }));
    let ClusterDelta::Set(Facts::PodGroup(facts)) = delta(&object) else {
        panic!("not a PodGroup")
    };
    assert_eq!((facts.min_member, facts.phase), (2, Some(GroupPhase::Inqueue)));
    assert_eq!(facts.min_task_member, [("w".into(), 1)]);
    assert_eq!(facts.min_resources, Some(amounts(&[("cpu", "2")])));
    let wish = facts.topology.unwrap();
    assert_eq!((wish.mode, wish.tier), (TopologyMode::Soft, Some(TierRef::Number(2))));
    let policy = &facts.subgroups[0];
    assert_eq!((policy.size, policy.min_subgroups), (1, 0));
    assert_eq!(policy.selector.as_ref().unwrap()[0].operator, Operator::In);
    let wish = policy.topology.as_ref().unwrap();
    assert_eq!(wish.mode, TopologyMode::Hard);
    assert_eq!(wish.tier, Some(TierRef::Named("rack".into())));
}

#[test]
fn bad_groups_queues_and_domains_are_refused_by_field() {
    let queue = |spec: Value| Object::Queue(read(json!({"metadata": {"name": "q"}, "spec": spec})));
    let domain =
        |spec: Value| Object::HyperNode(read(json!({"metadata": {"name": "h"}, "spec": spec})));
    let both = json!({"highestTierAllowed": 1, "highestTierName": "x"});
    for (object, expected) in [
        (
            group(&json!({"minMember": -1})),
            "PodGroup default/g: spec.minMember: -1 is not a count; expected 0 or more",
        ),
        (
            group(&json!({"minTaskMember": {"w": -2}})),
            "PodGroup default/g: spec.minTaskMember.w: -2 is not a count; expected 0 or more",
        ),
        (
            group(&json!({"networkTopology": both})),
            "PodGroup default/g: spec.networkTopology: highestTierAllowed and highestTierName \
             exclude each other; give one",
        ),
        (
            group(&json!({"subGroupPolicy": [{"subGroupSize": 0}]})),
            "PodGroup default/g: spec.subGroupPolicy[0].subGroupSize: 0 is not a size; expected 1 \
             or more",
        ),
        (
            queue(json!({"weight": 0})),
            "Queue q: spec.weight: 0 is not a weight; expected 1 to 65535",
        ),
        (
            queue(json!({"parent": "q"})),
            "Queue q: spec.parent: names the queue itself; expected another queue",
        ),
        (domain(json!({})), "HyperNode h: spec.tier: is missing; expected 0 or more"),
        (
            domain(json!({"tier": 1, "members": [{"type": "Rack"}]})),
            "HyperNode h: spec.members[0].type: \"Rack\" is not a member type; expected Node or \
             HyperNode",
        ),
        (
            domain(json!({"tier": 1, "members": [{"type": "Node", "selector": {}}]})),
            "HyperNode h: spec.members[0].selector: expected exactly one of exactMatch, regexMatch \
             and labelMatch",
        ),
    ] {
        assert_eq!(complaint(&object), expected);
    }
    let pattern = json!({"tier": 1, "members": [
        {"type": "Node", "selector": {"regexMatch": {"pattern": "n("}}}
    ]});
    let told = complaint(&domain(pattern));
    assert!(
        told.starts_with("HyperNode h: spec.members[0].selector.regexMatch.pattern: is no pattern"),
        "{told}"
    );
}

#[test]
fn a_queue_fills_in_what_volcano_fills_in() {
    let object = Object::Queue(read(json!({
        "metadata": {"name": "q"}, "spec": {"parent": "root", "guarantee": {"resource": {"cpu": 1}}}
    })));
    let ClusterDelta::Set(Facts::Queue(facts)) = delta(&object) else { panic!("not a queue") };
    assert_eq!((facts.weight, facts.reclaimable, facts.state), (1, true, QueueState::Open));
    assert_eq!((facts.parent, facts.capability), (None, None));
    assert_eq!(facts.guarantee, Some(amounts(&[("cpu", "1")])));
}

#[test]
fn an_empty_label_match_finds_no_node() {
    let object = Object::HyperNode(read(json!({"metadata": {"name": "h"}, "spec": {
        "tier": 2, "tierName": "rack", "members": [
            {"type": "Node", "selector": {"labelMatch": {}}},
            {"type": "Node", "selector": {"regexMatch": {"pattern": "^n"}}},
            {"type": "HyperNode", "selector": {"exactMatch": {"name": "s0"}}}
        ]
    }})));
    let ClusterDelta::Set(Facts::Domain(facts)) = delta(&object) else { panic!("not a domain") };
    assert_eq!((facts.tier, facts.tier_name.as_deref()), (2, Some("rack")));
    assert_eq!(
        facts.members,
        [DomainMember::NodePattern("^n".into()), DomainMember::Domain("s0".into())]
    );
    assert_eq!(unsupported(&object), ["has an empty labelMatch, which finds no node"]);
}

#[test]
fn what_cannot_be_translated_can_be_set_aside() {
    let error = translate(&group(&json!({"minMember": -1})), &OwnerRule::simulation()).unwrap_err();
    let ClusterDelta::SetAside { object, reason } = error.set_aside().unwrap() else {
        panic!("not set aside")
    };
    assert_eq!(object, ObjectRef::PodGroup(ObjectKey::new("default", "g")));
    assert_eq!(reason, "spec.minMember: -1 is not a count; expected 0 or more");
}

#[test]
fn a_rule_that_makes_no_sense_is_the_object_s_fault_and_not_the_file_s() {
    let fault = |object: &Object| translate(object, &OwnerRule::simulation()).unwrap_err().fault;
    let affinity = json!({"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {
        "nodeSelectorTerms": [{"matchExpressions": [{"key": "zone", "operator": "Within"}]}]
    }}});
    let waiting = json!({"affinity": affinity});
    assert_eq!(fault(&pod(&waiting)), Fault::Object);
    let queue = read(json!({"metadata": {"name": "q"}, "spec": {"weight": -1}}));
    assert_eq!(fault(&Object::Queue(Box::new(queue))), Fault::Object);
    assert_eq!(fault(&group(&json!({"minMember": -1}))), Fault::Input);
    // On its node it keeps its room.
    let placed = pod(&json!({"affinity": affinity, "nodeName": "n1"}));
    assert!(translate(&placed, &OwnerRule::simulation()).is_ok());
}

#[test]
fn what_a_status_says_is_read_back_and_what_others_say_is_not() {
    let mut object = group(&json!({"minMember": 1}));
    let Object::PodGroup(group) = &mut object else { panic!("not a group") };
    let entry = |kind: &str, status: &str| crate::objects::PodGroupCondition {
        kind: kind.into(),
        status: status.into(),
        reason: "NotEnoughTasks".into(),
        message: "few".into(),
    };
    group.status.running = 4;
    group.status.conditions =
        vec![entry("Scheduled", "False"), entry("Unschedulable", "True"), entry("Audited", "True")];
    let ClusterDelta::Set(Facts::PodGroup(facts)) = delta(&object) else { panic!("not a group") };
    assert_eq!(facts.report.running, 4);
    let [held] = &facts.report.conditions[..] else { panic!("{:?}", facts.report) };
    assert_eq!(
        (held.kind, &*held.reason),
        (muster_core::status::ConditionKind::Unschedulable, "NotEnoughTasks")
    );
}

fn quota(spec: &Value, status: &Value) -> Object {
    let metadata = json!({"name": "limits", "namespace": "team"});
    Object::ResourceQuota(read(json!({"metadata": metadata, "spec": spec, "status": status})))
}

#[test]
fn a_quota_is_what_its_status_says_and_its_spec_until_then() {
    let hard = json!({"requests.cpu": "4", "count/pods": 5});
    let facts = |object: &Object| {
        let ClusterDelta::Set(Facts::Quota(facts)) = delta(object) else { panic!("not a quota") };
        *facts
    };
    let fresh = facts(&quota(&json!({"hard": hard}), &json!({})));
    assert_eq!(fresh.key, ObjectKey::new("team", "limits"));
    assert_eq!(fresh.hard, amounts(&[("count/pods", "5"), ("requests.cpu", "4")]));
    assert_eq!(fresh.used, amounts(&[]));
    let status = json!({"hard": {"requests.cpu": "3"}, "used": {"requests.cpu": "1500m"}});
    let seen = facts(&quota(&json!({"hard": hard}), &status));
    assert_eq!(seen.hard, amounts(&[("requests.cpu", "3")]));
    assert_eq!(seen.used, amounts(&[("requests.cpu", "1500m")]));
    assert_eq!(
        complaint(&quota(&json!({"hard": {"pods": "-1"}}), &json!({}))),
        "ResourceQuota team/limits: spec.hard.pods: \"-1\" is negative; expected 0 or more"
    );
}

#[test]
fn scopes_of_a_quota_are_said_not_to_count() {
    let plain = quota(&json!({"hard": {}}), &json!({}));
    assert_eq!(unsupported(&plain), Vec::<String>::new());
    for scopes in [
        json!({"scopes": ["BestEffort"]}),
        json!({"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass"}]}}),
    ] {
        assert_eq!(
            unsupported(&quota(&scopes, &json!({}))),
            ["has scopes, which are not looked at: it limits all pods of its namespace"]
        );
    }
}

#[test]
fn a_group_says_in_an_annotation_how_long_it_may_wait() {
    let waits = |annotations: &Value| {
        let metadata = json!({"name": "g", "annotations": annotations});
        let object = Object::PodGroup(read(json!({"metadata": metadata})));
        let ClusterDelta::Set(Facts::PodGroup(facts)) = delta(&object) else {
            panic!("not a group")
        };
        (facts.wait_ms, unsupported(&object).len())
    };
    assert_eq!(waits(&json!({})), (None, 0));
    assert_eq!(waits(&json!({"sla-waiting-time": "1m30s"})), (Some(90_000), 0));
    let both = json!({"sla-waiting-time": "1m", "volcano.sh/sla-waiting-time": "2s"});
    assert_eq!(waits(&both), (Some(2_000), 0));
    for bad in ["soon", "0s", "-5s", ""] {
        assert_eq!(waits(&json!({"volcano.sh/sla-waiting-time": bad})), (None, 1), "{bad:?}");
    }
}

#[test]
fn what_a_queue_asks_for_in_vain_is_said() {
    let queue = |spec: Value| Object::Queue(read(json!({"metadata": {"name": "q"}, "spec": spec})));
    let devices = queue(json!({"capability": {"deviceclass/gpu.example.com": 4}}));
    assert_eq!(unsupported(&devices), ["limits device classes, which this version does not count"]);
    assert_eq!(unsupported(&queue(json!({"dequeueStrategy": "fifo"}))).len(), 1);
    assert_eq!(unsupported(&queue(json!({"dequeueStrategy": "traverse"}))), Vec::<String>::new());
}

#[test]
fn a_reservation_is_read_from_annotations_and_written_without_touching_others() {
    let noted = |annotations: Value| {
        let metadata = json!({"name": "p", "resourceVersion": "41", "annotations": annotations});
        let facts = pod_facts(&Object::Pod(read(json!({"metadata": metadata}))));
        assert_eq!(facts.version, Some(41));
        facts.annotated
    };
    let (status, node) = ("volcano.sh/pipelined-status", "volcano.sh/pipelined-node");
    let evicted = "volcano.sh/eviction-occurred";
    let held = |evicted| Some(AnnotatedNode { node: "n1".into(), evicted });
    assert_eq!(noted(json!({status: "true", node: "n1"})), held(false));
    assert_eq!(noted(json!({status: "true", node: "n1", evicted: "true"})), held(true));
    assert_eq!(noted(json!({status: "false", node: "n1"})), None);
    assert_eq!(noted(json!({node: "n1", evicted: "true"})), None);
    assert_eq!(noted(json!({status: "true"})), None);

    let mut metadata = Metadata::default();
    metadata.annotations.insert("mine".into(), "kept".into());
    assert!(annotate(&mut metadata, held(true).as_ref()));
    assert!(!annotate(&mut metadata, held(true).as_ref()), "nothing new");
    assert_eq!(metadata.annotations.len(), 4);
    assert!(annotate(&mut metadata, held(false).as_ref()));
    assert!(!metadata.annotations.contains_key(evicted));
    assert!(annotate(&mut metadata, None));
    assert_eq!(
        metadata.annotations.into_iter().collect::<Vec<_>>(),
        [("mine".into(), "kept".into())]
    );
}
