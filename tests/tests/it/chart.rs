//! The chart: what Helm makes of it, that a real API server takes it, and that its service account
//! can do what Muster needs and nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use k8s_openapi::api::authorization::v1::{
    SelfSubjectRulesReview, SelfSubjectRulesReviewSpec, SubjectAccessReview,
};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Node, Pod, Secret};
use kube::api::{DeleteParams, EvictParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use muster_tests::chart::{Permission, listed_permissions, only, permissions, render};
use muster_tests::control_plane::{Options, Space, api_of, present, with_own, with_shared};
use muster_tests::process::{
    Muster, bound, group_status, has_condition, make_gang, pods, until, until_bound,
};
use muster_tests::source::read;
use serde_json::{Value, json};

use crate::PROGRAM;

/// The chart with its own values, or none if Helm is missing.
fn rendered(test: &str) -> Option<Vec<Value>> {
    present(test, render("muster", "muster-system", &[]))
}

#[test]
fn two_replicas_run_without_root_and_are_probed() {
    let Some(objects) = rendered("two replicas") else { return };
    let deployment = only(&objects, "Deployment");
    assert_eq!(deployment["spec"]["replicas"], 2);
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["serviceAccountName"], only(&objects, "ServiceAccount")["metadata"]["name"]);
    let container = &pod["containers"][0];
    assert_eq!(container["livenessProbe"]["httpGet"]["path"], "/healthz");
    assert_eq!(container["readinessProbe"]["httpGet"]["path"], "/readyz");
    assert_eq!(container["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
    assert_eq!(container["securityContext"]["readOnlyRootFilesystem"], true);
}

#[test]
fn every_object_has_the_release_s_name_and_labels() {
    let Some(objects) = rendered("names") else { return };
    let ours = objects.iter().filter(|object| object["kind"] != "CustomResourceDefinition");
    for object in ours {
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str().unwrap();
        let cluster_wide = metadata.get("namespace").is_none();
        let expected = if cluster_wide { "muster-system:muster" } else { "muster" };
        assert_eq!(name, expected, "{}", object["kind"]);
        assert_eq!(metadata["labels"]["app.kubernetes.io/instance"], "muster", "{name}");
    }
    let definitions = objects.iter().filter(|object| object["kind"] == "CustomResourceDefinition");
    assert_eq!(definitions.count(), 3);
    let Some(other) = present("names", render("night", "batch", &[])) else { return };
    assert_eq!(only(&other, "Deployment")["metadata"]["name"], "night-muster");
    assert_eq!(only(&other, "ClusterRole")["metadata"]["name"], "batch:night-muster");
}

#[test]
fn the_configuration_is_the_built_in_one() {
    let Some(objects) = rendered("configuration") else { return };
    let text = only(&objects, "ConfigMap")["data"]["muster.conf"].as_str().unwrap();
    assert_eq!(text, muster::config::DEFAULT_TEXT);
}

/// What the chart allows, cluster-wide and in its own namespace.
fn allowed(objects: &[Value]) -> BTreeSet<Permission> {
    let wide = permissions(&only(objects, "ClusterRole")["rules"]);
    wide.into_iter().chain(permissions(&only(objects, "Role")["rules"])).collect()
}

#[test]
fn no_rule_has_a_wildcard_and_pods_are_changed_only_on_demand() {
    let Some(objects) = rendered("rules") else { return };
    let allowed = allowed(&objects);
    assert!(!allowed.is_empty());
    for entry in &allowed {
        let texts = [&entry.group, &entry.resource, &entry.verb];
        assert!(texts.iter().all(|text| !text.contains('*')), "{entry:?}");
        assert_ne!(entry.resource, "secrets");
    }
    let patch_pods = |entry: &&Permission| entry.resource == "pods" && entry.verb == "patch";
    assert_eq!(allowed.iter().find(patch_pods), None);
    let values = ["rbac.annotatePods=true"];
    let Some(more) = present("rules", render("muster", "muster-system", &values)) else { return };
    let more: BTreeSet<_> = permissions(&only(&more, "ClusterRole")["rules"]);
    assert!(more.iter().any(|entry| patch_pods(&entry)));
}

#[test]
fn the_page_about_permissions_lists_those_of_the_chart() {
    let Some(objects) = rendered("page") else { return };
    let chart = allowed(&objects).into_iter();
    let chart: BTreeSet<_> = chart.map(|entry| (entry.group, entry.resource, entry.verb)).collect();
    assert_eq!(listed_permissions(), chart);
}

#[test]
fn the_image_is_built_with_the_pinned_toolchain_and_runs_without_root() {
    let file = read(Path::new("deploy/Containerfile"));
    let pinned = read(Path::new("rust-toolchain.toml"));
    let pinned = pinned.lines().find_map(|line| line.strip_prefix("channel = ")).unwrap();
    assert!(file.contains(&format!("rust:{}-", pinned.trim_matches('"'))), "{pinned}");
    let stages = file.lines().filter(|line| line.starts_with("FROM ")).count();
    assert_eq!(stages, 2, "what builds it is not shipped");
    let user = file.lines().find_map(|line| line.strip_prefix("USER ")).unwrap();
    let number: u32 = user.split(':').next().unwrap().parse().unwrap();
    assert_ne!(number, 0);
}

/// Applies every object of a chart released into the test's namespace.
async fn install(space: &Space<'_>, objects: &[Value]) {
    for object in objects {
        let params = PatchParams::apply("chart").force();
        let name = object["metadata"]["name"].as_str().expect("every object has a name");
        let api = api_of(space.client(), object);
        let applied = api.patch(name, &params, &Patch::Apply(object)).await;
        applied.unwrap_or_else(|error| panic!("{} {name}: {error}", object["kind"]));
    }
}

/// Installs the chart and gives a client of its service account.
async fn installed(space: &Space<'_>) -> Option<(Vec<Value>, Client)> {
    let release = space.namespace();
    let objects = present(release, render("muster", release, &[]))?;
    install(space, &objects).await;
    Some((objects, space.plane().service_account_client(release, "muster").await))
}

/// What the API server says an account may do in a namespace, without what every account may.
async fn granted(client: Client, namespace: &str) -> BTreeSet<Permission> {
    let api: Api<SelfSubjectRulesReview> = Api::all(client);
    let spec = SelfSubjectRulesReviewSpec { namespace: Some(namespace.to_owned()) };
    let review = SelfSubjectRulesReview { spec, ..Default::default() };
    let answer = api.create(&PostParams::default(), &review).await;
    let answer = answer.expect("everybody may ask about their own rules");
    let status = json!(answer.status);
    assert_ne!(status["incomplete"], true);
    let everybody = ["authentication.k8s.io", "authorization.k8s.io"];
    let all = permissions(&status["resourceRules"]).into_iter();
    all.filter(|entry| !everybody.contains(&entry.group.as_str())).collect()
}

#[test]
fn the_service_account_may_do_what_the_chart_says_and_nothing_else() {
    with_shared("chart-rules", async |space| {
        let Some((objects, client)) = installed(space).await else { return };
        assert_eq!(granted(client.clone(), space.namespace()).await, allowed(&objects));
        // Elsewhere it has no lease.
        let wide = permissions(&only(&objects, "ClusterRole")["rules"]);
        assert_eq!(granted(client, "kube-system").await, wide);
    });
}

#[test]
fn the_service_account_can_make_the_calls_of_a_scheduler() {
    with_shared("chart-calls", async |space| {
        let Some((_, client)) = installed(space).await else { return };
        space.create_nodes(1, json!({"cpu": "4", "pods": "10"})).await;
        let namespace = space.namespace();
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        for name in ["bound", "waits", "leaves"] {
            space.create_pod(name, "muster", json!({"cpu": "1"})).await;
        }
        let node = space.own("n0");
        let binding = json!({
            "apiVersion": "v1", "kind": "Binding",
            "metadata": {"name": "bound"}, "target": {"kind": "Node", "name": node},
        });
        let params = PostParams::default();
        let bound: kube::Result<Value> =
            pods.create_subresource("binding", "bound", &params, &binding).await;
        bound.unwrap();
        let patch = |status: Value| Patch::Strategic(json!({"status": status}));
        let waits = patch(json!({"nominatedNodeName": node, "conditions": [{
            "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "m",
        }]}));
        pods.patch_status("waits", &PatchParams::default(), &waits).await.unwrap();
        pods.evict("leaves", &EvictParams::default()).await.unwrap();
        pods.delete("bound", &DeleteParams::default()).await.unwrap();
        let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
        space.make(&leases, json!({"metadata": {"name": "muster"}})).await;
        let lease = leases.get("muster").await.unwrap();
        leases.replace("muster", &PostParams::default(), &lease).await.unwrap();
        let events: Api<Event> = Api::namespaced(client.clone(), namespace);
        let about = json!({"kind": "Pod", "name": "waits", "namespace": namespace});
        let event = json!({"metadata": {"name": "e"}, "involvedObject": about, "reason": "r"});
        space.make(&events, event).await;
        group_and_queue_get_a_status(space, client).await;
    });
}

async fn group_and_queue_get_a_status(space: &Space<'_>, client: Client) {
    let group = json!({"name": "g", "namespace": space.namespace()});
    let queue = json!({"name": space.own("q")});
    for (kind, metadata) in [("PodGroup", group), ("Queue", queue)] {
        let version = "scheduling.volcano.sh/v1beta1";
        let object = json!({"apiVersion": version, "kind": kind, "metadata": metadata});
        let made = space.make(&api_of(space.client(), &object), object.clone()).await;
        let name = made.metadata.name.as_deref().unwrap_or_default();
        let own = api_of(client.clone(), &object);
        let status = Patch::Merge(json!({"status": {"phase": "Running", "state": "Open"}}));
        let params = PatchParams::default();
        let patched = match kind {
            "PodGroup" => own.patch(name, &params, &status).await,
            _ => own.patch_status(name, &params, &status).await,
        };
        patched.unwrap_or_else(|error| panic!("{kind}: {error}"));
        assert_forbidden(kind, own.create(&PostParams::default(), &made).await);
    }
}

fn assert_forbidden<T>(what: &str, result: kube::Result<T>) {
    match result {
        Err(kube::Error::Api(status)) => assert_eq!(status.code, 403, "{what}: {status:?}"),
        Err(error) => panic!("{what}: {error}"),
        Ok(_) => panic!("{what} is allowed"),
    }
}

#[test]
fn the_service_account_cannot_read_secrets_or_change_what_is_not_its_own() {
    with_shared("chart-refused", async |space| {
        let Some((_, client)) = installed(space).await else { return };
        space.create_nodes(1, json!({"cpu": "4", "pods": "10"})).await;
        space.create_pod("p", "muster", json!({"cpu": "1"})).await;
        let (namespace, own) = (space.namespace(), PatchParams::default());
        let list = ListParams::default();
        let secrets: Api<Secret> = Api::all(client.clone());
        assert_forbidden("list secrets", secrets.list(&list).await);
        let maps: Api<ConfigMap> = Api::namespaced(client.clone(), namespace);
        assert_forbidden("list config maps", maps.list(&list).await);
        let label = Patch::Merge(json!({"metadata": {"labels": {"a": "b"}}}));
        let nodes: Api<Node> = Api::all(client.clone());
        assert_forbidden("patch node", nodes.patch(&space.own("n0"), &own, &label).await);
        let pods: Api<Pod> = Api::namespaced(client.clone(), namespace);
        assert_forbidden("patch pod", pods.patch("p", &own, &label).await);
        let leases: Api<Lease> = Api::namespaced(client.clone(), namespace);
        assert_forbidden("another's lease", leases.get("other").await);
        let elsewhere: Api<Lease> = Api::namespaced(client.clone(), "kube-system");
        assert_forbidden("leases elsewhere", elsewhere.get("muster").await);
        let reviews: Api<SubjectAccessReview> = Api::all(client);
        let review = json!({"spec": {"user": "admin", "nonResourceAttributes": {"path": "/"}}});
        let review = serde_json::from_value(review).unwrap();
        assert_forbidden("ask about others", reviews.create(&PostParams::default(), &review).await);
    });
}

/// Runs the program as the Deployment would, as the chart's service account and with its
/// configuration, followed by further lines.
async fn deployed(space: &Space<'_>, further: &str) -> Option<Muster> {
    let (objects, _) = installed(space).await?;
    let config = only(&objects, "ConfigMap")["data"]["muster.conf"].as_str();
    let file = space.plane().folder().join("muster.conf");
    let text = format!("{}{further}", config.expect("it has the file"));
    std::fs::write(&file, text).expect("the folder can be written");
    let container = &only(&objects, "Deployment")["spec"]["template"]["spec"]["containers"][0];
    let args = container["args"].as_array().expect("it has arguments");
    let args = args.iter().map(|arg| arg.as_str().expect("arguments are text"));
    assert!(args.clone().any(|arg| arg == "--scheduler-conf=/etc/muster/muster.conf"));
    // The file is elsewhere here, and ports of the machine may be taken.
    let elsewhere = ["run", "--scheduler-conf=", "--listen-address=", "--healthz-address="];
    let own = args.filter(|arg| !elsewhere.iter().any(|known| arg.starts_with(known)));
    let conf = format!("--scheduler-conf={}", file.display());
    let flags: Vec<&str> = own.chain([conf.as_str()]).collect();
    let account = space.plane().service_account_kubeconfig(space.namespace(), "muster").await;
    let muster = Muster::start_as(PROGRAM, space, "muster", &account, &flags);
    muster.ready().await;
    muster.says("this process leads").await;
    Some(muster)
}

#[test]
fn a_scheduler_with_no_other_permissions_schedules_gangs() {
    with_own("least-rights", Options::default(), async |space| {
        space.create_nodes(2, json!({"cpu": "10", "memory": "16Gi", "pods": "20"})).await;
        let queue = json!({
            "apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue",
            "metadata": {"name": "default"}, "spec": {"weight": 1},
        });
        let queues = api_of(space.client(), &queue);
        space.make(&queues, queue).await;
        let Some(muster) = deployed(space, "").await else { return };
        make_gang(space, "fits", 15, json!({"cpu": "1"})).await;
        make_gang(space, "waits", 15, json!({"cpu": "1"})).await;
        until_bound(space, "fits-", 15).await;
        let told = async || {
            let (fits, waits) =
                (group_status(space, "fits").await, group_status(space, "waits").await);
            let pod = pods(space).get("waits-0").await.unwrap().status?.conditions?;
            let why = pod.iter().any(|entry| entry.type_ == "PodScheduled");
            let queue = queues.get("default").await.unwrap();
            let used = queue.data["status"]["allocated"]["cpu"] == "15";
            let groups = fits["phase"] == "Running" && has_condition(&waits, "Unschedulable");
            (groups && why && used).then_some(())
        };
        until("all statuses are written", told).await;
        assert_eq!(bound(space, "waits-").await, 0);
        let events: Api<Event> = Api::namespaced(space.client(), space.namespace());
        let written = async || {
            let list = events.list(&ListParams::default()).await.unwrap();
            list.items
                .iter()
                .any(|event| event.reason.as_deref() == Some("Scheduled"))
                .then_some(())
        };
        until("an event tells of it", written).await;
        let log = muster.server().log();
        assert!(!log.contains("forbidden"), "{log}");
    });
}

#[test]
fn annotations_without_the_permission_name_the_value_that_gives_it() {
    with_own("no-notes", Options::default(), async |space| {
        space.create_nodes(1, json!({"cpu": "4", "memory": "16Gi", "pods": "20"})).await;
        let further = "pipeline: {persistence: annotations}\n";
        let Some(muster) = deployed(space, further).await else { return };
        make_gang(space, "old", 4, json!({"cpu": "1"})).await;
        until_bound(space, "old-", 4).await;
        // Nobody ends its containers: it leaves, and holds its room until it is gone.
        pods(space).delete("old-0", &DeleteParams::default()).await.unwrap();
        make_gang(space, "next", 1, json!({"cpu": "1"})).await;
        muster.says("rbac.annotatePods=true").await;
    });
}
