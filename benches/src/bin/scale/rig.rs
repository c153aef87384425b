//! A scheduler with a stopwatch around it.

use std::time::{Duration, Instant};

use muster_benches::pool;
use muster_core::config::SchedulerConfig;
use muster_core::delta::ClusterDelta;
use muster_core::ids::TimeMs;
use muster_core::intent::{Decision, DecisionOp};
use muster_core::scheduler::{CycleOutcome, Scheduler};

/// The scheduler under test, and the time it was told.
pub(crate) struct Rig {
    scheduler: Scheduler,
    now: i64,
}

impl Rig {
    pub(crate) fn new(config: &SchedulerConfig, threads: usize) -> Self {
        Self { scheduler: Scheduler::new(config, pool(threads)), now: 0 }
    }

    /// Takes deltas in and decides nothing.
    pub(crate) fn ingest(&mut self, deltas: Vec<ClusterDelta>) -> Duration {
        let start = Instant::now();
        self.scheduler.feed(deltas);
        self.scheduler.follow(TimeMs(self.now));
        start.elapsed()
    }

    /// Runs a cycle with these deltas, a second after the last.
    pub(crate) fn cycle(&mut self, deltas: Vec<ClusterDelta>) -> (CycleOutcome, Duration) {
        self.now += 1_000;
        let start = Instant::now();
        self.scheduler.feed(deltas);
        let outcome = self.scheduler.run_cycle(TimeMs(self.now));
        (outcome, start.elapsed())
    }

    /// What is wrong with any total, in words.
    pub(crate) fn audit(&mut self) -> Result<(), String> {
        let faults = self.scheduler.audit();
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
    }
}

/// How many decisions are of that kind.
pub(crate) fn count(decisions: &[Decision], op: DecisionOp) -> usize {
    decisions.iter().filter(|decision| decision.op == op).count()
}

/// The one in the middle.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

pub(crate) fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
