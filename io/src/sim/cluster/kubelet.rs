//! What nodes do: start a bound pod, let it run its time, let it leave; and the one thing controllers
//! do: make another pod for one that was evicted.

use muster_core::ids::ObjectKey;

use super::super::duration::parse_ms;
use super::super::scenario::Delay;
use super::calls::drop_device_labels;
use super::{Cluster, PodNote};
use crate::objects::translate::annotate;
use crate::objects::{Object, ObjectKind, Pod, PodStatus};

/// Annotation that says how long a pod runs.
pub(super) const RUN_FOR: &str = "muster.sh/run-for";

/// Something that happens to a pod later.
#[derive(Clone, Debug)]
pub(super) struct Due {
    pod: ObjectKey,
    /// The pod it was planned for; one of the same name that came later is not meant.
    uid: Option<String>,
    what: Happening,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Happening {
    Start,
    Finish,
    Leave,
}

impl Cluster {
    /// When the next thing happens by itself.
    pub fn next_due_ms(&self) -> Option<i64> {
        self.due.first_key_value().map(|entry| entry.0.0)
    }

    /// Lets the next thing happen.
    pub fn fire_next(&mut self) {
        let Some(((at_ms, _), due)) = self.due.pop_first() else { return };
        if due.what == Happening::Leave {
            self.leaving -= 1;
        }
        let Some(pod) = self.store.pod_mut(&due.pod) else { return };
        if pod.metadata.uid != due.uid {
            return;
        }
        match due.what {
            Happening::Leave => return self.remove_pod(&due.pod, at_ms),
            // A pod that is to leave neither starts nor finishes any more.
            _ if pod.metadata.deletion_timestamp.is_some() || is_over(pod) => return,
            Happening::Start => pod.status.phase = Some("Running".into()),
            Happening::Finish => pod.status.phase = Some("Succeeded".into()),
        }
        self.touch(ObjectKind::Pod, &due.pod);
        self.plan(&due.pod, at_ms);
    }

    /// Plans for a pod as it came from the Scenario. One that comes already leaving is seen leaving
    /// by at least one cycle: that is what it was written for.
    pub(super) fn plan_applied(&mut self, key: &ObjectKey, at_ms: i64) {
        let Some(pod) = self.store.pod(key) else { return };
        if pod.metadata.deletion_timestamp.is_some() {
            self.plan_leaving(key, at_ms, 1);
        } else {
            self.plan(key, at_ms);
        }
    }

    /// Plans what the pod's state calls for and is not planned yet.
    pub(super) fn plan(&mut self, key: &ObjectKey, at_ms: i64) {
        let Some(pod) = self.store.pod(key) else { return };
        if pod.spec.node_name.is_none() || is_over(pod) {
            return;
        }
        match pod.status.phase.as_deref() {
            None | Some("" | "Pending") => {
                let delay = delay_ms(self.kubelet.start, pod);
                self.plan_once(key, delay.map(|delay| at_ms + delay), Happening::Start);
            }
            Some("Running") => self.plan_finish(key, at_ms),
            _ => {}
        }
    }

    fn plan_finish(&mut self, key: &ObjectKey, at_ms: i64) {
        if self.is_planned(key, Happening::Finish) {
            return;
        }
        let Some(text) = self.store.pod(key).and_then(|pod| pod.metadata.annotations.get(RUN_FOR))
        else {
            return;
        };
        let delay = match parse_ms(text) {
            Ok(delay) if delay >= 0 => Some(delay),
            Ok(_) => {
                self.warnings
                    .push(format!("Pod {key}: annotation {RUN_FOR} is negative; it runs for ever"));
                None
            }
            Err(error) => {
                let warning = format!("Pod {key}: annotation {RUN_FOR}: {error}; it runs for ever");
                self.warnings.push(warning);
                None
            }
        };
        self.plan_once(key, delay.map(|delay| at_ms + delay), Happening::Finish);
    }

