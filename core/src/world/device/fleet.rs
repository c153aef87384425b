//! The devices of all nodes, as far as requests and limits depend on them.

use std::collections::BTreeMap;

use bevy_ecs::prelude::Resource;

use crate::delta::{DevicePart, DeviceShare};

use crate::ids::Name;
use crate::resource::{Dim, ResourceNames};

use super::{UNKNOWN_MEMORY, WHOLE};

/// Which device of a node a part goes to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeviceOrder {
    /// Any that is in shared use, else another one.
    #[default]
    Shared,
    /// The fullest that has room.
    Fullest,
    /// The emptiest, unused ones first.
    Emptiest,
}

impl DeviceOrder {
    /// What two wishes come to.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Shared, other) => other,
            (one, Self::Shared) => one,
            (one, other) if one == other => one,
            _ => Self::Shared,
        }
    }
}

/// The devices of all nodes.
#[derive(Debug, Default, Resource)]
pub struct DeviceFleet {
    /// Which device of a node a part goes to, as configured.
    pub(crate) order: DeviceOrder,
    /// The resource that whole devices are, once anybody asked for less or for more.
    pub(crate) dim: Option<Dim>,
    /// How many nodes have devices of so many MiB.
    memories: BTreeMap<u32, u32>,
}

impl DeviceFleet {
    /// The resource that whole devices are.
    pub(crate) fn whole(&mut self, names: &mut ResourceNames) -> Dim {
        *self.dim.get_or_insert_with(|| names.dim(&Name::from("nvidia.com/gpu")))
    }

    /// A node says another thing of its devices' memory; does that change the least or the most?
    pub(crate) fn replace(&mut self, before: Option<u32>, after: Option<u32>) -> bool {
        let range = self.range();
        let counts = |memory: &u32| i64::from(*memory) > UNKNOWN_MEMORY;
        if let Some(memory) = before.filter(counts)
            && let Some(nodes) = self.memories.get_mut(&memory)
        {
            *nodes -= 1;
            if *nodes == 0 {
                self.memories.remove(&memory);
            }
        }
        if let Some(memory) = after.filter(counts) {
            *self.memories.entry(memory).or_default() += 1;
        }
        self.range() != range
    }

    /// MiB of the smallest and of the largest devices.
    fn range(&self) -> Option<[u32; 2]> {
        let (least, most) = (self.memories.keys().next()?, self.memories.keys().next_back()?);
        Some([*least, *most])
    }

    /// What devices there are have of memory, each amount once, the least first.
    pub(crate) fn memories(&self) -> impl Iterator<Item = u32> + '_ {
        self.memories.keys().copied()
    }

    /// Thousandths of devices that queues count for a share, and what their limits count at least. Memory
    /// counts by the smallest devices there are, and for limits by the largest; where none is known it
    /// counts nothing.
    pub(crate) fn count(&self, share: DeviceShare) -> [i64; 2] {
        let devices = i64::from(share.devices);
        match (share.part, self.range()) {
            (DevicePart::Milli(milli), _) => [devices * i64::from(milli); 2],
            (DevicePart::Memory(_), None) => [0; 2],
            (DevicePart::Memory(memory), Some(range)) => range.map(|of| {
                let of = i64::from(of);
                devices * ((i64::from(memory) * WHOLE + of - 1) / of)
            }),
        }
    }
}
