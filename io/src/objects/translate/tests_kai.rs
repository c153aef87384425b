//! KAI's objects in, facts or the exact complaint out.

use muster_core::delta::{
    ClusterDelta, DevicePart, DeviceRequest, DeviceShare, Division, Facts, GroupTree, LevelWish,
    NodeDeviceFacts, PodFacts, PodGroupFacts, QueueFacts, SubGroupNode, TopologyFacts, Tries,
    WholeWhen,
};
use muster_core::resource::Quantity;
use muster_core::status::SaidIn;
use serde_json::{Value, json};

use super::*;

fn object(kind: ObjectKind, value: &Value) -> Object {
    let mut object = Object::from_json(kind, &value.to_string()).unwrap();
    object.read_times(|text| text.parse().ok());
    object
}

fn facts(object: &Object) -> Facts {
    match translate(object, &OwnerRule::simulation()) {
        Ok(Some(ClusterDelta::Set(facts))) => facts,
        other => panic!("{other:?}"),
    }
}

/// What sets the object aside.
fn fault(object: &Object) -> String {
    let error = translate(object, &OwnerRule::simulation()).unwrap_err();
    assert_eq!(error.fault, Fault::Object, "{error}");
    format!("{}: {}", error.field, error.problem)
}

fn queue(spec: &Value) -> Object {
    object(ObjectKind::KaiQueue, &json!({"metadata": {"name": "q"}, "spec": spec}))
}

fn queue_facts(spec: &Value) -> QueueFacts {
    let Facts::Queue(facts) = facts(&queue(spec)) else { panic!("not a queue") };
    *facts
}

fn resources(gpu: &Value) -> Value {
    json!({"resources": {"gpu": gpu}})
}

fn group(spec: Value) -> Object {
    let mut spec = spec;
    if spec.get("queue").is_none() {
        spec["queue"] = "q".into();
    }
    object(ObjectKind::KaiPodGroup, &json!({"metadata": {"name": "g"}, "spec": spec}))
}

fn group_facts(spec: Value) -> PodGroupFacts {
    let Facts::PodGroup(facts) = facts(&group(spec)) else { panic!("not a PodGroup") };
    *facts
}

fn tree(spec: Value) -> GroupTree {
    *group_facts(spec).tree.expect("KAI's PodGroups have a tree")
}

#[test]
fn numbers_of_a_queue_become_amounts_in_its_units() {
    let facts = queue_facts(&json!({
        "parentQueue": "department", "preemptMinRuntime": "5m0s", "reclaimMinRuntime": "1.5s",
        "resources": {
            "cpu": {"quota": 1500, "limit": "2000", "overQuotaWeight": 1},
            "memory": {"quota": 0.5, "limit": -1, "overQuotaWeight": 0.25},
            "gpu": {"quota": 2.5, "limit": -1},
        },
    }));
    let amount = |text: &str| text.parse::<Quantity>().unwrap();
    let list = |list: &[(&str, &str)]| {
        Some(list.iter().map(|(name, text)| ((*name).into(), amount(text))).collect::<Vec<_>>())
    };
    assert_eq!(facts.parent.as_deref(), Some("department"));
    assert_eq!(
        facts.deserved,
        list(&[("cpu", "1.5"), ("memory", "500k"), ("nvidia.com/gpu", "2.5")])
    );
    assert_eq!(facts.capability, list(&[("cpu", "2")]));
    let terms = facts.over_quota.unwrap();
    let weights = [terms.weights.cpu, terms.weights.memory, terms.weights.gpu];
    assert_eq!(weights, [1_000_000, 250_000, 0]);
    assert_eq!(terms.preempt_min_runtime_ms, Some(300_000));
    assert_eq!(terms.reclaim_min_runtime_ms, Some(1500));
}

