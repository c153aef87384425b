//! Amounts as an object writes them: text or a bare number, kept as text until translation.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// Amounts by resource name, as written.
pub type ResourceMap = BTreeMap<String, Scalar>;

/// A quantity as written; `2` and `"2"` are the same.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scalar(Box<str>);

impl Scalar {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl From<&str> for Scalar {
    fn from(text: &str) -> Self {
        Self(text.into())
    }
}

impl fmt::Display for Scalar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Scalar {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ScalarVisitor)
    }
}

impl JsonSchema for Scalar {
    fn schema_name() -> Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "anyOf": [{"type": "integer"}, {"type": "string"}],
            "x-kubernetes-int-or-string": true,
        })
    }
}

struct ScalarVisitor;

impl Visitor<'_> for ScalarVisitor {
    type Value = Scalar;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a quantity such as 2, \"500m\" or \"16Gi\"")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Scalar, E> {
        Ok(Scalar(text.into()))
    }

    fn visit_string<E: Error>(self, text: String) -> Result<Scalar, E> {
        Ok(Scalar(text.into_boxed_str()))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Scalar, E> {
        Ok(Scalar(number.to_string().into_boxed_str()))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Scalar, E> {
        Ok(Scalar(number.to_string().into_boxed_str()))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Scalar, E> {
        Ok(Scalar(number.to_string().into_boxed_str()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_and_text_read_alike() {
        let read =
            |json: &str| serde_json::from_str::<Scalar>(json).map(|scalar| scalar.to_string());
        assert_eq!(read("2").unwrap(), "2");
        assert_eq!(read("\"2\"").unwrap(), "2");
        assert_eq!(read("0.5").unwrap(), "0.5");
        assert_eq!(read("-1").unwrap(), "-1");
        assert!(read("[]").is_err());
    }
}
