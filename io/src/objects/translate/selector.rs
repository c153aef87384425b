//! Selectors: operators checked, values checked against them.

use std::collections::BTreeMap;

use muster_core::delta::{NodeTerm, Operator, Requirement};
use muster_core::ids::Name;

use super::TranslateError;
use super::about::About;
use super::label::{is_key, is_value};
use crate::objects::{self, LabelSelector, NodeSelectorTerm};

/// Which operators a selector knows.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    /// Selectors over nodes also compare numbers.
    Node,
    /// Label selectors do not.
    Label,
}

/// One alternative of a node affinity.
pub(in crate::objects) fn node_term(
    about: &About<'_>,
    term: &NodeSelectorTerm,
    field: &str,
) -> Result<NodeTerm, TranslateError> {
    let labels =
        requirements(about, &term.match_expressions, &format!("{field}.matchExpressions"))?;
    let fields_path = format!("{field}.matchFields");
    let fields = requirements(about, &term.match_fields, &fields_path)?;
    for (at, requirement) in fields.iter().enumerate() {
        if &*requirement.key != "metadata.name" {
            return Err(about.malformed(
                format!("{fields_path}[{at}].key"),
                format!("{:?} is not a field of nodes; expected metadata.name", requirement.key),
            ));
        }
        if !matches!(requirement.operator, Operator::In | Operator::NotIn)
            || requirement.values.len() != 1
        {
            return Err(about.malformed(
                format!("{fields_path}[{at}]"),
                "a field is compared by In or NotIn with exactly one value",
            ));
        }
    }
    Ok(NodeTerm { labels, fields })
}

fn requirements(
    about: &About<'_>,
    list: &[objects::Requirement],
    field: &str,
) -> Result<Vec<Requirement>, TranslateError> {
    list.iter()
        .enumerate()
        .map(|(at, entry)| requirement(about, entry, Dialect::Node, || format!("{field}[{at}]")))
        .collect()
}

/// A label selector as one list of requirements: exact labels first, then the expressions.
pub(in crate::objects) fn label_selector(
    about: &About<'_>,
    selector: &LabelSelector,
    field: &str,
) -> Result<Vec<Requirement>, TranslateError> {
    let mut all = exact_labels(about, &selector.match_labels, &format!("{field}.matchLabels"))?;
    for (at, entry) in selector.match_expressions.iter().enumerate() {
        let field = || format!("{field}.matchExpressions[{at}]");
        all.push(requirement(about, entry, Dialect::Label, field)?);
    }
    Ok(all)
}

/// Labels that must have exactly these values.
pub(in crate::objects) fn exact_labels(
    about: &About<'_>,
    labels: &BTreeMap<String, String>,
    field: &str,
) -> Result<Vec<Requirement>, TranslateError> {
    let exact = labels.iter().map(|(key, value)| {
        check_key(about, key, || field.to_owned())?;
        check_value(about, value, || format!("{field}[{key:?}]"))?;
        let values = vec![value.as_str().into()];
        Ok(Requirement { key: key.as_str().into(), operator: Operator::In, values })
    });
    exact.collect()
}

fn requirement(
    about: &About<'_>,
    entry: &objects::Requirement,
    dialect: Dialect,
    field: impl Fn() -> String,
) -> Result<Requirement, TranslateError> {
    check_key(about, &entry.key, || format!("{}.key", field()))?;
    let operator = match entry.operator.as_str() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        "Gt" if dialect == Dialect::Node => Operator::Gt,
        "Lt" if dialect == Dialect::Node => Operator::Lt,
        other => {
            let known = match dialect {
                Dialect::Node => "In, NotIn, Exists, DoesNotExist, Gt or Lt",
                Dialect::Label => "In, NotIn, Exists or DoesNotExist",
            };
            let problem = format!("{other:?} is not an operator; expected {known}");
            return Err(about.malformed(format!("{}.operator", field()), problem));
        }
    };
    let complaint = match operator {
        Operator::In | Operator::NotIn if entry.values.is_empty() => {
            Some(format!("{} needs at least one value", entry.operator))
        }
        Operator::Exists | Operator::DoesNotExist if !entry.values.is_empty() => {
            Some(format!("{} takes no values", entry.operator))
        }
        Operator::Gt | Operator::Lt => number_complaint(entry),
        _ => None,
    };
    if let Some(problem) = complaint {
        return Err(about.malformed(format!("{}.values", field()), problem));
    }
    if dialect == Dialect::Label {
        for value in &entry.values {
            check_value(about, value, || format!("{}.values", field()))?;
        }
    }
    let values = entry.values.iter().map(|value| Name::from(value.as_str())).collect();
    Ok(Requirement { key: entry.key.as_str().into(), operator, values })
}

fn check_key(
    about: &About<'_>,
    key: &str,
    field: impl Fn() -> String,
) -> Result<(), TranslateError> {
    if is_key(key) {
        return Ok(());
    }
    let problem = if key.is_empty() {
        "is missing; expected a label key".to_owned()
    } else {
        format!("{key:?} is not a label key; expected one such as app or example.com/app")
    };
    Err(about.malformed(field(), problem))
}

fn check_value(
    about: &About<'_>,
    value: &str,
    field: impl Fn() -> String,
) -> Result<(), TranslateError> {
    if is_value(value) {
        return Ok(());
    }
    let problem = format!(
        "{value:?} is not a label value; expected at most 63 letters, digits, '-', '_' and '.', \
         beginning and ending with a letter or digit"
    );
    Err(about.malformed(field(), problem))
}

fn number_complaint(entry: &objects::Requirement) -> Option<String> {
    match entry.values.as_slice() {
        [value] if value.parse::<i64>().is_ok() => None,
        [value] => Some(format!("{value:?} is not an integer; {} needs one", entry.operator)),
        _ => Some(format!("{} needs exactly one integer", entry.operator)),
    }
}
