//! What the outside tells the core: one object set, one object gone, or the outcome of one call.
//!
//! A delta carries the whole object as scheduling sees it, never a patch, so that the same delta
//! applied twice changes nothing and deltas of different objects may arrive in any order.

mod near;
mod podset;
mod queue;
mod volume;

use std::fmt;

pub use near::{
    Heed, HostPort, NamespaceFacts, NearFacts, NearTerm, PodSelector, Protocol, SelectorPart,
    Spread, Unmet,
};
pub use podset::{PodOwner, PodSetFacts, PodSetKind, PodSetRef};
pub use queue::{GroupLimits, NodeGroupFacts, QueueFacts, QueueState, QuotaFacts};
pub use volume::{
    AccessModes, BindingMode, ClaimFacts, ClaimOrigin, ClaimRef, ClaimState, CsiNodeFacts,
    PodClaim, StorageClassFacts, VolumeFacts, VolumeMode, VolumeState,
};

use crate::ids::{Name, ObjectKey, TimeMs};
use crate::resource::ResourceList;
use crate::status::GroupReport;

/// One change of the cluster, queued by the outside and drained in batches before a cycle.
#[derive(Clone, Debug, PartialEq)]
pub enum ClusterDelta {
    /// A node was added or changed.
    Node(Box<NodeFacts>),
    /// The node object is gone; its pods stay until they are gone too.
    NodeGone(Name),
    /// A pod was added or changed.
    Pod(Box<PodFacts>),
    /// The pod object is gone.
    PodGone(ObjectKey),
    /// A PodGroup was added or changed.
    PodGroup(Box<PodGroupFacts>),
    /// The PodGroup object is gone; pods that name it stay.
    PodGroupGone(ObjectKey),
    /// A queue was added or changed.
    Queue(Box<QueueFacts>),
    /// The queue object is gone.
    QueueGone(Name),
    /// A priority class was added or changed.
    PriorityClass(PriorityClassFacts),
    /// The priority class is gone.
    PriorityClassGone(Name),
    /// A topology domain (HyperNode) was added or changed.
    Domain(Box<DomainFacts>),
    /// The domain is gone.
    DomainGone(Name),
    /// A namespace was added or changed.
    Namespace(NamespaceFacts),
    /// The namespace is gone.
    NamespaceGone(Name),
    /// A volume was added or changed.
    Volume(Box<VolumeFacts>),
    /// The volume is gone.
    VolumeGone(Name),
    /// A claim was added or changed.
    Claim(Box<ClaimFacts>),
    /// The claim is gone.
    ClaimGone(ObjectKey),
    /// A storage class was added or changed.
    StorageClass(Box<StorageClassFacts>),
    /// The storage class is gone.
    StorageClassGone(Name),
    /// What a node can attach was added or changed.
    CsiNode(CsiNodeFacts),
    /// Nothing is known any more of what the node of that name can attach.
    CsiNodeGone(Name),
    /// A quota of a namespace was added or changed.
    Quota(Box<QuotaFacts>),
    /// The quota is gone.
    QuotaGone(ObjectKey),
    /// A disruption budget was added or changed.
    DisruptionBudget(Box<BudgetFacts>),
    /// The disruption budget is gone.
    DisruptionBudgetGone(ObjectKey),
    /// A Service, or a controller of pods, was added or changed.
    PodSet(Box<PodSetFacts>),
    /// It is gone, or selects nothing any more.
    PodSetGone(PodSetRef),
    /// An object could not be understood: it is counted and reported, and whatever was known of it
    /// before no longer holds.
    SetAside {
        /// Which object.
        object: ObjectRef,
        /// Why, for people.
        reason: String,
    },
    /// A bind call failed for good; the assumption behind it ends.
    BindFailed {
        /// The pod that was to be bound.
        pod: ObjectKey,
        /// Its uid at the time of the decision; another uid makes this delta stale.
        uid: Name,
        /// Why, for people.
        reason: String,
    },
    /// An eviction was refused; the assumption behind it ends.
    EvictFailed {
        /// The pod that was to be evicted.
        pod: ObjectKey,
        /// Its uid at the time of the decision; another uid makes this delta stale.
        uid: Name,
        /// Why, for people.
        reason: String,
    },
}

