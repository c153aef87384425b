//! What objects ask for that this version does not do, said aloud.

use super::about::{PREEMPTABLE, annotation_or_label, parse_bool};
use super::pod::TASK_PRIORITY;
use super::{hierarchy, nodegroup, strategy};
use crate::objects::{HyperNode, Object, Pod, PodGroup, Queue};

/// What the object asks for that this version does not do, one phrase each, without the object's
/// name so that many objects can share one sentence.
pub fn unsupported(object: &Object) -> Vec<String> {
    match object {
        Object::Pod(pod) => of_pod(pod),
        Object::PodGroup(group) => of_group(group),
        Object::HyperNode(domain) => of_domain(domain),
        Object::Inert { .. } => vec!["is read by no rule of this version".to_owned()],
        Object::Queue(queue) => of_queue(queue),
        Object::Node(_) | Object::PriorityClass(_) | Object::PodDisruptionBudget(_) => Vec::new(),
    }
}

fn of_pod(pod: &Pod) -> Vec<String> {
    let spec = &pod.spec;
    let mut found = Vec::new();
    let mut note = |present: bool, what: &str| {
        if present {
            found.push(format!("asks for {what}, which this version does not enforce"));
        }
    };
    let affinity = &spec.affinity;
    note(affinity.pod_affinity.is_some(), "podAffinity");
    note(affinity.pod_anti_affinity.is_some(), "podAntiAffinity");
    note(!spec.topology_spread_constraints.is_empty(), "topologySpreadConstraints");
    note(!spec.resource_claims.is_empty(), "resourceClaims");
    let ports = spec.containers.iter().chain(&spec.init_containers).flat_map(|one| &one.ports);
    note(ports.into_iter().any(|port| port.host_port.is_some_and(|port| port != 0)), "hostPort");
    let claims = spec
        .volumes
        .iter()
        .any(|volume| volume.persistent_volume_claim.is_some() || volume.ephemeral.is_some());
    note(claims, "persistent volume claims");
    let policy = spec.preemption_policy.as_deref().unwrap_or_default();
    note(!matches!(policy, "" | "PreemptLowerPriority"), "preemptionPolicy");
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

fn of_queue(queue: &Queue) -> Vec<String> {
    let mut found: Vec<String> = hierarchy::complaint(&queue.metadata).into_iter().collect();
    if nodegroup::limits(queue).is_none() {
        let limits = nodegroup::LIMITS;
        found.push(format!(
            "has an annotation {limits} that cannot be read; where the plugin nodegroup is \
             configured its pods may use no node group"
        ));
    }
    found
}

fn of_group(group: &PodGroup) -> Vec<String> {
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
    found
}

fn of_domain(domain: &HyperNode) -> Vec<String> {
    let empty = domain.spec.members.iter().any(|member| {
        member.selector.label_match.as_ref().is_some_and(|labels| {
            labels.match_labels.is_empty() && labels.match_expressions.is_empty()
        })
    });
    if empty { vec!["has an empty labelMatch, which finds no node".to_owned()] } else { Vec::new() }
}
