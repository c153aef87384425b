//! The loop with the real scheduler in it: when it ends, what it lets happen when, what it checks.

use std::sync::Arc;

use muster_core::intent::DecisionOp;
use rayon::ThreadPoolBuilder;

use super::super::load::load_text;
use super::{Narration, RunResult, run};

fn play(spec: &str) -> RunResult {
    let text = format!(
        "apiVersion: muster.sh/v1alpha1\nkind: Scenario\nmetadata: {{name: t}}\nspec:\n{spec}"
    );
    let scenario = load_text("test.yaml", &text).unwrap();
    let config = match &scenario.config {
        Some(text) => {
            crate::config::parse(&crate::config::registry(), "test.conf", text).unwrap().config
        }
        None => crate::config::default_config().config,
    };
    let pool = Arc::new(ThreadPoolBuilder::new().num_threads(1).build().unwrap());
    run(&scenario, &config, &pool, Narration::Told, &mut |_, _| {})
}

/// Cycles that bound something.
fn bind_cycles(result: &RunResult) -> Vec<u32> {
    let binds = |decision: &muster_core::intent::Decision| decision.op == DecisionOp::Bind;
    let bound = result.cycles.iter().filter(|record| record.decisions.iter().any(binds));
    bound.map(|record| record.cycle).collect()
}

const ONE_NODE: &str =
    "  - {kind: NodeSet, name: n, count: 1, allocatable: {cpu: \"4\", memory: 16Gi}}\n";

fn job(name: &str, pods: u32) -> String {
    format!(
        "  - {{kind: Gang, name: {name}, tasks: [{{role: w, replicas: {pods}, requests: {{cpu: \"1\"}}}}]}}\n"
    )
}

#[test]
fn exactly_as_many_cycles_as_asked_for() {
    let result = play(&format!("  cycles: 9\n  objects:\n{ONE_NODE}{}", job("a", 2)));
    assert_eq!(result.cycles.len(), 9);
    assert!(result.passed(), "{:?}", result.violations);
    assert_eq!(result.cycles[8].time_ms, 8000);
}

#[test]
fn an_empty_cluster_ends_after_the_first_change_and_three_quiet_cycles() {
    let result = play("  objects: []\n");
    assert_eq!(result.cycles.len(), 4);
}

#[test]
fn a_coming_entry_keeps_the_run_going() {
    let timeline = "  timeline:\n  - at: 20s\n    apply:\n    - {kind: NodeSet, name: m, count: 1, allocatable: {cpu: \"4\"}}\n";
    let result = play(&format!("  objects:\n{}{timeline}", job("a", 2)));
    assert_eq!(bind_cycles(&result), [21]);
    let cycles = result.cycles.len();
    assert!((24..30).contains(&cycles), "{cycles} cycles");
}

#[test]
fn a_leaving_pod_keeps_the_run_going_but_one_that_never_leaves_does_not() {
    let spec = |terminate: &str| {
        format!(
            "  kubelet: {{terminate: {terminate}}}\n  objects:\n{ONE_NODE}  - {{kind: Gang, name: old, tasks: [{{role: w, replicas: 1, requests: {{cpu: \"1\"}}, nodes: [n0]}}]}}\n  timeline:\n  - {{at: 0s, delete: [{{kind: Pod, name: old-w-0}}]}}\n"
        )
    };
    assert!(play(&spec("30s")).cycles.len() > 30);
    assert!(play(&spec("never")).cycles.len() < 10);
}

#[test]
fn entries_between_two_cycles_take_effect_before_the_next() {
    let timeline = "  timeline:\n  - at: 2500ms\n    apply:\n    - {kind: NodeSet, name: m, count: 1, allocatable: {cpu: \"4\"}}\n";
    let result = play(&format!("  cycles: 8\n  objects:\n{}{timeline}", job("a", 2)));
    assert_eq!(bind_cycles(&result), [4]);
    assert_eq!(result.cycles[3].happenings, ["node m0 joins"]);
}

#[test]
fn a_restart_forgets_memory_and_keeps_the_cluster() {
    let result = play(&format!(
        "  cycles: 8\n  objects:\n{ONE_NODE}{}{}  timeline:\n  - {{at: 3s, restart: true}}\n",
        job("a", 3),
        job("b", 3)
    ));
    assert_eq!(bind_cycles(&result), [1], "nothing is bound twice after the restart");
    assert!(result.cycles[3].happenings[0].contains("restarts"));
    assert!(result.passed(), "{:?}", result.violations);
}

#[test]
fn a_failed_binding_is_told_and_tried_again() {
    let result = play(&format!(
        "  cycles: 30\n  objects:\n{ONE_NODE}{}  timeline:\n  - {{at: 0s, failBind: [{{pod: default/a-w-0, times: 1}}]}}\n",
        job("a", 1)
    ));
    assert!(bind_cycles(&result).len() == 2, "{:?}", bind_cycles(&result));
    let told = result.cycles.iter().flat_map(|record| &record.happenings);
    assert!(told.into_iter().any(|line| line.contains("binding default/a-w-0 failed")));
    assert!(result.passed(), "{:?}", result.violations);
}

#[test]
fn an_expectation_about_a_cycle_is_judged_after_it() {
    let timeline = "  timeline:\n  - at: 3s\n    apply:\n    - {kind: NodeSet, name: m, count: 1, allocatable: {cpu: \"4\"}}\n";
    let expect = "  expect:\n  - bound: {gang: default/a, pods: 0, cycle: 3}\n  - bound: {gang: default/a, pods: 2, cycle: 4}\n  - bound: {gang: default/a, pods: 2}\n  - bound: {gang: default/a, pods: 2, cycle: 99}\n";
    let spec = format!("  objects:\n{}{timeline}{expect}", job("a", 2));
    let result = play(&spec);
    assert!(result.expect.iter().all(|verdict| verdict.pass), "{:?}", result.expect);

    let cut = play(&format!("  cycles: 6\n{spec}"));
    assert_eq!(cut.expect[3].got, "the run ended after cycle 6");
    assert!(!cut.expect[3].pass && cut.expect[2].pass);
}

#[test]
fn a_job_that_waits_is_told_once() {
    let result = play(&format!("  cycles: 6\n  objects:\n{ONE_NODE}{}", job("big", 9)));
    let waits: Vec<&String> = result.cycles.iter().flat_map(|record| &record.waits).collect();
    assert_eq!(waits.len(), 1, "{waits:?}");
    assert!(waits[0].starts_with("default/big waits: "));
}

#[test]
fn invariants_that_are_off_are_not_checked() {
    let result = play(&format!("  cycles: 2\n  invariants: off\n  objects:\n{ONE_NODE}"));
    assert_eq!(result.violations, None);
}
