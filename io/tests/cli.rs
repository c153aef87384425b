//! The command line as scripts see it: exit codes, and standard output that holds the result alone.

#![expect(clippy::unwrap_used, reason = "a test ends where something is not as it must be")]

use std::io::Read;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

fn muster(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_muster")).args(args).output().unwrap()
}

fn code(output: &Output) -> i32 {
    output.status.code().unwrap()
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).unwrap()
}

fn stderr(output: &Output) -> String {
    String::from_utf8(output.stderr.clone()).unwrap()
}

/// A file of this test alone.
fn file(name: &str, text: &str) -> PathBuf {
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// One node with four cpus, one gang of three pods with one cpu each.
fn scenario(expect: &str) -> String {
    format!(
        r#"
apiVersion: muster.sh/v1alpha1
kind: Scenario
metadata: {{name: small}}
spec:
  cycles: 4
  objects:
  - {{kind: NodeSet, name: n, count: 1, allocatable: {{cpu: "4", memory: 16Gi}}}}
  - kind: Gang
    name: job
    tasks:
    - {{role: worker, replicas: 3, requests: {{cpu: "1"}}}}
  expect:
  - {expect}
"#
    )
}

const HOLDS: &str = "bound: {gang: default/job, pods: 3}";
const FAILS: &str = "bound: {gang: default/job, pods: 4}";

#[test]
fn json_is_one_document_with_the_keys_of_the_contract() {
    let path = file("json.yaml", &scenario(HOLDS));
    let output = muster(&["simulate", path.to_str().unwrap(), "-o", "json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let keys: Vec<&String> = document.as_object().unwrap().keys().collect();
    let known = ["cycles", "pods", "jobs", "queues", "invariants", "expect", "setAside"];
    assert_eq!(keys[..7], known);
    assert_eq!(keys[7..], ["reservations"]);
    assert_eq!(document["cycles"].as_array().unwrap().len(), 4);
    let first = &document["cycles"][0];
    assert_eq!((&first["cycle"], &first["time"]), (&1.into(), &"0s".into()));
    assert_eq!(first["decisions"][0]["op"], "bind");
    assert_eq!(first["decisions"][0]["job"], "default/job");
    let pod = &document["pods"]["default/job-worker-0"];
    assert_eq!(
        pod.to_string(),
        r#"{"status":"Running","node":"n0","nominatedNode":null,"evictions":0}"#
    );
    assert_eq!(document["jobs"]["default/job"]["minAvailable"], 3);
    assert_eq!(document["queues"]["default"]["allocated"]["cpu"], "3");
    assert_eq!(document["invariants"].as_object().unwrap().len(), 8);
    assert_eq!(document["expect"][0]["pass"], true);
}

#[test]
fn the_same_input_gives_the_same_bytes_but_for_durations() {
    let path = file("same.yaml", &scenario(HOLDS));
    let run = |threads: &str| {
        let output =
            muster(&["simulate", path.to_str().unwrap(), "-o", "json", "--threads", threads]);
        let mut document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
        for cycle in document["cycles"].as_array_mut().unwrap() {
            cycle.as_object_mut().unwrap().remove("durationUs").unwrap();
        }
        document.to_string()
    };
    assert_eq!(run("1"), run("3"));
}

#[test]
fn a_failed_expectation_is_exit_code_one() {
    let path = file("fails.yaml", &scenario(FAILS));
    let path = path.to_str().unwrap();
    assert_eq!(code(&muster(&["simulate", path])), 1);
    let output = muster(&["test", path]);
    assert_eq!(code(&output), 1);
    let text = stdout(&output);
    assert!(text.contains("✗ small") && text.contains("got 3 bound"), "{text}");
    assert!(text.contains("0 passed, 1 failed"), "{text}");
}

#[test]
fn a_scenario_that_holds_is_one_line_and_exit_code_zero() {
    let path = file("holds.yaml", &scenario(HOLDS));
    let output = muster(&["test", path.to_str().unwrap()]);
    assert_eq!(code(&output), 0);
    let text = stdout(&output);
    assert!(text.starts_with("✓ small  4 cycles  "), "{text}");
    assert!(text.contains("1 Scenario: 1 passed"), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours in a pipe");
}

#[test]
fn test_results_for_machines_list_every_scenario() {
    let path = file("machine.yaml", &scenario(FAILS));
    let output = muster(&["test", path.to_str().unwrap(), "-o", "json"]);
    assert_eq!(code(&output), 1);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let line = &document["scenarios"][0];
    let keys: Vec<&String> = line.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["name", "file", "pass", "cycles", "expect", "invariants", "error"]);
    assert_eq!((&line["name"], &line["pass"]), (&"small".into(), &false.into()));
    assert_eq!((&document["passed"], &document["failed"]), (&0.into(), &1.into()));
}

/// The small Scenario with these variants.
fn varied(name: &str, variants: &str) -> String {
    let text = scenario(HOLDS) + &format!("  variants: [{variants}]\n");
    file(name, &text).to_str().unwrap().to_owned()
}

#[test]
fn each_variant_is_a_case_of_its_own() {
    let path = varied("varied.yaml", "{name: plain}, {name: lone, actions: allocate}");
    let text = stdout(&muster(&["test", &path]));
    assert!(text.contains("✓ small (plain)  4 cycles"), "{text}");
    assert!(text.contains("✓ small (lone)  4 cycles"), "{text}");
    assert!(text.contains("2 Scenarios: 2 passed"), "{text}");
    let output = muster(&["test", &path, "-o", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cases = document["scenarios"].as_array().unwrap();
    let names: Vec<_> = cases.iter().map(|case| (&case["name"], &case["variant"])).collect();
    let (plain, lone) = ((&"small (plain)".into(), &"plain".into()), ("small (lone)", "lone"));
    assert_eq!(names, [plain, (&lone.0.into(), &lone.1.into())]);
}

#[test]
fn simulate_runs_the_variant_it_is_asked_for() {
    let path = varied("chosen.yaml", "{name: plain}, {name: idle, actions: enqueue}");
    let output = muster(&["simulate", &path]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("small (plain)") && text.contains("--variant names another"), "{text}");
    let output = muster(&["simulate", &path, "--variant", "idle"]);
    assert_eq!(code(&output), 1, "nobody allocates");
    assert!(!stdout(&output).contains("--variant"), "{}", stdout(&output));
    let output = muster(&["simulate", &path, "--variant", "idel"]);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("did you mean idle?"), "{}", stderr(&output));
    assert_eq!(code(&muster(&["simulate", "--variant", "idle"])), 2, "of which file?");
}

#[test]
fn a_configuration_a_variant_spoils_names_the_variant_and_the_field() {
    let path = varied("spoilt.yaml", "{name: a, plugins: [{name: gang, enableJobOrdr: false}]}");
    let output = muster(&["test", &path]);
    assert_eq!(code(&output), 2);
    let text = stdout(&output);
    let place = "spoilt.yaml: document 1: spec.variants[0]: spec.config: tiers[0].plugins[1]";
    assert!(text.contains(place), "{text}");
    assert!(text.contains("did you mean `enableJobOrder`?"), "{text}");
}

#[test]
fn bad_input_is_exit_code_two_and_names_the_file() {
    let path = file("bad.yaml", &scenario(HOLDS).replace("replicas: 3", "replicas: many"));
    for command in ["simulate", "test"] {
        let output = muster(&[command, path.to_str().unwrap()]);
        assert_eq!(code(&output), 2);
        assert_eq!(stdout(&output), "");
        let text = stderr(&output);
        assert!(text.contains("bad.yaml") && text.contains("replicas"), "{text}");
    }
    assert_eq!(code(&muster(&["simulate", "no-such-file.yaml"])), 2);
}

#[test]
fn a_bad_configuration_is_exit_code_two() {
    let path = file("conf.yaml", &scenario(HOLDS));
    let conf = file("bad.conf", "actions: \"alocate\"\n");
    let args = ["simulate", path.to_str().unwrap(), "--config", conf.to_str().unwrap()];
    let output = muster(&args);
    assert_eq!(code(&output), 2);
    assert!(stderr(&output).contains("alocate"), "{}", stderr(&output));
    assert_eq!(code(&muster(&["check-config", conf.to_str().unwrap()])), 2);
    let good = file("good.conf", "actions: \"enqueue, allocate\"\ntiers: []\n");
    assert_eq!(code(&muster(&["check-config", good.to_str().unwrap()])), 0);
}

#[test]
fn an_object_that_makes_no_sense_is_set_aside_and_the_rest_runs() {
    let text = scenario(HOLDS)
        .replace("  objects:\n", "  objects:\n  - {kind: QueueSpec, name: q, weight: -1}\n");
    let path = file("aside.yaml", &text);
    let output = muster(&["simulate", path.to_str().unwrap(), "-o", "json"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(
        document["setAside"].to_string(),
        r#"[{"object":"Queue q","reason":"spec.weight: -1 is not a weight; expected 1 to 65535"}]"#
    );
    assert_eq!(document["jobs"]["default/job"]["conditions"][0]["type"], "Scheduled");
    assert!(stderr(&output).contains("warning: Queue q is set aside: spec.weight"));
    let table = stdout(&muster(&["simulate", path.to_str().unwrap()]));
    assert!(table.contains("Set aside\n  ✗ Queue q: spec.weight: -1 is not a weight"), "{table}");
}

#[test]
fn a_test_run_warns_once_about_what_its_policies_ask_in_vain() {
    let argument = "{name: predicates, arguments: {predicate.CacheEnable: true}}";
    let config = format!(
        "spec:\n  config: |\n    actions: allocate\n    tiers: [{{plugins: [{{name: gang}}, {argument}]}}]\n"
    );
    let text = scenario(HOLDS).replace("spec:\n", &config);
    let (one, two) = (file("idle-1.yaml", &text), file("idle-2.yaml", &text));
    let output = muster(&["test", one.to_str().unwrap(), two.to_str().unwrap()]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let said = "warning: predicate.CacheEnable of predicates has no effect: equal pods are always judged once\n";
    assert_eq!(stderr(&output).matches(said).count(), 1, "{}", stderr(&output));
}

#[test]
fn wrong_usage_is_exit_code_two() {
    for args in [
        &["test"][..],
        &["simulate", "--cycles", "0"],
        &["simulate", "-o", "xml"],
        &["dance"],
        &["explain", "default/p"],
    ] {
        let output = muster(args);
        assert_eq!(code(&output), 2, "{args:?}");
        assert_eq!(stdout(&output), "", "{args:?}");
    }
}

#[test]
fn cycles_on_the_command_line_win() {
    let path = file("cycles.yaml", &scenario(HOLDS));
    let output = muster(&["simulate", path.to_str().unwrap(), "-o", "json", "--cycles", "7"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(document["cycles"].as_array().unwrap().len(), 7);
}

#[test]
fn a_run_without_fixed_length_ends_when_nothing_changes() {
    let path = file("quiet.yaml", &scenario(HOLDS).replace("  cycles: 4\n", ""));
    let output = muster(&["simulate", path.to_str().unwrap(), "-o", "json"]);
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let cycles = document["cycles"].as_array().unwrap();
    let eventful =
        cycles.iter().filter(|cycle| cycle["decisions"] != serde_json::json!([])).count();
    assert_eq!(eventful, 1);
    assert!((4..=8).contains(&cycles.len()), "{} cycles", cycles.len());
}

#[test]
fn the_demonstration_tells_who_waits_and_why() {
    let output = muster(&["simulate"]);
    assert_eq!(code(&output), 0, "{}", stderr(&output));
    let text = stdout(&output);
    assert!(text.contains("default/big-train waits:"), "{text}");
    assert!(text.contains("node late0 joins"), "{text}");
    assert!(text.contains("binds 6 pods of default/big-train"), "{text}");
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_muster"))
        .args(["simulate", "-o", "json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut text = String::new();
    child.stderr.take().unwrap().read_to_string(&mut text).unwrap();
    let status = child.wait().unwrap();
    assert!(!text.contains("panicked"), "{text}");
    assert_eq!(status.code(), Some(0), "{text}");
}
