//! Devices that pods share: what of each is taken, leaving and held, by node.
//!
//! A device is known by the name its pods carry, and only as long as one of them is there: which of a
//! node's devices it is nobody knows but the node itself. Whole devices stay what they are, an amount of a
//! resource; a shared device takes one of them while it is in use, so that the lane of the resource is
//! always what can be had as a whole.

mod ask;
mod fleet;
mod fit;
mod choice;

use bevy_ecs::prelude::Component;

pub use ask::{DeviceAsk, ShareAsk};
pub(crate) use choice::WhoOpens;
pub use fit::{DeviceSlots, FreeDevices};
pub use fleet::{DeviceFleet, DeviceOrder};

use crate::delta::{DevicePart, Division, NodeDeviceFacts};
use crate::ids::Name;

/// One whole device in its lane.
pub(crate) const WHOLE: i64 = 1000;

/// MiB of memory that devices of an unknown kind are taken to have: parts of them then count in
/// hundredths.
const UNKNOWN_MEMORY: i64 = 100;

/// Parts of one device, added up: thousandths of it, and MiB of its memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceUse {
    milli: i64,
    memory: i64,
}

impl DeviceUse {
    /// One part.
    pub fn of(part: DevicePart) -> Self {
        match part {
            DevicePart::Milli(milli) => Self { milli: milli.into(), memory: 0 },
            DevicePart::Memory(memory) => Self { milli: 0, memory: memory.into() },
        }
    }

    /// No part at all?
    pub fn is_nothing(self) -> bool {
        self == Self::default()
    }

    /// With another.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self { milli: self.milli + other.milli, memory: self.memory + other.memory }
    }

    /// Without another that is part of it.
    #[must_use]
    pub fn without(self, other: Self) -> Self {
        Self { milli: self.milli - other.milli, memory: self.memory - other.memory }
    }

    /// Thousandths of MiB on a device of so many MiB.
    fn on(self, memory: i64) -> i64 {
        self.milli * memory + self.memory * 1000
    }
}

/// A device that pods share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SharedDevice {
    /// What its pods call it.
    pub name: Name,
    /// Taken by pods on it, leaving ones included.
    pub used: DeviceUse,
    /// The part of that whose pods are leaving.
    pub leaving: DeviceUse,
    /// Held for pods that wait.
    pub held: DeviceUse,
}

impl SharedDevice {
    fn new(name: Name) -> Self {
        let nothing = DeviceUse::default();
        Self { name, used: nothing, leaving: nothing, held: nothing }
    }

    /// What is taken once those that leave have left and those that wait have come.
    fn future(&self) -> DeviceUse {
        self.used.without(self.leaving).and(self.held)
    }

    /// Will it stay in shared use by those that are there now?
    pub fn stays(&self) -> bool {
        self.used != self.leaving
    }

    /// Is anybody on it, or is it only awaited?
    fn is_in_use(&self) -> bool {
        !self.used.is_nothing()
    }

    fn is_unused(&self) -> bool {
        self.used.is_nothing() && self.held.is_nothing()
    }

    /// What it takes of the lane of whole devices: used, leaving, held.
    pub(crate) fn lanes(&self) -> [i64; 3] {
        let present = !self.used.is_nothing();
        let goes = !self.stays();
        let count = |so: bool| if so { WHOLE } else { 0 };
        [count(present), count(present && goes), count(!self.held.is_nothing() && goes)]
    }
}

/// What a node has of devices beside their number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct NodeDevices {
    facts: NodeDeviceFacts,
    /// Pods with instances that nobody can count.
    pub(super) loose: u32,
    /// Devices in shared use, sorted by name.
    pub(super) shared: Vec<SharedDevice>,
}

impl NodeDevices {
    /// What the node says of them.
    pub fn facts(&self) -> NodeDeviceFacts {
        self.facts
    }

    /// Replaces what the node says of them; says whether that is news.
    pub(crate) fn describe(&mut self, facts: NodeDeviceFacts) -> bool {
        std::mem::replace(&mut self.facts, facts) != facts
    }

    /// Devices in shared use, sorted by name.
    pub fn shared(&self) -> &[SharedDevice] {
        &self.shared
    }

    /// Is a pod there with instances that nobody can count?
    pub fn has_loose_instances(&self) -> bool {
        self.loose > 0
    }

    /// How they are divided.
    pub fn division(&self) -> Division {
        self.facts.division
    }

    /// MiB of each.
    fn memory(&self) -> i64 {
        self.facts.memory.map_or(UNKNOWN_MEMORY, i64::from)
    }

    /// Thousandths of devices that its instances come to.
    pub(crate) fn instances(&self) -> i64 {
        i64::from(self.facts.instances) * WHOLE
    }

    /// Is any shared device being left?
    pub(crate) fn leaves(&self) -> bool {
        self.shared.iter().any(|one| !one.leaving.is_nothing())
    }

    /// Is more held on a device than will be free of it?
    pub fn is_overbooked(&self) -> bool {
        let room = self.memory() * 1000;
        let over =
            |one: &SharedDevice| !one.held.is_nothing() && one.future().on(self.memory()) > room;
        self.shared.iter().any(over)
    }

    fn find(&self, name: &str) -> Result<usize, usize> {
        self.shared.binary_search_by(|one| (*one.name).cmp(name))
    }

    /// Changes the books of one device, which appears with its first entry and goes with its last. What
    /// that adds to the lane of whole ones: used, leaving, held.
    pub(super) fn change(
        &mut self,
        name: &Name,
        write: impl FnOnce(&mut SharedDevice),
    ) -> [i64; 3] {
        let at = self.find(name).unwrap_or_else(|at| {
            self.shared.insert(at, SharedDevice::new(name.clone()));
            at
        });
        let before = self.shared[at].lanes();
        write(&mut self.shared[at]);
        let after = self.shared[at].lanes();
        if self.shared[at].is_unused() {
            self.shared.remove(at);
        }
        std::array::from_fn(|lane| after[lane] - before[lane])
    }
}

#[cfg(test)]
mod tests;
