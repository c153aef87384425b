//! Which node: predicates and scores.

use std::sync::atomic::{AtomicU32, Ordering};

use super::*;

#[test]
fn a_node_the_server_refuses_gets_nobody() {
    let server = FakeServer::start(|path, body| match body["node"]["Name"].as_str() {
        Some("n0") => Reply::Json(json!({"status": "no licence", "code": 2})),
        _ => Reply::Json(yes(path)),
    });
    let spec = nodes_and_gang(2, 3);
    let result = Setting::of(&server, &["predicate"], &spec).play();
    holds(&result);
    assert_eq!(binds(&result), ["g-w-0 n1", "g-w-1 n1", "g-w-2 n1"]);
    // Once for each node, and for the node that gets a pod once more as long as it has room: not for
    // each pod and node.
    let asked = server.asked("/v1/predicate");
    assert!((2..=5).contains(&asked.len()), "{}", asked.len());
    let (task, node) = (&asked[0]["task"], &asked[0]["node"]);
    assert_eq!(task["Name"], "g-w-0");
    assert_eq!(task["Job"], "default/g");
    assert_eq!(task["TaskRole"], "w");
    assert_eq!(task["Status"], 1);
    assert_eq!(task["Resreq"]["MilliCPU"], 1000);
    assert_eq!(task["Pod"]["metadata"]["namespace"], "default");
    assert_eq!(task["Pod"]["spec"]["containers"][0]["resources"]["requests"]["cpu"], "1");
    assert_eq!(node["Allocatable"]["MilliCPU"], 4000);
    assert_eq!(node["Idle"]["Memory"], 16_i64 << 30);
    assert_eq!(node["Node"]["metadata"]["labels"]["rack"], "r1");
}

#[test]
fn a_gang_refused_everywhere_says_who_refuses_and_why() {
    let server =
        FakeServer::start(|_, _| Reply::Json(json!({"status": "no\n licence", "code": 0})));
    let spec = nodes_and_gang(2, 1);
    let result = Setting::of(&server, &["predicate"], &spec).play();
    holds(&result);
    assert_eq!(
        waits(&result),
        ["g-w-0: NoNodeMatches: none of 2 nodes matches: 2 refused by the extender (it says: no \
          licence)"]
    );
}

#[test]
fn a_server_that_changes_its_mind_is_heard_though_nothing_happened() {
    let cycle = AtomicU32::new(0);
    let server = FakeServer::start(move |path, _| match path {
        "/v1/open" => {
            cycle.fetch_add(1, Ordering::Relaxed);
            Reply::Text("")
        }
        _ if cycle.load(Ordering::Relaxed) < 3 => Reply::Json(json!({"status": "wait"})),
        _ => Reply::Json(yes(path)),
    });
    let spec = nodes_and_gang(1, 2).replace("cycles: 4", "cycles: 6");
    let result = Setting::of(&server, &["onSessionOpen", "predicate"], &spec).play();
    holds(&result);
    let bound = result.cycles.iter().find(|cycle| !cycle.decisions.is_empty()).expect("bound");
    assert_eq!(bound.cycle, 3);
    assert_eq!(binds(&result).len(), 2);
}

#[test]
fn the_server_s_scores_decide_among_nodes_that_are_equal_otherwise() {
    let server = FakeServer::start(|path, _| match path {
        "/v1/prioritize" => Reply::Json(json!({"nodeScore": {"n2": 7.5, "n1": 7, "ghost": 99}})),
        _ => Reply::Json(yes(path)),
    });
    let spec = nodes_and_gang(3, 1);
    let result = Setting::of(&server, &["prioritize"], &spec).play();
    holds(&result);
    assert_eq!(binds(&result), ["g-w-0 n2"]);
    // All nodes in one question.
    let asked = server.asked("/v1/prioritize");
    assert_eq!(asked[0]["nodes"].as_array().map(Vec::len), Some(3));
    let warned: Vec<_> = result.warnings.iter().filter(|text| text.contains("ghost")).collect();
    assert!(warned[0].contains("scores node \"ghost\", of which it was not asked"), "{warned:?}");
}

#[test]
fn pods_without_a_managed_resource_are_none_of_the_server_s_business() {
    let server = FakeServer::start(|_, _| Reply::Json(json!({"status": "no"})));
    let spec = "  cycles: 3\n  objects:\n  - {kind: NodeSet, name: n, count: 1, allocatable: {cpu: \"8\", example.com/fpga: \"2\"}}\n  - {kind: Gang, name: plain, tasks: [{role: w, replicas: 2, requests: {cpu: \"1\"}}]}\n  - {kind: Gang, name: fpga, tasks: [{role: w, replicas: 1, requests: {example.com/fpga: \"1\"}}]}\n";
    let setting = Setting {
        more: ", extender.managedResources: [example.com/fpga]",
        ..Setting::of(&server, &["predicate"], spec)
    };
    let result = setting.play();
    holds(&result);
    assert_eq!(binds(&result), ["plain-w-0 n0", "plain-w-1 n0"]);
    assert!(waits(&result)[0].starts_with("fpga-w-0: NoNodeMatches"), "{:?}", waits(&result));
    let asked = server.asked("/v1/predicate");
    assert!(asked.iter().all(|body| body["task"]["Name"] == "fpga-w-0"));
    assert_eq!(asked[0]["task"]["Resreq"]["ScalarResources"]["example.com/fpga"], 1000);
}

#[test]
fn pods_of_two_jobs_are_asked_about_apart() {
    let server = FakeServer::start(|path, body| match body["task"]["Job"].as_str() {
        Some("default/g") => Reply::Json(json!({"status": "not this one"})),
        _ => Reply::Json(yes(path)),
    });
    let spec = format!(
        "{}  - {{kind: Gang, name: h, tasks: [{{role: w, replicas: 1, requests: {{cpu: \"1\"}}}}]}}\n",
        nodes_and_gang(1, 1)
    );
    let result = Setting::of(&server, &["predicate"], &spec).play();
    holds(&result);
    assert_eq!(binds(&result), ["h-w-0 n0"]);
}
