//! Volcano's Queue (`scheduling.volcano.sh/v1beta1`).

use schemars::JsonSchema;
use serde::Deserialize;

use super::{Metadata, ResourceMap};

/// A queue.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct Queue {
    /// Its metadata.
    pub metadata: Metadata,
    /// What it may use.
    pub spec: QueueSpec,
    /// Whether it takes jobs.
    pub status: QueueStatus,
}

/// What the queue may use.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueSpec {
    /// Its part of what is shared by weight; absent is 1.
    #[schemars(range(min = 1, max = 65_535))]
    pub weight: Option<i64>,
    /// Hard limit.
    pub capability: Option<ResourceMap>,
    /// Its due.
    pub deserved: Option<ResourceMap>,
    /// Room kept for it.
    pub guarantee: Guarantee,
    /// May others take back what it uses above its due? Absent is yes.
    pub reclaimable: Option<bool>,
    /// Higher is served first.
    #[schemars(range(min = 0))]
    pub priority: Option<i32>,
    /// Queue above it; empty is the root.
    pub parent: String,
    /// `traverse` or `fifo`.
    #[schemars(extend("enum" = ["fifo", "traverse"]))]
    pub dequeue_strategy: Option<String>,
    /// Groups of nodes its pods may and would like to use.
    pub affinity: QueueAffinity,
}

/// Groups of nodes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct QueueAffinity {
    /// Groups to use.
    pub node_group_affinity: NodeGroupTerms,
    /// Groups to keep off.
    pub node_group_anti_affinity: NodeGroupTerms,
}

/// Names of groups of nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct NodeGroupTerms {
    /// What must hold.
    #[serde(rename = "requiredDuringSchedulingIgnoredDuringExecution")]
    pub required: Vec<String>,
    /// What would be good, most wanted first.
    #[serde(rename = "preferredDuringSchedulingIgnoredDuringExecution")]
    pub preferred: Vec<String>,
}

/// Room kept for the queue.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Guarantee {
    /// The amounts.
    pub resource: Option<ResourceMap>,
}

/// Whether the queue takes jobs, and what it uses.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct QueueStatus {
    /// `Open`, `Closing`, `Closed` or `Unknown`; absent is `Open`.
    pub state: Option<String>,
    /// What its pods and those of its children use.
    pub allocated: ResourceMap,
}
