//! Volcano's HyperNode (`topology.volcano.sh/v1alpha1`).

use schemars::JsonSchema;
use serde::Deserialize;

use super::{LabelSelector, Metadata};

/// A topology domain.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct HyperNode {
    /// Its metadata.
    pub metadata: Metadata,
    /// What belongs to it.
    pub spec: HyperNodeSpec,
}

/// What belongs to the domain.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct HyperNodeSpec {
    /// Lower is closer.
    #[schemars(range(min = 0, max = i32::MAX))]
    pub tier: Option<i64>,
    /// Name of the tier.
    #[schemars(length(max = 253))]
    pub tier_name: String,
    /// Who belongs to it.
    pub members: Vec<HyperNodeMember>,
}

/// A member, or a rule that finds members.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct HyperNodeMember {
    /// `Node` or `HyperNode`.
    #[schemars(extend("enum" = ["Node", "HyperNode"]))]
    #[serde(rename = "type")]
    pub kind: String,
    /// Which.
    pub selector: MemberSelector,
}

/// Exactly one of its ways.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct MemberSelector {
    /// By name.
    pub exact_match: Option<ExactMatch>,
    /// By a pattern on the name.
    pub regex_match: Option<RegexMatch>,
    /// By labels.
    pub label_match: Option<LabelSelector>,
}

/// A name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ExactMatch {
    /// The name.
    pub name: String,
}

/// A pattern.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct RegexMatch {
    /// The pattern, found anywhere in the name.
    pub pattern: String,
}
