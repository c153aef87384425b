//! A dry run on a real API server: everything is decided, and nothing written.

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Event;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::Api;
use kube::api::{ListParams, ObjectMeta, PostParams};
use muster_tests::control_plane::{Options, Space, User, with_own};
use muster_tests::process::{
    Muster, bound, make_gang, one_cpu, places, pod_groups, pods, until, until_bound,
};
use serde_json::{Value, json};

use crate::PROGRAM;

/// Lets a user read everything and change nothing.
async fn let_read(space: &Space<'_>, user: User) {
    let role = json!({
        "metadata": {"name": "reader"},
        "rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["get", "list", "watch"]}],
    });
    space.make(&Api::<ClusterRole>::all(space.client()), role).await;
    let binding = json!({
        "metadata": {"name": "reader"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "reader"},
        "subjects": [
            {"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user.name()},
        ],
    });
    space.make(&Api::<ClusterRoleBinding>::all(space.client()), binding).await;
}

/// Binds a pod, as the scheduler does that is in force.
async fn bind(space: &Space<'_>, pod: &str, node: &str) {
    let binding = json!({"metadata": {"name": pod}, "target": {"kind": "Node", "name": node}});
    let post = PostParams::default();
    let made = pods(space).create_subresource::<_, Value>("binding", pod, &post, &binding).await;
    made.expect("the pod can be bound");
}

#[test]
fn a_dry_run_says_what_it_would_do_and_needs_no_right_but_to_read() {
    with_own("dry", Options::default(), async |space| {
        space.create_nodes(2, json!({"cpu": "2", "memory": "4Gi", "pods": "10"})).await;
        let_read(space, User::Somebody).await;
        let reader = space.plane().kubeconfig(User::Somebody);
        let flags = ["--dry-run", "--leader-elect=true", "--log-level", "muster=debug"];
        let muster = Muster::start_as(PROGRAM, space, "muster", &reader, &flags);
        muster.ready().await;
        make_gang(space, "fits", 3, one_cpu()).await;
        make_gang(space, "waits", 5, one_cpu()).await;
        let said = |words: &str| muster.server().log().matches(words).count();
        until("three binds are said", async || (said("would bind") == 3).then_some(())).await;
        muster.says("would say why it waits").await;
        let decided = muster.metric("muster_decisions_total");
        assert!((decided - 3.0).abs() < 0.5, "{decided} decisions");

        // Reports are written a second after they are due at the latest; by then none must be.
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        assert_eq!(bound(space, "").await, 0);
        for group in pod_groups(space).list(&ListParams::default()).await.unwrap() {
            assert_eq!(group.data["status"], json!(null), "{:?}", group.metadata.name);
        }
        let all = ListParams::default();
        let events = Api::<Event>::namespaced(space.client(), space.namespace());
        assert_eq!(events.list(&all).await.unwrap().items.len(), 0);
        let leases = Api::<Lease>::namespaced(space.client(), "kube-system").list(&all).await;
        let ours = |meta: &ObjectMeta| meta.name.as_deref() == Some("muster");
        assert!(!leases.unwrap().iter().any(|lease| ours(&lease.metadata)), "there is a lease");
        assert!(muster.metric("muster_calls_total") < 0.5);

        // What the scheduler in force does is what holds, wherever it puts the pods.
        let nodes: Vec<String> = (0..2).map(|at| space.own(&format!("n{at}"))).collect();
        for at in 0..2 {
            bind(space, &format!("fits-{at}"), &nodes[0]).await;
        }
        until_bound(space, "fits-", 2).await;
        make_gang(space, "late", 1, one_cpu()).await;
        until("the next one is said", async || (said("would bind") == 4).then_some(())).await;
        let log = muster.server().log();
        let late = log.lines().find(|line| line.contains("/late-0 ")).expect("it was said");
        assert!(late.contains(&nodes[1]), "{late}: {:?}", places(space, "").await);
    });
}
