//! Objects that were set aside, shown where people look for them: a malformed pod waits, and so does
//! a PodGroup that cannot be understood.

use muster_core::delta::{GroupPhase, ObjectRef};
use muster_core::ids::{Name, ObjectKey};
use muster_core::report::JobView;
use muster_core::scheduler::Scheduler;
use muster_core::verdict::Reason;

use super::cluster::Cluster;
use crate::objects::Pod;
use crate::objects::translate::{group_of, queue_of};

/// The queue of jobs that name none.
const DEFAULT_QUEUE: &str = "default";

/// The scheduler's jobs, and those it knows nothing of because their object was set aside; sorted by
/// key.
pub(super) fn jobs(scheduler: &mut Scheduler, cluster: &Cluster) -> Vec<JobView> {
    let mut jobs = scheduler.jobs();
    for (object, why) in scheduler.set_aside() {
        let view = match &object {
            ObjectRef::PodGroup(key) => group(cluster, key, why),
            ObjectRef::Pod(key) => lone_pod(cluster, key, why),
            _ => None,
        };
        let Some(view) = view else { continue };
        if let Err(at) = jobs.binary_search_by(|job| job.key.cmp(&view.key)) {
            jobs.insert(at, view);
        }
    }
    jobs
}

/// The job a pod belongs to: its PodGroup, else itself.
pub(super) fn job_of(key: &ObjectKey, pod: &Pod) -> ObjectKey {
    let group = group_of(&pod.metadata);
    group.map_or_else(|| key.clone(), |name| ObjectKey::new(key.namespace.clone(), name))
}

fn group(cluster: &Cluster, key: &ObjectKey, why: String) -> Option<JobView> {
    let (queue, minimum) = match (cluster.group(key), cluster.kai_group(key)) {
        (Some(group), _) => (&group.spec.queue, group.spec.min_member),
        (None, group) => group.map(|group| (&group.spec.queue, group.spec.min_member))?,
    };
    let queue = if queue.is_empty() { DEFAULT_QUEUE } else { queue };
    let minimum = minimum.and_then(|minimum| u32::try_from(minimum).ok());
    Some(view(key, queue.into(), minimum.unwrap_or(0), 0, why))
}

/// A pod without PodGroup is a job; one of a gang only makes its gang incomplete.
fn lone_pod(cluster: &Cluster, key: &ObjectKey, why: String) -> Option<JobView> {
    let pod = cluster.pod(key).filter(|pod| job_of(key, pod) == *key)?;
    let queue = queue_of(&pod.metadata, cluster.view()).unwrap_or(DEFAULT_QUEUE);
    Some(view(key, queue.into(), 1, 1, why))
}

fn view(key: &ObjectKey, queue: Name, min_available: u32, pending: u32, why: String) -> JobView {
    JobView {
        key: key.clone(),
        queue,
        phase: GroupPhase::Pending,
        min_available,
        ready: 0,
        pipelined: 0,
        pending,
        reason: Some(Reason::SetAside),
        message: Some(why),
        conditions: Vec::new(),
    }
}
