//! Shared devices in the ledger: which a task gets, and what that takes of the lane of whole ones.

use bevy_ecs::entity::Entity;

use super::{Charge, Contribution, Flow};
use crate::delta::NodeDeviceFacts;
use crate::ids::Name;
use crate::kernel::fit::Fit;
use crate::resource::{Dim, Lanes, ResourceNames, ResourceVec, Tail};
use crate::world::cluster::Cluster;
use crate::world::device::{DeviceAsk, DeviceUse, WHOLE, WhoOpens};
use crate::world::domain::DomainTotals;
use crate::world::node::free_devices;
use crate::world::rows::{NodeItem, NodeReadOnlyItem};
use crate::world::task::{Asked, TaskStatus};
use crate::world::volume::{Choice, Pick};

/// What a task holds besides its place: volumes, and parts of devices.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Holdings {
    /// Volumes for its claims.
    pub(super) picks: Vec<Pick>,
    /// Devices it shares.
    pub(super) devices: Vec<Name>,
}

impl Holdings {
    /// The volumes among it, to be taken again.
    pub(super) fn volumes(&self) -> Choice<'_> {
        Choice::Former(&self.picks)
    }
}

/// What a change of shared devices adds to the lane of whole ones.
#[derive(Clone, Copy)]
pub(super) struct LaneShift {
    dim: Dim,
    used: i64,
    leaving: i64,
    held: i64,
}

impl LaneShift {
    /// Enters it into the sums of a domain.
    pub(super) fn post(self, totals: &mut DomainTotals) {
        self.post_used(&mut totals.used);
        shift(&mut totals.idle, self.dim, -self.used);
        shift(&mut totals.releasing, self.dim, self.leaving);
        shift(&mut totals.pipelined, self.dim, self.held);
    }

    /// Enters what is used into a sum of that.
    pub(super) fn post_used(self, used: &mut ResourceVec) {
        shift(used, self.dim, self.used);
    }

    fn post_node(self, node: &mut NodeItem<'_, '_>) {
        let tails = &mut *node.tails;
        shift_lane(&mut node.used.0, &mut tails.used, self.dim, self.used);
        shift_lane(&mut node.idle.0, &mut tails.idle, self.dim, -self.used);
        shift_lane(&mut node.releasing.0, &mut tails.releasing, self.dim, self.leaving);
        shift_lane(&mut node.pipelined.0, &mut tails.pipelined, self.dim, self.held);
    }
}

fn shift(vector: &mut ResourceVec, dim: Dim, by: i64) {
    shift_lane(&mut vector.hot, &mut vector.tail, dim, by);
}

fn shift_lane(hot: &mut Lanes, tail: &mut Tail, dim: Dim, by: i64) {
    match dim.lane() {
        Some(lane) => hot.0[lane] += by,
        None => tail.set(dim, tail.get(dim) + by),
    }
}

/// Enters a task's parts of devices into the books of its node.
pub(super) fn post_devices(
    node: &mut NodeItem<'_, '_>,
    contribution: &Contribution,
    charge: Charge,
    flow: Flow,
) -> Option<LaneShift> {
    let ask = match contribution.request.devices.as_deref()? {
        DeviceAsk::Share(ask) => ask,
        DeviceAsk::LooseInstances if charge != Charge::Held => {
            flow.count(&mut node.devices.loose);
            return None;
        }
        DeviceAsk::LooseInstances | DeviceAsk::Instances(_) => return None,
    };
    let part = DeviceUse::of(ask.share.part);
    let mut lanes = [0; 3];
    for name in &contribution.devices {
        let added = node.devices.change(name, |one| match charge {
            Charge::Held => flow.device(&mut one.held, part),
            Charge::Used => flow.device(&mut one.used, part),
            Charge::Leaving => {
                flow.device(&mut one.used, part);
                flow.device(&mut one.leaving, part);
            }
        });
        lanes.iter_mut().zip(added).for_each(|(lane, added)| *lane += added);
    }
    let [used, leaving, held] = lanes;
    let shift = LaneShift { dim: ask.dim, used, leaving, held };
    shift.post_node(node);
    Some(shift)
}

/// Does a task in that state have its parts of devices?
fn has_devices(status: TaskStatus) -> bool {
    Charge::of(status, false).is_some()
}

impl Cluster<'_, '_> {
    /// What a task holds besides its place; nothing for most.
    pub(crate) fn holdings(&self, task: Entity) -> Holdings {
        let Ok(task) = self.tasks.get(task) else { return Holdings::default() };
        let (picks, devices) = (task.cold.volumes.picks.clone(), task.cold.devices.clone());
        Holdings { picks, devices }
    }

