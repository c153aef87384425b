//! What labels and annotations of KAI's say of a pod. What it asks of devices is in [`devices`].

use muster_core::delta::{DeviceRequest, Ownership};
use muster_core::ids::Name;
use muster_core::resource::ResourceList;

use super::DeviceSharing;
use super::devices;
use crate::objects::kai_podgroup::preemptibility;
use crate::objects::{Metadata, Pod};

/// Names the PodGroup a pod belongs to.
pub(in crate::objects) const GROUP_NAME: &str = "pod-group-name";

/// Names the queue of a pod without PodGroup.
pub(in crate::objects) const QUEUE: &str = "kai.scheduler/queue";

/// May a pod without PodGroup be evicted for others?
const PREEMPTIBILITY: &str = "kai.scheduler/preemptibility";

/// The name KAI's scheduler has by default.
pub(super) const SCHEDULER: &str = "kai-scheduler";

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

/// What a pod of KAI's asks of devices and what it has of them.
#[derive(Default)]
pub(in crate::objects) struct PodDevices {
    pub(in crate::objects) asked: Option<DeviceRequest>,
    pub(in crate::objects) shared: Vec<Name>,
}

/// What the pod asks of devices beside whole ones; an error names the field and what is wrong with it. A pod
/// that has its node keeps its room there, whatever it says.
pub(in crate::objects) fn devices(
    pod: &Pod,
    ownership: Ownership,
    (request, sharing): (&ResourceList, DeviceSharing),
) -> Result<PodDevices, devices::Complaint> {
    if !is_of_kai(pod) {
        return Ok(PodDevices::default());
    }
    let placed = is_placed(pod);
    let waits = !placed && ownership == Ownership::Ours;
    let asked = match devices::asked(pod, request) {
        Err(complaint) if waits => return Err(complaint),
        asked => asked.unwrap_or(None),
    };
    if let Some(complaint) = devices::beyond(pod, asked, sharing).filter(|_| waits) {
        return Err(complaint);
    }
    let knows = placed && matches!(asked, Some(DeviceRequest::Share(_)));
    let shared = if knows { devices::shared(&pod.metadata) } else { Vec::new() };
    Ok(PodDevices { asked, shared })
}

/// What is known of a pod that is on its node already, although it asks for what cannot be counted.
pub(in crate::objects) fn complaint(pod: &Pod) -> Vec<String> {
    let mut found = Vec::new();
    if is_placed(pod) && is_of_kai(pod) {
        let fault =
            devices::asked(pod, &ResourceList::new()).err().or_else(|| devices::claims(pod));
        if let Some((field, _)) = fault {
            found.push(format!("has {field}; on its node only its plain requests count"));
        }
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

/// Is it the pod that holds a shared GPU for those that share it?
pub(in crate::objects) fn holds_for_others(metadata: &Metadata) -> bool {
    let app = metadata.labels.get("app").is_some_and(|app| app == "kai-resource-reservation");
    app && metadata.labels.contains_key(devices::GROUP)
}

fn is_placed(pod: &Pod) -> bool {
    pod.spec.node_name.as_deref().is_some_and(|node| !node.is_empty())
}

/// Does the pod speak KAI's dialect?
fn is_of_kai(pod: &Pod) -> bool {
    pod.spec.scheduler_name.as_deref() == Some(SCHEDULER)
        || group(&pod.metadata).is_some()
        || queue(&pod.metadata, QUEUE).is_some()
}
