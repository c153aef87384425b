//! Volcano's `NodeShard` (`shard.volcano.sh/v1alpha1`): which nodes one of several schedulers is to
//! use.

use muster_core::delta::{ClusterDelta, NodeShardFacts, ObjectRef};
use muster_core::ids::{Name, ObjectKey};
use muster_core::status::ShardReport;
use serde::Deserialize;

use super::Metadata;
use super::translate::{About, OwnerRule, Translate, TranslateError};

/// A shard of nodes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct NodeShard {
    /// Its metadata.
    pub metadata: Metadata,
    /// What its scheduler is to use.
    pub spec: NodeShardSpec,
    /// What its scheduler says of it.
    pub status: NodeShardStatus,
}

/// `spec` of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeShardSpec {
    /// Names of nodes.
    pub nodes_desired: Vec<String>,
}

/// `status` of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeShardStatus {
    /// Nodes in use.
    pub nodes_in_use: Vec<String>,
    /// Nodes that are desired and not in use yet.
    pub nodes_to_add: Vec<String>,
    /// Nodes in use that are not desired any more.
    pub nodes_to_remove: Vec<String>,
}

impl Translate for NodeShard {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::NodeShard(key.name)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let names = |field: &str, list: &[String]| -> Result<Vec<Name>, TranslateError> {
            let mut names = Vec::new();
            for (at, name) in list.iter().enumerate() {
                about.check_name(&format!("{field}[{at}]"), name)?;
                names.push(Name::from(name.as_str()));
            }
            names.sort();
            names.dedup();
            Ok(names)
        };
        let NodeShardStatus { nodes_in_use, nodes_to_add, nodes_to_remove } = &self.status;
        Ok(NodeShardFacts {
            name: about.name(),
            desired: names("spec.nodesDesired", &self.spec.nodes_desired)?,
            status: ShardReport {
                in_use: names("status.nodesInUse", nodes_in_use)?,
                to_add: names("status.nodesToAdd", nodes_to_add)?,
                to_remove: names("status.nodesToRemove", nodes_to_remove)?,
            },
        }
        .into())
    }
}
