//! KAI's PodGroup (`scheduling.run.ai/v2alpha2`).

use muster_core::config::Pool;
use muster_core::delta::{ClusterDelta, GroupTree, LevelWish, ObjectRef, PodGroupFacts, Tries};
use muster_core::ids::{Name, ObjectKey, TimeMs};
use muster_core::status::{GroupReport, SaidIn};
use schemars::JsonSchema;
use serde::Deserialize;

use super::translate::{About, OwnerRule, Translate, TranslateError, group_tree};
use super::{KaiPodGroupStatus, Metadata};

/// A gang of KAI's.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct KaiPodGroup {
    /// Its metadata.
    pub metadata: Metadata,
    /// What it asks for.
    pub spec: KaiPodGroupSpec,
    /// What schedulers said of it.
    pub status: KaiPodGroupStatus,
    /// What its annotations tell of its past; filled by the reader, which alone knows the epoch of
    /// its clock.
    #[serde(skip)]
    pub past: GroupPast,
}

/// What the gang asks for.
// Counts are signed so that a negative one is refused by name and not by its number format.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KaiPodGroupSpec {
    /// Fewest pods worth running, where there are no sub-groups; absent is 1.
    pub min_member: Option<i64>,
    /// Fewest of the top sub-groups worth running; absent is all.
    pub min_sub_group: Option<i64>,
    /// Its queue.
    pub queue: String,
    /// Priority class of the gang.
    pub priority_class_name: String,
    /// `preemptible` or `non-preemptible`; empty goes by the priority.
    pub preemptibility: String,
    /// Does the status of its pods say that they cannot be scheduled? Absent is yes; events say it anyway.
    pub mark_unschedulable: Option<bool>,
    /// After how many vain cycles in one node pool it is left alone: 1, or -1 for never; absent is -1.
    pub scheduling_backoff: Option<i64>,
    /// Within which levels of a topology its pods go.
    pub topology_constraint: Option<TopologyConstraint>,
    /// Gangs within the gang.
    pub sub_groups: Vec<KaiSubGroup>,
    /// How long it may run without its minimum; below zero is for ever.
    pub staleness_grace_period: Option<String>,
    /// How long it waits before others make way for it.
    pub preemption_delay: Option<String>,
}

/// Within which levels of a topology pods go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct TopologyConstraint {
    /// Name of the topology.
    pub topology: String,
    /// All in one domain of this level: its label, or its alias.
    pub required_topology_level: String,
    /// If possible, in one domain of this level.
    pub preferred_topology_level: String,
}

/// A gang within the gang, or a set of those.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KaiSubGroup {
    /// Its name.
    pub name: String,
    /// Fewest of its pods worth running, if no sub-group names it as its parent; absent is 0.
    pub min_member: Option<i64>,
    /// Fewest of its sub-groups worth running, if it has any; absent is all.
    pub min_sub_group: Option<i64>,
    /// The sub-group it is part of; absent is none.
    pub parent: Option<String>,
    /// Within which levels of a topology its pods go.
    pub topology_constraint: Option<TopologyConstraint>,
}

/// What the annotations of a PodGroup tell of its past, in milliseconds since the epoch of whoever read
/// the object.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GroupPast {
    /// When its minimum last started.
    pub last_start_ms: Option<i64>,
    /// Since when it has run without its minimum.
    pub stale_since_ms: Option<i64>,
    /// When it was last evicted.
    pub last_eviction_ms: Option<i64>,
}

/// Annotation: when the minimum last started.
pub(crate) const LAST_START: &str = "kai.scheduler/last-start-timestamp";
/// Annotation: since when the gang has run without its minimum.
pub(crate) const STALE_SINCE: &str = "kai.scheduler/stale-podgroup-timestamp";
/// Annotation: when a pod was last evicted.
pub(crate) const LAST_EVICTION: &str = "kai.scheduler/last-eviction-timestamp";

/// Label with the node pool a gang is to run in, unless the scheduler goes by another.
const NODE_POOL: &str = "kai.scheduler/node-pool";
/// The node pool of a gang without the label.
const DEFAULT_POOL: &str = "default";

/// `schedulingBackoff` of a gang that is tried again and again.
const ALWAYS: i64 = -1;
/// `schedulingBackoff` of a gang that is tried once in a node pool.
const ONCE: i64 = 1;

/// Fewest pods of a PodGroup that does not say.
const MIN_MEMBER: u32 = 1;

impl KaiPodGroup {
    /// Reads the times in its annotations; one that cannot be read counts as not given.
    pub(super) fn read_past(&mut self, read: impl Fn(&str) -> Option<i64>) {
        let time = |key: &str| self.metadata.annotations.get(key).and_then(|text| read(text));
        self.past = GroupPast {
            last_start_ms: time(LAST_START),
            stale_since_ms: time(STALE_SINCE),
            last_eviction_ms: time(LAST_EVICTION),
        };
    }

    /// The node pool it is to run in, for a scheduler that has divided the cluster or not.
    pub(crate) fn pool(&self, ours: Option<&Pool>) -> Name {
        let label = ours.map_or(NODE_POOL, |pool| &pool.key);
        self.metadata.labels.get(label).map_or(DEFAULT_POOL, String::as_str).into()
    }

