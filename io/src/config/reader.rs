//! Walking the tree: where we are, and what was found wrong so far.

use std::fmt;

use muster_core::policy::Registry;

use super::error::{ConfigError, ConfigErrors, Problem};
use super::tree::{Entry, Node, Place, Value};

/// Collects what is wrong or worth saying while the tree is walked.
pub(super) struct Reader<'s> {
    source_name: &'s str,
    /// What the file may name.
    pub(super) registry: &'s Registry,
    errors: Vec<ConfigError>,
    warnings: Vec<String>,
}

/// The way from the root of the file to a field.
#[derive(Clone, Copy)]
pub(super) enum Field<'a> {
    Root,
    Key(&'a Field<'a>, &'a str),
    Item(&'a Field<'a>, usize),
}

impl<'s> Reader<'s> {
    pub(super) fn new(source_name: &'s str, registry: &'s Registry) -> Self {
        Self { source_name, registry, errors: Vec::new(), warnings: Vec::new() }
    }

    /// Notes something that makes the file invalid.
    pub(super) fn error(&mut self, at: Place, field: impl fmt::Display, problem: Problem) {
        self.errors.push(ConfigError { at, field: field.to_string(), problem });
    }

    /// Notes a value of the wrong kind.
    pub(super) fn wrong_type(
        &mut self,
        node: &Node,
        field: Field<'_>,
        expected: impl Into<String>,
    ) {
        self.wrong_type_with(node, field, expected, "");
    }

    /// Notes a value of the wrong kind and how to mend it.
    pub(super) fn wrong_type_with(
        &mut self,
        node: &Node,
        field: Field<'_>,
        expected: impl Into<String>,
        advice: &'static str,
    ) {
        let expected = expected.into();
        let found = node.value.described();
        self.error(node.at, field, Problem::WrongType { expected, found, advice });
    }

    /// Notes something the file's owner should know although the file is valid.
    pub(super) fn warn(&mut self, at: Place, field: impl fmt::Display, text: impl fmt::Display) {
        self.warnings.push(format!("{}:{}: {field}: {text}", self.source_name, at.line));
    }

    /// The entries of a map; a key without a value is an empty one, as Volcano reads it.
    pub(super) fn map<'n>(&mut self, node: &'n Node, field: Field<'_>) -> &'n [Entry] {
        match &node.value {
            Value::Map(entries) => entries,
            Value::Null => &[],
            _ => {
                self.wrong_type(node, field, "a map");
                &[]
            }
        }
    }

    /// The items of a list; a key without a value is an empty one, as Volcano reads it.
    pub(super) fn list<'n>(&mut self, node: &'n Node, field: Field<'_>) -> &'n [Node] {
        match &node.value {
            Value::List(items) => items,
            Value::Null => &[],
            _ => {
                self.wrong_type(node, field, "a list");
                &[]
            }
        }
    }

    /// A text that must be there.
    pub(super) fn text<'n>(&mut self, node: &'n Node, field: Field<'_>) -> Option<&'n str> {
        if let Value::Text(text) = &node.value {
            return Some(text);
        }
        self.wrong_type(node, field, "a text");
        None
    }

    /// The result with the warnings, or all errors in file order.
    pub(super) fn finish<T>(self, value: T) -> Result<(T, Vec<String>), ConfigErrors> {
        let Self { source_name, mut errors, warnings, .. } = self;
        if errors.is_empty() {
            return Ok((value, warnings));
        }
        errors.sort_by_key(|error| error.at);
        Err(ConfigErrors { source_name: source_name.to_owned(), errors })
    }
}

impl fmt::Display for Field<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Root => Ok(()),
            Self::Item(parent, index) => write!(formatter, "{parent}[{index}]"),
            // Arguments have dots in their names; quotes keep the path readable.
            Self::Key(parent, key) if !is_plain(key) => {
                write!(formatter, "{parent}[{}]", super::tree::quoted(key))
            }
            Self::Key(Self::Root, key) => formatter.write_str(key),
            Self::Key(parent, key) => write!(formatter, "{parent}.{key}"),
        }
    }
}

fn is_plain(key: &str) -> bool {
    !key.is_empty()
        && key.len() <= 60
        && key.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_reads_like_the_file() {
        let tiers = Field::Key(&Field::Root, "tiers");
        let tier = Field::Item(&tiers, 0);
        let arguments = Field::Key(&tier, "arguments");
        assert_eq!(Field::Key(&arguments, "weight").to_string(), "tiers[0].arguments.weight");
        let dotted = Field::Key(&arguments, "binpack.cpu").to_string();
        assert_eq!(dotted, "tiers[0].arguments[\"binpack.cpu\"]");
    }
}
