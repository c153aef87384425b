//! The Kubernetes and Volcano objects scheduling reads, reduced to the fields it reads.
//!
//! Unknown fields of these kinds are skipped: the objects belong to others. Both outside worlds, the
//! real cluster and the embedded one, decode into these types and translate them with
//! [`crate::translate`].

mod kind;
mod json;
mod scalar;
mod selector;
mod node;
mod pod;
mod near;
mod podgroup;
mod queue;
mod quota;
mod hypernode;
mod priority_class;
mod volume;
mod disruption_budget;
mod pod_set;

use std::collections::BTreeMap;

use muster_core::ids::ObjectKey;
use serde::Deserialize;

pub use disruption_budget::{BudgetSpec, BudgetStatus, PodDisruptionBudget};
pub use hypernode::{
    ExactMatch, HyperNode, HyperNodeMember, HyperNodeSpec, MemberSelector, RegexMatch,
};
pub use json::DecodeError;
pub(crate) use json::drop_nulls;
pub use kind::ObjectKind;
pub use near::{
    ContainerPort, Namespace, PodAffinity, PodAffinityTerm, TopologySpreadConstraint,
    WeightedPodAffinityTerm,
};
pub use node::{Node, NodeImage, NodeSpec, NodeStatus, Taint};
pub use pod::{
    Affinity, ClaimSource, ClaimTemplate, Container, EphemeralSource, NodeAffinity, NodeSelector,
    Pod, PodCondition, PodSpec, PodStatus, PreferredTerm, Resources, SchedulingGate, Toleration,
    Volume,
};
pub use pod_set::{
    ReplicaSet, ReplicasSpec, ReplicationController, ReplicationControllerSpec, Service,
    ServiceSpec, StatefulSet,
};
pub use podgroup::{
    NetworkTopology, PodGroup, PodGroupCondition, PodGroupSpec, PodGroupStatus, SubGroupPolicy,
};
pub use priority_class::PriorityClass;
pub use queue::{Guarantee, NodeGroupTerms, Queue, QueueAffinity, QueueSpec, QueueStatus};
pub use quota::{ResourceQuota, ResourceQuotaSpec, ResourceQuotaStatus};
pub use scalar::{ResourceMap, Scalar};
pub use selector::{LabelSelector, NodeSelectorTerm, Requirement};
pub use volume::{
    ClaimReference, CsiAllocatable, CsiDriver, CsiNode, CsiNodeSpec, CsiSource, PersistentVolume,
    PersistentVolumeClaim, PersistentVolumeClaimSpec, PersistentVolumeSpec, PhaseStatus,
    StorageClass, TopologyExpression, TopologyTerm, VolumeNodeAffinity,
};

/// `metadata`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Metadata {
    /// Object name.
    pub name: String,
    /// Namespace; absent on cluster-scoped objects.
    pub namespace: Option<String>,
    /// Unique id.
    pub uid: Option<String>,
    /// Grows with every change of the object.
    pub resource_version: Option<String>,
    /// RFC 3339 time of creation.
    pub creation_timestamp: Option<String>,
    /// RFC 3339 time of deletion, present while the object is leaving.
    pub deletion_timestamp: Option<String>,
    /// Labels.
    pub labels: BTreeMap<String, String>,
    /// Annotations.
    pub annotations: BTreeMap<String, String>,
    /// Objects it belongs to.
    pub owner_references: Vec<OwnerReference>,
    /// Time of creation in milliseconds since the epoch of whoever read the object; filled by the
    /// reader, which alone knows that epoch.
    #[serde(skip)]
    pub created_ms: Option<i64>,
}

/// An object another one belongs to.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct OwnerReference {
    /// API group and version of the owner.
    pub api_version: String,
    /// Its kind.
    pub kind: String,
    /// Its name, in the same namespace.
    pub name: String,
    /// Uid of the owner.
    pub uid: String,
    /// Is it the one that made it?
    pub controller: bool,
}

/// An object scheduling knows of.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// A node.
    Node(Box<Node>),
    /// A pod.
    Pod(Box<Pod>),
    /// Volcano's PodGroup.
    PodGroup(Box<PodGroup>),
    /// Volcano's queue.
    Queue(Box<Queue>),
    /// Volcano's topology domain.
    HyperNode(Box<HyperNode>),
    /// A priority class.
    PriorityClass(Box<PriorityClass>),
    /// A namespace.
    Namespace(Box<Namespace>),
    /// A volume.
    PersistentVolume(Box<PersistentVolume>),
    /// A claim on a volume.
    PersistentVolumeClaim(Box<PersistentVolumeClaim>),
    /// A class of storage.
    StorageClass(Box<StorageClass>),
    /// What a node can attach.
    CsiNode(Box<CsiNode>),
    /// A quota of a namespace.
    ResourceQuota(Box<ResourceQuota>),
    /// A disruption budget.
    PodDisruptionBudget(Box<PodDisruptionBudget>),
    /// A Service.
    Service(Box<Service>),
    /// A controller of the first generation.
    ReplicationController(Box<ReplicationController>),
    /// A controller of equal pods.
    ReplicaSet(Box<ReplicaSet>),
    /// A controller of numbered pods.
    StatefulSet(Box<StatefulSet>),
    /// An object of a kind that is understood but that no rule reads yet.
    Inert {
        /// Its kind.
        kind: ObjectKind,
        /// Its name; the namespace is empty for cluster-scoped kinds.
        key: ObjectKey,
    },
}