    /// Tells a pod to leave. One without node is gone at once: no kubelet has to stop it.
    pub(super) fn begin_leaving(&mut self, key: &ObjectKey, at_ms: i64) {
        let Some(pod) = self.store.pod_mut(key) else { return };
        if pod.metadata.deletion_timestamp.is_none() {
            pod.metadata.deletion_timestamp = Some(super::super::clock::rfc3339(at_ms));
            pod.metadata.deletion_ms = Some(at_ms);
            self.touch(ObjectKind::Pod, key);
        }
        self.plan_leaving(key, at_ms, 0);
    }

    fn plan_leaving(&mut self, key: &ObjectKey, at_ms: i64, delay_min_ms: i64) {
        let Some(pod) = self.store.pod(key) else { return };
        if pod.spec.node_name.is_none() {
            return self.remove_pod(key, at_ms);
        }
        let delay = delay_ms(self.kubelet.terminate, pod).map(|delay| delay.max(delay_min_ms));
        self.plan_once(key, delay.map(|delay| at_ms + delay), Happening::Leave);
    }

    fn is_planned(&self, key: &ObjectKey, what: Happening) -> bool {
        self.notes.get(key).is_some_and(|note| note.planned[what as usize])
    }

    /// Plans something for a pod, unless it is planned already; no time is never.
    fn plan_once(&mut self, key: &ObjectKey, at_ms: Option<i64>, what: Happening) {
        let planned = &mut self.notes.entry(key.clone()).or_default().planned[what as usize];
        if std::mem::replace(planned, true) {
            return;
        }
        let (Some(at_ms), Some(pod)) = (at_ms, self.store.pod(key)) else { return };
        let uid = pod.metadata.uid.clone();
        if what == Happening::Leave {
            self.leaving += 1;
        }
        self.planned += 1;
        self.due.insert((at_ms, self.planned), Due { pod: key.clone(), uid, what });
    }

    fn remove_pod(&mut self, key: &ObjectKey, at_ms: i64) {
        let note = self.notes.remove(key).unwrap_or_default();
        let Some(Object::Pod(pod)) = self.store.remove(ObjectKind::Pod, key) else { return };
        self.touch(ObjectKind::Pod, key);
        self.drop_claims(key, &pod);
        if self.recreate && note.comes_back {
            self.uids += 1;
            let successor = successor(*pod, self.uids, at_ms);
            self.store.set(key.clone(), Object::Pod(Box::new(successor)));
            self.touch(ObjectKind::Pod, key);
            self.make_claims(key, at_ms);
            self.notes.insert(key.clone(), PodNote::default());
        }
    }
}

/// The pod a controller makes in place of one that is gone.
fn successor(mut pod: Pod, uid: u64, at_ms: i64) -> Pod {
    pod.metadata.uid = Some(format!("uid-{uid}"));
    pod.metadata.creation_timestamp = None;
    pod.metadata.created_ms = Some(at_ms);
    pod.metadata.deletion_timestamp = None;
    pod.metadata.deletion_ms = None;
    annotate(&mut pod.metadata, None);
    drop_device_labels(&mut pod);
    pod.spec.node_name = None;
    pod.status = PodStatus::default();
    pod
}

fn is_over(pod: &Pod) -> bool {
    matches!(pod.status.phase.as_deref(), Some("Succeeded" | "Failed"))
}

/// Kubernetes' own default where a pod gives no grace period.
const GRACE_SECONDS: i64 = 30;

fn delay_ms(delay: Delay, pod: &Pod) -> Option<i64> {
    match delay {
        Delay::Ms(ms) => Some(ms),
        Delay::Grace => {
            let seconds = pod.spec.termination_grace_period_seconds.unwrap_or(GRACE_SECONDS);
            Some(seconds.max(0).saturating_mul(1000))
        }
        Delay::Never => None,
    }
}
