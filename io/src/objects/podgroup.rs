//! Volcano's PodGroup (`scheduling.volcano.sh/v1beta1`).

use std::collections::BTreeMap;

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

/// `spec` of a PodGroup. Counts are signed so that a negative one is refused by name and not by
/// its number format.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodGroupSpec {
    /// Fewest pods worth running.
    pub min_member: Option<i64>,
    /// Fewest pods of each role.
    pub min_task_member: BTreeMap<String, i64>,
    /// Queue; empty is the default one.
    pub queue: String,
    /// Priority class of the gang.
    pub priority_class_name: String,
    /// Room that must be in sight before it is admitted.
    pub min_resources: Option<ResourceMap>,
    /// How close its pods must sit.
    pub network_topology: Option<NetworkTopology>,
    /// Gangs within the gang.
    pub sub_group_policy: Vec<SubGroupPolicy>,
}

/// `networkTopology`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkTopology {
    /// `hard` or `soft`; empty is `hard`.
    pub mode: String,
    /// Widest tier, by number.
    pub highest_tier_allowed: Option<i64>,
    /// Widest tier, by name.
    pub highest_tier_name: String,
}

/// One entry of `subGroupPolicy`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SubGroupPolicy {
    /// Its name.
    pub name: String,
    /// Pods of one sub-group that must run together; absent is 1.
    pub sub_group_size: Option<i64>,
    /// Sub-groups that must run; absent is 0.
    pub min_sub_groups: Option<i64>,
    /// Labels whose values tell the sub-groups apart.
    pub match_label_keys: Vec<String>,
    /// Pods the policy looks at; absent is all.
    pub label_selector: Option<LabelSelector>,
    /// How close the pods of one sub-group must sit.
    pub network_topology: Option<NetworkTopology>,
}

/// `status` of a PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
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

/// One entry of `status.conditions`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
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