#[test]
fn what_a_queue_leaves_out_is_nothing_and_its_priority_is_a_hundred() {
    let facts = queue_facts(&json!({"resources": {}}));
    let nothing = ["cpu", "memory", "nvidia.com/gpu"].map(|name| (name.into(), Quantity::ZERO));
    assert_eq!(facts.deserved.as_deref(), Some(&nothing[..]));
    assert_eq!(facts.capability.as_deref(), Some(&nothing[..]));
    assert_eq!((facts.priority, facts.parent), (100, None));
    assert_eq!(facts.over_quota, Some(Box::default()));
    assert_eq!(queue_facts(&json!({"resources": {}, "priority": 7})).priority, 7);
}

#[test]
fn queues_that_make_no_sense_are_set_aside() {
    let faults = [
        (
            json!({}),
            "spec.resources: is missing; expected quota, overQuotaWeight and limit of cpu, memory and gpu",
        ),
        (
            json!({"parentQueue": "q", "resources": {}}),
            "spec.parentQueue: names the queue itself; expected another queue",
        ),
        (
            resources(&json!({"quota": -2})),
            "spec.resources.gpu.quota: is below 0; expected 0 or more, or -1 for no end",
        ),
        (
            resources(&json!({"limit": "-0.5"})),
            "spec.resources.gpu.limit: is below 0; expected 0 or more, or -1 for no end",
        ),
        (
            resources(&json!({"overQuotaWeight": -1})),
            "spec.resources.gpu.overQuotaWeight: is below 0; expected a weight of 0 or more",
        ),
        (
            json!({"resources": {}, "preemptMinRuntime": "-5s"}),
            "spec.preemptMinRuntime: \"-5s\" is below 0s; expected 0s or more",
        ),
        (
            json!({"resources": {}, "reclaimMinRuntime": "soon"}),
            "spec.reclaimMinRuntime: \"soon\" is not a length of time; expected one such as 30s, 1m30s or 500ms",
        ),
    ];
    for (spec, expected) in faults {
        assert_eq!(fault(&queue(&spec)), expected);
    }
    for weight in ["NaN", "inf", "1e", ""] {
        let not_a_number = queue(&resources(&json!({"overQuotaWeight": weight})));
        let error = translate(&not_a_number, &OwnerRule::simulation()).unwrap_err();
        assert_eq!(error.field, "spec.resources.gpu.overQuotaWeight");
    }
    let endless = queue_facts(&resources(&json!({"quota": 1e300, "overQuotaWeight": 1e300})));
    assert_eq!(endless.over_quota.unwrap().weights.gpu, i64::MAX as u64);
}

#[test]
fn a_group_without_sub_groups_needs_its_minimum_or_one() {
    assert_eq!(group_facts(json!({})).min_member, 1);
    assert_eq!(group_facts(json!({"minMember": 0})).min_member, 0);
    let facts = group_facts(json!({
        "minMember": 3, "priorityClassName": "train", "preemptibility": "non-preemptible",
        "stalenessGracePeriod": "-1s", "preemptionDelay": "10m0s",
        "topologyConstraint": {"topology": "t", "requiredTopologyLevel": "zone"},
    }));
    assert_eq!((facts.min_member, facts.queue.as_deref()), (3, Some("q")));
    assert_eq!((facts.priority_class.as_deref(), facts.preemptable), (Some("train"), Some(false)));
    assert!(facts.subgroups.is_empty());
    let levels = LevelWish { topology: "t".into(), required: Some("zone".into()), preferred: None };
    let tree = GroupTree {
        levels: Some(levels),
        staleness_grace_ms: Some(-1000),
        preemption_delay_ms: 600_000,
        pool: "default".into(),
        ..GroupTree::default()
    };
    assert_eq!(facts.tree, Some(Box::new(tree)));
}

