//! The plugin with a server of the tests' own on a port of this machine, in whole runs of a Scenario.

mod arguments;
mod failures;
mod jobs;
mod nodes;
mod places;
mod tls;
mod victims;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use muster_core::intent::DecisionOp;
use rayon::ThreadPoolBuilder;
use serde_json::{Value, json};

use crate::config;
use crate::sim::load::load_text;
use crate::sim::run::{Narration, RunResult, run};

/// What the server does with a request.
enum Reply {
    Json(Value),
    Text(&'static str),
    Status(u16),
    /// Reads it and says nothing.
    Silence,
}

/// A request as it came.
type Asked = Arc<Mutex<Vec<(String, Value)>>>;

/// A server that remembers what it was asked, by path.
struct FakeServer {
    address: SocketAddr,
    asked: Asked,
}

impl FakeServer {
    fn start(answer: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static) -> Self {
        Self::start_with(|stream| stream, answer)
    }

    /// The same, with something between the wire and what is said on it.
    fn start_with<S: Read + Write>(
        wrap: impl Fn(TcpStream) -> S + Send + Sync + 'static,
        answer: impl Fn(&str, &Value) -> Reply + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("it is bound");
        let (asked, shared) = (Asked::default(), Arc::new((wrap, answer)));
        let log = Arc::clone(&asked);
        std::thread::spawn(move || {
            while let Ok((stream, _)) = listener.accept() {
                let (log, shared) = (Arc::clone(&log), Arc::clone(&shared));
                std::thread::spawn(move || converse(shared.0(stream), &log, &shared.1));
            }
        });
        Self { address, asked }
    }

    /// Says yes to everything.
    fn agreeing() -> Self {
        Self::start(|path, _| Reply::Json(yes(path)))
    }

    /// The bodies of all requests to a path, in the order in which they came.
    fn asked(&self, path: &str) -> Vec<Value> {
        let asked = self.asked.lock().expect("nobody panicked");
        asked.iter().filter(|(of, _)| of == path).map(|(_, body)| body.clone()).collect()
    }

    /// The paths of all requests, in the order in which they came.
    fn paths(&self) -> Vec<String> {
        self.asked.lock().expect("nobody panicked").iter().map(|it| it.0.clone()).collect()
    }
}

/// The answer to a verb that changes nothing.
fn yes(path: &str) -> Value {
    match path {
        "/v1/prioritize" => json!({"nodeScore": {}, "errorMessage": ""}),
        "/v1/overused" => json!({"overused": false}),
        "/v1/enqueueable" => json!({"status": 1}),
        "/v1/ready" => json!({"status": true}),
        "/v1/preemptable" | "/v1/reclaimable" => json!({"status": 0, "victims": null}),
        _ => json!({"status": "", "code": 0, "errorMessage": ""}),
    }
}

fn converse(stream: impl Read + Write, log: &Asked, answer: &dyn Fn(&str, &Value) -> Reply) {
    let mut reader = BufReader::new(stream);
    while let Some((path, body)) = request(&mut reader) {
        log.lock().expect("nobody panicked").push((path.clone(), body.clone()));
        let (status, text) = match answer(&path, &body) {
            Reply::Json(value) => (200, value.to_string()),
            Reply::Text(text) => (200, text.to_owned()),
            Reply::Status(status) => (status, "no".to_owned()),
            Reply::Silence => {
                // Longer than any test waits.
                std::thread::sleep(Duration::from_secs(20));
                return;
            }
        };
        let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", text.len());
        let stream = reader.get_mut();
        let sent = stream.write_all(format!("{head}{text}").as_bytes());
        if sent.and_then(|()| stream.flush()).is_err() {
            return;
        }
    }
}

/// The next request of a connection; none when it ends.
fn request(reader: &mut impl BufRead) -> Option<(String, Value)> {
    let mut line = String::new();
    reader.read_line(&mut line).ok().filter(|&read| read > 0)?;
    let mut words = line.split_whitespace();
    assert_eq!(words.next(), Some("POST"), "{line}");
    let path = words.next()?.to_owned();
    let mut length = 0;
    loop {
        let mut header = String::new();
        reader.read_line(&mut header).ok()?;
        let header = header.trim().to_ascii_lowercase();
        if header.is_empty() {
            break;
        }
        if let Some(value) = header.strip_prefix("content-length:") {
            length = value.trim().parse().ok()?;
        }
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body).ok()?;
    Some((path, serde_json::from_slice(&body).expect("requests are JSON")))
}

/// Verbs by the names arguments have for them, with the path each gets here.
const PATHS: [(&str, &str); 12] = [
    ("onSessionOpen", "open"),
    ("onSessionClose", "close"),
    ("predicate", "predicate"),
    ("prioritize", "prioritize"),
    ("preemptable", "preemptable"),
    ("reclaimable", "reclaimable"),
    ("queueOverused", "overused"),
    ("jobEnqueueable", "enqueueable"),
    ("jobEnqueued", "enqueued"),
    ("jobReady", "ready"),
    ("allocateFunc", "allocate"),
    ("deallocateFunc", "deallocate"),
];

/// How a run is set up.
struct Setting<'a> {
    scheme: &'a str,
    address: SocketAddr,
    /// Verbs that are asked.
    verbs: &'a [&'a str],
    /// Further arguments, as they stand in a map.
    more: &'a str,
    actions: &'a str,
    /// The Scenario's fields.
    spec: &'a str,
}

