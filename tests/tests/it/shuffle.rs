//! The action `shuffle` with plugins of other makers that propose victims, through the simulator and its
//! invariants.

use std::sync::LazyLock;
use std::sync::atomic::{AtomicU32, Ordering};

use muster::sim::invariants::Invariant;
use muster::sim::load::load_text;
use muster::sim::report::write_json;
use muster::sim::run::{Narration, RunResult, run};
use muster_core::config::{ArgumentKind, ArgumentSpec, arg};
use muster_core::ids::TimeMs;
use muster_core::intent::{DecisionOp, Intent};
use muster_core::policy::{
    Ballot, Build, Entity, Plugin, PluginSpec, Proposal, Registry, Setup, VictimGuardPlugin,
    VictimTasksPlugin,
};
use muster_core::scheduler::Scheduler;
use muster_core::testing::{group, node, pod};
use muster_core::world::Cluster;
use muster_tests::policy::{config_with, pool};

/// Proposes running pods: those on a node, and those of these names, but not before a time, for which
/// it asks to be woken.
struct Mover {
    off: String,
    pods: Vec<String>,
    after: Option<i64>,
}

const ARGUMENTS: &[ArgumentSpec] = &[
    arg("off", ArgumentKind::Text, "", "node whose pods are to leave"),
    arg("pods", ArgumentKind::Text, "", "pods that are to leave, comma separated"),
    arg("after", ArgumentKind::Duration, "", "when to begin"),
];

static MOVER: PluginSpec =
    PluginSpec { arguments: ARGUMENTS, ..PluginSpec::of::<Mover>("mover", "moves pods") };
static OTHER: PluginSpec =
    PluginSpec { arguments: ARGUMENTS, ..PluginSpec::of::<Mover>("other", "moves other pods") };
static COUNTS: PluginSpec = PluginSpec::of::<Counts>("counts", "counts how often it is asked");

static REGISTRY: LazyLock<Registry> = LazyLock::new(|| {
    let all = Registry::standard().with(&MOVER);
    all.and_then(|all| all.with(&OTHER)).and_then(|all| all.with(&COUNTS)).expect("new names")
});

muster_core::plugin!(Mover);

impl Plugin for Mover {}

impl Build for Mover {
    fn build(setup: &mut Setup<'_>) -> Self {
        let pods = setup.arguments.text("pods").split(',').map(str::to_owned);
        Self {
            off: setup.arguments.text("off").to_owned(),
            pods: pods.collect(),
            after: setup.arguments.duration_ms("after"),
        }
    }
}

impl VictimTasksPlugin for Mover {
    fn victim_tasks(&self, cluster: &Cluster<'_, '_>, now: TimeMs, all: &[Entity]) -> Proposal {
        let is_wanted = |task: &Entity| {
            let task = cluster.task(*task);
            let on = task.status().1.map(|node| cluster.node(node).identity.name.to_string());
            on.is_some_and(|on| on == self.off)
                || self.pods.contains(&task.identity.key.to_string())
        };
        let due = self.after.is_none_or(|after| now.0 >= after);
        let tasks = all.iter().copied().filter(|task| due && is_wanted(task));
        Proposal { tasks: tasks.collect(), again: self.after.map(TimeMs) }
    }
}

/// Lets everybody go and counts how often it was asked.
struct Counts;

static COUNTED: AtomicU32 = AtomicU32::new(0);

muster_core::plugin!(Counts);

impl Plugin for Counts {}

