//! What labels and annotations of KAI's say of a pod.

use muster_core::delta::Ownership;

use super::member;
use crate::objects::kai_podgroup::preemptibility;
use crate::objects::{Metadata, Pod, Resources};

/// Names the PodGroup a pod belongs to.
pub(in crate::objects) const GROUP_NAME: &str = "pod-group-name";

/// Names the queue of a pod without PodGroup.
pub(in crate::objects) const QUEUE: &str = "kai.scheduler/queue";

/// May a pod without PodGroup be evicted for others?
const PREEMPTIBILITY: &str = "kai.scheduler/preemptibility";

/// The name KAI's scheduler has by default.
pub(super) const SCHEDULER: &str = "kai-scheduler";

/// Annotations that ask for a part of a GPU.
const SHARES: [&str; 3] = ["gpu-fraction", "gpu-memory", "gpu-fraction-num-devices"];

/// What the names of instances that a GPU is divided into begin with, as resources and as annotations.
const MIG: &str = "nvidia.com/mig-";

/// Whole GPUs, by whoever makes them.
const WHOLE: [&str; 2] = ["nvidia.com/gpu", "amd.com/gpu"];

/// Is the resource a GPU, or an instance one is divided into?
pub(super) fn is_gpu(resource: &str) -> bool {
    WHOLE.contains(&resource) || resource.starts_with(MIG)
}

/// Does the pod ask for a part of a GPU?
pub(super) fn asks_for_share(metadata: &Metadata) -> bool {
    SHARES.iter().any(|key| metadata.annotations.contains_key(*key))
}

/// The PodGroup the pod names.
pub(in crate::objects) fn group(metadata: &Metadata) -> Option<&str> {
    metadata.annotations.get(GROUP_NAME).map(String::as_str).filter(|name| !name.is_empty())
}

/// The queue the pod names by that label.
pub(in crate::objects) fn queue<'a>(metadata: &'a Metadata, label: &str) -> Option<&'a str> {
    metadata.labels.get(label).map(String::as_str).filter(|name| !name.is_empty())
}

/// May the pod be evicted for others, by its own word? Pods of a PodGroup leave that to the group.
pub(in crate::objects) fn preemptable(metadata: &Metadata) -> Option<bool> {
    let text = metadata.labels.get(PREEMPTIBILITY).filter(|_| group(metadata).is_none())?;
    preemptibility(text)
}

/// Why the pod cannot be placed by this version: the field that asks for too much, and the sentence.
pub(in crate::objects) fn refusal(
    pod: &Pod,
    ownership: Ownership,
) -> Option<(String, &'static str)> {
    let on_its_way = pod.spec.node_name.as_deref().is_none_or(str::is_empty);
    let waits = on_its_way && ownership == Ownership::Ours && is_of_kai(pod);
    waits.then(|| beyond(pod)).flatten()
}

/// What is known of a pod that is on its node already, although it asks for what cannot be counted.
pub(in crate::objects) fn complaint(pod: &Pod) -> Vec<String> {
    let placed = pod.spec.node_name.as_deref().is_some_and(|node| !node.is_empty());
    let mut found = Vec::new();
    if placed
        && is_of_kai(pod)
        && let Some((field, _)) = beyond(pod)
    {
        found.push(format!("has {field}; on its node only its plain requests count"));
    }
    if let Some(text) = pod.metadata.labels.get(PREEMPTIBILITY)
        && preemptibility(text).is_none()
    {
        found.push(format!(
            "has a label {PREEMPTIBILITY} that is neither preemptible nor non-preemptible and is not used"
        ));
    }
    found
}

/// Does the pod speak KAI's dialect?
fn is_of_kai(pod: &Pod) -> bool {
    pod.spec.scheduler_name.as_deref() == Some(SCHEDULER)
        || group(&pod.metadata).is_some()
        || queue(&pod.metadata, QUEUE).is_some()
}

fn beyond(pod: &Pod) -> Option<(String, &'static str)> {
    let annotations = || pod.metadata.annotations.keys();
    let annotation = |key: &str| format!("metadata.annotations[{key:?}]");
    if let Some(key) = annotations().find(|key| SHARES.contains(&key.as_str())) {
        return Some((
            annotation(key),
            "asks for a part of a GPU, which this version does not give",
        ));
    }
    if let Some(key) = annotations().find(|key| key.starts_with(MIG)) {
        return Some((annotation(key), INSTANCE));
    }
    let lists =
        [("containers", &pod.spec.containers), ("initContainers", &pod.spec.init_containers)];
    for (list, containers) in lists {
        for (at, container) in containers.iter().enumerate() {
            if let Some(field) = instance_in(&container.resources) {
                return Some((format!("spec.{list}[{at}].resources.{field}"), INSTANCE));
            }
        }
    }
    let claims = "asks for devices by claims, which this version does not allocate";
    (!pod.spec.resource_claims.is_empty()).then(|| ("spec.resourceClaims".to_owned(), claims))
}

fn instance_in(resources: &Resources) -> Option<String> {
    let lists = [("requests", &resources.requests), ("limits", &resources.limits)];
    lists.into_iter().find_map(|(list, amounts)| {
        let name = amounts.keys().find(|name| name.starts_with(MIG))?;
        Some(member(list, name))
    })
}

const INSTANCE: &str = "asks for an instance of a divided GPU, which this version does not give";
