//! The scheduler as a process of its own, and gangs for it to schedule on a real API server.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::scheduling::v1::PriorityClass;
use kube::Api;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::core::{ApiResource, DynamicObject, GroupVersionKind};
use serde_json::{Value, json};

use crate::control_plane::{Server, Space, TEST_LABEL, User};

/// Name of the scheduler the pods of these tests ask for.
pub const SCHEDULER: &str = "muster";

/// Longest wait for something that must happen; a test that waits so long has failed.
const PATIENCE: Duration = Duration::from_mins(2);

/// A running scheduler. Dropping it kills it, as a crash would.
pub struct Muster {
    server: Server,
}

impl Muster {
    /// Starts the program with these flags, beside those every test wants: any free port, and no
    /// election unless asked for.
    pub fn start(program: &str, space: &Space<'_>, name: &str, flags: &[&str]) -> Self {
        let kubeconfig = space.plane().kubeconfig(User::Admin);
        Self::start_as(program, space, name, &kubeconfig, flags)
    }

    /// Starts the program and waits until it is ready.
    pub async fn started(program: &str, space: &Space<'_>, flags: &[&str]) -> Self {
        let muster = Self::start(program, space, "muster", flags);
        muster.ready().await;
        muster
    }

    /// The same as [`Self::start`] for somebody who may not do everything: whoever that file is for.
    pub fn start_as(
        program: &str,
        space: &Space<'_>,
        name: &str,
        kubeconfig: &Path,
        flags: &[&str],
    ) -> Self {
        let mut command = Command::new(program);
        command.arg("run").arg("--kubeconfig").arg(kubeconfig);
        command.args(["--listen-address", "127.0.0.1:0", "--healthz-address", "127.0.0.1:0"]);
        command.args(["--threads", "1"]);
        if !flags.iter().any(|flag| flag.starts_with("--leader-elect")) {
            command.arg("--leader-elect=false");
        }
        command.args(flags);
        Self { server: space.plane().start_program(name, command) }
    }

    /// The process, to be paused, resumed or asked to end.
    pub fn server(&self) -> &Server {
        &self.server
    }

    /// Waits until it has read all there is.
    pub async fn ready(&self) {
        let said = || self.server.log().contains("all first lists are read");
        until("the scheduler has read all lists", async || said().then_some(())).await;
    }

    /// Waits until it says this in its log.
    pub async fn says(&self, words: &str) {
        let said = || self.server.log().contains(words);
        until(words, async || said().then_some(())).await;
    }

