//! Storage: `PersistentVolume`, `PersistentVolumeClaim`, `StorageClass`, `CSINode`, `CSIDriver`,
//! `CSIStorageCapacity`.

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::{LabelSelector, Metadata, NodeSelector, ResourceMap, Scalar};

/// A volume.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PersistentVolume {
    /// Its metadata.
    pub metadata: Metadata,
    /// What it is.
    pub spec: PersistentVolumeSpec,
    /// What became of it.
    pub status: PhaseStatus,
}

/// `spec` of a volume.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentVolumeSpec {
    /// Its size, under `storage`.
    pub capacity: ResourceMap,
    /// How it may be mounted.
    pub access_modes: Vec<String>,
    /// `Filesystem` or `Block`; absent is `Filesystem`.
    pub volume_mode: Option<String>,
    /// Its class; absent or empty is none.
    pub storage_class_name: Option<String>,
    /// The claim that has it.
    pub claim_ref: Option<ClaimReference>,
    /// Nodes that reach it.
    pub node_affinity: Option<VolumeNodeAffinity>,
    /// Present when a CSI driver attaches it.
    pub csi: Option<CsiSource>,
    /// Present when it is a disk of AWS.
    pub aws_elastic_block_store: Option<InTreeSource>,
    /// Present when it is a disk of Azure.
    pub azure_disk: Option<InTreeSource>,
    /// Present when it is a disk of Google.
    pub gce_persistent_disk: Option<InTreeSource>,
    /// Present when it is a disk of `OpenStack`.
    pub cinder: Option<InTreeSource>,
    /// Present when it is a disk of vSphere.
    pub vsphere_volume: Option<InTreeSource>,
    /// Present when it is a volume of Portworx.
    pub portworx_volume: Option<InTreeSource>,
}

/// A source from before there were CSI drivers: that it is there says which driver attaches it now.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InTreeSource;

impl<'de> Deserialize<'de> for InTreeSource {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// Gives the CSI driver that attaches what an older source names, for types that have the fields of
/// all of them.
macro_rules! in_tree_driver {
    ($volume:expr) => {{
        let volume = $volume;
        let sources = [
            (volume.aws_elastic_block_store, "ebs.csi.aws.com"),
            (volume.azure_disk, "disk.csi.azure.com"),
            (volume.gce_persistent_disk, "pd.csi.storage.gke.io"),
            (volume.cinder, "cinder.csi.openstack.org"),
            (volume.vsphere_volume, "csi.vsphere.vmware.com"),
            (volume.portworx_volume, "pxd.portworx.com"),
        ];
        sources.into_iter().find(|source| source.0.is_some()).map(|source| source.1)
    }};
}
pub(super) use in_tree_driver;

impl PersistentVolumeSpec {
    /// The CSI driver that attaches it, if one does.
    pub fn driver(&self) -> Option<&str> {
        let csi = self.csi.as_ref().map(|csi| csi.driver.as_str());
        csi.or_else(|| in_tree_driver!(self)).filter(|driver| !driver.is_empty())
    }
}

/// `claimRef` of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ClaimReference {
    /// Namespace of the claim.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
    /// Its uid, if it is one claim in particular.
    pub uid: Option<String>,
}

/// `nodeAffinity` of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct VolumeNodeAffinity {
    /// What must hold.
    pub required: Option<NodeSelector>,
}

/// `csi` of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CsiSource {
    /// Name of the driver.
    pub driver: String,
}

/// `status` of a volume or a claim.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PhaseStatus {
    /// Of a volume `Pending`, `Available`, `Bound`, `Released` or `Failed`; of a claim `Pending`,
    /// `Bound` or `Lost`.
    pub phase: Option<String>,
}

/// A claim on a volume.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PersistentVolumeClaim {
    /// Its metadata.
    pub metadata: Metadata,
    /// What it asks for.
    pub spec: PersistentVolumeClaimSpec,
    /// What became of it.
    pub status: PhaseStatus,
}

/// `spec` of a claim.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PersistentVolumeClaimSpec {
    /// How it is to be mounted.
    pub access_modes: Vec<String>,
    /// Labels the volume must have.
    pub selector: Option<LabelSelector>,
    /// Its size, under `requests.storage`.
    pub resources: super::Resources,
    /// The volume it has or wants.
    pub volume_name: Option<String>,
    /// Its class: absent is the default one, empty is none.
    pub storage_class_name: Option<String>,
    /// `Filesystem` or `Block`; absent is `Filesystem`.
    pub volume_mode: Option<String>,
}

/// A class of storage.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct StorageClass {
    /// Its metadata.
    pub metadata: Metadata,
    /// Who makes volumes.
    pub provisioner: String,
    /// `Immediate` or `WaitForFirstConsumer`; absent is `Immediate`.
    pub volume_binding_mode: Option<String>,
    /// Nodes volumes can be made for.
    pub allowed_topologies: Vec<TopologyTerm>,
}

/// One alternative of `allowedTopologies`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TopologyTerm {
    /// All of these must hold.
    pub match_label_expressions: Vec<TopologyExpression>,
}

/// A label and the values it may have.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct TopologyExpression {
    /// Label key.
    pub key: String,
    /// Values.
    pub values: Vec<String>,
}

/// What CSI drivers say of a node; it has the node's name.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CsiNode {
    /// Its metadata.
    pub metadata: Metadata,
    /// What drivers say.
    pub spec: CsiNodeSpec,
}

/// `spec` of a `CSINode`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CsiNodeSpec {
    /// The drivers on the node.
    pub drivers: Vec<CsiNodeDriver>,
}

/// A driver on a node.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CsiNodeDriver {
    /// Name of the driver.
    pub name: String,
    /// How many volumes it can attach.
    pub allocatable: CsiAllocatable,
}

/// `allocatable` of a driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct CsiAllocatable {
    /// The number; absent is any.
    pub count: Option<i64>,
}

/// What a storage driver says of itself.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct CsiDriver {
    /// Its metadata; the name is the driver's.
    pub metadata: Metadata,
    /// What it says.
    pub spec: CsiDriverSpec,
}

/// `spec` of a `CSIDriver`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiDriverSpec {
    /// Does it publish how much storage is left where?
    pub storage_capacity: bool,
}

/// How much storage is left in a segment of the cluster.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CsiStorageCapacity {
    /// Its metadata.
    pub metadata: Metadata,
    /// Class whose volumes are meant.
    pub storage_class_name: String,
    /// Nodes of the segment; absent is none, empty is all.
    pub node_topology: Option<LabelSelector>,
    /// What is left.
    pub capacity: Option<Scalar>,
    /// The largest volume that can be made.
    pub maximum_volume_size: Option<Scalar>,
}
