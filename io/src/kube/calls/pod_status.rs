//! What a pod that waits says of itself: the node held for it, and why it waits.

use http::Method;
use jiff::Timestamp;
use muster_core::config::Pool;
use muster_core::delta::AnnotatedNode;
use muster_core::ids::{Name, ObjectKey};
use muster_core::status::{SaidIn, WaitReport};
use serde_json::{Value, json};
use tracing::warn;

use super::PodRef;
use super::api::ApiCalls;
use super::client::{Body, pod_path};
use super::event::Happening;
use crate::kube::status_cache::POD_SCHEDULED;
use crate::objects::translate::annotations;

/// Was it written?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Written {
    Yes,
    No,
    /// This process lacks the permission.
    Forbidden,
}

impl ApiCalls {
    /// Writes the node held for a pod. No decision of this process needs it, only those of a process
    /// that takes over, so a refusal is only logged.
    pub(super) async fn nominate(&self, pod: &PodRef, node: Option<&Name>) {
        let patch = json!({
            "metadata": {"uid": &*pod.uid},
            "status": {"nominatedNodeName": node.map(|node| &**node)},
        });
        self.patch_status(pod, &patch).await;
    }

    /// Writes the annotations about the room held for a pod, or removes them: one patch, no other key.
    /// A refusal is only logged, as with a nomination.
    pub(super) async fn annotate(&self, pod: &PodRef, reservation: Option<&AnnotatedNode>) {
        let notes: Value = annotations(reservation).into_iter().collect();
        let patch = json!({"metadata": {"uid": &*pod.uid, "annotations": notes}});
        if self.patch(pod, "", &patch).await == Written::Forbidden {
            warn!(
                "pipeline.persistence: annotations needs the permission to patch pods; the chart \
                 gives it with rbac.annotatePods=true"
            );
        }
    }

    /// Writes the pool a pod has got its node in.
    pub(super) async fn label(&self, pod: &PodRef, pool: &Pool) {
        let labels: Value = [(&*pool.key, Value::from(&*pool.value))].into_iter().collect();
        let patch = json!({"metadata": {"uid": &*pod.uid, "labels": labels}});
        if self.patch(pod, "", &patch).await == Written::Forbidden {
            warn!(
                "the label of a pool of nodes needs the permission to patch pods; the chart gives it \
                 with rbac.annotatePods=true"
            );
        }
    }

    /// Writes why a pod waits, unless it says so already.
    pub(super) async fn report_wait(&self, pod: &PodRef, job: &ObjectKey, wait: &WaitReport) {
        let WaitReport { reason, code, message, said } = wait;
        if self.statuses.says_already(&pod.key, &pod.uid, reason, code.as_str()) {
            return;
        }
        let message = format!("{}: {message}", code.as_str());
        if *said == SaidIn::EventAlone {
            return self.events.note(Happening::waits(pod, job, &message));
        }
        let waits = condition(POD_SCHEDULED, "False", reason, &message, &now());
        let patch = json!({"metadata": {"uid": &*pod.uid}, "status": {"conditions": [waits]}});
        if self.patch_status(pod, &patch).await == Written::Yes {
            self.events.note(Happening::waits(pod, job, &message));
        }
    }

    /// Writes that a pod of a PodGroup of KAI's was not bound, as KAI says it.
    pub(super) async fn report_binding_error(&self, pod: &PodRef, message: &str) {
        let failed = condition(POD_SCHEDULED, "False", "BindingError", message, &now());
        let patch = json!({"metadata": {"uid": &*pod.uid}, "status": {"conditions": [failed]}});
        // A refusal is logged, and the bind is tried again in any case.
        let _written = self.patch_status(pod, &patch).await;
    }

    async fn patch_status(&self, pod: &PodRef, patch: &Value) -> Written {
        self.patch(pod, "/status", patch).await
    }

    async fn patch(&self, pod: &PodRef, part: &str, patch: &Value) -> Written {
        let address = pod_path(&pod.key, part);
        match self.client.write(Method::PATCH, &address, (Body::StrategicPatch, patch)).await {
            Ok(()) => Written::Yes,
            // Gone, or another pod of that name by now.
            Err(failure) if failure.is(404) || failure.is(409) => Written::No,
            Err(failure) => {
                warn!(%pod, %failure, "what is held for the pod, or why it waits, was not written");
                if failure.is(403) { Written::Forbidden } else { Written::No }
            }
        }
    }
}

/// A condition as objects of Kubernetes carry it.
pub(super) fn condition(
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
    since: &str,
) -> Value {
    json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": since,
    })
}

/// The time, to the second, as objects of Kubernetes write it.
pub(super) fn now() -> String {
    let now = Timestamp::now();
    Timestamp::from_second(now.as_second()).unwrap_or(now).to_string()
}
