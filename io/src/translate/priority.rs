//! `PriorityClass` to [`PriorityClassFacts`].

use muster_core::delta::{ClusterDelta, ObjectRef, PreemptionPolicy, PriorityClassFacts};
use muster_core::ids::ObjectKey;

use super::about::About;
use super::{OwnerRule, Translate, TranslateError};
use crate::objects::PriorityClass;

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

/// `preemptionPolicy` of a class or a pod; none where it is absent, or a word Kubernetes does not know.
pub(super) fn policy(text: Option<&str>) -> Option<PreemptionPolicy> {
    match text {
        Some("Never") => Some(PreemptionPolicy::Never),
        Some("PreemptLowerPriority") => Some(PreemptionPolicy::LowerPriority),
        _ => None,
    }
}
