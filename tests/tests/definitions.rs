//! Our definitions of PodGroup, Queue and HyperNode: the chart has the ones our types give, and a
//! real API server takes objects as Volcano's controllers write them and loses nothing of them.

use std::path::Path;

use kube::Api;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams};
use muster::crds::definitions;
use muster_tests::control_plane::{Space, with_shared};
use muster_tests::source::{files, read};
use serde_json::{Value, json};

const SCHEDULING: &str = "scheduling.volcano.sh/v1beta1";
const TOPOLOGY: &str = "topology.volcano.sh/v1alpha1";

#[test]
fn the_chart_has_the_definitions_our_types_give() {
    let folder = Path::new("deploy/chart/crds");
    let files: Vec<_> = files(&["yaml"]).filter(|path| path.starts_with(folder)).collect();
    assert_eq!(files.len(), definitions().len());
    for definition in definitions() {
        let path = folder.join(format!("{}.yaml", definition.plural));
        assert!(
            read(&path) == definition.yaml(),
            "{} differs from the types; write it anew:\n  cargo run -- crds --write {}",
            path.display(),
            folder.display()
        );
    }
}

/// Objects of a kind: those of the test's namespace if it has any there.
fn api(space: &Space<'_>, api_version: &str, kind: &str) -> Api<DynamicObject> {
    let (group, version) = api_version.split_once('/').expect("a group and a version");
    let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, kind));
    match kind {
        "PodGroup" => Api::namespaced_with(space.client(), space.namespace(), &resource),
        _ => Api::all_with(space.client(), &resource),
    }
}

/// Makes the object, writes its status, and checks that both are read back as they were written.
async fn kept(space: &Space<'_>, mut object: Value) {
    let (api_version, kind) = (object["apiVersion"].clone(), object["kind"].clone());
    let api = api(space, api_version.as_str().unwrap(), kind.as_str().unwrap());
    let status = object.as_object_mut().unwrap().remove("status").unwrap();
    let name = object["metadata"]["name"].as_str().unwrap().to_owned();
    space.make(&api, object.clone()).await;
    let patch = Patch::Merge(json!({"status": status}));
    api.patch_status(&name, &PatchParams::default(), &patch).await.unwrap();
    let found = api.get(&name).await.unwrap();
    assert_eq!(found.data["spec"], object["spec"], "{kind}");
    assert_eq!(found.data["status"], status, "{kind}");
}

#[test]
fn objects_of_volcano_s_controllers_are_kept_with_fields_we_do_not_know() {
    with_shared("kept", async |space| {
        kept(
            space,
            json!({
                "apiVersion": SCHEDULING, "kind": "PodGroup",
                "metadata": {"name": "podgroup-7c1d", "annotations": {"volcano.sh/a": "b"}},
                "spec": {
                    "minMember": 3,
                    "minTaskMember": {"worker": 2},
                    "queue": "default",
                    "minResources": {"cpu": "3", "count/pods": "3", "nvidia.com/gpu": 2},
                    "networkTopology": {"mode": "hard", "highestTierAllowed": 1, "later": {"a": 1}},
                    "subGroupPolicy": [{
                        "name": "worker", "subGroupSize": 1, "minSubGroups": 0,
                        "labelSelector": {"matchExpressions": [
                            {"key": "role", "operator": "In", "values": ["worker"]},
                        ]},
                        "later": [1, 2],
                    }],
                    "preemptable": true,
                },
                "status": {
                    "phase": "Inqueue", "running": 1,
                    "conditions": [{
                        "type": "Unschedulable", "status": "True", "reason": "NotEnoughResources",
                        "message": "2/3 tasks in gang unschedulable",
                        "transitionID": "6f0c", "lastTransitionTime": "2026-05-01T10:00:00Z",
                    }],
                    "later": true,
                },
            }),
        )
        .await;
        kept(
            space,
            json!({
                "apiVersion": SCHEDULING, "kind": "Queue",
                "metadata": {"name": space.own("q")},
                "spec": {
                    "weight": 4, "reclaimable": true, "parent": "root", "type": "batch",
                    "capability": {"cpu": "100", "memory": "1Ti"},
                    "deserved": {"cpu": 50},
                    "guarantee": {"resource": {"cpu": "500m"}},
                    "affinity": {"nodeGroupAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": ["gpu"],
                    }},
                    "extendClusters": [{"name": "other", "weight": 1}],
                },
                "status": {
                    "state": "Open", "allocated": {"cpu": "12500m", "pods": "7"},
                    "reservation": {"nodes": ["n1"]}, "pending": 2,
                },
            }),
        )
        .await;
        kept(
            space,
            json!({
                "apiVersion": TOPOLOGY, "kind": "HyperNode",
                "metadata": {"name": space.own("rack")},
                "spec": {
                    "tier": 1, "tierName": "rack",
                    "members": [
                        {"type": "Node", "selector": {"exactMatch": {"name": "n1"}}},
                        {"type": "Node", "selector": {"regexMatch": {"pattern": "^gpu-"}}},
                        {"type": "Node", "selector": {"labelMatch": {"matchLabels": {"a": "b"}}},
                         "later": "x"},
                    ],
                },
                "status": {"nodeCount": 12, "conditions": []},
            }),
        )
        .await;
    });
}

