//! Binds and evictions against a server that answers late, not at all, or with errors: room moves to
//! others only when it is certain how a call ended.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::time::{Duration, Instant};

use http::{Method, Request, Response};
use kube::client::Body;
use muster_core::delta::ClusterDelta;
use muster_core::ids::ObjectKey;
use muster_core::intent::{DecisionOp, Ruling};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, channel};

use super::super::PodRef;
use super::super::client::Patience;
use super::*;

const PATIENCE: Patience = Patience {
    attempt: Duration::from_millis(50),
    late: Duration::from_secs(2),
    pause: Duration::from_millis(10),
};

/// What the server does with one request.
#[derive(Clone, Copy)]
enum Reply {
    /// Carries it out after that time, and never answers.
    Silent(Duration),
    /// Loses it, and never answers.
    Lost,
    /// Answers with that status, and carries nothing out.
    Status(u16),
}

/// A server with one pod.
struct Server {
    /// What is done with the next writes and reads; all after these are carried out and answered.
    writes: VecDeque<Reply>,
    reads: VecDeque<Reply>,
    /// Writes and reads that came.
    count: (usize, usize),
    node: Option<&'static str>,
    leaving: bool,
    /// Conditions that came, which are always taken.
    conditions: usize,
}

type Shared = Arc<Mutex<Server>>;

fn locked(server: &Shared) -> std::sync::MutexGuard<'_, Server> {
    server.lock().expect("no test panics while it holds the lock")
}

fn server(writes: &[Reply], reads: &[Reply]) -> Shared {
    let (writes, reads) = (writes.iter().copied().collect(), reads.iter().copied().collect());
    let (count, node, leaving, conditions) = ((0, 0), None, false, 0);
    Arc::new(Mutex::new(Server { writes, reads, count, node, leaving, conditions }))
}

impl Server {
    fn next(&mut self, method: &Method) -> Option<Reply> {
        let (replies, count) = match *method {
            Method::GET => (&mut self.reads, &mut self.count.1),
            _ => (&mut self.writes, &mut self.count.0),
        };
        *count += 1;
        replies.pop_front()
    }

    fn carry_out(&mut self, method: &Method) {
        match *method {
            Method::POST => self.node = Some("n0"),
            Method::DELETE => self.leaving = true,
            Method::PATCH => self.conditions += 1,
            _ => {}
        }
    }

    fn pod(&self) -> Value {
        let leaving = self.leaving.then_some("2026-01-01T00:00:00Z");
        json!({"metadata": {"uid": "u", "deletionTimestamp": leaving}, "spec": {"nodeName": self.node}})
    }
}

async fn answer(server: Shared, method: Method) -> Response<Body> {
    // The condition written before an eviction is not what these tests are about.
    let reply = if method == Method::PATCH { None } else { locked(&server).next(&method) };
    let (code, body) = match reply {
        None => {
            let mut server = locked(&server);
            server.carry_out(&method);
            (200, server.pod())
        }
        Some(Reply::Status(code)) => (code, json!({"code": code, "message": "said", "reason": ""})),
        Some(Reply::Silent(after)) => {
            tokio::spawn(async move {
                tokio::time::sleep(after).await;
                locked(&server).carry_out(&method);
            });
            std::future::pending().await
        }
        Some(Reply::Lost) => std::future::pending().await,
    };
    let response = Response::builder().status(code).body(Body::from(body.to_string().into_bytes()));
    response.expect("the status is one of ours")
}

fn calls(server: &Shared) -> (ApiCalls, Receiver<LoopEvent>) {
    let shared = server.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let answered = answer(shared.clone(), request.method().clone());
        async move { Ok::<_, Infallible>(answered.await) }
    });
    let (to_loop, inbox) = channel(16);
    let parts = ApiCallsParts {
        client: Client::new(service, "default"),
        gate: Gate::open(),
        statuses: Arc::default(),
        metrics: Arc::new(Metrics::new()),
        events: Events::channel().0,
        to_loop,
        eviction: EvictionMode::Delete,
    };
    let api = ApiCalls::new(parts, 10_000, 10_000);
    (ApiCalls { client: api.client.with_patience(PATIENCE), ..api }, inbox)
}

/// Carries a call about the pod out; why it failed, if the loop was told so.
async fn failure_of(server: &Shared, kind: ActKind) -> Option<String> {
    let (api, mut inbox) = calls(server);
    let pod = PodRef { key: ObjectKey::new("default", "p"), uid: "u".into() };
    api.carry_out(Call::Act(Act { pod, kind })).await;
    match inbox.try_recv().ok()? {
        LoopEvent::Delta {
            delta:
                ClusterDelta::BindFailed { reason, .. } | ClusterDelta::EvictFailed { reason, .. },
            ..
        } => Some(reason),
        other => panic!("{other:?}"),
    }
}

fn ruling(op: DecisionOp) -> Arc<Ruling> {
    let (job, reason) = (ObjectKey::new("default", "j"), Some("room".to_owned()));
    Arc::new(Ruling { action: "test", op, job, beneficiary: None, reason })
}

async fn bind(server: &Shared) -> Option<String> {
    let (ruling, claims) = (ruling(DecisionOp::Bind), Vec::new());
    failure_of(server, ActKind::Bind { node: "n0".into(), ruling, claims }).await
}

async fn evict(server: &Shared) -> Option<String> {
    failure_of(server, ActKind::Evict { ruling: ruling(DecisionOp::Evict) }).await
}

