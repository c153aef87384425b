//! A watch against a server that knows some versions of a kind.

use std::convert::Infallible;
use std::sync::Mutex;

use http::{Request, Response, StatusCode, Uri};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use muster_core::config::{Pool, View};
use muster_core::delta::Facts;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{Receiver, channel};

use super::*;

const GROUP: &str = "/apis/topology.volcano.sh";

/// An API server that serves HyperNodes in the versions it is told to.
#[derive(Clone, Default)]
struct Server {
    served: Arc<Mutex<Vec<&'static str>>>,
    /// Paths asked for, each once in a row.
    asked: Arc<Mutex<Vec<String>>>,
}

impl Server {
    fn serve(&self, versions: &[&'static str]) {
        *self.served.lock().unwrap() = versions.to_vec();
    }

    fn asked(&self) -> Vec<String> {
        self.asked.lock().unwrap().clone()
    }

    /// One domain and the end of the first list. Whoever goes on from there is told nothing more.
    fn answer(&self, uri: &Uri) -> (StatusCode, String) {
        let path = uri.path();
        let mut asked = self.asked.lock().unwrap();
        if asked.last().is_none_or(|last| last != path) {
            asked.push(path.to_owned());
        }
        let served = self.served.lock().unwrap();
        let version =
            served.iter().find(|version| *path == format!("{GROUP}/{version}/hypernodes"));
        let Some(version) = version else {
            // Of a version it does not know the server says so in plain words.
            return (StatusCode::NOT_FOUND, "404 page not found\n".to_owned());
        };
        if !uri.query().unwrap_or_default().contains("sendInitialEvents=true") {
            return (StatusCode::OK, String::new());
        }
        let api_version = format!("topology.volcano.sh/{version}");
        let event = |kind: &str, metadata: Value| {
            let (about, spec) = (&api_version, json!({"tier": 1}));
            let object = json!({"apiVersion": about, "kind": "HyperNode", "metadata": metadata,
                "spec": spec});
            format!("{}\n", json!({"type": kind, "object": object}))
        };
        let added = event("ADDED", json!({"name": "rack", "resourceVersion": "7"}));
        let end = json!({"k8s.io/initial-events-end": "true"});
        let end = event("BOOKMARK", json!({"resourceVersion": "7", "annotations": end}));
        (StatusCode::OK, added + &end)
    }

    /// Answers until the runtime ends.
    async fn open(&self) -> Client {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let server = self.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let server = server.clone();
                let service = service_fn(move |request: Request<hyper::body::Incoming>| {
                    let (status, body) = server.answer(request.uri());
                    let response = Response::builder().status(status).body(body);
                    async move {
                        tokio::time::sleep(Duration::from_millis(20)).await;
                        Ok::<_, Infallible>(response.unwrap())
                    }
                });
                let connection = http1::Builder::new();
                tokio::spawn(connection.serve_connection(TokioIo::new(stream), service));
            }
        });
        let url = format!("http://{address}").parse().unwrap();
        Client::try_from(kube::Config::new(url)).unwrap()
    }
}

/// A watch of HyperNodes in these versions, and what it has to say.
async fn watch(server: &Server, versions: &'static [&'static str]) -> (Watch, Receiver<LoopEvent>) {
    let (to_loop, heard) = channel(64);
    let source = Source {
        client: server.open().await,
        owner: OwnerRule::simulation(),
        to_loop,
        statuses: Arc::default(),
        namesakes: Arc::default(),
        metrics: Arc::new(Metrics::new()),
    };
    let version = ServedVersion::new(versions);
    (Watch { version, ..Watch::new(ObjectKind::HyperNode, source) }, heard)
}

async fn next(heard: &mut Receiver<LoopEvent>) -> LoopEvent {
    let next = tokio::time::timeout(Duration::from_secs(20), heard.recv()).await;
    next.expect("the watch says something").expect("the watch goes on")
}

fn path(version: &str) -> String {
    format!("{GROUP}/{version}/hypernodes")
}

#[tokio::test]
async fn a_kind_served_in_its_second_version_only_is_watched_in_that() {
    let server = Server::default();
    server.serve(&["v1alpha1"]);
    let (watch, mut heard) = watch(&server, &["v1", "v1alpha1"]).await;
    let watching = tokio::spawn(watch.run());
    let first = next(&mut heard).await;
    assert!(
        matches!(first, LoopEvent::Delta { delta: ClusterDelta::Set(Facts::Domain(_)), .. }),
        "{first:?}"
    );
    assert!(matches!(next(&mut heard).await, LoopEvent::Listed(ObjectKind::HyperNode)));
    // The watch ends again and again; it goes on in the version that was found.
    tokio::time::sleep(Duration::from_millis(500)).await;
    watching.abort();
    assert_eq!(server.asked(), [path("v1"), path("v1alpha1")]);
}

#[tokio::test]
async fn objects_are_told_again_when_another_version_takes_over() {
    let server = Server::default();
    server.serve(&["v1"]);
    let (watch, mut heard) = watch(&server, &["v1", "v1alpha1"]).await;
    let watching = tokio::spawn(watch.run());
    next(&mut heard).await;
    assert!(matches!(next(&mut heard).await, LoopEvent::Listed(ObjectKind::HyperNode)));
    server.serve(&["v1alpha1"]);
    // The object is as old as before, but its other version may say more, or less.
    let again = next(&mut heard).await;
    assert!(
        matches!(again, LoopEvent::Delta { delta: ClusterDelta::Set(Facts::Domain(_)), .. }),
        "{again:?}"
    );
    watching.abort();
    assert_eq!(server.asked(), [path("v1"), path("v1alpha1")]);
}

