//! A pod is asked to leave.
//!
//! By default as Volcano does it: the condition `DisruptionTarget` says why, then the pod is deleted
//! with its own grace period. With `eviction.mode: evict` the Eviction API is asked instead, which
//! looks at disruption budgets itself and may say no.

use http::Method;
use muster_core::config::EvictionMode;
use muster_core::delta::ClusterDelta;
use muster_core::ids::{Name, ObjectKey};
use serde_json::json;
use tracing::warn;

use super::event::Happening;
use super::failure::Failure;
use super::office::{Body, Office, pod_path};
use super::pod::{condition, now};

impl Office {
    pub(super) async fn evict(&self, pod: &ObjectKey, uid: &Name, job: &ObjectKey, reason: &str) {
        let mode = *self.eviction.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let result = match mode {
            EvictionMode::Delete => self.delete(pod, uid, reason).await,
            EvictionMode::Evict => self.ask_to_evict(pod, uid).await,
        };
        match result {
            Ok(()) => {
                self.metrics.evicted();
                self.events.note(Happening::evicted(pod, uid, job, reason));
            }
            // It is gone, which is what was wanted.
            Err(failure) if failure.is(404) => {}
            Err(failure) => {
                self.metrics.evict_failed();
                warn!(%pod, %failure, "the eviction failed");
                let (pod, uid, reason) = (pod.clone(), uid.clone(), failure.to_string());
                self.tell(ClusterDelta::EvictFailed { pod, uid, reason }).await;
            }
        }
    }

    async fn delete(&self, pod: &ObjectKey, uid: &Name, reason: &str) -> Result<(), Failure> {
        let why = condition("DisruptionTarget", "True", "PreemptionByScheduler", reason, &now());
        let patch = json!({"metadata": {"uid": &**uid}, "status": {"conditions": [why]}});
        let status = pod_path(pod, "/status");
        self.write(Method::PATCH, &status, (Body::StrategicPatch, &patch)).await?;
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": &**uid},
        });
        self.write(Method::DELETE, &pod_path(pod, ""), (Body::Whole, &options)).await
    }

    async fn ask_to_evict(&self, pod: &ObjectKey, uid: &Name) -> Result<(), Failure> {
        let eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": &*pod.name, "namespace": &*pod.namespace},
            "deleteOptions": {"preconditions": {"uid": &**uid}},
        });
        self.write(Method::POST, &pod_path(pod, "/eviction"), (Body::Whole, &eviction)).await
    }
}
