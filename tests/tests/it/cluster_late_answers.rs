//! A server that answers late, then 401, then 500: no room is given away, and nobody else has to leave,
//! while a call may have been carried out.
//!
//! All the while nothing is heard of pods, so that only the calls themselves can tell.

use std::time::Duration;

use http::{Method, StatusCode};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use muster_tests::control_plane::{Options, Space, TEST_LABEL, User, with_own};
use muster_tests::faulty::{Fault, FaultyProxy, Script};
use muster_tests::process::{
    Muster, PREEMPT, SCHEDULER, check_room, finish_off, make_priority_classes, one_cpu, places,
    pods, set_running, until, until_bound,
};
use serde_json::{Value, json};

use crate::PROGRAM;

/// Label of the node of a case.
const CASE: &str = "muster.sh/case";
/// Label the pods that are after somebody's room wait for.
const OPEN: &str = "muster.sh/open";

/// One way for a first attempt to go wrong. The scheduler waits 15 seconds for an answer.
struct Case {
    name: &'static str,
    first: Fault,
    /// How often the server says 500 after that.
    errors: usize,
}

const CASES: [Case; 4] = [
    // Carried out, and nobody says so.
    Case { name: "answered-late", first: Fault::AnsweredLate(Duration::from_secs(20)), errors: 5 },
    Case { name: "cut-off", first: Fault::CutOff, errors: 5 },
    // Carried out long after the caller has gone, while every other attempt fails.
    Case {
        name: "delivered-late",
        first: Fault::DeliveredLate(Duration::from_secs(30)),
        errors: 50,
    },
    // Never carried out: it has to be made again.
    Case { name: "swallowed", first: Fault::Swallowed, errors: 5 },
];

/// What goes wrong with the call of every case, and with the question that follows it.
fn script(call: impl Fn(&Case) -> (Method, String), object: impl Fn(&Case) -> String) -> Script {
    let unauthorized = || vec![Fault::Refused(StatusCode::UNAUTHORIZED); 5];
    let server_error = |count| vec![Fault::Refused(StatusCode::INTERNAL_SERVER_ERROR); count];
    CASES.iter().fold(Script::default(), |script, case| {
        let (method, path) = call(case);
        let calls = [vec![case.first], unauthorized(), server_error(case.errors)].concat();
        let questions = [unauthorized(), server_error(5)].concat();
        script.fail(method, &path, calls).fail(Method::GET, &object(case), questions)
    })
}

/// Makes a node for each case, with room for one pod.
async fn make_nodes(space: &Space<'_>) {
    let nodes: Api<Node> = Api::all(space.client());
    for case in &CASES {
        let labels = json!({TEST_LABEL: space.namespace(), CASE: case.name});
        let room = json!({"cpu": "1", "memory": "16Gi", "pods": "10"});
        let node = json!({
            "metadata": {"name": space.own(case.name), "labels": labels},
            "status": {
                "capacity": room, "allocatable": room,
                "conditions": [{"type": "Ready", "status": "True"}],
            },
        });
        space.make(&nodes, node).await;
    }
}

/// Makes a pod that takes all the room of the case's node; more fields of its spec may be given.
async fn make_pod(space: &Space<'_>, name: &str, class: &str, more: Value) {
    let mut spec = json!({
        "schedulerName": SCHEDULER,
        "priorityClassName": class,
        "containers": [{"name": "main", "image": "none", "resources": {"requests": one_cpu()}}],
    });
    for (field, value) in more.as_object().expect("fields of a spec") {
        spec[field] = value.clone();
    }
    let metadata = json!({"name": name, "namespace": space.namespace()});
    space.make(&pods(space), json!({"metadata": metadata, "spec": spec})).await;
}

