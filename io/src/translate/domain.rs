//! HyperNode to [`DomainFacts`].

use muster_core::delta::{ClusterDelta, DomainFacts, DomainMember, ObjectRef};
use muster_core::ids::{Name, ObjectKey};

use super::about::About;
use super::{OwnerRule, Translate, TranslateError, selector, unsupported};
use crate::objects::{HyperNode, HyperNodeMember};

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
        unsupported::of_domain(self)
    }
}

/// One member; none for a label selector that is empty, which finds no node.
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
            let requirements = selector::label_selector(about, labels, &field)?;
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
