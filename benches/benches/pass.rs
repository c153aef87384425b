//! Passes over a cluster that has lived for a while: one look at all nodes, a burst of news, churn.
//!
//! The cluster is fragmented: running pods of different sizes are dealt out at random, and some have
//! ended and made way for others before anything is measured. Each bench goes on with the same
//! cluster, as a scheduler does.

use std::collections::VecDeque;
use std::time::Duration;

use criterion::{Bencher, Criterion, Throughput};
use muster::config::default_config;
use muster_benches::echo::Echo;
use muster_benches::fleet::{Fleet, late_gang, late_pod, running_pod};
use muster_benches::rig::{Rig, count};
use muster_benches::{criterion, is_smoke, size};
use muster_core::delta::{ClusterDelta, ObjectRef, PodPhase};
use muster_core::intent::DecisionOp;

/// Pods told in one batch at the start.
const BATCH: usize = 100_000;
/// Rounds of churn before anything is measured, and pods of each.
const ROUNDS: usize = 10;
const CHURN: usize = 50;

/// A cluster that has lived.
struct Lived {
    fleet: Fleet,
    rig: Rig,
    echo: Echo,
    round: usize,
    /// Rounds whose pods are still there.
    came: VecDeque<usize>,
}

impl Lived {
    /// Every scan on so many threads, however few the nodes.
    fn new(nodes: usize, running: usize, threads: usize) -> Self {
        let fleet = Fleet { nodes, gangs: 1, members: 1, classes: 1, running, queues: 4 };
        let mut config = default_config().config;
        config.tuning.parallel_threshold = if threads == 1 { usize::MAX } else { 0 };
        let (rig, echo) = (Rig::new(&config, threads), Echo::default());
        let mut lived = Self { fleet, rig, echo, round: 0, came: VecDeque::new() };
        lived.rig.ingest(fleet.ground());
        for batch in fleet.running(BATCH) {
            lived.echo.note(&batch);
            lived.rig.ingest(batch);
        }
        lived.settle(Vec::new());
        for _ in 0..ROUNDS {
            lived.churn();
        }
        lived
    }

    /// Takes deltas in, and everything that follows from them.
    fn settle(&mut self, deltas: Vec<ClusterDelta>) {
        let (outcome, _) = self.rig.cycle(deltas);
        let rest = self.rig.come_to_rest(&mut self.echo, &outcome.intents);
        assert_eq!(rest, Ok(()));
    }

    /// Some pods go, as many come: the time of the cycle that places them. First those that were there
    /// from the start, then those that came longest ago.
    fn churn(&mut self) -> Duration {
        let deltas = if self.came.len() < ROUNDS {
            self.fleet.churn(&mut self.echo, self.round, CHURN)
        } else {
            let comes = self.fleet.newcomers(self.round, CHURN);
            self.echo.note(&comes);
            let goes = self.came.pop_front().map(|round| gone(round, CHURN));
            goes.into_iter().flatten().chain(comes).collect()
        };
        self.came.push_back(self.round);
        self.round += 1;
        let (outcome, time) = self.rig.cycle(deltas);
        assert_eq!(count(&outcome.decisions, DecisionOp::Bind), CHURN, "all who came are placed");
        let rest = self.rig.come_to_rest(&mut self.echo, &outcome.intents);
        assert_eq!(rest, Ok(()));
        time
    }

    /// One pod of a class nobody has met: the time of the cycle that places it, with one look at all
    /// nodes. The pod is gone afterwards.
    fn scan(&mut self) -> Duration {
        self.round += 1;
        let comes = self.fleet.latecomers(self.round, 1, self.round);
        self.echo.note(&comes);
        // Taken in by the cycle itself: a scheduler that follows in between gives up all it assumes and
        // would look at every job again.
        let (outcome, time) = self.rig.cycle(comes);
        assert_eq!(count(&outcome.decisions, DecisionOp::Bind), 1, "it finds a place");
        self.settle(gone(self.round, 1));
        time
    }

    /// So many events at once: every second pod ends or runs again, the others have changed in nothing
    /// that matters.
    fn burst(&mut self, events: usize) -> Duration {
        self.round += 1;
        let phase =
            if self.round.is_multiple_of(2) { PodPhase::Running } else { PodPhase::Succeeded };
        let told = (0..events).filter_map(|index| {
            let pod = running_pod(ROUNDS * CHURN + index);
            self.echo.change(&pod, |facts| {
                if index.is_multiple_of(2) {
                    facts.phase = phase;
                }
            })
        });
        let told: Vec<ClusterDelta> = told.collect();
        assert_eq!(told.len(), events, "as many pods run");
        let time = self.rig.ingest(told);
        self.settle(Vec::new());
        time
    }
}

/// The pods of a round are deleted, and their gang.
fn gone(round: usize, pods: usize) -> Vec<ClusterDelta> {
    let pods = (0..pods).map(|member| ClusterDelta::Gone(ObjectRef::Pod(late_pod(round, member))));
    pods.chain([ClusterDelta::Gone(ObjectRef::PodGroup(late_gang(round)))]).collect()
}

/// Adds up the times a thing takes, without what goes on between.
fn measure(bencher: &mut Bencher<'_>, mut run: impl FnMut() -> Duration) {
    bencher.iter_custom(|rounds| (0..rounds).map(|_| run()).sum());
}

fn scan(c: &mut Criterion) {
    let mut group = c.benchmark_group("class::scan");
    group.sample_size(20);
    let sizes = if is_smoke() { &[70][..] } else { &[1_000, 2_000, 5_000, 20_000, 100_000] };
    for &nodes in sizes {
        for threads in [1, 2] {
            let mut lived = Lived::new(nodes, nodes * 4, threads);
            group.throughput(Throughput::Elements(nodes as u64));
            group.bench_function(format!("nodes={nodes}/threads={threads}"), |b| {
                measure(b, || lived.scan());
            });
            assert_eq!(lived.rig.audit(), Ok(()));
        }
    }
    group.finish();
}

fn burst(c: &mut Criterion) {
    let mut group = c.benchmark_group("ingest::burst");
    group.sample_size(10);
    let (nodes, events) = (size(20_000, 150), size(100_000, 100));
    let mut lived = Lived::new(nodes, ROUNDS * CHURN + events, 2);
    group.throughput(Throughput::Elements(events as u64));
    group.bench_function(format!("nodes={nodes}/events={events}"), |b| {
        measure(b, || lived.burst(events));
    });
    assert_eq!(lived.rig.audit(), Ok(()));
    group.finish();
}

fn churn(c: &mut Criterion) {
    let mut group = c.benchmark_group("cycle::churn");
    group.sample_size(10);
    let sizes =
        if is_smoke() { &[(150, 1_000)][..] } else { &[(10_000, 40_000), (10_000, 100_000)] };
    for &(nodes, running) in sizes {
        let mut lived = Lived::new(nodes, running, 2);
        let id = format!("nodes={nodes}/running={running}/changed={}", 2 * CHURN);
        group.bench_function(id, |b| measure(b, || lived.churn()));
        assert_eq!(lived.rig.audit(), Ok(()));
    }
    group.finish();
}

fn main() {
    let mut criterion = criterion().configure_from_args();
    scan(&mut criterion);
    burst(&mut criterion);
    churn(&mut criterion);
    criterion.final_summary();
}
