//! The object being translated: its names, and errors that name it.

use std::collections::BTreeMap;

pub(in crate::objects) use muster_core::config::boolean::parse as parse_bool;
use muster_core::config::duration;
use muster_core::ids::{Name, ObjectKey, TimeMs};
use muster_core::resource::{Quantity, ResourceList};

use super::{Fault, TranslateError};
use crate::objects::{Metadata, ObjectKind, ResourceMap, Scalar};

/// Longest name Kubernetes allows.
const NAME_MAX: usize = 253;

/// Longest namespace Kubernetes allows.
const NAMESPACE_MAX: usize = 63;

/// The object being translated.
#[derive(Clone, Copy)]
pub(in crate::objects) struct About<'a> {
    pub(in crate::objects) kind: ObjectKind,
    pub(in crate::objects) metadata: &'a Metadata,
}

impl<'a> About<'a> {
    /// The object, once its name and namespace proved to be names.
    pub(in crate::objects) fn new(
        kind: ObjectKind,
        metadata: &'a Metadata,
    ) -> Result<Self, TranslateError> {
        let about = Self { kind, metadata };
        about.check_name("metadata.name", &metadata.name)?;
        if let Some(namespace) = &metadata.namespace
            && kind.is_namespaced()
            && (!is_name(namespace, NAMESPACE_MAX) || namespace.contains('.'))
        {
            return Err(about.fail(
                "metadata.namespace",
                format!(
                    "{namespace:?} is not a namespace; expected at most {NAMESPACE_MAX} lower-case \
                     letters, digits and '-'"
                ),
            ));
        }
        Ok(about)
    }

    pub(in crate::objects) fn key(&self) -> ObjectKey {
        self.kind.key(self.metadata.namespace.as_deref(), &self.metadata.name)
    }

    pub(in crate::objects) fn name(&self) -> Name {
        self.metadata.name.as_str().into()
    }

    pub(in crate::objects) fn uid(&self) -> Name {
        self.metadata.uid.as_deref().unwrap_or_default().into()
    }

    pub(in crate::objects) fn created(&self) -> TimeMs {
        TimeMs(self.metadata.created_ms.unwrap_or(0))
    }

    /// An error about one field.
    pub(in crate::objects) fn fail(
        &self,
        field: impl Into<String>,
        problem: impl Into<String>,
    ) -> TranslateError {
        TranslateError {
            kind: self.kind,
            key: self.key(),
            field: field.into(),
            problem: problem.into(),
            fault: Fault::Input,
        }
    }

    /// An error about a field that reads well and makes no sense: the object is set aside.
    pub(in crate::objects) fn malformed(
        &self,
        field: impl Into<String>,
        problem: impl Into<String>,
    ) -> TranslateError {
        TranslateError { fault: Fault::Object, ..self.fail(field, problem) }
    }

    /// Is the text a name an object of the cluster can have?
    pub(in crate::objects) fn check_name(
        &self,
        field: &str,
        name: &str,
    ) -> Result<(), TranslateError> {
        if is_name(name, NAME_MAX) {
            return Ok(());
        }
        let problem = if name.is_empty() {
            "is missing; expected a name".to_owned()
        } else {
            format!(
                "{name:?} is not a name; expected at most {NAME_MAX} lower-case letters, digits, '-' \
                 and '.', beginning and ending with a letter or digit"
            )
        };
        Err(self.fail(field, problem))
    }

    /// The name in a field that may be empty.
    pub(in crate::objects) fn optional_name(
        &self,
        field: &str,
        name: &str,
    ) -> Result<Option<Name>, TranslateError> {
        if name.is_empty() {
            return Ok(None);
        }
        self.check_name(field, name)?;
        Ok(Some(name.into()))
    }

