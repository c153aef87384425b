//! What a real cluster does to a scheduler, and how it comes through.

use std::time::{Duration, Instant};

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Node;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::Api;
use muster_tests::control_plane::{Options, Space, User, with_own};
use muster_tests::faulty::FaultyProxy;
use muster_tests::process::{
    Muster, SCHEDULER, bound, check_room, make_gang, make_group, make_member, one_cpu, places,
    until, until_bound,
};
use serde_json::{Value, json};

use crate::PROGRAM;

fn big_node() -> Value {
    json!({"cpu": "100", "memory": "256Gi", "pods": "110"})
}

/// So many pods, several at a time.
async fn make_pods(space: &Space<'_>, prefix: &str, count: usize) {
    use futures::StreamExt;
    let made = futures::stream::iter(0..count).for_each_concurrent(16, async |at| {
        space.create_pod(&format!("{prefix}-{at}"), SCHEDULER, one_cpu()).await;
    });
    made.await;
}

#[test]
fn a_standby_takes_over_from_a_killed_leader_within_the_lease_and_two_seconds() {
    const LEASE: Duration = Duration::from_secs(5);
    const FLAGS: [&str; 4] = [
        "--leader-elect=true",
        "--leader-elect-lease-duration=5s",
        "--leader-elect-renew-deadline=4s",
        "--leader-elect-retry-period=1s",
    ];
    with_own("standby", Options::default(), async |space| {
        space.create_nodes(2, big_node()).await;
        let leader = Muster::start(PROGRAM, space, "leader", &FLAGS);
        leader.says("this process leads").await;
        let standby = Muster::start(PROGRAM, space, "standby", &FLAGS);
        standby.ready().await;
        make_gang(space, "first", 20, one_cpu()).await;
        until_bound(space, "first-", 20).await;
        let calls = standby.metric("muster_calls_total");
        assert!(calls < 0.5, "a standby makes no calls, not {calls}");
        let nodes_heard = standby.metric("muster_watch_events_total{kind=\"Node\"}");
        assert!(nodes_heard > 1.5, "it heard of the nodes");
        drop(leader);
        let killed = Instant::now();
        make_gang(space, "second", 20, one_cpu()).await;
        until_bound(space, "second-", 20).await;
        let took = killed.elapsed();
        assert!(took <= LEASE + Duration::from_secs(2), "it took {took:?}");
        let again = standby.metric("muster_watch_events_total{kind=\"Node\"}");
        assert!((again - nodes_heard).abs() < 0.5, "nodes were listed again");
        check_room(space, 100).await;
    });
}

#[test]
fn a_scheduler_asked_to_stop_finishes_its_calls_and_gives_the_lease_back() {
    with_own("stop", Options::default(), async |space| {
        space.create_nodes(4, big_node()).await;
        // Two calls at a time, so that many are still to be made when it is asked to stop.
        let flags = ["--leader-elect=true", "--calls-in-flight=2"];
        let mut muster = Muster::started(PROGRAM, space, &flags).await;
        muster.says("this process leads").await;
        make_group(space, "job", json!({"minMember": 300})).await;
        for at in 0..300 {
            make_member(space, "job", at, &one_cpu()).await;
        }
        until("a part is bound", async || (bound(space, "job-").await > 5).then_some(())).await;
        muster.server().terminate();
        muster.ended().await;
        let log = muster.server().log();
        assert!(log.contains("all calls have ended unfinished=0"), "{log}");
        assert_eq!(bound(space, "job-").await, 300, "a gang that was decided is bound whole");
        let leases: Api<Lease> = Api::namespaced(space.client(), "kube-system");
        let holder = leases.get("muster").await.unwrap().spec.unwrap().holder_identity;
        assert_eq!(holder.as_deref().unwrap_or_default(), "");
    });
}

#[test]
fn no_bind_is_lost_or_doubled_when_the_api_server_restarts_among_a_thousand() {
    with_own("restarted", Options::default(), async |space| {
        space.create_nodes(10, big_node()).await;
        make_pods(space, "p", 1000).await;
        let muster = Muster::start(PROGRAM, space, "muster", &["--calls-in-flight=8"]);
        until("some are bound", async || (bound(space, "p-").await > 50).then_some(())).await;
        space.plane().restart_api_server().await;
        until_bound(space, "p-", 1000).await;
        check_room(space, 100).await;
        let binds = muster.metric("muster_binds_total");
        let failures = muster.metric("muster_bind_failures_total");
        assert!((binds - 1000.0).abs() < 0.5, "{binds} bound, {failures} failed");
    });
}

