//! What schedulers say in the status of KAI's PodGroup: a condition for each node pool the gang could not be
//! scheduled in.

use muster_core::status::{GangWait, UNSCHEDULABLE};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What schedulers said of the gang.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct KaiPodGroupStatus {
    /// Where it could not be scheduled, a node pool each; the newest last.
    pub scheduling_conditions: Vec<SchedulingCondition>,
}

/// That a gang could not be scheduled in one node pool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SchedulingCondition {
    /// `UnschedulableOnNodePool`.
    #[serde(rename = "type")]
    pub kind: String,
    /// The node pool.
    pub node_pool: String,
    /// `True` or `False`.
    pub status: String,
    /// `Unschedulable`.
    pub reason: String,
    /// Why, as a sentence.
    pub message: String,
    /// Why, one entry for each cause.
    pub reasons: Vec<UnschedulableReason>,
    /// Counts the changes of all conditions of the gang.
    #[serde(rename = "transitionID")]
    pub transition_id: String,
    /// RFC 3339 time of the change.
    pub last_transition_time: Option<String>,
}

/// Why a gang could not be scheduled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct UnschedulableReason {
    /// A word for it.
    pub reason: String,
    /// The same as a sentence.
    pub message: String,
}

/// Type of a [`SchedulingCondition`].
const UNSCHEDULABLE_ON_POOL: &str = "UnschedulableOnNodePool";

impl KaiPodGroupStatus {
    /// The change that was made last.
    pub(crate) fn newest(&self) -> Option<&SchedulingCondition> {
        let conditions = self.scheduling_conditions.iter();
        conditions.max_by_key(|condition| condition.transition())
    }

    /// The node pool in which it was last said that the gang cannot be scheduled.
    pub(crate) fn newest_pool(&self) -> Option<&str> {
        let newest = self.newest()?;
        let fails = newest.kind == UNSCHEDULABLE_ON_POOL && newest.status == "True";
        fails.then_some(newest.node_pool.as_str())
    }

    /// The number of the next change.
    pub(crate) fn next_transition(&self) -> u32 {
        self.newest().map_or(0, SchedulingCondition::transition).saturating_add(1)
    }
}

impl SchedulingCondition {
    /// The condition that says why a gang waits in its node pool, without the time.
    pub(crate) fn of(wait: &GangWait, transition: u32) -> Self {
        let message = wait.text();
        Self {
            kind: UNSCHEDULABLE_ON_POOL.to_owned(),
            node_pool: wait.pool.to_string(),
            status: "True".to_owned(),
            reason: UNSCHEDULABLE.to_owned(),
            message: message.clone(),
            reasons: vec![UnschedulableReason { reason: wait.class.reason.to_owned(), message }],
            transition_id: transition.to_string(),
            last_transition_time: None,
        }
    }

    /// The number of its change; one that is none comes before all others.
    fn transition(&self) -> u32 {
        self.transition_id.parse().unwrap_or(0)
    }
}
