//! One large cycle, then the small ones after it.

use std::hash::{Hash, Hasher};
use std::time::Duration;

use muster::config::Parsed;
use muster_benches::echo::Echo;
use muster_benches::fleet::Fleet;
use muster_benches::memory::{Counting, resident_mib};
use muster_benches::rig::{Rig, count, median, micros, millis};
use muster_core::config::Upkeep;
use muster_core::delta::{ClusterDelta, Facts};
use muster_core::intent::{Decision, DecisionOp};
use muster_core::policy::SchedulerConfig;

use crate::options::Options;
use crate::report::{Whole, rounded};

/// Pods told in one batch at the start.
const BATCH: usize = 100_000;
/// Large cycles of which the middle one counts.
const CYCLES: usize = 3;
/// Small cycles of which the middle one counts.
const ROUNDS: usize = 15;
/// Pods that end, and pods that come, before each small cycle.
const CHURN: usize = 50;

pub(crate) fn measure(options: &Options) -> Result<Whole, String> {
    let (fleet, threads) = (options.fleet(), options.threads());
    let Parsed { config, warnings, .. } = options.config()?;
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
    let mut rig = Rig::new(&config, threads);
    let mut echo = Echo::default();
    let start = start(&mut rig, fleet, &mut echo);
    let large = large(options, &mut rig, &mut echo)?;
    let (ingest, cycle, placed) = (start.time + large.ingest, large.cycle, large.placed);
    eprintln!("ingest   {:>10.1} ms", millis(ingest));
    let idle = idle(&mut rig)?;
    let small = churn(&mut rig, &mut echo, fleet)?;
    eprintln!("delta100 {:>10.1} us", micros(small));
    let rss_mib = resident_mib();
    rig.audit()?;
    drop((rig, echo));
    let naive = match options.naive {
        0 => None,
        pods => Some(naive(config, fleet, threads, pods)?),
    };
    Ok(Whole {
        nodes: fleet.nodes,
        tasks: fleet.waiting_pods(),
        placed,
        cycle_ms: rounded(millis(cycle)),
        tasks_per_sec: rounded(placed as f64 / cycle.as_secs_f64()),
        naive_tasks_per_sec: naive.map(rounded),
        idle_cycle_us: rounded(micros(idle)),
        delta_100_cycle_us: rounded(micros(small)),
        ingest_ms: rounded(millis(ingest)),
        rss_mib,
        bytes_per_pod: start.bytes_per_pod.map(rounded),
        threads,
    })
}

/// What it took to know the cluster before anything waits.
struct Start {
    time: Duration,
    bytes_per_pod: Option<f64>,
}

/// Tells the scheduler all nodes, queues and running pods. The echo keeps those that will end.
fn start(rig: &mut Rig, fleet: Fleet, echo: &mut Echo) -> Start {
    let mut time = rig.ingest(fleet.ground());
    let before = Counting::live();
    let (mut pods, mut noted, mut outside) = (0, 0, 0);
    for batch in fleet.running(BATCH) {
        pods +=
            batch.iter().filter(|delta| matches!(delta, ClusterDelta::Set(Facts::Pod(_)))).count();
        let live = Counting::live();
        if noted < ROUNDS * CHURN {
            let ending = &batch[..batch.len().min(2 * ROUNDS * CHURN)];
            echo.note(ending);
            noted += ending.len();
        }
        // What the echo keeps is not the scheduler's.
        outside += Counting::live() - live;
        time += rig.ingest(batch);
        eprintln!("{pods} pods run ({:.1} ms so far)", millis(time));
    }
    let grown = Counting::live() - before - outside;
    Start { time, bytes_per_pod: (pods > 0).then(|| grown as f64 / pods as f64) }
}

/// Placing everything that waits.
struct Large {
    /// Taking it in.
    ingest: Duration,
    cycle: Duration,
    placed: usize,
}

