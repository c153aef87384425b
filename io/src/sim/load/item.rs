//! One document or list entry to objects: a real object, a short form, or neither.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::decode::decode;
use super::error::{FieldError, join};
use crate::objects::translate::{Fault, OwnerRule, translate};
use crate::objects::{Decode, Object, ObjectKind};
use crate::sim::expand::{RUN_FOR, ShortForm};
use crate::sim::{clock, duration};

/// A value and where it stands in its document.
pub(super) struct Item {
    pub(super) path: String,
    pub(super) value: Value,
}

/// What an item turned out to be.
#[derive(Debug)]
pub(super) enum Read {
    /// A real object.
    Object(Object),
    /// A short form.
    Short(ShortForm),
    /// An object of a kind scheduling does not know, named as a reader would.
    Unknown(String),
}

/// Puts the value, or the members of the list it is, behind `items`.
pub(super) fn unroll(path: String, mut value: Value, items: &mut Vec<Item>) {
    let member_kind = match value.get("kind") {
        Some(Value::String(kind)) => kind.strip_suffix("List").map(str::to_owned),
        _ => None,
    };
    // `PodList` and its like leave the kind of their members out.
    let known = |kind: &str| kind.is_empty() || ObjectKind::by_name(kind).is_some();
    let Some(member_kind) = member_kind.filter(|kind| known(kind)) else {
        return items.push(Item { path, value });
    };
    let Some(Value::Array(members)) = value.get_mut("items").map(Value::take) else {
        return items.push(Item { path, value });
    };
    let api_version = value.get("apiVersion").cloned();
    for (at, mut member) in members.into_iter().enumerate() {
        if let Value::Object(map) = &mut member
            && !member_kind.is_empty()
        {
            map.entry("kind").or_insert_with(|| member_kind.clone().into());
            if let Some(version) = &api_version {
                map.entry("apiVersion").or_insert_with(|| version.clone());
            }
        }
        unroll(join(&path, &format!("items[{at}]")), member, items);
    }
}

/// Reads one item and checks that the scheduler can make sense of it.
pub(super) fn read(value: Value, owner: &OwnerRule) -> Result<Read, FieldError> {
    let Value::Object(map) = value else {
        return Err(FieldError::new("", "expected an object: a mapping with kind and metadata"));
    };
    let Some(kind) = text(&map, "kind")? else {
        return Err(FieldError::new("kind", "is missing; expected the object's kind"));
    };
    let kind = kind.to_owned();
    let api_version = text(&map, "apiVersion")?.map(str::to_owned);
    if let Some(kind) = ObjectKind::of(api_version.as_deref(), &kind) {
        return object(kind, map, owner).map(Read::Object);
    }
    if api_version.as_deref().is_none_or(|version| version == super::API_VERSION)
        && let Some(form) = ShortForm::read(&kind, map)
    {
        return form.map(Read::Short);
    }
    Ok(Read::Unknown(match api_version {
        Some(version) => format!("{kind} ({version})"),
        None => kind,
    }))
}

fn text<'a>(map: &'a Map<String, Value>, field: &str) -> Result<Option<&'a str>, FieldError> {
    match map.get(field) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(other) => Err(FieldError::new(field, format!("{other} is not text"))),
    }
}

fn object(
    kind: ObjectKind,
    map: Map<String, Value>,
    owner: &OwnerRule,
) -> Result<Object, FieldError> {
    let mut object = Object::decode(kind, Written(Value::Object(map)))?;
    if let Object::Inert { key, .. } = &object {
        let problem = "is missing; expected a name";
        let named = !key.name.is_empty();
        return if named { Ok(object) } else { Err(FieldError::new("metadata.name", problem)) };
    }
    check(&object, owner)?;
    object.read_times(clock::parse_rfc3339);
    if let Some(metadata) = object.metadata()
        && let (Some(text), None) = (&metadata.creation_timestamp, metadata.created_ms)
    {
        time(text, "metadata.creationTimestamp")?;
    }
    if let Some(text) = object.metadata().and_then(|metadata| metadata.deletion_timestamp.as_ref())
    {
        time(text, "metadata.deletionTimestamp")?;
    }
    if let Object::NodeMetrics(metrics) = &mut object
        && let Some(text) = &metrics.timestamp
    {
        metrics.measured_ms = Some(time(text, "timestamp")?);
    }
    Ok(object)
}

/// The virtual time a field names.
fn time(text: &str, field: &str) -> Result<i64, FieldError> {
    clock::parse_rfc3339(text).ok_or_else(|| {
        let problem =
            format!("{text:?} is not an RFC 3339 time; expected one such as 2026-01-01T00:00:00Z");
        FieldError::new(field, problem)
    })
}

/// An object as it stands in a file.
struct Written(Value);

impl Decode for Written {
    type Error = FieldError;

    fn decode<T: DeserializeOwned>(self) -> Result<Box<T>, FieldError> {
        decode(self.0)
    }
}

/// Is the object one that a cluster could hold? One that makes no sense to the scheduler is among
/// them: it will be set aside.
pub(super) fn check(object: &Object, owner: &OwnerRule) -> Result<(), FieldError> {
    if let Err(error) = translate(object, owner)
        && error.fault == Fault::Input
    {
        let title = error.kind.title(&error.key);
        // An object without a name is named by its kind alone.
        let name = if error.key.name.is_empty() { "" } else { &title };
        let whose = format!("{} {name}", error.kind);
        let problem = format!("{}: {}", whose.trim_end(), error.problem);
        return Err(FieldError::new(error.field, problem));
    }
    if let Some(text) = object.metadata().and_then(|metadata| metadata.annotations.get(RUN_FOR)) {
        let field = || format!("metadata.annotations[{RUN_FOR:?}]");
        match duration::parse_ms(text) {
            Err(problem) => return Err(FieldError::new(field(), problem.to_string())),
            Ok(ms) if ms < 0 => {
                let problem = format!("{text:?} is negative; expected 0s or more");
                return Err(FieldError::new(field(), problem));
            }
            Ok(_) => {}
        }
    }
    Ok(())
}
