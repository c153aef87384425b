//! Selectors over labels and fields, as Kubernetes writes them.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Deserialize;

/// `key operator values`.
// The operator is still text: translation names the object when it refuses one.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct Requirement {
    /// Label key or field name.
    pub key: String,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`; on nodes also `Gt` and `Lt`.
    pub operator: String,
    /// Values compared with.
    pub values: Vec<String>,
}

/// A selector over labels: all of it must hold.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// Labels with exactly these values.
    pub match_labels: BTreeMap<String, String>,
    /// Further requirements.
    pub match_expressions: Vec<Requirement>,
}

/// One alternative of a node affinity.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeSelectorTerm {
    /// Requirements on labels.
    pub match_expressions: Vec<Requirement>,
    /// Requirements on fields.
    pub match_fields: Vec<Requirement>,
}
