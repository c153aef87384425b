//! Kubernetes events: what happened to a pod or a PodGroup, several of the same in one.
//!
//! What happens to pods of a PodGroup within a moment is one event of the group, with their number; a pod of
//! its own has its own. Pods of a PodGroup of KAI's have their own too, as its users look for them there,
//! unless there are many; evictions are told of the group. Each dialect has its own reasons. Events are the
//! least of what an API server is for: there is a limit to how many are written, and what is beyond it is
//! only counted.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use http::Method;
use jiff::Timestamp;
use muster_core::config::Dialect;
use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::Ruling;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{Receiver, Sender, channel};
use tracing::debug;

use super::PodRef;
use super::api::ApiCalls;
use super::client::Body;
use super::pod_status::now;
use crate::objects::ObjectKind;

/// Time over which the same is gathered.
const GATHER: Duration = Duration::from_secs(1);
/// Events written in that time.
const WRITTEN_MAX: usize = 50;
/// Pods of one PodGroup that have an event each for the same.
const APART_MAX: usize = 8;
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
    what: What,
    message: String,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum What {
    /// A pod has its node.
    Bound,
    /// It was not to be bound.
    BindFailed,
    /// Room is held for it.
    Held,
    /// It waits.
    Waits,
    /// It is evicted.
    Evicted(EvictedBy),
    /// A PodGroup of Volcano's waits.
    GroupWaits,
    /// What a PodGroup of KAI's has to say, by its reason.
    Gang(&'static str),
}

/// Who evicted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct EvictedBy {
    action: &'static str,
    beneficiary: Option<ObjectKey>,
}

const NORMAL: &str = "Normal";
const WARNING: &str = "Warning";

impl What {
    /// Reason and type of the event.
    fn words(&self, dialect: Dialect) -> (&'static str, &'static str) {
        match (self, dialect) {
            (Self::Bound, _) => ("Scheduled", NORMAL),
            (Self::Held, _) => ("Pipelined", NORMAL),
            (Self::BindFailed, Dialect::Kai) => ("FailedBinding", WARNING),
            (Self::BindFailed | Self::Waits, Dialect::Volcano) => ("FailedScheduling", WARNING),
            (Self::Evicted(_), Dialect::Kai) => ("Evict", NORMAL),
            (Self::Evicted(_), Dialect::Volcano) => ("Evict", WARNING),
            (Self::Waits, Dialect::Kai) | (Self::GroupWaits, _) => ("Unschedulable", WARNING),
            (Self::Gang(reason), _) => (reason, NORMAL),
        }
    }
}

impl Happening {
    pub(super) fn bound(pod: &PodRef, job: &ObjectKey, node: &Name) -> Self {
        Self::of_pod(pod, job, What::Bound, format!("Successfully assigned {pod} to {node}"))
    }

    pub(super) fn bind_failed(pod: &PodRef, job: &ObjectKey, node: &Name, reason: &str) -> Self {
        let message = format!("{pod} could not be bound to {node}: {reason}");
        Self::of_pod(pod, job, What::BindFailed, message)
    }

    pub(super) fn held(pod: &PodRef, job: &ObjectKey, node: &Name) -> Self {
        let message = format!("room is held for {pod} on {node}, which is being freed");
        Self::of_pod(pod, job, What::Held, message)
    }

    pub(super) fn evicted(pod: &PodRef, ruling: &Ruling) -> Self {
        let Ruling { action, job, beneficiary, reason, .. } = ruling;
        let message = format!("{pod} is evicted: {}", reason.as_deref().unwrap_or_default());
        let by = EvictedBy { action, beneficiary: beneficiary.clone() };
        Self::of_pod(pod, job, What::Evicted(by), message)
    }

    /// A pod waits. For pods of a group of Volcano's the event is the group's.
    pub(super) fn waits(pod: &PodRef, job: &ObjectKey, message: &str) -> Self {
        Self::of_pod(pod, job, What::Waits, message.to_owned())
    }

    pub(super) fn group_waits(group: &ObjectKey, uid: &str, message: &str) -> Self {
        Self::of_group(group, uid, What::GroupWaits, message.to_owned())
    }

    /// What a PodGroup of KAI's has to say.
    pub(super) fn gang(
        group: &ObjectKey,
        uid: &str,
        reason: &'static str,
        message: String,
    ) -> Self {
        Self::of_group(group, uid, What::Gang(reason), message)
    }

    fn of_group(group: &ObjectKey, uid: &str, what: What, message: String) -> Self {
        Self { object: group.clone(), uid: uid.into(), job: None, what, message }
    }

