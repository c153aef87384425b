//! A pod gets its node.
//!
//! A bind names the uid the pod must have. Its room is given to others only when it is certain that
//! the pod does not have it: where the answers leave that open, the pod itself says how the bind ended.
//! On the node we meant is success.

use std::time::Instant;

use http::Method;
use muster_core::delta::ClusterDelta;
use muster_core::ids::Name;
use muster_core::intent::Ruling;
use serde_json::json;
use tracing::warn;

use super::api::ApiCalls;
use super::client::{Body, Write, pod_path};
use super::event::Happening;
use super::failure::{Attempts, Failure};
use super::verify;
use super::{ClaimFix, PodRef};

impl ApiCalls {
    pub(super) async fn bind(
        &self,
        pod: &PodRef,
        node: &Name,
        ruling: &Ruling,
        claims: &[ClaimFix],
    ) {
        // The pod is not among those that wait once it has its node.
        let pool = self.statuses.to_label(&pod.key);
        let begun = Instant::now();
        let bound = match self.fix_claims(claims, node).await {
            Ok(()) => self.post_binding(pod, node).await.map_err(|failure| failure.to_string()),
            Err(reason) => Err(reason),
        };
        match bound {
            Ok(()) => {
                self.metrics.bound(begun.elapsed());
                self.events.note(Happening::bound(pod, &ruling.job, node));
                if let Some(pool) = pool {
                    self.label(pod, &pool).await;
                }
            }
            Err(reason) => {
                self.metrics.bind_failed();
                warn!(%pod, %node, reason, "the bind failed");
                self.events.note(Happening::bind_failed(pod, &ruling.job, node, &reason));
                if self.statuses.gang(&ruling.job).is_some() {
                    self.report_binding_error(pod, &reason).await;
                }
                let PodRef { key, uid } = pod.clone();
                self.tell(ClusterDelta::BindFailed { pod: key, uid, reason }).await;
            }
        }
    }

    async fn post_binding(&self, pod: &PodRef, node: &Name) -> Result<(), Failure> {
        let PodRef { key, uid } = pod;
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": &*key.name, "namespace": &*key.namespace, "uid": &**uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": &**node},
        });
        let (path, object) = (pod_path(key, "/binding"), pod_path(key, ""));
        let write = Write { method: Method::POST, path: &path, body: (Body::Whole, &binding) };
        let mut attempts = Attempts::default();
        let judge = |found| verify::bound(pod, node, found);
        let bound = self.client.write_verified(&write, &object, &mut attempts, judge).await;
        self.metrics.conflicts(attempts.conflicts());
        bound
    }
}