#[tokio::test]
async fn a_kind_the_server_does_not_know_has_no_objects() {
    let server = Server::default();
    let (watch, mut heard) = watch(&server, &["v1", "v1alpha1"]).await;
    let watching = tokio::spawn(watch.run());
    assert!(matches!(next(&mut heard).await, LoopEvent::Listed(ObjectKind::HyperNode)));
    watching.abort();
    assert_eq!(server.asked(), [path("v1"), path("v1alpha1")]);
}

#[tokio::test]
async fn without_pods_and_nodes_there_is_no_first_list() {
    let server = Server::default();
    let (watch, mut heard) = watch(&server, &["v1"]).await;
    let watch = Watch { kind: ObjectKind::Node, ..watch };
    let watching = tokio::spawn(watch.run());
    let said = tokio::time::timeout(Duration::from_millis(500), heard.recv()).await;
    assert!(said.is_err(), "{said:?}");
    watching.abort();
    assert_eq!(server.asked(), ["/api/v1/nodes"]);
}

/// As the server streams an object of that kind, at that version of it.
fn raw(kind: ObjectKind, version: u64) -> Raw {
    let resources = json!({"cpu": {"quota": 1000}});
    let object = json!({
        "apiVersion": format!("{}/{}", kind.group(), kind.version()), "kind": "Queue",
        "metadata": {"name": "q", "resourceVersion": version.to_string()},
        "spec": {"resources": resources},
    });
    serde_json::from_str(&object.to_string()).unwrap()
}

fn delta(event: LoopEvent) -> ClusterDelta {
    match event {
        LoopEvent::Delta { delta, .. } => delta,
        other => panic!("{other:?}"),
    }
}

#[tokio::test]
async fn a_queue_of_both_dialects_is_set_aside_until_one_goes() {
    let (volcano, mut heard) = watch(&Server::default(), &["v1"]).await;
    let source = volcano.source.clone();
    let mut volcano = Watch::new(ObjectKind::Queue, source.clone());
    let mut kai = Watch::new(ObjectKind::KaiQueue, source.clone());
    kai.again = Some(source.namesakes.listen(ObjectKind::KaiQueue).await);
    let here = |kind| Event::Apply(raw(kind, 3));
    assert!(kai.event(here(ObjectKind::KaiQueue)).await.is_ok());
    assert!(matches!(delta(next(&mut heard).await), ClusterDelta::Set(Facts::Queue(_))));
    assert!(volcano.event(here(ObjectKind::Queue)).await.is_ok());
    let ClusterDelta::SetAside { reason, .. } = delta(next(&mut heard).await) else { panic!() };
    let both = "both scheduling.volcano.sh and scheduling.run.ai have a Queue of this name; one of them has to go";
    assert_eq!(reason, both);
    assert!(volcano.event(Event::Delete(raw(ObjectKind::Queue, 4))).await.is_ok());
    // What was set aside stays so until the one that is left is told again, although it is as old as ever.
    let keys = Watch::asked_again(&mut kai.again).await;
    kai.forget_versions(&keys);
    assert!(kai.event(Event::InitApply(raw(ObjectKind::KaiQueue, 3))).await.is_ok());
    let ClusterDelta::Set(Facts::Queue(facts)) = delta(next(&mut heard).await) else { panic!() };
    assert!(facts.over_quota.is_some());
}

#[tokio::test]
async fn what_another_pool_has_is_not_told_and_what_moves_there_is_gone() {
    let (watch, mut heard) = watch(&Server::default(), &["v1"]).await;
    let pool = Pool { key: "pool".into(), value: "a".into() };
    let owner = OwnerRule::simulation().seeing(View { pool: Some(pool), ..View::default() });
    let source = Source { owner, ..watch.source.clone() };
    let mut nodes = Watch::new(ObjectKind::Node, source);
    let node = |name: &str, pool: &str| -> Raw {
        let metadata = json!({"name": name, "labels": {"pool": pool}, "resourceVersion": "3"});
        let object = json!({"apiVersion": "v1", "kind": "Node", "metadata": metadata});
        serde_json::from_str(&object.to_string()).unwrap()
    };
    assert!(nodes.event(Event::Apply(node("n1", "b"))).await.is_ok());
    assert!(nodes.event(Event::Apply(node("n0", "a"))).await.is_ok());
    let ClusterDelta::Set(Facts::Node(facts)) = delta(next(&mut heard).await) else { panic!() };
    assert_eq!(&*facts.name, "n0");
    assert!(nodes.event(Event::Apply(node("n0", "b"))).await.is_ok());
    let gone = gone(ObjectKind::Node, &ObjectKey::new("", "n0"));
    assert_eq!(Some(delta(next(&mut heard).await)), gone);
    assert!(nodes.event(Event::Delete(node("n0", "b"))).await.is_ok());
    assert!(heard.try_recv().is_err());
}
