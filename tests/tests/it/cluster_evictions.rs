//! Evictions on a real API server: room is made once, held for whom it was made, and survives a crash.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use muster_tests::control_plane::{Options, Space, with_own};
use muster_tests::process::{
    Muster, PREEMPT, bound, finish_off, make_priority_classes, make_ranked_gang, pods, set_running,
    until, until_bound,
};
use serde_json::json;

use crate::PROGRAM;

async fn list(space: &Space<'_>) -> Vec<Pod> {
    pods(space).list(&ListParams::default()).await.expect("pods can be listed").items
}

fn name_of(pod: &Pod) -> String {
    pod.metadata.name.clone().unwrap_or_default()
}

/// Names of pods that were asked to leave.
async fn leaving(space: &Space<'_>) -> Vec<String> {
    let all = list(space).await;
    all.iter().filter(|pod| pod.metadata.deletion_timestamp.is_some()).map(name_of).collect()
}

/// Pods with room held for them, and the node.
async fn held(space: &Space<'_>) -> Vec<(String, String)> {
    let all = list(space).await.into_iter().filter_map(|pod| {
        let node = pod.status.clone()?.nominated_node_name?;
        Some((name_of(&pod), node))
    });
    all.collect()
}

/// Two full nodes of two low pods each, and a high gang of so many pods that each want half a node.
async fn crowded(space: &Space<'_>, high: usize) -> Muster {
    make_priority_classes(space).await;
    space.create_nodes(2, json!({"cpu": "8", "memory": "16Gi", "pods": "10"})).await;
    let muster = start(space);
    muster.ready().await;
    make_ranked_gang(space, "low", (4, 1), "low").await;
    until_bound(space, "low-", 4).await;
    for at in 0..4 {
        set_running(space, &format!("low-{at}")).await;
    }
    make_ranked_gang(space, "high", (high, high), "high").await;
    muster
}

fn start(space: &Space<'_>) -> Muster {
    let file = space.plane().folder().join("muster.conf");
    std::fs::write(&file, PREEMPT).expect("the folder can be written");
    let path = file.display().to_string();
    Muster::start(PROGRAM, space, "muster", &["--scheduler-conf", &path])
}

/// Waits until so many victims were asked to leave, and no more.
async fn until_leaving(space: &Space<'_>, victims: usize) -> Vec<String> {
    until("victims are asked to leave", async || {
        let leaving = leaving(space).await;
        assert!(leaving.len() <= victims, "{victims} are enough: {leaving:?}");
        (leaving.len() == victims).then_some(leaving)
    })
    .await
}

#[test]
fn victims_leave_and_the_gang_they_were_evicted_for_gets_their_places() {
    with_own("preempt", Options::default(), async |space| {
        let muster = crowded(space, 2).await;
        let victims = until_leaving(space, 2).await;
        let mut freed = Vec::new();
        for victim in &victims {
            let pod = pods(space).get(victim).await.unwrap();
            let conditions = pod.status.unwrap().conditions.unwrap_or_default();
            let target = conditions.iter().find(|entry| entry.type_ == "DisruptionTarget");
            let target = target.expect("it says why it has to go");
            assert_eq!(target.reason.as_deref(), Some("PreemptionByScheduler"));
            freed.push(pod.spec.unwrap().node_name.unwrap());
        }
        let room = until("room is held for both", async || {
            let held = held(space).await;
            (held.len() == 2).then_some(held)
        });
        let room = room.await;
        assert!(room.iter().all(|(pod, _)| pod.starts_with("high-")), "{room:?}");
        let mut nodes: Vec<String> = room.into_iter().map(|entry| entry.1).collect();
        nodes.sort();
        freed.sort();
        assert_eq!(nodes, freed);
        finish_off(space, &victims[0]).await;
        // Half of the room is no room for a gang.
        tokio::time::sleep(std::time::Duration::from_secs(2)).await;
        assert_eq!(bound(space, "high-").await, 0, "nothing is bound before all the room is free");
        finish_off(space, &victims[1]).await;
        until_bound(space, "high-", 2).await;
        assert_eq!(leaving(space).await, Vec::<String>::new());
        let told =
            |event: &str| muster.metric(&format!("muster_reservations_total{{event=\"{event}\"}}"));
        until("the metrics tell of both reservations", async || {
            let counts = [told("made"), told("confirmed")];
            counts.iter().all(|count| (count - 2.0).abs() < 0.5).then_some(())
        })
        .await;
    });
}

#[test]
fn a_scheduler_killed_after_evictions_evicts_nobody_else() {
    with_own("killed", Options::default(), async |space| {
        let muster = crowded(space, 2).await;
        let victims = until_leaving(space, 2).await;
        until("room is held", async || (held(space).await.len() == 2).then_some(())).await;
        drop(muster);
        let muster = start(space);
        muster.ready().await;
        // Long enough for several cycles.
        tokio::time::sleep(std::time::Duration::from_secs(3)).await;
        assert_eq!(leaving(space).await, victims);
        for victim in &victims {
            finish_off(space, victim).await;
        }
        until_bound(space, "high-", 2).await;
        assert_eq!(leaving(space).await, Vec::<String>::new());
        assert_eq!(bound(space, "low-").await, 2);
    });
}

#[test]
fn a_disruption_budget_the_eviction_api_minds_keeps_its_pods() {
    with_own("budget", Options::default(), async |space| {
        use k8s_openapi::api::policy::v1::PodDisruptionBudget;
        let budget = json!({
            "metadata": {"name": "keep", "namespace": space.namespace()},
            "spec": {"minAvailable": 4, "selector": {}},
        });
        let budgets: Api<PodDisruptionBudget> = Api::namespaced(space.client(), space.namespace());
        space.make(&budgets, budget).await;
        let muster = crowded(space, 1).await;
        let victims = until_leaving(space, 1).await;
        drop(muster);
        finish_off(space, &victims[0]).await;
        let conf = format!("{PREEMPT}schedule: {{eviction: {{mode: evict}}}}\n");
        let file = space.plane().folder().join("evict.conf");
        std::fs::write(&file, conf).unwrap();
        let path = file.display().to_string();
        let muster = Muster::start(PROGRAM, space, "evict", &["--scheduler-conf", &path]);
        muster.ready().await;
        until_bound(space, "high-", 1).await;
        make_ranked_gang(space, "higher", (1, 1), "high").await;
        let refused = async || (muster.metric("muster_evict_failures_total") > 0.0).then_some(());
        until("the Eviction API says no", refused).await;
        assert_eq!(leaving(space).await, Vec::<String>::new());
    });
}