impl Build for Counts {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl VictimGuardPlugin for Counts {
    fn victim_guard(&self, _: &Cluster<'_, '_>, _: &[Entity]) -> Ballot {
        COUNTED.fetch_add(1, Ordering::Relaxed);
        Ballot::Abstain
    }
}

/// A plugin that moves these pods.
fn moves(pods: &[&str]) -> String {
    format!("{{name: mover, arguments: {{pods: {:?}}}}}", pods.join(","))
}

/// A plugin that moves the pods of a node.
fn clears(node: &str) -> String {
    format!("{{name: mover, arguments: {{off: {node}}}}}")
}

/// A policy with more plugins, each in its tier.
fn joined(policy: &str, plugins: &[(usize, String)]) -> String {
    const TIER: &str = "- plugins: [";
    let mut lines: Vec<String> = policy.lines().map(str::to_owned).collect();
    for (tier, plugin) in plugins {
        let tiers: Vec<usize> =
            (0..lines.len()).filter(|&at| lines[at].starts_with(TIER)).collect();
        match tiers.get(*tier) {
            Some(&at) => {
                let line = lines[at].strip_suffix(']').expect("a tier stands on one line");
                lines[at] = format!("{line}, {plugin}]");
            }
            None => lines.insert(tiers[tiers.len() - 1] + 1, format!("{TIER}{plugin}]")),
        }
    }
    lines.join("\n") + "\n"
}

/// A Scenario of a few nodes with four CPUs each, whose victims come back.
fn scenario(config: &str, more: &str, objects: &str) -> String {
    let indent = |text: &str| text.replace('\n', "\n    ");
    format!(
        "apiVersion: muster.sh/v1alpha1\n\
         kind: Scenario\n\
         metadata: {{name: shuffle}}\n\
         spec:\n\
         \x20 recreate: true\n\
         \x20 {more}\n\
         \x20 config: |\n\
         \x20   {}\n\
         \x20 objects:\n\
         \x20 - {{kind: NodeSet, name: n, count: 2, allocatable: {{cpu: \"4\"}}}}\n\
         \x20 {}\n",
        indent(config),
        objects.replace('\n', "\n  ")
    )
}

const PLAIN: &str = "actions: \"enqueue, allocate, backfill, shuffle\"\n\
    tiers:\n\
    - plugins: [{name: priority}, {name: gang}, {name: conformance}, {name: pdb}]\n\
    - plugins: [{name: predicates}, {name: nodeorder}]\n";

fn play_on(threads: usize, text: &str) -> RunResult {
    let scenario = load_text("shuffle.yaml", text).unwrap_or_else(|errors| panic!("{errors}"));
    let text = scenario.config.as_deref().expect("it brings its configuration");
    let config = config_with(&REGISTRY, text);
    run(&scenario, &config, &pool(threads), Narration::Silent, &mut |_, _| {})
}

fn play(text: &str) -> RunResult {
    play_on(1, text)
}

/// Evictions in order, each with its cycle.
fn evictions(result: &RunResult) -> Vec<(u32, String)> {
    let decisions = result
        .cycles
        .iter()
        .flat_map(|cycle| cycle.decisions.iter().map(|decision| (cycle.cycle, decision)));
    let evictions = decisions.filter(|(_, decision)| decision.op == DecisionOp::Evict);
    evictions.map(|(cycle, decision)| (cycle, decision.pod.to_string())).collect()
}

fn evicted(result: &RunResult) -> Vec<String> {
    evictions(result).into_iter().map(|(_, pod)| pod).collect()
}

fn broken(result: &RunResult) -> Vec<Invariant> {
    result.violations.iter().flatten().map(|violation| violation.invariant).collect()
}

/// A node that takes no more pods, with three on it.
const CORDONED: &str = "\
- {apiVersion: v1, kind: Node, metadata: {name: old}, spec: {unschedulable: true}, \
   status: {allocatable: {cpu: \"4\", pods: \"110\"}}}
- {kind: Gang, name: a, minMember: 2, tasks: \
   [{role: w, replicas: 3, requests: {cpu: \"1\"}, nodes: [old, old, n1]}]}
- {kind: Gang, name: b, tasks: [{role: w, replicas: 1, requests: {cpu: \"1\"}, nodes: [old]}]}";

#[test]
fn who_is_proposed_leaves_comes_back_elsewhere_and_stays() {
    let text = scenario(&joined(PLAIN, &[(0, clears("old"))]), "cycles: 30", CORDONED);
    let result = play(&text);
    // The job served last goes first, of a job the pod placed last.
    let gone = ["default/b-w-0", "default/a-w-1", "default/a-w-0"];
    assert_eq!(evictions(&result), gone.map(|pod| (1, pod.to_owned())));
    assert_eq!(broken(&result), []);
    let late = result.cycles.iter().filter(|cycle| cycle.cycle > 5);
    assert_eq!(late.flat_map(|cycle| &cycle.decisions).count(), 0);
    let seats: Vec<_> = result.books.pods.values().filter_map(|pod| pod.seat()).collect();
    assert_eq!((seats.len(), seats.iter().filter(|node| &****node == "old").count()), (4, 0));
    let [one, many] = [1, 4].map(|threads| {
        let mut result = play_on(threads, &text);
        result.cycles.iter_mut().for_each(|cycle| cycle.duration_us = 0);
        let mut bytes = Vec::new();
        write_json(&result, &mut bytes).expect("memory takes it");
        String::from_utf8(bytes).expect("JSON is text")
    });
    assert_eq!(one, many);
    let line = "{\"action\":\"shuffle\",\"op\":\"evict\",\"pod\":\"default/b-w-0\",\"node\":\"old\",\
         \"job\":\"default/b\",\"reason\":\"proposed for shuffle by mover\"}";
    assert!(one.contains(line), "{line}\nis not in\n{one}");
}

const ONE: &str =
    "- {kind: Gang, name: a, tasks: [{role: w, replicas: 1, requests: {cpu: \"1\"}, nodes: [n0]}]}";
const TWO: &str = "- {kind: Gang, name: a, tasks: [{role: w, replicas: 2, requests: {cpu: \"1\"}, nodes: [n0, n0]}]}";

fn with(argument: &str) -> String {
    format!("{PLAIN}configurations: [{{name: shuffle, arguments: {{{argument}}}}}]\n")
}

#[test]
fn a_plugin_that_is_never_content_goes_in_circles_and_the_invariant_says_so() {
    let greedy = joined(PLAIN, &[(0, moves(&["default/a-w-0"]))]);
    let result = play(&scenario(&greedy, "cycles: 20", ONE));
    assert!(evicted(&result).len() > 5);
    assert!(broken(&result).contains(&Invariant::NoRepeatEviction));
}

#[test]
fn a_minimum_of_running_time_and_a_limit_by_the_hour_slow_a_greedy_plugin_down() {
    let greedy = [(0, moves(&["default/a-w-0", "default/a-w-1"]))];
    let with = |argument: &str| joined(&with(argument), &greedy);
    let slow = play(&scenario(&with("minRuntime: 10s"), "cycles: 40", ONE));
    let cycles: Vec<u32> = evictions(&slow).into_iter().map(|(cycle, _)| cycle).collect();
    assert_eq!(cycles.len(), 3, "{cycles:?}");
    for pair in cycles.windows(2) {
        assert!(pair[1] - pair[0] >= 10, "{cycles:?}");
    }
    // One of the two goes, though both are named at once; the other one an hour later.
    let hours = scenario(&with("maxEvictionsPerHour: 1"), "cycles: 150\n  period: 60s", TWO);
    let capped = play(&hours);
    let cycles: Vec<u32> = evictions(&capped).into_iter().map(|(cycle, _)| cycle).collect();
    assert_eq!(cycles, [1, 61, 121]);
}

/// Four pods of one app on n0, of which the budget lets two go.
fn budgeted() -> String {
    let pods = (0..4).map(|at| {
        format!(
            "\n- {{apiVersion: v1, kind: Pod, metadata: {{name: web-{at}, labels: {{app: web}}}}, \
             spec: {{nodeName: n0, containers: [{{name: c, image: i, \
             resources: {{requests: {{cpu: 500m}}}}}}]}}, status: {{phase: Running}}}}"
        )
    });
    let budget = "- {apiVersion: policy/v1, kind: PodDisruptionBudget, metadata: {name: web}, \
         spec: {minAvailable: 2, selector: {matchLabels: {app: web}}}}";
    budget.to_owned() + &pods.collect::<String>()
}

const WEB: &[&str] = &["default/web-0", "default/web-1", "default/web-2", "default/web-3"];

#[test]
fn budgets_hold_back_what_others_propose_unless_they_are_switched_off() {
    let once = "cycles: 1";
    for tier in [0, 1] {
        let guarded = joined(PLAIN, &[(tier, moves(WEB))]);
        assert_eq!(evicted(&play(&scenario(&guarded, once, &budgeted()))).len(), 2);
    }
    let off = PLAIN.replace("{name: pdb}", "{name: pdb, enabledVictim: false}");
    let off = joined(&off, &[(0, moves(WEB))]);
    assert_eq!(evicted(&play(&scenario(&off, once, &budgeted()))).len(), 4);
    assert_eq!(evicted(&play(&scenario(PLAIN, once, &budgeted()))).len(), 0);
}

#[test]
fn system_pods_are_not_moved_wherever_the_plugins_stand() {
    let objects = "\
- {kind: Gang, name: dns, namespace: kube-system, tasks: [{role: w, replicas: 1, requests: {cpu: \"1\"}, nodes: [n0]}]}
- {kind: Gang, name: a, tasks: [{role: w, replicas: 1, requests: {cpu: \"1\"}, nodes: [n0]}]}";
    for tier in [0, 2] {
        let policy = joined(PLAIN, &[(tier, clears("n0"))]);
        let result = play(&scenario(&policy, "cycles: 1", objects));
        assert_eq!(evicted(&result), ["default/a-w-0"]);
    }
}

#[test]
fn what_holds_for_every_eviction_holds_here_too() {
    let pod = |name: &str, annotations: &str, more: &str, phase: &str| {
        format!(
            "- {{apiVersion: v1, kind: Pod, metadata: {{name: {name}, annotations: {{{annotations}}}}}, \
             spec: {{nodeName: n0, {more}containers: [{{name: c, image: i}}]}}, status: {{phase: {phase}}}}}"
        )
    };
    let objects = [
        pod("free", "", "", "Running"),
        pod("locked", "volcano.sh/preemptable: \"false\"", "", "Running"),
        pod("cooling", "volcano.sh/cooldown-time: 5m", "", "Running"),
        pod("foreign", "", "schedulerName: another, ", "Running"),
        pod("starting", "", "", "Pending"),
        "- {kind: Gang, name: kept, preemptable: false, tasks: \
         [{role: w, replicas: 1, requests: {cpu: \"1\"}, nodes: [n0]}]}"
            .to_owned(),
    ];
    let more = "cycles: 20\n  kubelet: {start: never, terminate: 5s}";
    let policy = joined(PLAIN, &[(0, clears("n0"))]);
    let result = play(&scenario(&policy, more, &objects.join("\n")));
    // Five seconds long it is leaving; that is no reason to evict it again.
    assert_eq!(evictions(&result), [(1, "default/free".to_owned())]);
    assert_eq!(broken(&result), []);
}

#[test]
fn a_pod_whose_bind_is_under_way_is_left_alone() {
    let policy = joined(PLAIN, &[(0, moves(&["default/g-0"]))]);
    let mut scheduler = Scheduler::new(&config_with(&REGISTRY, &policy), pool(1));
    scheduler.feed([node("n0").offer("cpu", 4).into(), group("g", 1).into()]);
    scheduler.feed([pod("g-0").group("g").ask("cpu", 1).into()]);
    // What the events and conditions of a real cluster say is in the call.
    let evictions = |scheduler: &mut Scheduler, second: i64| -> Vec<String> {
        let intents = scheduler.run_cycle(TimeMs(second * 1000)).intents.into_iter();
        let reasons = intents.filter_map(|intent| match intent {
            Intent::Evict { ruling, .. } => ruling.reason.clone(),
            _ => None,
        });
        reasons.collect()
    };
    assert_eq!(evictions(&mut scheduler, 0), [""; 0]);
    scheduler.feed([node("n1").offer("cpu", 4).into()]);
    assert_eq!(evictions(&mut scheduler, 1), [""; 0], "nobody has said yet that it is bound");
    scheduler.feed([pod("g-0").group("g").ask("cpu", 1).running_on("n0").into()]);
    assert_eq!(evictions(&mut scheduler, 2), ["proposed for shuffle by mover"]);
    assert_eq!(evictions(&mut scheduler, 3), [""; 0], "it is leaving");
    assert_eq!(scheduler.audit(), Vec::<String>::new());
}

const ZERO: &[&str] = &["default/a-w-0"];
const ONE_TWO: &[&str] = &["default/a-w-1", "default/a-w-2"];

#[test]
fn plugins_of_a_tier_add_up_and_the_first_tier_with_a_proposal_decides() {
    let objects = "\
- {kind: Gang, name: a, tasks: [{role: w, replicas: 3, requests: {cpu: \"1\"}, nodes: [n0, n0, n0]}]}";
    let moved = |[first, second]: [(usize, &[&str]); 2]| {
        let other = moves(second.1).replace("mover", "other");
        let policy = joined(PLAIN, &[(first.0, moves(first.1)), (second.0, other)]);
        evicted(&play(&scenario(&policy, "cycles: 1", objects)))
    };
    let [zero, one, two] = ["default/a-w-0", "default/a-w-1", "default/a-w-2"];
    assert_eq!(moved([(0, ZERO), (0, ONE_TWO)]), [two, one, zero]);
    assert_eq!(moved([(0, ZERO), (1, ONE_TWO)]), [zero]);
    assert_eq!(moved([(0, &["default/nobody"]), (1, ONE_TWO)]), [two, one]);
}

#[test]
fn a_plugin_is_asked_again_when_it_wants_to_be_though_nothing_happens() {
    let clock = "{name: mover, arguments: {pods: default/a-w-0, after: 30s}}".to_owned();
    let result = play(&scenario(&joined(PLAIN, &[(0, clock)]), "cycles: 33", ONE));
    assert_eq!(evictions(&result)[0], (31, "default/a-w-0".to_owned()));
}

#[test]
fn where_nobody_can_propose_nobody_is_asked() {
    let counts = (0, "{name: counts}".to_owned());
    let alone =
        play(&scenario(&joined(PLAIN, std::slice::from_ref(&counts)), "cycles: 10", CORDONED));
    assert_eq!((evicted(&alone).len(), COUNTED.load(Ordering::Relaxed)), (0, 0));
    let both = joined(PLAIN, &[counts, (0, clears("old"))]);
    assert!(!evicted(&play(&scenario(&both, "cycles: 10", CORDONED))).is_empty());
    assert!(COUNTED.load(Ordering::Relaxed) > 0, "with somebody who proposes it is asked");
}
