//! `usage-prometheus`: what queues used of late, asked of a real Prometheus.
//!
//! Prometheus is built from its module, which the Go module proxy has; that takes minutes, once. It gets a
//! history of six hours, minute by minute: of 16 GPUs, `greedy` held all for three hours and then none, and
//! `modest` none and then eight. Muster asks about windows of every kind, and the answers, and the shares
//! that follow from one of them, are compared with those worked out by hand.

mod history;
mod prometheus;

use std::process::ExitCode;
use std::time::Duration;

use muster::config::{UsageAddress, UsageSeries, UsageSource};
use muster::past_use::parts_at;
use muster_core::config::{CronTimes, UsageSpan, UsageWindow};
use muster_core::delta::{ClusterDelta, OverQuotaTerms, OverQuotaWeights, PastUseFacts, UsedParts};
use muster_core::ids::TimeMs;
use muster_core::testing::{amounts, node, pod, queue};
use muster_tests::policy::{config, scheduler};

use crate::history::{END_MS, MINUTE_MS};
use crate::prometheus::Prometheus;

const HOUR_MS: i64 = 60 * MINUTE_MS;
/// How far a part may be from what it should be, in millionths: one sample in two hours.
const SLACK: u64 = 9_000;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("usage-prometheus: {problem}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Outcome<()> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(async {
        let prometheus = Prometheus::start().await?;
        let mut wrong = 0;
        for (name, window, want) in windows() {
            let found = ask(&prometheus, window).await?;
            let off = (0..2).any(|at| found[at].abs_diff(want[at]) > SLACK);
            wrong += usize::from(off);
            let verdict = if off { "WRONG" } else { "as computed" };
            println!(
                "{name:<28} greedy {:>8} modest {:>8}  {verdict} {want:?}",
                found[0], found[1]
            );
        }
        wrong += usize::from(!shares(&prometheus).await?);
        if wrong > 0 {
            return Err(format!("{wrong} answers are not as computed by hand").into());
        }
        Ok(())
    })
}

/// Windows of every kind, with what the two queues used in them by hand, in millionths.
fn windows() -> [(&'static str, UsageWindow, [u64; 2]); 6] {
    let sliding = UsageSpan::Sliding(6 * HOUR_MS);
    let window = |span, half_life_ms| UsageWindow { half_life_ms, span };
    let cron = |text| UsageSpan::Cron(CronTimes::parse(text).expect("a fixed text"));
    [
        // All for half of the time, and half for the other half.
        ("six hours", window(sliding.clone(), None), [500_000, 250_000]),
        ("the last two hours", window(UsageSpan::Sliding(2 * HOUR_MS), None), [0, 500_000]),
        // (1/8 - 1/64) / (1 - 1/64), and half of (1 - 1/8) / (1 - 1/64).
        ("half-life of an hour", window(sliding, Some(HOUR_MS)), [111_111, 444_444]),
        // A window of four hours begins every four hours: the last one at four.
        (
            "tumbling, four hours",
            window(UsageSpan::Tumbling { size_ms: 4 * HOUR_MS, from_ms: 0 }, None),
            [0, 500_000],
        ),
        // From two on: an hour of four, and half of three hours of four.
        ("cron, at two", window(cron("0 2 * * *"), None), [250_000, 375_000]),
        ("cron, at midnight", window(cron("@daily"), None), [500_000, 250_000]),
    ]
}

async fn ask(prometheus: &Prometheus, window: UsageWindow) -> Outcome<[u64; 2]> {
    let parts = parts_at(&source(prometheus, window), END_MS).await?;
    let of = |queue: &str| parts.get(queue).map_or(0, |parts: &UsedParts| parts[2]);
    Ok([of("greedy"), of("modest")])
}

fn source(prometheus: &Prometheus, window: UsageWindow) -> UsageSource {
    let series = |resource, held: &str, there: &str| UsageSeries {
        resource,
        held: held.to_owned(),
        there: format!("sum(kube_node_status_capacity{{resource=\"{there}\"}})"),
    };
    UsageSource {
        address: UsageAddress::Given(prometheus.address()),
        window,
        every: Duration::from_mins(1),
        stale_after: Duration::from_mins(5),
        wait_at_most: Duration::from_mins(1),
        answer_within: Duration::from_secs(10),
        resolution: Duration::from_mins(1),
        series: [
            series("cpu", "kai_queue_allocated_cpu_cores", "cpu"),
            series("memory", "kai_queue_allocated_memory_bytes", "memory"),
            series("gpu", "kai_queue_allocated_gpus", "nvidia_com_gpu"),
        ],
    }
}

/// Are the shares of two queues that want all 16 GPUs, with what they used in the last six hours, those by
/// hand? With a weight of a half each the claims are 1/2 + (1/2 - 1/2) and 1/2 + (1/2 - 1/4): two fifths and
/// three fifths of 16, so 6 and 9, and the GPU that is left goes to the one that missed more of it.
async fn shares(prometheus: &Prometheus) -> Outcome<bool> {
    let window = UsageWindow { half_life_ms: None, span: UsageSpan::Sliding(6 * HOUR_MS) };
    let parts = parts_at(&source(prometheus, window), END_MS).await?;
    let policy = "actions: stalegangeviction\ntiers: [{plugins: [{name: proportion}]}]\n";
    let mut scheduler = scheduler(&config(policy));
    let told = parts.into_iter().map(|(queue, parts)| PastUseFacts { queue, parts }.into());
    let mut objects: Vec<ClusterDelta> = told.collect();
    objects.push(node("n").offer("nvidia.com/gpu", 16).into());
    for name in ["greedy", "modest"] {
        let weights = OverQuotaWeights { cpu: 0, memory: 0, gpu: 1_000_000 };
        let terms = OverQuotaTerms { weights, ..OverQuotaTerms::default() };
        let queue = queue(name).with(|queue| {
            queue.deserved = Some(amounts([("nvidia.com/gpu", 0)]));
            queue.over_quota = Some(Box::new(terms));
        });
        objects.push(queue.into());
        objects.push(pod(name).queue(name).ask("nvidia.com/gpu", 16).into());
    }
    scheduler.feed(objects);
    scheduler.run_cycle(TimeMs(0));
    let share = |name: &str| {
        let queue = scheduler.queues().into_iter().find(|queue| &*queue.name == name)?;
        let gpus = queue.deserved.iter().find(|entry| &*entry.0 == "nvidia.com/gpu");
        gpus.map(|entry| entry.1.to_string())
    };
    let mut share = share;
    let found = ["greedy", "modest"].map(|name| share(name).unwrap_or_default());
    let right = found == ["6", "10"];
    let verdict = if right { "as computed" } else { "WRONG: 6 and 10 expected" };
    println!("{:<28} greedy {:>8} modest {:>8}  {verdict}", "shares of 16", found[0], found[1]);
    Ok(right)
}
