//! Shared devices recomputed from tasks and nodes alone.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use super::audit::{check, room};
use crate::ids::Name;
use crate::resource::{Dim, ResourceVec};
use crate::world::{
    Cluster, DeviceAsk, DeviceUse, DomainTotals, NodeReadOnlyItem, TaskReadOnlyItem, TaskStatus,
    WHOLE_DEVICE,
};

/// What tasks make of one device: used, leaving, held.
type Parts = [DeviceUse; 3];

/// A task on a node that still takes something there, and whether it leaves, or is only awaited.
fn stay(task: &TaskReadOnlyItem<'_, '_>) -> Option<(Entity, [bool; 3])> {
    let (status, node) = task.status();
    let leaves = status == TaskStatus::Releasing && !task.timing.stuck;
    let parts = match status {
        TaskStatus::Pending | TaskStatus::Succeeded | TaskStatus::Failed => return None,
        TaskStatus::Pipelined => [false, false, true],
        _ => [true, leaves, false],
    };
    Some((node?, parts))
}

/// Every shared device by node and name, as the tasks on it make it.
fn shared(cluster: &Cluster<'_, '_>) -> BTreeMap<Entity, BTreeMap<Name, (Dim, Parts)>> {
    let mut shared: BTreeMap<Entity, BTreeMap<Name, (Dim, Parts)>> = BTreeMap::new();
    for task in &cluster.tasks {
        let (Some(ask), Some((node, which))) = (task.request.share(), stay(&task)) else {
            continue;
        };
        for name in &task.cold.devices {
            let devices = shared.entry(node).or_default();
            let parts = &mut devices.entry(name.clone()).or_insert((ask.dim, Parts::default())).1;
            for (part, _) in parts.iter_mut().zip(which).filter(|entry| entry.1) {
                *part = part.and(DeviceUse::of(ask.share.part));
            }
        }
    }
    shared
}

/// Adds what shared devices take of the lane of whole ones.
pub(super) fn add_to_rooms(cluster: &Cluster<'_, '_>, rooms: &mut BTreeMap<Entity, DomainTotals>) {
    for (node, devices) in shared(cluster) {
        let Some(room) = rooms.get_mut(&node) else { continue };
        for (dim, [used, leaving, held]) in devices.into_values() {
            let mut whole = ResourceVec::default();
            whole.set(dim, WHOLE_DEVICE);
            if !used.is_nothing() {
                room.used.add(&whole);
                room.idle.sub(&whole);
            }
            if used == leaving {
                if !used.is_nothing() {
                    room.releasing.add(&whole);
                }
                if !held.is_nothing() {
                    room.pipelined.add(&whole);
                }
            }
        }
    }
}

/// What a node offers to queues: its resources, and the devices its instances count as.
pub(super) fn offer(cluster: &Cluster<'_, '_>, node: &NodeReadOnlyItem<'_, '_>) -> ResourceVec {
    let mut offer = room(node).allocatable;
    let instances = node.devices().instances();
    if let Some(dim) = cluster.fleet.dim.filter(|_| instances > 0) {
        offer.set(dim, offer.get(dim) + instances);
    }
    offer
}

/// Books of shared devices, and of pods with instances that nobody can count.
pub(super) fn compare(cluster: &Cluster<'_, '_>, faults: &mut Vec<String>) {
    let mut all = shared(cluster);
    let mut loose: BTreeMap<Entity, u32> = BTreeMap::new();
    for task in &cluster.tasks {
        let is_loose = matches!(task.request.devices.as_deref(), Some(DeviceAsk::LooseInstances));
        if let Some((node, _)) = stay(&task).filter(|(_, parts)| is_loose && parts[0]) {
            *loose.entry(node).or_default() += 1;
        }
    }
    for node in &cluster.nodes {
        let want = all.remove(&node.entity).unwrap_or_default().into_iter();
        let want: BTreeMap<Name, Parts> = want.map(|(name, (_, parts))| (name, parts)).collect();
        let have = node.devices().shared().iter();
        let have = have.map(|one| (one.name.clone(), [one.used, one.leaving, one.held]));
        check(faults, "devices of", &node.identity.name, &have.collect(), &want);
        let want = loose.contains_key(&node.entity);
        let have = node.devices().has_loose_instances();
        check(faults, "loose instances on", &node.identity.name, &have, &want);
    }
}