#[test]
fn a_group_knows_its_past_from_its_annotations() {
    let mut value = json!({"metadata": {"name": "g"}, "spec": {"queue": "q"}});
    value["metadata"]["annotations"] = json!({
        "kai.scheduler/last-start-timestamp": "7",
        "kai.scheduler/stale-podgroup-timestamp": "-8",
        "kai.scheduler/last-eviction-timestamp": "yesterday",
    });
    let object = object(ObjectKind::KaiPodGroup, &value);
    let Facts::PodGroup(facts) = facts(&object) else { panic!("not a PodGroup") };
    let tree = facts.tree.unwrap();
    let times = [tree.last_start, tree.stale_since, tree.last_eviction];
    assert_eq!(times.map(|time| time.map(|time| time.0)), [Some(7), Some(-8), None]);
    let told =
        "has an annotation kai.scheduler/last-eviction-timestamp that is no time and is not used";
    assert_eq!(unsupported(&object), [told]);
}

#[test]
fn a_group_says_how_loud_it_is_and_how_often_it_is_tried() {
    let quiet = tree(json!({"markUnschedulable": false, "schedulingBackoff": 1}));
    assert_eq!((quiet.pods_say, quiet.tries), (SaidIn::EventAlone, Tries::One));
    for spec in [json!({}), json!({"markUnschedulable": true, "schedulingBackoff": -1})] {
        let usual = tree(spec);
        assert_eq!((usual.pods_say, usual.tries), (SaidIn::Status, Tries::Many));
    }
}

#[test]
fn a_group_knows_its_node_pool_and_where_it_failed_last() {
    let condition = |pool: &str, transition: &str, status: &str| {
        json!({"type": "UnschedulableOnNodePool", "nodePool": pool, "status": status,
            "transitionID": transition})
    };
    let failed_in = |conditions: Vec<Value>| {
        let value = json!({
            "metadata": {"name": "g", "labels": {"kai.scheduler/node-pool": "a"}},
            "spec": {"queue": "q"}, "status": {"schedulingConditions": conditions},
        });
        let object = object(ObjectKind::KaiPodGroup, &value);
        let Facts::PodGroup(facts) = facts(&object) else { panic!("not a PodGroup") };
        let tree = facts.tree.unwrap();
        assert_eq!(&*tree.pool, "a");
        tree.failed_in
    };
    assert_eq!(failed_in(Vec::new()), None);
    let two = vec![condition("a", "2", "True"), condition("b", "10", "True")];
    assert_eq!(failed_in(two).as_deref(), Some("b"), "the last change counts, as a number");
    assert_eq!(failed_in(vec![condition("a", "1", "False")]), None);
}

fn leaf(name: &str, parent: Option<u16>, pods: u32) -> SubGroupNode {
    SubGroupNode { name: name.into(), parent, whole: WholeWhen::Pods(pods), levels: None }
}

#[test]
fn sub_groups_stand_behind_their_parents() {
    let facts = group_facts(json!({"minSubGroup": 1, "subGroups": [
        {"name": "a1", "parent": "a", "minMember": 2},
        {"name": "b", "minMember": 4},
        {"name": "a", "minSubGroup": 1, "topologyConstraint": {"topology": "t", "preferredTopologyLevel": "rack"}},
        {"name": "a2", "parent": "a", "minMember": 3},
    ]}));
    let levels = LevelWish { topology: "t".into(), required: None, preferred: Some("rack".into()) };
    let whole = WholeWhen::SubGroups(Some(1));
    let set = SubGroupNode { name: "a".into(), parent: None, whole, levels: Some(levels) };
    let tree = facts.tree.unwrap();
    assert_eq!(
        tree.subgroups,
        [leaf("b", None, 4), set, leaf("a1", Some(1), 2), leaf("a2", Some(1), 3)]
    );
    assert_eq!(tree.min_subgroups, Some(1));
    // One of b with 4 pods and a, of which a1 with 2 is enough.
    assert_eq!(facts.min_member, 2);
    assert!(facts.subgroups.is_empty());
}

