//! The `sharding` section: which nodes are ours where several schedulers divide a cluster. Volcano has
//! flags for it; the section is our own addition to the format, for simulations too.

use muster_core::config::{Sharding, ShardingMode};
use muster_core::ids::Name;

use super::error::Problem;
use super::nearest;
use super::reader::{Field, Reader};
use super::tree::{Node, Value};

/// The keys of the section.
pub(super) const KEYS: [&str; 2] = ["mode", "name"];

/// Name of the shard where none is given, as in Volcano.
pub const DEFAULT_SHARD: &str = "volcano";

/// Reads the section; `None` if it says that all nodes are ours.
pub(super) fn read(reader: &mut Reader<'_>, node: &Node, field: Field<'_>) -> Option<Sharding> {
    let (mut mode, mut shard) = (None, DEFAULT_SHARD.into());
    for entry in reader.map(node, field) {
        let here = Field::Key(&field, &entry.key);
        match (entry.key.as_str(), &entry.node.value) {
            ("mode", Value::Text(text)) => match parse_mode(text) {
                Ok(found) => mode = found,
                Err(expected) => {
                    let found = entry.node.value.described();
                    reader.error(entry.node.at, here, Problem::OutOfRange { expected, found });
                }
            },
            ("mode", _) => reader.wrong_type(&entry.node, here, "none, hard or soft"),
            ("name", Value::Text(text)) if !text.is_empty() => shard = text.as_str().into(),
            ("name", _) => reader.wrong_type(&entry.node, here, "the name of a NodeShard"),
            _ => {
                let hint = nearest::hint(&entry.key, KEYS);
                let problem = Problem::UnknownKey { key: entry.key.clone(), hint };
                reader.error(entry.key_at, here, problem);
            }
        }
    }
    mode.map(|mode| Sharding { shard, mode })
}

/// A mode by its word; what was expected if it is none.
pub fn parse_mode(text: &str) -> Result<Option<ShardingMode>, String> {
    if text == "none" {
        return Ok(None);
    }
    let found = ShardingMode::ALL.into_iter().find(|mode| mode.as_str() == text);
    found.map(Some).ok_or_else(|| "none, hard or soft".to_owned())
}

/// What flags say of sharding, which counts before what a configuration says, the one that is read
/// later included.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ShardingOverride {
    /// The mode, if one is given; inside, none says that all nodes are ours.
    pub mode: Option<Option<ShardingMode>>,
    /// The name, if one is given.
    pub name: Option<Name>,
}

impl ShardingOverride {
    /// What holds, given what the configuration says.
    pub fn over(&self, said: Option<Sharding>) -> Option<Sharding> {
        let mode = self.mode.unwrap_or(said.as_ref().map(|said| said.mode))?;
        let name = self.name.clone().or(said.map(|said| said.shard));
        Some(Sharding { shard: name.unwrap_or_else(|| DEFAULT_SHARD.into()), mode })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_count_before_the_file() {
        let said = || Some(Sharding { shard: "file".into(), mode: ShardingMode::Soft });
        let given =
            |mode, name: Option<&str>| ShardingOverride { mode, name: name.map(Into::into) };
        assert_eq!(given(None, None).over(said()), said());
        assert_eq!(given(None, None).over(None), None);
        assert_eq!(given(Some(None), Some("flag")).over(said()), None);
        let hard = Some(Some(ShardingMode::Hard));
        let held = |shard: &str, mode| Some(Sharding { shard: shard.into(), mode });
        assert_eq!(given(hard, None).over(said()), held("file", ShardingMode::Hard));
        assert_eq!(given(hard, None).over(None), held(DEFAULT_SHARD, ShardingMode::Hard));
        assert_eq!(given(None, Some("flag")).over(said()), held("flag", ShardingMode::Soft));
    }
}