/// Kind and name of an object of the cluster.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ObjectRef {
    /// A node.
    Node(Name),
    /// A pod.
    Pod(ObjectKey),
    /// A PodGroup.
    PodGroup(ObjectKey),
    /// A queue.
    Queue(Name),
    /// A priority class.
    PriorityClass(Name),
    /// A topology domain.
    Domain(Name),
    /// A namespace.
    Namespace(Name),
    /// A volume.
    Volume(Name),
    /// A claim on a volume.
    Claim(ObjectKey),
    /// A storage class.
    StorageClass(Name),
    /// What a node can attach.
    CsiNode(Name),
    /// A quota of a namespace.
    Quota(ObjectKey),
    /// A disruption budget.
    DisruptionBudget(ObjectKey),
    /// A Service, or a controller of pods.
    PodSet(PodSetRef),
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Node(name) => write!(f, "Node {name}"),
            Self::Pod(key) => write!(f, "Pod {key}"),
            Self::PodGroup(key) => write!(f, "PodGroup {key}"),
            Self::Queue(name) => write!(f, "Queue {name}"),
            Self::PriorityClass(name) => write!(f, "PriorityClass {name}"),
            Self::Domain(name) => write!(f, "HyperNode {name}"),
            Self::Namespace(name) => write!(f, "Namespace {name}"),
            Self::Volume(name) => write!(f, "PersistentVolume {name}"),
            Self::Claim(key) => write!(f, "PersistentVolumeClaim {key}"),
            Self::StorageClass(name) => write!(f, "StorageClass {name}"),
            Self::CsiNode(name) => write!(f, "CSINode {name}"),
            Self::Quota(key) => write!(f, "ResourceQuota {key}"),
            Self::DisruptionBudget(key) => write!(f, "PodDisruptionBudget {key}"),
            Self::PodSet(set) => write!(f, "{} {}", set.kind.as_str(), set.key),
        }
    }
}

/// A node as scheduling sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeFacts {
    /// Object name.
    pub name: Name,
    /// Labels, sorted by key.
    pub labels: Vec<(Name, Name)>,
    /// Taints in the order of the object.
    pub taints: Vec<Taint>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `status.allocatable`.
    pub allocatable: ResourceList,
    /// `status.images`: every name of an image with its size in bytes.
    pub images: Vec<(Name, i64)>,
}

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Taint {
    /// Taint key.
    pub key: Name,
    /// Taint value, empty if none.
    pub value: Name,
    /// What it does to pods that do not tolerate it.
    pub effect: TaintEffect,
}

/// Effect of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaintEffect {
    /// New pods stay away.
    NoSchedule,
    /// New pods would rather stay away.
    PreferNoSchedule,
    /// New pods stay away, running ones are moved off by the cluster.
    NoExecute,
}

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
    /// `metadata.resourceVersion`, which grows with every change of the object. Of one pod nothing
    /// older than what is known is taken in; none is taken in order of arrival.
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
    /// What the rules read of it besides the request.
    pub constraints: Constraints,
    /// Claims its volumes name, sorted, each once.
    pub claims: Vec<PodClaim>,
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
    /// `status.nominatedNodeName`.
    pub nominated: Option<Name>,
    /// The reservation its annotations tell of.
    pub annotated: Option<AnnotatedNode>,
    /// Has a deletion timestamp.
    pub deleting: bool,
}

/// `preemptionPolicy` of a pod or a priority class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PreemptionPolicy {
    /// Others may be evicted for it.
    #[default]
    LowerPriority,
    /// It waits for free room.
    Never,
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
    /// How the pod wants its resources scored, if it says so itself.
    pub strategy: Option<StrategyWish>,
    /// What it asks of the pods around it.
    pub near: NearFacts,
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

/// One term of a node affinity: all of its requirements must hold; an empty term matches nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeTerm {
    /// Requirements on labels.
    pub labels: Vec<Requirement>,
    /// Requirements on fields; Kubernetes knows `metadata.name` only.
    pub fields: Vec<Requirement>,
}

/// `key operator values`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Requirement {
    /// Label key or field name.
    pub key: Name,
    /// How the values are compared.
    pub operator: Operator,
    /// The values, as given.
    pub values: Vec<Name>,
}

impl Requirement {
    /// Does the value of the key, if it has one, meet the requirement?
    pub fn holds(&self, value: Option<&Name>) -> bool {
        let number = |text: Option<&Name>| text.and_then(|text| text.parse::<i64>().ok());
        let bound = number(self.values.first());
        match self.operator {
            Operator::In => value.is_some_and(|value| self.values.contains(value)),
            Operator::NotIn => value.is_none_or(|value| !self.values.contains(value)),
            Operator::Exists => value.is_some(),
            Operator::DoesNotExist => value.is_none(),
            Operator::Gt => number(value).zip(bound).is_some_and(|(number, bound)| number > bound),
            Operator::Lt => number(value).zip(bound).is_some_and(|(number, bound)| number < bound),
        }
    }
}

