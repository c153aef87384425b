//! KAI's objects on a real API server: what is written into them, and that a restart forgets none of it.

use std::time::Duration;

use k8s_openapi::jiff::Timestamp;
use kube::api::DeleteParams;
use muster_tests::control_plane::{Space, with_own};
use muster_tests::kai::{
    self, annotation, conditions, events, group, make_gang, make_member, make_queue, move_to_pool,
    pod_scheduled, with_kai,
};
use muster_tests::process::{bound, finish_off, places, pods, until, until_bound};
use serde_json::{Value, json};

use crate::PROGRAM;

/// Room for so many pods of one core.
fn cores(count: usize) -> Value {
    json!({"cpu": count.to_string(), "memory": "16Gi", "pods": "110"})
}

/// The time an annotation tells.
fn time(text: &str) -> Timestamp {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// Is the pod on its way out?
async fn leaves(space: &Space<'_>, pod: &str) -> bool {
    let found = pods(space).get_opt(pod).await.expect("pods can be read");
    found.is_none_or(|pod| pod.metadata.deletion_timestamp.is_some())
}

/// Takes a pod away as its controller does, without a scheduler.
async fn remove(space: &Space<'_>, pod: &str) {
    let now = DeleteParams::default().grace_period(0);
    pods(space).delete(pod, &now).await.expect("the pod is there");
}

#[test]
fn a_gang_of_kai_s_says_why_it_waits_and_when_it_started() {
    with_own("kai-words", with_kai(), async |space| {
        space.create_nodes(1, cores(2)).await;
        make_queue(space, "q", 8, json!({})).await;
        let muster = kai::start(PROGRAM, space, "first").await;
        make_gang(space, "big", "q", 3, json!({})).await;
        make_gang(space, "quiet", "q", 3, json!({"markUnschedulable": false})).await;
        let told = until("the gang says why it waits", async || {
            let told = conditions(space, "big").await;
            (!told.is_empty()).then_some(told)
        });
        let [told] = &told.await[..] else { panic!("one node pool, one condition") };
        assert_eq!(told["type"], "UnschedulableOnNodePool");
        assert_eq!((&told["nodePool"], &told["status"]), (&json!("default"), &json!("True")));
        assert_eq!(
            (&told["reason"], &told["transitionID"]),
            (&json!("Unschedulable"), &json!("1"))
        );
        assert_eq!(told["reasons"][0]["reason"], "PodSchedulingErrors");
        let message = told["message"].as_str().unwrap();
        assert!(message.starts_with("NeverFits: needs room for 3 pods"), "{message}");
        let said = until("its pods say so", async || pod_scheduled(space, "big-0").await).await;
        assert_eq!(said.0, "Unschedulable");
        let types = until("events of pod and gang say so", async || {
            let pod = events(space, "big-0", "Unschedulable").await;
            let gang = events(space, "big", "Unschedulable").await;
            Some([pod.first()?.type_.clone()?, gang.first()?.type_.clone()?])
        });
        assert_eq!(types.await, ["Warning", "Normal"]);
        until("a quiet gang's pods say it by events", async || {
            (!events(space, "quiet-0", "Unschedulable").await.is_empty()).then_some(())
        })
        .await;
        assert_eq!(pod_scheduled(space, "quiet-0").await, None);
        assert_eq!(conditions(space, "quiet").await.len(), 1, "the gang itself is not quiet");
        let version = group(space, "big").await.metadata.resource_version;
        drop(muster);
        let muster = kai::start(PROGRAM, space, "second").await;
        tokio::time::sleep(Duration::from_secs(4)).await;
        let calls = muster.metric("muster_calls_total");
        tokio::time::sleep(Duration::from_secs(3)).await;
        let later = muster.metric("muster_calls_total");
        assert!((later - calls).abs() < 0.5, "a settled cluster costs no call");
        let found = group(space, "big").await.metadata.resource_version;
        assert_eq!(found, version, "what the object says is not written again");
        space.create_nodes_named("more", 1, cores(4)).await;
        until_bound(space, "big-", 3).await;
        let started = until("the gang says when it started", async || {
            annotation(space, "big", "last-start-timestamp").await
        });
        let age = Timestamp::now().duration_since(time(&started.await));
        assert!(age.as_secs() < 60, "{age:?}");
        assert_eq!(conditions(space, "big").await.len(), 1, "as in KAI it stays");
        until("each pod has its event", async || {
            (!events(space, "big-2", "Scheduled").await.is_empty()).then_some(())
        })
        .await;
        let told = events(space, "big", "Unschedulable").await;
        assert_eq!(told.len(), 1, "a restart says nothing again: {told:?}");
        assert!(muster.metric("kai_podgroups_scheduled_by_action") > 0.5);
        assert!(muster.metric("kai_queue_fair_share_cpu_cores{queue_name=\"q\"}") > 2.5);
    });
}

#[test]
fn a_gang_to_be_tried_once_waits_for_another_node_pool() {
    with_own("kai-once", with_kai(), async |space| {
        space.create_nodes(1, cores(2)).await;
        make_queue(space, "q", 8, json!({})).await;
        let muster = kai::start(PROGRAM, space, "first").await;
        make_gang(space, "once", "q", 3, json!({"schedulingBackoff": 1})).await;
        let told = until("it failed", async || {
            let told = conditions(space, "once").await;
            told.first()?["message"].as_str().map(str::to_owned)
        });
        let told = told.await;
        assert!(told.contains("Node-Pool 'default': "), "{told}");
        drop(muster);
        let _muster = kai::start(PROGRAM, space, "second").await;
        space.create_nodes_named("more", 1, cores(8)).await;
        // Whoever may be tried is: this one came later and has its place.
        make_gang(space, "later", "q", 3, json!({})).await;
        until_bound(space, "later-", 3).await;
        assert_eq!(bound(space, "once-").await, 0, "it was tried once in that pool");
        move_to_pool(space, "once", "other").await;
        until_bound(space, "once-", 3).await;
    });
}

#[test]
fn a_queue_takes_back_what_it_is_due_when_others_have_run_long_enough() {
    with_own("kai-reclaim", with_kai(), async |space| {
        space.create_nodes(1, cores(4)).await;
        make_queue(space, "rich", 2, json!({"reclaimMinRuntime": "20s"})).await;
        make_queue(space, "poor", 2, json!({})).await;
        let muster = kai::start(PROGRAM, space, "first").await;
        for gang in ["a", "b"] {
            make_gang(space, gang, "rich", 2, json!({})).await;
            until_bound(space, &format!("{gang}-"), 2).await;
        }
        let mut starts = Vec::new();
        for gang in ["a", "b"] {
            let started = until("the gang says when it started", async || {
                annotation(space, gang, "last-start-timestamp").await
            });
            starts.push(time(&started.await));
        }
        make_gang(space, "taker", "poor", 2, json!({})).await;
        until("the taker waits", async || pod_scheduled(space, "taker-0").await).await;
        drop(muster);
        let muster = kai::start(PROGRAM, space, "second").await;
        let evicted = until("a gang makes way", async || {
            for gang in ["a", "b"] {
                if leaves(space, &format!("{gang}-0")).await {
                    return Some(gang);
                }
            }
            None
        });
        let evicted = evicted.await;
        let run = Timestamp::now().duration_since(starts[usize::from(evicted == "b")]);
        assert!(run.as_secs() >= 20, "it was left alone for {run:?} only");
        drop(muster);
        let at = until("the gang says when it was evicted", async || {
            annotation(space, evicted, "last-eviction-timestamp").await
        });
        assert!(time(&at.await) >= starts[0]);
        let _muster = kai::start(PROGRAM, space, "third").await;
        for at in 0..2 {
            finish_off(space, &format!("{evicted}-{at}")).await;
        }
        until_bound(space, "taker-", 2).await;
        let other = if evicted == "a" { "b-" } else { "a-" };
        assert_eq!(bound(space, other).await, 2, "its queue keeps what it is due");
    });
}

#[test]
fn an_eviction_is_told_of_the_gang_with_who_gains() {
    with_own("kai-evict", with_kai(), async |space| {
        space.create_nodes(1, cores(4)).await;
        make_queue(space, "rich", 2, json!({})).await;
        make_queue(space, "poor", 2, json!({})).await;
        let muster = kai::start(PROGRAM, space, "muster").await;
        make_gang(space, "a", "rich", 2, json!({})).await;
        make_gang(space, "b", "rich", 2, json!({})).await;
        until_bound(space, "a-", 2).await;
        until_bound(space, "b-", 2).await;
        make_gang(space, "taker", "poor", 2, json!({})).await;
        let told = until("an event of the gang tells it", async || {
            let mut told = events(space, "a", "Evict").await;
            told.extend(events(space, "b", "Evict").await);
            told.pop()
        });
        let told = told.await;
        assert_eq!(told.type_.as_deref(), Some("Normal"));
        assert_eq!(told.involved_object.api_version.as_deref(), Some("scheduling.run.ai/v2alpha2"));
        let notes = told.metadata.annotations.unwrap_or_default();
        let note = |key: &str| notes.get(key).cloned().unwrap_or_default();
        assert_eq!(note("num-evicted-pods"), "2");
        assert_eq!(note("evictor-action-type"), "reclaim");
        assert_eq!(note("evictor-pod-group-name"), "taker");
        assert_eq!(note("evictor-pod-group-namespace"), space.namespace());
        until("room is held for the taker, and said", async || {
            (!events(space, "taker-0", "Pipelined").await.is_empty()).then_some(())
        })
        .await;
        assert!((muster.metric("kai_pod_group_evicted_pods_total") - 2.0).abs() < 0.5);
    });
}

#[test]
fn a_stale_gang_is_evicted_when_its_grace_is_over_whatever_restarts() {
    with_own("kai-stale", with_kai(), async |space| {
        space.create_nodes(1, cores(8)).await;
        make_queue(space, "q", 8, json!({})).await;
        let muster = kai::start(PROGRAM, space, "first").await;
        let grace = json!({"stalenessGracePeriod": "20s"});
        make_gang(space, "broken", "q", 2, grace.clone()).await;
        make_gang(space, "mended", "q", 2, grace).await;
        until_bound(space, "broken-", 2).await;
        until_bound(space, "mended-", 2).await;
        for gang in ["broken", "mended"] {
            remove(space, &format!("{gang}-1")).await;
        }
        let stale = async |gang: &str| annotation(space, gang, "stale-podgroup-timestamp").await;
        let since = until("it says since when it is stale", async || stale("broken").await).await;
        until("so does the other", async || stale("mended").await).await;
        until("an event says so", async || {
            (!events(space, "broken", "StaleJob").await.is_empty()).then_some(())
        })
        .await;
        drop(muster);
        tokio::time::sleep(Duration::from_secs(3)).await;
        let _muster = kai::start(PROGRAM, space, "second").await;
        make_member(space, "mended", 1).await;
        until("the one that is whole again is stale no longer", async || {
            stale("mended").await.is_none().then_some(())
        })
        .await;
        until("the other one is evicted", async || leaves(space, "broken-0").await.then_some(()))
            .await;
        let age = Timestamp::now().duration_since(time(&since));
        assert!((19..28).contains(&age.as_secs()), "the restart began no new grace: {age:?}");
        assert!(!leaves(space, "mended-0").await);
        assert_eq!(places(space, "mended-").await.values().flatten().count(), 2);
    });
}

#[test]
fn absurd_objects_of_kai_s_are_set_aside_and_the_rest_is_scheduled() {
    with_own("kai-absurd", with_kai(), async |space| {
        space.create_nodes(1, cores(8)).await;
        make_queue(space, "q", 8, json!({})).await;
        let absurd = [
            ("Queue", "no-resources", json!({})),
            ("Queue", "itself", json!({"parentQueue": "itself", "resources": {}})),
            ("Queue", "below", json!({"resources": {"cpu": {"quota": -7}}})),
            ("Queue", "hasty", json!({"resources": {}, "preemptMinRuntime": "soon"})),
            ("PodGroup", "no-queue", json!({"minMember": 1})),
            ("PodGroup", "negative", json!({"queue": "q", "minMember": -1})),
            (
                "PodGroup",
                "circle",
                json!({"queue": "q", "subGroups": [
                    {"name": "x", "parent": "y"}, {"name": "y", "parent": "x"},
                ]}),
            ),
            ("PodGroup", "word", json!({"queue": "q", "preemptibility": "maybe"})),
            ("PodGroup", "time", json!({"queue": "q", "stalenessGracePeriod": "a while"})),
            ("Topology", "empty", json!({"levels": []})),
            (
                "Topology",
                "twice",
                json!({"levels": [{"nodeLabel": "zone"}, {"nodeLabel": "zone"}]}),
            ),
        ];
        for (kind, name, spec) in &absurd {
            kai::make(space, kind, name, spec.clone()).await;
        }
        make_member(space, "no-queue", 0).await;
        let muster = kai::start(PROGRAM, space, "muster").await;
        make_gang(space, "sane", "q", 3, json!({})).await;
        until_bound(space, "sane-", 3).await;
        assert_eq!(bound(space, "no-queue-").await, 0);
        let aside = muster.metric("muster_objects_set_aside");
        assert!((aside - absurd.len() as f64).abs() < 0.5, "{aside} of {}", absurd.len());
        let log = muster.server().log();
        for (kind, name, _) in &absurd {
            let says = |line: &str| line.contains("set aside") && line.contains(name);
            assert!(log.lines().any(says), "{kind} {name}");
        }
        assert_eq!(muster.get("/healthz").0, 200);
    });
}
