//! Volcano's PodGroup (`scheduling.volcano.sh/v1beta1`).

use std::collections::BTreeMap;

use muster_core::config::duration::parse_ms;
use muster_core::delta::{
    self, ClusterDelta, GroupPhase, ObjectRef, PodGroupFacts, TierRef, TopologyMode, TopologyWish,
};
use muster_core::ids::ObjectKey;
use muster_core::status::{Condition, ConditionKind, GroupReport};
use schemars::JsonSchema;
use serde::Deserialize;

use super::translate::{
    About, OwnerRule, PREEMPTABLE, Translate, TranslateError, annotation_or_label, group_budget,
    label_selector, member, parse_bool, preemptable, role_topology,
};
use super::{LabelSelector, Metadata, ResourceMap};

/// A gang.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(default)]
pub struct PodGroup {
    /// Its metadata.
    pub metadata: Metadata,
    /// What it asks for.
    pub spec: PodGroupSpec,
    /// What became of it.
    pub status: PodGroupStatus,
}

/// What the gang asks for.
// Counts are signed so that a negative one is refused by name and not by its number format.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct PodGroupSpec {
    /// Fewest pods worth running.
    #[schemars(range(min = 0, max = i32::MAX))]
    pub min_member: Option<i64>,
    /// Fewest pods of each role.
    pub min_task_member: BTreeMap<String, i64>,
    /// Queue; empty is the default one.
    #[schemars(length(max = 253))]
    pub queue: String,
    /// Priority class of the gang.
    #[schemars(length(max = 253))]
    pub priority_class_name: String,
    /// Room that must be in sight before it is admitted.
    pub min_resources: Option<ResourceMap>,
    /// How close its pods must sit.
    pub network_topology: Option<NetworkTopology>,
    /// Gangs within the gang.
    pub sub_group_policy: Vec<SubGroupPolicy>,
}

/// How close pods must sit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct NetworkTopology {
    /// `hard` or `soft`; absent is `hard`.
    #[schemars(extend("enum" = ["hard", "soft"]))]
    pub mode: String,
    /// Widest tier, by number.
    #[schemars(range(min = 0, max = i32::MAX))]
    pub highest_tier_allowed: Option<i64>,
    /// Widest tier, by name.
    #[schemars(length(max = 253))]
    pub highest_tier_name: String,
}

/// A rule that makes sub-groups.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", default)]
pub struct SubGroupPolicy {
    /// Its name.
    pub name: String,
    /// Pods of one sub-group that must run together; absent is 1.
    #[schemars(range(min = 1, max = i32::MAX))]
    pub sub_group_size: Option<i64>,
    /// Sub-groups that must run; absent is 0.
    #[schemars(range(min = 0, max = i32::MAX))]
    pub min_sub_groups: Option<i64>,
    /// Labels whose values tell the sub-groups apart.
    pub match_label_keys: Vec<String>,
    /// Pods the policy looks at; absent is all.
    pub label_selector: Option<LabelSelector>,
    /// How close the pods of one sub-group must sit.
    pub network_topology: Option<NetworkTopology>,
}

/// What became of the gang.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PodGroupStatus {
    /// `Pending`, `Inqueue`, `Running`, `Unknown` or `Completed`; absent is `Pending`.
    pub phase: Option<String>,
    /// What holds of it, and what held once.
    pub conditions: Vec<PodGroupCondition>,
    /// Pods that run.
    pub running: u32,
    /// Pods that ended well.
    pub succeeded: u32,
    /// Pods that failed.
    pub failed: u32,
}

/// Something that holds, or held once.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(default)]
pub struct PodGroupCondition {
    /// `Unschedulable` or `Scheduled`.
    #[serde(rename = "type")]
    pub kind: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// A constant.
    pub reason: String,
    /// The same as a sentence.
    pub message: String,
}

impl Translate for PodGroup {
    fn object(key: ObjectKey) -> ObjectRef {
        ObjectRef::PodGroup(key)
    }

    fn delta(&self, about: &About<'_>, _: &OwnerRule) -> Result<ClusterDelta, TranslateError> {
        let spec = &self.spec;
        let roles = spec.min_task_member.iter().map(|(role, &min)| {
            Ok((role.as_str().into(), about.count(&member("spec.minTaskMember", role), min)?))
        });
        let subgroups = spec.sub_group_policy.iter().enumerate();
        let min_resources = spec.min_resources.as_ref();
        Ok(PodGroupFacts {
            key: about.key(),
            uid: about.uid(),
            created: about.created(),
            queue: about.optional_name("spec.queue", &spec.queue)?,
            min_member: about.count("spec.minMember", spec.min_member.unwrap_or(0))?,
            min_task_member: roles.collect::<Result<_, _>>()?,
            min_resources: min_resources
                .map(|map| about.resources(map, "spec.minResources"))
                .transpose()?,
            wait_ms: waiting_time(&self.metadata),
            priority_class: about
                .optional_name("spec.priorityClassName", &spec.priority_class_name)?,
            preemptable: preemptable(&self.metadata),
            budget: group_budget::budget(&self.metadata),
            role_topology: role_topology::wish(&self.metadata),
            topology: topology(about, spec.network_topology.as_ref(), "spec.networkTopology")?,
            subgroups: subgroups
                .map(|(at, policy)| subgroup(about, policy, &format!("spec.subGroupPolicy[{at}]")))
                .collect::<Result<_, _>>()?,
            phase: phase(about, self.status.phase.as_deref())?,
            report: report(&self.status),
            tree: None,
        }
        .into())
    }

