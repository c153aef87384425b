//! KAI's objects for the scheduler to serve on a real API server.

use std::path::PathBuf;

use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use muster_core::config::Dialect;
use serde_json::{Value, json};

use crate::control_plane::{Options, Space, TEST_LABEL};
use crate::process::{Muster, pods};

/// Name of the scheduler that KAI's pods ask for.
pub const KAI_SCHEDULER: &str = "kai-scheduler";

/// KAI's own actions, with its plugins.
const CONFIG: &str = "actions: \"allocate, reclaim, preempt, stalegangeviction\"\n";

/// A control plane with KAI's kinds.
pub fn with_kai() -> Options {
    let definitions = muster::crds::definitions(Dialect::Kai);
    Options::default().further(definitions.iter().map(|one| one.object().clone()))
}

/// Starts the scheduler in KAI's place and waits until it is ready. `name` tells its log from others.
pub async fn start(program: &str, space: &Space<'_>, name: &str) -> Muster {
    let file: PathBuf = space.plane().folder().join("kai.yaml");
    std::fs::write(&file, CONFIG).expect("the folder can be written");
    let file = file.display().to_string();
    let flags = ["--scheduler-conf", &file, "--scheduler-name", KAI_SCHEDULER];
    let muster = Muster::start(program, space, name, &flags);
    muster.ready().await;
    muster
}

fn resource(kind: &str) -> ApiResource {
    let (group, version, plural) = match kind {
        "PodGroup" => ("scheduling.run.ai", "v2alpha2", "podgroups"),
        "Queue" => ("scheduling.run.ai", "v2", "queues"),
        _ => ("kai.scheduler", "v1alpha1", "topologies"),
    };
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// PodGroups of the test.
pub fn groups(space: &Space<'_>) -> Api<DynamicObject> {
    Api::namespaced_with(space.client(), space.namespace(), &resource("PodGroup"))
}

/// Queues or Topologies.
pub fn cluster_wide(space: &Space<'_>, kind: &str) -> Api<DynamicObject> {
    Api::all_with(space.client(), &resource(kind))
}

/// Makes an object of KAI's, whatever its spec says.
pub async fn make(space: &Space<'_>, kind: &str, name: &str, spec: Value) {
    let resource = resource(kind);
    let mut object = json!({
        "apiVersion": resource.api_version, "kind": kind, "metadata": {"name": name}, "spec": spec,
    });
    let api = if kind == "PodGroup" {
        object["metadata"]["namespace"] = space.namespace().into();
        groups(space)
    } else {
        cluster_wide(space, kind)
    };
    space.make(&api, object).await;
}

/// Makes a queue that is due so many cores; `more` is the rest of its spec.
pub async fn make_queue(space: &Space<'_>, name: &str, cores: i64, more: Value) {
    let open = json!({"quota": -1, "limit": -1, "overQuotaWeight": 1});
    let cpu = json!({"quota": cores * 1000, "limit": -1, "overQuotaWeight": 1});
    let mut spec = json!({"resources": {"cpu": cpu, "memory": open, "gpu": open}});
    for (key, value) in more.as_object().expect("the rest of a spec") {
        spec[key] = value.clone();
    }
    make(space, "Queue", name, spec).await;
}

/// Makes a gang that needs all its pods, which take one core each; `more` is the rest of its spec.
pub async fn make_gang(space: &Space<'_>, name: &str, queue: &str, members: usize, more: Value) {
    let mut spec = json!({"queue": queue, "minMember": members});
    for (key, value) in more.as_object().expect("the rest of a spec") {
        spec[key] = value.clone();
    }
    make(space, "PodGroup", name, spec).await;
    for at in 0..members {
        make_member(space, name, at).await;
    }
}

/// Makes a pod of a gang.
pub async fn make_member(space: &Space<'_>, gang: &str, at: usize) {
    let pod = json!({
        "metadata": {
            "name": format!("{gang}-{at}"),
            "namespace": space.namespace(),
            "annotations": {"pod-group-name": gang},
        },
        "spec": {
            "schedulerName": KAI_SCHEDULER,
            "nodeSelector": {TEST_LABEL: space.namespace()},
            "containers": [
                {"name": "main", "image": "none", "resources": {"requests": {"cpu": "1"}}},
            ],
        },
    });
    space.make(&pods(space), pod).await;
}

/// A PodGroup as it is now.
pub async fn group(space: &Space<'_>, name: &str) -> DynamicObject {
    groups(space).get(name).await.expect("the group is there")
}

/// One of KAI's annotations of a PodGroup.
pub async fn annotation(space: &Space<'_>, name: &str, key: &str) -> Option<String> {
    let annotations = group(space, name).await.metadata.annotations;
    annotations?.get(&format!("kai.scheduler/{key}")).cloned()
}

/// What a PodGroup says of where it could not be scheduled.
pub async fn conditions(space: &Space<'_>, name: &str) -> Vec<Value> {
    let status = group(space, name).await.data["status"].take();
    status["schedulingConditions"].as_array().cloned().unwrap_or_default()
}

/// Gives a PodGroup another node pool.
pub async fn move_to_pool(space: &Space<'_>, name: &str, pool: &str) {
    let patch = json!({"metadata": {"labels": {"kai.scheduler/node-pool": pool}}});
    let patched = groups(space).patch(name, &PatchParams::default(), &Patch::Merge(&patch)).await;
    patched.expect("the group is there");
}

/// Events about one object with that reason.
pub async fn events(space: &Space<'_>, name: &str, reason: &str) -> Vec<Event> {
    let events: Api<Event> = Api::namespaced(space.client(), space.namespace());
    let mut list = events.list(&ListParams::default()).await.expect("events can be listed").items;
    list.retain(|event| {
        event.involved_object.name.as_deref() == Some(name)
            && event.reason.as_deref() == Some(reason)
    });
    list
}

/// The condition by which a pod says that it has no node.
pub async fn pod_scheduled(space: &Space<'_>, name: &str) -> Option<(String, String)> {
    let pod = pods(space).get(name).await.expect("the pod is there");
    let conditions = pod.status?.conditions?;
    let said = conditions.into_iter().find(|entry| entry.type_ == "PodScheduled")?;
    (said.status == "False")
        .then(|| (said.reason.unwrap_or_default(), said.message.unwrap_or_default()))
}
