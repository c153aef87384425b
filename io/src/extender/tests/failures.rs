//! A server that is down, slow or mad.

use std::time::Instant;

use super::*;

const IGNORABLE: &str = ", extender.ignorable: true, extender.httpTimeout: 300ms";
const NEEDED: &str = ", extender.httpTimeout: 300ms";

/// An address nobody listens at.
fn nobody() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
    listener.local_addr().expect("it is bound")
}

#[test]
fn a_server_that_is_down_is_left_out_where_it_is_ignorable() {
    let spec = nodes_and_gang(2, 2);
    let verbs = [
        "onSessionOpen",
        "predicate",
        "prioritize",
        "jobEnqueueable",
        "jobReady",
        "queueOverused",
        "allocateFunc",
    ];
    let server = FakeServer::agreeing();
    let setting =
        Setting { address: nobody(), more: IGNORABLE, ..Setting::of(&server, &verbs, &spec) };
    let result = setting.play();
    holds(&result);
    assert_eq!(binds(&result).len(), 2);
    let warned: Vec<_> =
        result.warnings.iter().filter(|text| text.starts_with("extender: POST http")).collect();
    assert_eq!(warned.len(), 1, "{warned:?}");
    assert!(warned[0].contains("refused"), "{warned:?}");
}

#[test]
fn a_server_that_is_down_keeps_everybody_waiting_where_it_is_needed() {
    let verbs = ["predicate", "prioritize", "jobEnqueueable", "jobReady", "allocateFunc"];
    let spec = nodes_and_gang(2, 2);
    for verb in verbs {
        let (server, verbs) = (FakeServer::agreeing(), [verb]);
        let setting =
            Setting { address: nobody(), more: NEEDED, ..Setting::of(&server, &verbs, &spec) };
        let result = setting.play();
        holds(&result);
        assert!(binds(&result).is_empty(), "{verb}");
        let said = waits(&result);
        assert!(said[0].contains("extender") && said[0].contains("refused"), "{verb}: {said:?}");
    }
}

#[test]
fn a_silent_server_costs_one_time_out_a_cycle() {
    for (more, bound) in [(IGNORABLE, 8), (NEEDED, 0)] {
        let server = FakeServer::start(|_, _| Reply::Silence);
        let spec = nodes_and_gang(60, 8).replace("cycles: 4", "cycles: 1");
        let verbs = ["predicate", "prioritize", "allocateFunc", "jobReady", "onSessionClose"];
        let begun = Instant::now();
        let result = Setting { more, ..Setting::of(&server, &verbs, &spec) }.play();
        let took = begun.elapsed();
        holds(&result);
        assert_eq!(binds(&result).len(), bound);
        // One time-out, not one for each of sixty nodes: as many questions as are under way at a time.
        assert!(server.paths().len() <= 16, "{:?}", server.paths());
        assert!(took < Duration::from_secs(2), "{took:?}");
    }
}

#[test]
fn an_error_of_the_server_s_concerns_what_was_asked_and_nothing_else() {
    let server = FakeServer::start(|path, body| match body["node"]["Name"].as_str() {
        Some("n0") => Reply::Status(500),
        Some("n1") => Reply::Text("<html>"),
        Some("n2") => Reply::Json(json!(["what?"])),
        _ => Reply::Json(yes(path)),
    });
    let spec = nodes_and_gang(4, 1);
    let result = Setting::of(&server, &["predicate"], &spec).play();
    holds(&result);
    assert_eq!(binds(&result), ["g-w-0 n3"]);
    let asked = server.asked("/v1/predicate").len();
    assert!((4..=5).contains(&asked), "{asked}");
}

#[test]
fn what_makes_no_sense_is_no_answer() {
    let answers: [(&str, &str, Value); 6] = [
        ("jobReady", "ready", json!({"ready": true})),
        ("jobEnqueueable", "enqueueable", json!({"status": "yes"})),
        ("queueOverused", "overused", json!({})),
        ("prioritize", "prioritize", json!({"nodeScore": null})),
        ("prioritize", "prioritize", json!({"nodeScore": {"n0": "best"}})),
        ("allocateFunc", "allocate", json!([1])),
    ];
    for (verb, path, answer) in answers {
        for (more, bound) in [(IGNORABLE, 1), (NEEDED, 0)] {
            let (wanted, answer) = (format!("/v1/{path}"), answer.clone());
            let server = FakeServer::start(move |path, _| {
                Reply::Json(if path == wanted { answer.clone() } else { yes(path) })
            });
            let (verbs, spec) = ([verb], nodes_and_gang(1, 1));
            let result = Setting { more, ..Setting::of(&server, &verbs, &spec) }.play();
            holds(&result);
            assert_eq!(binds(&result).len(), bound, "{verb} {:?}", waits(&result));
        }
    }
}

#[test]
fn an_error_message_of_the_scorer_is_shown() {
    let server =
        FakeServer::start(|_, _| Reply::Json(json!({"errorMessage": "the model is not loaded"})));
    let spec = nodes_and_gang(1, 1);
    let result = Setting::of(&server, &["prioritize"], &spec).play();
    holds(&result);
    assert_eq!(
        waits(&result),
        [
            "g-w-0: NoNodeMatches: none of 1 nodes matches: 1 the extender gave no answer about (the \
          model is not loaded)"
        ]
    );
}

#[test]
fn a_server_that_fails_when_a_cycle_opens_is_asked_nothing_in_it() {
    for (more, bound) in [(IGNORABLE, 1), (NEEDED, 0)] {
        let server = FakeServer::start(|path, _| match path {
            "/v1/open" => Reply::Status(503),
            _ => Reply::Json(yes(path)),
        });
        let spec = nodes_and_gang(1, 1);
        let verbs = ["onSessionOpen", "predicate", "onSessionClose"];
        let result = Setting { more, ..Setting::of(&server, &verbs, &spec) }.play();
        holds(&result);
        assert_eq!(binds(&result).len(), bound);
        assert!(server.paths().iter().all(|path| path == "/v1/open"), "{:?}", server.paths());
    }
}

#[test]
fn nobody_is_evicted_on_the_word_of_a_server_that_is_down() {
    let spec = "  cycles: 3\n  objects:\n  - {kind: NodeSet, name: n, count: 1, allocatable: {cpu: \"1\"}}\n  - {kind: Gang, name: a, priority: 1, preemptable: true, tasks: [{role: w, replicas: 1, requests: {cpu: \"1\"}, nodes: [n0]}]}\n  - {kind: Gang, name: vip, priority: 100, tasks: [{role: w, replicas: 1, requests: {cpu: \"1\"}}]}\n";
    for (more, evicted) in [(IGNORABLE, 1), (NEEDED, 0)] {
        let server = FakeServer::agreeing();
        let setting = Setting {
            address: nobody(),
            more,
            actions: "enqueue, allocate, gangpreempt",
            ..Setting::of(&server, &["preemptable"], spec)
        };
        assert_eq!(evictions(&setting.play()).len(), evicted, "{more}");
    }
}
