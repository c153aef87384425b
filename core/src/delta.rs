//! What the outside tells the core: one object set, one object gone, or the outcome of one call.
//!
//! A delta carries the whole object as scheduling sees it, never a patch. That makes it idempotent:
//! applied twice it changes nothing, and deltas of different objects may arrive in any order.

mod requirement;
mod node;
mod load;
mod past_use;
mod device;
mod pod;
mod interpod;
mod podgroup;
mod podset;
mod queue;
mod priority_class;
mod budget;
mod domain;
mod volume;
mod shard;

use std::fmt;

pub use budget::{BudgetFacts, Share};
pub use device::{DevicePart, DeviceRequest, DeviceShare, Division, NodeDeviceFacts};
pub use domain::{DomainFacts, DomainMember, TopologyFacts, TopologyLevel};
pub use interpod::{
    Heed, HostPort, InterPodFacts, InterPodTerm, NamespaceFacts, PodSelector, Protocol,
    SelectorPart, Spread, Unmet,
};
pub use load::{MeasuredUsage, NodeLoadFacts};
pub use node::{NodeFacts, Taint, TaintEffect};
pub use past_use::{PastUseFacts, UsedParts};
pub use pod::{
    AnnotatedNode, Constraints, Ownership, Packing, PodFacts, PodPhase, QosClass, StrategyWish,
    Toleration,
};
pub use podgroup::{
    GroupBudget, GroupPhase, GroupTree, LevelWish, PodGroupFacts, RoleTopology, SUBGROUP_LABEL,
    SubGroupNode, SubGroupPolicy, TierRef, TopologyMode, TopologyWish, Tries, WholeWhen,
};
pub use podset::{PodOwner, PodSetFacts, PodSetKind, PodSetRef};
pub use priority_class::{PreemptionPolicy, PriorityClassFacts};
pub use queue::{
    GroupLimits, NodeGroupFacts, OverQuotaTerms, OverQuotaWeights, QueueFacts, QuotaFacts,
};
pub use requirement::{NodeTerm, Operator, Requirement};
pub use shard::NodeShardFacts;
pub use volume::{
    AccessModes, BindingMode, CapacityTracking, ClaimFacts, ClaimOrigin, ClaimRef, ClaimState,
    CsiDriverFacts, CsiNodeFacts, PodClaim, StorageCapacityFacts, StorageClassFacts, VolumeFacts,
    VolumeMode, VolumeState,
};

use crate::ids::{Name, ObjectKey};

/// One change of the cluster, queued by the outside and drained in batches before a cycle.
#[derive(Clone, Debug, PartialEq)]
pub enum ClusterDelta {
    /// An object was added or changed; this is all that is known of it now.
    Set(Facts),
    /// An object is gone. What names it stays: pods outlive their node and their PodGroup.
    Gone(ObjectRef),
    /// An object could not be understood: it is counted and reported, and whatever was known of it
    /// before no longer holds.
    SetAside {
        /// Which object.
        object: ObjectRef,
        /// Why, as a sentence.
        reason: String,
    },
    /// A bind call failed for good; the assumption behind it ends.
    BindFailed {
        /// The pod that was to be bound.
        pod: ObjectKey,
        /// Its uid at the time of the decision; another uid makes this delta stale.
        uid: Name,
        /// Why, as a sentence.
        reason: String,
    },
    /// An eviction was refused; the assumption behind it ends.
    EvictFailed {
        /// The pod that was to be evicted.
        pod: ObjectKey,
        /// Its uid at the time of the decision; another uid makes this delta stale.
        uid: Name,
        /// Why, as a sentence.
        reason: String,
    },
}

impl From<Facts> for ClusterDelta {
    fn from(facts: Facts) -> Self {
        Self::Set(facts)
    }
}

/// Facts that say whose they are.
pub trait Identified: 'static + Send + Sync {
    /// What tells an object from others of its kind.
    type Id: Ord + Clone + Send + Sync + fmt::Debug;

    /// Which object it is.
    fn id(&self) -> &Self::Id;
}

