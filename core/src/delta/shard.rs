//! Facts about shards of nodes.

use crate::ids::Name;
use crate::status::ShardReport;

/// A `NodeShard`: the nodes one of several schedulers of a cluster is to use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeShardFacts {
    /// Object name.
    pub name: Name,
    /// `spec.nodesDesired`: the nodes its scheduler is to use, sorted, each once.
    pub desired: Vec<Name>,
    /// What its scheduler says of it.
    pub status: ShardReport,
}
