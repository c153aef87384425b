//! Storage objects to facts, and the claims of a pod.

use muster_core::delta::{
    AccessModes, BindingMode, CapacityTracking, ClaimFacts, ClaimOrigin, ClaimRef, ClaimState,
    ClusterDelta, CsiDriverFacts, CsiNodeFacts, NodeTerm, ObjectRef, Operator, PodClaim,
    Requirement, StorageCapacityFacts, StorageClassFacts, VolumeFacts, VolumeMode, VolumeState,
};
use muster_core::ids::{Name, ObjectKey};
use muster_core::resource::Quantity;

use super::about::{About, pairs, parse_bool};
use super::{OwnerRule, Translate, TranslateError, selector};
use crate::objects::{
    CsiDriver, CsiNode, CsiStorageCapacity, ObjectKind, PersistentVolume, PersistentVolumeClaim,
    Pod, ResourceMap, Scalar, StorageClass, TopologyTerm, Volume,
};

/// A provisioner that makes nothing.
const NO_PROVISIONER: &str = "kubernetes.io/no-provisioner";

/// Written on a claim when its volume is to be made for a node.
pub(crate) const SELECTED_NODE: &str = "volume.kubernetes.io/selected-node";

/// Written on a claim when it has its volume for good.
const BIND_COMPLETED: &str = "pv.kubernetes.io/bind-completed";

/// The older way of a claim to name its class.
const BETA_CLASS: &str = "volume.beta.kubernetes.io/storage-class";

/// Marks of a default class.
pub(crate) const IS_DEFAULT: [&str; 2] = [
    "storageclass.kubernetes.io/is-default-class",
    "storageclass.beta.kubernetes.io/is-default-class",
];

impl Translate for PersistentVolume {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::Volume(key.name)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let spec = &self.spec;
        let claim = spec.claim_ref.as_ref().map(|claim| {
            about.check_name("spec.claimRef.name", &claim.name)?;
            let key =
                ObjectKind::PersistentVolumeClaim.key(claim.namespace.as_deref(), &claim.name);
            Ok(ClaimRef { key, uid: claim.uid.as_deref().unwrap_or_default().into() })
        });
        let claim = claim.transpose()?;
        let required = spec.node_affinity.as_ref().and_then(|affinity| affinity.required.as_ref());
        let affinity = required.map(|required| {
            let terms = required.node_selector_terms.iter().enumerate().map(|(at, term)| {
                let field = format!("spec.nodeAffinity.required.nodeSelectorTerms[{at}]");
                selector::node_term(about, term, &field)
            });
            terms.collect::<Result<Vec<_>, _>>()
        });
        let leaving = self.metadata.deletion_timestamp.is_some();
        let state = match self.status.phase.as_deref().unwrap_or_default() {
            "" | "Available" => VolumeState::Usable,
            // On its way to the claim it names; without one nobody can tell whose it is.
            "Pending" | "Bound" if claim.is_some() => VolumeState::Usable,
            "Pending" | "Bound" | "Released" | "Failed" => VolumeState::Spent,
            other => {
                let known = "Pending, Available, Bound, Released or Failed";
                return Err(not_one_of(about, "status.phase", other, known));
            }
        };
        Ok(VolumeFacts {
            name: about.name(),
            labels: pairs(&self.metadata.labels),
            capacity: storage(about, &spec.capacity, "spec.capacity.storage")?,
            modes: access_modes(about, &spec.access_modes)?,
            mode: volume_mode(about, spec.volume_mode.as_deref())?,
            class: spec.storage_class_name.as_deref().unwrap_or_default().into(),
            claim,
            affinity: affinity.transpose()?,
            driver: spec.driver().map(Name::from),
            state: if leaving { VolumeState::Spent } else { state },
        }
        .into())
    }
}

impl Translate for PersistentVolumeClaim {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::Claim(key)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let metadata = &self.metadata;
        let spec = &self.spec;
        let volume = spec.volume_name.as_deref().unwrap_or_default();
        let volume = about.optional_name("spec.volumeName", volume)?;
        let class = metadata.annotations.get(BETA_CLASS).or(spec.storage_class_name.as_ref());
        let selector = spec
            .selector
            .as_ref()
            .map(|selector| selector::label_selector(about, selector, "spec.selector"));
        let node = metadata.annotations.get(SELECTED_NODE).map_or("", String::as_str);
        let owner = metadata.owner_references.iter().find(|owner| owner.controller);
        Ok(ClaimFacts {
            key: about.key(),
            uid: about.uid(),
            owner: owner.map(|owner| owner.uid.as_str().into()),
            state: claim_state(about, self)?,
            volume,
            class: class.map(|class| class.as_str().into()),
            size: storage(about, &spec.resources.requests, "spec.resources.requests.storage")?,
            modes: access_modes(about, &spec.access_modes)?,
            mode: volume_mode(about, spec.volume_mode.as_deref())?,
            selector: selector.transpose()?,
            selected_node: about
                .optional_name(&format!("metadata.annotations[{SELECTED_NODE:?}]"), node)?,
        }
        .into())
    }
}

