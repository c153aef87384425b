//! Whole lives of random jobs under both styles of eviction: task by task and for whole gangs.
//!
//! Small clusters of racks and halls, jobs that run or come later, with sub-groups, topology wishes of job and
//! sub-groups, pods with `preemptionPolicy: Never`, two queues and three priorities, a machine that is closed;
//! `proportion` may have a say about victims, or `gang` decides without it. Victims leave slowly and may come
//! back. Every invariant of a Scenario holds in every life, and no gang is bound whose
//! sub-groups are not whole.
//!
//! `PROPTEST_CASES=10000 cargo test --workspace --test it lives` tries more.

use std::collections::BTreeMap;
use std::fmt::Write;

use muster::config;
use muster::sim::load::load_text;
use muster::sim::run::{Narration, RunResult, run};
use muster_core::policy::Registry;
use muster_core::testing::key;
use muster_tests::policy::{cases, pool};
use proptest::collection::vec;
use proptest::option::weighted;
use proptest::prelude::*;
use proptest::sample::select;

const CYCLES: u32 = 30;

/// Hard or soft, and the tier.
type Wish = (&'static str, u32);

#[derive(Clone, Debug)]
struct Policy {
    size: u32,
    min: u32,
    /// Sub-groups beyond the minimum, and pods beyond the size of the first.
    further: u32,
    spare: u32,
    wish: Option<Wish>,
}

#[derive(Clone, Debug)]
struct Gang {
    priority: i32,
    queue: usize,
    cpu: i64,
    /// What every third pod asks for, where not all are alike.
    other: Option<i64>,
    policies: Vec<Policy>,
    /// Pods in no sub-group.
    loose: u32,
    /// Pods it can do without.
    less: u32,
    wish: Option<Wish>,
    /// Where it is placed from the start: the first node that is tried for its first pod.
    runs: Option<usize>,
    /// When it comes, in seconds.
    comes: u32,
    /// Which pods have `preemptionPolicy: Never`, in bits.
    never: u32,
    preemptable: bool,
}

#[derive(Clone, Debug)]
struct Life {
    /// Cpu of each node, by rack; two racks are a hall.
    racks: Vec<Vec<i64>>,
    /// Cpu of a machine nobody may use, which is divided all the same.
    closed: Option<i64>,
    weights: [u32; 2],
    ceiling: Option<i64>,
    gangs: Vec<Gang>,
    actions: &'static str,
    queues_name_victims: &'static str,
    terminate: &'static str,
    recreate: bool,
}

const ACTIONS: [&str; 3] = [
    "enqueue, allocate, preempt, backfill",
    "enqueue, allocate, preempt, reclaim, backfill",
    "enqueue, allocate, reclaim, backfill",
];

/// Whether the queues have a say about victims, or what a gang can do without goes without it.
const RECLAIMABLE: [&str; 2] = ["true", "false"];

/// What switches the styles.
const STYLES: [&str; 2] = ["false", "true"];

fn any_wish() -> impl Strategy<Value = Wish> {
    (prop_oneof![3 => Just("hard"), 1 => Just("soft")], 1..3_u32)
}

fn any_policy() -> impl Strategy<Value = Policy> {
    let sizes = (1..3_u32, 0..3_u32, 0..2_u32, prop_oneof![4 => Just(0_u32), 1 => Just(1)]);
    (sizes, weighted(0.6, any_wish())).prop_map(|((size, min, further, spare), wish)| Policy {
        size,
        min,
        further,
        spare,
        wish,
    })
}

fn any_gang() -> impl Strategy<Value = Gang> {
    let who = (select(vec![1, 1, 50, 100]), 0..2_usize, 1..4_i64, weighted(0.2, 1..4_i64));
    let pods = (vec(any_policy(), 0..3), 0..4_u32, 0..3_u32);
    let life = (weighted(0.5, 0..12_usize), prop_oneof![3 => Just(0_u32), 1 => 2..10_u32]);
    let never = prop_oneof![4 => Just(0_u32), 1 => any::<u32>()];
    let traits = (weighted(0.4, any_wish()), never, prop::bool::weighted(0.9));
    (who, pods, life, traits).prop_map(|(who, pods, (runs, comes), (wish, never, preemptable))| {
        let (priority, queue, cpu, other) = who;
        let (policies, loose, less) = pods;
        let comes = if runs.is_some() { 0 } else { comes };
        Gang {
            priority,
            queue,
            cpu,
            other,
            policies,
            loose,
            less,
            wish,
            runs,
            comes,
            never,
            preemptable,
        }
    })
}

fn any_life() -> impl Strategy<Value = Life> {
    let cluster = (vec(vec(2..6_i64, 1..4), 1..5), [1..3_u32, 1..3_u32], weighted(0.2, 4..16_i64));
    let rules = (select(&ACTIONS[..]), select(vec!["0s", "2s", "5s"]), any::<bool>());
    let more = (weighted(0.4, 2..12_i64), select(&RECLAIMABLE[..]));
    (cluster, vec(any_gang(), 2..7), rules, more).prop_map(|(cluster, gangs, rules, more)| {
        let (racks, weights, ceiling) = cluster;
        let (actions, terminate, recreate) = rules;
        let (closed, queues_name_victims) = more;
        Life {
            racks,
            closed,
            weights,
            ceiling,
            gangs,
            actions,
            queues_name_victims,
            terminate,
            recreate,
        }
    })
}

impl Gang {
    /// The sub-group of each pod: its policy and number.
    fn pods(&self) -> Vec<Option<(usize, u32)>> {
        let mut pods = Vec::new();
        for (at, policy) in self.policies.iter().enumerate() {
            for number in 0..policy.min + policy.further {
                let spare = if number == 0 { policy.spare } else { 0 };
                pods.extend((0..policy.size + spare).map(|_| Some((at, number))));
            }
        }
        pods.extend((0..self.loose).map(|_| None));
        if pods.is_empty() { vec![None] } else { pods }
    }

    fn cpu_of(&self, member: usize) -> i64 {
        self.other.filter(|_| member % 3 == 2).unwrap_or(self.cpu)
    }

    /// Nodes of its pods, if it runs and all of them find room; that room is taken.
    fn homes(&self, free: &mut [i64]) -> Vec<usize> {
        let Some(first) = self.runs else { return Vec::new() };
        let (mut left, mut homes) = (free.to_vec(), Vec::new());
        for member in 0..self.pods().len() {
            let cpu = self.cpu_of(member);
            let mut nodes = (0..left.len()).map(|step| (first + step) % left.len());
            let Some(node) = nodes.find(|&node| left[node] >= cpu) else {
                return Vec::new();
            };
            left[node] -= cpu;
            homes.push(node);
        }
        free.copy_from_slice(&left);
        homes
    }

    fn print(&self, name: &str, homes: &[usize]) -> Vec<String> {
        // What runs was placed by nobody's wish: it keeps none.
        let wish = |wish: Option<Wish>| match wish.filter(|_| homes.is_empty()) {
            Some((mode, tier)) => {
                format!(", networkTopology: {{mode: {mode}, highestTierAllowed: {tier}}}")
            }
            None => String::new(),
        };
        let policies: Vec<String> = self
            .policies
            .iter()
            .enumerate()
            .map(|(at, policy)| {
                format!(
                    "{{name: p{at}, subGroupSize: {}, minSubGroups: {}, matchLabelKeys: [p{at}]{}}}",
                    policy.size,
                    policy.min,
                    wish(policy.wish)
                )
            })
            .collect();
        let pods = self.pods();
        let min = (pods.len() as u32).saturating_sub(self.less).max(1);
        let mut lines = vec![format!(
            "{{apiVersion: scheduling.volcano.sh/v1beta1, kind: PodGroup, metadata: {{name: {name}, \
             namespace: default}}, spec: {{queue: q{}, priorityClassName: prio-{}, minMember: {min}, \
             subGroupPolicy: [{}]{}}}}}",
            self.queue,
            self.priority,
            policies.join(", "),
            wish(self.wish)
        )];
        for (member, subgroup) in pods.into_iter().enumerate() {
            let label =
                subgroup.map(|(at, number)| format!(", p{at}: \"{number}\"")).unwrap_or_default();
            let never = (self.never >> (member % 32)) & 1 == 1;
            let never = if never { "preemptionPolicy: Never, " } else { "" };
            let node = homes.get(member).map(|node| format!(", nodeName: n{node}"));
            let phase = if homes.is_empty() { "Pending" } else { "Running" };
            lines.push(format!(
                "{{apiVersion: v1, kind: Pod, metadata: {{name: {name}-w-{member}, namespace: default, \
                 labels: {{volcano.sh/preemptable: \"{}\"{label}}}, annotations: \
                 {{scheduling.k8s.io/group-name: {name}}}}}, spec: {{schedulerName: volcano, priority: \
                 {}, {never}containers: [{{name: c, image: i, resources: {{requests: {{cpu: \
                 \"{}\"}}}}}}]{}}}, status: {{phase: {phase}}}}}",
                self.preemptable,
                self.priority,
                self.cpu_of(member),
                node.unwrap_or_default()
            ));
        }
        lines
    }
}

impl Life {
    /// The Scenario, and which gangs run from the start.
    fn print(&self, gang_aware: &str) -> (String, Vec<bool>) {
        let mut objects = self.cluster();
        let mut free: Vec<i64> = self.racks.iter().flatten().copied().collect();
        let (mut timeline, mut run) = (String::new(), Vec::new());
        let mut order: Vec<usize> = (0..self.gangs.len()).collect();
        order.sort_by_key(|&at| self.gangs[at].comes);
        for at in order {
            let gang = &self.gangs[at];
            let homes = gang.homes(&mut free);
            run.push((at, !homes.is_empty()));
            let lines = gang.print(&format!("g{at}"), &homes);
            if gang.comes == 0 {
                objects.extend(lines);
            } else {
                let lines = lines.join("\n    - ");
                let _ = writeln!(timeline, "  - at: {}s\n    apply:\n    - {lines}", gang.comes);
            }
        }
        run.sort_unstable();
        let timeline =
            if timeline.is_empty() { timeline } else { format!("  timeline:\n{timeline}") };
        let text = format!(
            "apiVersion: muster.sh/v1alpha1\nkind: Scenario\nmetadata: {{name: life}}\nspec:\n  \
             config: |\n    actions: \"{}\"\n    tiers:\n    - plugins: [{{name: priority}}, {{name: \
             gang}}, {{name: conformance}}, {{name: predicates}}, {{name: proportion, \
             enableReclaimable: {}}}, {{name: nodeorder}}, {{name: network-topology-aware}}]\n    \
             configurations:\n    - {{name: preempt, arguments: {{gangAwareEnable: \
             {gang_aware}}}}}\n    - {{name: reclaim, arguments: \
             {{gangAwareEnable: {gang_aware}}}}}\n  kubelet: {{terminate: {}}}\n  recreate: {}\n  cycles: \
             {CYCLES}\n  objects:\n  - {}\n{timeline}",
            self.actions,
            self.queues_name_victims,
            self.terminate,
            self.recreate,
            objects.join("\n  - ")
        );
        (text, run.into_iter().map(|entry| entry.1).collect())
    }

    /// Nodes, domains, queues and priorities.
    fn cluster(&self) -> Vec<String> {
        let mut objects = Vec::new();
        let mut nodes = 0;
        for (rack, machines) in self.racks.iter().enumerate() {
            let mut names = Vec::new();
            for cpu in machines {
                objects.push(format!(
                    "{{apiVersion: v1, kind: Node, metadata: {{name: n{nodes}}}, status: \
                     {{allocatable: {{cpu: \"{cpu}\", pods: \"110\"}}}}}}"
                ));
                names.push(format!("n{nodes}"));
                nodes += 1;
            }
            let names = names.join(", ");
            objects.push(format!("{{kind: Domain, name: rack{rack}, tier: 1, nodes: [{names}]}}"));
        }
        objects.extend(self.closed.map(|cpu| {
            format!(
                "{{kind: NodeSet, name: closed, count: 1, allocatable: {{cpu: \"{cpu}\"}}, taints: \
                 [{{key: closed, effect: NoSchedule}}]}}"
            )
        }));
        for hall in 0..self.racks.len().div_ceil(2) {
            let racks = hall * 2..self.racks.len().min(hall * 2 + 2);
            let racks: Vec<String> = racks.map(|rack| format!("rack{rack}")).collect();
            let racks = racks.join(", ");
            objects
                .push(format!("{{kind: Domain, name: hall{hall}, tier: 2, domains: [{racks}]}}"));
        }
        for (queue, weight) in self.weights.iter().enumerate() {
            let ceiling = self.ceiling.filter(|_| queue == 0);
            let ceiling = ceiling.map(|cpu| format!(", capability: {{cpu: \"{cpu}\"}}"));
            let ceiling = ceiling.unwrap_or_default();
            objects.push(format!("{{kind: QueueSpec, name: q{queue}, weight: {weight}{ceiling}}}"));
        }
        for value in [1, 50, 100] {
            objects.push(format!(
                "{{apiVersion: scheduling.k8s.io/v1, kind: PriorityClass, metadata: {{name: \
                 prio-{value}}}, value: {value}}}"
            ));
        }
        objects
    }
}

/// Lives a life; returns what became of it.
pub(crate) fn live(text: &str) -> RunResult {
    let scenario = load_text("life.yaml", text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let config = scenario.config.as_deref().expect("it brings its configuration");
    let parsed = config::parse(&Registry::standard(), "life", config);
    let config = parsed.unwrap_or_else(|errors| panic!("{errors}")).config;
    run(&scenario, &config, &pool(1), Narration::Silent, &mut |_, _| {})
}

/// Pods of a gang on nodes to stay, by sub-group.
fn bound(result: &RunResult, gang: &Gang, name: &str) -> BTreeMap<Option<(usize, u32)>, u32> {
    let mut bound = BTreeMap::new();
    for (member, subgroup) in gang.pods().into_iter().enumerate() {
        let pod = result.books.pods.get(&key(&format!("{name}-w-{member}")));
        if pod.is_some_and(|pod| pod.status.is_bound()) {
            *bound.entry(subgroup).or_default() += 1;
        }
    }
    bound
}

/// A gang that was bound and lost nobody has the sub-groups it needs.
fn check_subgroups(result: &RunResult, gang: &Gang, name: &str) -> Result<(), String> {
    let bound = bound(result, gang, name);
    let lost = result.tally.by_job.contains_key(&key(name));
    if bound.is_empty() || lost {
        return Ok(());
    }
    for (at, policy) in gang.policies.iter().enumerate() {
        let of_policy = bound.iter().filter(|(group, _)| group.is_some_and(|one| one.0 == at));
        let whole = of_policy.filter(|(_, pods)| **pods >= policy.size).count();
        if whole < policy.min as usize {
            return Err(format!("{name} has {whole} whole sub-groups of p{at}: {bound:?}"));
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(cases(250))]

    #[test]
    fn every_invariant_holds_in_every_life_and_style(life in any_life()) {
        for style in STYLES {
            let (text, run) = life.print(style);
            let result = live(&text);
            let violations = result.violations.clone().unwrap_or_default();
            prop_assert!(violations.is_empty(), "{violations:#?}\n{text}");
            for (at, gang) in life.gangs.iter().enumerate().filter(|&(at, _)| !run[at]) {
                let fault = check_subgroups(&result, gang, &format!("g{at}"));
                prop_assert!(fault.is_ok(), "{fault:?}\n{text}");
            }
        }
    }
}
