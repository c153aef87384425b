//! Service (`v1`), and the controllers whose pods belong together: `ReplicationController` (`v1`),
//! `ReplicaSet` and `StatefulSet` (`apps/v1`). Of all of them only whom they select is read.

use std::collections::BTreeMap;

use muster_core::delta::{
    ClusterDelta, ObjectRef, PodOwner, PodSetFacts, PodSetKind, PodSetRef, Requirement,
};
use muster_core::ids::ObjectKey;
use serde::Deserialize;

use super::translate::{About, OwnerRule, Translate, TranslateError, exact_labels, label_selector};
use super::{LabelSelector, Metadata, ObjectKind};

/// A Service.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Service {
    /// Its metadata.
    pub metadata: Metadata,
    /// Whom it selects.
    pub spec: ServiceSpec,
}

/// `spec` of a Service.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ServiceSpec {
    /// Labels of its pods; none selects nobody.
    pub selector: BTreeMap<String, String>,
}

/// A controller of the first generation, which knows exact labels only.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReplicationController {
    /// Its metadata.
    pub metadata: Metadata,
    /// Whom it selects.
    pub spec: ReplicationControllerSpec,
}

/// `spec` of a `ReplicationController`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReplicationControllerSpec {
    /// Labels of its pods.
    pub selector: BTreeMap<String, String>,
    /// How many pods it wants, 1 where absent.
    pub replicas: Option<i64>,
}

/// A controller of equal pods.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReplicaSet {
    /// Its metadata.
    pub metadata: Metadata,
    /// Whom it selects.
    pub spec: ReplicasSpec,
}

/// A controller of numbered pods.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct StatefulSet {
    /// Its metadata.
    pub metadata: Metadata,
    /// Whom it selects.
    pub spec: ReplicasSpec,
}

/// `spec` of a `ReplicaSet` or a `StatefulSet`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ReplicasSpec {
    /// Which pods are its own.
    pub selector: LabelSelector,
    /// How many pods it wants, 1 where absent.
    pub replicas: Option<i64>,
}

/// Where all four kinds say whom they select.
const SELECTOR: &str = "spec.selector";

impl Translate for Service {
    fn object(key: ObjectKey) -> ObjectRef {
        object(PodSetKind::Service, key)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let selector = exact_labels(about, &self.spec.selector, SELECTOR)?;
        Ok(delta(PodSetKind::Service, about, None, selector))
    }
}

impl Translate for ReplicationController {
    fn object(key: ObjectKey) -> ObjectRef {
        object(PodSetKind::ReplicationController, key)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let selector = exact_labels(about, &self.spec.selector, SELECTOR)?;
        Ok(delta(PodSetKind::ReplicationController, about, self.spec.replicas, selector))
    }
}

impl Translate for ReplicaSet {
    fn object(key: ObjectKey) -> ObjectRef {
        object(PodSetKind::ReplicaSet, key)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let selector = label_selector(about, &self.spec.selector, SELECTOR)?;
        Ok(delta(PodSetKind::ReplicaSet, about, self.spec.replicas, selector))
    }
}

impl Translate for StatefulSet {
    fn object(key: ObjectKey) -> ObjectRef {
        object(PodSetKind::StatefulSet, key)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let selector = label_selector(about, &self.spec.selector, SELECTOR)?;
        Ok(delta(PodSetKind::StatefulSet, about, self.spec.replicas, selector))
    }
}

fn object(kind: PodSetKind, key: ObjectKey) -> ObjectRef {
    ObjectRef::PodSet(PodSetRef { kind, key })
}

/// A set that selects by nothing says nothing of its pods, and a controller that wants no pods has
/// none that wait: the many old ones a Deployment keeps are not kept here.
fn delta(
    kind: PodSetKind,
    about: &About<'_>,
    replicas: Option<i64>,
    selector: Vec<Requirement>,
) -> ClusterDelta {
    if selector.is_empty() || replicas == Some(0) {
        return ClusterDelta::Gone(object(kind, about.key()));
    }
    PodSetFacts { set: PodSetRef { kind, key: about.key() }, selector }.into()
}

/// Which controller of pods a kind is, if it is one.
fn controller(kind: ObjectKind) -> Option<PodSetKind> {
    match kind {
        ObjectKind::ReplicationController => Some(PodSetKind::ReplicationController),
        ObjectKind::ReplicaSet => Some(PodSetKind::ReplicaSet),
        ObjectKind::StatefulSet => Some(PodSetKind::StatefulSet),
        _ => None,
    }
}

