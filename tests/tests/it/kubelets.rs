//! The stand-in for kubelets, on a real API server.

use k8s_openapi::api::core::v1::{Node, Pod};
use kube::Api;
use kube::api::DeleteParams;
use muster_tests::control_plane::{Space, with_shared};
use muster_tests::kubelet::{Kubelets, Manner, NodeShape};
use muster_tests::process::{pods, until};
use serde_json::json;

fn node(name: String) -> NodeShape {
    let (labels, closed) = (Vec::new(), None);
    NodeShape { name, labels, closed, cpu: "4", memory: "8Gi", manner: Manner::Machine }
}

/// Makes a pod that is bound already.
async fn bound_pod(space: &Space<'_>, node: &str, name: &str, script: &str) {
    let container = json!({"name": "main", "image": "busybox", "command": ["sh", "-c", script]});
    let spec = json!({"nodeName": node, "restartPolicy": "Never", "containers": [container]});
    let metadata = json!({"name": name, "namespace": space.namespace()});
    space.make::<Pod>(&pods(space), json!({"metadata": metadata, "spec": spec})).await;
}

async fn until_phase(space: &Space<'_>, name: &str, phase: &str) {
    let what = format!("{name} is {phase}");
    until(&what, async || {
        let pod = pods(space).get(name).await.ok()?;
        (pod.status?.phase? == phase).then_some(())
    })
    .await;
}

#[test]
fn bound_pods_run_as_their_commands_say_and_go_when_they_are_deleted() {
    with_shared("kubelets", async |space| {
        let name = space.own("n0");
        let kubelets = Kubelets::register(space.client(), vec![node(name.clone())]).await;
        let kubelets = tokio::spawn(kubelets.expect("the node can be registered").run());
        bound_pod(space, &name, "fails", "sleep 1s && exit 3").await;
        bound_pod(space, &name, "works", "sleep 1").await;
        bound_pod(space, &name, "serves", "nginx").await;
        until_phase(space, "fails", "Failed").await;
        until_phase(space, "works", "Succeeded").await;
        until_phase(space, "serves", "Running").await;
        let brief = DeleteParams::default().grace_period(1);
        pods(space).delete("serves", &brief).await.expect("the pod is there");
        until("the pod is gone", async || {
            let found = pods(space).get_opt("serves").await.ok()?;
            found.is_none().then_some(())
        })
        .await;
        kubelets.abort();
        let nodes: Api<Node> = Api::all(space.client());
        nodes.delete(&name, &DeleteParams::default()).await.expect("the node is there");
    });
}