    /// Finds the devices of a task that shares some and moves: those it had before, or the best there are.
    /// Its contribution is out of all totals.
    pub(super) fn move_devices(
        &mut self,
        task: Entity,
        old: &Contribution,
        new: &mut Contribution,
        former: Option<&Holdings>,
    ) {
        let redeems = old.status == TaskStatus::Pipelined && new.status == TaskStatus::Allocated;
        let stays = old.home == new.home && has_devices(old.status) && !redeems;
        match former {
            Some(former) => new.devices.clone_from(&former.devices),
            None if stays && has_devices(new.status) => {}
            None => new.devices = self.best_devices(task, new),
        }
        self.write_devices(task, &new.devices);
    }

    fn best_devices(&self, task: Entity, contribution: &Contribution) -> Vec<Name> {
        let fit =
            if contribution.status == TaskStatus::Pipelined { Fit::Future } else { Fit::Idle };
        let home = contribution.home.filter(|_| has_devices(contribution.status));
        home.map_or_else(Vec::new, |node| self.devices_for(task, node, fit))
    }

    /// The best devices of a node for a task that is not there yet.
    fn devices_for(&self, task: Entity, node: Entity, fit: Fit) -> Vec<Name> {
        let (Ok(task), Ok(node)) = (self.tasks.get(task), self.nodes.get(node)) else {
            return Vec::new();
        };
        let Some(ask) = task.request.share() else { return Vec::new() };
        let opens = WhoOpens { uid: &task.identity.uid, node: &node.identity.name };
        let free = free_of(&node, ask.dim);
        node.devices.choose(ask, self.fleet.order, (free, fit), opens)
    }

    fn write_devices(&mut self, task: Entity, devices: &[Name]) {
        if let Ok(mut item) = self.tasks.get_mut(task)
            && item.cold.devices != devices
        {
            item.cold.devices = devices.to_vec();
        }
    }

    /// Writes which devices a task shares, as its pod says; where that says nothing, the best there are.
    /// It was at `before`, and its contribution is out of all totals.
    pub(crate) fn observe_devices(&mut self, task: Entity, before: Option<Entity>, said: &[Name]) {
        let Ok(item) = self.tasks.get(task) else { return };
        let ((status, home), named) = (item.status(), &item.cold.devices);
        let shares = item.request.share().is_some() && has_devices(status);
        let Some(node) = home.filter(|_| shares) else { return self.write_devices(task, &[]) };
        if item.observed.node.is_some() && !said.is_empty() {
            return self.write_devices(task, said);
        }
        if before != home || named.is_empty() {
            let fit = if status == TaskStatus::Pipelined { Fit::Future } else { Fit::Idle };
            let devices = self.devices_for(task, node, fit);
            self.write_devices(task, &devices);
        }
    }

    /// How what a task asks of devices it shares fits those of a node.
    pub(crate) fn device_fit(&self, node: Entity, asked: &Asked) -> Fit {
        let Some(ask) = asked.share() else { return Fit::Idle };
        let node = self.node(node);
        node.devices.fit(ask, free_of(&node, ask.dim))
    }

    /// Takes in what a node says of its devices beside their number; says whether requests for memory of
    /// devices count as something else now.
    pub(crate) fn describe_devices(
        &mut self,
        node: Entity,
        facts: NodeDeviceFacts,
        names: &mut ResourceNames,
    ) -> bool {
        let Ok(mut item) = self.nodes.get_mut(node) else { return false };
        let before = item.devices.facts();
        if before == facts {
            return false;
        }
        item.devices.describe(facts);
        self.log.touch(item.place.row);
        if before.instances != facts.instances {
            let more = i64::from(facts.instances) - i64::from(before.instances);
            let dim = self.fleet.whole(names);
            shift(&mut self.capacity.offered, dim, more * WHOLE);
        }
        self.fleet.replace(before.memory, facts.memory)
    }
}

fn free_of(node: &NodeReadOnlyItem<'_, '_>, dim: Dim) -> crate::world::FreeDevices {
    let tails = node.tails;
    let parts = |dim: Dim| match dim.lane() {
        Some(lane) => [node.idle.0, node.releasing.0, node.pipelined.0].map(|lanes| lanes.0[lane]),
        None => [&tails.idle, &tails.releasing, &tails.pipelined].map(|tail| tail.get(dim)),
    };
    free_devices(parts(dim), parts(Dim::PODS))
}
