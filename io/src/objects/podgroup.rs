//! Volcano's PodGroup (`scheduling.volcano.sh/v1beta1`).

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

use super::{LabelSelector, Metadata, ResourceMap};

/// A gang.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PodGroup {
    /// Its metadata.
    pub metadata: Metadata,
    /// What it asks for.
    pub spec: PodGroupSpec,
    /// What became of it.
    pub status: PodGroupStatus,
}

/// What the gang asks for.
// Counts are signed so that a negative one is refused by name and not by its number format.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PodGroupSpec {
    /// Fewest pods worth running.
    #[schemars(range(min = 0, max = i32::MAX))]
    pub min_member: Option<i64>,
    /// Fewest pods of each role.
    pub min_task_member: BTreeMap<String, i64>,
    /// Queue; empty is the default one.
    #[schemars(length(max = 253))]
    pub queue: String,
    /// Priority class of the gang.
    #[schemars(length(max = 253))]
    pub priority_class_name: String,
    /// Room that must be in sight before it is admitted.
    pub min_resources: Option<ResourceMap>,
    /// How close its pods must sit.
    pub network_topology: Option<NetworkTopology>,
    /// Gangs within the gang.
    pub sub_group_policy: Vec<SubGroupPolicy>,
}

/// How close pods must sit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkTopology {
    /// `hard` or `soft`; absent is `hard`.
    #[schemars(extend("enum" = ["hard", "soft"]))]
    pub mode: String,
    /// Widest tier, by number.
    #[schemars(range(min = 0, max = i32::MAX))]
    pub highest_tier_allowed: Option<i64>,
    /// Widest tier, by name.
    #[schemars(length(max = 253))]
    pub highest_tier_name: String,
}

/// A rule that makes sub-groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SubGroupPolicy {
    /// Its name.
    pub name: String,
    /// Pods of one sub-group that must run together; absent is 1.
    #[schemars(range(min = 1, max = i32::MAX))]
    pub sub_group_size: Option<i64>,
    /// Sub-groups that must run; absent is 0.
    #[schemars(range(min = 0, max = i32::MAX))]
    pub min_sub_groups: Option<i64>,
    /// Labels whose values tell the sub-groups apart.
    pub match_label_keys: Vec<String>,
    /// Pods the policy looks at; absent is all.
    pub label_selector: Option<LabelSelector>,
    /// How close the pods of one sub-group must sit.
    pub network_topology: Option<NetworkTopology>,
}

/// What became of the gang.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PodGroupStatus {
    /// `Pending`, `Inqueue`, `Running`, `Unknown` or `Completed`; absent is `Pending`.
    pub phase: Option<String>,
    /// What holds of it, and what held once.
    pub conditions: Vec<PodGroupCondition>,
    /// Pods that run.
    pub running: u32,
    /// Pods that ended well.
    pub succeeded: u32,
    /// Pods that failed.
    pub failed: u32,
}

/// Something that holds, or held once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PodGroupCondition {
    /// `Unschedulable` or `Scheduled`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// A constant.
    pub reason: String,
    /// The same for people.
    pub message: String,
}
