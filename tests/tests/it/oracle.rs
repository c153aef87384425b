//! Victims against an oracle: on small random clusters every legal set of victims is tried.
//!
//! The scheduler must find room whenever some legal set makes it, must not take a unit it does not
//! need, and must hardly ever break a gang where surplus is enough. What its victims cost is compared with the
//! cheapest set of the same kind; `cargo test --workspace --test it oracle -- --nocapture` prints the
//! distribution.

use std::collections::BTreeMap;

use muster_core::delta::{ClusterDelta, TopologyMode};
use muster_core::ids::TimeMs;
use muster_core::intent::DecisionOp;
use muster_core::testing::{domain, group, key, node, pod, priority_class};
use muster_tests::policy::{config, scheduler};

const CONFIG: &str = "\
actions: \"allocate, preempt\"
tiers:
- plugins: [{name: priority}, {name: gang}, {name: conformance}]
- plugins: [{name: predicates}, {name: nodeorder}, {name: network-topology-aware}]
configurations:
- {name: preempt, arguments: {gangAwareEnable: true, domainSearch: SEARCH}}
";

const CASES: u64 = 10_000;

/// Cpu and memory.
type Amount = [i64; 2];

fn fits(ask: Amount, room: Amount) -> bool {
    ask[0] <= room[0] && ask[1] <= room[1]
}

/// Small whole numbers from a seed.
struct Dice(u64);

impl Dice {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 =
            self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }

    fn within(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low + 1) as u64) as i64
    }
}

/// A gang that runs and may be evicted.
#[derive(Debug)]
struct Victim {
    min: usize,
    ask: Amount,
    /// Node of each task.
    nodes: Vec<usize>,
}

#[derive(Debug)]
struct Case {
    nodes: Vec<Amount>,
    /// The first so many nodes are one domain, the others another.
    split: usize,
    hard: bool,
    victims: Vec<Victim>,
    /// What each task of the gang that wants room asks for.
    wants: Vec<Amount>,
}

impl Case {
    fn random(seed: u64) -> Self {
        let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        dice.below(2);
        let nodes: Vec<Amount> =
            (0..dice.within(1, 6)).map(|_| [dice.within(2, 8), dice.within(2, 8)]).collect();
        let mut free = nodes.clone();
        let mut victims = Vec::new();
        for _ in 0..dice.within(1, 4) {
            let ask = [dice.within(1, 4), dice.within(0, 4)];
            let mut places = Vec::new();
            for _ in 0..dice.within(1, 4) {
                let at = dice.below(nodes.len() as u64) as usize;
                if fits(ask, free[at]) {
                    free[at] = [free[at][0] - ask[0], free[at][1] - ask[1]];
                    places.push(at);
                }
            }
            if !places.is_empty() {
                let min = dice.within(1, places.len() as i64) as usize;
                victims.push(Victim { min, ask, nodes: places });
            }
        }
        let ask = [dice.within(1, 6), dice.within(0, 6)];
        let wants = vec![ask; dice.within(1, 4) as usize];
        let split = dice.within(0, nodes.len() as i64) as usize;
        Self { split, hard: dice.below(2) == 0, nodes, victims, wants }
    }

    /// Is there a place for the whole gang when these tasks have gone?
    fn places(&self, gone: &[Vec<bool>]) -> bool {
        let mut free = self.nodes.clone();
        for (victim, gone) in self.victims.iter().zip(gone) {
            for (&at, _) in victim.nodes.iter().zip(gone).filter(|(_, gone)| !**gone) {
                free[at] = [free[at][0] - victim.ask[0], free[at][1] - victim.ask[1]];
            }
        }
        let ask = self.wants[0];
        let slots = |room: &Amount| {
            let by = |dim: usize| if ask[dim] == 0 { i64::MAX } else { room[dim] / ask[dim] };
            by(0).min(by(1)).max(0) as usize
        };
        let enough = |rows: &[Amount]| {
            rows.iter().map(slots).fold(0usize, usize::saturating_add) >= self.wants.len()
        };
        if self.hard {
            enough(&free[..self.split]) || enough(&free[self.split..])
        } else {
            enough(&free)
        }
    }

