//! The acceptance Scenarios, through the real loader, runner and judge.
//!
//! Some Scenarios are ahead of the code. [`WAITING`] names each of them with what it waits for; every
//! other Scenario must pass, and one that passes must not be listed.

use std::path::{Path, PathBuf};

use muster::config;
use muster::sim::load::load_all;
use muster::sim::report::write_json;
use muster::sim::run::{Narration, RunResult, run};
use muster::sim::scenario::Scenario;
use muster_tests::policy::pool;

const EVICTION: &str = "preempt and reclaim";

/// Scenarios that are ahead of the code, by path below `tests/scenarios`.
const WAITING: &[(&str, &str)] = &[
    ("bundles/broken-gang-first", EVICTION),
    ("bundles/elastic-ignores-roles", EVICTION),
    ("bundles/one-gang-not-ten", EVICTION),
    ("bundles/roi-local-beats-spread", EVICTION),
    ("bundles/roi-many-small", EVICTION),
    ("bundles/roi-spares-the-gpu-job", EVICTION),
    ("bundles/roi-tie-goes-to-priority", EVICTION),
    ("bundles/roles-keep-their-minimum", EVICTION),
    ("bundles/safe-before-whole", EVICTION),
    ("bundles/surplus-goes-first", EVICTION),
    ("bundles/whole-gang-veto", EVICTION),
    ("pipeline/nominated-node-gone", EVICTION),
    ("pipeline/one-victim-while-it-leaves", EVICTION),
    ("preempt/disruption-budget", EVICTION),
    ("preempt/drain-packed-cluster", EVICTION),
    ("preempt/lower-priority-same-queue-only", EVICTION),
    ("preempt/one-of-eleven", EVICTION),
    ("preempt/pod-slots-count-too", EVICTION),
    ("preempt/priority-before-efficiency", EVICTION),
    ("preempt/two-small-for-one-big", EVICTION),
    ("reclaim/efficiency-before-priority", EVICTION),
    ("reclaim/fairness-before-efficiency", EVICTION),
    ("reclaim/impossible-head", EVICTION),
    ("reclaim/locked-queue-left-alone", EVICTION),
    ("reclaim/one-eviction-for-two-pods", EVICTION),
    ("reclaim/parent-not-over", EVICTION),
    ("reclaim/scalar-only-deserved", EVICTION),
    ("topology/cheapest-domain", EVICTION),
    ("topology/late-member-stays-home", EVICTION),
    ("topology/packed-cliques", EVICTION),
    ("topology/sticky-domain-per-task", EVICTION),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

fn all() -> Vec<Scenario> {
    load_all(&[root()]).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Path below the folder of Scenarios, without ending.
fn short_name(scenario: &Scenario) -> String {
    let below = scenario.source.strip_prefix(root()).expect("found below the root");
    below.with_extension("").to_string_lossy().into_owned()
}

fn play(scenario: &Scenario, threads: usize) -> RunResult {
    let parsed = match &scenario.config {
        Some(text) => config::parse("config", text).unwrap_or_else(|errors| panic!("{errors}")),
        None => config::default_config(),
    };
    // One row a block and no threshold: with several threads every pass is really split.
    let mut config = parsed.config;
    config.tuning.parallel_threshold = 1;
    config.tuning.rows_per_block = 1;
    run(scenario, &config, &pool(threads), Narration::Silent, &mut |_, _| {})
}

fn what_failed(result: &RunResult) -> Vec<String> {
    let wrong = result.expect.iter().filter(|verdict| !verdict.pass);
    let mut failed: Vec<String> =
        wrong.map(|verdict| format!("{}: got {}", verdict.assertion, verdict.got)).collect();
    let broken = result.violations.iter().flatten();
    failed.extend(broken.map(|violation| format!("{violation:?}")));
    failed
}

#[test]
fn every_scenario_that_is_not_ahead_of_the_code_passes() {
    let scenarios = all();
    assert!(scenarios.len() > 69, "the acceptance Scenarios are there: {}", scenarios.len());
    let mut wrong = Vec::new();
    for scenario in &scenarios {
        let name = short_name(scenario);
        let result = play(scenario, 1);
        match WAITING.iter().find(|entry| entry.0 == name) {
            None if !result.passed() => wrong.push(format!("{name}: {:#?}", what_failed(&result))),
            Some((_, what)) if result.passed() => {
                wrong.push(format!("{name} passes: it no longer waits for {what}"));
            }
            _ => {}
        }
    }
    for (name, _) in WAITING {
        let there = scenarios.iter().any(|scenario| short_name(scenario) == *name);
        assert!(there, "{name} is listed and does not exist");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn one_thread_and_many_give_the_same_bytes() {
    for scenario in all() {
        let [one, many] = [1, 4].map(|threads| {
            let mut result = play(&scenario, threads);
            for cycle in &mut result.cycles {
                cycle.duration_us = 0;
            }
            let mut bytes = Vec::new();
            write_json(&result, &mut bytes).expect("memory takes it");
            bytes
        });
        assert!(one == many, "{} differs", short_name(&scenario));
    }
}