/// Operator of a [`Requirement`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Operator {
    /// The value is one of those given.
    In,
    /// The key is absent or its value is none of those given.
    NotIn,
    /// The key is present.
    Exists,
    /// The key is absent.
    DoesNotExist,
    /// The value is an integer greater than the one given.
    Gt,
    /// The value is an integer less than the one given.
    Lt,
}

/// A toleration of a pod.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Toleration {
    /// Taint key; none tolerates every key (with `value: None`).
    pub key: Option<Name>,
    /// Value that must be equal; none is operator `Exists`.
    pub value: Option<Name>,
    /// Effect tolerated; none is all.
    pub effect: Option<TaintEffect>,
}

/// A PodGroup as scheduling sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct PodGroupFacts {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Object uid.
    pub uid: Name,
    /// Creation time.
    pub created: TimeMs,
    /// Queue named, none is the default queue.
    pub queue: Option<Name>,
    /// `spec.minMember`.
    pub min_member: u32,
    /// `spec.minTaskMember`, sorted by role.
    pub min_task_member: Vec<(Name, u32)>,
    /// `spec.minResources`.
    pub min_resources: Option<ResourceList>,
    /// Longest wait the group names itself, in milliseconds.
    pub wait_ms: Option<i64>,
    /// `spec.priorityClassName`.
    pub priority_class: Option<Name>,
    /// Annotation or label, if given.
    pub preemptable: Option<bool>,
    /// `spec.networkTopology`.
    pub topology: Option<TopologyWish>,
    /// `spec.subGroupPolicy`.
    pub subgroups: Vec<SubGroupPolicy>,
    /// `status.phase` as last written.
    pub phase: GroupPhase,
    /// The rest of `status` as last written, so that a restart writes nothing again.
    pub report: GroupReport,
}

/// Phase of a PodGroup.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum GroupPhase {
    /// Not admitted.
    #[default]
    Pending,
    /// Admitted, waiting for room.
    Inqueue,
    /// At least its minimum is on nodes.
    Running,
    /// Part of it runs, the rest cannot.
    Unknown,
    /// All of it has ended.
    Completed,
}

/// How close the pods of a gang must sit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopologyWish {
    /// Must or should.
    pub mode: TopologyMode,
    /// The widest tier allowed.
    pub tier: Option<TierRef>,
}

/// Must or should.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TopologyMode {
    /// No placement rather than a wide one.
    Hard,
    /// Close if possible.
    Soft,
}

/// A tier by number or by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TierRef {
    /// `highestTierAllowed`.
    Number(u32),
    /// `highestTierName`.
    Named(Name),
}

/// One entry of `spec.subGroupPolicy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubGroupPolicy {
    /// Name of the policy.
    pub name: Name,
    /// Pods of one sub-group that must run together.
    pub size: u32,
    /// Sub-groups that must run.
    pub min_subgroups: u32,
    /// Labels whose values tell the sub-groups apart.
    pub match_label_keys: Vec<Name>,
    /// Which pods the policy looks at; none is all.
    pub selector: Option<Vec<Requirement>>,
    /// How close the pods of one sub-group must sit.
    pub topology: Option<TopologyWish>,
}

/// A priority class.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PriorityClassFacts {
    /// Object name.
    pub name: Name,
    /// Its value.
    pub value: i32,
    /// Stands for pods and groups that name no class.
    pub global_default: bool,
    /// May others be evicted for pods of the class that do not say so themselves?
    pub preempts: PreemptionPolicy,
}

/// A disruption budget: how many pods must stay.
#[derive(Clone, Debug, PartialEq)]
pub struct BudgetFacts {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Which pods of the namespace it guards: an empty list all, none nobody.
    pub selector: Option<Vec<Requirement>>,
    /// So many must stay.
    pub min_available: Option<Share>,
    /// So many may be gone; counts where `min_available` is absent.
    pub max_unavailable: Option<Share>,
    /// `status.disruptionsAllowed`; where absent it is computed.
    pub allowed: Option<i64>,
    /// Names in `status.disruptedPods`, sorted.
    pub disrupted: Vec<Name>,
}

/// A number of pods, or a part of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Share {
    /// So many.
    Count(u32),
    /// So many of a hundred, rounded up.
    Percent(u32),
}

/// A topology domain (HyperNode).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DomainFacts {
    /// Object name.
    pub name: Name,
    /// Lower is closer.
    pub tier: u32,
    /// `spec.tierName`.
    pub tier_name: Option<Name>,
    /// Who belongs to it.
    pub members: Vec<DomainMember>,
}

/// A member of a domain.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DomainMember {
    /// The node of that name.
    Node(Name),
    /// Every node whose name the pattern finds (unanchored).
    NodePattern(Name),
    /// Every node whose labels match.
    NodeLabels(Vec<Requirement>),
    /// The domain of that name.
    Domain(Name),
}