fn claim_state(
    about: &About<'_>,
    object: &PersistentVolumeClaim,
) -> Result<ClaimState, TranslateError> {
    let completed = object.metadata.annotations.contains_key(BIND_COMPLETED);
    let named = object.spec.volume_name.as_ref().is_some_and(|name| !name.is_empty());
    let phase = object.status.phase.as_deref().unwrap_or_default();
    match phase {
        "" | "Pending" | "Bound" | "Lost" if object.metadata.deletion_timestamp.is_some() => {
            Ok(ClaimState::Leaving)
        }
        "Lost" => Ok(ClaimState::Lost),
        // A file that names the volume and no phase means a claim that has it.
        "" | "Bound" if named => Ok(ClaimState::Bound),
        "Pending" if named && completed => Ok(ClaimState::Bound),
        "" | "Pending" | "Bound" => Ok(ClaimState::Pending),
        other => Err(not_one_of(about, "status.phase", other, "Pending, Bound or Lost")),
    }
}

impl Translate for StorageClass {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::StorageClass(key.name)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let provisioner = self.provisioner.as_str();
        if provisioner.is_empty() {
            let problem = format!("is missing; expected a driver's name, or {NO_PROVISIONER}");
            return Err(about.fail("provisioner", problem));
        }
        let binding = match self.volume_binding_mode.as_deref().unwrap_or_default() {
            "" | "Immediate" => BindingMode::Immediate,
            "WaitForFirstConsumer" => BindingMode::WaitForFirstConsumer,
            other => {
                let known = "Immediate or WaitForFirstConsumer";
                return Err(not_one_of(about, "volumeBindingMode", other, known));
            }
        };
        let marks = IS_DEFAULT.iter().filter_map(|key| self.metadata.annotations.get(*key));
        let topologies = self.allowed_topologies.iter().enumerate();
        Ok(StorageClassFacts {
            name: about.name(),
            created: about.created(),
            provisioner: (provisioner != NO_PROVISIONER).then(|| provisioner.into()),
            binding,
            is_default: marks.filter_map(|text| parse_bool(text)).any(|mark| mark),
            topologies: topologies
                .map(|(at, term)| topology(about, term, &format!("allowedTopologies[{at}]")))
                .collect::<Result<_, _>>()?,
        }
        .into())
    }
}

fn topology(
    about: &About<'_>,
    term: &TopologyTerm,
    field: &str,
) -> Result<NodeTerm, TranslateError> {
    let tests = term.match_label_expressions.iter().enumerate().map(|(at, test)| {
        let field = |part: &str| format!("{field}.matchLabelExpressions[{at}].{part}");
        if test.key.is_empty() {
            return Err(about.fail(field("key"), "is missing; expected a label key"));
        }
        if test.values.is_empty() {
            return Err(about.fail(field("values"), "is empty; expected at least one value"));
        }
        let values = test.values.iter().map(|value| value.as_str().into()).collect();
        Ok(Requirement { key: test.key.as_str().into(), operator: Operator::In, values })
    });
    Ok(NodeTerm { labels: tests.collect::<Result<_, _>>()?, fields: Vec::new() })
}

impl Translate for CsiNode {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::CsiNode(key.name)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let mut limits = Vec::new();
        for (at, driver) in self.spec.drivers.iter().enumerate() {
            if driver.name.is_empty() {
                let problem = "is missing; expected a driver's name";
                return Err(about.fail(format!("spec.drivers[{at}].name"), problem));
            }
            if let Some(count) = driver.allocatable.count {
                let count = about.count(&format!("spec.drivers[{at}].allocatable.count"), count)?;
                limits.push((Name::from(driver.name.as_str()), count));
            }
        }
        limits.sort();
        Ok(CsiNodeFacts { node: about.name(), limits }.into())
    }
}

impl Translate for CsiDriver {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::CsiDriver(key.name)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let capacity = if self.spec.storage_capacity {
            CapacityTracking::Published
        } else {
            CapacityTracking::Absent
        };
        Ok(CsiDriverFacts { name: about.name(), capacity }.into())
    }
}

