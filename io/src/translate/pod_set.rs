//! Service, `ReplicationController`, `ReplicaSet` and `StatefulSet` to [`PodSetFacts`], and who made a
//! pod.

use muster_core::delta::{ClusterDelta, PodOwner, PodSetFacts, PodSetKind, PodSetRef, Requirement};
use muster_core::ids::ObjectKey;

use super::TranslateError;
use super::about::About;
use super::selector::{exact_labels, label_selector};
use crate::objects::{
    Metadata, ObjectKind, ReplicaSet, ReplicasSpec, ReplicationController, Service, StatefulSet,
};

/// Where all four kinds say whom they select.
const SELECTOR: &str = "spec.selector";

pub(super) fn service(service: &Service) -> Result<ClusterDelta, TranslateError> {
    let about = About::new(ObjectKind::Service, &service.metadata)?;
    let selector = exact_labels(&about, &service.spec.selector, SELECTOR)?;
    Ok(delta(&about, PodSetKind::Service, None, selector))
}

pub(super) fn replication_controller(
    controller: &ReplicationController,
) -> Result<ClusterDelta, TranslateError> {
    let about = About::new(ObjectKind::ReplicationController, &controller.metadata)?;
    let selector = exact_labels(&about, &controller.spec.selector, SELECTOR)?;
    let replicas = controller.spec.replicas;
    Ok(delta(&about, PodSetKind::ReplicationController, replicas, selector))
}

pub(super) fn replica_set(set: &ReplicaSet) -> Result<ClusterDelta, TranslateError> {
    let about = About::new(ObjectKind::ReplicaSet, &set.metadata)?;
    replicas(&about, PodSetKind::ReplicaSet, &set.spec)
}

pub(super) fn stateful_set(set: &StatefulSet) -> Result<ClusterDelta, TranslateError> {
    let about = About::new(ObjectKind::StatefulSet, &set.metadata)?;
    replicas(&about, PodSetKind::StatefulSet, &set.spec)
}

fn replicas(
    about: &About<'_>,
    kind: PodSetKind,
    spec: &ReplicasSpec,
) -> Result<ClusterDelta, TranslateError> {
    let selector = label_selector(about, &spec.selector, SELECTOR)?;
    Ok(delta(about, kind, spec.replicas, selector))
}

/// A set that selects by nothing says nothing of its pods, and a controller that wants no pods has
/// none that wait: the many old ones a Deployment keeps are not kept here.
fn delta(
    about: &About<'_>,
    kind: PodSetKind,
    replicas: Option<i64>,
    selector: Vec<Requirement>,
) -> ClusterDelta {
    let set = PodSetRef { kind, key: about.key() };
    if selector.is_empty() || replicas == Some(0) {
        return ClusterDelta::PodSetGone(set);
    }
    ClusterDelta::PodSet(Box::new(PodSetFacts { set, selector }))
}

/// The set an object of that kind is, if it is one.
pub(super) fn set_of(kind: ObjectKind, key: &ObjectKey) -> Option<PodSetRef> {
    set_kind(kind).map(|kind| PodSetRef { kind, key: key.clone() })
}

fn set_kind(kind: ObjectKind) -> Option<PodSetKind> {
    match kind {
        ObjectKind::Service => Some(PodSetKind::Service),
        ObjectKind::ReplicationController => Some(PodSetKind::ReplicationController),
        ObjectKind::ReplicaSet => Some(PodSetKind::ReplicaSet),
        ObjectKind::StatefulSet => Some(PodSetKind::StatefulSet),
        _ => None,
    }
}

/// The controller that made a pod, if it is of one of these kinds. Other groups have kinds of the same
/// names, which select their pods in ways of their own.
pub(super) fn owner(metadata: &Metadata) -> Option<PodOwner> {
    let owner = metadata.owner_references.iter().find(|owner| owner.controller)?;
    let version = Some(owner.api_version.as_str()).filter(|version| !version.is_empty());
    let kind = ObjectKind::of(version, &owner.kind).and_then(set_kind)?;
    let made_pods = kind != PodSetKind::Service;
    made_pods.then(|| PodOwner { kind, name: owner.name.as_str().into() })
}

#[cfg(test)]
mod tests {
    use muster_core::delta::Operator;
    use serde_json::{Value, json};

    use super::*;
    use crate::objects::Object;
    use crate::translate::{OwnerRule, translate};

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
        for (kind, spec) in [
            (ObjectKind::Service, &exact),
            (ObjectKind::ReplicationController, &exact),
            (ObjectKind::ReplicaSet, &wide),
            (ObjectKind::StatefulSet, &wide),
        ] {
            let key = ObjectKey::new("ns", "s");
            let facts = PodSetFacts {
                set: set_of(kind, &key).expect("one of the kinds"),
                selector: vec![Requirement {
                    key: "app".into(),
                    operator: Operator::In,
                    values: vec!["web".into()],
                }],
            };
            assert_eq!(read(kind, spec), Ok(ClusterDelta::PodSet(Box::new(facts))));
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
            assert!(matches!(delta, Ok(ClusterDelta::PodSetGone(_))), "{kind} {spec}: {delta:?}");
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
