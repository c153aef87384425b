//! What objects ask for that this version does not do, said aloud.

use super::about::{PREEMPTABLE, annotation_or_label, parse_bool};
use super::pod::{COOLDOWN, TASK_PRIORITY, cooldown};
use super::podgroup::{WAITING_TIMES, waiting_time};
use super::{hierarchy, nodegroup, strategy};
use crate::objects::{HyperNode, Pod, PodGroup, Queue, ResourceQuota};

pub(super) fn of_pod(pod: &Pod) -> Vec<String> {
    let spec = &pod.spec;
    let mut found = Vec::new();
    let mut note = |present: bool, what: &str| {
        if present {
            found.push(format!("asks for {what}, which this version does not enforce"));
        }
    };
    note(!spec.resource_claims.is_empty(), "resourceClaims");
    let policy = spec.preemption_policy.as_deref().unwrap_or_default();
    if !matches!(policy, "" | "PreemptLowerPriority" | "Never") {
        found.push(format!("has a preemptionPolicy {policy:?} that is none and is not used"));
    }
    if annotation_or_label(&pod.metadata, COOLDOWN).is_some() && cooldown(&pod.metadata).is_none() {
        found.push(format!("has a {COOLDOWN} that is no length of time and is not used"));
    }
    if let Some(text) = pod.metadata.annotations.get(TASK_PRIORITY)
        && text.parse::<i32>().is_err()
    {
        found.push(format!("has an annotation {TASK_PRIORITY} that is no integer and is not used"));
    }
    if let Some(text) = annotation_or_label(&pod.metadata, PREEMPTABLE)
        && parse_bool(text).is_none()
    {
        found.push(format!("has a {PREEMPTABLE} that is no boolean and counts as false"));
    }
    found.extend(strategy::complaint(&pod.metadata));
    found
}

pub(super) fn of_group(group: &PodGroup) -> Vec<String> {
    let mut found = Vec::new();
    if group.spec.sub_group_policy.iter().any(|policy| policy.match_label_keys.is_empty()) {
        found.push(
            "has a subGroupPolicy without matchLabelKeys, which makes no sub-groups".to_owned(),
        );
    }
    if let Some(text) = annotation_or_label(&group.metadata, PREEMPTABLE)
        && parse_bool(text).is_none()
    {
        found.push(format!("has a {PREEMPTABLE} that is no boolean and counts as false"));
    }
    let given = WAITING_TIMES.iter().find(|key| group.metadata.annotations.contains_key(**key));
    if let Some(key) = given
        && waiting_time(&group.metadata).is_none()
    {
        found.push(format!(
            "has an annotation {key} that is no length of time above zero and is not used"
        ));
    }
    found
}

pub(super) fn of_queue(queue: &Queue) -> Vec<String> {
    let spec = &queue.spec;
    let lists = [&spec.capability, &spec.deserved, &spec.guarantee.resource];
    let names = lists.into_iter().flatten().flat_map(|list| list.keys());
    let devices =
        |name: &String| name.starts_with("deviceclass/") || name.contains(".deviceclass/");
    let mut found: Vec<String> = hierarchy::complaint(&queue.metadata).into_iter().collect();
    if nodegroup::limits(queue).is_none() {
        let limits = nodegroup::LIMITS;
        found.push(format!(
            "has an annotation {limits} that cannot be read; where the plugin nodegroup is \
             configured its pods may use no node group"
        ));
    }
    if names.into_iter().any(devices) {
        found.push("limits device classes, which this version does not count".to_owned());
    }
    if spec.dequeue_strategy.as_deref() == Some("fifo") {
        found.push(
            "has dequeueStrategy fifo; a job that cannot start does not stop those behind it"
                .to_owned(),
        );
    }
    found
}

pub(super) fn of_quota(quota: &ResourceQuota) -> Vec<String> {
    let scoped = !quota.spec.scopes.is_empty() || quota.spec.scope_selector.is_some();
    let text = "has scopes, which are not looked at: it limits all pods of its namespace";
    if scoped { vec![text.to_owned()] } else { Vec::new() }
}

pub(super) fn of_domain(domain: &HyperNode) -> Vec<String> {
    let empty = domain.spec.members.iter().any(|member| {
        member.selector.label_match.as_ref().is_some_and(|labels| {
            labels.match_labels.is_empty() && labels.match_expressions.is_empty()
        })
    });
    if empty { vec!["has an empty labelMatch, which finds no node".to_owned()] } else { Vec::new() }
}
