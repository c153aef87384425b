//! A scheduler with a stopwatch around it.

use std::time::{Duration, Instant};

use muster_core::delta::ClusterDelta;
use muster_core::ids::TimeMs;
use muster_core::intent::{CycleOutcome, Decision, DecisionOp, Intent};
use muster_core::policy::SchedulerConfig;
use muster_core::scheduler::Scheduler;

use crate::echo::Echo;
use crate::pool;

/// Cycles after which everything must have come to rest.
const CYCLES_MAX: usize = 20;

/// The scheduler under test, and the time it was told.
pub struct Rig {
    scheduler: Scheduler,
    now: i64,
}

impl Rig {
    /// One that knows nothing yet.
    pub fn new(config: &SchedulerConfig, threads: usize) -> Self {
        Self { scheduler: Scheduler::new(config, pool(threads)), now: 0 }
    }

    /// Takes deltas in and decides nothing.
    pub fn ingest(&mut self, deltas: Vec<ClusterDelta>) -> Duration {
        let start = Instant::now();
        self.scheduler.feed(deltas);
        self.scheduler.follow(TimeMs(self.now));
        start.elapsed()
    }

    /// Runs a cycle with these deltas, a second after the last.
    pub fn cycle(&mut self, deltas: Vec<ClusterDelta>) -> (CycleOutcome, Duration) {
        self.now += 1_000;
        let start = Instant::now();
        self.scheduler.feed(deltas);
        let outcome = self.scheduler.run_cycle(TimeMs(self.now));
        (outcome, start.elapsed())
    }

    /// Tells the scheduler of its own calls until it makes none any more.
    pub fn come_to_rest(&mut self, echo: &mut Echo, intents: &[Intent]) -> Result<(), String> {
        let mut answers = echo.answers(intents);
        for _ in 0..CYCLES_MAX {
            let (outcome, _) = self.cycle(answers);
            answers = echo.answers(&outcome.intents);
            if answers.is_empty() && outcome.decisions.is_empty() {
                return Ok(());
            }
        }
        Err(format!("the scheduler still decides after {CYCLES_MAX} cycles without news"))
    }

    /// What is wrong with any total, in words.
    pub fn audit(&mut self) -> Result<(), String> {
        let faults = self.scheduler.audit();
        if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
    }
}

/// How many decisions are of that kind.
pub fn count(decisions: &[Decision], op: DecisionOp) -> usize {
    decisions.iter().filter(|decision| decision.op == op).count()
}

/// The one in the middle.
pub fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// A time in milliseconds.
pub fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// A time in microseconds.
pub fn micros(time: Duration) -> f64 {
    time.as_secs_f64() * 1e6
}
