//! The objects of Kubernetes, Volcano and KAI that scheduling reads, reduced to the fields it reads, and
//! the table of their kinds.
//!
//! Unknown fields of these kinds are skipped: the objects belong to others. Both outside worlds, the
//! real cluster and the embedded one, decode into these types and translate them into what the core
//! is told. A kind's file has its type and its translation; where the translation is long, as for
//! pods and volumes, it is a file of [`translate`], beside what all translations share.

/// The table of kinds: calls the macro it is given with every row.
///
/// `read` has the kinds that rules read; the first word of a row is the kind's type in this module. The
/// last word says where it is met: `InFiles` is not watched.
/// `inert` has kinds that manifests may contain and that no rule reads: of such an object only the
/// name is kept, and it is not watched.
///
/// The order is the order in which messages list kinds and in which the simulator lists objects.
#[rustfmt::skip]
macro_rules! kinds { ($with:ident) => { $with! {
    read {
        // type                resource.group                      versions     scope      in a cluster
        Node                  ("nodes"                             ["v1"]       Cluster    Required)
        Pod                   ("pods"                              ["v1"]       Namespaced Required)
        PodGroup              ("podgroups.scheduling.volcano.sh"   ["v1beta1"]  Namespaced Optional)
        Queue                 ("queues.scheduling.volcano.sh"      ["v1beta1"]  Cluster    Optional)
        KaiPodGroup           ("podgroups.scheduling.run.ai"       ["v2alpha2"] Namespaced Optional
                               kind "PodGroup")
        KaiQueue              ("queues.scheduling.run.ai"          ["v2"]       Cluster    Optional
                               kind "Queue")
        LevelTopology         ("topologies.kai.scheduler"          ["v1alpha1"] Cluster    Optional
                               kind "Topology")
        HyperNode             ("hypernodes.topology.volcano.sh"    ["v1alpha1"] Cluster    Optional)
        NodeShard             ("nodeshards.shard.volcano.sh"       ["v1alpha1"] Cluster    Optional)
        PriorityClass         ("priorityclasses.scheduling.k8s.io" ["v1"]       Cluster    Optional)
        Namespace             ("namespaces"                        ["v1"]       Cluster    Optional)
        PodDisruptionBudget   ("poddisruptionbudgets.policy"       ["v1"]       Namespaced Optional)
        ResourceQuota         ("resourcequotas"                    ["v1"]       Namespaced Optional)
        PersistentVolume      ("persistentvolumes"                 ["v1"]       Cluster    Optional)
        PersistentVolumeClaim ("persistentvolumeclaims"            ["v1"]       Namespaced Optional)
        StorageClass          ("storageclasses.storage.k8s.io"     ["v1"]       Cluster    Optional)
        CsiNode               ("csinodes.storage.k8s.io"           ["v1"]       Cluster    Optional
                               kind "CSINode")
        CsiDriver             ("csidrivers.storage.k8s.io"         ["v1"]       Cluster    Optional
                               kind "CSIDriver")
        CsiStorageCapacity    ("csistoragecapacities.storage.k8s.io" ["v1", "v1beta1"] Namespaced Optional
                               kind "CSIStorageCapacity")
        Service               ("services"                          ["v1"]       Namespaced Optional)
        ReplicationController ("replicationcontrollers"            ["v1"]       Namespaced Optional)
        ReplicaSet            ("replicasets.apps"                  ["v1"]       Namespaced Optional)
        StatefulSet           ("statefulsets.apps"                 ["v1"]       Namespaced Optional)
        NodeMetrics           ("nodes.metrics.k8s.io"              ["v1beta1"]  Cluster    InFiles)
        QueueUsage            ("queueusages.muster.sh"             ["v1alpha1"] Cluster    InFiles)
    }
    inert {
        Numatopology          ("numatopologies.nodeinfo.volcano.sh" ["v1alpha1"] Cluster   Optional)
        SchedulingShard       ("schedulingshards.kai.scheduler"    ["v1"]       Cluster    Optional)
    }
} } }

mod kind;
mod object;
mod json;
mod metadata;
mod scalar;
mod selector;
pub mod translate;
mod node;
mod node_metrics;
mod queue_usage;
mod pod;
mod interpod;
mod podgroup;
mod queue;
mod kai_podgroup;
mod kai_group_status;
mod kai_queue;
mod level_topology;
mod quota;
mod hypernode;
mod node_shard;
mod priority_class;
mod volume;
mod disruption_budget;
mod pod_set;

pub use disruption_budget::{BudgetSpec, BudgetStatus, PodDisruptionBudget};
pub use hypernode::{
    ExactMatch, HyperNode, HyperNodeMember, HyperNodeSpec, MemberSelector, RegexMatch,
};
pub use interpod::{
    ContainerPort, Namespace, PodAffinity, PodAffinityTerm, TopologySpreadConstraint,
    WeightedPodAffinityTerm,
};
pub use json::DecodeError;
pub(crate) use json::drop_nulls;
pub use kai_group_status::{KaiPodGroupStatus, SchedulingCondition, UnschedulableReason};
pub use kai_podgroup::{GroupPast, KaiPodGroup, KaiPodGroupSpec, KaiSubGroup, TopologyConstraint};
pub(crate) use kai_podgroup::{LAST_EVICTION, LAST_START, STALE_SINCE};
pub use kai_queue::{KaiQueue, KaiQueueResource, KaiQueueResources, KaiQueueSpec};
pub use kind::{ObjectKind, Presence, Scope};
pub use level_topology::{LevelTopology, LevelTopologySpec, NodeLabelLevel};
pub use metadata::{Metadata, OwnerReference};
pub use node::{Node, NodeImage, NodeSpec, NodeStatus, Taint};
pub use node_metrics::NodeMetrics;
pub use node_shard::{NodeShard, NodeShardSpec, NodeShardStatus};
pub(crate) use object::Decode;
pub use object::Object;
pub use pod::{
    Affinity, ClaimSource, ClaimTemplate, Container, EphemeralSource, NodeAffinity, NodeSelector,
    Pod, PodCondition, PodSpec, PodStatus, PreferredTerm, Resources, SchedulingGate, Toleration,
    Volume,
};
pub use pod_set::{
    ReplicaSet, ReplicasSpec, ReplicationController, ReplicationControllerSpec, Service,
    ServiceSpec, StatefulSet,
};
pub(crate) use podgroup::phase_text;
pub use podgroup::{
    NetworkTopology, PodGroup, PodGroupCondition, PodGroupSpec, PodGroupStatus, SubGroupPolicy,
};
pub use priority_class::PriorityClass;
pub(crate) use queue::state_text;
pub use queue::{Guarantee, NodeGroupTerms, Queue, QueueAffinity, QueueSpec, QueueStatus};
pub use queue_usage::QueueUsage;
pub use quota::{ResourceQuota, ResourceQuotaSpec, ResourceQuotaStatus};
pub use scalar::{ResourceMap, Scalar};
pub use selector::{LabelSelector, NodeSelectorTerm, Requirement};
pub use volume::{
    ClaimReference, CsiAllocatable, CsiDriver, CsiDriverSpec, CsiNode, CsiNodeDriver, CsiNodeSpec,
    CsiSource, CsiStorageCapacity, InTreeSource, PersistentVolume, PersistentVolumeClaim,
    PersistentVolumeClaimSpec, PersistentVolumeSpec, PhaseStatus, StorageClass, TopologyExpression,
    TopologyTerm, VolumeNodeAffinity,
};