impl<'a> Setting<'a> {
    fn of(server: &FakeServer, verbs: &'a [&'a str], spec: &'a str) -> Self {
        let actions = "enqueue, allocate, backfill";
        Self { scheme: "http", address: server.address, verbs, more: "", actions, spec }
    }

    /// Runs the Scenario to its end.
    fn play(&self) -> RunResult {
        let path = |verb: &str| PATHS.iter().find(|(name, _)| *name == verb).expect("a verb").1;
        let verbs = self.verbs.iter().map(|verb| format!(", extender.{verb}Verb: {}", path(verb)));
        let conf = format!(
            "actions: \"{}\"\ntiers:\n\
             - plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}, {{name: extender, \
             arguments: {{extender.urlPrefix: \"{}://{}/v1/\"{}{}}}}}]\n\
             - plugins: [{{name: predicates}}, {{name: proportion}}]\n",
            self.actions,
            self.scheme,
            self.address,
            verbs.collect::<String>(),
            self.more,
        );
        let parsed = config::parse(&config::registry(), "test.conf", &conf);
        let config = parsed.unwrap_or_else(|errors| panic!("{errors}")).config;
        let text = format!(
            "apiVersion: muster.sh/v1alpha1\nkind: Scenario\nmetadata: {{name: t}}\nspec:\n{}",
            self.spec
        );
        let scenario = load_text("test.yaml", &text).unwrap_or_else(|errors| panic!("{errors}"));
        let pool = Arc::new(ThreadPoolBuilder::new().num_threads(2).build().expect("threads"));
        run(&scenario, &config, &pool, Narration::Told, &mut |_, _| {})
    }
}

/// Where pods were bound: each with its node, in the order of decisions.
fn binds(result: &RunResult) -> Vec<String> {
    let decisions = result.cycles.iter().flat_map(|cycle| &cycle.decisions);
    let binds = decisions.filter(|decision| decision.op == DecisionOp::Bind);
    binds.map(|decision| format!("{} {}", decision.pod.name, decision.node)).collect()
}

/// Who was evicted.
fn evictions(result: &RunResult) -> Vec<String> {
    let decisions = result.cycles.iter().flat_map(|cycle| &cycle.decisions);
    let evictions = decisions.filter(|decision| decision.op == DecisionOp::Evict);
    evictions.map(|decision| decision.pod.name.to_string()).collect()
}

/// Why each pod waits at the end.
fn waits(result: &RunResult) -> Vec<String> {
    let waits = result.waits.iter();
    waits
        .map(|(pod, wait)| format!("{}: {}: {}", pod.name, wait.reason.as_str(), wait.message))
        .collect()
}

fn holds(result: &RunResult) {
    assert!(result.passed(), "{:?} {:?}", result.violations, result.expect);
}

/// Nodes `n0`, `n1` and so on of four cpus each, and a gang.
fn nodes_and_gang(nodes: u32, pods: u32) -> String {
    format!(
        "  cycles: 4\n  objects:\n  - {{kind: NodeSet, name: n, count: {nodes}, labels: {{rack: r1}}, allocatable: {{cpu: \"4\", memory: 16Gi}}}}\n  - {{kind: Gang, name: g, tasks: [{{role: w, replicas: {pods}, requests: {{cpu: \"1\"}}}}]}}\n"
    )
}
