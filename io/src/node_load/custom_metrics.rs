//! The custom metrics API of the cluster, as the Prometheus adapter serves it: two requests for all nodes.

use http::Method;
use jiff::Timestamp;
use kube::Client;
use muster_core::resource::Quantity;
use serde::Deserialize;

use super::LoadTable;
use crate::web::ask;

/// Parts in use of cpu and memory, by Volcano's names.
const METRICS: [&str; 2] = ["node_cpu_usage_avg", "node_memory_usage_avg"];

/// The loads of all nodes.
pub(super) async fn loads(client: &Client) -> Result<LoadTable, String> {
    let mut answers = Vec::new();
    for metric in METRICS {
        let path = format!("/apis/custom.metrics.k8s.io/v1beta2/nodes/*/{metric}");
        answers.push(ask(client, Method::GET, &path, Vec::new()).await?);
    }
    table([&answers[0], &answers[1]])
}

/// The table of the answers to both requests. Of two times the older one counts.
pub(super) fn table(answers: [&str; 2]) -> Result<LoadTable, String> {
    let mut table = LoadTable::default();
    for (at, answer) in answers.into_iter().enumerate() {
        let list: ValueList = serde_json::from_str(answer)
            .map_err(|error| format!("the answer is no list of metric values: {error}"))?;
        for value in list.items {
            let Ok(amount) = value.value.parse::<Quantity>() else { continue };
            let time = value.timestamp.parse::<Timestamp>().ok().map(Timestamp::as_millisecond);
            let row = table.row(&value.described_object.name);
            row.parts[at] = Some(amount.milli_ceil() as f64 / 1000.0);
            row.measured = if at == 0 { time } else { row.measured.min(time) };
        }
    }
    Ok(table)
}

#[derive(Deserialize)]
struct ValueList {
    items: Vec<MetricValue>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct MetricValue {
    described_object: Described,
    timestamp: String,
    value: String,
}

#[derive(Deserialize)]
struct Described {
    name: String,
}
