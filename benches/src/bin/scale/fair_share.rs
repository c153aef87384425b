//! What it costs to keep fair shares: a thousand of KAI's queues in four levels, and a hundred thousand jobs.
//!
//! Every queue wants more than it can have, so that each level is really divided. A pod that ends concerns
//! the levels above its queue; making all shares anew concerns all of them.

use std::hint::black_box;
use std::time::{Duration, Instant};

use muster::config::parse;
use muster_benches::fleet::{Pod, amounts, group, node};
use muster_benches::rig::{Rig, median, micros};
use muster_core::delta::{ClusterDelta, ObjectRef, OverQuotaTerms, OverQuotaWeights};
use muster_core::ids::{Name, ObjectKey, TimeMs};
use muster_core::policy::{
    Claims, Policies, QueueClaim, QueueNews, Registry, SchedulerConfig, Wants,
};
use muster_core::resource::{Limits, ResourceList, ResourceNames, ResourceVec};
use muster_core::testing as build;
use muster_core::world::QueueUse;

use crate::options::Options;
use crate::report::{FairShareFigures, rounded};

/// Queues of each level below the root: departments, groups, teams.
const LEVELS: [usize; 3] = [10, 90, 900];
const QUEUES: usize = LEVELS[0] + LEVELS[1] + LEVELS[2];
const JOBS: usize = 100_000;
/// Nodes of eight GPUs: four in five jobs have one.
const NODES: usize = JOBS / 10;
/// Measurements of which the middle one counts.
const ROUNDS: usize = 101;

fn config() -> SchedulerConfig {
    // Nobody is placed or evicted: what is measured is the division.
    let text = "actions: stalegangeviction\ntiers: [{plugins: [{name: proportion}]}]\n";
    parse(&Registry::standard(), "scale", text).expect("a fixed text, valid").config
}

/// The parent of a queue; none is the root.
fn parent(queue: usize) -> Option<usize> {
    let [first, second, _] = LEVELS;
    match queue {
        queue if queue < first => None,
        queue if queue < first + second => Some((queue - first) % first),
        queue => Some(first + (queue - first - second) % second),
    }
}

fn name(queue: usize) -> Name {
    format!("q{queue}").into()
}

fn gpu(count: i64) -> ResourceList {
    amounts([("cpu", count), ("memory", count << 30), ("nvidia.com/gpu", count)])
}

pub(crate) fn measure(options: &Options) -> Result<FairShareFigures, String> {
    let (update, anew) = divisions()?;
    let threads = options.threads();
    let (cycle, cycle_anew) = options.profiled(|| cycles(threads))??;
    Ok(FairShareFigures {
        case: "fair-share",
        queues: QUEUES,
        jobs: JOBS,
        update_us: rounded(micros(update)),
        anew_us: rounded(micros(anew)),
        anew_by_update: rounded(anew.as_secs_f64() / update.as_secs_f64()),
        cycle_us: rounded(micros(cycle)),
        cycle_anew_us: rounded(micros(cycle_anew)),
        threads,
    })
}

/// The division alone: brought up to date after a pod has ended, and made anew.
fn divisions() -> Result<(Duration, Duration), String> {
    let mut names = ResourceNames::default();
    let policies = Policies::new(&config(), &mut names);
    let labels: Vec<Name> = (0..=QUEUES).map(name).collect();
    let one = names.vector(&gpu(1));
    let mut uses = vec![QueueUse::default(); QUEUES + 1];
    for job in 0..JOBS {
        let team = QUEUES - 1 - job % LEVELS[2];
        upwards(team, |queue| uses[queue].requested.add(&one));
    }
    let total = names.vector(&gpu(NODES as i64 * 8));
    let (mut updates, mut anews) = (Vec::new(), Vec::new());
    let first = claims(&labels, &uses, &total, &names);
    let mut kept = policies.keep_division(&first).ok_or("the plugin keeps its division")?;
    for round in 0..ROUNDS {
        // The whole path of the queue has one pod less.
        let mut path = Vec::new();
        upwards(QUEUES - 1 - round * 7 % LEVELS[2], |queue| {
            uses[queue].requested.sub(&one);
            path.push(queue);
        });
        let news = |&queue: &usize| QueueNews { queue, usage: &uses[queue], past: [0; 3] };
        let changed: Vec<QueueNews<'_>> = path.iter().map(news).collect();
        let begun = Instant::now();
        black_box(kept.update(&total, &ResourceVec::default(), &changed));
        updates.push(begun.elapsed());
        let claims = claims(&labels, &uses, &total, &names);
        let begun = Instant::now();
        black_box(policies.keep_division(&claims));
        anews.push(begun.elapsed());
    }
    Ok((median(updates), median(anews)))
}

