//! The `metrics` section: where Volcano reads the load of nodes. Checked, but nothing reads load
//! yet, which is said.

use super::error::Problem;
use super::nearest;
use super::reader::{Field, Reader};
use super::tree::{Node, Value};

const KEYS: [&str; 8] = [
    "type",
    "address",
    "interval",
    "tls.insecureSkipVerify",
    "elasticsearch.index",
    "elasticsearch.username",
    "elasticsearch.password",
    "elasticsearch.hostnameFieldName",
];

/// Checks the section; nothing of it is kept.
pub(super) fn check(reader: &mut Reader<'_>, node: &Node, field: Field<'_>) {
    let entries = reader.map(node, field);
    for entry in entries {
        let here = Field::Key(&field, &entry.key);
        if !KEYS.contains(&entry.key.as_str()) {
            let hint = nearest::hint(&entry.key, KEYS);
            let problem = Problem::UnknownKey { key: entry.key.clone(), hint };
            reader.error(entry.key_at, here, problem);
        }
        // Volcano takes any scalar as a text here, `tls.insecureSkipVerify: true` included.
        if matches!(entry.node.value, Value::List(_) | Value::Map(_)) {
            reader.wrong_type(&entry.node, here, "a text");
        }
    }
    if !entries.is_empty() {
        reader.warn(node.at, field, "has no effect yet: no plugin of this version reads node load");
    }
}
