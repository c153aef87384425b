//! Elasticsearch with the documents of Metricbeat: one search for all nodes.

use http::Method;
use kube::Client;
use serde::Deserialize;
use serde_json::json;

use super::LoadTable;
use crate::config::Elasticsearch;
use crate::web::ask;

/// Nodes one search tells of.
const NODES_MAX: u32 = 10_000;

/// The loads of all nodes.
pub(super) async fn loads(client: &Client, server: &Elasticsearch) -> Result<LoadTable, String> {
    let search = json!({
        "size": 0,
        "query": {"range": {"@timestamp": {"gte": "now-10m", "lte": "now"}}},
        "aggs": {"nodes": {
            "terms": {"field": server.hostname_field, "size": NODES_MAX},
            "aggs": {
                "cpu": {"avg": {"field": "host.cpu.usage"}},
                "memory": {"avg": {"field": "system.memory.actual.used.pct"}},
                "measured": {"max": {"field": "@timestamp"}},
            },
        }},
    });
    let path = format!("/{}/_search", server.index);
    table(&ask(client, Method::POST, &path, search.to_string().into_bytes()).await?)
}

/// The table of the answer.
pub(super) fn table(answer: &str) -> Result<LoadTable, String> {
    let answer: Answer = serde_json::from_str(answer)
        .map_err(|error| format!("the answer is not one of Elasticsearch: {error}"))?;
    let mut table = LoadTable::default();
    for bucket in answer.aggregations.nodes.buckets {
        let row = table.row(&bucket.key);
        row.parts = [bucket.cpu.value, bucket.memory.value];
        row.measured = bucket.measured.value.map(|ms| ms as i64);
    }
    Ok(table)
}

#[derive(Deserialize)]
struct Answer {
    aggregations: Aggregations,
}

#[derive(Deserialize)]
struct Aggregations {
    nodes: Nodes,
}

#[derive(Deserialize)]
struct Nodes {
    buckets: Vec<Bucket>,
}

#[derive(Deserialize)]
struct Bucket {
    key: String,
    cpu: Aggregate,
    memory: Aggregate,
    measured: Aggregate,
}

#[derive(Deserialize)]
struct Aggregate {
    value: Option<f64>,
}
