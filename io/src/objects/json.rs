//! Objects straight out of their JSON text: only the fields of our types are decoded and kept.

use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{Decode, Object, ObjectKind};

/// Why a text is not an object of its kind.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {problem}")]
pub struct DecodeError {
    /// Path of the field; empty for the object as a whole.
    pub field: String,
    /// What is wrong with it.
    pub problem: String,
}

impl Object {
    /// Reads an object of that kind. A field that is null is a field not given.
    pub fn from_json(kind: ObjectKind, text: &str) -> Result<Self, DecodeError> {
        Self::decode(kind, JsonText(text))
    }
}

struct JsonText<'a>(&'a str);

impl Decode for JsonText<'_> {
    type Error = DecodeError;

    fn decode<T: DeserializeOwned>(self) -> Result<Box<T>, DecodeError> {
        read(self.0)
    }
}

/// Nulls are rare, and a text without them needs no tree of values in between.
fn read<T: DeserializeOwned>(text: &str) -> Result<Box<T>, DecodeError> {
    if let Ok(object) = serde_json::from_str(text) {
        return Ok(object);
    }
    let mut value: Value = serde_json::from_str(text)
        .map_err(|error| DecodeError { field: String::new(), problem: error.to_string() })?;
    drop_nulls(&mut value);
    serde_path_to_error::deserialize(value).map_err(|error| {
        let path = error.path().to_string();
        let field = if path == "." { String::new() } else { path };
        DecodeError { field, problem: error.into_inner().to_string() }
    })
}

/// Takes null out of every mapping: in Kubernetes a field that is null is a field not given.
pub(crate) fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(map) => {
            if map.values().any(Value::is_null) {
                map.retain(|_, value| !value.is_null());
            }
            map.values_mut().for_each(drop_nulls);
        }
        Value::Array(list) => list.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
