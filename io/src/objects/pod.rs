//! Pod.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde::de::IgnoredAny;

use super::interpod::{ContainerPort, PodAffinity, TopologySpreadConstraint};
use super::volume::in_tree_driver;
use super::{InTreeSource, Metadata, NodeSelectorTerm, PersistentVolumeClaimSpec, ResourceMap};

/// A pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Pod {
    /// Its metadata.
    pub metadata: Metadata,
    /// What it asks for.
    pub spec: PodSpec,
    /// What became of it.
    pub status: PodStatus,
}

/// `spec` of a pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// Who is to schedule it.
    pub scheduler_name: Option<String>,
    /// Node it is bound to.
    pub node_name: Option<String>,
    /// Labels its node must have.
    pub node_selector: BTreeMap<String, String>,
    /// Where it may go and would like to go.
    pub affinity: Affinity,
    /// Taints it bears.
    pub tolerations: Vec<Toleration>,
    /// Reasons not to schedule it yet.
    pub scheduling_gates: Vec<SchedulingGate>,
    /// Priority, as admission resolved it.
    pub priority: Option<i32>,
    /// Priority class it names.
    pub priority_class_name: Option<String>,
    /// `Never` or `PreemptLowerPriority`.
    pub preemption_policy: Option<String>,
    /// How long it may take to leave.
    pub termination_grace_period_seconds: Option<i64>,
    /// Containers that run together.
    pub containers: Vec<Container>,
    /// Containers that run before, and sidecars.
    pub init_containers: Vec<Container>,
    /// What the runtime itself needs.
    pub overhead: ResourceMap,
    /// Resources of the pod as a whole.
    pub resources: Resources,
    /// How evenly it and its like are to be spread.
    pub topology_spread_constraints: Vec<TopologySpreadConstraint>,
    /// Is it on the network of its node?
    pub host_network: bool,
    /// Volumes, as far as they are claims.
    pub volumes: Vec<Volume>,
    /// Resource claims; only read to say that they are not enforced.
    pub resource_claims: Vec<IgnoredAny>,
}

/// A container, as far as it takes room.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// Its name.
    pub name: String,
    /// Image it runs.
    pub image: String,
    /// What it asks for.
    pub resources: Resources,
    /// `Always` makes an init container a sidecar.
    pub restart_policy: Option<String>,
    /// Ports it opens.
    pub ports: Vec<ContainerPort>,
}

/// `resources` of a container or a pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Resources {
    /// What is set aside for it.
    pub requests: ResourceMap,
    /// What it may use at most.
    pub limits: ResourceMap,
}

/// `affinity` of a pod.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Affinity {
    /// Demands and wishes on nodes.
    pub node_affinity: NodeAffinity,
    /// Closeness to other pods.
    pub pod_affinity: Option<PodAffinity>,
    /// Distance from other pods.
    pub pod_anti_affinity: Option<PodAffinity>,
}

/// `nodeAffinity` of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct NodeAffinity {
    /// What must hold.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Option<NodeSelector>,
    /// What would be good.
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    pub preferred: Vec<PreferredTerm>,
}

/// Alternatives, one of which must match.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelector {
    /// The alternatives.
    pub node_selector_terms: Vec<NodeSelectorTerm>,
}

/// A weighted wish.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PreferredTerm {
    /// 1 to 100.
    pub weight: i32,
    /// The wish.
    pub preference: NodeSelectorTerm,
}

/// A toleration; operator and effect still as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Toleration {
    /// Taint key; empty with `Exists` tolerates every key.
    pub key: String,
    /// `Equal`, `Exists`; empty is `Equal`.
    pub operator: String,
    /// Value compared with.
    pub value: String,
    /// Effect tolerated; empty is all.
    pub effect: String,
}

/// A scheduling gate.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct SchedulingGate {
    /// Who holds the pod.
    pub name: String,
}

/// A volume, as far as it is read.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// Its name.
    pub name: String,
    /// Present when the volume is a claim.
    pub persistent_volume_claim: Option<ClaimSource>,
    /// Present when the volume is a claim made for this pod.
    pub ephemeral: Option<EphemeralSource>,
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

impl Volume {
    /// The CSI driver that attaches a volume which stands in the pod itself.
    pub fn inline_driver(&self) -> Option<&'static str> {
        in_tree_driver!(self)
    }

    /// Name of the claim made for the pod of that name.
    pub fn ephemeral_claim(&self, pod: &str) -> String {
        format!("{pod}-{}", self.name)
    }
}

/// `persistentVolumeClaim` of a volume.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ClaimSource {
    /// Name of the claim.
    pub claim_name: String,
}

/// `ephemeral` of a volume.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EphemeralSource {
    /// What the claim looks like.
    pub volume_claim_template: Option<ClaimTemplate>,
}

/// A claim to be made.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct ClaimTemplate {
    /// What it asks for.
    pub spec: PersistentVolumeClaimSpec,
}

/// `status` of a pod.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`; absent is `Pending`.
    pub phase: Option<String>,
    /// Node held for it.
    pub nominated_node_name: Option<String>,
    /// RFC 3339 time at which the kubelet took it on.
    pub start_time: Option<String>,
    /// What holds of it.
    pub conditions: Vec<PodCondition>,
    /// When it got its node, in milliseconds since the epoch of whoever read the object; filled by the
    /// reader, which alone knows that epoch.
    #[serde(skip)]
    pub placed_ms: Option<i64>,
}

impl PodStatus {
    /// When the pod got its node, as it is written: the time its condition `PodScheduled` became true,
    /// else that at which the kubelet took it on.
    pub(super) fn placed(&self) -> Option<&str> {
        let scheduled = |held: &&PodCondition| held.kind == POD_SCHEDULED && held.status == "True";
        let condition = self.conditions.iter().find(scheduled);
        let since = condition.and_then(|held| held.last_transition_time.as_deref());
        since.filter(|text| !text.is_empty()).or(self.start_time.as_deref())
    }
}

/// The condition that says whether a pod has a node.
const POD_SCHEDULED: &str = "PodScheduled";

/// One entry of `status.conditions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodCondition {
    /// Its type, such as `PodScheduled`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// RFC 3339 time at which it became so.
    pub last_transition_time: Option<String>,
    /// A constant.
    pub reason: String,
    /// The same as a sentence.
    pub message: String,
}
