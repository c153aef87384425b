//! `PriorityClass` (`scheduling.k8s.io`).

use muster_core::delta::{ClusterDelta, ObjectRef, PreemptionPolicy, PriorityClassFacts};
use muster_core::ids::ObjectKey;
use serde::Deserialize;

use super::Metadata;
use super::translate::{About, OwnerRule, Translate, TranslateError};

/// A named priority.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PriorityClass {
    /// Its metadata.
    pub metadata: Metadata,
    /// Higher goes first.
    pub value: i32,
    /// Stands for pods that name no class.
    pub global_default: bool,
    /// `Never` or `PreemptLowerPriority`.
    pub preemption_policy: Option<String>,
}

impl Translate for PriorityClass {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::PriorityClass(key.name)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        Ok(PriorityClassFacts {
            name: about.name(),
            value: self.value,
            global_default: self.global_default,
            preempts: policy(self.preemption_policy.as_deref()).unwrap_or_default(),
        }
        .into())
    }
}

/// `preemptionPolicy` of a class or a pod; `None` where it is absent, or a word Kubernetes does not know.
pub(in crate::objects) fn policy(text: Option<&str>) -> Option<PreemptionPolicy> {
    match text {
        Some("Never") => Some(PreemptionPolicy::Never),
        Some("PreemptLowerPriority") => Some(PreemptionPolicy::LowerPriority),
        _ => None,
    }
}
