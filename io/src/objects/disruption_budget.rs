//! `PodDisruptionBudget` (`policy/v1`).

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{LabelSelector, Metadata, Scalar};

/// How many of some pods must stay.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PodDisruptionBudget {
    /// Its metadata.
    pub metadata: Metadata,
    /// What must stay.
    pub spec: BudgetSpec,
    /// What its controller counts.
    pub status: BudgetStatus,
}

/// `spec` of a disruption budget.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetSpec {
    /// Which pods; absent is none, empty is all of the namespace.
    pub selector: Option<LabelSelector>,
    /// So many must stay: a number or a percentage.
    pub min_available: Option<Scalar>,
    /// So many may be gone: a number or a percentage.
    pub max_unavailable: Option<Scalar>,
}

/// `status` of a disruption budget.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BudgetStatus {
    /// Pods that may go now.
    pub disruptions_allowed: Option<i64>,
    /// Pods already counted as gone, by name, each with the time of it.
    pub disrupted_pods: BTreeMap<String, String>,
}
