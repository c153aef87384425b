//! Which job: admission, readiness, queues, and the cycle itself.

use super::*;

#[test]
fn a_cycle_is_told_with_all_there_is_and_ends() {
    let server = FakeServer::agreeing();
    let spec = nodes_and_gang(2, 2);
    let result = Setting::of(&server, &["onSessionOpen", "onSessionClose"], &spec).play();
    holds(&result);
    let open = server.asked("/v1/open");
    let first = &open[0];
    assert_eq!(first["NodeList"], json!(["n0", "n1"]));
    assert_eq!(first["Nodes"]["n1"]["Name"], "n1");
    assert_eq!(first["NamespaceInfo"]["default"]["Name"], "default");
    assert_eq!(first["Queues"]["default"]["Weight"], 1);
    let job = &first["Jobs"]["default/g"];
    assert_eq!((&job["MinAvailable"], &job["Queue"]), (&json!(2), &json!("default")));
    assert_eq!(job["TaskStatusIndex"]["1"].as_object().map(serde_json::Map::len), Some(2));
    assert_eq!(job["PodGroup"]["Spec"]["MinMember"], 2);
    // Later cycles see the pods on their node.
    let last = open.last().expect("several");
    let on_nodes = ["n0", "n1"].map(|node| &last["Nodes"][node]["Tasks"]);
    let told: usize = on_nodes.iter().filter_map(|tasks| Some(tasks.as_object()?.len())).sum();
    assert_eq!(told, 2);
    assert_eq!(server.asked("/v1/close"), vec![json!({}); open.len()]);
}

#[test]
fn a_job_the_server_does_not_admit_waits_and_says_so() {
    let server = FakeServer::start(|path, body| {
        let wanted = body["job"]["Name"] == "h";
        match path {
            "/v1/enqueueable" => Reply::Json(json!({"status": if wanted { 1 } else { -1 }})),
            _ => Reply::Json(yes(path)),
        }
    });
    let spec = format!(
        "{}  - {{kind: Gang, name: h, tasks: [{{role: w, replicas: 1, requests: {{cpu: \"1\"}}}}]}}\n",
        nodes_and_gang(1, 1)
    );
    let result = Setting::of(&server, &["jobEnqueueable", "jobEnqueued"], &spec).play();
    holds(&result);
    assert_eq!(binds(&result), ["h-w-0 n0"]);
    let said = format!("the extender at http://{}/v1 does not admit the job", server.address);
    assert_eq!(waits(&result), [format!("g-w-0: NotAdmitted: {said}")]);
    let told = server.asked("/v1/enqueued");
    assert_eq!(told.iter().map(|body| &body["job"]["Name"]).collect::<Vec<_>>(), ["h"]);
}

#[test]
fn a_job_the_server_does_not_call_ready_is_not_bound() {
    let server = FakeServer::start(|path, body| match path {
        "/v1/ready" => Reply::Json(json!({"status": body["job"]["Name"] == "h"})),
        _ => Reply::Json(yes(path)),
    });
    let spec = format!(
        "{}  - {{kind: Gang, name: h, tasks: [{{role: w, replicas: 1, requests: {{cpu: \"1\"}}}}]}}\n",
        nodes_and_gang(1, 1)
    );
    let result = Setting::of(&server, &["jobReady"], &spec).play();
    assert_eq!(binds(&result), ["h-w-0 n0"]);
    let said = format!("the extender at http://{}/v1 does not call the job ready", server.address);
    assert!(waits(&result)[0].contains(&said), "{:?}", waits(&result));
}

#[test]
fn a_queue_the_server_calls_overused_gets_nothing() {
    let server = FakeServer::start(|path, body| match path {
        "/v1/overused" => Reply::Json(json!({"overused": body["queue"]["Name"] == "full"})),
        _ => Reply::Json(yes(path)),
    });
    let spec = format!(
        "{}  - {{kind: QueueSpec, name: full}}\n  - {{kind: Gang, name: h, queue: full, tasks: [{{role: w, replicas: 1, requests: {{cpu: \"1\"}}}}]}}\n",
        nodes_and_gang(1, 1)
    );
    let result = Setting::of(&server, &["queueOverused"], &spec).play();
    holds(&result);
    assert_eq!(binds(&result), ["g-w-0 n0"]);
    let asked = server.asked("/v1/overused");
    let full = asked.iter().find(|body| body["queue"]["Name"] == "full").expect("asked");
    assert_eq!(full["queue"]["Queue"]["Status"]["State"], "Open");
}