/// The controller that made a pod, if it is of one of these kinds. Other groups have kinds of the same
/// names, which select their pods in ways of their own.
pub(in crate::objects) fn owner(metadata: &Metadata) -> Option<PodOwner> {
    let owner = metadata.owner_references.iter().find(|owner| owner.controller)?;
    let version = Some(owner.api_version.as_str()).filter(|version| !version.is_empty());
    let kind = ObjectKind::of(version, &owner.kind).and_then(controller)?;
    Some(PodOwner { kind, name: owner.name.as_str().into() })
}

#[cfg(test)]
mod tests {
    use muster_core::delta::Operator;
    use serde_json::{Value, json};

    use super::*;
    use crate::objects::Object;
    use crate::objects::translate::translate;

    fn read(kind: ObjectKind, spec: &Value) -> Result<ClusterDelta, String> {
        let object = json!({"metadata": {"name": "s", "namespace": "ns"}, "spec": spec});
        let object = Object::from_json(kind, &object.to_string()).expect("fits the object");
        let delta = translate(&object, &OwnerRule::simulation()).map_err(|error| error.to_string());
        delta.map(|delta| delta.expect("the core reads these kinds"))
    }

    #[test]
    fn every_kind_is_a_set_with_its_selector() {
        let exact = json!({"selector": {"app": "web"}});
        let wide = json!({"selector": {"matchLabels": {"app": "web"}}, "replicas": 3});
        for (kind, set, spec) in [
            (ObjectKind::Service, PodSetKind::Service, &exact),
            (ObjectKind::ReplicationController, PodSetKind::ReplicationController, &exact),
            (ObjectKind::ReplicaSet, PodSetKind::ReplicaSet, &wide),
            (ObjectKind::StatefulSet, PodSetKind::StatefulSet, &wide),
        ] {
            let facts = PodSetFacts {
                set: PodSetRef { kind: set, key: ObjectKey::new("ns", "s") },
                selector: vec![Requirement {
                    key: "app".into(),
                    operator: Operator::In,
                    values: vec!["web".into()],
                }],
            };
            assert_eq!(read(kind, spec), Ok(facts.into()));
        }
    }

    #[test]
    fn what_selects_nobody_or_wants_no_pods_is_no_set() {
        let labels = json!({"matchLabels": {"app": "web"}});
        for (kind, spec) in [
            (ObjectKind::Service, json!({})),
            (ObjectKind::Service, json!({"selector": null})),
            (ObjectKind::Service, json!({"selector": {}})),
            (ObjectKind::ReplicaSet, json!({"selector": labels, "replicas": 0})),
            (ObjectKind::StatefulSet, json!({"selector": {}})),
        ] {
            let delta = read(kind, &spec);
            assert!(
                matches!(delta, Ok(ClusterDelta::Gone(ObjectRef::PodSet(_)))),
                "{kind} {spec}: {delta:?}"
            );
        }
    }

    #[test]
    fn a_selector_that_is_none_is_refused_by_field() {
        let error = read(ObjectKind::Service, &json!({"selector": {"a b": "c"}})).unwrap_err();
        assert!(error.starts_with("Service ns/s: spec.selector: "), "{error}");
        let odd = json!({"selector": {"matchExpressions": [{"key": "app", "operator": "Is"}]}});
        let error = read(ObjectKind::ReplicaSet, &odd).unwrap_err();
        let field = "ReplicaSet ns/s: spec.selector.matchExpressions[0].operator: ";
        assert!(error.starts_with(field), "{error}");
    }

    #[test]
    fn the_owner_is_the_controller_of_the_right_group() {
        let owner = |references: Value| {
            let metadata = json!({"name": "p", "ownerReferences": references});
            owner(&serde_json::from_value(metadata).expect("metadata"))
        };
        let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db",
            "uid": "1", "controller": true});
        let found = PodOwner { kind: PodSetKind::StatefulSet, name: "db".into() };
        assert_eq!(owner(json!([set])), Some(found.clone()));
        let mut bystander = set.clone();
        bystander["controller"] = json!(false);
        bystander["name"] = json!("other");
        assert_eq!(owner(json!([bystander, set])), Some(found));
        let mut foreign = set.clone();
        foreign["apiVersion"] = json!("apps.kruise.io/v1beta1");
        let mut job = set;
        (job["apiVersion"], job["kind"]) = (json!("batch.volcano.sh/v1alpha1"), json!("Job"));
        assert_eq!(
            [owner(json!([foreign])), owner(json!([job])), owner(json!([]))],
            [None, None, None]
        );
    }
}
