//! The cluster that is measured on: nodes of one size, pods of one size, gangs of one size.

use futures::{StreamExt, TryStreamExt, stream};
use http::Request;
use kube::Client;
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use crate::E2eError;
use crate::console::Step;

/// Pods of a processor each that a node has room for.
pub(crate) const PODS_PER_NODE: usize = 64;
/// The namespace of all pods.
pub(crate) const NAMESPACE: &str = "default";
/// Objects made at the same time.
const AT_ONCE: usize = 32;

/// How much there is of everything.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// Nodes.
    pub(crate) nodes: usize,
    /// Pods.
    pub(crate) pods: usize,
    /// Pods of a gang; one means no gangs.
    pub(crate) gang: usize,
}

/// Name of a node.
pub(crate) fn node_name(at: usize) -> String {
    format!("node-{at}")
}

/// Name of a pod of the backlog.
pub(crate) fn pod_name(at: usize) -> String {
    format!("pod-{at}")
}

/// A pod that asks for a processor.
pub(crate) fn pod(name: &str, scheduler: &str) -> Value {
    let requests = json!({"cpu": "1", "memory": "1Gi"});
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": NAMESPACE},
        "spec": {
            "schedulerName": scheduler,
            "containers": [
                {"name": "main", "image": "none", "resources": {"requests": requests}},
            ],
        },
    })
}

/// Makes an object at that path.
pub(crate) async fn post(client: &Client, path: &str, object: &Value) -> kube::Result<()> {
    send(client, http::Method::POST, path, object).await
}

/// Writes an object at that path; a patch is one to be merged.
pub(crate) async fn send(
    client: &Client,
    method: http::Method,
    path: &str,
    object: &Value,
) -> kube::Result<()> {
    let kind = match method {
        http::Method::PATCH => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = Request::builder().method(method).uri(path);
    let request = request.header(http::header::CONTENT_TYPE, kind);
    let request = request.body(object.to_string().into_bytes()).map_err(kube::Error::HttpError)?;
    client.request::<IgnoredAny>(request).await.map(|_| ())
}

/// Path of all pods.
pub(crate) fn pods_path() -> String {
    format!("/api/v1/namespaces/{NAMESPACE}/pods")
}

/// Makes all nodes.
pub(crate) async fn make_nodes(client: &Client, size: &Size) -> Result<(), E2eError> {
    let room = json!({"cpu": "64", "memory": "256Gi", "pods": "110"});
    many(size.nodes, "making nodes", async |at| {
        let name = node_name(at);
        let node = json!({
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
            "status": {
                "capacity": room, "allocatable": room,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        });
        post(client, "/api/v1/nodes", &node).await
    })
    .await
}

/// Makes all pods, and a PodGroup for each gang before them.
pub(crate) async fn make_pods(
    client: &Client,
    size: &Size,
    scheduler: &str,
) -> Result<(), E2eError> {
    let gang = |at: usize| format!("gang-{}", at / size.gang);
    if size.gang > 1 {
        let path = format!("/apis/scheduling.volcano.sh/v1beta1/namespaces/{NAMESPACE}/podgroups");
        many(size.pods.div_ceil(size.gang), "making PodGroups", async |at| {
            let members = size.gang.min(size.pods - at * size.gang);
            let group = json!({
                "apiVersion": "scheduling.volcano.sh/v1beta1",
                "kind": "PodGroup",
                "metadata": {"name": gang(at * size.gang), "namespace": NAMESPACE},
                "spec": {"minMember": members},
            });
            post(client, &path, &group).await
        })
        .await?;
    }
    let path = pods_path();
    many(size.pods, "making pods", async |at| {
        let mut pod = pod(&pod_name(at), scheduler);
        if size.gang > 1 {
            let annotations = json!({"scheduling.k8s.io/group-name": gang(at)});
            pod["metadata"]["annotations"] = annotations;
        }
        post(client, &path, &pod).await
    })
    .await
}

/// Makes all pods, on their nodes and running, as kubelets would have them.
pub(crate) async fn make_running_pods(client: &Client, size: &Size) -> Result<(), E2eError> {
    let path = pods_path();
    many(size.pods, "making running pods", async |at| {
        let name = pod_name(at);
        let mut pod = pod(&name, "muster");
        pod["spec"]["nodeName"] = node_name(at % size.nodes).into();
        post(client, &path, &pod).await?;
        let status = json!({"status": {
            "phase": "Running",
            "conditions": [{"type": "PodScheduled", "status": "True"}],
        }});
        send(client, http::Method::PATCH, &format!("{path}/{name}/status"), &status).await
    })
    .await
}

/// Makes objects, several at once.
async fn many(
    count: usize,
    doing: &'static str,
    make: impl AsyncFn(usize) -> kube::Result<()>,
) -> Result<(), E2eError> {
    let step = Step::begin(&format!("{doing} ({count})"), count);
    let calls = stream::iter(0..count).map(|at| make(at));
    let done = calls.buffer_unordered(AT_ONCE).inspect_ok(|()| step.next());
    done.try_collect::<()>().await.map_err(E2eError::call(doing))
}
