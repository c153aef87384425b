//! Kubernetes events: what happened to a pod or a PodGroup, several of the same in one.
//!
//! What happens to pods of a PodGroup within a moment is one event of the group, with their number;
//! a pod of its own has its own. Events are the least of what an API server is for: there is a limit
//! to how many are written, and what is beyond it is only counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use muster_core::ids::{Name, ObjectKey};
use serde_json::{Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tracing::debug;

use super::PodRef;
use super::api::ApiCalls;
use super::client::Body;
use super::pod_status::now;

/// Time over which the same is gathered.
const GATHER: Duration = Duration::from_secs(1);
/// Events written in that time.
const WRITTEN_MAX: usize = 50;
/// Happenings that wait to be gathered.
const WAITING_MAX: usize = 16_384;
/// Longest message the API server takes.
const MESSAGE_MAX: usize = 1_024;

/// Something worth an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Happening {
    /// The pod, or the PodGroup itself.
    object: ObjectKey,
    uid: Name,
    /// The job of a pod; a PodGroup itself has none here.
    job: Option<ObjectKey>,
    reason: &'static str,
    kind: &'static str,
    message: String,
}

const NORMAL: &str = "Normal";
const WARNING: &str = "Warning";

impl Happening {
    pub(super) fn bound(pod: &PodRef, job: &ObjectKey, node: &Name) -> Self {
        let message = format!("Successfully assigned {pod} to {node}");
        Self::of_pod(pod, job, ("Scheduled", NORMAL), message)
    }

    pub(super) fn bind_failed(pod: &PodRef, job: &ObjectKey, node: &Name, reason: &str) -> Self {
        let message = format!("{pod} could not be bound to {node}: {reason}");
        Self::of_pod(pod, job, ("FailedScheduling", WARNING), message)
    }

    pub(super) fn evicted(pod: &PodRef, job: &ObjectKey, reason: &str) -> Self {
        let message = format!("{pod} is evicted: {reason}");
        Self::of_pod(pod, job, ("Evict", WARNING), message)
    }

    /// A pod waits. For pods of a group the event is the group's.
    pub(super) fn waits(pod: &PodRef, job: &ObjectKey, message: &str) -> Self {
        Self::of_pod(pod, job, ("FailedScheduling", WARNING), message.to_owned())
    }

    pub(super) fn group_waits(group: &ObjectKey, uid: &str, message: &str) -> Self {
        let (object, uid, message) = (group.clone(), uid.into(), message.to_owned());
        Self { object, uid, job: None, reason: "Unschedulable", kind: WARNING, message }
    }

    fn of_pod(
        pod: &PodRef,
        job: &ObjectKey,
        (reason, kind): (&'static str, &'static str),
        message: String,
    ) -> Self {
        let (PodRef { key: object, uid }, job) = (pod.clone(), Some(job.clone()));
        Self { object, uid, job, reason, kind, message }
    }
}

/// Takes happenings; never waits.
#[derive(Clone, Debug)]
pub(crate) struct Events {
    sender: Sender<Happening>,
    dropped: Arc<AtomicU64>,
}

impl Events {
    /// The two ends: one takes happenings, the other is for [`write`].
    pub(crate) fn channel() -> (Self, Receiver<Happening>) {
        let (sender, receiver) = channel(WAITING_MAX);
        (Self { sender, dropped: Arc::default() }, receiver)
    }

    pub(super) fn note(&self, happening: Happening) {
        if self.sender.try_send(happening).is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }
}

/// Gathers and writes events until the calls have ended.
pub(crate) async fn write(
    api: Arc<ApiCalls>,
    mut happenings: Receiver<Happening>,
    component: String,
) {
    let mut gathered = Vec::new();
    while let Some(first) = happenings.recv().await {
        gathered.push(first);
        tokio::time::sleep(GATHER).await;
        while let Ok(more) = happenings.try_recv() {
            gathered.push(more);
        }
        let events =
            gather(&mut gathered, |group| api.statuses.group(group).map(|cached| cached.uid));
        let beyond = events.len().saturating_sub(WRITTEN_MAX) as u64;
        let dropped = api.events.dropped.swap(0, Ordering::Relaxed) + beyond;
        api.metrics.events_dropped(dropped);
        for event in events.into_iter().take(WRITTEN_MAX) {
            api.write_event(&event, &component).await;
        }
    }
}

/// An event to be written.
#[derive(Clone, Debug, PartialEq, Eq)]
struct GatheredEvent {
    /// `Pod` or `PodGroup`.
    object_kind: &'static str,
    object: ObjectKey,
    uid: String,
    reason: &'static str,
    kind: &'static str,
    message: String,
}

