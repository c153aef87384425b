//! Places that are taken and left.

use super::*;

/// Pods told at a path, with their nodes.
fn told(server: &FakeServer, path: &str) -> Vec<String> {
    let bodies = server.asked(path);
    let word = |body: &Value, key: &str| body["task"][key].as_str().unwrap_or("?").to_owned();
    bodies.iter().map(|body| format!("{} {}", word(body, "Name"), word(body, "NodeName"))).collect()
}

#[test]
fn places_are_told_once_each_when_they_are_decided() {
    let server = FakeServer::agreeing();
    let spec = nodes_and_gang(1, 3);
    let result = Setting::of(&server, &["allocateFunc", "deallocateFunc"], &spec).play();
    holds(&result);
    assert_eq!(told(&server, "/v1/allocate"), binds(&result));
    assert_eq!(binds(&result).len(), 3);
    assert!(told(&server, "/v1/deallocate").is_empty());
}

#[test]
fn a_gang_one_pod_of_which_is_refused_gets_nothing() {
    let server = FakeServer::start(|path, body| match body["task"]["Name"].as_str() {
        Some("g-w-2") => Reply::Json(json!({"errorMessage": "no third"})),
        _ => Reply::Json(yes(path)),
    });
    let spec = nodes_and_gang(1, 3).replace("cycles: 4", "cycles: 1");
    let result = Setting::of(&server, &["allocateFunc", "deallocateFunc"], &spec).play();
    holds(&result);
    assert!(binds(&result).is_empty());
    let said = format!(
        "the extender at http://{}/v1 does not agree to pod default/g-w-2 on node n0: no third",
        server.address
    );
    assert_eq!(waits(&result)[0], format!("g-w-0: Refused: {said}"));
    // What it agreed to before is taken back.
    assert_eq!(told(&server, "/v1/allocate"), ["g-w-0 n0", "g-w-1 n0", "g-w-2 n0"]);
    assert_eq!(told(&server, "/v1/deallocate"), ["g-w-0 n0", "g-w-1 n0"]);
}

#[test]
fn who_is_evicted_is_told_before_who_gets_the_room() {
    let server = FakeServer::agreeing();
    let spec = "  cycles: 6\n  objects:\n  - {kind: NodeSet, name: n, count: 1, allocatable: {cpu: \"1\"}}\n  - {kind: Gang, name: a, priority: 1, preemptable: true, tasks: [{role: w, replicas: 1, requests: {cpu: \"1\"}, nodes: [n0]}]}\n  - {kind: Gang, name: vip, priority: 100, tasks: [{role: w, replicas: 1, requests: {cpu: \"1\"}}]}\n";
    let setting = Setting {
        actions: "enqueue, allocate, gangpreempt",
        ..Setting::of(&server, &["allocateFunc", "deallocateFunc"], spec)
    };
    let result = setting.play();
    assert_eq!(evictions(&result), ["a-w-0"]);
    assert_eq!(binds(&result), ["vip-w-0 n0"]);
    assert_eq!(server.paths(), ["/v1/deallocate", "/v1/allocate"]);
    assert_eq!(told(&server, "/v1/deallocate"), ["a-w-0 n0"]);
    // Room that was held and is bound where it was held is told once.
    assert_eq!(told(&server, "/v1/allocate"), ["vip-w-0 n0"]);
}

#[test]
fn a_refused_placement_takes_the_eviction_back() {
    let server = FakeServer::start(|path, body| match body["task"]["Name"].as_str() {
        Some("vip-w-0") => Reply::Json(json!({"errorMessage": "not him"})),
        _ => Reply::Json(yes(path)),
    });
    let spec = "  cycles: 1\n  objects:\n  - {kind: NodeSet, name: n, count: 1, allocatable: {cpu: \"1\"}}\n  - {kind: Gang, name: a, priority: 1, preemptable: true, tasks: [{role: w, replicas: 1, requests: {cpu: \"1\"}, nodes: [n0]}]}\n  - {kind: Gang, name: vip, priority: 100, tasks: [{role: w, replicas: 1, requests: {cpu: \"1\"}}]}\n";
    let setting = Setting {
        actions: "enqueue, allocate, gangpreempt",
        ..Setting::of(&server, &["allocateFunc", "deallocateFunc"], spec)
    };
    let result = setting.play();
    holds(&result);
    assert!(evictions(&result).is_empty());
    assert!(waits(&result)[0].contains("not him"), "{:?}", waits(&result));
    assert_eq!(server.paths(), ["/v1/deallocate", "/v1/allocate", "/v1/allocate"]);
    assert_eq!(told(&server, "/v1/allocate"), ["vip-w-0 n0", "a-w-0 n0"]);
}
