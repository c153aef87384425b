//! The example of a plugin of one's own: on a Scenario, in `check-config`, with bad arguments, and
//! against a real API server.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams};
use muster_tests::control_plane::{Options, Space, with_own};
use muster_tests::process::{
    Muster, group_status, make_priority_classes, make_ranked_gang, places, pods, set_running,
    until, until_bound,
};
use serde_json::{Value, json};

const PROGRAM: &str = env!("CARGO_BIN_EXE_own-plugin-under-test");
const PLAIN: &str = env!("CARGO_BIN_EXE_muster-under-test");

fn example(name: &str) -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../io/examples");
    folder.join(name).display().to_string()
}

fn run(program: &str, args: &[&str]) -> Output {
    Command::new(program).args(args).output().expect("the program can be started")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// What `check-config` says of the example's configuration with one text in place of another.
fn checked(from: &str, to: &str) -> Output {
    let conf = std::fs::read_to_string(example("own_plugin.conf")).expect("the example is there");
    assert!(conf.contains(from), "{from:?} is in {conf}");
    let name = format!("own-plugin-{}.conf", to.len());
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&file, conf.replace(from, to)).expect("the folder can be written");
    run(PROGRAM, &["check-config", &file.display().to_string()])
}

#[test]
fn its_scenario_passes_and_muster_alone_does_not_know_its_plugins() {
    let scenario = example("own_plugin.yaml");
    let own = run(PROGRAM, &["test", &scenario]);
    assert!(own.status.success(), "{}{}", text(&own.stdout), text(&own.stderr));
    let plain = run(PLAIN, &["test", &scenario]);
    assert_eq!(plain.status.code(), Some(2));
    let said = text(&plain.stdout);
    assert!(said.contains("there is no plugin `cheap-power`"), "{said}");
    assert!(said.contains("there is no plugin `quiet-namespaces`"), "{said}");
}

#[test]
fn check_config_has_words_for_its_plugins() {
    let output = run(PROGRAM, &["check-config", &example("own_plugin.conf")]);
    // Lines are wrapped at a column, not at a phrase.
    let said = text(&output.stdout).split_whitespace().collect::<Vec<_>>().join(" ");
    for phrase in [
        "Evicted by preempt: gangs, whole or their surplus, of the same queue for a job that cannot \
         start, where their priority is lower (priority), their namespace is not a quiet one \
         (quiet-namespaces)",
        "there the best by cheap power ×5 (cheap-power)",
        "- quiet-namespaces: pods of quiet namespaces are never evicted takes part in: victims of \
         preempt, victims of reclaim, victims of shuffle quiet-namespaces.names = [\"payments\"]: \
         namespaces whose pods are left alone",
        "- cheap-power: pods go where power is cheap takes part in: score of nodes \
         cheap-power.weight = 5: factor of its node score; 0 switches it off \
         cheap-power.label = example.com/power-price (default): label with the price",
    ] {
        assert!(said.contains(phrase), "{phrase}\nis not in\n{said}");
    }
}

#[test]
fn a_bad_argument_is_an_error_with_its_place() {
    let refused = |from: &str, to: &str| {
        let output = checked(from, to);
        assert_eq!(output.status.code(), Some(2), "{}", text(&output.stdout));
        let said = text(&output.stderr);
        said.split_once(".conf:").expect("the file is named").1.trim_end().to_owned()
    };
    assert_eq!(
        refused("cheap-power.weight: 5", "cheap-power.weight: heavy"),
        "13:27: tiers[1].plugins[1].arguments[\"cheap-power.weight\"]: expected a whole number of at \
         least 0, found the text \"heavy\""
    );
    assert_eq!(
        refused("cheap-power.weight: 5", "cheap-power.label: power price"),
        "13:26: tiers[1].plugins[1].arguments[\"cheap-power.label\"]: \"power price\" is no key of a \
         label; write for example example.com/power-price"
    );
    assert_eq!(
        refused("cheap-power.weight", "cheap-power.wieght"),
        "13:7: tiers[1].plugins[1].arguments[\"cheap-power.wieght\"]: cheap-power has no argument \
         `cheap-power.wieght`; did you mean `cheap-power.weight`?"
    );
    assert_eq!(
        refused("name: quiet-namespaces", "name: quiet-namespace"),
        "6:11: tiers[0].plugins[2].name: there is no plugin `quiet-namespace`; did you mean \
         `quiet-namespaces`?"
    );
}

/// The policy of the example with these quiet namespaces.
fn policy(quiet: &str) -> String {
    let conf = std::fs::read_to_string(example("own_plugin.conf")).expect("the example is there");
    conf.replace("[payments]", quiet)
}

/// Three nodes of one pod each, with power for 50, 10 and 90.
async fn make_nodes(space: &Space<'_>) {
    space.create_nodes(3, json!({"cpu": "4", "memory": "16Gi", "pods": "10"})).await;
    let nodes: Api<Node> = Api::all(space.client());
    for (at, price) in ["50", "10", "90"].into_iter().enumerate() {
        let labels = json!({"metadata": {"labels": {"example.com/power-price": price}}});
        let name = space.own(&format!("n{at}"));
        let patched = nodes.patch(&name, &PatchParams::default(), &Patch::Merge(&labels)).await;
        patched.expect("the node is there");
    }
    make_priority_classes(space).await;
}

/// Places a gang and has it run, and says on which of the nodes its only pod is.
async fn node_of(space: &Space<'_>, gang: &str) -> String {
    make_ranked_gang(space, gang, (1, 1), "low").await;
    until_bound(space, &format!("{gang}-"), 1).await;
    let name = format!("{gang}-0");
    set_running(space, &name).await;
    let node = places(space, &name).await.remove(&name).flatten().expect("it is bound");
    node.strip_prefix(&space.own("")).expect("a node of the test").to_owned()
}

fn messages(status: &Value) -> String {
    let conditions = status["conditions"].as_array().map(Vec::as_slice).unwrap_or_default();
    conditions.iter().filter_map(|entry| entry["message"].as_str()).collect::<Vec<_>>().join("\n")
}

#[test]
fn its_plugins_decide_on_a_real_cluster_and_follow_the_file() {
    with_own("own-plugin", Options::default(), async |space| {
        make_nodes(space).await;
        let file = space.plane().folder().join("own.conf");
        let write = |text: &str| std::fs::write(&file, text).expect("the folder can be written");
        write(&policy(&format!("[{}]", space.namespace())));
        let path = file.display().to_string();
        let muster = Muster::started(PROGRAM, space, &["--scheduler-conf", &path]).await;
        assert_eq!(node_of(space, "first").await, "n1", "the cheapest");
        assert_eq!(node_of(space, "second").await, "n0", "the cheapest that is left");
        make_ranked_gang(space, "high", (2, 2), "high").await;
        until("the plugin spares both", async || {
            messages(&group_status(space, "high").await).contains("quiet-namespaces").then_some(())
        })
        .await;
        write(&policy("[payments]").replace("weight: 5", "weight: heavy"));
        muster.says("expected a whole number of at least 0, found the text \"heavy\"").await;
        write(&policy("[payments]"));
        until("one of them is asked to leave", async || {
            let leaves = async |name: &str| {
                let pod = pods(space).get(name).await.ok()?;
                pod.metadata.deletion_timestamp
            };
            let left = [leaves("first-0").await, leaves("second-0").await];
            left.iter().any(Option::is_some).then_some(())
        })
        .await;
    });
}