    /// A count that may not be negative.
    pub(in crate::objects) fn count(&self, field: &str, value: i64) -> Result<u32, TranslateError> {
        u32::try_from(value)
            .ok()
            .filter(|&count| i32::try_from(count).is_ok())
            .ok_or_else(|| self.fail(field, format!("{value} is not a count; expected 0 or more")))
    }

    /// A length of time in milliseconds, rounded down; it may be negative.
    pub(in crate::objects) fn duration_ms(
        &self,
        field: &str,
        text: &str,
    ) -> Result<i64, TranslateError> {
        let ns = duration::parse_ns(text)
            .map_err(|problem| self.malformed(field, format!("{text:?} {problem}")))?;
        Ok(ns.div_euclid(1_000_000))
    }

    /// One amount, which may not be negative.
    pub(in crate::objects) fn quantity(
        &self,
        text: &Scalar,
        field: impl FnOnce() -> String,
    ) -> Result<Quantity, TranslateError> {
        match text.as_str().parse::<Quantity>() {
            Err(problem) => Err(self.fail(field(), problem.to_string())),
            Ok(quantity) if quantity.is_negative() => {
                let problem = format!("{:?} is negative; expected 0 or more", text.as_str());
                Err(self.fail(field(), problem))
            }
            Ok(quantity) => Ok(quantity),
        }
    }

    /// The amounts of a map, sorted by name.
    pub(in crate::objects) fn resources(
        &self,
        map: &ResourceMap,
        field: &str,
    ) -> Result<ResourceList, TranslateError> {
        map.iter()
            .map(|(name, text)| {
                let quantity = self.quantity(text, || member(field, name))?;
                Ok((Name::from(name.as_str()), quantity))
            })
            .collect()
    }
}

/// The path of a map's entry: `field.key`, or `field["key"]` where the key has dots of its own.
pub(in crate::objects) fn member(field: &str, key: &str) -> String {
    if key.contains(['.', '/']) { format!("{field}[{key:?}]") } else { format!("{field}.{key}") }
}

/// Pairs of names, in the map's order, which is sorted by key.
pub(in crate::objects) fn pairs(map: &BTreeMap<String, String>) -> Vec<(Name, Name)> {
    map.iter().map(|(key, value)| (key.as_str().into(), value.as_str().into())).collect()
}

/// The first of annotation and label under that key.
pub(in crate::objects) fn annotation_or_label<'a>(
    metadata: &'a Metadata,
    key: &str,
) -> Option<&'a str> {
    metadata.annotations.get(key).or_else(|| metadata.labels.get(key)).map(String::as_str)
}

/// `volcano.sh/preemptable`, if given; a text that is no boolean counts as false.
pub(in crate::objects) fn preemptable(metadata: &Metadata) -> Option<bool> {
    annotation_or_label(metadata, PREEMPTABLE).map(|text| parse_bool(text).unwrap_or(false))
}

/// May the object's pods be evicted for others?
pub(in crate::objects) const PREEMPTABLE: &str = "volcano.sh/preemptable";

fn is_name(text: &str, longest: usize) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let bytes = text.as_bytes();
    bytes.len() <= longest
        && bytes.first().is_some_and(|&byte| inner(byte))
        && bytes.last().is_some_and(|&byte| inner(byte))
        && bytes.iter().all(|&byte| inner(byte) || byte == b'-' || byte == b'.')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_checked_at_both_ends() {
        for good in ["a", "n0", "a-b.c", "0"] {
            assert!(is_name(good, NAME_MAX), "{good}");
        }
        for bad in ["", "-a", "a-", "A", "a_b", "a/b", ".", "ä"] {
            assert!(!is_name(bad, NAME_MAX), "{bad}");
        }
        assert!(!is_name(&"a".repeat(254), NAME_MAX));
    }

    #[test]
    fn keys_with_dots_are_quoted_in_paths() {
        assert_eq!(member("requests", "cpu"), "requests.cpu");
        assert_eq!(member("requests", "nvidia.com/gpu"), "requests[\"nvidia.com/gpu\"]");
    }
}
