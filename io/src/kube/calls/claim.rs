//! Claims get their volumes before their pod is bound.
//!
//! A volume that exists is given to the claim by writing its `claimRef`; one that has to be made is
//! asked for by naming the node on the claim. The volume controller does the rest, and the pod's bind
//! waits for it.

use std::time::{Duration, Instant};

use http::Method;
use muster_core::ids::{Name, ObjectKey};
use serde::Deserialize;
use serde_json::json;

use super::ClaimFix;
use super::api::ApiCalls;
use super::client::Body;
use crate::kube::backoff::Backoff;
use crate::objects::translate::SELECTED_NODE;
use crate::objects::{PersistentVolumeClaim, PhaseStatus};

/// Longest wait for a volume, as in Kubernetes.
const BOUND_WITHIN: Duration = Duration::from_mins(10);

/// What is read of a volume before it is given away.
#[derive(Deserialize)]
struct Volume {
    metadata: Version,
    #[serde(default)]
    spec: VolumeSpec,
    #[serde(default)]
    status: PhaseStatus,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Version {
    resource_version: String,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct VolumeSpec {
    claim_ref: Option<crate::objects::ClaimReference>,
}

impl ApiCalls {
    /// Sees to claims and waits until each has its volume.
    pub(super) async fn fix_claims(&self, claims: &[ClaimFix], node: &Name) -> Result<(), String> {
        for ClaimFix { claim, volume } in claims {
            match volume {
                Some(volume) => self.give(volume, claim).await?,
                None => self.have_made(claim, node).await?,
            }
        }
        for ClaimFix { claim, .. } in claims {
            self.wait_for(claim).await?;
        }
        Ok(())
    }

    /// Gives a volume to a claim.
    async fn give(&self, volume: &Name, claim: &ObjectKey) -> Result<(), String> {
        let address = format!("/api/v1/persistentvolumes/{volume}");
        let found: Volume =
            self.client.read(&address).await.map_err(|failure| failure.to_string())?;
        let wanted: PersistentVolumeClaim =
            self.client.read(&claim_path(claim)).await.map_err(|failure| failure.to_string())?;
        if let Some(held) = &found.spec.claim_ref {
            let namespace = held.namespace.as_deref().unwrap_or("default");
            if namespace == &*claim.namespace && held.name == *claim.name {
                return Ok(());
            }
            let other = format!("{namespace}/{}", held.name);
            return Err(format!("volume {volume} belongs to claim {other}"));
        }
        if found.status.phase.as_deref().is_some_and(|phase| phase != "Available") {
            return Err(format!("volume {volume} is not available"));
        }
        let patch = json!({
            "metadata": {
                "resourceVersion": found.metadata.resource_version,
                "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
            },
            "spec": {"claimRef": {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "namespace": &*claim.namespace,
                "name": &*claim.name,
                "uid": wanted.metadata.uid,
            }},
        });
        let written = self.client.write(Method::PATCH, &address, (Body::MergePatch, &patch)).await;
        written.map_err(|failure| format!("volume {volume} was not given to {claim}: {failure}"))
    }

    /// Has a volume made for the node.
    async fn have_made(&self, claim: &ObjectKey, node: &Name) -> Result<(), String> {
        let patch = json!({"metadata": {"annotations": {SELECTED_NODE: &**node}}});
        let written =
            self.client.write(Method::PATCH, &claim_path(claim), (Body::MergePatch, &patch)).await;
        written.map_err(|failure| format!("claim {claim} was not told its node: {failure}"))
    }

    /// Waits until the claim has its volume.
    async fn wait_for(&self, claim: &ObjectKey) -> Result<(), String> {
        let begun = Instant::now();
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
        loop {
            let found: PersistentVolumeClaim = self
                .client
                .read(&claim_path(claim))
                .await
                .map_err(|failure| format!("claim {claim} cannot be read: {failure}"))?;
            if found.status.phase.as_deref() == Some("Bound") {
                return Ok(());
            }
            if begun.elapsed() > BOUND_WITHIN {
                return Err(format!("claim {claim} got no volume within {BOUND_WITHIN:?}"));
            }
            tokio::time::sleep(backoff.pause()).await;
        }
    }
}

fn claim_path(claim: &ObjectKey) -> String {
    let (namespace, name) = (&claim.namespace, &claim.name);
    format!("/api/v1/namespaces/{namespace}/persistentvolumeclaims/{name}")
}
