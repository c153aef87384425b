//! Two cases that are hard where room comes from evictions.

use std::time::Duration;

use muster::config::parse;
use muster_benches::echo::Echo;
use muster_benches::fleet::{Pod, amounts, group, node};
use muster_benches::rig::{Rig, count, millis};
use muster_core::config::Dialect;
use muster_core::delta::{ClusterDelta, OverQuotaTerms, OverQuotaWeights};
use muster_core::ids::{Name, TimeMs};
use muster_core::intent::DecisionOp;
use muster_core::policy::{Registry, SchedulerConfig};
use muster_core::resource::ResourceList;
use muster_core::testing as build;

use crate::options::Options;
use crate::report::{CaseFigures, rounded};

/// Nodes, of eight GPUs each.
const NODES: usize = 500;
const GPUS: usize = NODES * 8;
/// Cycles after which a case must have come to rest.
const CYCLES_MAX: usize = 10_000;

/// Every action that makes room, and queues with a due of their own.
fn config(dialect: Dialect) -> SchedulerConfig {
    let text = match dialect {
        Dialect::Volcano => {
            "actions: \"enqueue, allocate, preempt, reclaim, backfill\"\n\
             tiers:\n\
             - plugins: [{name: priority}, {name: gang}, {name: conformance}]\n\
             - plugins: [{name: drf}, {name: predicates}, {name: capacity}, {name: nodeorder}]\n"
        }
        Dialect::Kai => {
            "actions: \"allocate, reclaim, preempt, stalegangeviction\"\n\
             tiers:\n\
             - plugins: [{name: predicates}, {name: proportion}, {name: priority}, {name: elastic}, \
               {name: nodeplacement}, {name: subgrouporder}, {name: taskorder}, {name: minruntime}]\n"
        }
    };
    parse(&Registry::standard(), "scale", text).expect("a fixed text, valid").config
}

/// A gang that needs ten whole nodes, where each node has one pod that may go and seven that may not:
/// hundreds of legal victims, and no set of them helps.
pub(crate) fn unschedulable(options: &Options, dialect: Dialect) -> Result<CaseFigures, String> {
    let mut known: Vec<ClusterDelta> = (0..NODES).map(node).collect();
    known.push(queue(dialect, "kept", GPUS - NODES, false));
    known.push(queue(dialect, "taken", 0, true));
    known.push(queue(dialect, "asks", NODES, true));
    for at in 0..NODES {
        gang(&mut known, &format!("kept-{at}"), "kept", 7, 1, Some(at));
        gang(&mut known, &format!("taken-{at}"), "taken", 1, 1, Some(at));
    }
    let mut arrives = Vec::new();
    gang(&mut arrives, "large", "asks", 10, 8, None);
    let figures = run("unschedulable", dialect, options, known, arrives)?;
    if figures.evicted + figures.placed > 0 {
        return Err(format!("nothing can be done, but something was: {figures:?}"));
    }
    Ok(figures)
}

/// A cluster full of one queue's jobs, all of which another queue is due.
pub(crate) fn reclaim(options: &Options, dialect: Dialect) -> Result<CaseFigures, String> {
    let mut known: Vec<ClusterDelta> = (0..NODES).map(node).collect();
    known.push(queue(dialect, "a", 0, true));
    known.push(queue(dialect, "b", GPUS, true));
    for job in 0..GPUS {
        gang(&mut known, &format!("a-{job}"), "a", 1, 1, Some(job % NODES));
    }
    let mut arrives = Vec::new();
    for job in 0..GPUS {
        gang(&mut arrives, &format!("b-{job}"), "b", 1, 1, None);
    }
    let figures = run("reclaim", dialect, options, known, arrives)?;
    if (figures.evicted, figures.placed) != (GPUS, GPUS) {
        return Err(format!("{GPUS} jobs were to go for {GPUS}: {figures:?}"));
    }
    Ok(figures)
}

/// Lets the scheduler know a cluster, then lets jobs arrive, and runs cycles until it rests.
fn run(
    case: &'static str,
    dialect: Dialect,
    options: &Options,
    known: Vec<ClusterDelta>,
    arrives: Vec<ClusterDelta>,
) -> Result<CaseFigures, String> {
    let threads = options.threads();
    let mut rig = Rig::new(&config(dialect), threads);
    let mut echo = Echo::default();
    echo.note(&known);
    echo.note(&arrives);
    let (outcome, _) = rig.cycle(known);
    let mut deltas = echo.answers(&outcome.intents);
    // What the scheduler says of the cluster as it is comes before the question.
    while !deltas.is_empty() {
        let (outcome, _) = rig.cycle(deltas);
        deltas = echo.answers(&outcome.intents);
    }
    let figures = options.profiled(|| decide(&mut rig, &mut echo, arrives))??;
    rig.audit()?;
    let dialect = match dialect {
        Dialect::Volcano => "volcano",
        Dialect::Kai => "kai",
    };
    Ok(CaseFigures { case, dialect, threads, ..figures })
}

/// Runs cycles until nothing is decided any more.
fn decide(
    rig: &mut Rig,
    echo: &mut Echo,
    mut deltas: Vec<ClusterDelta>,
) -> Result<CaseFigures, String> {
    let (mut time, mut figures) = (Duration::ZERO, CaseFigures::default());
    while !deltas.is_empty() {
        let (outcome, took) = rig.cycle(deltas);
        time += took;
        figures.cycles += 1;
        figures.evicted += count(&outcome.decisions, DecisionOp::Evict);
        figures.placed += count(&outcome.decisions, DecisionOp::Bind);
        figures.decision_ms = rounded(millis(time));
        deltas = echo.answers(&outcome.intents);
        if figures.cycles % 100 == 1 || deltas.is_empty() {
            eprintln!("{figures:?}");
        }
        if figures.cycles == CYCLES_MAX {
            return Err(format!("no end in sight: {figures:?}"));
        }
    }
    Ok(figures)
}

/// What a pod with so many GPUs asks for.
fn request(gpus: usize) -> ResourceList {
    let gpus = gpus as i64;
    amounts([("cpu", gpus * 4), ("memory", gpus << 34), ("nvidia.com/gpu", gpus), ("pods", 1)])
}

/// A queue that is due so many GPUs, with all that pods ask for beside them; of KAI's, that is its quota,
/// and it has a part of what is beyond quotas.
fn queue(dialect: Dialect, name: &str, gpus: usize, reclaimable: bool) -> ClusterDelta {
    let mut due = request(gpus);
    due.retain(|(name, _)| &**name != "pods");
    let weights = OverQuotaWeights { cpu: 1, memory: 1, gpu: 1 };
    let terms = OverQuotaTerms { weights, ..OverQuotaTerms::default() };
    let queue = build::queue(name).with(|queue| {
        queue.deserved = Some(due);
        queue.reclaimable = reclaimable;
        queue.over_quota = (dialect == Dialect::Kai).then(|| Box::new(terms));
    });
    queue.into()
}

/// A gang of pods with so many GPUs each, all on one node if they run.
fn gang(
    deltas: &mut Vec<ClusterDelta>,
    name: &str,
    queue: &str,
    members: usize,
    gpus: usize,
    node: Option<usize>,
) {
    let (name, created) = (Name::from(name), TimeMs(i64::from(node.is_none())));
    let running = node.map(|_| members as u32);
    deltas.push(group(&name, created, queue.into(), members as u32, running));
    let request = &request(gpus);
    for member in 0..members {
        deltas.push(Pod { gang: &name, member, created, request, node }.delta());
    }
}
