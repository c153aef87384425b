//! Lines of what is wrong. Values do not remember where they stood, so a file with an error is
//! parsed once more, this time for the places alone.

use std::collections::BTreeMap;
use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_saphyr::Spanned;

use super::documents;
use super::error::LoadErrors;

/// Files above this size are not parsed twice; their errors name document and field only.
const FILE_BYTES_MAX: u64 = 16 << 20;

/// Fills in the lines of errors that name a field.
pub(super) fn fill_lines(LoadErrors(mut errors): LoadErrors) -> LoadErrors {
    let mut files: BTreeMap<PathBuf, Vec<Place>> = BTreeMap::new();
    for error in &mut errors {
        let Some(document) = error.document.filter(|_| error.line.is_none()) else { continue };
        let places = files.entry(error.file.clone()).or_insert_with_key(|file| places(file));
        error.line = places.get(document - 1).and_then(|place| line_of(place, &error.field));
    }
    LoadErrors(errors)
}

/// The documents of a file as places; none where it cannot be found out.
fn places(file: &Path) -> Vec<Place> {
    let small = fs::metadata(file).is_ok_and(|metadata| metadata.len() <= FILE_BYTES_MAX);
    let text = if small { fs::read_to_string(file).unwrap_or_default() } else { String::new() };
    serde_saphyr::from_multiple_with_options(&text, documents::options()).unwrap_or_default()
}

type Place = Spanned<Shape>;

/// A value without its contents.
enum Shape {
    Map(Vec<(String, Place)>),
    List(Vec<Place>),
    Leaf,
}

/// The line of the field, or of the innermost value around it that exists.
fn line_of(place: &Place, path: &str) -> Option<usize> {
    let inner = match &place.value {
        Shape::List(list) => {
            let index = path.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            index.and_then(|(index, rest)| Some((list.get(index.parse::<usize>().ok()?)?, rest)))
        }
        Shape::Map(entries) => member(entries, path),
        Shape::Leaf => None,
    };
    let line = place.referenced.line() as usize;
    match inner {
        None => (line > 0).then_some(line),
        Some((place, rest)) => line_of(place, rest.strip_prefix('.').unwrap_or(rest)),
    }
}

/// The entry the path leads into and what is left of the path. Keys may have dots of their own, so
/// the longest that fits is taken.
fn member<'a, 'p>(entries: &'a [(String, Place)], path: &'p str) -> Option<(&'a Place, &'p str)> {
    let fits = |key: &str| {
        let bare =
            path.strip_prefix(key).filter(|rest| rest.is_empty() || rest.starts_with(['.', '[']));
        bare.or_else(|| path.strip_prefix(&format!("[{key:?}]")))
    };
    let fitting = entries.iter().filter_map(|(key, place)| Some((key.len(), place, fits(key)?)));
    fitting.max_by_key(|entry| entry.0).map(|(_, place, rest)| (place, rest))
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(ShapeVisitor)
    }
}

struct ShapeVisitor;

impl<'de> Visitor<'de> for ShapeVisitor {
    type Value = Shape;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any value")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Shape, A::Error> {
        let mut entries = Vec::new();
        while let Some(entry) = map.next_entry()? {
            entries.push(entry);
        }
        Ok(Shape::Map(entries))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Shape, A::Error> {
        let mut places = Vec::new();
        while let Some(place) = list.next_element()? {
            places.push(place);
        }
        Ok(Shape::List(places))
    }

    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<Shape, D::Error> {
        IgnoredAny::deserialize(deserializer).map(|_| Shape::Leaf)
    }

    fn visit_bool<E>(self, _: bool) -> Result<Shape, E> {
        Ok(Shape::Leaf)
    }

    fn visit_i64<E>(self, _: i64) -> Result<Shape, E> {
        Ok(Shape::Leaf)
    }

    fn visit_u64<E>(self, _: u64) -> Result<Shape, E> {
        Ok(Shape::Leaf)
    }

    fn visit_i128<E>(self, _: i128) -> Result<Shape, E> {
        Ok(Shape::Leaf)
    }

    fn visit_u128<E>(self, _: u128) -> Result<Shape, E> {
        Ok(Shape::Leaf)
    }

    fn visit_f64<E>(self, _: f64) -> Result<Shape, E> {
        Ok(Shape::Leaf)
    }

    fn visit_str<E>(self, _: &str) -> Result<Shape, E> {
        Ok(Shape::Leaf)
    }

    fn visit_unit<E>(self) -> Result<Shape, E> {
        Ok(Shape::Leaf)
    }

    fn visit_none<E>(self) -> Result<Shape, E> {
        Ok(Shape::Leaf)
    }
}
