//! What queues used of late, on a real cluster: asked of a Prometheus now and then, and told to the loop.
//!
//! What cannot be read is not told: what is known goes on to count, and once it is older than it should be
//! that is said and a number says it, too. A queue that Prometheus knows no more has used nothing.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ::kube::Client;
use http::Uri;
use jiff::Timestamp;
use muster_core::config::UsageWindow;
use muster_core::delta::{ClusterDelta, ObjectRef, PastUseFacts, UsedParts};
use muster_core::ids::Name;
use tokio::sync::mpsc::Sender;
use tokio::sync::watch::Receiver;
use tracing::{info, warn};

use crate::config::{Certificates, UsageAddress, UsageSeries, UsageSource, parse_address};
use crate::kube::loop_event::LoopEvent;
use crate::metrics::Metrics;
use crate::web;
use crate::web::prometheus::{Sample, query_at};

/// The label that names a queue.
const QUEUE: &str = "queue_name";
/// A whole part, in millionths.
const MILLION: f64 = 1e6;
/// Nobody uses a thousand clusters.
const MOST: f64 = 1e9;

/// What reading takes.
pub(crate) struct UsageReader {
    pub(crate) to_loop: Sender<LoopEvent>,
    pub(crate) metrics: Arc<Metrics>,
}

/// Parts of the cluster by queue.
type Parts = BTreeMap<Name, UsedParts>;

/// The loop has ended.
struct Ended;

/// Reads until the loop has ended, from whatever source the configuration names at the time.
pub(crate) async fn read(reader: UsageReader, mut sources: Receiver<Option<UsageSource>>) {
    let mut told = Parts::new();
    loop {
        let source = sources.borrow_and_update().clone();
        let Some(source) = source else {
            // Nobody is asked any more, so nobody has used anything.
            if reader.tell(&mut told, Parts::new()).await.is_err()
                || sources.changed().await.is_err()
            {
                return;
            }
            continue;
        };
        tokio::select! {
            changed = sources.changed() => if changed.is_err() { return },
            _ended = reader.read_from(&source, &mut told) => return,
        }
    }
}

impl UsageReader {
    /// Reads from one source again and again; ends when the loop has.
    async fn read_from(&self, source: &UsageSource, told: &mut Parts) -> Ended {
        info!(source = source.describe(), "reading past use of queues");
        let (mut last, mut trouble) = (Instant::now(), None);
        let mut clock = tokio::time::interval(source.every);
        clock.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            clock.tick().await;
            let now = Timestamp::now().as_millisecond();
            let reading = tokio::time::timeout(source.answer_within, parts_at(source, now)).await;
            let late = || Err(format!("no answer within {} ms", source.answer_within.as_millis()));
            match reading.unwrap_or_else(|_| late()) {
                Ok(parts) => {
                    if trouble.take().is_some() {
                        info!(queues = parts.len(), "past use can be read again");
                    }
                    last = Instant::now();
                    self.metrics.usage_read(parts.len());
                    if self.tell(told, parts).await.is_err()
                        || self.to_loop.send(LoopEvent::UsageKnown).await.is_err()
                    {
                        return Ended;
                    }
                }
                Err(error) => self.fail(error, last.elapsed(), source.stale_after, &mut trouble),
            }
            if self.to_loop.is_closed() {
                return Ended;
            }
        }
    }

    /// Notes a reading that failed, and says it where that is news.
    fn fail(
        &self,
        error: String,
        age: Duration,
        stale_after: Duration,
        trouble: &mut Option<(String, bool)>,
    ) {
        self.metrics.usage_failed();
        let stale = age > stale_after;
        if stale {
            self.metrics.usage_is_stale();
        }
        let news = Some((error, stale));
        if *trouble == news {
            return;
        }
        *trouble = news;
        let (error, age) = (trouble.as_ref().map(|trouble| &*trouble.0), age.as_secs());
        if stale {
            warn!(
                error,
                age, "past use cannot be read; what is known is old and counts all the same"
            );
        } else {
            warn!(error, "past use cannot be read; what is known goes on to count");
        }
    }

    /// Tells the loop what is another than was told before.
    async fn tell(&self, told: &mut Parts, parts: Parts) -> Result<(), Ended> {
        let gone = told.keys().filter(|queue| !parts.contains_key(*queue)).cloned();
        let gone = gone.map(|queue| ClusterDelta::Gone(ObjectRef::PastUse(queue)));
        let other = parts.iter().filter(|(queue, parts)| told.get(*queue) != Some(*parts));
        let other =
            other.map(|(queue, &parts)| PastUseFacts { queue: queue.clone(), parts }.into());
        let deltas: Vec<ClusterDelta> = gone.chain(other).collect();
        *told = parts;
        for delta in deltas {
            self.to_loop.send(LoopEvent::from(delta)).await.map_err(|_| Ended)?;
        }
        Ok(())
    }
}

