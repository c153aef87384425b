//! Questions to a Prometheus.

use std::collections::BTreeMap;

use http::Method;
use kube::Client;
use serde::Deserialize;

use super::ask;

/// One series of an answer, with its value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Sample {
    /// Its labels.
    pub(crate) labels: BTreeMap<String, String>,
    /// May be no number.
    pub(crate) value: f64,
}

/// What a query comes to now.
pub(crate) async fn query(client: &Client, query: &str) -> Result<Vec<Sample>, String> {
    samples(&ask(client, Method::GET, &path(query), Vec::new()).await?)
}

/// What a query came to at that time, in milliseconds since 1970.
pub(crate) async fn query_at(
    client: &Client,
    query: &str,
    utc_ms: i64,
) -> Result<Vec<Sample>, String> {
    let path = format!("{}&time={}.{:03}", path(query), utc_ms / 1000, utc_ms % 1000);
    samples(&ask(client, Method::GET, &path, Vec::new()).await?)
}

fn path(query: &str) -> String {
    format!("/api/v1/query?query={}", percent_encoded(query))
}

#[derive(Deserialize)]
struct Answer {
    data: Option<Data>,
    error: Option<String>,
}

#[derive(Deserialize)]
struct Data {
    result: Vec<Series>,
}

#[derive(Deserialize)]
struct Series {
    #[serde(default)]
    metric: BTreeMap<String, String>,
    value: (f64, String),
}

/// The series of an answer. Values are texts, and one that is no number at all is left out.
pub(crate) fn samples(answer: &str) -> Result<Vec<Sample>, String> {
    let answer: Answer = serde_json::from_str(answer)
        .map_err(|error| format!("the answer is not one of Prometheus: {error}"))?;
    let Some(data) = answer.data else {
        return Err(answer.error.unwrap_or_else(|| "the answer has no data".to_owned()));
    };
    let samples = data.result.into_iter().filter_map(|Series { metric: labels, value }| {
        Some(Sample { labels, value: value.1.parse().ok()? })
    });
    Ok(samples.collect())
}

/// A text as part of a query of an address.
fn percent_encoded(text: &str) -> String {
    let byte = |byte: u8| {
        let plain = byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
        if plain { char::from(byte).to_string() } else { format!("%{byte:02X}") }
    };
    text.bytes().map(byte).collect()
}
