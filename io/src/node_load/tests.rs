//! Every source by recorded answers of its own, from a server that gives them over HTTP.

use ::http::Uri;
use tokio::sync::{mpsc, watch};

use super::*;
use crate::config::{Certificates, Elasticsearch};
use crate::web::fixtures::{Answers, serve, vector};

fn source(server: LoadServer) -> LoadSource {
    let interval = Duration::from_secs(30);
    LoadSource { server, interval, certificates: Certificates::Verified }
}

/// Answers of a Prometheus that knows three nodes, one of them in part.
fn prometheus_answers() -> Answers {
    let (one, two, three) = (r#""instance":"n1""#, r#""instance":"n2:9100""#, r#""instance":"n3""#);
    let named = r#""instance":"10.0.0.4:9100","node":"n4""#;
    Answers::from([
        ("node_cpu", (200, vector(&[(one, "12.5"), (two, "100"), (three, "1"), (named, "7")]))),
        ("MemTotal", (200, vector(&[(one, "40.0004"), (two, "0"), (three, "NaN"), (named, "8")]))),
        (
            "timestamp",
            (200, vector(&[(one, "1767225590.25"), (two, "1767225600"), (named, "1767225600")])),
        ),
    ])
}

fn brief(facts: &[NodeLoadFacts]) -> Vec<(String, [i64; 2], i64)> {
    let brief = facts.iter().map(|facts| {
        let MeasuredUsage::Shares(shares) = facts.usage else { panic!("{facts:?}") };
        assert_eq!(facts.window_ms, 30_000);
        (facts.node.to_string(), shares, facts.measured.0)
    });
    brief.collect()
}

/// Reads once from a server with these answers.
async fn read_once(
    server: impl Fn(Uri) -> LoadServer,
    answers: Answers,
    authorization: Option<&'static str>,
) -> Result<Vec<NodeLoadFacts>, String> {
    let address = serve(answers, authorization).await;
    let cluster = client(&address, Certificates::Verified, None).expect("a client");
    loads(&source(server(address)), &cluster).await
}

fn prometheus(address: Uri) -> LoadServer {
    LoadServer::Prometheus { address }
}

#[tokio::test]
async fn prometheus_tells_the_load_of_all_nodes_in_three_answers() {
    let loads = read_once(prometheus, prometheus_answers(), None).await.expect("it answers");
    // The node of which a value is no number is left out rather than taken for an idle one.
    assert_eq!(
        brief(&loads),
        [
            ("n1".to_owned(), [12_500, 40_000], 1_767_225_590_250),
            ("n2".to_owned(), [100_000, 0], 1_767_225_600_000),
            ("n4".to_owned(), [7_000, 8_000], 1_767_225_600_000),
        ]
    );
}

#[tokio::test]
async fn what_cannot_be_read_is_an_error_and_not_an_idle_cluster() {
    let mut broken = prometheus_answers();
    broken.insert("MemTotal", (503, "overloaded".to_owned()));
    let error = read_once(prometheus, broken, None).await.expect_err("one answer is missing");
    assert!(error.contains("overloaded"), "{error}");
    let empty = ["node_cpu", "MemTotal", "timestamp"].map(|word| (word, (200, vector(&[]))));
    let error = read_once(prometheus, Answers::from(empty), None).await.expect_err("no node");
    assert_eq!(error, "the source answers, but knows the load of no node");
    let error =
        read_once(prometheus, Answers::from([("", (200, "<html>".to_owned()))]), None).await;
    assert!(error.expect_err("no JSON").contains("not one of Prometheus"));
    let nobody: Uri = "http://127.0.0.1:1".parse().expect("an address");
    let cluster = client(&nobody, Certificates::Verified, None).expect("a client");
    let refused = loads(&source(prometheus(nobody)), &cluster).await;
    assert!(refused.expect_err("nobody is there").contains("refused"));
}

#[tokio::test]
async fn the_custom_metrics_api_tells_parts_as_quantities() {
    let list = |items: &[(&str, &str, &str)]| {
        let items = items.iter().map(|(node, time, value)| {
            format!(
                "{{\"describedObject\":{{\"kind\":\"Node\",\"name\":\"{node}\"}},\
                 \"timestamp\":\"{time}\",\"value\":\"{value}\"}}"
            )
        });
        let items: Vec<String> = items.collect();
        (200, format!("{{\"kind\":\"MetricValueList\",\"items\":[{}]}}", items.join(",")))
    };
    let answers = Answers::from([
        (
            "/nodes/*/node_cpu_usage_avg",
            list(&[("a", "2026-01-01T00:00:10Z", "250m"), ("b", "2026-01-01T00:00:10Z", "1")]),
        ),
        ("/nodes/*/node_memory_usage_avg", list(&[("a", "2026-01-01T00:00:00Z", "500m")])),
    ]);
    let loads = read_once(|_| LoadServer::CustomMetrics, answers, None).await.expect("answers");
    assert_eq!(brief(&loads), [("a".to_owned(), [25_000, 50_000], 1_767_225_600_000)]);
}

#[tokio::test]
async fn elasticsearch_is_asked_once_with_name_and_password() {
    let bucket = |key: &str, memory: &str| {
        format!(
            "{{\"key\":\"{key}\",\"doc_count\":4,\"cpu\":{{\"value\":0.125}},\
             \"memory\":{{\"value\":{memory}}},\"measured\":{{\"value\":1767225600000.0}}}}"
        )
    };
    let buckets = [bucket("a", "0.5"), bucket("b", "null")].join(",");
    let answer = format!("{{\"aggregations\":{{\"nodes\":{{\"buckets\":[{buckets}]}}}}}}");
    let answers = Answers::from([("/metricbeat-*/_search", (200, answer))]);
    let server = |credentials: Option<(String, String)>| {
        move |address| {
            LoadServer::Elasticsearch(Elasticsearch {
                address,
                index: "metricbeat-*".to_owned(),
                hostname_field: "host.hostname".to_owned(),
                credentials: credentials.clone(),
            })
        }
    };
    // `elastic:secret` in base 64.
    let want = Some("Basic ZWxhc3RpYzpzZWNyZXQ=");
    let known = Some(("elastic".to_owned(), "secret".to_owned()));
    let loads = read_once(server(known), answers.clone(), want).await.expect("it answers");
    assert_eq!(brief(&loads), [("a".to_owned(), [12_500, 50_000], 1_767_225_600_000)]);
    let refused = read_once(server(None), answers, want).await.expect_err("nobody is known");
    assert!(refused.contains("who are you?"), "{refused}");
}

#[tokio::test]
async fn a_source_is_read_on_time_and_may_be_named_later() {
    let address = serve(prometheus_answers(), None).await;
    let cluster = client(&address, Certificates::Verified, None).expect("a client");
    let (to_loop, mut inbox) = mpsc::channel(100);
    let metrics = Arc::new(Metrics::new());
    let reader = LoadReader { cluster, to_loop, metrics: metrics.clone() };
    let (named, sources) = watch::channel(None);
    let reading = tokio::spawn(read(reader, sources));
    assert!(inbox.try_recv().is_err(), "no source, nothing to tell");
    let interval = Duration::from_millis(10);
    let source = LoadSource { interval, ..source(prometheus(address)) };
    named.send(Some(source)).expect("somebody reads");
    // Twice three nodes.
    for _ in 0..6 {
        let event = inbox.recv().await.expect("the reader goes on");
        assert!(matches!(event, LoopEvent::Delta { .. }), "{event:?}");
    }
    assert!(metrics.text().contains("muster_load_nodes 3"), "{}", metrics.text());
    drop(inbox);
    reading.await.expect("it ends with the loop");
}