/// The parts of the cluster that queues used, as things stand at a time, in milliseconds since 1970.
pub async fn parts_at(
    source: &UsageSource,
    utc_ms: i64,
) -> Result<BTreeMap<Name, UsedParts>, String> {
    let (address, credentials) = address(&source.address)?;
    let client = web::client(&address, Certificates::Verified, credentials.as_ref())?;
    ask_all(&client, source, utc_ms).await
}

/// Where the Prometheus is, and who asks.
fn address(address: &UsageAddress) -> Result<(Uri, Option<(String, String)>), String> {
    let uri = match address {
        UsageAddress::Given(uri) => uri.clone(),
        UsageAddress::Variable(name) => {
            let text = std::env::var(name).map_err(|error| {
                format!("{name}, which connectionStringEnvVar names, cannot be read: {error}")
            })?;
            parse_address(&text).ok_or_else(|| {
                format!("{name} holds no address such as \"http://prometheus:9090\"")
            })?
        }
    };
    let Some(authority) = uri.authority() else { return Ok((uri, None)) };
    let Some((person, host)) = authority.as_str().rsplit_once('@') else { return Ok((uri, None)) };
    let (name, password) = person.split_once(':').unwrap_or((person, ""));
    let credentials = (name.to_owned(), password.to_owned());
    let mut parts = uri.clone().into_parts();
    parts.authority = Some(host.parse().map_err(|_| "the address names no host".to_owned())?);
    let uri = Uri::from_parts(parts).map_err(|error| error.to_string())?;
    Ok((uri, Some(credentials)))
}

async fn ask_all(client: &Client, source: &UsageSource, utc_ms: i64) -> Result<Parts, String> {
    let Some(window) = QueryWindow::of(&source.window, source.resolution, utc_ms) else {
        // The window has only just begun.
        return Ok(Parts::new());
    };
    let (mut parts, mut known) = (Parts::new(), false);
    for (at, series) in source.series.iter().enumerate() {
        let UsageSeries { resource, held, there } = series;
        let all = query_at(client, &window.sum("sum", there), utc_ms).await?;
        let by_queue = format!("sum by ({QUEUE})");
        let used = query_at(client, &window.sum(&by_queue, held), utc_ms).await?;
        let all = all.first().map_or(0.0, |sample| sample.value);
        match (all > 0.0, used.is_empty()) {
            (true, false) => enter(&mut parts, at, all, &used),
            // Nobody can use what the cluster does not have.
            (false, true) => continue,
            (true, true) => return Err(format!("no series of {held} for {resource} in that time")),
            (false, false) => {
                return Err(format!("no series of {there} for {resource} in that time"));
            }
        }
        known = true;
    }
    known.then_some(parts).ok_or_else(|| {
        let held: Vec<&str> = source.series.iter().map(|series| series.held.as_str()).collect();
        format!("Prometheus answers, but has no series of {} in that time", held.join(", "))
    })
}

fn enter(parts: &mut Parts, at: usize, all: f64, used: &[Sample]) {
    for sample in used {
        let Some(queue) = sample.labels.get(QUEUE).filter(|queue| !queue.is_empty()) else {
            continue;
        };
        let part = (sample.value / all * MILLION).round();
        let part = if part.is_finite() { part.clamp(0.0, MOST) as u64 } else { 0 };
        parts.entry(queue.as_str().into()).or_default()[at] = part;
    }
}

/// A window as Prometheus is asked about it.
struct QueryWindow {
    seconds: i64,
    resolution: u64,
    decay: String,
}

impl QueryWindow {
    /// None while it is shorter than samples are apart.
    fn of(window: &UsageWindow, resolution: Duration, utc_ms: i64) -> Option<Self> {
        let seconds = (utc_ms - window.span.start(utc_ms)) / 1000;
        let resolution = resolution.as_secs().max(1);
        let now = utc_ms as f64 / 1000.0;
        let decay = window
            .half_life_ms
            .map(|half| format!(" * 0.5 ^ (({now:.3} - time()) / {:.3})", half as f64 / 1000.0));
        let long = u64::try_from(seconds).is_ok_and(|seconds| seconds >= resolution);
        long.then(|| Self { seconds, resolution, decay: decay.unwrap_or_default() })
    }

    /// What a query summed up to over the window.
    fn sum(&self, sum: &str, query: &str) -> String {
        let Self { seconds, resolution, decay } = self;
        format!("{sum} (sum_over_time((({query}){decay})[{seconds}s:{resolution}s]))")
    }
}

#[cfg(test)]
mod tests;
