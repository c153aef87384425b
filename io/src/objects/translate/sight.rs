//! What of a cluster a scheduler sees: objects of its pool, nodes that are marked for what runs there,
//! queues that divide the cluster.

use muster_core::config::{DividingQueues, Pool, View, WorkerLabels};
use muster_core::delta::{Constraints, NodeTerm, Operator, Requirement};
use muster_core::ids::Name;
use muster_core::resource::ResourceList;

use super::devices;
use super::pod::group_of;
use crate::objects::{Metadata, Object, Pod};

/// Is the object there, for a scheduler with that view?
pub(super) fn sees(view: &View, object: &Object) -> bool {
    match object {
        Object::Node(node) => {
            is_in(view.pool.as_ref(), &node.metadata) && is_worker(view, &node.metadata)
        }
        Object::KaiQueue(queue) => {
            let above_all = queue.spec.parent_queue.is_empty();
            is_in(view.pool.as_ref(), &queue.metadata)
                && !(above_all && view.hierarchy == DividingQueues::Flat)
        }
        Object::Queue(_) | Object::PodGroup(_) | Object::KaiPodGroup(_) => {
            object.metadata().is_none_or(|metadata| is_in(view.pool.as_ref(), metadata))
        }
        _ => true,
    }
}

/// Is a pod of the pool? One of a PodGroup is where that is.
pub(super) fn takes(view: &View, metadata: &Metadata) -> bool {
    group_of(metadata).is_some() || is_in(view.pool.as_ref(), metadata)
}

fn is_in(pool: Option<&Pool>, metadata: &Metadata) -> bool {
    pool.is_none_or(|pool| pool.has(metadata.labels.get(&*pool.key).map(String::as_str)))
}

fn is_worker(view: &View, metadata: &Metadata) -> bool {
    let has = |label: &Name| metadata.labels.contains_key(&**label);
    view.workers.as_ref().is_none_or(|workers| has(&workers.cpu) || has(&workers.gpu))
}

/// Leaves out GPUs of a node that is not marked for pods that want them.
pub(in crate::objects) fn hide_gpus(
    view: &View,
    metadata: &Metadata,
    allocatable: &mut ResourceList,
) {
    let hidden = |workers: &WorkerLabels| !metadata.labels.contains_key(&*workers.gpu);
    if view.workers.as_ref().is_some_and(hidden) {
        allocatable.retain(|(name, _)| !devices::is_gpu(name));
    }
}

/// Keeps a pod to nodes that are marked for pods with GPUs, or for those without.
pub(super) fn keep_to_workers(
    view: &View,
    pod: &Pod,
    request: &ResourceList,
    constraints: &mut Constraints,
) {
    let Some(workers) = &view.workers else { return };
    let wants = devices::asks_for_share(&pod.metadata)
        || request.iter().any(|(name, amount)| devices::is_gpu(name) && !amount.is_zero());
    let key = if wants { &workers.gpu } else { &workers.cpu };
    let marked = Requirement { key: key.clone(), operator: Operator::Exists, values: Vec::new() };
    match &mut constraints.required_affinity {
        None => {
            let term = NodeTerm { labels: vec![marked], fields: Vec::new() };
            constraints.required_affinity = Some(vec![term]);
        }
        // A term that asks for nothing is met by no node, and is to stay so.
        Some(terms) => {
            for term in terms.iter_mut().filter(|term| **term != NodeTerm::default()) {
                term.labels.push(marked.clone());
            }
        }
    }
}
