//! `PriorityClass` to [`PriorityClassFacts`].

use muster_core::delta::{PreemptionPolicy, PriorityClassFacts};

use super::TranslateError;
use super::about::About;
use crate::objects::{ObjectKind, PriorityClass};

pub(super) fn facts(class: &PriorityClass) -> Result<PriorityClassFacts, TranslateError> {
    let about = About::new(ObjectKind::PriorityClass, &class.metadata)?;
    Ok(PriorityClassFacts {
        name: about.name(),
        value: class.value,
        global_default: class.global_default,
        preempts: policy(class.preemption_policy.as_deref()).unwrap_or_default(),
    })
}

/// `preemptionPolicy` of a class or a pod; none where it is absent, or a word Kubernetes does not know.
pub(super) fn policy(text: Option<&str>) -> Option<PreemptionPolicy> {
    match text {
        Some("Never") => Some(PreemptionPolicy::Never),
        Some("PreemptLowerPriority") => Some(PreemptionPolicy::LowerPriority),
        _ => None,
    }
}