#[test]
fn a_flat_tree_of_which_all_is_needed_is_also_given_as_policies() {
    let facts = group_facts(json!({"subGroups": [
        {"name": "leader", "minMember": 1}, {"name": "worker", "minMember": 3}, {"name": "spare"},
    ]}));
    assert_eq!(facts.min_member, 4);
    let policies: Vec<_> =
        facts.subgroups.iter().map(|one| (&*one.name, one.size, one.min_subgroups)).collect();
    assert_eq!(policies, [("leader", 1, 1), ("worker", 3, 1), ("spare", 1, 0)]);
    let selector = &facts.subgroups[1].selector.as_ref().unwrap()[0];
    assert!(selector.holds(Some(&"worker".into())) && !selector.holds(Some(&"leader".into())));
    let of_two = |min: u32| {
        let subgroups = json!([{"name": "a", "minMember": 1}, {"name": "b", "minMember": 1}]);
        group_facts(json!({"minSubGroup": min, "subGroups": subgroups})).subgroups.len()
    };
    assert_eq!((of_two(2), of_two(1)), (2, 0));
}

#[test]
fn groups_that_make_no_sense_are_set_aside() {
    let sub = |entries: Value| json!({"subGroups": entries});
    let faults = [
        (json!({"queue": ""}), "spec.queue: is missing; KAI's PodGroups have no default queue"),
        (json!({"minMember": -1}), "spec.minMember: -1 is not a count; expected 0 or more"),
        (
            json!({"minMember": 1, "minSubGroup": 1}),
            "spec.minSubGroup: excludes minMember; give one of the two",
        ),
        (json!({"minSubGroup": 1}), "spec.minSubGroup: 1 is more than the 0 sub-groups there are"),
        (
            json!({"preemptibility": "maybe"}),
            "spec.preemptibility: \"maybe\" is neither preemptible nor non-preemptible",
        ),
        (
            json!({"stalenessGracePeriod": "long"}),
            "spec.stalenessGracePeriod: \"long\" is not a length of time; expected one such as 30s, 1m30s or 500ms",
        ),
        (
            json!({"topologyConstraint": {"requiredTopologyLevel": "zone"}}),
            "spec.topologyConstraint.topology: is missing; expected the name of a Topology",
        ),
        (
            sub(json!([{"name": ""}])),
            "spec.subGroups[0].name: \"\" is no name that a label of a pod can have",
        ),
        (
            sub(json!([{"name": "a b"}])),
            "spec.subGroups[0].name: \"a b\" is no name that a label of a pod can have",
        ),
        (
            sub(json!([{"name": "a"}, {"name": "a"}])),
            "spec.subGroups[1].name: \"a\" is a sub-group already",
        ),
        (
            sub(json!([{"name": "a", "parent": "A"}])),
            "spec.subGroups[0].parent: \"A\" is no sub-group of this PodGroup",
        ),
        (
            sub(json!([{"name": "a", "parent": "a"}])),
            "spec.subGroups[0].parent: leads round in a circle; expected parents up to a sub-group without one",
        ),
        (
            sub(json!([{"name": "x"}, {"name": "a", "parent": "b"}, {"name": "b", "parent": "a"}])),
            "spec.subGroups[1].parent: leads round in a circle; expected parents up to a sub-group without one",
        ),
        (
            sub(json!([{"name": "a", "minMember": -3}])),
            "spec.subGroups[0].minMember: -3 is not a count; expected 0 or more",
        ),
        (
            sub(json!([{"name": "a", "minMember": 1, "minSubGroup": 1}])),
            "spec.subGroups[0].minSubGroup: excludes minMember; give one of the two",
        ),
        (
            sub(json!([{"name": "a", "minSubGroup": 1}])),
            "spec.subGroups[0].minSubGroup: counts sub-groups of one that has none; expected minMember",
        ),
        (
            sub(json!([{"name": "a", "minMember": 1}, {"name": "b", "parent": "a"}])),
            "spec.subGroups[0].minMember: counts pods of a sub-group that has sub-groups; expected minSubGroup",
        ),
        (
            sub(json!([{"name": "a", "minSubGroup": 2}, {"name": "b", "parent": "a"}])),
            "spec.subGroups[0].minSubGroup: 2 is more than the 1 sub-groups there are",
        ),
    ];
    for (spec, expected) in faults {
        assert_eq!(fault(&group(spec)), expected);
    }
}