    /// The tree of its sub-groups and the terms of its own.
    fn tree(&self, about: &About<'_>, owner: &OwnerRule) -> Result<GroupTree, TranslateError> {
        let spec = &self.spec;
        let subgroups = group_tree::nodes(about, &spec.sub_groups)?;
        let grace = spec.staleness_grace_period.as_ref();
        let delay = spec.preemption_delay.as_ref();
        Ok(GroupTree {
            min_subgroups: group_tree::min_at_top(about, spec, &subgroups)?,
            subgroups,
            levels: level_wish(about, spec.topology_constraint.as_ref(), "spec")?,
            staleness_grace_ms: grace
                .map(|text| about.duration_ms("spec.stalenessGracePeriod", text))
                .transpose()?,
            preemption_delay_ms: delay
                .map_or(Ok(0), |text| about.duration_ms("spec.preemptionDelay", text))?
                .max(0),
            last_start: self.past.last_start_ms.map(TimeMs),
            stale_since: self.past.stale_since_ms.map(TimeMs),
            last_eviction: self.past.last_eviction_ms.map(TimeMs),
            pool: self.pool(owner.view().pool.as_ref()),
            pods_say: match spec.mark_unschedulable {
                Some(false) => SaidIn::EventAlone,
                _ => SaidIn::Status,
            },
            tries: match spec.scheduling_backoff {
                Some(ONCE) => Tries::One,
                _ => Tries::Many,
            },
            failed_in: self.status.newest_pool().map(Into::into),
        })
    }
}

impl Translate for KaiPodGroup {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::PodGroup(key)
    }

    fn delta(&self, about: &About<'_>, owner: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let spec = &self.spec;
        let Some(queue) = about.optional_name("spec.queue", &spec.queue)? else {
            let problem = "is missing; KAI's PodGroups have no default queue";
            return Err(about.malformed("spec.queue", problem));
        };
        let member = group_tree::count(about, "spec.minMember", spec.min_member)?;
        let tree = self.tree(about, owner)?;
        let min_member = if tree.subgroups.is_empty() {
            member.unwrap_or(MIN_MEMBER)
        } else {
            tree.least_pods()
        };
        Ok(PodGroupFacts {
            key: about.key(),
            uid: about.uid(),
            created: about.created(),
            queue: Some(queue),
            min_member,
            min_task_member: Vec::new(),
            min_resources: None,
            wait_ms: None,
            priority_class: about
                .optional_name("spec.priorityClassName", &spec.priority_class_name)?,
            preemptable: preemptible(about, &spec.preemptibility)?,
            budget: None,
            role_topology: None,
            topology: None,
            subgroups: group_tree::flat(&tree).unwrap_or_default(),
            phase: None,
            report: GroupReport::default(),
            tree: Some(Box::new(tree)),
        }
        .into())
    }

    fn unsupported(&self) -> Vec<String> {
        let spec = &self.spec;
        let mut found = Vec::new();
        if spec.scheduling_backoff.is_some_and(|cycles| ![ALWAYS, ONCE].contains(&cycles)) {
            found.push("has a schedulingBackoff other than 1 and -1, which counts as -1".into());
        }
        if spec.preemption_delay.as_ref().is_some_and(|text| text.starts_with('-')) {
            found.push("has a preemptionDelay below 0s, which counts as none".into());
        }
        let past = [
            (LAST_START, self.past.last_start_ms),
            (STALE_SINCE, self.past.stale_since_ms),
            (LAST_EVICTION, self.past.last_eviction_ms),
        ];
        for (key, read) in past {
            if read.is_none() && self.metadata.annotations.contains_key(key) {
                found.push(format!("has an annotation {key} that is no time and is not used"));
            }
        }
        found
    }
}

/// May its pods be evicted for others? None goes by the priority.
fn preemptible(about: &About<'_>, text: &str) -> Result<Option<bool>, TranslateError> {
    if text.is_empty() {
        return Ok(None);
    }
    preemptibility(text).map(Some).ok_or_else(|| {
        let problem = format!("{text:?} is neither preemptible nor non-preemptible");
        about.malformed("spec.preemptibility", problem)
    })
}

/// KAI's words for whether pods may be evicted for others.
pub(in crate::objects) fn preemptibility(text: &str) -> Option<bool> {
    match text {
        "preemptible" => Some(true),
        "non-preemptible" => Some(false),
        _ => None,
    }
}

/// The wish a constraint makes; `owner` is the path of the PodGroup or sub-group that has it.
pub(in crate::objects) fn level_wish(
    about: &About<'_>,
    constraint: Option<&TopologyConstraint>,
    owner: &str,
) -> Result<Option<LevelWish>, TranslateError> {
    let Some(constraint) = constraint.filter(|one| **one != TopologyConstraint::default()) else {
        return Ok(None);
    };
    let field = format!("{owner}.topologyConstraint.topology");
    let Some(topology) = about.optional_name(&field, &constraint.topology)? else {
        return Err(about.malformed(field, "is missing; expected the name of a Topology"));
    };
    let level = |text: &str| Some(Name::from(text)).filter(|level| !level.is_empty());
    Ok(Some(LevelWish {
        topology,
        required: level(&constraint.required_topology_level),
        preferred: level(&constraint.preferred_topology_level),
    }))
}
