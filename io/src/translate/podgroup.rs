//! PodGroup to [`PodGroupFacts`].

use muster_core::config::duration::parse_ms;
use muster_core::delta::{
    ClusterDelta, GroupPhase, ObjectRef, PodGroupFacts, SubGroupPolicy, TierRef, TopologyMode,
    TopologyWish,
};
use muster_core::ids::ObjectKey;
use muster_core::status::{Condition, ConditionKind, GroupReport};

use super::about::{About, member, preemptable};
use super::{OwnerRule, Translate, TranslateError, selector, unsupported};
use crate::objects::{self, Metadata, NetworkTopology, PodGroup};

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
            topology: topology(about, spec.network_topology.as_ref(), "spec.networkTopology")?,
            subgroups: subgroups
                .map(|(at, policy)| subgroup(about, policy, &format!("spec.subGroupPolicy[{at}]")))
                .collect::<Result<_, _>>()?,
            phase: phase(about, self.status.phase.as_deref())?,
            report: report(&self.status),
        }
        .into())
    }

    fn unsupported(&self) -> Vec<String> {
        unsupported::of_group(self)
    }
}

/// What the status says beside the phase. Conditions of other types are other people's, and one
/// that does not hold says nothing.
fn report(status: &objects::PodGroupStatus) -> GroupReport {
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
pub(super) const WAITING_TIMES: [&str; 2] = ["volcano.sh/sla-waiting-time", "sla-waiting-time"];

/// How long the group may wait, in milliseconds; none if it does not say, or nothing that is a time.
pub(super) fn waiting_time(metadata: &Metadata) -> Option<i64> {
    let text = WAITING_TIMES.iter().find_map(|key| metadata.annotations.get(*key))?;
    let ms = parse_ms(text).and_then(|ms| i64::try_from(ms).ok());
    ms.filter(|&ms| ms > 0)
}

fn subgroup(
    about: &About<'_>,
    policy: &objects::SubGroupPolicy,
    field: &str,
) -> Result<SubGroupPolicy, TranslateError> {
    let size = policy.sub_group_size.unwrap_or(1);
    if size < 1 {
        let problem = format!("{size} is not a size; expected 1 or more");
        return Err(about.fail(format!("{field}.subGroupSize"), problem));
    }
    let selector_field = format!("{field}.labelSelector");
    let selector = policy.label_selector.as_ref();
    let topology_field = format!("{field}.networkTopology");
    Ok(SubGroupPolicy {
        name: policy.name.as_str().into(),
        size: about.count(&format!("{field}.subGroupSize"), size)?,
        min_subgroups: about
            .count(&format!("{field}.minSubGroups"), policy.min_sub_groups.unwrap_or(0))?,
        match_label_keys: policy.match_label_keys.iter().map(|key| key.as_str().into()).collect(),
        selector: selector
            .map(|selector| selector::label_selector(about, selector, &selector_field))
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

fn phase(about: &About<'_>, text: Option<&str>) -> Result<GroupPhase, TranslateError> {
    match text {
        None | Some("" | "Pending") => Ok(GroupPhase::Pending),
        Some("Inqueue") => Ok(GroupPhase::Inqueue),
        Some("Running") => Ok(GroupPhase::Running),
        Some("Unknown") => Ok(GroupPhase::Unknown),
        Some("Completed") => Ok(GroupPhase::Completed),
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
