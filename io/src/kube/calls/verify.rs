//! How a call about a pod ended, by what the pod itself says.

use muster_core::ids::Name;
use serde::Deserialize;

use super::PodRef;

/// What an object says of a call about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Seen {
    /// It was carried out.
    Done,
    /// It was not, so far.
    NotDone,
    /// It was not and never can be, and why.
    Impossible(String),
}

/// As much of a pod as tells that.
#[derive(Deserialize)]
pub(super) struct PodState {
    metadata: Metadata,
    #[serde(default)]
    spec: Spec,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    uid: String,
    deletion_timestamp: Option<String>,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Spec {
    node_name: Option<String>,
}

/// The pod meant, or why it is not there.
fn same(pod: &PodRef, found: Option<PodState>) -> Result<PodState, Seen> {
    match found {
        None => Err(Seen::Impossible(format!("pod {pod} is gone"))),
        Some(found) if found.metadata.uid != *pod.uid => {
            Err(Seen::Impossible(format!("pod {pod} is another one now")))
        }
        Some(found) => Ok(found),
    }
}

/// Was the pod bound to that node?
pub(super) fn bound(pod: &PodRef, node: &Name, found: Option<PodState>) -> Seen {
    let found = match same(pod, found) {
        Ok(found) => found,
        Err(seen) => return seen,
    };
    match found.spec.node_name {
        None => Seen::NotDone,
        Some(there) if there == **node => Seen::Done,
        Some(there) => Seen::Impossible(format!("pod {pod} is bound to node {there} already")),
    }
}

/// Was the pod asked to leave?
pub(super) fn evicted(pod: &PodRef, found: Option<PodState>) -> Seen {
    match same(pod, found) {
        Ok(found) if found.metadata.deletion_timestamp.is_some() => Seen::Done,
        Ok(_) => Seen::NotDone,
        Err(seen) => seen,
    }
}
