//! `ResourceQuota` (`v1`).

use muster_core::delta::{ClusterDelta, ObjectRef, QuotaFacts};
use muster_core::ids::ObjectKey;
use serde::Deserialize;
use serde_json::Value;

use super::translate::{About, OwnerRule, Translate, TranslateError};
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

impl Translate for ResourceQuota {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::Quota(key)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let hard = match &self.status.hard {
            Some(hard) => about.resources(hard, "status.hard")?,
            // The cluster has not looked at it yet: what it will say is what the object says.
            None => about.resources(&self.spec.hard, "spec.hard")?,
        };
        let used = about.resources(&self.status.used, "status.used")?;
        Ok(QuotaFacts { key: about.key(), hard, used }.into())
    }

    fn unsupported(&self) -> Vec<String> {
        let scoped = !self.spec.scopes.is_empty() || self.spec.scope_selector.is_some();
        let text = "has scopes, which are not looked at: it limits all pods of its namespace";
        if scoped { vec![text.to_owned()] } else { Vec::new() }
    }
}