    fn of_pod(pod: &PodRef, job: &ObjectKey, what: What, message: String) -> Self {
        let (PodRef { key: object, uid }, job) = (pod.clone(), Some(job.clone()));
        Self { object, uid, job, what, message }
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
        let events = gather(&mut gathered, |group| api.statuses.owner(group));
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
    /// A pod, or a PodGroup of either dialect.
    kind: ObjectKind,
    object: ObjectKey,
    uid: String,
    what: What,
    dialect: Dialect,
    message: String,
    /// How many pods it is about.
    count: u32,
}

/// The group an event may be about, instead of a pod.
struct Group {
    kind: ObjectKind,
    uid: String,
    dialect: Dialect,
}

impl Group {
    fn of((uid, dialect): (String, Dialect)) -> Self {
        let kind = match dialect {
            Dialect::Volcano => ObjectKind::PodGroup,
            Dialect::Kai => ObjectKind::KaiPodGroup,
        };
        Self { kind, uid, dialect }
    }
}

/// Makes one event of everything that is about the same object for the same reason. Groups without an
/// owner here do not exist: their pods have events of their own.
fn gather(
    happenings: &mut Vec<Happening>,
    owner_of: impl Fn(&ObjectKey) -> Option<(String, Dialect)>,
) -> Vec<GatheredEvent> {
    type Heap = (Option<Group>, Vec<GatheredEvent>);
    let mut heaps: BTreeMap<(ObjectKey, bool, What), Heap> = BTreeMap::new();
    for Happening { object, uid, job, what, message } in happenings.drain(..) {
        let uid = uid.to_string();
        let (about, group) = match (job, &what) {
            (None, What::Gang(_)) => (object.clone(), Some(Group::of((uid.clone(), Dialect::Kai)))),
            (None, _) => (object.clone(), Some(Group::of((uid.clone(), Dialect::Volcano)))),
            (Some(job), _) if job == object => (job, None),
            (Some(job), _) => match owner_of(&job) {
                Some(owner) => (job, Some(Group::of(owner))),
                None => (object.clone(), None),
            },
        };
        let dialect = group.as_ref().map(|group| group.dialect).unwrap_or_default();
        let kind = ObjectKind::Pod;
        let event =
            GatheredEvent { kind, object, uid, what: what.clone(), dialect, message, count: 1 };
        let heap = heaps.entry((about, group.is_none(), what)).or_insert((group, Vec::new()));
        heap.1.push(event);
    }
    let events = heaps.into_iter().flat_map(|((about, ..), (group, events))| match group {
        Some(group) if !stand_alone(group.dialect, &events) => {
            together(events, about, group).into_iter().collect()
        }
        Some(_) => events,
        // The same of one pod.
        None => events.into_iter().take(1).collect(),
    });
    events.collect()
}

/// Has each of these pods of one group an event of its own?
fn stand_alone(dialect: Dialect, events: &[GatheredEvent]) -> bool {
    let of_the_group = |what: &What| matches!(what, What::Evicted(_) | What::Gang(_));
    dialect == Dialect::Kai
        && events.len() <= APART_MAX
        && events.first().is_some_and(|event| !of_the_group(&event.what))
}

/// One event of the group for all of its pods. Of what it says of itself the newest counts.
fn together(
    mut events: Vec<GatheredEvent>,
    object: ObjectKey,
    Group { kind, uid, .. }: Group,
) -> Option<GatheredEvent> {
    let count = events.len() as u32;
    let last = events.pop()?;
    let message = match (&last.what, events.into_iter().next()) {
        (What::Gang(_) | What::GroupWaits, _) | (_, None) => last.message,
        (_, Some(first)) => format!("{} (and {} more pods)", first.message, count - 1),
    };
    Some(GatheredEvent { kind, object, uid, message, count, ..last })
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
    let GatheredEvent { kind, object, uid, what, dialect, message, .. } = event;
    let api_version = match kind.group() {
        "" => kind.version().to_owned(),
        group => format!("{group}/{}", kind.version()),
    };
    let (reason, severity) = what.words(*dialect);
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
        "metadata": {
            "name": format!("{}.{nanos:x}", object.name),
            "namespace": &*object.namespace,
            "annotations": annotations(event),
        },
        "involvedObject": {
            "apiVersion": api_version,
            "kind": kind.name(),
            "namespace": &*object.namespace,
            "name": &*object.name,
            "uid": uid,
        },
        "reason": reason,
        "message": message,
        "type": severity,
        "count": 1,
        "firstTimestamp": time,
        "lastTimestamp": time,
        "source": {"component": component},
        "reportingComponent": component,
        "reportingInstance": component,
    })
}

