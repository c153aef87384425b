//! Figures, as JSON or as a table.

use clap::ValueEnum;
use serde::Serialize;
use serde_json::Value;

/// How figures are printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// A line a figure.
    Table,
    /// One line of JSON.
    Json,
}

impl Output {
    /// Prints figures to standard output.
    pub(crate) fn print(self, figures: &impl Serialize) {
        let value = serde_json::to_value(figures).expect("numbers and fixed keys");
        match (self, &value) {
            (Self::Table, Value::Object(entries)) => {
                for (key, value) in entries {
                    println!("{key:<20} {value:>14}");
                }
            }
            _ => println!("{value}"),
        }
    }
}

/// What a whole run measures.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Whole {
    pub(crate) nodes: usize,
    /// Pods that waited.
    pub(crate) tasks: usize,
    /// Pods the cycle found a place for.
    pub(crate) placed: usize,
    /// The cycle that placed them; everything was taken in before.
    pub(crate) cycle_ms: f64,
    pub(crate) tasks_per_sec: f64,
    /// The same of the twin that looks at all nodes for every pod; `None` if it was not asked for.
    pub(crate) naive_tasks_per_sec: Option<f64>,
    /// A cycle in which nothing has changed.
    pub(crate) idle_cycle_us: f64,
    /// A cycle after fifty pods ended and fifty came.
    #[serde(rename = "delta100CycleUs")]
    pub(crate) delta_100_cycle_us: f64,
    /// Taking in nodes, queues, and all pods.
    pub(crate) ingest_ms: f64,
    #[serde(rename = "rssMiB")]
    pub(crate) rss_mib: Option<u64>,
    /// Memory the core keeps for each pod that runs, their PodGroups included; `None` if none runs.
    pub(crate) bytes_per_pod: Option<f64>,
    pub(crate) threads: usize,
}

/// What a case measures.
#[derive(Debug, Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct CaseFigures {
    pub(crate) case: &'static str,
    /// Whose rules: `volcano` or `kai`.
    pub(crate) dialect: &'static str,
    /// Time spent in cycles, from the arrival of what waits until nothing is decided any more.
    pub(crate) decision_ms: f64,
    pub(crate) cycles: usize,
    pub(crate) evicted: usize,
    pub(crate) placed: usize,
    pub(crate) threads: usize,
}

/// What the case of fair shares measures.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FairShareFigures {
    pub(crate) case: &'static str,
    pub(crate) queues: usize,
    pub(crate) jobs: usize,
    /// A pod has ended: the shares brought up to date.
    pub(crate) update_us: f64,
    /// All shares divided anew.
    pub(crate) anew_us: f64,
    /// The second by the first.
    pub(crate) anew_by_update: f64,
    /// A whole cycle after a pod has ended.
    pub(crate) cycle_us: f64,
    /// The same where one queue was told again, so that the shares are divided anew.
    pub(crate) cycle_anew_us: f64,
    pub(crate) threads: usize,
}

/// A number with as many decimals as anybody reads.
pub(crate) fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}