    /// Waits until it has ended by itself.
    pub async fn ended(&mut self) {
        let server = &mut self.server;
        let begun = Instant::now();
        while !Server::has_ended(server) {
            assert!(begun.elapsed() < PATIENCE, "it does not end: {}", server.log());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// What it answers to a GET: status and body.
    pub fn get(&self, path: &str) -> (u16, String) {
        let health = ["/healthz", "/readyz"].contains(&path);
        let address = self.address(if health { "health: true" } else { "metrics: true" });
        let mut stream = TcpStream::connect(address).expect("it listens");
        write!(stream, "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n")
            .expect("it reads");
        let mut answer = Vec::new();
        stream.read_to_end(&mut answer).expect("it answers");
        let answer = String::from_utf8_lossy(&answer).into_owned();
        let status = answer.split(' ').nth(1).and_then(|word| word.parse().ok());
        let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
        (status.unwrap_or(0), body.to_owned())
    }

    fn address(&self, topic: &str) -> SocketAddr {
        let log = self.server.log();
        let line = log.lines().find(|line| line.contains("listening") && line.contains(topic));
        let text = line.and_then(|line| line.split("address=").nth(1));
        let text = text.and_then(|text| text.split(' ').next());
        text.and_then(|text| text.parse().ok()).unwrap_or_else(|| panic!("no address in {log}"))
    }

    /// The sum of a metric over all its labels; zero for one that has none yet, but it must exist.
    pub fn metric(&self, name: &str) -> f64 {
        let (_, text) = self.get("/metrics");
        let family = name.split('{').next().unwrap_or(name).trim_end_matches("_total");
        assert!(text.contains(&format!("# TYPE {family} ")), "there is no metric {family}");
        let lines = text.lines().filter(|line| {
            line.strip_prefix(name).is_some_and(|rest| rest.starts_with(['{', ' ']))
        });
        lines.filter_map(|line| line.rsplit(' ').next()?.parse::<f64>().ok()).sum()
    }
}

/// With this in the environment whatever the scheduler says is shown in the end.
const SHOW: &str = "MUSTER_TEST_LOG";

impl Drop for Muster {
    fn drop(&mut self) {
        if std::env::var_os(SHOW).is_some() || std::thread::panicking() {
            eprintln!("---- {} said:\n{}", self.server.name(), self.server.log());
        }
    }
}

/// Waits for something that must happen.
pub async fn until<T>(what: &str, mut look: impl AsyncFnMut() -> Option<T>) -> T {
    let begun = Instant::now();
    loop {
        if let Some(found) = look().await {
            return found;
        }
        assert!(begun.elapsed() < PATIENCE, "waited in vain: {what}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// The objects of a kind of our own definitions.
pub fn custom(kind: &str, plural: &str) -> ApiResource {
    let (group, version) = match kind {
        "HyperNode" => ("topology.volcano.sh", "v1alpha1"),
        _ => ("scheduling.volcano.sh", "v1beta1"),
    };
    ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(group, version, kind), plural)
}

/// PodGroups of the test.
pub fn pod_groups(space: &Space<'_>) -> Api<DynamicObject> {
    let kind = custom("PodGroup", "podgroups");
    Api::namespaced_with(space.client(), space.namespace(), &kind)
}

/// Pods of the test.
pub fn pods(space: &Space<'_>) -> Api<Pod> {
    Api::namespaced(space.client(), space.namespace())
}

/// Makes a PodGroup.
pub async fn make_group(space: &Space<'_>, name: &str, spec: Value) {
    let group = json!({
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name, "namespace": space.namespace()},
        "spec": spec,
    });
    space.make(&pod_groups(space), group).await;
}

/// Makes a pod of a gang that may use the test's own nodes only.
pub async fn make_member(space: &Space<'_>, gang: &str, at: usize, requests: &Value) {
    space.make(&pods(space), member(space, gang, at, requests)).await;
}

fn member(space: &Space<'_>, gang: &str, at: usize, requests: &Value) -> Value {
    json!({
        "metadata": {
            "name": format!("{gang}-{at}"),
            "namespace": space.namespace(),
            "annotations": {"scheduling.k8s.io/group-name": gang},
        },
        "spec": {
            "schedulerName": SCHEDULER,
            "nodeSelector": {TEST_LABEL: space.namespace()},
            "containers": [
                {"name": "main", "image": "none", "resources": {"requests": requests}},
            ],
        },
    })
}

/// What most pods of tests ask for.
pub fn one_cpu() -> Value {
    json!({"cpu": "1"})
}

/// Makes a gang: a PodGroup that needs all its pods, and the pods.
pub async fn make_gang(space: &Space<'_>, name: &str, members: usize, requests: Value) {
    make_group(space, name, json!({"minMember": members})).await;
    for at in 0..members {
        make_member(space, name, at, &requests).await;
    }
}

/// A policy under which whole gangs evict for a more important one.
pub const PREEMPT: &str = r#"
actions: "enqueue, allocate, preempt, backfill"
configurations: [{name: preempt, arguments: {gangAwareEnable: true}}]
tiers:
- plugins: [{name: priority}, {name: gang, enablePreemptable: false}, {name: conformance}]
- plugins: [{name: predicates}, {name: nodeorder}]
"#;

/// Makes the priority classes `low` and `high`.
pub async fn make_priority_classes(space: &Space<'_>) {
    let classes: Api<PriorityClass> = Api::all(space.client());
    for (name, value) in [("low", 1), ("high", 100)] {
        space.make(&classes, json!({"metadata": {"name": name}, "value": value})).await;
    }
}

/// Makes a gang of a priority class that needs `least` of its pods, which take four CPUs each.
pub async fn make_ranked_gang(
    space: &Space<'_>,
    name: &str,
    (members, least): (usize, usize),
    class: &str,
) {
    make_group(space, name, json!({"minMember": least, "priorityClassName": class})).await;
    for at in 0..members {
        let mut pod = member(space, name, at, &json!({"cpu": "4"}));
        pod["spec"]["priorityClassName"] = class.into();
        space.make(&pods(space), pod).await;
    }
}

/// Says that a pod runs, as a kubelet does.
pub async fn set_running(space: &Space<'_>, name: &str) {
    let status = json!({"status": {"phase": "Running"}});
    let patch = Patch::Strategic(&status);
    let patched = pods(space).patch_status(name, &PatchParams::default(), &patch).await;
    patched.expect("the pod is there");
}

/// Where the pods of the test are whose name begins so; `None` for those that wait.
pub async fn places(space: &Space<'_>, prefix: &str) -> BTreeMap<String, Option<String>> {
    let list = pods(space).list(&ListParams::default()).await.expect("pods can be listed");
    let entries = list.items.into_iter().filter_map(|pod| {
        let name = pod.metadata.name?;
        let node = pod.spec.and_then(|spec| spec.node_name);
        name.starts_with(prefix).then_some((name, node))
    });
    entries.collect()
}

/// How many of those pods have a node.
pub async fn bound(space: &Space<'_>, prefix: &str) -> usize {
    places(space, prefix).await.values().flatten().count()
}

/// Waits until so many of those pods have a node.
pub async fn until_bound(space: &Space<'_>, prefix: &str, count: usize) {
    let what = format!("{count} pods {prefix}… are bound");
    until(&what, async || (bound(space, prefix).await >= count).then_some(())).await;
}

/// The status of a PodGroup.
pub async fn group_status(space: &Space<'_>, name: &str) -> Value {
    let group = pod_groups(space).get(name).await.expect("the group is there");
    group.data["status"].clone()
}

/// Does the PodGroup have that condition?
pub fn has_condition(status: &Value, kind: &str) -> bool {
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().any(|entry| entry["type"] == kind && entry["status"] == "True")
}

/// Takes a pod away at once, as a kubelet does when its containers have ended.
pub async fn finish_off(space: &Space<'_>, name: &str) {
    let now = DeleteParams::default().grace_period(0);
    pods(space).delete(name, &now).await.expect("the pod is there");
}

/// Checks that no node holds more pods than fit, when so many fit on each.
pub async fn check_room(space: &Space<'_>, per_node: usize) {
    let mut by_node: BTreeMap<String, usize> = BTreeMap::new();
    for node in places(space, "").await.into_values().flatten() {
        *by_node.entry(node).or_default() += 1;
    }
    let full = by_node.values().all(|&count| count <= per_node);
    assert!(full, "{by_node:?}, at most {per_node} fit on each");
}
