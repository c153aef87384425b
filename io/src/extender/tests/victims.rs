//! Who may be evicted.

use super::*;

/// A full node with two running gangs of low priority, and one that matters more.
fn full_node(queue: &str) -> String {
    format!(
        "  cycles: 6\n  objects:\n  - {{kind: NodeSet, name: n, count: 1, allocatable: {{cpu: \"2\"}}}}\n  - {{kind: QueueSpec, name: mine}}\n  - {{kind: Gang, name: a, priority: 1, preemptable: true, tasks: [{{role: w, replicas: 1, requests: {{cpu: \"1\"}}, nodes: [n0]}}]}}\n  - {{kind: Gang, name: b, priority: 1, preemptable: true, tasks: [{{role: w, replicas: 1, requests: {{cpu: \"1\"}}, nodes: [n0]}}]}}\n  - {{kind: Gang, name: vip, queue: {queue}, priority: 100, tasks: [{{role: w, replicas: 1, requests: {{cpu: \"1\"}}}}]}}\n"
    )
}

/// Lets a pod of one name go and nobody else.
fn letting_go(name: &'static str) -> FakeServer {
    FakeServer::start(move |path, body| match path {
        "/v1/preemptable" | "/v1/reclaimable" => {
            let evictees = body["evictees"].as_array().cloned().unwrap_or_default();
            let victims: Vec<Value> =
                evictees.into_iter().filter(|task| task["Name"] == name).collect();
            Reply::Json(json!({"status": 1, "victims": victims}))
        }
        _ => Reply::Json(yes(path)),
    })
}

#[test]
fn only_those_make_way_for_a_gang_whom_the_server_names() {
    for name in ["a-w-0", "b-w-0"] {
        let server = letting_go(name);
        let spec = full_node("default");
        let setting = Setting {
            actions: "enqueue, allocate, gangpreempt",
            ..Setting::of(&server, &["preemptable"], &spec)
        };
        let result = setting.play();
        assert_eq!(evictions(&result), [name]);
        let asked = server.asked("/v1/preemptable");
        assert_eq!(asked[0]["evictor"]["Name"], "vip-w-0");
    }
}

#[test]
fn only_those_make_way_for_a_task_whom_the_server_names() {
    for name in ["a-w-0", "b-w-0"] {
        let server = letting_go(name);
        let spec = full_node("default").replace("priority: 1,", "priority: 1, minMember: 0,");
        let setting = Setting {
            actions: "enqueue, allocate, preempt",
            ..Setting::of(&server, &["preemptable"], &spec)
        };
        assert_eq!(evictions(&setting.play()), [name]);
    }
}

#[test]
fn reclaim_asks_by_a_verb_of_its_own() {
    let server = letting_go("b-w-0");
    let spec = full_node("mine");
    let setting = Setting {
        actions: "enqueue, allocate, gangreclaim",
        ..Setting::of(&server, &["reclaimable"], &spec)
    };
    let result = setting.play();
    assert_eq!(evictions(&result), ["b-w-0"]);
    assert!(server.asked("/v1/preemptable").is_empty());
    assert!(!server.asked("/v1/reclaimable").is_empty());
}

#[test]
fn victims_of_whom_nobody_asked_do_not_count() {
    let server = FakeServer::start(|path, _| match path {
        "/v1/preemptable" => {
            let ghost = json!({"UID": "", "Namespace": "default", "Name": "ghost"});
            Reply::Json(json!({"status": 1, "victims": [ghost]}))
        }
        _ => Reply::Json(yes(path)),
    });
    let spec = full_node("default");
    let setting = Setting {
        actions: "enqueue, allocate, gangpreempt",
        ..Setting::of(&server, &["preemptable"], &spec)
    };
    let result = setting.play();
    assert!(evictions(&result).is_empty());
    assert!(result.warnings.iter().any(|text| text.contains("default/ghost")));
}

#[test]
fn a_server_without_opinion_leaves_the_choice_to_others() {
    let server = FakeServer::agreeing();
    let spec = full_node("default");
    let setting = Setting {
        actions: "enqueue, allocate, gangpreempt",
        ..Setting::of(&server, &["preemptable"], &spec)
    };
    assert_eq!(evictions(&setting.play()).len(), 1);
}