#[test]
fn a_store_that_stops_for_ten_seconds_only_costs_time() {
    with_own("paused", Options::default(), async |space| {
        space.create_nodes(4, big_node()).await;
        make_pods(space, "p", 400).await;
        let muster = Muster::start(PROGRAM, space, "muster", &["--calls-in-flight=4"]);
        until("some are bound", async || (bound(space, "p-").await > 20).then_some(())).await;
        space.plane().etcd().pause();
        tokio::time::sleep(Duration::from_secs(10)).await;
        space.plane().etcd().resume();
        until_bound(space, "p-", 400).await;
        check_room(space, 100).await;
        assert_eq!(muster.get("/healthz").0, 200);
    });
}

#[test]
fn a_watch_whose_place_is_gone_begins_anew_and_misses_nothing() {
    with_own("compacted", Options::default().without_watch_cache(), async |space| {
        space.create_nodes(3, big_node()).await;
        let muster = Muster::started(PROGRAM, space, &[]).await;
        make_gang(space, "before", 10, one_cpu()).await;
        until_bound(space, "before-", 10).await;
        // While it hears nothing a node goes, another comes, and the store forgets how.
        muster.server().pause();
        let nodes: Api<Node> = Api::all(space.client());
        let gone = space.own("n0");
        nodes.delete(&gone, &kube::api::DeleteParams::default()).await.unwrap();
        make_gang(space, "meanwhile", 90, one_cpu()).await;
        space.plane().compact();
        space.plane().restart_api_server().await;
        space.plane().compact();
        muster.server().resume();
        until_bound(space, "meanwhile-", 90).await;
        let placed = places(space, "meanwhile-").await;
        assert!(placed.values().flatten().all(|node| *node != gone), "{placed:?}");
        check_room(space, 100).await;
        // What was sent before it was stopped is still read from the socket, so the watches with news may go on from
        // there. Those without are told 410, each when its connection is tried again.
        muster.says("beginning anew").await;
    });
}

#[test]
fn a_scheduler_that_may_read_nothing_says_so_and_begins_when_it_may() {
    with_own("forbidden", Options::default(), async |space| {
        space.create_nodes(1, big_node()).await;
        space.create_pod("waits", SCHEDULER, one_cpu()).await;
        let account = space.plane().kubeconfig(User::Somebody);
        let muster = Muster::start_as(PROGRAM, space, "muster", &account, &[]);
        muster.says("is forbidden").await;
        let (status, unread) = muster.get("/readyz");
        assert!(status == 503 && unread.contains("Pod"), "{status}: {unread}");
        assert_eq!(muster.get("/healthz").0, 200);
        let binding = json!({
            "metadata": {"name": "somebody"},
            "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin"},
            "subjects": [{"kind": "User", "name": User::Somebody.name()}],
        });
        space.make::<ClusterRoleBinding>(&Api::all(space.client()), binding).await;
        until_bound(space, "waits", 1).await;
        assert_eq!(muster.get("/readyz").0, 200);
    });
}

#[test]
fn three_failed_calls_of_ten_only_cost_time() {
    with_own("faulty", Options::default(), async |space| {
        space.create_nodes(4, big_node()).await;
        let proxy = FaultyProxy::open(space.plane().client(User::Admin).await).await;
        let muster = Muster::started(PROGRAM, space, &["--master", &proxy.url()]).await;
        make_gang(space, "a", 50, one_cpu()).await;
        make_gang(space, "b", 50, one_cpu()).await;
        make_pods(space, "p", 100).await;
        for (prefix, count) in [("a-", 50), ("b-", 50), ("p-", 100)] {
            until_bound(space, prefix, count).await;
        }
        check_room(space, 100).await;
        assert!(proxy.failed() > 40, "{} calls went wrong", proxy.failed());
        let failures = muster.metric("muster_bind_failures_total");
        assert!(failures < 0.5, "{failures} binds were given up");
    });
}

#[test]
fn a_settled_cluster_costs_the_api_server_nothing() {
    with_own("idle", Options::default(), async |space| {
        space.create_nodes(4, big_node()).await;
        let muster = Muster::started(PROGRAM, space, &[]).await;
        make_gang(space, "job", 50, one_cpu()).await;
        make_gang(space, "stuck", 500, one_cpu()).await;
        until_bound(space, "job-", 50).await;
        let counted = |muster: &Muster| muster.metric("muster_calls_total");
        // Whatever has to be told is told within a few seconds.
        let quiet = until("nothing is left to tell", async || {
            let before = counted(&muster);
            tokio::time::sleep(Duration::from_secs(3)).await;
            let after = counted(&muster);
            ((after - before).abs() < 0.5).then_some(after)
        });
        let quiet = quiet.await;
        assert!(quiet > 50.0, "calls are counted");
        tokio::time::sleep(Duration::from_secs(5)).await;
        assert!((counted(&muster) - quiet).abs() < 0.5);
    });
}