    /// What these evictions cost, in parts of what is wanted: breaks a gang, then by resources.
    fn cost(&self, gone: &[Vec<bool>]) -> (bool, f64) {
        let need: Vec<i64> =
            (0..2).map(|dim| self.wants.iter().map(|want| want[dim]).sum()).collect();
        let (mut breaks, mut cost) = (false, 0.0);
        for (victim, gone) in self.victims.iter().zip(gone) {
            let count = gone.iter().filter(|gone| **gone).count();
            breaks |= victim.nodes.len() - count < victim.min;
            for dim in (0..2).filter(|&dim| need[dim] > 0) {
                cost += count as f64 * victim.ask[dim] as f64 / need[dim] as f64;
            }
        }
        (breaks, cost)
    }

    /// Every choice of tasks a gang may lose: surplus, or all.
    fn choices(victim: &Victim) -> Vec<Vec<bool>> {
        let tasks = victim.nodes.len();
        let chosen = |bits: usize| (0..tasks).map(|at| bits >> at & 1 == 1).collect::<Vec<bool>>();
        (0..1usize << tasks)
            .filter(|bits| {
                let left = tasks - bits.count_ones() as usize;
                left >= victim.min || left == 0
            })
            .map(chosen)
            .collect()
    }

    /// The cheapest legal set, one that breaks no gang before any other.
    fn best(&self) -> Option<(bool, f64)> {
        let choices: Vec<Vec<Vec<bool>>> = self.victims.iter().map(Self::choices).collect();
        let mut at = vec![0; choices.len()];
        let mut best: Option<(bool, f64)> = None;
        loop {
            let gone: Vec<Vec<bool>> =
                choices.iter().zip(&at).map(|(choices, &at)| choices[at].clone()).collect();
            let cost = self.cost(&gone);
            if best.is_none_or(|best| cost < best) && self.places(&gone) {
                best = Some(cost);
            }
            let Some(turn) = (0..at.len()).find(|&turn| at[turn] + 1 < choices[turn].len()) else {
                return best;
            };
            at[turn] += 1;
            at[..turn].fill(0);
        }
    }

    fn deltas(&self) -> Vec<ClusterDelta> {
        let mut deltas: Vec<ClusterDelta> = vec![ClusterDelta::from(priority_class("high", 100))];
        for (at, room) in self.nodes.iter().enumerate() {
            let name = format!("n{at}");
            deltas.push(node(&name).offer("cpu", room[0]).offer("memory", room[1]).into());
        }
        for (name, rows) in [("left", 0..self.split), ("right", self.split..self.nodes.len())] {
            let tier = domain(name, 1);
            deltas.push(rows.fold(tier, |tier, at| tier.node(&format!("n{at}"))).into());
        }
        for (at, victim) in self.victims.iter().enumerate() {
            let name = format!("v{at}");
            deltas.push(group(&name, victim.min as u32).into());
            for (task, on) in victim.nodes.iter().enumerate() {
                let made = pod(&format!("{name}-t-{task}")).group(&name);
                let asks = made.ask("cpu", victim.ask[0]).ask("memory", victim.ask[1]);
                deltas.push(asks.running_on(&format!("n{on}")).into());
            }
        }
        let gang = group("want", self.wants.len() as u32).class("high");
        let gang = if self.hard { gang.within(TopologyMode::Hard, 1) } else { gang };
        deltas.push(gang.into());
        for (task, ask) in self.wants.iter().enumerate() {
            let made = pod(&format!("want-t-{task}")).group("want");
            deltas.push(made.ask("cpu", ask[0]).ask("memory", ask[1]).into());
        }
        deltas
    }

