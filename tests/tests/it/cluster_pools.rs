//! KAI's pools of nodes and its `SchedulingShard` on a real API server.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Event, Node, Pod};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::DynamicObject;
use muster_tests::control_plane::{Space, api_of, with_own};
use muster_tests::kai::with_kai;
use muster_tests::process::{Muster, bound, one_cpu, pods, until, until_bound};
use serde_json::{Value, json};

use crate::PROGRAM;

/// Label of a pool, as KAI has it.
const POOL: &str = "kai.scheduler/node-pool";

/// What is always longer than a second's report takes.
const A_WHILE: Duration = Duration::from_secs(3);

/// The kind that has the configuration, as far as anybody here cares: any object of it is taken.
async fn define_shards(space: &Space<'_>) {
    let (group, version, kind) = ("kai.scheduler", "v1", "SchedulingShard");
    let definitions: Api<CustomResourceDefinition> = Api::all(space.client());
    let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let version_of = json!({
        "name": version, "served": true, "storage": true, "schema": {"openAPIV3Schema": schema},
    });
    let definition = json!({
        "metadata": {"name": "schedulingshards.kai.scheduler"},
        "spec": {
            "group": group, "scope": "Cluster", "versions": [version_of],
            "names": {"kind": kind, "plural": "schedulingshards", "singular": "schedulingshard"},
        },
    });
    space.make(&definitions, definition).await;
    let object = json!({"apiVersion": format!("{group}/{version}"), "kind": kind});
    let objects = api_of(space.client(), &object);
    let some = ListParams::default().limit(1);
    until(kind, async || objects.list(&some).await.ok().map(drop)).await;
}

async fn make(space: &Space<'_>, object: Value) {
    let api: Api<DynamicObject> = api_of(space.client(), &object);
    space.make(&api, object).await;
}

