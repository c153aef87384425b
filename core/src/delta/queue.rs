//! Queues, and quotas of namespaces: who may use how much.

use crate::ids::{Name, ObjectKey, TimeMs};
use crate::resource::ResourceList;
use crate::status::QueueState;

/// A queue as scheduling sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueFacts {
    /// Object name.
    pub name: Name,
    /// Object uid.
    pub uid: Name,
    /// Creation time.
    pub created: TimeMs,
    /// Parent queue, none is the root.
    pub parent: Option<Name>,
    /// `spec.weight`.
    pub weight: u32,
    /// `spec.priority`.
    pub priority: i32,
    /// `spec.capability`: a name that is absent is unlimited.
    pub capability: Option<ResourceList>,
    /// `spec.deserved`.
    pub deserved: Option<ResourceList>,
    /// `spec.guarantee.resource`.
    pub guarantee: Option<ResourceList>,
    /// `spec.reclaimable`, true where absent.
    pub reclaimable: bool,
    /// `status.state`, open where absent.
    pub state: QueueState,
    /// Annotations `volcano.sh/hierarchy` and `volcano.sh/hierarchy-weights`: names below the root with
    /// weights in thousandths; empty where absent.
    pub hierarchy: Vec<(Name, u32)>,
    /// What it says of groups of nodes.
    pub node_groups: NodeGroupFacts,
    /// What KAI's queues say beside; none for Volcano's. Quotas are in `deserved` and limits in
    /// `capability`: a resource that has none there is unlimited.
    pub over_quota: Option<Box<OverQuotaTerms>>,
}

/// How a queue shares what is beyond quotas, and how long its pods are left alone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OverQuotaTerms {
    /// Weights for what is beyond quotas, in millionths.
    pub weights: OverQuotaWeights,
    /// `spec.preemptMinRuntime` in milliseconds.
    pub preempt_min_runtime_ms: Option<i64>,
    /// `spec.reclaimMinRuntime` in milliseconds.
    pub reclaim_min_runtime_ms: Option<i64>,
}

/// A weight for each resource that KAI's queues share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct OverQuotaWeights {
    /// `spec.resources.cpu.overQuotaWeight`.
    pub cpu: u64,
    /// `spec.resources.memory.overQuotaWeight`.
    pub memory: u64,
    /// `spec.resources.gpu.overQuotaWeight`.
    pub gpu: u64,
}

/// `spec.affinity` of a queue and its annotation `volcano.sh/nodegroup-resource-limits`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct NodeGroupFacts {
    /// Groups its pods must use.
    pub required: Vec<Name>,
    /// Groups its pods would like to use, most wanted first.
    pub preferred: Vec<Name>,
    /// Groups its pods must not use.
    pub anti_required: Vec<Name>,
    /// Groups its pods would rather not use.
    pub anti_preferred: Vec<Name>,
    /// How much of each group its pods may hold together.
    pub limits: GroupLimits,
}

/// How much of groups of nodes a queue may hold.
#[derive(Clone, Debug, PartialEq)]
pub enum GroupLimits {
    /// So much of these, as much as there is of others.
    Given(Vec<(Name, ResourceList)>),
    /// The annotation cannot be read: nothing, so that a typing error is noticed.
    Unreadable,
}

impl Default for GroupLimits {
    fn default() -> Self {
        Self::Given(Vec::new())
    }
}

/// A quota of a namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct QuotaFacts {
    /// Namespace and name.
    pub key: ObjectKey,
    /// What the namespace may have, by the names quotas use (`requests.cpu`, `count/pods`).
    pub hard: ResourceList,
    /// What it has, as the cluster last counted it.
    pub used: ResourceList,
}