    /// Which tasks the scheduler evicts; none if the gang stays without room.
    fn decide(&self, search: &str) -> Option<Vec<Vec<bool>>> {
        let mut scheduler = scheduler(&config(&CONFIG.replace("SEARCH", search)));
        scheduler.feed(self.deltas());
        let outcome = scheduler.run_cycle(TimeMs(0));
        assert_eq!(scheduler.audit(), [""; 0], "{self:?}");
        let mut gone: Vec<Vec<bool>> =
            self.victims.iter().map(|victim| vec![false; victim.nodes.len()]).collect();
        let index: BTreeMap<_, _> = self
            .victims
            .iter()
            .enumerate()
            .flat_map(|(at, victim)| (0..victim.nodes.len()).map(move |task| (at, task)))
            .map(|(at, task)| (key(&format!("v{at}-t-{task}")), (at, task)))
            .collect();
        let mut placed = 0;
        for decision in &outcome.decisions {
            match decision.op {
                DecisionOp::Evict => {
                    let (at, task) = index[&decision.pod];
                    gone[at][task] = true;
                }
                DecisionOp::Bind | DecisionOp::Pipeline => placed += 1,
                DecisionOp::Unpipeline => {}
            }
        }
        assert!(placed == 0 || placed == self.wants.len(), "part of a gang: {self:?}");
        (placed > 0).then_some(gone)
    }

    /// Every unit given back makes the placement fail; a unit is a surplus task, or a gang that ends.
    fn is_minimal(&self, gone: &[Vec<bool>]) -> bool {
        let mut fewer = gone.to_vec();
        for (at, victim) in self.victims.iter().enumerate() {
            let left = gone[at].iter().filter(|gone| !**gone).count();
            let units: Vec<Vec<usize>> = if left < victim.min {
                vec![(0..gone[at].len()).collect()]
            } else {
                (0..gone[at].len()).filter(|&task| gone[at][task]).map(|task| vec![task]).collect()
            };
            for unit in units {
                for &task in &unit {
                    fewer[at][task] = false;
                }
                if self.places(&fewer) {
                    return false;
                }
                fewer[at].clone_from(&gone[at]);
            }
        }
        true
    }
}

/// How a search did over all cases.
#[derive(Debug, Default)]
struct Score {
    feasible: u32,
    /// Cases in which a gang ended though others had enough surplus.
    broken: u32,
    optimal: u32,
    worst: f64,
    sum: f64,
    /// Cases by cost over the best: up to 1, 1.25, 1.5, 2, 3, more.
    histogram: [u32; 6],
}

impl Score {
    fn add(&mut self, factor: f64) {
        self.feasible += 1;
        self.optimal += u32::from(factor <= 1.0 + 1e-9);
        self.worst = self.worst.max(factor);
        self.sum += factor;
        let steps = [1.0, 1.25, 1.5, 2.0, 3.0];
        let at = steps.iter().position(|&step| factor <= step + 1e-9).unwrap_or(steps.len());
        self.histogram[at] += 1;
    }
}

fn judge(search: &str) -> Score {
    let mut score = Score::default();
    for seed in 0..CASES {
        let case = Case::random(seed);
        let (found, best) = (case.decide(search), case.best());
        let Some(best) = best else {
            assert!(found.is_none(), "room where there is none, seed {seed}: {case:?}");
            continue;
        };
        let Some(gone) = found else { panic!("no room found, seed {seed}: {case:?}") };
        assert!(case.places(&gone), "too few evicted, seed {seed}: {gone:?} {case:?}");
        assert!(case.is_minimal(&gone), "more than needed, seed {seed}: {gone:?} {case:?}");
        let cost = case.cost(&gone);
        if cost.0 && !best.0 {
            score.broken += 1;
            continue;
        }
        if best.1 > 0.0 {
            score.add(cost.1 / best.1);
        }
    }
    score
}

#[test]
fn victims_are_found_whenever_there_are_any_and_none_is_superfluous() {
    for search in ["first", "best"] {
        let score = judge(search);
        println!("{search}: {score:?}, mean {:.3}", score.sum / f64::from(score.feasible));
        assert!(score.feasible > 2_000, "enough cases need victims");
        assert!(score.broken <= 20, "gangs that end for nothing are rare: {score:?}");
        assert!(f64::from(score.optimal) >= 0.85 * f64::from(score.feasible), "{score:?}");
        assert!(score.sum <= 1.1 * f64::from(score.feasible), "the mean: {score:?}");
        assert!(score.histogram[5] <= 20, "hardly any is three times too dear: {score:?}");
    }
}
