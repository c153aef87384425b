//! Shards: which nodes are ours where several schedulers divide a cluster among them.
//!
//! Each has a `NodeShard` with the nodes it is to use, and says in its status which it does use. A
//! node that moves from one to another is nobody's new node until the old scheduler has let it go.

use std::collections::{BTreeMap, BTreeSet};

use bevy_ecs::prelude::Resource;

use crate::config::{Sharding, ShardingMode};
use crate::delta::NodeShardFacts;
use crate::ids::Name;
use crate::status::ShardReport;

/// Whose a node is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum NodeShare {
    /// Ours.
    #[default]
    Own,
    /// Another scheduler's: closed.
    Others,
    /// Another scheduler's: used where none of our own will do.
    LastResort,
}

/// Every shard, and which of them is ours.
#[derive(Debug, Default, Resource)]
pub(crate) struct Shards {
    setting: Option<Sharding>,
    known: BTreeMap<Name, NodeShardFacts>,
    /// Nodes of our shard that no other scheduler uses.
    usable: BTreeSet<Name>,
    /// What was last written of our shard, until the object is seen again.
    written: Option<ShardReport>,
}

impl Shards {
    /// Nothing is known yet.
    pub(crate) fn new(setting: Option<Sharding>) -> Self {
        Self { setting, ..Self::default() }
    }

    /// Another setting; true if it differs.
    pub(crate) fn set_setting(&mut self, setting: Option<Sharding>) -> bool {
        let differs = self.setting != setting;
        if differs {
            self.setting = setting;
            self.written = None;
        }
        differs
    }

    /// Replaces what is known of a shard.
    pub(crate) fn set(&mut self, facts: NodeShardFacts) {
        self.forget_written(&facts.name);
        self.known.insert(facts.name.clone(), facts);
    }

    /// Forgets a shard.
    pub(crate) fn remove(&mut self, name: &Name) {
        self.forget_written(name);
        self.known.remove(name);
    }

    fn forget_written(&mut self, name: &Name) {
        if self.setting.as_ref().is_some_and(|setting| setting.shard == *name) {
            self.written = None;
        }
    }

    /// Finds out which nodes are usable now. Without an object of ours none is.
    pub(crate) fn settle(&mut self) {
        self.usable.clear();
        let Some(setting) = &self.setting else { return };
        let Some(own) = self.known.get(&setting.shard) else { return };
        self.usable.extend(own.desired.iter().cloned());
        for other in self.known.values().filter(|other| other.name != own.name) {
            for node in &other.status.in_use {
                self.usable.remove(node);
            }
        }
    }

    /// Whose a node is.
    pub(crate) fn share(&self, node: &Name) -> NodeShare {
        match &self.setting {
            None => NodeShare::Own,
            Some(_) if self.usable.contains(node) => NodeShare::Own,
            Some(setting) => match setting.mode {
                ShardingMode::Hard => NodeShare::Others,
                ShardingMode::Soft => NodeShare::LastResort,
            },
        }
    }

    /// The status our shard should have, if it has another and none was written since it was seen.
    pub(crate) fn report(&mut self) -> Option<(Name, ShardReport)> {
        let own = self.known.get(&self.setting.as_ref()?.shard)?;
        let in_use: Vec<Name> = self.usable.iter().cloned().collect();
        let to_add = own.desired.iter().filter(|node| !self.usable.contains(*node));
        // What is desired no longer is not used from the same moment on.
        let report =
            ShardReport { in_use, to_add: to_add.cloned().collect(), to_remove: Vec::new() };
        if report == own.status || self.written.as_ref() == Some(&report) {
            return None;
        }
        self.written = Some(report.clone());
        Some((own.name.clone(), report))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(list: &[&str]) -> Vec<Name> {
        list.iter().map(|&name| name.into()).collect()
    }

    fn shard(name: &str, desired: &[&str], in_use: &[&str]) -> NodeShardFacts {
        let status = ShardReport { in_use: names(in_use), ..ShardReport::default() };
        NodeShardFacts { name: name.into(), desired: names(desired), status }
    }

    fn of_ours(mode: ShardingMode) -> Shards {
        Shards::new(Some(Sharding { shard: "ours".into(), mode }))
    }

    #[test]
    fn a_node_another_uses_is_not_ours_until_it_lets_go() {
        let mut shards = of_ours(ShardingMode::Hard);
        shards.set(shard("ours", &["a", "b"], &[]));
        shards.set(shard("theirs", &["c"], &["b", "c"]));
        shards.settle();
        let share = |shards: &Shards| ["a", "b", "c"].map(|node| shards.share(&node.into()));
        assert_eq!(share(&shards), [NodeShare::Own, NodeShare::Others, NodeShare::Others]);
        let (name, report) = shards.report().unwrap();
        assert_eq!((&*name, report.in_use, report.to_add), ("ours", names(&["a"]), names(&["b"])));
        assert_eq!(shards.report(), None, "it is written once");
        shards.set(shard("theirs", &["c"], &["c"]));
        shards.settle();
        assert_eq!(share(&shards), [NodeShare::Own, NodeShare::Own, NodeShare::Others]);
        assert_eq!(shards.report().unwrap().1.in_use, names(&["a", "b"]));
    }

    #[test]
    fn a_status_that_says_so_already_is_not_written() {
        let mut shards = of_ours(ShardingMode::Soft);
        shards.set(shard("ours", &["a"], &["a"]));
        shards.settle();
        assert_eq!(shards.report(), None);
        assert_eq!(shards.share(&"b".into()), NodeShare::LastResort);
    }

    #[test]
    fn without_a_setting_every_node_is_ours() {
        let mut shards = Shards::new(None);
        shards.set(shard("theirs", &["a"], &["a"]));
        shards.settle();
        assert_eq!(shards.share(&"a".into()), NodeShare::Own);
        assert_eq!(shards.report(), None);
        assert!(
            shards.set_setting(Some(Sharding { shard: "ours".into(), mode: ShardingMode::Hard }))
        );
        shards.settle();
        assert_eq!(shards.share(&"b".into()), NodeShare::Others, "our object is not there");
    }
}
