//! The `schedule` section: how the cycle uses the machine. Our own addition to the format.

use muster_core::config::{EvictionMode, Tuning};

use super::error::Problem;
use super::reader::{Field, Reader};
use super::tree::{Node, Value};
use super::{duration, nearest};

/// The keys of the section.
pub(super) const KEYS: [&str; 7] = [
    "threads",
    "rowsPerBlock",
    "parallelThreshold",
    "actionBudget",
    "jobsPerQueue",
    "period",
    "eviction",
];

/// More threads than any machine has; a larger number is a slip.
const MOST_THREADS: i64 = 1024;
/// Rows of a whole cluster; a larger number is a slip.
const MOST_ROWS: i64 = 1 << 30;

/// Reads the section over the defaults.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node, field: Field<'_>) -> Tuning {
    let mut tuning = Tuning::default();
    for entry in reader.map(node, field) {
        let here = Field::Key(&field, &entry.key);
        let node = &entry.node;
        match entry.key.as_str() {
            "threads" => {
                let threads = whole(reader, node, here, 1, MOST_THREADS);
                tuning.threads = threads.map(|number| number as usize);
            }
            "rowsPerBlock" => {
                if let Some(rows) = rows_per_block(reader, node, here) {
                    tuning.rows_per_block = rows;
                }
            }
            "parallelThreshold" => {
                if let Some(rows) = whole(reader, node, here, 0, MOST_ROWS) {
                    tuning.parallel_threshold = rows as usize;
                }
            }
            "actionBudget" => tuning.action_budget_ms = milliseconds(reader, node, here),
            "jobsPerQueue" => {
                let jobs = whole(reader, node, here, 1, i64::from(u32::MAX));
                tuning.jobs_per_queue = jobs.map(|number| number as u32);
            }
            "period" => {
                if let Some(period) = milliseconds(reader, node, here) {
                    tuning.period_ms = period;
                }
            }
            "eviction" => tuning.eviction = eviction(reader, node, here),
            _ => {
                let hint = nearest::hint(&entry.key, KEYS);
                let problem = Problem::UnknownKey { key: entry.key.clone(), hint };
                reader.error(entry.key_at, here, problem);
            }
        }
    }
    tuning
}

/// `eviction: {mode: delete | evict}`.
fn eviction(reader: &mut Reader<'_>, node: &Node, field: Field<'_>) -> EvictionMode {
    let mut mode = EvictionMode::default();
    for entry in reader.map(node, field) {
        let here = Field::Key(&field, &entry.key);
        if entry.key != "mode" {
            let hint = nearest::hint(&entry.key, ["mode"]);
            let problem = Problem::UnknownKey { key: entry.key.clone(), hint };
            reader.error(entry.key_at, here, problem);
            continue;
        }
        match &entry.node.value {
            Value::Text(text) if text == "delete" => mode = EvictionMode::Delete,
            Value::Text(text) if text == "evict" => mode = EvictionMode::Evict,
            _ => reader.wrong_type(&entry.node, here, "delete or evict"),
        }
    }
    mode
}

fn whole(
    reader: &mut Reader<'_>,
    node: &Node,
    field: Field<'_>,
    least: i64,
    most: i64,
) -> Option<i64> {
    let expected = format!("a whole number from {least} to {most}");
    match node.value {
        Value::Int(number) if (least..=most).contains(&number) => Some(number),
        Value::Int(number) => {
            let found = number.to_string();
            reader.error(node.at, field, Problem::OutOfRange { expected, found });
            None
        }
        _ => {
            reader.wrong_type(node, field, expected);
            None
        }
    }
}

/// Masks have 64 nodes a word; a block must not share a word with its neighbour.
fn rows_per_block(reader: &mut Reader<'_>, node: &Node, field: Field<'_>) -> Option<usize> {
    let rows = whole(reader, node, field, 64, MOST_ROWS)?;
    if rows % 64 != 0 {
        let expected = "a multiple of 64".to_owned();
        reader.error(node.at, field, Problem::OutOfRange { expected, found: rows.to_string() });
        return None;
    }
    Some(rows as usize)
}

/// A length of time of at least a millisecond.
pub(super) fn milliseconds(reader: &mut Reader<'_>, node: &Node, field: Field<'_>) -> Option<u64> {
    let expected = "a length of time of at least 1ms, such as \"500ms\" or \"1m30s\"";
    let Value::Text(text) = &node.value else {
        reader.wrong_type(node, field, expected);
        return None;
    };
    let length = duration::parse_ms(text).filter(|ms| *ms > 0);
    if length.is_none() {
        let found = node.value.described();
        reader.error(node.at, field, Problem::OutOfRange { expected: expected.to_owned(), found });
    }
    length
}
