//! The acceptance Scenarios, through the real loader, runner and judge.

use std::path::{Path, PathBuf};

use muster::config;
use muster::sim::invariants::Invariant;
use muster::sim::load::load_all;
use muster::sim::report::write_json;
use muster::sim::run::{Narration, RunResult, run};
use muster::sim::scenario::Scenario;
use muster_core::config::Upkeep;
use muster_core::intent::DecisionOp;
use muster_tests::policy::pool;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios")
}

/// Every acceptance Scenario, once for each of its variants.
pub(crate) fn all() -> Vec<Scenario> {
    load_all(&[root()]).unwrap_or_else(|errors| panic!("{errors}"))
}

/// Path below the folder of Scenarios, without ending, and the variant.
fn short_name(scenario: &Scenario) -> String {
    let below = scenario.source.strip_prefix(root()).expect("found below the root");
    let path = below.with_extension("").to_string_lossy().into_owned();
    match &scenario.variant {
        Some(variant) => format!("{path} ({})", variant.name),
        None => path,
    }
}

/// Runs a Scenario on that many threads.
pub(crate) fn play(scenario: &Scenario, threads: usize) -> RunResult {
    play_with(scenario, threads, Upkeep::Mend)
}

fn play_with(scenario: &Scenario, threads: usize, upkeep: Upkeep) -> RunResult {
    let parsed = match &scenario.config {
        Some(text) => {
            let name = short_name(scenario);
            config::parse(&muster::config::registry(), &name, text)
                .unwrap_or_else(|errors| panic!("{errors}"))
        }
        None => config::default_config(),
    };
    // One row a block and no threshold: with several threads every pass is really split.
    let mut config = parsed.config;
    config.tuning.parallel_threshold = 1;
    config.tuning.rows_per_block = 1;
    config.tuning.upkeep = upkeep;
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
fn every_scenario_passes() {
    let scenarios = all();
    assert!(scenarios.len() > 260, "the acceptance Scenarios are there: {}", scenarios.len());
    let mut wrong = Vec::new();
    for scenario in &scenarios {
        let result = play(scenario, 1);
        if !result.passed() {
            wrong.push(format!("{}: {:#?}", short_name(scenario), what_failed(&result)));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Fewest cycles in each half of a long run.
const HALF: u32 = 25;

fn evicts(result: &RunResult) -> bool {
    let mut decisions = result.cycles.iter().flat_map(|cycle| &cycle.decisions);
    decisions.any(|decision| decision.op == DecisionOp::Evict)
}

/// The same twice as long, fifty cycles at least, with victims that come back. Whatever the timeline
/// does lies in the first half.
fn prolonged(scenario: &Scenario, cycles: u32) -> (Scenario, u32) {
    let half = cycles.max(HALF);
    let cycles = Some(2 * half);
    (Scenario { recreate: true, cycles, expect: Vec::new(), ..scenario.clone() }, half)
}

#[test]
fn what_evicts_comes_to_rest_though_victims_come_back() {
    let mut wrong = Vec::new();
    let mut seen = 0;
    for scenario in all() {
        let result = play(&scenario, 1);
        if !evicts(&result) {
            continue;
        }
        seen += 1;
        let (long, half) = prolonged(&scenario, result.cycles.len() as u32);
        let result = play(&long, 1);
        let late = result.cycles.iter().filter(|cycle| cycle.cycle > half);
        let late = late.flat_map(|cycle| &cycle.decisions).count();
        let repeats = result.violations.iter().flatten();
        let repeats = repeats.filter(|one| one.invariant == Invariant::NoRepeatEviction).count();
        if (late, repeats) != (0, 0) {
            let name = short_name(&scenario);
            wrong.push(format!("{name}: {late} decisions late, {repeats} evicted again"));
        }
    }
    assert!(seen > 100, "Scenarios with evictions are there: {seen}");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn one_thread_and_many_give_the_same_bytes() {
    for scenario in all() {
        let [one, many] = [1, 4].map(|threads| bytes(play(&scenario, threads)));
        assert!(one == many, "{} differs", short_name(&scenario));
    }
}

#[test]
fn room_that_is_held_costs_fewer_victims_than_room_that_is_forgotten() {
    let scenarios = all();
    let named = |one: &&Scenario| short_name(one).ends_with("fifty-gangs-under-constant-reclaim");
    let held = scenarios.iter().find(named).expect("the Scenario is there");
    let text = held.config.clone().expect("it brings its configuration");
    let forgotten = Scenario {
        config: Some(format!("{text}\npipeline: {{persistence: none}}\n")),
        expect: Vec::new(),
        ..held.clone()
    };
    let [held, forgotten] = [held, &forgotten].map(|scenario| {
        let result = play(scenario, 1);
        let decisions = result.cycles.iter().flat_map(|cycle| &cycle.decisions);
        decisions.filter(|one| one.op == DecisionOp::Evict).count()
    });
    // A rack of sixteen pods for each wide gang, and one pod for each small job.
    assert_eq!(held, 13 * 16 + 13, "no victim is taken for nothing");
    assert!(forgotten > held, "{forgotten} pods are evicted if room is not held");
}

#[test]
fn looking_at_every_node_for_every_task_gives_the_same_bytes() {
    for scenario in all() {
        let [mended, rescanned] =
            [Upkeep::Mend, Upkeep::Rescan].map(|upkeep| bytes(play_with(&scenario, 1, upkeep)));
        assert!(mended == rescanned, "{} differs", short_name(&scenario));
    }
}

/// The result as it is printed, times left out.
fn bytes(mut result: RunResult) -> Vec<u8> {
    for cycle in &mut result.cycles {
        cycle.duration_us = 0;
    }
    let mut bytes = Vec::new();
    write_json(&result, &mut bytes).expect("memory takes it");
    bytes
}
