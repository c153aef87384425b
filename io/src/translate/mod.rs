//! Objects to cluster deltas: the only place that knows both the cluster's fields and the core's
//! facts.

mod about;
mod selector;
mod node;
mod pod;
mod label;
mod near;
mod request;
mod podgroup;
mod queue;
mod quota;
mod domain;
mod priority;
mod volume;
mod budget;
mod pod_set;
mod images;
mod hierarchy;
mod nodegroup;
mod strategy;
mod unsupported;

use muster_core::delta::{ClusterDelta, ObjectRef, Ownership};
use muster_core::ids::ObjectKey;

use crate::objects::{Object, ObjectKind};

pub(crate) use pod::{QUEUE_NAME, annotate, annotations, keep_reservation};
pub(crate) use podgroup::phase_text;
pub(crate) use queue::state_text;
pub use unsupported::unsupported;
pub(crate) use volume::{IS_DEFAULT, SELECTED_NODE};

/// Which pods are ours, by their `schedulerName`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnerRule {
    names: Vec<Box<str>>,
    unnamed: Ownership,
}

impl OwnerRule {
    /// In a simulation a pod is ours when it names nobody, `muster` or `volcano`.
    pub fn simulation() -> Self {
        Self { names: vec!["muster".into(), "volcano".into()], unnamed: Ownership::Ours }
    }

    /// On a real cluster exactly the pods that name one of these schedulers are ours.
    pub fn named(names: impl IntoIterator<Item = impl Into<Box<str>>>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), unnamed: Ownership::Foreign }
    }

    /// Whose pod it is that names this scheduler.
    pub fn of(&self, scheduler_name: Option<&str>) -> Ownership {
        match scheduler_name {
            None | Some("") => self.unnamed,
            Some(name) if self.names.iter().any(|ours| &**ours == name) => Ownership::Ours,
            Some(_) => Ownership::Foreign,
        }
    }
}

/// Whose fault it is that an object cannot be understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No API server would have taken it: a name, an amount or a word that is none. In a file this
    /// is a typing error, and nothing of the file is used.
    Input,
    /// It reads well and makes no sense, as objects of real clusters do. It is set aside, and the
    /// rest goes on, in a file too.
    Object,
}

/// Why an object could not become a delta.
///
/// On a real cluster the object is set aside, counted and reported, and the rest goes on; in a file
/// that depends on the [`Fault`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} {}: {field}: {problem}", kind.title(key))]
pub struct TranslateError {
    /// Kind of the object.
    pub kind: ObjectKind,
    /// Its key.
    pub key: ObjectKey,
    /// Path of the field, as in `spec.containers[0].resources.requests.cpu`.
    pub field: String,
    /// What is wrong with it and what was expected.
    pub problem: String,
    /// Is it the file's fault or the object's?
    pub fault: Fault,
}

impl TranslateError {
    /// The delta that tells the core to do without the object; none for kinds the core never sees.
    pub fn set_aside(self) -> Option<ClusterDelta> {
        let key = self.key.clone();
        let object = match self.kind {
            ObjectKind::Node => ObjectRef::Node(key.name),
            ObjectKind::Pod => ObjectRef::Pod(key),
            ObjectKind::PodGroup => ObjectRef::PodGroup(key),
            ObjectKind::Queue => ObjectRef::Queue(key.name),
            ObjectKind::PriorityClass => ObjectRef::PriorityClass(key.name),
            ObjectKind::HyperNode => ObjectRef::Domain(key.name),
            ObjectKind::Namespace => ObjectRef::Namespace(key.name),
            ObjectKind::PersistentVolume => ObjectRef::Volume(key.name),
            ObjectKind::PersistentVolumeClaim => ObjectRef::Claim(key),
            ObjectKind::StorageClass => ObjectRef::StorageClass(key.name),
            ObjectKind::CsiNode => ObjectRef::CsiNode(key.name),
            ObjectKind::ResourceQuota => ObjectRef::Quota(key),
            ObjectKind::PodDisruptionBudget => ObjectRef::DisruptionBudget(key),
            ObjectKind::Service
            | ObjectKind::ReplicationController
            | ObjectKind::ReplicaSet
            | ObjectKind::StatefulSet => ObjectRef::PodSet(pod_set::set_of(self.kind, &key)?),
            ObjectKind::Numatopology => return None,
        };
        let reason = format!("{}: {}", self.field, self.problem);
        Some(ClusterDelta::SetAside { object, reason })
    }
}

