//! The `pipeline` section: how reservations are kept. Our own addition to the format.

use muster_core::config::{Persistence, PipelineConfig};

use super::error::Problem;
use super::nearest;
use super::reader::{Field, Reader};
use super::schedule::milliseconds;
use super::tree::{Node, Value};

/// The keys of the section.
pub(super) const KEYS: [&str; 2] = ["persistence", "deadline"];

/// Reads the section over the defaults.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node, field: Field<'_>) -> PipelineConfig {
    let mut config = PipelineConfig::default();
    for entry in reader.map(node, field) {
        let here = Field::Key(&field, &entry.key);
        match entry.key.as_str() {
            "persistence" => {
                config.persistence =
                    persistence(reader, &entry.node, here).unwrap_or(config.persistence);
                if config.persistence == Persistence::None {
                    let why = "reservations are forgotten at the end of each cycle; this is for \
                               comparisons only";
                    reader.warn(entry.node.at, here, why);
                }
            }
            "deadline" => {
                let deadline = milliseconds(reader, &entry.node, here);
                let deadline = deadline.and_then(|ms| i64::try_from(ms).ok());
                config.deadline_ms = deadline.unwrap_or(config.deadline_ms);
            }
            _ => {
                let hint = nearest::hint(&entry.key, KEYS);
                let problem = Problem::UnknownKey { key: entry.key.clone(), hint };
                reader.error(entry.key_at, here, problem);
            }
        }
    }
    config
}

fn persistence(reader: &mut Reader<'_>, node: &Node, field: Field<'_>) -> Option<Persistence> {
    let words = Persistence::ALL.map(Persistence::as_str);
    let expected = format!("one of {}", words.join(", "));
    let Value::Text(text) = &node.value else {
        reader.wrong_type(node, field, expected);
        return None;
    };
    let found = Persistence::ALL.into_iter().find(|persistence| persistence.as_str() == text);
    if found.is_none() {
        let found = node.value.described();
        reader.error(node.at, field, Problem::OutOfRange { expected, found });
    }
    found
}
