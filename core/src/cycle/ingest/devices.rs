//! Second and third pass, devices: what pods ask of them, what nodes say of them, and requests that count
//! as something else once the memory of devices has changed.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;

use super::Dirty;
use super::intake::Intake;
use crate::delta::{DevicePart, DeviceRequest, DeviceShare, NodeDeviceFacts};
use crate::resource::{Dim, ResourceVec};
use crate::world::{DeviceAsk, DeviceFleet, ShareAsk};

/// A share, and the request with it, as queues count both now.
fn share_ask(
    fleet: &DeviceFleet,
    dim: Dim,
    share: DeviceShare,
    room: ResourceVec,
) -> (ResourceVec, DeviceAsk) {
    let [most, least] = fleet.count(share).map(|amount| {
        let mut request = room.clone();
        request.set(dim, amount);
        request
    });
    (most, DeviceAsk::Share(ShareAsk { dim, share, room, least }))
}

impl Intake<'_, '_> {
    /// What a pod asks of devices that is no whole one; the request is then what queues count.
    pub(super) fn device_ask(
        &mut self,
        asked: Option<DeviceRequest>,
        request: &mut ResourceVec,
    ) -> Option<Box<DeviceAsk>> {
        let ask = match asked? {
            DeviceRequest::LooseInstances => DeviceAsk::LooseInstances,
            DeviceRequest::Instances { devices } => {
                let dim = self.cluster.fleet.whole(&mut self.names.0);
                let room = request.clone();
                request.set(dim, request.get(dim) + 1000 * i64::from(devices));
                DeviceAsk::Instances(room)
            }
            DeviceRequest::Share(share) => {
                let dim = self.cluster.fleet.whole(&mut self.names.0);
                let mut room = std::mem::take(request);
                room.set(dim, 0);
                let (most, ask) = share_ask(&self.cluster.fleet, dim, share, room);
                *request = most;
                ask
            }
        };
        Some(Box::new(ask))
    }

    /// Takes in what a node says of its devices beside their number.
    pub(super) fn node_devices(&mut self, node: Entity, facts: NodeDeviceFacts) {
        let (cluster, names) = (&mut self.cluster, &mut self.names.0);
        self.dirty.devices |= cluster.describe_devices(node, facts, names);
    }

    /// Moves a task that asks for memory of devices to the class that counts it as it is now.
    fn count_again(&mut self, task: Entity) {
        let Ok(item) = self.cluster.tasks.get(task) else { return };
        let Some(ask) = item.request.share().cloned() else { return };
        if !matches!(ask.share.part, DevicePart::Memory(_)) {
            return;
        }
        let (request, ask) = share_ask(&self.cluster.fleet, ask.dim, ask.share, ask.room);
        let (class, asks) = (item.membership.class, (request, Some(Box::new(ask))));
        let (interpod, symbols) = (&mut *self.interpod, &mut *self.symbols);
        let class = self.classes.with_devices(class, asks, interpod, symbols);
        self.cluster.detach(task);
        if let Ok(mut item) = self.cluster.tasks.get_mut(task) {
            item.membership.class = class;
            *item.request = self.classes.get(class).asked.clone();
        }
        self.cluster.attach(task);
    }
}

/// Counts requests for memory of devices again, if that of the smallest or largest ones has changed.
pub(super) fn settle(world: &mut World, dirty: &Dirty) {
    if dirty.devices {
        let run = world.run_system_cached(count_all_again);
        debug_assert!(run.is_ok(), "the parameters are resources and queries that always exist");
    }
}

fn count_all_again(mut intake: Intake<'_, '_>) {
    let shares = intake.cluster.tasks.iter().filter(|task| task.request.share().is_some());
    let tasks: Vec<Entity> = shares.map(|task| task.entity).collect();
    for task in tasks {
        intake.count_again(task);
    }
}