#[test]
fn what_a_group_asks_for_in_vain_is_said() {
    let odd = group(json!({
        "markUnschedulable": false, "schedulingBackoff": 3, "preemptionDelay": "-5s",
    }));
    assert_eq!(
        unsupported(&odd),
        [
            "has a schedulingBackoff other than 1 and -1, which counts as -1",
            "has a preemptionDelay below 0s, which counts as none",
        ]
    );
    assert_eq!(tree(json!({"preemptionDelay": "-5s"})).preemption_delay_ms, 0);
    let plain = json!({"markUnschedulable": true, "schedulingBackoff": -1, "parallelism": 4});
    assert!(unsupported(&group(plain)).is_empty());
}

fn topology(levels: &Value) -> Object {
    let value = json!({"metadata": {"name": "t"}, "spec": {"levels": levels}});
    object(ObjectKind::LevelTopology, &value)
}

#[test]
fn a_topology_is_its_levels() {
    let levels = json!([
        {"nodeLabel": "example.com/zone", "alias": "zone"}, {"nodeLabel": "kubernetes.io/hostname"},
    ]);
    let Facts::Topology(facts) = facts(&topology(&levels)) else { panic!("not a topology") };
    let TopologyFacts { name, levels } = *facts;
    let words: Vec<_> = levels.iter().map(|one| (&*one.label, one.alias.as_deref())).collect();
    assert_eq!(
        (&*name, words),
        ("t", vec![("example.com/zone", Some("zone")), ("kubernetes.io/hostname", None)])
    );
}

#[test]
fn topologies_that_make_no_sense_are_set_aside() {
    let many: Vec<_> = (0..17).map(|at| json!({"nodeLabel": format!("l{at}")})).collect();
    let faults = [
        (json!([]), "spec.levels: has 0 levels; expected 1 to 16"),
        (json!(many), "spec.levels: has 17 levels; expected 1 to 16"),
        (json!([{"nodeLabel": "a b"}]), "spec.levels[0].nodeLabel: \"a b\" is not a label key"),
        (
            json!([{"nodeLabel": "a"}, {"nodeLabel": "a"}]),
            "spec.levels[1].nodeLabel: a is a level already",
        ),
        (
            json!([{"nodeLabel": "kubernetes.io/hostname"}, {"nodeLabel": "a"}]),
            "spec.levels[0].nodeLabel: kubernetes.io/hostname has no level below it; expected it last",
        ),
        (
            json!([{"nodeLabel": "a", "alias": "b"}, {"nodeLabel": "b"}]),
            "spec.levels[0].alias: \"b\" names another level already",
        ),
        (
            json!([{"nodeLabel": "a", "alias": "x"}, {"nodeLabel": "b", "alias": "x"}]),
            "spec.levels[1].alias: \"x\" names another level already",
        ),
    ];
    for (levels, expected) in faults {
        assert_eq!(fault(&topology(&levels)), expected);
    }
}

fn pod(metadata: &Value, spec: &Value) -> Object {
    let mut metadata = metadata.clone();
    metadata["name"] = "p".into();
    object(ObjectKind::Pod, &json!({"metadata": metadata, "spec": spec}))
}

fn pod_facts(metadata: &Value) -> PodFacts {
    let Facts::Pod(facts) = facts(&pod(metadata, &json!({}))) else { panic!("not a pod") };
    *facts
}

