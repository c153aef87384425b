//! `PriorityClass` (`scheduling.k8s.io`).

use serde::Deserialize;

use super::Metadata;

/// A named priority.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PriorityClass {
    /// Its metadata.
    pub metadata: Metadata,
    /// Higher goes first.
    pub value: i32,
    /// Stands for pods that name no class.
    pub global_default: bool,
    /// `Never` or `PreemptLowerPriority`.
    pub preemption_policy: Option<String>,
}