#[test]
fn no_room_is_given_away_while_a_bind_may_have_happened() {
    with_own("late-binds", Options::default(), async |space| {
        make_priority_classes(space).await;
        make_nodes(space).await;
        for Case { name, .. } in &CASES {
            make_pod(space, name, "low", json!({"nodeSelector": {CASE: name}})).await;
            // It goes first, but may use the node only when the bind of the other one is under way.
            let selector = json!({"nodeSelector": {CASE: name, OPEN: "yes"}});
            make_pod(space, &format!("rival-{name}"), "high", selector).await;
        }
        let binding = |case: &Case| (Method::POST, format!("/pods/{}/binding", case.name));
        let script = script(binding, |case| format!("/pods/{}", case.name));
        let proxy = FaultyProxy::scripted(space.plane().client(User::Admin).await, script).await;
        let muster = Muster::started(PROGRAM, space, &["--master", &proxy.url()]).await;
        for case in &CASES {
            let (method, path) = binding(case);
            let begun = async || (proxy.seen(&method, &path) > 0).then_some(());
            until("the bind is under way", begun).await;
            open(space, case).await;
        }
        let known = async || (muster.metric("muster_binds_total") > 3.5).then_some(());
        until("the outcome of all binds is known", known).await;
        assert_eq!(places(space, "rival-").await.values().flatten().count(), 0);
        check_room(space, 1).await;
        let failures = muster.metric("muster_bind_failures_total");
        assert!(failures < 0.5, "{failures} binds were given up");
        proxy.release_pods();
        for case in &CASES {
            finish_off(space, case.name).await;
        }
        until_bound(space, "rival-", CASES.len()).await;
    });
}

/// Lets the pod that waits for it use the node of the case.
async fn open(space: &Space<'_>, case: &Case) {
    let nodes: Api<Node> = Api::all(space.client());
    let label = json!({"metadata": {"labels": {OPEN: "yes"}}});
    let patch = Patch::Merge(&label);
    let patched = nodes.patch(&space.own(case.name), &PatchParams::default(), &patch).await;
    patched.expect("the node is there");
}

/// Makes a pod that runs on the node of the case.
async fn make_running(space: &Space<'_>, case: &Case) {
    make_pod(space, case.name, "low", json!({"nodeName": space.own(case.name)})).await;
    set_running(space, case.name).await;
}

/// How many pods were asked to leave.
async fn leaving(space: &Space<'_>) -> usize {
    let all = pods(space).list(&ListParams::default()).await.expect("pods can be listed");
    all.items.iter().filter(|pod| pod.metadata.deletion_timestamp.is_some()).count()
}

#[test]
fn room_stays_held_while_an_eviction_may_have_happened() {
    with_own("late-evictions", Options::default(), async |space| {
        make_priority_classes(space).await;
        make_nodes(space).await;
        for case in &CASES {
            make_running(space, case).await;
            let selector = json!({"nodeSelector": {CASE: case.name}});
            make_pod(space, &format!("high-{}", case.name), "high", selector).await;
        }
        let object = |case: &Case| format!("/pods/{}", case.name);
        let script = script(|case| (Method::DELETE, object(case)), object);
        let proxy = FaultyProxy::scripted(space.plane().client(User::Admin).await, script).await;
        let file = space.plane().folder().join("muster.conf");
        std::fs::write(&file, PREEMPT).expect("the folder can be written");
        let path = file.display().to_string();
        let flags = ["--master", &proxy.url(), "--scheduler-conf", &path];
        let muster = Muster::started(PROGRAM, space, &flags).await;
        let known = async || (muster.metric("muster_evictions_total") > 3.5).then_some(());
        until("the outcome of all evictions is known", known).await;
        assert_eq!(leaving(space).await, CASES.len());
        let failures = muster.metric("muster_evict_failures_total");
        assert!(failures < 0.5, "{failures} evictions were given up");
        let decided = muster.metric("muster_evictions_decided_total");
        assert!((decided - 4.0).abs() < 0.5, "{decided} evictions were decided");
        proxy.release_pods();
        for case in &CASES {
            finish_off(space, case.name).await;
        }
        until_bound(space, "high-", CASES.len()).await;
    });
}
