//! Pods, and where they may go.

use super::{
    DeviceRequest, InterPodFacts, NodeTerm, PodClaim, PodOwner, PreemptionPolicy, TaintEffect,
};
use crate::ids::{Name, ObjectKey, TimeMs};
use crate::resource::ResourceList;

/// Who schedules a pod.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Ownership {
    /// This scheduler.
    #[default]
    Ours,
    /// Another one: the pod only takes room on its node.
    Foreign,
}

/// Phase of a pod as the cluster reports it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PodPhase {
    /// Accepted, not running yet.
    #[default]
    Pending,
    /// On its node.
    Running,
    /// Ended well.
    Succeeded,
    /// Ended badly.
    Failed,
    /// The node stopped reporting.
    Unknown,
}

/// A pod as scheduling sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct PodFacts {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Object uid: a pod of the same name with another uid is another pod.
    pub uid: Name,
    /// `metadata.resourceVersion`, which grows with every change of the object. Facts that are older than
    /// those known of the pod are dropped; without a version, facts count in the order they arrive.
    pub version: Option<u64>,
    /// Creation time.
    pub created: TimeMs,
    /// Whose pod it is.
    pub ownership: Ownership,
    /// PodGroup it belongs to, in its namespace; none makes it a gang of one.
    pub group: Option<Name>,
    /// Queue a pod without PodGroup asked for.
    pub queue: Option<Name>,
    /// Role within the gang, empty if none.
    pub role: Name,
    /// Task priority: annotation, else `spec.priority`, if either is given.
    pub priority: Option<i32>,
    /// `spec.priorityClassName`, looked up when `priority` is absent.
    pub priority_class: Option<Name>,
    /// May it be evicted for others: annotation or label, if given.
    pub preemptable: Option<bool>,
    /// May others be evicted for it: `spec.preemptionPolicy`, if given.
    pub preempts: Option<PreemptionPolicy>,
    /// How long it must be left alone once it runs, in milliseconds: annotation or label.
    pub cooldown_ms: i64,
    /// What it asks for in all, `pods: 1` included.
    pub request: ResourceList,
    /// What it asks of devices that is no whole one.
    pub devices: Option<DeviceRequest>,
    /// What it calls the devices it shares, sorted, once it has its node.
    pub shared_devices: Vec<Name>,
    /// How firmly its request is promised to it: its quality of service.
    pub qos: QosClass,
    /// What the rules read of it besides the request.
    pub constraints: Constraints,
    /// Claims its volumes name, sorted, each once.
    pub claims: Vec<PodClaim>,
    /// Drivers of volumes that the pod itself defines and that have to be attached, one entry a volume,
    /// sorted.
    pub inline_drivers: Vec<Name>,
    /// Labels, sorted by key.
    pub labels: Vec<(Name, Name)>,
    /// The controller that made it, if that says which pods belong together.
    pub owner: Option<PodOwner>,
    /// Names of scheduling gates still present.
    pub gates: Vec<Name>,
    /// `status.phase`.
    pub phase: PodPhase,
    /// `spec.nodeName`.
    pub node: Option<Name>,
    /// Since when it has its node, as far as its status says.
    pub placed: Option<TimeMs>,
    /// `status.nominatedNodeName`.
    pub nominated: Option<Name>,
    /// The reservation its annotations tell of.
    pub annotated: Option<AnnotatedNode>,
    /// Has a deletion timestamp.
    pub deleting: bool,
    /// By when a pod that leaves is to be gone: its deletion timestamp as a time.
    pub leave_by: Option<TimeMs>,
}

/// Annotations `volcano.sh/pipelined-status`, `volcano.sh/pipelined-node` and
/// `volcano.sh/eviction-occurred`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnnotatedNode {
    /// The node held for the pod.
    pub node: Name,
    /// Were pods evicted for it?
    pub evicted: bool,
}

/// Where a pod may go and would like to go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Constraints {
    /// `spec.nodeSelector`, sorted by key.
    pub node_selector: Vec<(Name, Name)>,
    /// Required node affinity: any one term must match; absent is no demand, an empty list matches
    /// nothing.
    pub required_affinity: Option<Vec<NodeTerm>>,
    /// Preferred node affinity: weight and term.
    pub preferred_affinity: Vec<(i32, NodeTerm)>,
    /// Tolerations in the order of the object.
    pub tolerations: Vec<Toleration>,
    /// Images of all containers, those that run before the others included: with tag, sorted, one
    /// for each container.
    pub images: Vec<Name>,
    /// Milli-cpu and bytes of memory that scores count above the request, for containers that ask
    /// for none.
    pub unasked: [i64; 2],
    /// Milli-cpu and bytes of memory its containers may use at most; where one has no limit, what it
    /// asks for.
    pub limits: [i64; 2],
    /// How the pod wants its resources scored, if it says so itself.
    pub strategy: Option<StrategyWish>,
    /// May it use lent nodes, which it must leave again? Annotation `volcano.sh/revocable-zone` or
    /// `volcano.sh/preemptable`.
    pub borrows: bool,
    /// What it asks of the pods around it.
    pub interpod: InterPodFacts,
}

/// How firmly a pod's resources are promised to it, as Kubernetes sorts pods that compete for them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum QosClass {
    /// It asks for nothing and has no limits.
    #[default]
    BestEffort,
    /// It asks for something.
    Burstable,
    /// Every container asks for cpu and memory, and may use just that.
    Guaranteed,
}

/// Annotations `volcano.sh/resource-strategy-scoring-type` and `volcano.sh/resource-strategy-weight`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StrategyWish {
    /// Full or empty nodes first.
    pub packing: Packing,
    /// Weight of each resource, sorted by name; a name that is absent does not count.
    pub weights: Vec<(Name, i64)>,
}

/// Which nodes are better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Packing {
    /// Fuller ones.
    Most,
    /// Emptier ones.
    Least,
}

/// A toleration of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Toleration {
    /// Taint key; none tolerates every key (with `value: None`).
    pub key: Option<Name>,
    /// Value that must be equal; none is operator `Exists`.
    pub value: Option<Name>,
    /// Effect tolerated; `None` means every effect.
    pub effect: Option<TaintEffect>,
}
