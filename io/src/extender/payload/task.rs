//! A task, as `TaskInfo`, with what is known of its pod.

use muster_core::delta::PodPhase;
use muster_core::resource::{Dim, ResourceNames, ResourceVec};
use muster_core::world::{Cluster, TaskReadOnlyItem, TaskStatus};
use serde_json::{Value, json};

use super::{quantities, resource, texts, time};

/// A task as it stands.
pub(in super::super) fn task(
    cluster: &Cluster<'_, '_>,
    names: &ResourceNames,
    task: &TaskReadOnlyItem<'_, '_>,
) -> Value {
    let (status, node) = task.status();
    let node = node.map(|node| cluster.node(node).identity.name.to_string());
    written(cluster, names, task, status, &node.unwrap_or_default())
}

/// A task that waits, as an example of others like it: whatever is held for it does not count.
pub(in super::super) fn example(
    cluster: &Cluster<'_, '_>,
    names: &ResourceNames,
    task: &TaskReadOnlyItem<'_, '_>,
) -> Value {
    written(cluster, names, task, TaskStatus::Pending, "")
}

fn written(
    cluster: &Cluster<'_, '_>,
    names: &ResourceNames,
    task: &TaskReadOnlyItem<'_, '_>,
    status: TaskStatus,
    node: &str,
) -> Value {
    let identity = task.identity;
    let job = task.membership.job.map(|job| cluster.job(job));
    let role = job.as_ref().map(|job| &job.counts().roles[usize::from(task.membership.role)].name);
    let request = resource(names, &task.request.amounts);
    json!({
        "UID": &*identity.uid,
        "Job": job.as_ref().map(|job| job.identity.key.to_string()).unwrap_or_default(),
        "Name": &*identity.key.name,
        "Namespace": &*identity.key.namespace,
        "TaskRole": role.map_or("", |role| &**role),
        "Resreq": request,
        "InitResreq": request,
        "NodeName": node,
        "Status": 1 << status as u32,
        "Priority": task.priority.value,
        "Preemptable": task.traits.preemptable == Some(true),
        "BestEffort": task.traits.best_effort,
        "SchGated": task.traits.gated,
        "RevocableZone": if task.traits.borrows { "*" } else { "" },
        "Pod": pod(names, task, node),
    })
}

/// What is known of the pod, as `v1.Pod`. Its containers are known by what they ask for together.
fn pod(names: &ResourceNames, task: &TaskReadOnlyItem<'_, '_>, node: &str) -> Value {
    let identity = task.identity;
    let requests = quantities(names, &without_pods(&task.request.amounts));
    json!({
        "metadata": {
            "name": &*identity.key.name,
            "namespace": &*identity.key.namespace,
            "uid": &*identity.uid,
            "creationTimestamp": time(identity.created),
            "labels": texts(task.labels.0.iter().map(|(key, value)| (key, value))),
        },
        "spec": {
            "nodeName": node,
            "priority": task.priority.value,
            "priorityClassName": task.priority.class.as_deref().unwrap_or_default(),
            "containers": [{"name": "all", "resources": {"requests": requests}}],
        },
        "status": {"phase": phase(task.observed.phase)},
    })
}

/// What containers ask for: a slot for the pod is none of theirs.
fn without_pods(amounts: &ResourceVec) -> ResourceVec {
    let mut amounts = amounts.clone();
    amounts.set(Dim::PODS, 0);
    amounts
}

fn phase(phase: PodPhase) -> &'static str {
    match phase {
        PodPhase::Pending => "Pending",
        PodPhase::Running => "Running",
        PodPhase::Succeeded => "Succeeded",
        PodPhase::Failed => "Failed",
        PodPhase::Unknown => "Unknown",
    }
}
