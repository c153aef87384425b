//! A pod is asked to leave.
//!
//! By default as Volcano does it: the condition `DisruptionTarget` says why, then the pod is deleted
//! with its own grace period; KAI leaves the condition out unless it is told to write it. With
//! `eviction.mode: evict` the Eviction API is asked instead, which
//! looks at disruption budgets itself and may say no. An eviction counts as failed only when it is
//! certain that the pod stays; where the answers leave that open, the pod itself is asked.

use http::Method;
use muster_core::config::EvictionMode;
use muster_core::delta::ClusterDelta;
use muster_core::intent::Ruling;
use serde_json::{Value, json};
use tracing::warn;

use super::PodRef;
use super::api::ApiCalls;
use super::client::{Body, Write, pod_path};
use super::event::Happening;
use super::failure::{Attempts, Failure};
use super::pod_status::{condition, now};
use super::verify;

impl ApiCalls {
    pub(super) async fn evict(&self, pod: &PodRef, ruling: &Ruling) {
        let reason = ruling.reason.as_deref().unwrap_or_default();
        let result = match self.eviction() {
            EvictionMode::Delete => self.say_and_delete(pod, reason).await,
            EvictionMode::BareDelete => self.delete(pod).await,
            EvictionMode::Evict => self.post_eviction(pod).await,
        };
        match result {
            Ok(()) => {
                self.metrics.evicted();
                self.events.note(Happening::evicted(pod, ruling));
            }
            // It is gone, which is what was wanted.
            Err(Failure::Overtaken(_)) => {}
            Err(failure) if failure.is(404) => {}
            Err(failure) => {
                self.metrics.evict_failed();
                warn!(%pod, %failure, "the eviction failed");
                let (PodRef { key, uid }, reason) = (pod.clone(), failure.to_string());
                self.tell(ClusterDelta::EvictFailed { pod: key, uid, reason }).await;
            }
        }
    }

    async fn say_and_delete(&self, pod: &PodRef, reason: &str) -> Result<(), Failure> {
        let why = condition("DisruptionTarget", "True", "PreemptionByScheduler", reason, &now());
        let patch = json!({"metadata": {"uid": &*pod.uid}, "status": {"conditions": [why]}});
        let status = pod_path(&pod.key, "/status");
        self.client.write(Method::PATCH, &status, (Body::StrategicPatch, &patch)).await?;
        self.delete(pod).await
    }

    async fn delete(&self, pod: &PodRef) -> Result<(), Failure> {
        let options = json!({
            "apiVersion": "v1", "kind": "DeleteOptions", "preconditions": {"uid": &*pod.uid},
        });
        self.ask_to_leave(pod, Method::DELETE, "", &options).await
    }

    async fn post_eviction(&self, pod: &PodRef) -> Result<(), Failure> {
        // Written by hand: kube-core's request helper names the field `delete_options`, which an API
        // server does not know. The uid would be lost, and another pod of that name evicted.
        let eviction = json!({
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": &*pod.key.name, "namespace": &*pod.key.namespace},
            "deleteOptions": {"preconditions": {"uid": &*pod.uid}},
        });
        self.ask_to_leave(pod, Method::POST, "/eviction", &eviction).await
    }

    async fn ask_to_leave(
        &self,
        pod: &PodRef,
        method: Method,
        part: &str,
        body: &Value,
    ) -> Result<(), Failure> {
        let (path, object) = (pod_path(&pod.key, part), pod_path(&pod.key, ""));
        let write = Write { method, path: &path, body: (Body::Whole, body) };
        let judge = |found| verify::evicted(pod, found);
        self.client.write_verified(&write, &object, &mut Attempts::default(), judge).await
    }
}