/// The cycle that places what waits, the middle of some: all of it goes and comes again, to a scheduler
/// that has been at work before. It must decide the same every time.
fn large(options: &Options, rig: &mut Rig, echo: &mut Echo) -> Result<Large, String> {
    let fleet = options.fleet();
    let (mut ingests, mut cycles, mut first) = (Vec::new(), Vec::new(), None);
    for round in 1..=CYCLES {
        let waiting = fleet.waiting();
        echo.note(&waiting);
        ingests.push(rig.ingest(waiting));
        let mut run = || rig.cycle(Vec::new());
        let (outcome, time) = if round == CYCLES { options.profiled(run)? } else { run() };
        cycles.push(time);
        let placed = count(&outcome.decisions, DecisionOp::Bind);
        let digest = digest(&outcome.decisions);
        eprintln!("cycle    {:>10.1} ms  decisions {digest:016x}", millis(time));
        if *first.get_or_insert((placed, digest)) != (placed, digest) {
            return Err("the same pods on the same nodes were placed otherwise than before".into());
        }
        rig.come_to_rest(echo, &outcome.intents)?;
        if round < CYCLES {
            let (outcome, _) = rig.cycle(fleet.withdrawn());
            rig.come_to_rest(echo, &outcome.intents)?;
        }
    }
    let placed = first.map_or(0, |(placed, _)| placed);
    Ok(Large { ingest: ingests[0], cycle: median(cycles), placed })
}

/// A cycle in which nothing changed.
fn idle(rig: &mut Rig) -> Result<Duration, String> {
    let mut times = Vec::new();
    for _ in 0..ROUNDS {
        let (outcome, time) = rig.cycle(Vec::new());
        if !outcome.intents.is_empty() {
            return Err("a cycle without news decided something".into());
        }
        times.push(time);
    }
    Ok(median(times))
}

/// A cycle after some pods ended and as many came.
fn churn(rig: &mut Rig, echo: &mut Echo, fleet: Fleet) -> Result<Duration, String> {
    let mut times = Vec::new();
    for round in 0..ROUNDS {
        let deltas = fleet.churn(echo, round, CHURN);
        let (outcome, time) = rig.cycle(deltas);
        times.push(time);
        rig.come_to_rest(echo, &outcome.intents)?;
    }
    Ok(median(times))
}

/// Tasks a second of the twin that looks at every node for each of them: on the first gangs that wait,
/// cut down to so many pods. Its decisions must be those of a scheduler that does not.
fn naive(
    config: SchedulerConfig,
    fleet: Fleet,
    threads: usize,
    pods: usize,
) -> Result<f64, String> {
    let members = pods.min(fleet.members);
    let part = Fleet { gangs: pods / members, members, ..fleet };
    let run = |upkeep: Upkeep| {
        let mut config = config.clone();
        config.tuning.upkeep = upkeep;
        let mut rig = Rig::new(&config, threads);
        start(&mut rig, fleet, &mut Echo::default());
        rig.ingest(part.waiting());
        let (outcome, time) = rig.cycle(Vec::new());
        let placed = count(&outcome.decisions, DecisionOp::Bind);
        eprintln!("{upkeep:?}: {:.1} ms for {placed} pods", millis(time));
        (outcome.decisions, placed as f64 / time.as_secs_f64())
    };
    let (expected, _) = run(Upkeep::Mend);
    let (found, speed) = run(Upkeep::Rescan);
    match found.iter().zip(&expected).find(|(found, expected)| found != expected) {
        Some((found, expected)) => Err(format!("the twin decides {found:?}, not {expected:?}")),
        None if found.len() != expected.len() => Err("the twin decides more or less".into()),
        None => Ok(speed),
    }
}

/// A number that is the same for the same decisions.
fn digest(decisions: &[Decision]) -> u64 {
    let mut hasher = rustc_hash::FxHasher::default();
    for decision in decisions {
        (decision.op.as_str(), &decision.pod, &decision.node).hash(&mut hasher);
    }
    hasher.finish()
}