/// Makes [`Facts`] and [`ObjectRef`] from one row for each kind of object: what is known of it (in a
/// box where that is large, because deltas come by the hundred thousand), which of its fields tells
/// it apart from others of its kind, and what stands before that in messages: the kind's name, unless
/// the field says it.
macro_rules! objects {
    ($(
        $(#[$doc:meta])+
        $object:ident($facts:ident $($boxed:ident)?), $id:ident: $ref:ty, $word:literal;
    )+) => {
        /// All that is known of one object of the cluster.
        #[derive(Clone, Debug, PartialEq)]
        pub enum Facts {
            $($(#[$doc])+ $object(objects!(@held $facts $($boxed)?)),)+
        }

        /// Kind and name of an object of the cluster.
        #[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum ObjectRef {
            $($(#[$doc])+ $object($ref),)+
        }

        impl Facts {
            /// Which object it is.
            pub fn object(&self) -> ObjectRef {
                match self {
                    $(Self::$object(facts) => ObjectRef::$object(facts.id().clone()),)+
                }
            }
        }

        impl fmt::Display for ObjectRef {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$object(id) => write!(f, concat!($word, "{}"), id),)+
                }
            }
        }

        $(impl Identified for $facts {
            type Id = $ref;

            fn id(&self) -> &$ref {
                &self.$id
            }
        }

        impl From<$facts> for Facts {
            fn from(facts: $facts) -> Self {
                Self::$object(facts.into())
            }
        }

        impl From<$facts> for ClusterDelta {
            fn from(facts: $facts) -> Self {
                Self::Set(facts.into())
            }
        })+
    };
    (@held $facts:ident) => { $facts };
    (@held $facts:ident boxed) => { Box<$facts> };
}

objects! {
    /// A node.
    Node(NodeFacts boxed), name: Name, "Node ";
    /// How much of a node is in use.
    NodeLoad(NodeLoadFacts boxed), node: Name, "NodeMetrics ";
    /// A pod.
    Pod(PodFacts boxed), key: ObjectKey, "Pod ";
    /// A PodGroup.
    PodGroup(PodGroupFacts boxed), key: ObjectKey, "PodGroup ";
    /// A queue.
    Queue(QueueFacts boxed), name: Name, "Queue ";
    /// What a queue used of late.
    PastUse(PastUseFacts), queue: Name, "QueueUsage ";
    /// A priority class.
    PriorityClass(PriorityClassFacts), name: Name, "PriorityClass ";
    /// A topology domain.
    Domain(DomainFacts boxed), name: Name, "HyperNode ";
    /// A topology by labels of nodes.
    Topology(TopologyFacts boxed), name: Name, "Topology ";
    /// A namespace.
    Namespace(NamespaceFacts), name: Name, "Namespace ";
    /// A volume.
    Volume(VolumeFacts boxed), name: Name, "PersistentVolume ";
    /// A claim on a volume.
    Claim(ClaimFacts boxed), key: ObjectKey, "PersistentVolumeClaim ";
    /// A storage class.
    StorageClass(StorageClassFacts boxed), name: Name, "StorageClass ";
    /// What a node can attach.
    CsiNode(CsiNodeFacts), node: Name, "CSINode ";
    /// What a storage driver says of itself.
    CsiDriver(CsiDriverFacts), name: Name, "CSIDriver ";
    /// What storage is left in a part of the cluster.
    StorageCapacity(StorageCapacityFacts boxed), key: ObjectKey, "CSIStorageCapacity ";
    /// The nodes of one of several schedulers.
    NodeShard(NodeShardFacts boxed), name: Name, "NodeShard ";
    /// A quota of a namespace.
    Quota(QuotaFacts boxed), key: ObjectKey, "ResourceQuota ";
    /// A disruption budget.
    DisruptionBudget(BudgetFacts boxed), key: ObjectKey, "PodDisruptionBudget ";
    /// A Service, or a controller of pods.
    PodSet(PodSetFacts boxed), set: PodSetRef, "";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delta_takes_no_more_room_than_its_largest_outcome() {
        // A burst is a queue of deltas that are moved by value.
        assert_eq!(size_of::<ClusterDelta>(), 56);
    }

    #[test]
    fn objects_are_named_as_people_know_them() {
        let key = ObjectKey::new("a", "b");
        let set = PodSetRef { kind: PodSetKind::ReplicaSet, key: key.clone() };
        let named = [ObjectRef::Domain("r".into()), ObjectRef::Claim(key), ObjectRef::PodSet(set)];
        assert_eq!(
            named.map(|object| object.to_string()),
            ["HyperNode r", "PersistentVolumeClaim a/b", "ReplicaSet a/b"]
        );
    }
}
