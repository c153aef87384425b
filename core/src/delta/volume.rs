//! Facts about storage: volumes, claims on them, classes of storage, and what a node can attach.

use super::{NodeTerm, Requirement};
use crate::ids::{Name, ObjectKey, TimeMs};
use crate::resource::Quantity;

/// A claim a pod uses, in the pod's namespace.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PodClaim {
    /// Name of the claim.
    pub name: Name,
    /// Is it one the pod merely uses, or one made for this pod alone?
    pub origin: ClaimOrigin,
}

/// Where a pod's claim comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ClaimOrigin {
    /// Named by the pod; others may name it too.
    Named,
    /// Made for the pod (`ephemeral`); a claim that belongs to another pod does not count.
    Ephemeral,
}

/// How a volume may be mounted; a set of Kubernetes' access modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AccessModes(u8);

impl AccessModes {
    /// `ReadWriteOnce`: by one node.
    pub const ONCE: Self = Self(1);
    /// `ReadOnlyMany`: by many nodes, to read.
    pub const READ_MANY: Self = Self(2);
    /// `ReadWriteMany`: by many nodes.
    pub const MANY: Self = Self(4);
    /// `ReadWriteOncePod`: by one pod.
    pub const ONCE_POD: Self = Self(8);

    /// Both sets together.
    #[must_use]
    pub fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Is every mode of the other set in this one?
    pub fn covers(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

/// What a volume shows to a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VolumeMode {
    /// Files.
    #[default]
    Filesystem,
    /// A raw device.
    Block,
}

/// A `PersistentVolume` as scheduling sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VolumeFacts {
    /// Object name.
    pub name: Name,
    /// Labels, sorted by key.
    pub labels: Vec<(Name, Name)>,
    /// `spec.capacity.storage`.
    pub capacity: Quantity,
    /// `spec.accessModes`.
    pub modes: AccessModes,
    /// `spec.volumeMode`.
    pub mode: VolumeMode,
    /// `spec.storageClassName`, empty if none.
    pub class: Name,
    /// `spec.claimRef`: the claim it belongs to or is kept for.
    pub claim: Option<ClaimRef>,
    /// `spec.nodeAffinity.required`: any one term must match; absent is reachable from everywhere.
    pub affinity: Option<Vec<NodeTerm>>,
    /// `spec.csi.driver`.
    pub driver: Option<Name>,
    /// May a claim still get it? Not so when it is released, failed or being deleted.
    pub state: VolumeState,
}

/// Which claim a volume belongs to.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ClaimRef {
    /// Namespace and name of the claim.
    pub key: ObjectKey,
    /// Its uid; empty where the volume is kept for any claim of that name.
    pub uid: Name,
}

/// May a claim get the volume?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum VolumeState {
    /// Yes, unless a claim has it already.
    #[default]
    Usable,
    /// No.
    Spent,
}

/// A `PersistentVolumeClaim` as scheduling sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClaimFacts {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Object uid.
    pub uid: Name,
    /// Uid of the object that controls it, if any.
    pub owner: Option<Name>,
    /// How far it has come.
    pub state: ClaimState,
    /// `spec.volumeName`.
    pub volume: Option<Name>,
    /// `spec.storageClassName`: absent is the default class, empty is none.
    pub class: Option<Name>,
    /// `spec.resources.requests.storage`.
    pub size: Quantity,
    /// `spec.accessModes`.
    pub modes: AccessModes,
    /// `spec.volumeMode`.
    pub mode: VolumeMode,
    /// `spec.selector` over labels of volumes, if any.
    pub selector: Option<Vec<Requirement>>,
    /// Node a volume is being made for.
    pub selected_node: Option<Name>,
}

/// How far a claim has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ClaimState {
    /// Waits for a volume.
    #[default]
    Pending,
    /// Has its volume.
    Bound,
    /// Had a volume that is gone.
    Lost,
    /// Is being deleted.
    Leaving,
}

/// A `StorageClass` as scheduling sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageClassFacts {
    /// Object name.
    pub name: Name,
    /// Creation time: of several default classes the youngest counts.
    pub created: TimeMs,
    /// Who makes volumes; `None` if nobody does (`kubernetes.io/no-provisioner`).
    pub provisioner: Option<Name>,
    /// When claims of the class get their volume.
    pub binding: BindingMode,
    /// Stands for claims that name no class.
    pub is_default: bool,
    /// `allowedTopologies`: nodes volumes can be made for, any one term; without terms every node.
    pub topologies: Vec<NodeTerm>,
}

/// When claims of a class get their volume.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum BindingMode {
    /// As soon as they exist, by the cluster.
    #[default]
    Immediate,
    /// When the first pod that uses them gets a node.
    WaitForFirstConsumer,
}

/// A `CSIDriver`: how volumes of a driver are to be treated.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiDriverFacts {
    /// Name of the driver.
    pub name: Name,
    /// `spec.storageCapacity`.
    pub capacity: CapacityTracking,
}

/// Does a driver publish how much storage is left where?
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CapacityTracking {
    /// No: a volume can be made wherever its class allows.
    #[default]
    Absent,
    /// Yes: a volume can be made only where a `CSIStorageCapacity` says so.
    Published,
}

/// A `CSIStorageCapacity`: the largest volume a driver can still make in a segment of the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StorageCapacityFacts {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Storage class it speaks of.
    pub class: Name,
    /// `nodeTopology`: labels of the nodes of the segment, all of them; absent is no node at all.
    pub segment: Option<Vec<Requirement>>,
    /// `maximumVolumeSize`, else `capacity`; absent is nothing.
    pub largest: Option<Quantity>,
}

/// A `CSINode`: how many volumes of each driver a node can attach.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CsiNodeFacts {
    /// Name of the node.
    pub node: Name,
    /// Driver and its limit, those that have one, sorted by driver.
    pub limits: Vec<(Name, u32)>,
}