/// A node of that pool with two cpus.
async fn make_node(space: &Space<'_>, name: &str, pool: &str) {
    let room = json!({"cpu": "2", "memory": "4Gi", "pods": "10"});
    let node = json!({
        "metadata": {"name": name, "labels": {POOL: pool}},
        "status": {
            "capacity": room, "allocatable": room,
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    space.make::<Node>(&Api::all(space.client()), node).await;
}

async fn make_queue(space: &Space<'_>, name: &str, pool: &str) {
    let endless = json!({"quota": -1, "limit": -1});
    make(
        space,
        json!({
            "apiVersion": "scheduling.run.ai/v2", "kind": "Queue",
            "metadata": {"name": name, "labels": {POOL: pool}},
            "spec": {"resources": {"cpu": endless, "memory": endless, "gpu": endless}},
        }),
    )
    .await;
}

/// A PodGroup of that pool, in the queue of the same name, and its pods, which say nothing of a pool.
async fn make_gang(space: &Space<'_>, name: &str, pool: &str, (members, least): (usize, usize)) {
    make(
        space,
        json!({
            "apiVersion": "scheduling.run.ai/v2alpha2", "kind": "PodGroup",
            "metadata": {
                "name": name, "namespace": space.namespace(), "labels": {POOL: pool},
            },
            "spec": {"queue": pool, "minMember": least},
        }),
    )
    .await;
    for at in 0..members {
        let container = json!({
            "name": "main", "image": "none", "resources": {"requests": one_cpu()},
        });
        let pod = json!({
            "metadata": {
                "name": format!("{name}-{at}"), "namespace": space.namespace(),
                "annotations": {"pod-group-name": name},
            },
            "spec": {"schedulerName": "kai-scheduler", "containers": [container]},
        });
        space.make(&pods(space), pod).await;
    }
}

/// The scheduler of a pool, started as KAI's Deployment would start it.
fn start(space: &Space<'_>, pool: &str) -> Muster {
    let file = space.plane().folder().join("kai.conf");
    std::fs::write(&file, "actions: \"allocate, reclaim, preempt, stalegangeviction\"\n")
        .expect("the folder can be written");
    let (conf, value) =
        (format!("--scheduler-conf={}", file.display()), format!("--partition-label-value={pool}"));
    let flags = [
        conf.as_str(),
        "--scheduler-name=kai-scheduler",
        "--namespace=kai-scheduler",
        "--nodepool-label-key=kai.scheduler/node-pool",
        value.as_str(),
        "--resource-reservation-app-label=kai-resource-reservation",
        "--metrics-namespace=kai",
        "-use-scheduling-signatures=true",
        "--v=3",
    ];
    Muster::start(PROGRAM, space, &format!("pool-{pool}"), &flags)
}

async fn all_pods(space: &Space<'_>) -> BTreeMap<String, Pod> {
    let list = pods(space).list(&ListParams::default()).await.expect("pods can be listed");
    let named = |pod: Pod| Some((pod.metadata.name.clone()?, pod));
    list.items.into_iter().filter_map(named).collect()
}

/// What a pod says of itself by that condition.
fn condition(pod: &Pod, kind: &str) -> Option<String> {
    let conditions = pod.status.as_ref()?.conditions.as_ref()?;
    let found = conditions.iter().find(|held| held.type_ == kind)?;
    Some(found.message.clone().unwrap_or_default())
}

#[test]
fn two_pools_never_touch_each_other_s_nodes_and_pods() {
    with_own("pools", with_kai(), async |space| {
        for pool in ["a", "b"] {
            make_queue(space, pool, pool).await;
            for at in 0..2 {
                make_node(space, &format!("{pool}{at}"), pool).await;
            }
        }
        let schedulers = [start(space, "a"), start(space, "b")];
        for scheduler in &schedulers {
            scheduler.ready().await;
            scheduler.says("nothing of Muster's is in a namespace but the lease").await;
        }
        // Six pods for four places in each pool: what is left over must not overflow into the other.
        for pool in ["a", "b"] {
            make_gang(space, &format!("job-{pool}"), pool, (6, 1)).await;
        }
        until_bound(space, "job-", 8).await;
        until("those that wait say why", async || {
            let all = all_pods(space).await;
            let waits = |pod: &&Pod| pod.spec.as_ref().is_some_and(|spec| spec.node_name.is_none());
            let says_why = |pod: &Pod| condition(pod, "PodScheduled").is_some();
            let waiting: Vec<_> = all.values().filter(waits).collect();
            (waiting.len() == 4 && waiting.into_iter().all(says_why)).then_some(())
        })
        .await;
        tokio::time::sleep(A_WHILE).await;
        assert_eq!(bound(space, "job-").await, 8);
        for (name, pod) in all_pods(space).await {
            let pool = if name.starts_with("job-a") { "a" } else { "b" };
            if let Some(node) = pod.spec.as_ref().and_then(|spec| spec.node_name.as_deref()) {
                assert!(node.starts_with(pool), "{name} is on {node}");
                let label = pod.metadata.labels.as_ref().and_then(|labels| labels.get(POOL));
                assert_eq!(label.map(String::as_str), Some(pool), "{name}");
            } else {
                let why = condition(&pod, "PodScheduled").expect("it waits");
                assert!(why.contains("NotEnoughResources"), "{name}: {why}");
            }
        }
        // What the other pool has is nobody's to speak of: no PodGroup was missed, no node counted.
        let events = Api::<Event>::namespaced(space.client(), space.namespace());
        for event in events.list(&ListParams::default()).await.expect("events can be listed") {
            let message = event.message.unwrap_or_default();
            assert!(!message.contains("does not exist"), "{message}");
        }
        for scheduler in &schedulers {
            assert!(scheduler.metric("muster_binds_total") > 3.5, "four pods each");
            assert!(scheduler.metric("muster_binds_total") < 4.5, "four pods each");
        }
    });
}

/// The object that has the configuration.
fn shard(spec: Value) -> Value {
    json!({
        "apiVersion": "kai.scheduler/v1", "kind": "SchedulingShard",
        "metadata": {"name": "night"}, "spec": spec,
    })
}

async fn change_shard(space: &Space<'_>, spec: Value) {
    let object = shard(spec);
    let api: Api<DynamicObject> = api_of(space.client(), &object);
    let changed = api.patch("night", &PatchParams::default(), &Patch::Merge(&object)).await;
    changed.expect("the shard is there");
}

/// Lets a gang of two fall below its minimum, and gives what the pod that is left says of it.
async fn break_gang(space: &Space<'_>, name: &str) -> Option<String> {
    make_gang(space, name, "night", (2, 2)).await;
    until_bound(space, &format!("{name}-"), 2).await;
    for at in 0..2 {
        muster_tests::process::set_running(space, &format!("{name}-{at}")).await;
    }
    muster_tests::process::finish_off(space, &format!("{name}-0")).await;
    let left = format!("{name}-1");
    let pod = until("what is left of the gang is evicted", async || {
        let pod = pods(space).get(&left).await.expect("nobody ends it");
        pod.metadata.deletion_timestamp.is_some().then_some(pod)
    })
    .await;
    muster_tests::process::finish_off(space, &left).await;
    condition(&pod, "DisruptionTarget")
}

#[test]
fn a_scheduling_shard_is_the_configuration_and_its_changes_take_effect() {
    with_own("shard", with_kai(), async |space| {
        define_shards(space).await;
        make_queue(space, "night", "night").await;
        make_node(space, "night0", "night").await;
        make_node(space, "other0", "other").await;
        let flags = ["--scheduling-shard=night", "--scheduler-name=kai-scheduler"];
        let mut early = Muster::start(PROGRAM, space, "early", &flags);
        early.ended().await;
        let log = early.server().log();
        assert!(log.contains("the SchedulingShard night cannot be read"), "{log}");

        let terms = json!({"default-staleness-grace-period": "0s"});
        make(space, shard(json!({"partitionLabelValue": "night", "args": terms}))).await;
        let muster = Muster::start(PROGRAM, space, "muster", &flags);
        muster.ready().await;
        assert_eq!(break_gang(space, "quiet").await, None);

        // What is not valid changes nothing and is said by its field.
        change_shard(space, json!({"plugins": {"proportions": {}}})).await;
        muster.says("did you mean `proportion`?").await;
        let terms = json!({"update-pod-eviction-condition": "true", "detailed-fit-errors": "true"});
        change_shard(space, json!({"plugins": null, "args": terms})).await;
        muster.says("a new configuration is in force").await;
        let why = break_gang(space, "loud").await.expect("it says why it has to go");
        assert!(why.contains("run with 1 of the 2 pods it needs"), "{why}");

        // Nodes are gone through one by one, and only our own.
        make_gang(space, "large", "night", (3, 3)).await;
        let why = until("it says why it waits", async || {
            condition(all_pods(space).await.get("large-0")?, "PodScheduled")
        })
        .await;
        assert!(why.contains("needs room for 3 pods"), "{why}");
        assert!(why.contains("node by node") && why.contains("night0: cpu "), "{why}");
        assert!(!why.contains("other0"), "{why}");
        assert_eq!(bound(space, "").await, 0);
    });
}