impl Translate for CsiStorageCapacity {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::StorageCapacity(key)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        if self.storage_class_name.is_empty() {
            let problem = "is missing; expected the name of a StorageClass";
            return Err(about.fail("storageClassName", problem));
        }
        let segment = self
            .node_topology
            .as_ref()
            .map(|labels| selector::label_selector(about, labels, "nodeTopology"));
        let amount = |field: &'static str, text: &Option<Scalar>| {
            text.as_ref().map(|text| about.quantity(text, || field.to_owned())).transpose()
        };
        let left = amount("capacity", &self.capacity)?;
        let largest = amount("maximumVolumeSize", &self.maximum_volume_size)?;
        Ok(StorageCapacityFacts {
            key: about.key(),
            class: self.storage_class_name.as_str().into(),
            segment: segment.transpose()?,
            largest: largest.or(left),
        }
        .into())
    }
}

/// Drivers that attach the volumes standing in a pod itself, one entry a volume, sorted.
pub(in crate::objects) fn inline_drivers(pod: &Pod) -> Vec<Name> {
    let drivers = pod.spec.volumes.iter().filter_map(Volume::inline_driver);
    let mut drivers: Vec<Name> = drivers.map(Name::from).collect();
    drivers.sort();
    drivers
}

/// Claims the volumes of a pod name, sorted, each once.
pub(in crate::objects) fn claims_of(
    about: &About<'_>,
    pod: &Pod,
) -> Result<Vec<PodClaim>, TranslateError> {
    let mut claims = Vec::new();
    for (at, volume) in pod.spec.volumes.iter().enumerate() {
        if let Some(source) = &volume.persistent_volume_claim {
            let field = format!("spec.volumes[{at}].persistentVolumeClaim.claimName");
            about.check_name(&field, &source.claim_name)?;
            let name = source.claim_name.as_str().into();
            claims.push(PodClaim { name, origin: ClaimOrigin::Named });
        } else if volume.ephemeral.is_some() {
            about.check_name(&format!("spec.volumes[{at}].name"), &volume.name)?;
            let name = volume.ephemeral_claim(&pod.metadata.name).into();
            claims.push(PodClaim { name, origin: ClaimOrigin::Ephemeral });
        }
    }
    claims.sort();
    claims.dedup_by(|a, b| a.name == b.name);
    Ok(claims)
}

fn storage(
    about: &About<'_>,
    amounts: &ResourceMap,
    field: &str,
) -> Result<Quantity, TranslateError> {
    let text = amounts.get("storage");
    text.map_or(Ok(Quantity::ZERO), |text| about.quantity(text, || field.to_owned()))
}

fn access_modes(about: &About<'_>, modes: &[String]) -> Result<AccessModes, TranslateError> {
    let mut set = AccessModes::default();
    for (at, mode) in modes.iter().enumerate() {
        set = set.with(match mode.as_str() {
            "ReadWriteOnce" => AccessModes::ONCE,
            "ReadOnlyMany" => AccessModes::READ_MANY,
            "ReadWriteMany" => AccessModes::MANY,
            "ReadWriteOncePod" => AccessModes::ONCE_POD,
            other => {
                let known = "ReadWriteOnce, ReadOnlyMany, ReadWriteMany or ReadWriteOncePod";
                return Err(not_one_of(about, &format!("spec.accessModes[{at}]"), other, known));
            }
        });
    }
    Ok(set)
}

fn volume_mode(about: &About<'_>, text: Option<&str>) -> Result<VolumeMode, TranslateError> {
    match text.unwrap_or_default() {
        "" | "Filesystem" => Ok(VolumeMode::Filesystem),
        "Block" => Ok(VolumeMode::Block),
        other => Err(not_one_of(about, "spec.volumeMode", other, "Filesystem or Block")),
    }
}

fn not_one_of(about: &About<'_>, field: &str, given: &str, known: &str) -> TranslateError {
    about.fail(field, format!("{given:?} is not known; expected {known}"))
}

#[cfg(test)]
mod tests {
    use muster_core::delta::{ClusterDelta, ObjectRef};
    use muster_core::ids::ObjectKey;
    use serde_json::{Value, json};

    use super::*;
    use crate::objects::Object;
    use crate::objects::translate::{OwnerRule, translate};

    fn read<T: serde::de::DeserializeOwned>(mut object: Value, name: &str) -> T {
        object["metadata"]["name"] = name.into();
        serde_json::from_value(object).unwrap()
    }

    fn complaint(object: &Object) -> String {
        translate(object, &OwnerRule::simulation()).unwrap_err().to_string()
    }

