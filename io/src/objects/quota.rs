//! `ResourceQuota` (`v1`).

use serde::Deserialize;
use serde_json::Value;

use super::{Metadata, ResourceMap};

/// A quota of a namespace.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ResourceQuota {
    /// Its metadata.
    pub metadata: Metadata,
    /// What the namespace may have.
    pub spec: ResourceQuotaSpec,
    /// What is in force and in use.
    pub status: ResourceQuotaStatus,
}

/// `spec` of a quota.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ResourceQuotaSpec {
    /// Limits by name.
    pub hard: ResourceMap,
    /// Kinds of objects the quota is about.
    pub scopes: Vec<String>,
    /// The same with operators.
    pub scope_selector: Option<Value>,
}

/// `status` of a quota.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ResourceQuotaStatus {
    /// Limits in force; absent until the cluster has looked at the quota.
    pub hard: Option<ResourceMap>,
    /// Use by name.
    pub used: ResourceMap,
}
