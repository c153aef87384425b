//! A job, as `JobInfo`, with its tasks and what is known of its PodGroup.

use muster_core::resource::ResourceNames;
use muster_core::world::{Cluster, JobReadOnlyItem, TaskStatus};
use serde_json::{Map, Value, json};

use crate::objects::phase_text;

use super::{quantities, resource, task, time};

/// A job as it stands.
pub(in super::super) fn job(
    cluster: &Cluster<'_, '_>,
    names: &ResourceNames,
    job: &JobReadOnlyItem<'_, '_>,
) -> Value {
    let (identity, spec, held) = (job.identity, job.spec, job.held());
    let key = identity.key.object();
    let tasks = tasks(cluster, names, job);
    let minimums = job.counts().roles.iter().filter(|role| role.min > 0);
    let minimums: Map<_, _> =
        minimums.map(|role| (role.name.to_string(), json!(role.min))).collect();
    json!({
        "UID": identity.key.to_string(),
        "PgUID": &*identity.uid,
        "Name": &*key.name,
        "Namespace": &*key.namespace,
        "Queue": &*cluster.queue(spec.queue).identity.name,
        "Priority": spec.priority,
        "MinAvailable": spec.min_available,
        "WaitingTime": spec.wait_ms.map(|ms| ms.saturating_mul(1_000_000)),
        "TaskStatusIndex": by_status(&tasks),
        "Tasks": tasks,
        "TaskMinAvailable": minimums,
        "TaskMinAvailableTotal": job.counts().role_minimum(),
        "Allocated": resource(names, &held.allocated),
        "TotalRequest": resource(names, &held.asked),
        "CreationTimestamp": time(identity.created),
        "PodGroup": group(cluster, names, job),
        "Preemptable": spec.preemptable == Some(true),
    })
}

/// Its tasks by uid.
fn tasks(
    cluster: &Cluster<'_, '_>,
    names: &ResourceNames,
    job: &JobReadOnlyItem<'_, '_>,
) -> Map<String, Value> {
    // In the order of names: members have the order in which they came, which is nobody's business.
    let mut members: Vec<_> = job.members.0.iter().map(|&member| cluster.task(member)).collect();
    members.sort_by(|a, b| a.identity.key.cmp(&b.identity.key));
    let written = members
        .iter()
        .map(|member| (member.identity.uid.to_string(), task(cluster, names, member)));
    written.collect()
}

/// The same tasks by their status.
fn by_status(tasks: &Map<String, Value>) -> Map<String, Value> {
    let mut index = Map::new();
    for status in (0..TaskStatus::COUNT).map(|status| 1_u64 << status) {
        let of_status = tasks.iter().filter(|(_, task)| task["Status"] == status);
        let of_status: Map<_, _> =
            of_status.map(|(uid, task)| (uid.clone(), task.clone())).collect();
        if !of_status.is_empty() {
            index.insert(status.to_string(), Value::Object(of_status));
        }
    }
    index
}

/// What is known of the PodGroup. Volcano's scheduler has a type of its own for it, whose fields begin
/// with capitals; Go reads either.
fn group(cluster: &Cluster<'_, '_>, names: &ResourceNames, job: &JobReadOnlyItem<'_, '_>) -> Value {
    let (identity, spec) = (job.identity, job.spec);
    let key = identity.key.object();
    json!({
        "name": &*key.name,
        "namespace": &*key.namespace,
        "uid": &*identity.uid,
        "creationTimestamp": time(identity.created),
        "Spec": {
            "MinMember": spec.min_available,
            "Queue": &*cluster.queue(spec.queue).identity.name,
            "PriorityClassName": spec.priority_class.as_deref().unwrap_or_default(),
            "MinResources": spec.min_resources.as_ref().map(|least| quantities(names, least)),
        },
        "Status": {"Phase": phase_text(spec.phase)},
    })
}