/// Who evicted, where KAI's users look for it.
fn annotations(event: &GatheredEvent) -> Map<String, Value> {
    let mut annotations = Map::new();
    if let (What::Evicted(by), Dialect::Kai) = (&event.what, event.dialect) {
        let mut put = |key: &str, text: String| annotations.insert(key.to_owned(), text.into());
        put("num-evicted-pods", event.count.to_string());
        put("evictor-action-type", by.action.to_owned());
        if let Some(evictor) = &by.beneficiary {
            put("evictor-pod-group-name", evictor.name.to_string());
            put("evictor-pod-group-namespace", evictor.namespace.to_string());
        }
    }
    annotations
}

#[cfg(test)]
mod tests {
    use muster_core::intent::DecisionOp;

    use super::*;

    fn key(name: &str) -> ObjectKey {
        ObjectKey::new("default", name)
    }

    fn pod(name: &str) -> PodRef {
        PodRef { key: key(name), uid: "u".into() }
    }

    /// Events of what happens to pods of gangs of KAI's.
    fn of_kai(happenings: impl Iterator<Item = Happening>) -> Vec<GatheredEvent> {
        let owner = |_: &ObjectKey| Some(("gu".to_owned(), Dialect::Kai));
        gather(&mut happenings.collect(), owner)
    }

    fn lines(events: &[GatheredEvent]) -> Vec<String> {
        let line = |event: &GatheredEvent| {
            format!("{} {} {}: {}", event.kind, event.object, event.uid, event.message)
        };
        events.iter().map(line).collect()
    }

    #[test]
    fn few_pods_of_a_gang_of_kai_s_have_their_own_events_and_many_share_one() {
        let bound = |at: usize| Happening::bound(&pod(&format!("g-{at}")), &key("g"), &"n0".into());
        let few = of_kai((0..2).map(bound));
        assert_eq!(
            lines(&few),
            [
                "Pod default/g-0 u: Successfully assigned default/g-0 to n0",
                "Pod default/g-1 u: Successfully assigned default/g-1 to n0",
            ]
        );
        let many = of_kai((0..=APART_MAX).map(bound));
        let told =
            "PodGroup default/g gu: Successfully assigned default/g-0 to n0 (and 8 more pods)";
        assert_eq!(lines(&many), [told]);
        let about = &body(&many[0], "muster")["involvedObject"];
        assert_eq!(about["apiVersion"], "scheduling.run.ai/v2alpha2");
    }

    #[test]
    fn an_eviction_is_told_of_the_gang_with_its_number_and_who_gains() {
        let evicted = |at: usize| {
            let ruling = Ruling {
                action: "reclaim",
                op: DecisionOp::Evict,
                job: key("g"),
                beneficiary: Some(ObjectKey::new("other", "taker")),
                reason: Some("its queue has more than its share".to_owned()),
            };
            Happening::evicted(&pod(&format!("g-{at}")), &ruling)
        };
        let events = of_kai((0..2).map(evicted));
        let [event] = &events[..] else { panic!("one event: {events:?}") };
        let written = body(event, "muster");
        assert_eq!((&written["reason"], &written["type"]), (&json!("Evict"), &json!("Normal")));
        assert_eq!(written["involvedObject"]["uid"], "gu");
        assert_eq!(
            written["metadata"]["annotations"],
            json!({
                "num-evicted-pods": "2", "evictor-action-type": "reclaim",
                "evictor-pod-group-name": "taker", "evictor-pod-group-namespace": "other",
            })
        );
    }

    #[test]
    fn each_dialect_has_its_own_reasons() {
        let waits = What::Waits;
        assert_eq!(waits.words(Dialect::Kai), ("Unschedulable", WARNING));
        assert_eq!(waits.words(Dialect::Volcano), ("FailedScheduling", WARNING));
        let (reason, severity) = What::Gang("StaleJob").words(Dialect::Kai);
        assert_eq!((reason, severity), ("StaleJob", NORMAL));
    }

    #[test]
    fn pods_of_a_group_share_an_event_and_others_have_their_own() {
        let bound = |name: &str, job: &str| Happening::bound(&pod(name), &key(job), &"n0".into());
        let mut all =
            vec![bound("g-0", "g"), bound("lone", "lone"), bound("g-1", "g"), bound("x", "gone")];
        let of_volcano =
            |group: &ObjectKey| (&*group.name == "g").then(|| ("gu".to_owned(), Dialect::Volcano));
        let events = gather(&mut all, of_volcano);
        let lines = lines(&events);
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
