//! Status of a queue: what it uses, and that it is open where nobody has said so.

use http::Method;
use muster_core::ids::Name;
use muster_core::resource::Format;
use muster_core::status::QueueReport;
use serde_json::{Map, Value, json};
use tracing::warn;

use super::api::ApiCalls;
use super::client::Body;
use crate::objects::QueueStatus;
use crate::objects::state_text;

impl ApiCalls {
    pub(super) async fn report_queue(&self, queue: &Name, report: &QueueReport) {
        // A queue without an object has nowhere to write to.
        let Some(known) = self.statuses.queue(queue) else { return };
        let Some(status) = changes(&known, report) else { return };
        let address = format!("/apis/scheduling.volcano.sh/v1beta1/queues/{queue}/status");
        let patch = json!({"status": status});
        match self.client.write(Method::PATCH, &address, (Body::MergePatch, &patch)).await {
            Ok(()) => {}
            Err(failure) if failure.is(404) => {}
            Err(failure) => warn!(%queue, %failure, "the status of the queue was not written"),
        }
    }
}

/// What the status must say that it does not say yet; `None` if it says all of it. The state belongs to
/// whoever opens and closes queues.
fn changes(known: &QueueStatus, report: &QueueReport) -> Option<Map<String, Value>> {
    let mut status = Map::new();
    if known.state.as_deref().is_none_or(str::is_empty) {
        status.insert("state".to_owned(), state_text(report.state).into());
    }
    let used = report.allocated.iter().filter(|entry| !entry.1.is_zero());
    let used = used.map(|(name, amount)| (name.to_string(), amount.format(Format::of(name))));
    let mut allocated: Map<String, Value> =
        used.map(|(name, text)| (name, Value::from(text))).collect();
    let said = |name: &str| known.allocated.get(name).map(crate::objects::Scalar::as_str);
    allocated.retain(|name, text| said(name) != text.as_str());
    for name in known.allocated.keys() {
        if !report.allocated.iter().any(|(used, amount)| **used == **name && !amount.is_zero()) {
            allocated.insert(name.clone(), Value::Null);
        }
    }
    if !allocated.is_empty() {
        status.insert("allocated".to_owned(), Value::Object(allocated));
    }
    (!status.is_empty()).then_some(status)
}

#[cfg(test)]
mod tests {
    use muster_core::resource::Quantity;
    use muster_core::status::QueueState;

    use super::*;

    fn report(cpu: i64) -> QueueReport {
        QueueReport {
            state: QueueState::Open,
            allocated: vec![("cpu".into(), cpu.to_string().parse::<Quantity>().unwrap())],
            deserved: Vec::new(),
            share_ppm: 0,
            borrowed: Vec::new(),
        }
    }

    #[test]
    fn only_what_the_status_does_not_say_is_written() {
        let known = |json: &str| serde_json::from_str::<QueueStatus>(json).unwrap();
        let as_json = |known: &QueueStatus, cpu: i64| {
            changes(known, &report(cpu)).map(|status| Value::Object(status).to_string())
        };
        let same = known(r#"{"state": "Open", "allocated": {"cpu": "3"}}"#);
        assert_eq!(as_json(&same, 3), None);
        assert_eq!(as_json(&same, 4), Some(r#"{"allocated":{"cpu":"4"}}"#.to_owned()));
        assert_eq!(as_json(&same, 0), Some(r#"{"allocated":{"cpu":null}}"#.to_owned()));
        let fresh = known("{}");
        assert_eq!(as_json(&fresh, 0), Some(r#"{"state":"Open"}"#.to_owned()));
    }
}