#[test]
fn nonsense_is_refused_by_the_api_server_with_the_field_s_name() {
    with_shared("nonsense", async |space| {
        let nonsense = [
            (SCHEDULING, "PodGroup", json!({"minMember": -1}), "spec.minMember"),
            (SCHEDULING, "PodGroup", json!({"networkTopology": {"mode": "near"}}), "mode"),
            (SCHEDULING, "Queue", json!({"weight": 0}), "spec.weight"),
            (SCHEDULING, "Queue", json!({"capability": {"cpu": []}}), "spec.capability.cpu"),
            (TOPOLOGY, "HyperNode", json!({"tier": -1}), "spec.tier"),
            (TOPOLOGY, "HyperNode", json!({"tier": 1, "members": [{"type": "Rack"}]}), "type"),
        ];
        for (version, kind, spec, field) in nonsense {
            let api = api(space, version, kind);
            let object = json!({
                "apiVersion": version, "kind": kind,
                "metadata": {"name": space.own("bad")}, "spec": spec,
            });
            let object: DynamicObject = serde_json::from_value(object).unwrap();
            let refused = api.create(&Default::default(), &object).await.unwrap_err();
            let kube::Error::Api(status) = refused else { panic!("{refused}") };
            assert_eq!(status.code, 422, "{kind}");
            assert!(status.message.contains(field), "{kind}: {}", status.message);
        }
    });
}

#[test]
fn short_names_and_columns_are_those_users_of_volcano_know() {
    with_shared("columns", async |space| {
        let pg = ["Name", "STATUS", "minMember", "RUNNINGS", "AGE", "QUEUE"];
        let hn = ["Name", "Tier", "TierName", "NodeCount", "Age"];
        for (path, short, columns) in [
            (format!("/apis/{SCHEDULING}"), ("podgroups", "pg"), &pg[..]),
            (format!("/apis/{SCHEDULING}"), ("queues", "q"), &["Name", "PARENT"]),
            (format!("/apis/{TOPOLOGY}"), ("hypernodes", "hn"), &hn),
        ] {
            let (plural, short) = short;
            let get = |path: &str| http::Request::get(path).body(Vec::new()).unwrap();
            let resources: Value = space.client().request(get(&path)).await.unwrap();
            let known = resources["resources"].as_array().unwrap();
            let resource = known.iter().find(|known| known["name"] == plural).unwrap();
            assert_eq!(resource["shortNames"][0], short);
            let mut request = get(&format!("{path}/{plural}"));
            let table = "application/json;as=Table;v=v1;g=meta.k8s.io".parse().unwrap();
            request.headers_mut().insert("accept", table);
            let table: Value = space.client().request(request).await.unwrap();
            let shown = table["columnDefinitions"].as_array().unwrap().iter();
            let shown: Vec<&str> = shown.map(|column| column["name"].as_str().unwrap()).collect();
            assert_eq!(shown, columns, "{plural}");
        }
    });
}