impl Object {
    /// The object's kind.
    pub fn kind(&self) -> ObjectKind {
        match self {
            Self::Node(_) => ObjectKind::Node,
            Self::Pod(_) => ObjectKind::Pod,
            Self::PodGroup(_) => ObjectKind::PodGroup,
            Self::Queue(_) => ObjectKind::Queue,
            Self::HyperNode(_) => ObjectKind::HyperNode,
            Self::PriorityClass(_) => ObjectKind::PriorityClass,
            Self::Namespace(_) => ObjectKind::Namespace,
            Self::PersistentVolume(_) => ObjectKind::PersistentVolume,
            Self::PersistentVolumeClaim(_) => ObjectKind::PersistentVolumeClaim,
            Self::StorageClass(_) => ObjectKind::StorageClass,
            Self::CsiNode(_) => ObjectKind::CsiNode,
            Self::ResourceQuota(_) => ObjectKind::ResourceQuota,
            Self::PodDisruptionBudget(_) => ObjectKind::PodDisruptionBudget,
            Self::Service(_) => ObjectKind::Service,
            Self::ReplicationController(_) => ObjectKind::ReplicationController,
            Self::ReplicaSet(_) => ObjectKind::ReplicaSet,
            Self::StatefulSet(_) => ObjectKind::StatefulSet,
            Self::Inert { kind, .. } => *kind,
        }
    }

    /// Namespace and name: the namespace is `default` where a namespaced object gives none, empty
    /// for cluster-scoped kinds.
    pub fn key(&self) -> ObjectKey {
        if let Self::Inert { key, .. } = self {
            return key.clone();
        }
        let metadata = self.metadata();
        self.kind().key(
            metadata.and_then(|metadata| metadata.namespace.as_deref()),
            metadata.map_or("", |metadata| &metadata.name),
        )
    }

    /// The object's metadata; none is kept of inert objects.
    pub fn metadata(&self) -> Option<&Metadata> {
        match self {
            Self::Node(object) => Some(&object.metadata),
            Self::Pod(object) => Some(&object.metadata),
            Self::PodGroup(object) => Some(&object.metadata),
            Self::Queue(object) => Some(&object.metadata),
            Self::HyperNode(object) => Some(&object.metadata),
            Self::PriorityClass(object) => Some(&object.metadata),
            Self::Namespace(object) => Some(&object.metadata),
            Self::PersistentVolume(object) => Some(&object.metadata),
            Self::PersistentVolumeClaim(object) => Some(&object.metadata),
            Self::StorageClass(object) => Some(&object.metadata),
            Self::CsiNode(object) => Some(&object.metadata),
            Self::ResourceQuota(object) => Some(&object.metadata),
            Self::PodDisruptionBudget(object) => Some(&object.metadata),
            Self::Service(object) => Some(&object.metadata),
            Self::ReplicationController(object) => Some(&object.metadata),
            Self::ReplicaSet(object) => Some(&object.metadata),
            Self::StatefulSet(object) => Some(&object.metadata),
            Self::Inert { .. } => None,
        }
    }

    /// The object's metadata, to be changed.
    pub fn metadata_mut(&mut self) -> Option<&mut Metadata> {
        match self {
            Self::Node(object) => Some(&mut object.metadata),
            Self::Pod(object) => Some(&mut object.metadata),
            Self::PodGroup(object) => Some(&mut object.metadata),
            Self::Queue(object) => Some(&mut object.metadata),
            Self::HyperNode(object) => Some(&mut object.metadata),
            Self::PriorityClass(object) => Some(&mut object.metadata),
            Self::Namespace(object) => Some(&mut object.metadata),
            Self::PersistentVolume(object) => Some(&mut object.metadata),
            Self::PersistentVolumeClaim(object) => Some(&mut object.metadata),
            Self::StorageClass(object) => Some(&mut object.metadata),
            Self::CsiNode(object) => Some(&mut object.metadata),
            Self::ResourceQuota(object) => Some(&mut object.metadata),
            Self::PodDisruptionBudget(object) => Some(&mut object.metadata),
            Self::Service(object) => Some(&mut object.metadata),
            Self::ReplicationController(object) => Some(&mut object.metadata),
            Self::ReplicaSet(object) => Some(&mut object.metadata),
            Self::StatefulSet(object) => Some(&mut object.metadata),
            Self::Inert { .. } => None,
        }
    }
}
