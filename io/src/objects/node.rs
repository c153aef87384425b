//! Node.

use serde::Deserialize;

use super::{Metadata, ResourceMap};

/// A node.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Node {
    /// Its metadata.
    pub metadata: Metadata,
    /// What its owner wants.
    pub spec: NodeSpec,
    /// What its kubelet reports.
    pub status: NodeStatus,
}

/// `spec` of a node.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSpec {
    /// Cordoned.
    pub unschedulable: bool,
    /// Taints.
    pub taints: Vec<Taint>,
}

/// A taint; the effect still as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Taint {
    /// Key.
    pub key: String,
    /// Value, empty if none.
    pub value: String,
    /// `NoSchedule`, `PreferNoSchedule` or `NoExecute`.
    pub effect: String,
}

/// `status` of a node.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NodeStatus {
    /// Room for pods; where absent Kubernetes means the capacity.
    pub allocatable: Option<ResourceMap>,
    /// All there is.
    pub capacity: ResourceMap,
    /// Images it holds.
    pub images: Vec<NodeImage>,
}

/// An image on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeImage {
    /// Names it is known by.
    pub names: Vec<String>,
    /// Its size.
    pub size_bytes: i64,
}
