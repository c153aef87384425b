//! Kinds of objects: their names, API groups and scope.

use std::fmt;

use muster_core::ids::ObjectKey;

/// A kind of object scheduling knows of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ObjectKind {
    /// `v1` Node.
    Node,
    /// `v1` Pod.
    Pod,
    /// `scheduling.volcano.sh` PodGroup.
    PodGroup,
    /// `scheduling.volcano.sh` Queue.
    Queue,
    /// `topology.volcano.sh` HyperNode.
    HyperNode,
    /// `scheduling.k8s.io` `PriorityClass`.
    PriorityClass,
    /// `v1` Namespace.
    Namespace,
    /// `policy` `PodDisruptionBudget`.
    PodDisruptionBudget,
    /// `v1` `ResourceQuota`.
    ResourceQuota,
    /// `v1` `PersistentVolume`.
    PersistentVolume,
    /// `v1` `PersistentVolumeClaim`.
    PersistentVolumeClaim,
    /// `storage.k8s.io` `StorageClass`.
    StorageClass,
    /// `storage.k8s.io` `CSINode`.
    CsiNode,
    /// `v1` Service.
    Service,
    /// `v1` `ReplicationController`.
    ReplicationController,
    /// `apps` `ReplicaSet`.
    ReplicaSet,
    /// `apps` `StatefulSet`.
    StatefulSet,
    /// `nodeinfo.volcano.sh` Numatopology.
    Numatopology,
}

impl ObjectKind {
    /// Every kind, in the order messages list them.
    pub const ALL: [Self; 18] = [
        Self::Node,
        Self::Pod,
        Self::PodGroup,
        Self::Queue,
        Self::HyperNode,
        Self::PriorityClass,
        Self::Namespace,
        Self::PodDisruptionBudget,
        Self::ResourceQuota,
        Self::PersistentVolume,
        Self::PersistentVolumeClaim,
        Self::StorageClass,
        Self::CsiNode,
        Self::Service,
        Self::ReplicationController,
        Self::ReplicaSet,
        Self::StatefulSet,
        Self::Numatopology,
    ];

    /// The word in an object's `kind`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Node => "Node",
            Self::Pod => "Pod",
            Self::PodGroup => "PodGroup",
            Self::Queue => "Queue",
            Self::HyperNode => "HyperNode",
            Self::PriorityClass => "PriorityClass",
            Self::Namespace => "Namespace",
            Self::PodDisruptionBudget => "PodDisruptionBudget",
            Self::ResourceQuota => "ResourceQuota",
            Self::PersistentVolume => "PersistentVolume",
            Self::PersistentVolumeClaim => "PersistentVolumeClaim",
            Self::StorageClass => "StorageClass",
            Self::CsiNode => "CSINode",
            Self::Service => "Service",
            Self::ReplicationController => "ReplicationController",
            Self::ReplicaSet => "ReplicaSet",
            Self::StatefulSet => "StatefulSet",
            Self::Numatopology => "Numatopology",
        }
    }

    /// The API group, empty for the core group. Several groups have a `PodGroup` or a `Queue`, so
    /// the kind alone does not tell.
    pub fn group(self) -> &'static str {
        match self {
            Self::Node
            | Self::Pod
            | Self::Namespace
            | Self::ResourceQuota
            | Self::PersistentVolume
            | Self::PersistentVolumeClaim
            | Self::Service
            | Self::ReplicationController => "",
            Self::ReplicaSet | Self::StatefulSet => "apps",
            Self::PodGroup | Self::Queue => "scheduling.volcano.sh",
            Self::HyperNode => "topology.volcano.sh",
            Self::PriorityClass => "scheduling.k8s.io",
            Self::PodDisruptionBudget => "policy",
            Self::StorageClass | Self::CsiNode => "storage.k8s.io",
            Self::Numatopology => "nodeinfo.volcano.sh",
        }
    }

    /// The version of the API group that is read.
    pub fn version(self) -> &'static str {
        match self {
            Self::PodGroup | Self::Queue => "v1beta1",
            Self::HyperNode | Self::Numatopology => "v1alpha1",
            _ => "v1",
        }
    }

    /// The word for it in the path of a request.
    pub fn plural(self) -> &'static str {
        match self {
            Self::Node => "nodes",
            Self::Pod => "pods",
            Self::PodGroup => "podgroups",
            Self::Queue => "queues",
            Self::HyperNode => "hypernodes",
            Self::PriorityClass => "priorityclasses",
            Self::Namespace => "namespaces",
            Self::PodDisruptionBudget => "poddisruptionbudgets",
            Self::ResourceQuota => "resourcequotas",
            Self::PersistentVolume => "persistentvolumes",
            Self::PersistentVolumeClaim => "persistentvolumeclaims",
            Self::StorageClass => "storageclasses",
            Self::CsiNode => "csinodes",
            Self::Service => "services",
            Self::ReplicationController => "replicationcontrollers",
            Self::ReplicaSet => "replicasets",
            Self::StatefulSet => "statefulsets",
            Self::Numatopology => "numatopologies",
        }
    }

    /// Do objects of this kind live in a namespace?
    pub fn is_namespaced(self) -> bool {
        matches!(
            self,
            Self::Pod
                | Self::PodGroup
                | Self::PodDisruptionBudget
                | Self::ResourceQuota
                | Self::PersistentVolumeClaim
                | Self::Service
                | Self::ReplicationController
                | Self::ReplicaSet
                | Self::StatefulSet
        )
    }

    /// The kind of that name, whatever its group.
    pub fn by_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }

    /// The kind an object names; an object without `apiVersion` goes by its kind alone.
    pub fn of(api_version: Option<&str>, name: &str) -> Option<Self> {
        let kind = Self::by_name(name)?;
        let group =
            api_version.map(|version| version.split_once('/').map_or("", |(group, _)| group));
        group.is_none_or(|group| group == kind.group()).then_some(kind)
    }

    /// The key of an object of this kind: namespace `default` where one is needed and none given,
    /// empty where none is needed.
    pub fn key(self, namespace: Option<&str>, name: &str) -> ObjectKey {
        let namespace = match namespace {
            _ if !self.is_namespaced() => "",
            None | Some("") => "default",
            Some(namespace) => namespace,
        };
        ObjectKey::new(namespace, name)
    }

    /// The key as people write it: the bare name where the kind has no namespace.
    pub fn title(self, key: &ObjectKey) -> String {
        if self.is_namespaced() { key.to_string() } else { key.name.to_string() }
    }
}

impl fmt::Display for ObjectKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kind_of_another_group_is_not_ours() {
        assert_eq!(
            ObjectKind::of(Some("scheduling.volcano.sh/v1beta1"), "Queue"),
            Some(ObjectKind::Queue)
        );
        assert_eq!(ObjectKind::of(Some("scheduling.run.ai/v2"), "Queue"), None);
        assert_eq!(ObjectKind::of(Some("v1"), "Pod"), Some(ObjectKind::Pod));
        assert_eq!(ObjectKind::of(None, "Pod"), Some(ObjectKind::Pod));
    }

    #[test]
    fn keys_carry_a_namespace_only_where_the_kind_has_one() {
        assert_eq!(ObjectKind::Pod.key(None, "p").to_string(), "default/p");
        assert_eq!(ObjectKind::Node.key(Some("x"), "n"), ObjectKey::new("", "n"));
    }
}