#[test]
fn a_pod_says_group_and_queue_in_either_dialect() {
    let kai = json!({
        "annotations": {"pod-group-name": "g"},
        "labels": {"kai.scheduler/queue": "q", "kai.scheduler/preemptibility": "preemptible"},
    });
    let facts = pod_facts(&kai);
    assert_eq!((facts.group.as_deref(), facts.queue.as_deref()), (Some("g"), Some("q")));
    assert_eq!(facts.preemptable, None, "the PodGroup decides");
    let both = json!({"annotations": {
        "pod-group-name": "kai", "scheduling.k8s.io/group-name": "volcano",
    }});
    assert_eq!(pod_facts(&both).group.as_deref(), Some("volcano"));
    let alone = |word: &str| json!({"labels": {"kai.scheduler/preemptibility": word}});
    assert_eq!(pod_facts(&alone("preemptible")).preemptable, Some(true));
    assert_eq!(pod_facts(&alone("non-preemptible")).preemptable, Some(false));
    assert_eq!(pod_facts(&alone("perhaps")).preemptable, None);
    assert_eq!(unsupported(&pod(&alone("perhaps"), &json!({}))).len(), 1);
}

/// A pod of KAI's with annotations and one container that asks for this.
fn asking(annotations: &Value, requests: &Value) -> Object {
    let spec = json!({
        "schedulerName": "kai-scheduler", "containers": [{"resources": {"requests": requests}}],
    });
    pod(&json!({"annotations": annotations}), &spec)
}

#[test]
fn parts_of_devices_and_instances_are_read() {
    let asked = |annotations: Value, requests: Value| {
        let Facts::Pod(facts) = facts(&asking(&annotations, &requests)) else { panic!("a pod") };
        facts.devices
    };
    let share = |devices, part| Some(DeviceRequest::Share(DeviceShare { devices, part }));
    let none = || json!({});
    assert_eq!(asked(json!({"gpu-fraction": "0.5"}), none()), share(1, DevicePart::Milli(500)));
    assert_eq!(asked(json!({"gpu-memory": "2000"}), none()), share(1, DevicePart::Memory(2000)));
    let several = json!({"gpu-memory": "2000", "gpu-fraction-num-devices": "3"});
    assert_eq!(asked(several, none()), share(3, DevicePart::Memory(2000)));
    let instances = json!({"nvidia.com/mig-3g.40gb": "2", "nvidia.com/mig-1g.10gb": "1"});
    assert_eq!(asked(none(), instances), Some(DeviceRequest::Instances { devices: 7 }));
    assert_eq!(asked(none(), json!({"nvidia.com/gpu": "1"})), None);
    // To a pod of another dialect the words mean nothing.
    let other = pod(&json!({"annotations": {"gpu-memory": "x"}}), &json!({}));
    assert!(matches!(facts(&other), Facts::Pod(facts) if facts.devices.is_none()));
}

#[test]
fn a_pod_that_asks_for_devices_in_vain_is_set_aside_unless_it_has_its_node() {
    let whole = json!({"nvidia.com/gpu": "1"});
    let instance = json!({"nvidia.com/mig-1g.10gb": "1"});
    let wrong = [
        (json!({"gpu-fraction": "1"}), json!({}), "\"1\" is no part of a GPU"),
        (json!({"gpu-memory": "0"}), json!({}), "\"0\" is no amount of memory"),
        (json!({"gpu-fraction": "0.5", "gpu-memory": "9"}), json!({}), "stands beside gpu-memory"),
        (
            json!({"gpu-fraction-num-devices": "2"}),
            json!({}),
            "says of how many GPUs, not how much",
        ),
        (
            json!({"gpu-fraction": "0.5", "gpu-fraction-num-devices": "0"}),
            json!({}),
            "is no number of GPUs",
        ),
        (json!({"gpu-fraction": "0.5"}), whole, "and the containers for whole ones"),
        (json!({"gpu-memory": "9"}), instance, "and the containers for whole ones"),
        (json!({"nvidia.com/mig-1g.5gb": "1"}), json!({}), "ask for them as a resource"),
    ];
    for (annotations, requests, expected) in wrong {
        let told = fault(&asking(&annotations, &requests));
        assert!(told.contains(expected) && told.contains("metadata.annotations["), "{told}");
        let Object::Pod(mut placed) = asking(&annotations, &requests) else { panic!("a pod") };
        placed.spec.node_name = Some("n".into());
        assert!(matches!(facts(&Object::Pod(placed.clone())), Facts::Pod(_)));
        placed.spec.node_name = None;
        placed.spec.scheduler_name = Some("default-scheduler".into());
        assert!(matches!(facts(&Object::Pod(placed)), Facts::Pod(_)));
    }
    let claims = json!({"schedulerName": "kai-scheduler", "resourceClaims": [{"name": "c"}]});
    let told = fault(&pod(&json!({}), &claims));
    assert!(told.contains("asks for devices by claims"), "{told}");
    let placed = json!({
        "schedulerName": "kai-scheduler", "resourceClaims": [{"name": "c"}], "nodeName": "n",
    });
    let told = unsupported(&pod(&json!({}), &placed)).join("\n");
    assert!(told.contains("on its node only its plain requests count"), "{told}");
}

