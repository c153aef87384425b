//! The subjects in turn, each on a control plane of its own.

use std::time::{Duration, Instant};

use kube::Client;
use muster_tests::control_plane::{ControlPlane, Options, Server, User};

use crate::E2eError;
use crate::console::Step;
use crate::fleet::{self, Size, pod, pods_path, post};
use crate::sight::{PATIENCE, Sight};
use crate::subject::{self, Subject};
use crate::usage::Usage;
use crate::writes::Writes;

/// Time after the last pod of the backlog in which a scheduler may tell of it.
const SETTLE: Duration = Duration::from_secs(3);
/// Pods that come one at a time afterwards.
const LATE_PODS: usize = 500;
/// Time between two of them.
const LATE_EVERY: Duration = Duration::from_millis(10);

/// What was measured of a subject in one run.
#[derive(Clone, Debug)]
pub(crate) struct Figures {
    /// Pods that got their nodes in a second.
    pub(crate) rate: f64,
    /// What only a process has.
    pub(crate) process: Option<ProcessFigures>,
}

/// What was measured of a process.
#[derive(Clone, Debug)]
pub(crate) struct ProcessFigures {
    /// Processor seconds from its start, for a thousand pods.
    pub(crate) cpu_per_1000: f64,
    /// The most memory it had, in MiB.
    pub(crate) memory_mib: f64,
    /// Writes a pod.
    pub(crate) writes_per_pod: f64,
    /// What was written.
    pub(crate) writes: Writes,
    /// Milliseconds from making a pod to its node, for all but the slowest of a hundred, when pods
    /// come one at a time.
    pub(crate) p99_ms: f64,
}

/// All runs.
#[derive(Clone, Debug)]
pub(crate) struct Race {
    /// The cluster.
    pub(crate) size: Size,
    /// The figures of each run, in the order of [`Subject::ALL`].
    pub(crate) runs: Vec<[Figures; 3]>,
}

/// Measures all subjects so many times. They begin in another order each time, so that none always
/// comes after the same other.
pub(crate) async fn run(size: &Size, runs: usize) -> Result<Race, E2eError> {
    let mut found = Vec::new();
    for run in 0..runs {
        let mut figures: [Option<Figures>; 3] = [None, None, None];
        for turn in 0..Subject::ALL.len() {
            let at = (run + turn) % Subject::ALL.len();
            figures[at] = Some(measure(Subject::ALL[at], size, (run + 1, runs)).await?);
        }
        found.push(figures.map(|figures| figures.expect("each subject had its turn")));
    }
    Ok(Race { size: *size, runs: found })
}

async fn measure(
    subject: Subject,
    size: &Size,
    (run, runs): (usize, usize),
) -> Result<Figures, E2eError> {
    let name = subject.name();
    drop(Step::begin(&format!("run {run} of {runs}: {name}: starting a control plane"), 0));
    let plane = ControlPlane::start(Options::default()).await?;
    let client = plane.client(User::Admin).await;
    fleet::make_nodes(&client, size).await?;
    fleet::make_pods(&client, size, subject.scheduler()).await?;
    let before = Writes::read(&client).await?;
    let mut sight = Sight::open(&client).await?;
    let step = Step::begin(&format!("{name} gives {} pods their nodes", size.pods), size.pods);
    let process = subject.start(&plane)?;
    if process.is_none() {
        subject::bind_all(&client, size).await?;
    }
    let stuck = |bound, pods| E2eError::Stuck {
        subject: name,
        bound,
        pods,
        patience: PATIENCE,
        words: process.as_ref().map(Server::last_words).unwrap_or_default(),
    };
    sight.until(size.pods, &step).await.map_err(|bound| stuck(bound, size.pods))?;
    drop(step);
    let rate = sight.rate();
    let Some(process) = &process else { return Ok(Figures { rate, process: None }) };
    tokio::time::sleep(SETTLE).await;
    let usage = Usage::of(process.id())?;
    let writes = Writes::read(&client).await?.since(&before).of_schedulers();
    let late = latencies(&client, subject, size, &mut sight).await?;
    let late = late.map_err(|bound| stuck(bound, size.pods + LATE_PODS))?;
    let pods = size.pods as f64;
    let process = ProcessFigures {
        cpu_per_1000: usage.cpu.as_secs_f64() * 1_000.0 / pods,
        memory_mib: usage.memory_mib(),
        writes_per_pod: writes.total() as f64 / pods,
        writes,
        p99_ms: percentile(late, 99).as_secs_f64() * 1_000.0,
    };
    Ok(Figures { rate, process: Some(process) })
}

/// Makes pods one at a time: how long each took from being made to its node, or how many pods had
/// theirs when no more came.
async fn latencies(
    client: &Client,
    subject: Subject,
    size: &Size,
    sight: &mut Sight,
) -> Result<Result<Vec<Duration>, usize>, E2eError> {
    let count = LATE_PODS.min(size.pods);
    let step = Step::begin(&format!("{count} pods come one at a time"), size.pods + count);
    let mut pace = tokio::time::interval(LATE_EVERY);
    let mut made = Vec::with_capacity(count);
    for at in 0..count {
        pace.tick().await;
        let name = format!("late-{at}");
        let begun = Instant::now();
        let posted = post(client, &pods_path(), &pod(&name, subject.scheduler())).await;
        posted.map_err(E2eError::call("making a pod"))?;
        made.push((name, begun));
    }
    if let Err(bound) = sight.until(size.pods + count, &step).await {
        return Ok(Err(bound));
    }
    let took = made.iter().filter_map(|(name, begun)| {
        sight.when(name).map(|bound| bound.saturating_duration_since(*begun))
    });
    Ok(Ok(took.collect()))
}

/// The value so many of a hundred do not exceed.
fn percentile(mut values: Vec<Duration>, of_hundred: usize) -> Duration {
    values.sort_unstable();
    let at = (values.len() * of_hundred).div_ceil(100).saturating_sub(1);
    values.get(at).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_percentile_is_the_value_so_many_do_not_exceed() {
        let values = |count: u64| (1..=count).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(values(100), 99), Duration::from_millis(99));
        assert_eq!(percentile(values(500), 99), Duration::from_millis(495));
        assert_eq!(percentile(values(2), 99), Duration::from_millis(2));
        assert_eq!(percentile(Vec::new(), 99), Duration::ZERO);
    }
}