    #[test]
    fn a_malformed_object_is_named_with_the_field() {
        let volume =
            |spec: Value| Object::PersistentVolume(Box::new(read(json!({"spec": spec}), "v")));
        let claim =
            |spec: Value| Object::PersistentVolumeClaim(Box::new(read(json!({"spec": spec}), "c")));
        let class = |object: Value| Object::StorageClass(Box::new(read(object, "s")));
        let csi = |driver: Value| {
            Object::CsiNode(Box::new(read(json!({"spec": {"drivers": [driver]}}), "n")))
        };
        let no_operator = json!({"nodeAffinity": {"required": {"nodeSelectorTerms": [
            {"matchExpressions": [{"key": "zone", "operator": "Is", "values": ["a"]}]}]}}});
        let no_values = json!({"provisioner": "d", "allowedTopologies": [
            {"matchLabelExpressions": [{"key": "zone"}]}]});
        let table = [
            (
                volume(json!({"capacity": {"storage": "ten"}})),
                "PersistentVolume v: spec.capacity.storage: ",
            ),
            (
                volume(json!({"accessModes": ["ReadWriteOnce", "RWX"]})),
                "PersistentVolume v: spec.accessModes[1]: \"RWX\" is not known; expected ReadWriteOnce",
            ),
            (
                volume(no_operator),
                "PersistentVolume v: \
                 spec.nodeAffinity.required.nodeSelectorTerms[0].matchExpressions[0].operator: ",
            ),
            (
                claim(json!({"resources": {"requests": {"storage": "-1"}}})),
                "PersistentVolumeClaim default/c: spec.resources.requests.storage: \"-1\" is negative",
            ),
            (
                claim(json!({"volumeMode": "Tape"})),
                "PersistentVolumeClaim default/c: spec.volumeMode: \"Tape\" is not known; expected \
                 Filesystem or Block",
            ),
            (class(json!({})), "StorageClass s: provisioner: is missing; expected a driver's name"),
            (
                class(json!({"provisioner": "d", "volumeBindingMode": "Late"})),
                "StorageClass s: volumeBindingMode: \"Late\" is not known; expected Immediate",
            ),
            (
                class(no_values),
                "StorageClass s: allowedTopologies[0].matchLabelExpressions[0].values: is empty",
            ),
            (
                csi(json!({"name": "d", "allocatable": {"count": -1}})),
                "CSINode n: spec.drivers[0].allocatable.count: -1 is not a count",
            ),
        ];
        for (object, want) in table {
            let got = complaint(&object);
            assert!(got.starts_with(want), "{got}");
        }
    }

    #[test]
    fn a_claim_that_cannot_be_read_is_set_aside_under_its_name() {
        let spec = json!({"spec": {"accessModes": ["x"]}});
        let object = Object::PersistentVolumeClaim(Box::new(read(spec, "c")));
        let error = translate(&object, &OwnerRule::simulation()).unwrap_err();
        let Some(ClusterDelta::SetAside { object, reason }) = error.set_aside() else {
            panic!("not set aside")
        };
        assert_eq!(object, ObjectRef::Claim(ObjectKey::new("default", "c")));
        assert!(reason.starts_with("spec.accessModes[0]: "), "{reason}");
    }

    #[test]
    fn a_claim_is_bound_when_it_names_its_volume_and_nothing_says_otherwise() {
        let state = |volume: &str, phase: Option<&str>, completed: bool| {
            let mut object = json!({"spec": {"volumeName": volume}});
            if let Some(phase) = phase {
                object["status"] = json!({"phase": phase});
            }
            if completed {
                object["metadata"]["annotations"] = json!({BIND_COMPLETED: "yes"});
            }
            let claim: PersistentVolumeClaim = read(object, "c");
            let about = About::new(ObjectKind::PersistentVolumeClaim, &claim.metadata).unwrap();
            claim_state(&about, &claim).unwrap()
        };
        assert_eq!(state("v", None, false), ClaimState::Bound);
        assert_eq!(state("v", Some("Bound"), false), ClaimState::Bound);
        assert_eq!(state("v", Some("Pending"), true), ClaimState::Bound);
        assert_eq!(state("v", Some("Pending"), false), ClaimState::Pending);
        assert_eq!(state("v", Some("Lost"), true), ClaimState::Lost);
        assert_eq!(state("", None, false), ClaimState::Pending);
    }

    #[test]
    fn claims_of_a_pod_are_those_it_names_and_those_made_for_it() {
        let object: Pod = read(
            json!({"spec": {"volumes": [
                {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {}}}},
                {"name": "twice", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "data", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "none", "emptyDir": {}}
            ]}}),
            "p",
        );
        let about = About::new(ObjectKind::Pod, &object.metadata).unwrap();
        let claims = claims_of(&about, &object).unwrap();
        let names: Vec<_> = claims.iter().map(|claim| (&*claim.name, claim.origin)).collect();
        assert_eq!(names, [("data", ClaimOrigin::Named), ("p-scratch", ClaimOrigin::Ephemeral)]);
    }
}