#[test]
fn on_a_real_cluster_nobody_gives_parts_of_devices() {
    let owner = OwnerRule::named(["kai-scheduler"]);
    let share = asking(&json!({"gpu-fraction": "0.5"}), &json!({}));
    let told = translate(&share, &owner).unwrap_err().to_string();
    assert!(told.contains("gives in simulations only"), "{told}");
    let instance = asking(&json!({}), &json!({"nvidia.com/mig-1g.10gb": "1"}));
    assert!(translate(&instance, &owner).is_ok());
}

#[test]
fn a_pod_on_its_node_says_which_devices_it_shares() {
    let shared = |labels: Value| {
        let metadata = json!({"annotations": {"gpu-fraction": "0.5"}, "labels": labels});
        let spec = json!({"schedulerName": "kai-scheduler", "nodeName": "n"});
        let Facts::Pod(facts) = facts(&pod(&metadata, &spec)) else { panic!("a pod") };
        facts.shared_devices.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    assert_eq!(shared(json!({"runai-gpu-group": "g"})), ["g"]);
    assert_eq!(shared(json!({"runai-gpu-group/b": "b", "runai-gpu-group/a": "a"})), ["a", "b"]);
    assert!(shared(json!({"runai-gpu-groups": "g"})).is_empty());
}

#[test]
fn the_pod_that_holds_a_shared_device_asks_for_none_of_its_own() {
    let asks = |labels: Value| {
        let spec = json!({
            "nodeName": "n", "containers": [{"resources": {"requests": {"nvidia.com/gpu": "1"}}}],
        });
        let Facts::Pod(facts) = facts(&pod(&json!({"labels": labels}), &spec)) else {
            panic!("a pod")
        };
        facts.request.iter().any(|(name, _)| name == "nvidia.com/gpu")
    };
    assert!(!asks(json!({"app": "kai-resource-reservation", "runai-gpu-group": "g"})));
    assert!(asks(json!({"app": "web"})) && asks(json!({"runai-gpu-group": "g"})));
}

#[test]
fn a_node_says_how_its_devices_are_divided_and_what_they_have() {
    let devices = |labels: Value, allocatable: Value| {
        let node = json!({
            "metadata": {"name": "n", "labels": labels}, "status": {"allocatable": allocatable},
        });
        let Facts::Node(facts) = facts(&object(ObjectKind::Node, &node)) else { panic!("a node") };
        facts.devices
    };
    let plain = devices(json!({"nvidia.com/gpu.memory": "16384"}), json!({"nvidia.com/gpu": "2"}));
    let expected = NodeDeviceFacts { memory: Some(16_300), ..NodeDeviceFacts::default() };
    assert_eq!(plain, expected);
    let mixed = json!({"nvidia.com/mig.strategy": "mixed"});
    let divided = devices(mixed.clone(), json!({"nvidia.com/mig-2g.10gb": "3"}));
    let expected = NodeDeviceFacts { memory: None, division: Division::Mixed, instances: 6 };
    assert_eq!(divided, expected);
    // The label says how they would be divided; on a node without divided ones it means nothing.
    assert_eq!(devices(mixed, json!({"nvidia.com/gpu": "2"})), NodeDeviceFacts::default());
}
