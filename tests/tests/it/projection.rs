//! Objects reduced to what scheduling reads: the reduction sees what a full decoding sees, and what it
//! sees can be translated whatever else the object says.

use k8s_openapi::api::apps::v1::{ReplicaSet, StatefulSet};
use k8s_openapi::api::core::v1::{
    Node, PersistentVolumeClaim, Pod, ReplicationController, Service,
};
use muster::objects::translate::{Fault, OwnerRule, translate};
use muster::objects::{self, Object, ObjectKind};
use muster_tests::policy::cases;
use proptest::collection::{btree_map, vec};
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Map, Value, json};

/// An object of a few of the fields given, each as likely there as not.
fn some_of(fields: Vec<(&'static str, BoxedStrategy<Value>)>) -> BoxedStrategy<Value> {
    let entries: Vec<_> = fields
        .into_iter()
        .map(|(name, value)| option::of(value).prop_map(move |value| (name, value)))
        .collect();
    let object = entries.prop_map(|entries| {
        let given = entries.into_iter().filter_map(|(name, value)| Some((name.into(), value?)));
        Value::Object(given.collect::<Map<String, Value>>())
    });
    object.boxed()
}

fn with(mut object: Value, more: Value) -> Value {
    if let (Value::Object(map), Value::Object(more)) = (&mut object, more) {
        map.extend(more);
    }
    object
}

fn word() -> impl Strategy<Value = String> {
    select(vec!["a", "b-1", "zone", "gpu", "team.x"]).prop_map(str::to_owned)
}

fn label_key() -> impl Strategy<Value = String> {
    select(vec!["app", "kubernetes.io/hostname", "topology.kubernetes.io/zone", "tier"])
        .prop_map(str::to_owned)
}

fn labels() -> BoxedStrategy<Value> {
    btree_map(label_key(), word(), 0..3).prop_map(|labels| json!(labels)).boxed()
}

fn amount() -> impl Strategy<Value = String> {
    select(vec!["1", "250m", "1.5", "2Gi", "1e3", "0", "100Mi", "3k"]).prop_map(str::to_owned)
}

fn amounts() -> BoxedStrategy<Value> {
    let names = select(vec!["cpu", "memory", "ephemeral-storage", "nvidia.com/gpu", "x.y/z"]);
    btree_map(names, amount(), 0..4).prop_map(|amounts| json!(amounts)).boxed()
}

fn resources() -> BoxedStrategy<Value> {
    some_of(vec![("requests", amounts()), ("limits", amounts())])
}

fn flag() -> BoxedStrategy<Value> {
    any::<bool>().prop_map(Value::from).boxed()
}

fn text(choices: &[&'static str]) -> BoxedStrategy<Value> {
    select(choices.to_vec()).prop_map(Value::from).boxed()
}

fn number(least: i64, most: i64) -> BoxedStrategy<Value> {
    (least..=most).prop_map(Value::from).boxed()
}

fn list(items: BoxedStrategy<Value>, most: usize) -> BoxedStrategy<Value> {
    vec(items, 0..=most).prop_map(Value::from).boxed()
}

/// What scheduling never reads, and objects are full of.
fn noise() -> BoxedStrategy<Value> {
    let env = json!([{"name": "A", "value": "b"}, {"name": "C", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}}]);
    let probe = json!({"httpGet": {"path": "/", "port": "web"}, "periodSeconds": 3});
    some_of(vec![
        ("env", Just(env).boxed()),
        ("livenessProbe", Just(probe).boxed()),
        ("command", Just(json!(["sh", "-c", "exit 0"])).boxed()),
        ("securityContext", Just(json!({"runAsUser": 7, "privileged": true})).boxed()),
        ("terminationMessagePath", Just(json!("/dev/x")).boxed()),
    ])
}

fn container() -> BoxedStrategy<Value> {
    let port = some_of(vec![
        ("hostPort", number(1, 65_535)),
        ("protocol", text(&["TCP", "UDP"])),
        ("hostIP", text(&["0.0.0.0", "10.0.0.1"])),
    ]);
    let port = port.prop_map(|port| with(port, json!({"containerPort": 80}))).boxed();
    let fields = some_of(vec![
        ("image", text(&["busybox", "registry/x:1", "y@sha256:00"])),
        ("resources", resources()),
        ("ports", list(port, 2)),
        ("restartPolicy", text(&["Always"])),
    ]);
    let named = (fields, noise());
    named.prop_map(|(fields, noise)| with(with(json!({"name": "c"}), fields), noise)).boxed()
}

fn requirement() -> BoxedStrategy<Value> {
    let of_values = (label_key(), select(vec!["In", "NotIn"]), vec(word(), 1..3)).prop_map(
        |(key, operator, values)| json!({"key": key, "operator": operator, "values": values}),
    );
    let of_key = (label_key(), select(vec!["Exists", "DoesNotExist"]))
        .prop_map(|(key, operator)| json!({"key": key, "operator": operator}));
    prop_oneof![of_values, of_key].boxed()
}

fn selector() -> BoxedStrategy<Value> {
    some_of(vec![("matchLabels", labels()), ("matchExpressions", list(requirement(), 2))])
}

fn node_term() -> BoxedStrategy<Value> {
    some_of(vec![("matchExpressions", list(requirement(), 2))])
}

fn pod_affinity() -> BoxedStrategy<Value> {
    let term = some_of(vec![
        ("labelSelector", selector()),
        ("namespaceSelector", selector()),
        ("namespaces", Just(json!(["a", "b"])).boxed()),
        ("matchLabelKeys", Just(json!(["app"])).boxed()),
    ]);
    let key = json!({"topologyKey": "topology.kubernetes.io/zone"});
    let term = term.prop_map(move |term| with(term, key.clone())).boxed();
    let wish = (number(1, 100), term.clone());
    let wish = wish.prop_map(|(weight, term)| json!({"weight": weight, "podAffinityTerm": term}));
    some_of(vec![
        ("requiredDuringSchedulingIgnoredDuringExecution", list(term, 2)),
        ("preferredDuringSchedulingIgnoredDuringExecution", list(wish.boxed(), 2)),
    ])
}

fn affinity() -> BoxedStrategy<Value> {
    let required = vec(node_term(), 1..3).prop_map(|terms| json!({"nodeSelectorTerms": terms}));
    let wish = (number(1, 100), node_term());
    let wish = wish.prop_map(|(weight, term)| json!({"weight": weight, "preference": term}));
    let nodes = some_of(vec![
        ("requiredDuringSchedulingIgnoredDuringExecution", required.boxed()),
        ("preferredDuringSchedulingIgnoredDuringExecution", list(wish.boxed(), 2)),
    ]);
    some_of(vec![
        ("nodeAffinity", nodes),
        ("podAffinity", pod_affinity()),
        ("podAntiAffinity", pod_affinity()),
    ])
}

fn volume() -> BoxedStrategy<Value> {
    let claim = json!({"spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}});
    let kinds = vec![
        json!({"name": "v", "emptyDir": {"sizeLimit": "1Gi"}}),
        json!({"name": "v", "configMap": {"name": "c", "items": [{"key": "k", "path": "p"}]}}),
        json!({"name": "v", "persistentVolumeClaim": {"claimName": "data"}}),
        json!({"name": "v", "ephemeral": {"volumeClaimTemplate": claim}}),
    ];
    select(kinds).boxed()
}

fn spread() -> BoxedStrategy<Value> {
    let fields = some_of(vec![
        ("labelSelector", selector()),
        ("minDomains", number(1, 5)),
        ("nodeAffinityPolicy", text(&["Honor", "Ignore"])),
        ("nodeTaintsPolicy", text(&["Honor", "Ignore"])),
        ("matchLabelKeys", Just(json!(["app"])).boxed()),
    ]);
    let fixed = json!({"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"});
    fields.prop_map(move |fields| with(fixed.clone(), fields)).boxed()
}

fn metadata() -> BoxedStrategy<Value> {
    let annotations = [
        ("scheduling.k8s.io/group-name", "g"),
        ("volcano.sh/task-spec", "worker"),
        ("volcano.sh/preemptable", "maybe"),
        ("volcano.sh/task-priority", "seven"),
        ("kubectl.kubernetes.io/last-applied-configuration", "{}"),
    ];
    let annotations = vec(select(annotations.to_vec()), 0..4).prop_map(|pairs| {
        Value::Object(pairs.into_iter().map(|(k, v)| (k.into(), v.into())).collect())
    });
    let managed =
        json!([{"manager": "kubelet", "operation": "Update", "fieldsV1": {"f:status": {}}}]);
    let owner = json!([{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "r", "uid": "o", "controller": true}]);
    let fields = some_of(vec![
        ("labels", labels()),
        ("annotations", annotations.boxed()),
        ("managedFields", Just(managed).boxed()),
        ("ownerReferences", Just(owner).boxed()),
        ("finalizers", Just(json!(["x/y"])).boxed()),
        ("deletionTimestamp", text(&["2026-01-01T00:00:07Z"])),
    ]);
    let fixed = json!({
        "name": "p", "namespace": "default", "uid": "u", "resourceVersion": "5",
        "creationTimestamp": "2026-01-01T00:00:00Z",
    });
    fields.prop_map(move |fields| with(fixed.clone(), fields)).boxed()
}

fn any_pod() -> impl Strategy<Value = Value> {
    let toleration = some_of(vec![
        ("key", text(&["gpu", "zone"])),
        ("operator", text(&["Exists", "Equal"])),
        ("effect", text(&["NoSchedule", "NoExecute", "PreferNoSchedule"])),
        ("tolerationSeconds", number(0, 60)),
    ]);
    let spec = some_of(vec![
        ("initContainers", list(container(), 2)),
        ("schedulerName", text(&["muster", "default-scheduler"])),
        ("nodeName", text(&["n0"])),
        ("nodeSelector", labels()),
        ("affinity", affinity()),
        ("tolerations", list(toleration, 2)),
        ("topologySpreadConstraints", list(spread(), 2)),
        ("schedulingGates", Just(json!([{"name": "g"}])).boxed()),
        ("priority", number(-5, 2_000_000_000)),
        ("priorityClassName", text(&["high"])),
        ("preemptionPolicy", text(&["Never", "PreemptLowerPriority"])),
        ("terminationGracePeriodSeconds", number(0, 90)),
        ("overhead", amounts()),
        ("resources", resources()),
        ("hostNetwork", flag()),
        ("volumes", list(volume(), 2)),
        ("resourceClaims", Just(json!([{"name": "d", "resourceClaimName": "x"}])).boxed()),
        ("serviceAccountName", text(&["default"])),
        ("dnsPolicy", text(&["ClusterFirst"])),
    ]);
    let status = some_of(vec![
        ("phase", text(&["Pending", "Running", "Succeeded", "Failed", "Unknown"])),
        ("nominatedNodeName", text(&["n1"])),
        ("podIP", text(&["10.1.2.3"])),
        (
            "conditions",
            Just(json!([{"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "NeverFits: no"}])).boxed(),
        ),
        ("containerStatuses", Just(json!([{"name": "c", "ready": true, "restartCount": 3, "image": "i", "imageID": "i"}])).boxed()),
    ]);
    let parts = (metadata(), spec, vec(container(), 1..3), status);
    parts.prop_map(|(metadata, spec, containers, status)| {
        let spec = with(spec, json!({"containers": containers}));
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec, "status": status})
    })
}

fn any_node() -> impl Strategy<Value = Value> {
    let taint = (select(vec!["NoSchedule", "NoExecute"]), word()).prop_map(
        |(effect, key)| json!({"key": key, "effect": effect, "timeAdded": "2026-01-01T00:00:00Z"}),
    );
    let image = json!({"names": ["a:1", "a@sha256:0"], "sizeBytes": 12_345});
    let spec = some_of(vec![
        ("unschedulable", flag()),
        ("taints", list(taint.boxed(), 2)),
        ("podCIDR", text(&["10.0.0.0/24"])),
        ("providerID", text(&["cloud://x"])),
    ]);
    let status = some_of(vec![
        ("allocatable", amounts()),
        ("capacity", amounts()),
        ("images", list(Just(image).boxed(), 2)),
        ("nodeInfo", Just(json!({
            "architecture": "amd64", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "",
            "kubeProxyVersion": "", "kubeletVersion": "", "machineID": "", "operatingSystem": "linux",
            "osImage": "", "systemUUID": "",
        })).boxed()),
    ]);
    let parts = (metadata(), spec, status);
    parts.prop_map(|(metadata, spec, status)| {
        json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata, "spec": spec, "status": status})
    })
}

fn any_claim() -> impl Strategy<Value = Value> {
    let spec = some_of(vec![
        ("accessModes", Just(json!(["ReadWriteOnce", "ReadWriteMany"])).boxed()),
        ("selector", selector()),
        ("resources", resources()),
        ("volumeName", text(&["pv-1"])),
        ("storageClassName", text(&["", "fast"])),
        ("volumeMode", text(&["Block", "Filesystem"])),
        ("dataSource", Just(json!({"kind": "VolumeSnapshot", "name": "s"})).boxed()),
    ]);
    let status =
        some_of(vec![("phase", text(&["Pending", "Bound", "Lost"])), ("capacity", amounts())]);
    let parts = (metadata(), spec, status);
    parts.prop_map(
        |(metadata, spec, status)| json!({"metadata": metadata, "spec": spec, "status": status}),
    )
}

fn any_service() -> impl Strategy<Value = Value> {
    let spec = some_of(vec![
        ("selector", labels()),
        ("clusterIP", text(&["None", "10.0.0.7"])),
        ("ports", Just(json!([{"port": 80, "targetPort": "web"}])).boxed()),
    ]);
    (metadata(), spec).prop_map(|(metadata, spec)| json!({"metadata": metadata, "spec": spec}))
}

/// A controller that selects its pods like this.
fn any_controller(selector: BoxedStrategy<Value>) -> impl Strategy<Value = Value> {
    let template = json!({"metadata": {"labels": {"app": "x"}}, "spec": {"containers": []}});
    let spec = some_of(vec![("replicas", number(0, 3)), ("minReadySeconds", number(0, 9))]);
    (metadata(), spec, selector).prop_map(move |(metadata, spec, selector)| {
        let spec = with(spec, json!({"selector": selector, "template": template}));
        json!({"metadata": metadata, "spec": spec})
    })
}

fn project(kind: ObjectKind, text: &str) -> Result<Object, TestCaseError> {
    Object::from_json(kind, text).map_err(|error| TestCaseError::fail(format!("{error} in {text}")))
}

/// The reduction of a text against that of the same object decoded and written in full.
fn check<K>(kind: ObjectKind, object: &Value) -> Result<(), TestCaseError>
where
    K: serde::Serialize + serde::de::DeserializeOwned,
{
    let text = object.to_string();
    let full: K = serde_json::from_str(&text)
        .map_err(|error| TestCaseError::fail(format!("{error} in {text}")))?;
    let again = serde_json::to_string(&full).expect("what was read can be written");
    prop_assert_eq!(project(kind, &text)?, project(kind, &again)?);
    Ok(())
}

/// The fields kept of a pod, against the same fields of the full type.
fn agrees(full: &Pod, reduced: &objects::Pod) -> Result<(), TestCaseError> {
    let (meta, ours) = (&full.metadata, &reduced.metadata);
    prop_assert_eq!(meta.name.as_deref(), Some(ours.name.as_str()));
    prop_assert_eq!(&meta.namespace, &ours.namespace);
    prop_assert_eq!(&meta.uid, &ours.uid);
    prop_assert_eq!(meta.labels.clone().unwrap_or_default(), ours.labels.clone());
    prop_assert_eq!(meta.annotations.clone().unwrap_or_default(), ours.annotations.clone());
    prop_assert_eq!(meta.deletion_timestamp.is_some(), ours.deletion_timestamp.is_some());
    let (spec, ours) = (full.spec.as_ref().expect("it has one"), &reduced.spec);
    prop_assert_eq!(&spec.scheduler_name, &ours.scheduler_name);
    prop_assert_eq!(&spec.node_name, &ours.node_name);
    prop_assert_eq!(spec.node_selector.clone().unwrap_or_default(), ours.node_selector.clone());
    prop_assert_eq!(&spec.priority, &ours.priority);
    prop_assert_eq!(&spec.priority_class_name, &ours.priority_class_name);
    prop_assert_eq!(&spec.preemption_policy, &ours.preemption_policy);
    prop_assert_eq!(spec.host_network.unwrap_or_default(), ours.host_network);
    let gates = spec.scheduling_gates.iter().flatten().map(|gate| gate.name.as_str());
    prop_assert!(gates.eq(ours.scheduling_gates.iter().map(|gate| gate.name.as_str())));
    let tolerations = spec.tolerations.iter().flatten().map(|entry| {
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        (text(&entry.key), text(&entry.operator), text(&entry.effect))
    });
    let kept = ours.tolerations.iter();
    let kept = kept.map(|entry| (entry.key.clone(), entry.operator.clone(), entry.effect.clone()));
    prop_assert!(tolerations.eq(kept));
    let asked = spec.containers.iter().map(|container| {
        let requests = container.resources.as_ref().and_then(|all| all.requests.as_ref());
        let requests =
            requests.into_iter().flatten().map(|(name, text)| (name.clone(), text.0.clone()));
        (container.image.clone().unwrap_or_default(), requests.collect::<Vec<_>>())
    });
    let kept = ours.containers.iter().map(|container| {
        let requests = container.resources.requests.iter();
        let requests = requests.map(|(name, text)| (name.clone(), text.to_string()));
        (container.image.clone(), requests.collect::<Vec<_>>())
    });
    prop_assert!(asked.eq(kept));
    let (status, ours) = (full.status.as_ref().expect("it has one"), &reduced.status);
    prop_assert_eq!(&status.phase, &ours.phase);
    prop_assert_eq!(&status.nominated_node_name, &ours.nominated_node_name);
    Ok(())
}

/// Puts a null beside the fields of every mapping, as an API server may.
fn add_nulls(value: &mut Value) {
    const OPTIONAL: [&str; 8] = [
        "nodeSelector",
        "affinity",
        "tolerations",
        "labels",
        "requests",
        "limits",
        "ports",
        "matchLabels",
    ];
    match value {
        Value::Object(map) => {
            map.values_mut().for_each(add_nulls);
            for field in OPTIONAL {
                map.entry(field).or_insert(Value::Null);
            }
        }
        Value::Array(list) => list.iter_mut().for_each(add_nulls),
        _ => {}
    }
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn a_reduced_pod_is_what_a_full_decoding_sees(pod in any_pod()) {
        check::<Pod>(ObjectKind::Pod, &pod)?;
        let full: Pod = serde_json::from_value(pod.clone()).expect("it was decoded a moment ago");
        match project(ObjectKind::Pod, &pod.to_string())? {
            Object::Pod(reduced) => agrees(&full, &reduced)?,
            other => prop_assert!(false, "{:?}", other),
        }
    }

    #[test]
    fn a_reduced_node_is_what_a_full_decoding_sees(node in any_node()) {
        check::<Node>(ObjectKind::Node, &node)?;
    }

    #[test]
    fn a_reduced_claim_is_what_a_full_decoding_sees(claim in any_claim()) {
        check::<PersistentVolumeClaim>(ObjectKind::PersistentVolumeClaim, &claim)?;
    }

    #[test]
    fn reduced_sets_of_pods_are_what_a_full_decoding_sees(
        service in any_service(),
        old in any_controller(labels()),
        new in any_controller(selector()),
    ) {
        check::<Service>(ObjectKind::Service, &service)?;
        check::<ReplicationController>(ObjectKind::ReplicationController, &old)?;
        check::<ReplicaSet>(ObjectKind::ReplicaSet, &new)?;
        check::<StatefulSet>(ObjectKind::StatefulSet, &new)?;
    }

    #[test]
    fn a_null_is_a_field_not_given(mut pod in any_pod()) {
        let plain = project(ObjectKind::Pod, &pod.to_string())?;
        add_nulls(&mut pod);
        prop_assert_eq!(project(ObjectKind::Pod, &pod.to_string())?, plain);
    }

    /// What an API server takes may make no sense to the scheduler, and is set aside then; it is never
    /// taken for a typing error.
    #[test]
    fn whatever_a_pod_says_it_can_be_translated(pod in any_pod()) {
        let object = project(ObjectKind::Pod, &pod.to_string())?;
        match translate(&object, &OwnerRule::named(["muster"])) {
            Ok(delta) => prop_assert!(delta.is_some()),
            Err(error) => {
                prop_assert_eq!(error.fault, Fault::Object, "{}", error);
                prop_assert!(error.set_aside().is_some());
            }
        }
    }
}
