//! KAI's Topology (`kai.scheduler/v1alpha1`): domains by the labels of nodes.

use std::collections::BTreeSet;

use muster_core::delta::{ClusterDelta, ObjectRef, TopologyFacts, TopologyLevel};
use muster_core::ids::{Name, ObjectKey};
use schemars::JsonSchema;
use serde::Deserialize;

use super::Metadata;
use super::translate::{About, OwnerRule, Translate, TranslateError, label};

/// A topology by labels of nodes.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct LevelTopology {
    /// Its metadata.
    pub metadata: Metadata,
    /// Its levels.
    pub spec: LevelTopologySpec,
}

/// The levels of the topology.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct LevelTopologySpec {
    /// Widest first.
    pub levels: Vec<NodeLabelLevel>,
}

/// A level of the topology.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeLabelLevel {
    /// Label whose values tell the domains of the level apart.
    pub node_label: String,
    /// Another word for the level.
    pub alias: String,
}

/// Most levels KAI allows.
const LEVELS_MAX: usize = 16;

/// The label whose values are single nodes: nothing is below them.
const HOSTNAME: &str = "kubernetes.io/hostname";

impl Translate for LevelTopology {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::Topology(key.name)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let levels = &self.spec.levels;
        if !(1..=LEVELS_MAX).contains(&levels.len()) {
            let problem = format!("has {} levels; expected 1 to {LEVELS_MAX}", levels.len());
            return Err(about.malformed("spec.levels", problem));
        }
        check_words(about, levels)?;
        let levels = levels.iter().map(|level| TopologyLevel {
            label: level.node_label.as_str().into(),
            alias: Some(level.alias.as_str().into()).filter(|alias: &Name| !alias.is_empty()),
        });
        Ok(TopologyFacts { name: about.name(), levels: levels.collect() }.into())
    }
}

/// Does every label and every alias mean one level?
fn check_words(about: &About<'_>, levels: &[NodeLabelLevel]) -> Result<(), TranslateError> {
    let mut words = BTreeSet::new();
    for (at, level) in levels.iter().enumerate() {
        let field = format!("spec.levels[{at}].nodeLabel");
        let key = level.node_label.as_str();
        if !label::is_key(key) {
            return Err(about.malformed(field, format!("{key:?} is not a label key")));
        }
        if key == HOSTNAME && at + 1 < levels.len() {
            let problem = format!("{HOSTNAME} has no level below it; expected it last");
            return Err(about.malformed(field, problem));
        }
        if !words.insert(key) {
            return Err(about.malformed(field, format!("{key} is a level already")));
        }
    }
    for (at, level) in levels.iter().enumerate().filter(|(_, level)| !level.alias.is_empty()) {
        if !words.insert(&level.alias) {
            let problem = format!("{:?} names another level already", level.alias);
            return Err(about.malformed(format!("spec.levels[{at}].alias"), problem));
        }
    }
    Ok(())
}
