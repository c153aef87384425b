//! `PodDisruptionBudget` (`policy/v1`).

use std::collections::BTreeMap;

use muster_core::delta::{BudgetFacts, ClusterDelta, ObjectRef, Share};
use muster_core::ids::ObjectKey;
use serde::Deserialize;

use super::translate::{About, OwnerRule, Translate, TranslateError, label_selector};
use super::{LabelSelector, Metadata, Scalar};

/// How many of some pods must stay.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PodDisruptionBudget {
    /// Its metadata.
    pub metadata: Metadata,
    /// What must stay.
    pub spec: BudgetSpec,
    /// What its controller counts.
    pub status: BudgetStatus,
}

/// `spec` of a disruption budget.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetSpec {
    /// Which pods; absent is none, empty is all of the namespace.
    pub selector: Option<LabelSelector>,
    /// How many must stay: a number or a percentage.
    pub min_available: Option<Scalar>,
    /// How many may be gone: a number or a percentage.
    pub max_unavailable: Option<Scalar>,
}

/// `status` of a disruption budget.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetStatus {
    /// Pods that may go now.
    pub disruptions_allowed: Option<i64>,
    /// Pods already counted as gone, by name, each with the time of it.
    pub disrupted_pods: BTreeMap<String, String>,
}

impl Translate for PodDisruptionBudget {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::DisruptionBudget(key)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let (spec, status) = (&self.spec, &self.status);
        if spec.min_available.is_some() && spec.max_unavailable.is_some() {
            let problem = "is there beside minAvailable; expected one of them";
            return Err(about.fail("spec.maxUnavailable", problem));
        }
        let selector = spec.selector.as_ref();
        let selector = selector.map(|selector| label_selector(about, selector, "spec.selector"));
        let part = |given: &Option<Scalar>, field: &str| {
            given.as_ref().map(|given| share(about, given, field)).transpose()
        };
        Ok(BudgetFacts {
            key: about.key(),
            selector: selector.transpose()?,
            min_available: part(&spec.min_available, "spec.minAvailable")?,
            max_unavailable: part(&spec.max_unavailable, "spec.maxUnavailable")?,
            allowed: status.disruptions_allowed,
            disrupted: status.disrupted_pods.keys().map(|name| name.as_str().into()).collect(),
        }
        .into())
    }
}

fn share(about: &About<'_>, given: &Scalar, field: &str) -> Result<Share, TranslateError> {
    let text = given.as_str();
    read_share(text).ok_or_else(|| {
        let problem = format!("{text:?} is no share; expected a number of pods or 0% to 100%");
        about.fail(field, problem)
    })
}

/// A number of pods, or a percentage of them.
pub(in crate::objects) fn read_share(text: &str) -> Option<Share> {
    let number =
        |text: &str| text.parse::<u32>().ok().filter(|&count| i32::try_from(count).is_ok());
    match text.strip_suffix('%') {
        Some(percent) => number(percent).filter(|&percent| percent <= 100).map(Share::Percent),
        None => number(text).map(Share::Count),
    }
}

#[cfg(test)]
mod tests {
    use muster_core::delta::Facts;
    use serde_json::json;

    use super::*;
    use crate::objects::Object;
    use crate::objects::translate::translate;

    fn read(spec: serde_json::Value) -> Result<BudgetFacts, String> {
        let object = json!({"metadata": {"name": "b"}, "spec": spec,
            "status": {"disruptionsAllowed": 1, "disruptedPods": {"p": "2026-01-01T00:00:00Z"}}});
        let budget: PodDisruptionBudget = serde_json::from_value(object).expect("fits the object");
        let object = Object::PodDisruptionBudget(Box::new(budget));
        match translate(&object, &OwnerRule::simulation()).map_err(|error| error.to_string())? {
            Some(ClusterDelta::Set(Facts::DisruptionBudget(facts))) => Ok(*facts),
            other => panic!("{other:?} is no budget"),
        }
    }

    #[test]
    fn numbers_and_percentages_are_told_apart() {
        let selector = json!({"matchLabels": {"app": "web"}});
        let budget = read(json!({"minAvailable": "50%", "selector": selector})).unwrap();
        assert_eq!(budget.min_available, Some(Share::Percent(50)));
        assert_eq!(budget.selector.map(|requirements| requirements.len()), Some(1));
        assert_eq!((budget.allowed, budget.disrupted), (Some(1), vec!["p".into()]));
        let budget = read(json!({"maxUnavailable": 2})).unwrap();
        assert_eq!(budget.max_unavailable, Some(Share::Count(2)));
        assert_eq!(budget.selector, None);
    }

    #[test]
    fn what_is_no_share_is_refused_by_field() {
        for bad in [json!("half"), json!("101%"), json!(-1)] {
            let error = read(json!({"minAvailable": bad})).unwrap_err();
            assert!(error.contains("spec.minAvailable"), "{error}");
        }
        let error = read(json!({"minAvailable": 1, "maxUnavailable": 1})).unwrap_err();
        assert!(error.contains("spec.maxUnavailable"), "{error}");
    }
}
