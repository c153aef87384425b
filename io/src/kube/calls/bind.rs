//! A pod gets its node.
//!
//! A bind names the uid the pod must have. If the server answers that the pod has a node already, or
//! the answer never came, the pod itself says how it ended: on the node we meant is success.

use http::Method;
use muster_core::delta::ClusterDelta;
use muster_core::ids::{Name, ObjectKey};
use serde::Deserialize;
use serde_json::json;
use tracing::warn;

use super::event::Happening;
use super::failure::Failure;
use super::office::{Body, Office, pod_path};

/// Attempts after a conflict that left the pod where it was.
const CONFLICTS_MAX: u32 = 3;

/// What is read of a pod to see how a bind ended.
#[derive(Deserialize)]
struct Where {
    metadata: Uid,
    #[serde(default)]
    spec: Node,
}

#[derive(Deserialize)]
struct Uid {
    uid: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Node {
    node_name: Option<String>,
}

impl Office {
    pub(super) async fn bind(
        &self,
        pod: &ObjectKey,
        uid: &Name,
        node: &Name,
        job: &ObjectKey,
        claims: Vec<(ObjectKey, Option<Name>)>,
    ) {
        let bound = match self.fix_claims(&claims, node).await {
            Ok(()) => self.try_bind(pod, uid, node).await,
            Err(reason) => Err(reason),
        };
        match bound {
            Ok(()) => {
                self.metrics.bound();
                self.events.note(Happening::bound(pod, uid, job, node));
            }
            Err(reason) => {
                self.metrics.bind_failed();
                warn!(%pod, %node, reason, "the bind failed");
                self.events.note(Happening::bind_failed(pod, uid, job, node, &reason));
                let (pod, uid) = (pod.clone(), uid.clone());
                self.tell(ClusterDelta::BindFailed { pod, uid, reason }).await;
            }
        }
    }

    async fn try_bind(&self, pod: &ObjectKey, uid: &Name, node: &Name) -> Result<(), String> {
        let binding = json!({
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": &*pod.name, "namespace": &*pod.namespace, "uid": &**uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": &**node},
        });
        let path = pod_path(pod, "/binding");
        let mut conflicts = 0;
        loop {
            let result = self.write(Method::POST, &path, (Body::Whole, &binding)).await;
            let failure = match result {
                Ok(()) => return Ok(()),
                Err(failure) => failure,
            };
            if failure.is(409) {
                self.metrics.conflict();
            }
            // After trouble on the way the call may have been carried out all the same.
            let unsure = failure.is(409) || failure.is(500);
            if !unsure || self.is_there(pod, uid, node, &failure).await? {
                return if unsure { Ok(()) } else { Err(failure.to_string()) };
            }
            conflicts += 1;
            if !failure.is(409) || conflicts > CONFLICTS_MAX {
                return Err(failure.to_string());
            }
        }
    }

    /// Is the pod on the node? An error if it never will be.
    async fn is_there(
        &self,
        pod: &ObjectKey,
        uid: &Name,
        node: &Name,
        failure: &Failure,
    ) -> Result<bool, String> {
        let found: Where = match self.read(&pod_path(pod, "")).await {
            Ok(found) => found,
            Err(gone) if gone.is(404) => return Err(format!("pod {pod} is gone")),
            Err(_) => return Err(failure.to_string()),
        };
        match found.spec.node_name.as_deref() {
            _ if found.metadata.uid != **uid => Err(format!("pod {pod} is another one now")),
            Some(there) if there == &**node => Ok(true),
            Some(there) => Err(format!("pod {pod} is bound to node {there} already")),
            None => Ok(false),
        }
    }
}
