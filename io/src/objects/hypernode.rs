//! Volcano's HyperNode (`topology.volcano.sh/v1alpha1`).

use muster_core::delta::{ClusterDelta, DomainFacts, DomainMember, ObjectRef};
use muster_core::ids::{Name, ObjectKey};
use schemars::JsonSchema;
use serde::Deserialize;

use super::translate::{About, OwnerRule, Translate, TranslateError, label_selector};
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

impl Translate for HyperNode {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::Domain(key.name)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let spec = &self.spec;
        let Some(tier) = spec.tier else {
            return Err(about.fail("spec.tier", "is missing; expected 0 or more"));
        };
        let mut members = Vec::with_capacity(spec.members.len());
        for (at, entry) in spec.members.iter().enumerate() {
            members.extend(member(about, entry, &format!("spec.members[{at}]"))?);
        }
        Ok(DomainFacts {
            name: about.name(),
            tier: about.count("spec.tier", tier)?,
            tier_name: Some(spec.tier_name.as_str().into()).filter(|name: &Name| !name.is_empty()),
            members,
        }
        .into())
    }

    fn unsupported(&self) -> Vec<String> {
        let empty = self.spec.members.iter().any(|member| {
            member.selector.label_match.as_ref().is_some_and(|labels| {
                labels.match_labels.is_empty() && labels.match_expressions.is_empty()
            })
        });
        if empty {
            vec!["has an empty labelMatch, which finds no node".to_owned()]
        } else {
            Vec::new()
        }
    }
}

/// One member; `None` for a label selector that is empty, which finds no node.
fn member(
    about: &About<'_>,
    entry: &HyperNodeMember,
    field: &str,
) -> Result<Option<DomainMember>, TranslateError> {
    let nodes = match entry.kind.as_str() {
        "Node" => true,
        "HyperNode" => false,
        other => {
            let problem = format!("{other:?} is not a member type; expected Node or HyperNode");
            return Err(about.fail(format!("{field}.type"), problem));
        }
    };
    let selector = &entry.selector;
    match (&selector.exact_match, &selector.regex_match, &selector.label_match) {
        (Some(exact), None, None) => {
            about.check_name(&format!("{field}.selector.exactMatch.name"), &exact.name)?;
            let name = exact.name.as_str().into();
            Ok(Some(if nodes { DomainMember::Node(name) } else { DomainMember::Domain(name) }))
        }
        (None, Some(regex), None) if nodes => {
            let field = format!("{field}.selector.regexMatch.pattern");
            regex_lite::Regex::new(&regex.pattern)
                .map_err(|problem| about.fail(field, format!("is no pattern: {problem}")))?;
            Ok(Some(DomainMember::NodePattern(regex.pattern.as_str().into())))
        }
        (None, None, Some(labels)) if nodes => {
            let field = format!("{field}.selector.labelMatch");
            let requirements = label_selector(about, labels, &field)?;
            Ok((!requirements.is_empty()).then_some(DomainMember::NodeLabels(requirements)))
        }
        _ => {
            let problem = if nodes {
                "expected exactly one of exactMatch, regexMatch and labelMatch"
            } else {
                "expected exactMatch alone: HyperNodes are named one by one"
            };
            Err(about.fail(format!("{field}.selector"), problem))
        }
    }
}