/// The first reply, then so many of each status.
fn then(first: Reply, statuses: &[(u16, usize)]) -> Vec<Reply> {
    let rest = statuses.iter().flat_map(|&(code, count)| vec![Reply::Status(code); count]);
    std::iter::once(first).chain(rest).collect()
}

const AT_ONCE: Reply = Reply::Silent(Duration::ZERO);
const LATER: Reply = Reply::Silent(Duration::from_millis(1_200));
/// As many refusals as end a request, and then some.
const TROUBLE: [(u16, usize); 2] = [(401, 5), (500, 2)];

#[tokio::test]
async fn a_bind_that_was_carried_out_and_not_answered_keeps_its_room() {
    let blind = then(Reply::Status(403), &TROUBLE);
    let server = server(&then(AT_ONCE, &TROUBLE), &blind);
    assert_eq!(bind(&server).await, None);
    let count = locked(&server).count;
    assert_eq!(count, (6, blind.len() + 1), "the pod was asked until it could be read");
}

#[tokio::test]
async fn a_bind_that_lands_after_the_pod_was_read_keeps_its_room() {
    let server = server(&then(LATER, &[(401, 5), (500, 20)]), &[]);
    assert_eq!(bind(&server).await, None);
    let server = locked(&server);
    assert!(server.count.1 > 1, "the pod was read before it had its node");
    assert_eq!(server.node, Some("n0"));
}

#[tokio::test]
async fn a_bind_that_was_lost_is_made_again() {
    let server = server(&then(Reply::Lost, &TROUBLE), &[]);
    assert_eq!(bind(&server).await, None);
    assert_eq!(locked(&server).node, Some("n0"));
}

#[tokio::test]
async fn a_lost_bind_fails_once_it_can_no_longer_land() {
    let begun = Instant::now();
    let server = server(&then(Reply::Lost, &[(500, 1_000)]), &[]);
    assert_eq!(bind(&server).await.as_deref(), Some("said"));
    assert!(begun.elapsed() >= PATIENCE.late, "after {:?}", begun.elapsed());
    assert_eq!(locked(&server).node, None);
}

#[tokio::test]
async fn a_bind_that_was_only_refused_fails_without_a_question() {
    for (code, attempts) in [(401, 5), (403, 1), (422, 1)] {
        let server = server(&[Reply::Status(code); 9], &[]);
        assert_eq!(bind(&server).await.as_deref(), Some("said"));
        assert_eq!(locked(&server).count, (attempts, 0), "{code}");
    }
}

#[tokio::test]
async fn a_bind_the_server_failed_at_fails_if_the_pod_says_so() {
    let server = server(&[Reply::Status(500); 9], &[]);
    assert_eq!(bind(&server).await.as_deref(), Some("said"));
    assert_eq!(locked(&server).count, (5, 1));
}

#[tokio::test]
async fn a_bind_fails_at_once_if_the_pod_has_another_node_or_is_gone() {
    let elsewhere = server(&then(Reply::Lost, &[(401, 5)]), &[]);
    locked(&elsewhere).node = Some("n1");
    let reason = bind(&elsewhere).await;
    assert_eq!(reason.as_deref(), Some("pod default/p is bound to node n1 already"));
    let gone = server(&then(Reply::Lost, &[(401, 5)]), &[Reply::Status(404)]);
    assert_eq!(bind(&gone).await.as_deref(), Some("pod default/p is gone"));
}

#[tokio::test]
async fn an_eviction_that_was_carried_out_and_not_answered_does_not_fail() {
    for first in [AT_ONCE, LATER] {
        let server = server(&then(first, &[(401, 5), (500, 20)]), &[Reply::Status(500); 6]);
        assert_eq!(evict(&server).await, None);
        assert!(locked(&server).leaving);
    }
}

#[tokio::test]
async fn a_lost_eviction_is_made_again_and_fails_once_it_can_no_longer_land() {
    let server = server(&then(Reply::Lost, &TROUBLE), &[]);
    assert_eq!(evict(&server).await, None);
    assert!(locked(&server).leaving);
    let begun = Instant::now();
    let server = self::server(&then(Reply::Lost, &[(500, 1_000)]), &[]);
    assert_eq!(evict(&server).await.as_deref(), Some("said"));
    assert!(begun.elapsed() >= PATIENCE.late, "after {:?}", begun.elapsed());
}

#[tokio::test]
async fn an_eviction_of_a_pod_that_is_gone_is_no_failure() {
    let certain = server(&[Reply::Status(404)], &[]);
    assert_eq!(evict(&certain).await, None);
    let found_gone = server(&then(Reply::Lost, &[(401, 5)]), &[Reply::Status(404)]);
    assert_eq!(evict(&found_gone).await, None);
}

#[tokio::test]
async fn a_bare_deletion_leaves_no_condition() {
    for (mode, conditions) in [(EvictionMode::Delete, 1), (EvictionMode::BareDelete, 0)] {
        let server = server(&[], &[]);
        let (api, _inbox) = calls(&server);
        api.set_eviction(mode);
        let pod = PodRef { key: ObjectKey::new("default", "p"), uid: "u".into() };
        let kind = ActKind::Evict { ruling: ruling(DecisionOp::Evict) };
        api.carry_out(Call::Act(Act { pod, kind })).await;
        let server = locked(&server);
        assert_eq!((server.leaving, server.conditions), (true, conditions));
    }
}