/// The delta that sets the object in the core; none for kinds no rule reads.
pub fn translate(
    object: &Object,
    owner: &OwnerRule,
) -> Result<Option<ClusterDelta>, TranslateError> {
    Ok(Some(match object {
        Object::Node(node) => ClusterDelta::Node(Box::new(node::facts(node)?)),
        Object::Pod(pod) => ClusterDelta::Pod(Box::new(pod::facts(pod, owner)?)),
        Object::PodGroup(group) => ClusterDelta::PodGroup(Box::new(podgroup::facts(group)?)),
        Object::Queue(queue) => ClusterDelta::Queue(Box::new(queue::facts(queue)?)),
        Object::HyperNode(domain) => ClusterDelta::Domain(Box::new(domain::facts(domain)?)),
        Object::PriorityClass(class) => ClusterDelta::PriorityClass(priority::facts(class)?),
        Object::Namespace(namespace) => ClusterDelta::Namespace(near::namespace(namespace)?),
        Object::PersistentVolume(object) => ClusterDelta::Volume(Box::new(volume::volume(object)?)),
        Object::PersistentVolumeClaim(claim) => {
            ClusterDelta::Claim(Box::new(volume::claim(claim)?))
        }
        Object::StorageClass(class) => ClusterDelta::StorageClass(Box::new(volume::class(class)?)),
        Object::CsiNode(node) => ClusterDelta::CsiNode(volume::csi_node(node)?),
        Object::ResourceQuota(quota) => ClusterDelta::Quota(Box::new(quota::facts(quota)?)),
        Object::PodDisruptionBudget(budget) => {
            ClusterDelta::DisruptionBudget(Box::new(budget::facts(budget)?))
        }
        Object::Service(object) => pod_set::service(object)?,
        Object::ReplicationController(object) => pod_set::replication_controller(object)?,
        Object::ReplicaSet(object) => pod_set::replica_set(object)?,
        Object::StatefulSet(object) => pod_set::stateful_set(object)?,
        Object::Inert { .. } => return Ok(None),
    }))
}

/// The delta that removes the object; none for kinds no rule reads.
pub fn gone(kind: ObjectKind, key: &ObjectKey) -> Option<ClusterDelta> {
    let key = key.clone();
    match kind {
        ObjectKind::Node => Some(ClusterDelta::NodeGone(key.name)),
        ObjectKind::Pod => Some(ClusterDelta::PodGone(key)),
        ObjectKind::PodGroup => Some(ClusterDelta::PodGroupGone(key)),
        ObjectKind::Queue => Some(ClusterDelta::QueueGone(key.name)),
        ObjectKind::PriorityClass => Some(ClusterDelta::PriorityClassGone(key.name)),
        ObjectKind::HyperNode => Some(ClusterDelta::DomainGone(key.name)),
        ObjectKind::Namespace => Some(ClusterDelta::NamespaceGone(key.name)),
        ObjectKind::PersistentVolume => Some(ClusterDelta::VolumeGone(key.name)),
        ObjectKind::PersistentVolumeClaim => Some(ClusterDelta::ClaimGone(key)),
        ObjectKind::StorageClass => Some(ClusterDelta::StorageClassGone(key.name)),
        ObjectKind::CsiNode => Some(ClusterDelta::CsiNodeGone(key.name)),
        ObjectKind::ResourceQuota => Some(ClusterDelta::QuotaGone(key)),
        ObjectKind::PodDisruptionBudget => Some(ClusterDelta::DisruptionBudgetGone(key)),
        ObjectKind::Service
        | ObjectKind::ReplicationController
        | ObjectKind::ReplicaSet
        | ObjectKind::StatefulSet => pod_set::set_of(kind, &key).map(ClusterDelta::PodSetGone),
        ObjectKind::Numatopology => None,
    }
}

#[cfg(test)]
mod tests;