    fn unsupported(&self) -> Vec<String> {
        let mut found = Vec::new();
        if self.spec.sub_group_policy.iter().any(|policy| policy.match_label_keys.is_empty()) {
            found.push(
                "has a subGroupPolicy without matchLabelKeys, which makes no sub-groups".to_owned(),
            );
        }
        if let Some(text) = annotation_or_label(&self.metadata, PREEMPTABLE)
            && parse_bool(text).is_none()
        {
            found.push(format!("has a {PREEMPTABLE} that is no boolean and counts as false"));
        }
        found.extend(group_budget::complaint(&self.metadata));
        found.extend(role_topology::complaint(&self.metadata));
        let given = WAITING_TIMES.iter().find(|key| self.metadata.annotations.contains_key(**key));
        if let Some(key) = given
            && waiting_time(&self.metadata).is_none()
        {
            found.push(format!(
                "has an annotation {key} that is no length of time above zero and is not used"
            ));
        }
        found
    }
}

/// What the status says beside the phase. Conditions of other types are other people's, and one
/// that does not hold says nothing.
fn report(status: &PodGroupStatus) -> GroupReport {
    let conditions = status.conditions.iter().filter(|entry| entry.status == "True");
    let conditions = conditions.filter_map(|entry| {
        let kinds = [ConditionKind::Unschedulable, ConditionKind::Scheduled];
        let kind = kinds.into_iter().find(|kind| kind.as_str() == entry.kind)?;
        let (reason, message) = (entry.reason.as_str().into(), entry.message.clone());
        Some(Condition { kind, reason, message })
    });
    GroupReport {
        running: status.running,
        succeeded: status.succeeded,
        failed: status.failed,
        conditions: conditions.collect(),
    }
}

/// Annotations that say how long the group may wait; the first that is there counts.
pub(in crate::objects) const WAITING_TIMES: [&str; 2] =
    ["volcano.sh/sla-waiting-time", "sla-waiting-time"];

/// How long the group may wait, in milliseconds; `None` if it does not say, or nothing that is a time.
pub(in crate::objects) fn waiting_time(metadata: &Metadata) -> Option<i64> {
    let text = WAITING_TIMES.iter().find_map(|key| metadata.annotations.get(*key))?;
    let ms = parse_ms(text).and_then(|ms| i64::try_from(ms).ok());
    ms.filter(|&ms| ms > 0)
}

fn subgroup(
    about: &About<'_>,
    policy: &SubGroupPolicy,
    field: &str,
) -> Result<delta::SubGroupPolicy, TranslateError> {
    let size = policy.sub_group_size.unwrap_or(1);
    if size < 1 {
        let problem = format!("{size} is not a size; expected 1 or more");
        return Err(about.fail(format!("{field}.subGroupSize"), problem));
    }
    let selector_field = format!("{field}.labelSelector");
    let selector = policy.label_selector.as_ref();
    let topology_field = format!("{field}.networkTopology");
    Ok(delta::SubGroupPolicy {
        name: policy.name.as_str().into(),
        size: about.count(&format!("{field}.subGroupSize"), size)?,
        min_subgroups: about
            .count(&format!("{field}.minSubGroups"), policy.min_sub_groups.unwrap_or(0))?,
        match_label_keys: policy.match_label_keys.iter().map(|key| key.as_str().into()).collect(),
        selector: selector
            .map(|selector| label_selector(about, selector, &selector_field))
            .transpose()?,
        topology: topology(about, policy.network_topology.as_ref(), &topology_field)?,
    })
}

fn topology(
    about: &About<'_>,
    wish: Option<&NetworkTopology>,
    field: &str,
) -> Result<Option<TopologyWish>, TranslateError> {
    let Some(wish) = wish else { return Ok(None) };
    let mode = match wish.mode.as_str() {
        "" | "hard" => TopologyMode::Hard,
        "soft" => TopologyMode::Soft,
        other => {
            let problem = format!("{other:?} is not a mode; expected hard or soft");
            return Err(about.fail(format!("{field}.mode"), problem));
        }
    };
    let tier = match (wish.highest_tier_allowed, wish.highest_tier_name.as_str()) {
        (None, "") => None,
        (Some(tier), "") => {
            Some(TierRef::Number(about.count(&format!("{field}.highestTierAllowed"), tier)?))
        }
        (None, name) => Some(TierRef::Named(name.into())),
        (Some(_), _) => {
            let problem = "highestTierAllowed and highestTierName exclude each other; give one";
            return Err(about.fail(field, problem));
        }
    };
    Ok(Some(TopologyWish { mode, tier }))
}

fn phase(about: &About<'_>, text: Option<&str>) -> Result<Option<GroupPhase>, TranslateError> {
    match text {
        None | Some("") => Ok(None),
        Some("Pending") => Ok(Some(GroupPhase::Pending)),
        Some("Inqueue") => Ok(Some(GroupPhase::Inqueue)),
        Some("Running") => Ok(Some(GroupPhase::Running)),
        Some("Unknown") => Ok(Some(GroupPhase::Unknown)),
        Some("Completed") => Ok(Some(GroupPhase::Completed)),
        Some(other) => Err(about.fail(
            "status.phase",
            format!(
                "{other:?} is not a phase; expected Pending, Inqueue, Running, Unknown or Completed"
            ),
        )),
    }
}

/// The phase as the object writes it.
pub(crate) fn phase_text(phase: GroupPhase) -> &'static str {
    match phase {
        GroupPhase::Pending => "Pending",
        GroupPhase::Inqueue => "Inqueue",
        GroupPhase::Running => "Running",
        GroupPhase::Unknown => "Unknown",
        GroupPhase::Completed => "Completed",
    }
}
