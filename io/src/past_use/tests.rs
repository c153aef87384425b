//! Recorded answers, from a server that gives them over HTTP. What a real Prometheus makes of the queries is
//! tested by `usage-prometheus`.

use muster_core::config::UsageSpan;
use tokio::sync::{mpsc, watch};

use super::*;
use crate::web::fixtures::{Answers, serve, vector};

fn source(address: Uri) -> UsageSource {
    let series = |resource, held: &str, there: &str| UsageSeries {
        resource,
        held: held.to_owned(),
        there: there.to_owned(),
    };
    UsageSource {
        address: UsageAddress::Given(address),
        window: UsageWindow { half_life_ms: None, span: UsageSpan::Sliding(3_600_000) },
        every: Duration::from_millis(20),
        stale_after: Duration::from_millis(50),
        wait_at_most: Duration::ZERO,
        answer_within: Duration::from_secs(5),
        resolution: Duration::from_mins(1),
        series: [
            series("cpu", "cpu_held", "cpu_there"),
            series("memory", "memory_held", "memory_there"),
            series("gpu", "gpu_held", "gpu_there"),
        ],
    }
}

/// Answers of a cluster without GPUs.
fn answers() -> Answers {
    let (one, two) = (r#""queue_name":"one""#, r#""queue_name":"two""#);
    Answers::from([
        ("cpu_held", (200, vector(&[(one, "30"), (two, "NaN"), ("", "5")]))),
        ("cpu_there", (200, vector(&[("", "120")]))),
        ("memory_held", (200, vector(&[(one, "1e9"), (two, "3e9")]))),
        ("memory_there", (200, vector(&[("", "4e9")]))),
        ("gpu", (200, vector(&[]))),
    ])
}

async fn parts_of(answers: Answers) -> Result<Parts, String> {
    let source = source(serve(answers, None).await);
    parts_at(&source, 1_767_225_600_000).await
}

#[tokio::test]
async fn parts_are_what_was_held_of_what_there_was() {
    let parts = parts_of(answers()).await.expect("it answers");
    let want: Parts = [("one", [250_000, 250_000, 0]), ("two", [0, 750_000, 0])]
        .into_iter()
        .map(|(queue, parts)| (queue.into(), parts))
        .collect();
    assert_eq!(parts, want);
}

#[tokio::test]
async fn what_is_not_known_is_no_idleness() {
    for (word, want) in [
        ("cpu_held", "no series of cpu_held for cpu"),
        ("cpu_there", "no series of cpu_there for cpu"),
    ] {
        let mut answers = answers();
        answers.insert(word, (200, vector(&[])));
        let error = parts_of(answers).await.expect_err("a half is not known");
        assert!(error.contains(want), "{error}");
    }
    let empty = Answers::from([("query", (200, vector(&[])))]);
    let error = parts_of(empty).await.expect_err("nothing is known");
    assert!(error.contains("has no series of cpu_held, memory_held, gpu_held"), "{error}");
    let refused = Answers::from([("query", (400, "what?".to_owned()))]);
    assert!(parts_of(refused).await.expect_err("it refuses").contains("what?"));
}

#[test]
fn queries_say_the_window_and_how_use_is_forgotten() {
    let minute = Duration::from_mins(1);
    let sum = |window: &UsageWindow, utc_ms| {
        QueryWindow::of(window, minute, utc_ms).map(|window| window.sum("sum", "m"))
    };
    let sliding = UsageWindow { half_life_ms: None, span: UsageSpan::Sliding(604_800_000) };
    let want = "sum (sum_over_time(((m))[604800s:60s]))";
    assert_eq!(sum(&sliding, 1_767_225_600_500).as_deref(), Some(want));
    let span = UsageSpan::Tumbling { size_ms: 3_600_000, from_ms: 0 };
    let tumbling = UsageWindow { half_life_ms: Some(1_800_000), span };
    let want =
        "sum (sum_over_time(((m) * 0.5 ^ ((1767226200.500 - time()) / 1800.000))[600s:60s]))";
    assert_eq!(sum(&tumbling, 1_767_226_200_500).as_deref(), Some(want));
    assert_eq!(sum(&tumbling, 1_767_225_659_999), None, "it has only just begun");
}

#[test]
fn an_address_may_say_who_asks() {
    let given = |text: &str| address(&UsageAddress::Given(text.parse().expect("an address")));
    let (uri, who) = given("http://me:se:cret@prometheus:9090/below").expect("it is one");
    assert_eq!(uri.to_string(), "http://prometheus:9090/below");
    assert_eq!(who, Some(("me".to_owned(), "se:cret".to_owned())));
    assert_eq!(given("http://prometheus:9090").expect("it is one").1, None);
    let missing = address(&UsageAddress::Variable("MUSTER_NO_SUCH_VARIABLE".to_owned()));
    assert!(missing.expect_err("it is not set").contains("MUSTER_NO_SUCH_VARIABLE"));
}

#[tokio::test]
async fn what_changes_is_told_and_what_grows_old_is_said() {
    let (to_loop, mut inbox) = mpsc::channel(100);
    let metrics = Arc::new(Metrics::new());
    let reader = UsageReader { to_loop, metrics: metrics.clone() };
    let (named, sources) = watch::channel(None);
    let reading = tokio::spawn(read(reader, sources));
    let first = source(serve(answers(), None).await);
    named.send(Some(first)).expect("somebody reads");
    let queue = |event: LoopEvent| match event {
        LoopEvent::Delta { delta: ClusterDelta::Set(facts), .. } => facts.object().to_string(),
        LoopEvent::Delta { delta: ClusterDelta::Gone(object), .. } => format!("no {object}"),
        LoopEvent::UsageKnown => "known".to_owned(),
        other => panic!("{other:?}"),
    };
    let mut heard = Vec::new();
    // Two readings, of which the second has no news.
    for _ in 0..4 {
        heard.push(queue(inbox.recv().await.expect("the reader goes on")));
    }
    assert_eq!(heard, ["QueueUsage one", "QueueUsage two", "known", "known"]);
    let text = metrics.text();
    assert!(
        text.contains("muster_usage_queues 2") && text.contains("muster_usage_stale 0"),
        "{text}"
    );
    let broken = source(serve(Answers::new(), None).await);
    named.send(Some(broken)).expect("somebody reads");
    while !metrics.text().contains("muster_usage_stale 1") {
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
    named.send(None).expect("somebody reads");
    let mut gone = Vec::new();
    while gone.len() < 2 {
        let event = queue(inbox.recv().await.expect("the reader goes on"));
        gone.extend((event != "known").then_some(event));
    }
    assert_eq!(gone, ["no QueueUsage one", "no QueueUsage two"]);
    drop(inbox);
    drop(named);
    reading.await.expect("it ends with the loop");
}