/// Makes one event of everything that is about the same object for the same reason. Groups without a
/// uid do not exist: their pods have events of their own.
fn gather(
    happenings: &mut Vec<Happening>,
    uid_of: impl Fn(&ObjectKey) -> Option<String>,
) -> Vec<GatheredEvent> {
    let mut heaps: BTreeMap<(ObjectKey, bool, &'static str), (GatheredEvent, u32)> =
        BTreeMap::new();
    for happening in happenings.drain(..) {
        let Happening { object, uid, job, reason, kind, message } = happening;
        let group = match job {
            None => Some((object.clone(), uid.to_string())),
            Some(job) if job == object => None,
            Some(job) => uid_of(&job).map(|uid| (job, uid)),
        };
        let (object_kind, object, uid) = match group {
            Some((group, uid)) => ("PodGroup", group, uid),
            None => ("Pod", object, uid.to_string()),
        };
        let key = (object.clone(), object_kind == "Pod", reason);
        let event = GatheredEvent { object_kind, object, uid, reason, kind, message };
        heaps.entry(key).and_modify(|heap| heap.1 += 1).or_insert((event, 1));
    }
    let events = heaps.into_values().map(|(mut event, count)| {
        if count > 1 {
            event.message = format!("{} (and {} more pods)", event.message, count - 1);
        }
        event
    });
    events.collect()
}

impl ApiCalls {
    async fn write_event(&self, event: &GatheredEvent, component: &str) {
        let path = format!("/api/v1/namespaces/{}/events", event.object.namespace);
        let body = (Body::Whole, &body(event, component));
        if let Err(failure) = self.client.write(Method::POST, &path, body).await {
            debug!(object = %event.object, %failure, "an event was not written");
        }
    }
}

fn body(event: &GatheredEvent, component: &str) -> Value {
    let GatheredEvent { object_kind, object, uid, reason, kind, message } = event;
    let api_version = if *object_kind == "Pod" { "v1" } else { "scheduling.volcano.sh/v1beta1" };
    let mut message = message.clone();
    let mut end = MESSAGE_MAX.min(message.len());
    while !message.is_char_boundary(end) {
        end -= 1;
    }
    message.truncate(end);
    let (time, nanos) = (now(), Timestamp::now().as_nanosecond());
    json!({
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": format!("{}.{nanos:x}", object.name), "namespace": &*object.namespace},
        "involvedObject": {
            "apiVersion": api_version,
            "kind": object_kind,
            "namespace": &*object.namespace,
            "name": &*object.name,
            "uid": uid,
        },
        "reason": reason,
        "message": message,
        "type": kind,
        "count": 1,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": component,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pods_of_a_group_share_an_event_and_others_have_their_own() {
        let key = |name: &str| ObjectKey::new("default", name);
        let bound = |pod: &str, job: &str| {
            let pod = PodRef { key: key(pod), uid: "u".into() };
            Happening::bound(&pod, &key(job), &"n0".into())
        };
        let mut all =
            vec![bound("g-0", "g"), bound("lone", "lone"), bound("g-1", "g"), bound("x", "gone")];
        let events = gather(&mut all, |group| (&*group.name == "g").then(|| "gu".to_owned()));
        let lines: Vec<String> = events
            .iter()
            .map(|event| {
                format!("{} {} {}: {}", event.object_kind, event.object, event.uid, event.message)
            })
            .collect();
        assert_eq!(
            lines,
            [
                "PodGroup default/g gu: Successfully assigned default/g-0 to n0 (and 1 more pods)",
                "Pod default/lone u: Successfully assigned default/lone to n0",
                "Pod default/x u: Successfully assigned default/x to n0",
            ]
        );
        assert!(all.is_empty());
    }

    #[test]
    fn a_group_that_waits_has_a_warning_with_volcano_s_reason() {
        let group = ObjectKey::new("default", "g");
        let text = "2/2 tasks in gang unschedulable: NotAdmitted: too much is asked";
        let mut all = vec![Happening::group_waits(&group, "gu", text)];
        let events = gather(&mut all, |_| None);
        let [event] = &events[..] else { panic!("one event: {events:?}") };
        let written = body(event, "muster");
        let said = ["reason", "type", "message"].map(|field| written[field].as_str().unwrap());
        assert_eq!(said, ["Unschedulable", "Warning", text]);
        let about = &written["involvedObject"];
        assert_eq!(
            (&about["kind"], &about["name"], &about["uid"]),
            (&json!("PodGroup"), &json!("g"), &json!("gu"))
        );
    }
}
