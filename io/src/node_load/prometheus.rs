//! Prometheus with the series of node exporters: three queries for all nodes.
//!
//! The load of a node is the mean of ten minutes, as Volcano has it. When it was measured is the time of
//! the last sample, not that of the answer: an exporter that has stopped is not taken for one that goes on.

use std::collections::BTreeMap;

use kube::Client;

use super::LoadTable;
use crate::web::prometheus::{self, Sample};

/// Percent of cpu in use.
const CPU: &str = "avg_over_time((100 - avg by (instance, node) \
    (rate(node_cpu_seconds_total{mode=\"idle\"}[5m])) * 100)[10m:30s])";
/// Percent of memory in use.
const MEMORY: &str = "avg_over_time((100 * (1 - avg by (instance, node) \
    (node_memory_MemAvailable_bytes) / avg by (instance, node) (node_memory_MemTotal_bytes)))[10m:30s])";
/// Seconds since 1970 of the last sample.
const MEASURED: &str = "max by (instance, node) (timestamp(node_memory_MemAvailable_bytes))";

/// The loads of all nodes.
pub(super) async fn loads(client: &Client) -> Result<LoadTable, String> {
    let mut answers = Vec::new();
    for query in [CPU, MEMORY, MEASURED] {
        answers.push(prometheus::query(client, query).await?);
    }
    Ok(table([&answers[0], &answers[1], &answers[2]]))
}

/// The table of the answers to the three queries.
pub(super) fn table([cpu, memory, measured]: [&[Sample]; 3]) -> LoadTable {
    let mut table = LoadTable::default();
    for (at, answer) in [cpu, memory].into_iter().enumerate() {
        for (node, percent) in values(answer) {
            table.row(&node).parts[at] = Some(percent / 100.0);
        }
    }
    for (node, seconds) in values(measured) {
        if seconds.is_finite() {
            table.row(&node).measured = Some((seconds * 1000.0) as i64);
        }
    }
    table
}

/// The value of each node in an answer.
fn values(answer: &[Sample]) -> impl Iterator<Item = (String, f64)> {
    answer.iter().filter_map(|sample| Some((node_of(&sample.labels)?, sample.value)))
}

/// The node a series is of: by its label `node`, where scraping has set one, else by `instance`, with or
/// without a port.
fn node_of(labels: &BTreeMap<String, String>) -> Option<String> {
    if let Some(node) = labels.get("node").filter(|node| !node.is_empty()) {
        return Some(node.clone());
    }
    let instance = labels.get("instance")?;
    let is_port = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let name = match instance.rsplit_once(':') {
        Some((name, port)) if is_port(port) => name,
        _ => instance,
    };
    Some(name.to_owned())
}
