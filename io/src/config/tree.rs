//! A YAML document as a tree of values that know where they stand in the file.
//!
//! The file is decoded into this once and then checked by hand rather than through derived types:
//! derived decoding stops at the first mistake, and a person mending a configuration wants to see
//! all of them.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

/// A line and column, both counted from one; zero where the place is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// Line.
    pub line: u64,
    /// Column, in characters.
    pub column: u64,
}

impl Place {
    pub(super) fn of(location: serde_saphyr::Location) -> Self {
        Self { line: location.line(), column: location.column() }
    }
}

/// A value and where it stands.
#[derive(Debug, Default)]
pub(super) struct Node {
    pub(super) at: Place,
    pub(super) value: Value,
}

#[derive(Debug, Default)]
pub(super) enum Value {
    #[default]
    Null,
    Bool(bool),
    Int(i64),
    Float(f64),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// A key of a map with its value, in file order.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) key_at: Place,
    pub(super) node: Node,
}

impl Value {
    /// The value in the words of an error message.
    pub(super) fn described(&self) -> String {
        match self {
            Self::Null => "nothing".to_owned(),
            Self::Bool(value) => format!("{value}"),
            Self::Int(value) => format!("{value}"),
            // Debug keeps the fraction of 10.0, which is what makes it the wrong kind of number.
            Self::Float(value) => format!("{value:?}"),
            Self::Text(text) => format!("the text {}", quoted(text)),
            Self::List(_) => "a list".to_owned(),
            Self::Map(_) => "a map".to_owned(),
        }
    }
}

/// A text from the file as it may be shown: in quotes, control characters escaped, not endless.
pub(super) fn quoted(text: &str) -> String {
    const LONGEST: usize = 60;
    if text.chars().count() <= LONGEST {
        return format!("{text:?}");
    }
    let head: String = text.chars().take(LONGEST).collect();
    format!("{head:?}…")
}

/// Decodes a text that holds one YAML document.
pub(super) fn read(text: &str) -> Result<Node, serde_saphyr::Error> {
    serde_saphyr::from_str_with_options(text, serde_saphyr::options! { with_snippet: false })
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let spanned = Spanned::<Value>::deserialize(deserializer)?;
        Ok(Self { at: Place::of(spanned.referenced), value: spanned.value })
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("a value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Int(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        // Beyond i64 no argument has a meaning; as a fraction it fails the check for whole numbers.
        Ok(i64::try_from(value).map_or(Value::Float(value as f64), Value::Int))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Value, E> {
        Ok(Value::Float(value))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::Text(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::Text(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = seq.next_element()? {
            items.push(item);
        }
        Ok(Value::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some(key) = map.next_key::<Spanned<String>>()? {
            let node = map.next_value()?;
            entries.push(Entry { key_at: Place::of(key.referenced), key: key.value, node });
        }
        Ok(Value::Map(entries))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_and_keys_know_their_line_and_column() {
        let node = read("a: 1\nlist:\n- {deep: x}\n").unwrap();
        let Value::Map(entries) = &node.value else { panic!("not a map: {node:?}") };
        assert_eq!(entries[1].key_at, Place { line: 2, column: 1 });
        let Value::List(items) = &entries[1].node.value else { panic!("not a list") };
        let Value::Map(inner) = &items[0].value else { panic!("not a map") };
        assert_eq!(inner[0].key_at, Place { line: 3, column: 4 });
        assert_eq!(inner[0].node.at, Place { line: 3, column: 10 });
    }

    #[test]
    fn scalars_keep_the_kind_they_were_written_in() {
        let kinds = ["10", "10.0", "\"10\"", "yes", "\"yes\"", "~", "18446744073709551615"]
            .map(|text| read(text).unwrap().value.described());
        let expected = [
            "10",
            "10.0",
            "the text \"10\"",
            "true",
            "the text \"yes\"",
            "nothing",
            "1.8446744073709552e19",
        ];
        assert_eq!(kinds, expected);
    }
}
