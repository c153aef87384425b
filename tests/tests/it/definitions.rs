//! Our definitions of PodGroup, Queue and HyperNode: the chart has the ones our types give, and a
//! real API server takes objects as Volcano's controllers write them and loses nothing of them.

use std::path::Path;

use kube::api::{DynamicObject, ListParams, Patch, PatchParams, PostParams, WatchParams};
use muster::crds::definitions;
use muster_core::config::Dialect;
use muster_tests::control_plane::{Space, api_of, with_shared};
use muster_tests::source::{files, read};
use serde_json::{Value, json};

const SCHEDULING: &str = "scheduling.volcano.sh/v1beta1";
const TOPOLOGY: &str = "topology.volcano.sh/v1alpha1";

#[test]
fn the_chart_has_the_definitions_our_types_give() {
    let folder = Path::new("deploy/chart/crds");
    let files: Vec<_> = files(&["yaml"]).filter(|path| path.starts_with(folder)).collect();
    assert_eq!(files.len(), definitions(Dialect::Volcano).len());
    for definition in definitions(Dialect::Volcano) {
        let path = folder.join(format!("{}.yaml", definition.plural));
        assert!(
            read(&path) == definition.yaml(),
            "{} differs from the types; write it anew:\n  cargo run -- crds --write {}",
            path.display(),
            folder.display()
        );
    }
}

/// Makes the object, writes its status, and checks that both are read back as they were written.
async fn kept(space: &Space<'_>, mut object: Value) {
    let kind = object["kind"].clone();
    let name = object["metadata"]["name"].as_str().unwrap_or_default().to_owned();
    let api = api_of(space.client(), &object);
    let status = object["status"].take();
    space.make(&api, object.clone()).await;
    let patch = Patch::Merge(json!({"status": status}));
    let params = PatchParams::default();
    let patched = match kind.as_str() {
        Some("PodGroup") => api.patch(&name, &params, &patch).await,
        _ => api.patch_status(&name, &params, &patch).await,
    };
    patched.unwrap_or_else(|error| panic!("{kind}: {error}"));
    let found = api.get(&name).await.unwrap_or_else(|error| panic!("{kind}: {error}"));
    assert_eq!(found.data["spec"], object["spec"], "{kind}");
    assert_eq!(found.data["status"], status, "{kind}");
}

/// A gang as the controllers leave it, with fields of later versions.
fn pod_group(namespace: &str) -> Value {
    json!({
        "apiVersion": SCHEDULING, "kind": "PodGroup",
        "metadata": {"name": "podgroup-7c1d", "namespace": namespace},
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
    })
}

/// A queue as the controllers leave it, with fields only they read.
fn queue(name: &str) -> Value {
    json!({
        "apiVersion": SCHEDULING, "kind": "Queue",
        "metadata": {"name": name},
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
    })
}

/// A domain as its controller leaves it.
fn hyper_node(name: &str) -> Value {
    json!({
        "apiVersion": TOPOLOGY, "kind": "HyperNode",
        "metadata": {"name": name},
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
    })
}

#[test]
fn objects_of_volcano_s_controllers_are_kept_with_fields_we_do_not_know() {
    with_shared("kept", async |space| {
        kept(space, pod_group(space.namespace())).await;
        kept(space, queue(&space.own("q"))).await;
        kept(space, hyper_node(&space.own("rack"))).await;
    });
}

/// The status of a PodGroup is where Volcano's controllers write it.
#[test]
fn the_status_of_a_gang_is_written_with_the_rest_of_it() {
    with_shared("within", async |space| {
        let object = json!({
            "apiVersion": SCHEDULING, "kind": "PodGroup",
            "metadata": {"name": "g", "namespace": space.namespace()},
            "spec": {"minMember": 1}, "status": {"phase": "Pending"},
        });
        let groups = api_of(space.client(), &object);
        let made = space.make(&groups, object).await;
        assert_eq!(made.data["status"]["phase"], "Pending");
        let patch = Patch::Merge(json!({"status": {"phase": "Inqueue"}}));
        let params = PatchParams::default();
        let refused = groups.patch_status("g", &params, &patch).await.unwrap_err();
        assert!(matches!(refused, kube::Error::Api(status) if status.code == 404));
        let patched = groups.patch("g", &params, &patch).await.unwrap();
        assert_eq!(patched.data["status"]["phase"], "Inqueue");
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
            let mut object = json!({
                "apiVersion": version, "kind": kind,
                "metadata": {"name": space.own("bad")}, "spec": spec,
            });
            if kind == "PodGroup" {
                object["metadata"]["namespace"] = json!(space.namespace());
            }
            let api = api_of(space.client(), &object);
            let object: DynamicObject = serde_json::from_value(object).unwrap();
            let refused = api.create(&PostParams::default(), &object).await.unwrap_err();
            let kube::Error::Api(status) = refused else { panic!("{refused}") };
            assert_eq!(status.code, 422, "{kind}");
            assert!(status.message.contains(field), "{kind}: {}", status.message);
        }
    });
}

/// By this a watch knows that it must try another version: the server says so of a version it does
/// not serve, whatever else it serves of the group.
#[test]
fn a_version_that_is_not_served_is_not_found() {
    with_shared("versions", async |space| {
        let code = async |version: &str| {
            let object = json!({"apiVersion": format!("topology.volcano.sh/{version}"),
                "kind": "HyperNode", "metadata": {"name": "n"}});
            let api = api_of(space.client(), &object);
            let params = WatchParams::default().initial_events();
            match (api.list(&ListParams::default()).await, api.watch(&params, "0").await) {
                (Ok(_), Ok(_)) => 200,
                (Err(kube::Error::Api(list)), Err(kube::Error::Api(watch))) => {
                    assert_eq!(list.code, watch.code);
                    list.code
                }
                (list, watch) => panic!("{list:?}, {:?}", watch.err()),
            }
        };
        assert_eq!(code("v1alpha1").await, 200);
        assert_eq!(code("v1").await, 404);
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