/// A queue and those above it, the root last, which stands behind all others.
fn upwards(queue: usize, mut visit: impl FnMut(usize)) {
    let mut next = Some(queue);
    while let Some(queue) = next {
        visit(queue);
        next = parent(queue);
    }
    visit(QUEUES);
}

fn claims<'a>(
    labels: &'a [Name],
    uses: &'a [QueueUse],
    total: &'a ResourceVec,
    names: &'a ResourceNames,
) -> Claims<'a> {
    static NOTHING: std::sync::LazyLock<ResourceVec> =
        std::sync::LazyLock::new(ResourceVec::default);
    let queues = labels.iter().zip(uses).enumerate().map(|(at, (name, usage))| QueueClaim {
        name,
        parent: (at < QUEUES).then(|| parent(at).unwrap_or(QUEUES)),
        weight: 1,
        capability: Limits::default(),
        deserved: Some(names.clone().limits(&gpu(i64::from(at < QUEUES)))),
        guarantee: ResourceVec::default(),
        priority: 100,
        created: TimeMs(0),
        uid: name,
        over_quota: Some(weights()),
        usage,
        wants: Wants::Everything,
        past: [0; 3],
    });
    Claims { queues: queues.collect(), total, others: &NOTHING, names }
}

fn weights() -> OverQuotaWeights {
    OverQuotaWeights { cpu: 1_000_000, memory: 1_000_000, gpu: 1_000_000 }
}

/// Whole cycles after a pod has ended, without and with a queue that is told again.
fn cycles(threads: usize) -> Result<(Duration, Duration), String> {
    let mut rig = Rig::new(&config(), threads);
    let queues = (0..QUEUES).map(queue);
    let mut known: Vec<ClusterDelta> = queues.chain((0..NODES).map(node)).collect();
    for job in 0..JOBS {
        let (label, created) = (Name::from(format!("job-{job}")), TimeMs(0));
        let team = name(QUEUES - 1 - job % LEVELS[2]);
        // Eight in ten have a GPU.
        let seat = (job < NODES * 8).then_some(job % NODES);
        known.push(group(&label, created, team, 1, seat.map(|_| 1)));
        let mut request = gpu(1);
        request.push(("pods".into(), muster_core::resource::Quantity::from_units(1)));
        let request = &request;
        known.push(Pod { gang: &label, member: 0, created, request, node: seat }.delta());
    }
    rig.cycle(known);
    for _ in 0..3 {
        rig.cycle(Vec::new());
    }
    let mut times = [Vec::new(), Vec::new()];
    for round in 0..2 * ROUNDS {
        let key = ObjectKey::new("batch", format!("job-{}-worker-0", round * 7));
        let mut news = vec![ClusterDelta::Gone(ObjectRef::Pod(key))];
        news.extend((round % 2 == 1).then(|| queue(round % QUEUES)));
        times[round % 2].push(rig.cycle(news).1);
    }
    rig.audit()?;
    let [kept, anew] = times.map(median);
    Ok((kept, anew))
}

fn queue(at: usize) -> ClusterDelta {
    let terms = OverQuotaTerms { weights: weights(), ..OverQuotaTerms::default() };
    let queue = build::queue(&name(at)).with(|queue| {
        queue.parent = parent(at).map(name);
        queue.deserved = Some(gpu(1));
        queue.over_quota = Some(Box::new(terms));
    });
    queue.into()
}
