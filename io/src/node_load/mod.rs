//! The load of nodes on a real cluster: read on time from the source the configuration names, for all
//! nodes at once, and told to the loop.
//!
//! What cannot be read is not told: the loads that are known grow old and then count no more. No
//! failure is ever taken for a node that idles.

mod custom_metrics;
mod elasticsearch;
mod prometheus;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ::kube::Client;
use muster_core::delta::{ClusterDelta, MeasuredUsage, NodeLoadFacts};
use muster_core::ids::TimeMs;
use muster_core::world::WHOLE_LOAD;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch::Receiver;
use tracing::{info, warn};

use crate::config::{LoadServer, LoadSource};
use crate::kube::loop_event::LoopEvent;
use crate::metrics::Metrics;
use crate::web::client;

/// Longest wait for all answers of one reading.
const ANSWER_WITHIN: Duration = Duration::from_mins(1);

/// What reading takes.
pub(crate) struct LoadReader {
    /// The cluster itself, for its custom metrics API.
    pub(crate) cluster: Client,
    pub(crate) to_loop: Sender<LoopEvent>,
    pub(crate) metrics: Arc<Metrics>,
}

/// Reads until the loop has ended, from whatever source the configuration names at the time.
pub(crate) async fn read(reader: LoadReader, mut sources: Receiver<Option<LoadSource>>) {
    loop {
        let source = sources.borrow_and_update().clone();
        tokio::select! {
            changed = sources.changed() => if changed.is_err() { return },
            () = reader.read_from(source) => return,
        }
    }
}

impl LoadReader {
    /// Reads from one source again and again; ends when the loop has.
    async fn read_from(&self, source: Option<LoadSource>) {
        let Some(source) = source else { return std::future::pending().await };
        info!(source = source.describe(), "reading the load of nodes");
        let mut trouble: Option<String> = None;
        let mut clock = tokio::time::interval(source.interval);
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            let reading = tokio::time::timeout(ANSWER_WITHIN, loads(&source, &self.cluster)).await;
            let reading = reading.unwrap_or_else(|_| Err("no answer within a minute".to_owned()));
            match reading {
                Ok(loads) => {
                    if trouble.take().is_some() {
                        info!(nodes = loads.len(), "the load of nodes can be read again");
                    }
                    self.metrics.loads_read(loads.len());
                    for facts in loads {
                        let event = LoopEvent::from(ClusterDelta::from(facts));
                        if self.to_loop.send(event).await.is_err() {
                            return;
                        }
                    }
                }
                Err(error) => {
                    self.metrics.load_failed();
                    if trouble.as_ref() != Some(&error) {
                        warn!(%error, "the load of nodes cannot be read; what is known grows old");
                        trouble = Some(error);
                    }
                }
            }
        }
    }
}

/// The loads of all nodes the source knows.
pub(crate) async fn loads(
    source: &LoadSource,
    cluster: &Client,
) -> Result<Vec<NodeLoadFacts>, String> {
    let table = match &source.server {
        LoadServer::Prometheus { address } => {
            prometheus::loads(&client(address, source.certificates, None)?).await
        }
        LoadServer::CustomMetrics => custom_metrics::loads(cluster).await,
        LoadServer::Elasticsearch(server) => {
            let credentials = server.credentials.as_ref();
            let client = client(&server.address, source.certificates, credentials)?;
            elasticsearch::loads(&client, server).await
        }
    }?;
    let loads = table.into_facts(source.interval);
    if loads.is_empty() {
        return Err("the source answers, but knows the load of no node".to_owned());
    }
    Ok(loads)
}

/// Loads by node while they are put together.
#[derive(Debug, Default, PartialEq)]
struct LoadTable(BTreeMap<String, Row>);

/// What is known of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Row {
    /// Parts in use of cpu and memory.
    parts: [Option<f64>; 2],
    /// When that was measured, in milliseconds since 1970.
    measured: Option<i64>,
}

impl LoadTable {
    fn row(&mut self, node: &str) -> &mut Row {
        self.0.entry(node.to_owned()).or_default()
    }

    /// The rows that say all there is to say.
    fn into_facts(self, window: Duration) -> Vec<NodeLoadFacts> {
        let facts = self.0.into_iter().filter_map(|(node, row)| {
            let [cpu, memory] = row.parts.map(|part| part.and_then(share));
            Some(NodeLoadFacts {
                node: node.into(),
                usage: MeasuredUsage::Shares([cpu?, memory?]),
                measured: TimeMs(row.measured?),
                window_ms: i64::try_from(window.as_millis()).unwrap_or(i64::MAX),
            })
        });
        facts.collect()
    }
}

/// A part in the unit of loads; none of what is no number.
fn share(part: f64) -> Option<i64> {
    let share = part * WHOLE_LOAD as f64;
    (share.is_finite() && share.abs() < 1e15).then(|| share.round().max(0.0) as i64)
}

#[cfg(test)]
mod tests;
