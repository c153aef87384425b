//! What tasks of a class ask of devices beside whole ones.

use crate::delta::{DevicePart, DeviceShare};
use crate::resource::{Dim, ResourceVec};

/// What a task asks of devices beside whole ones. Queues count it as whole devices and parts of them; of a
/// node's lanes it takes less.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeviceAsk {
    /// A part of each of some devices.
    Share(ShareAsk),
    /// Instances of divided devices, which are resources of their own: this is the request without the
    /// devices they count as.
    Instances(ResourceVec),
    /// Instances that nobody can count.
    LooseInstances,
}

/// A part of each of some devices.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ShareAsk {
    /// The resource that whole devices are.
    pub dim: Dim,
    /// Of how many, and how much.
    pub share: DeviceShare,
    /// The request without them: what the task takes of lanes wherever it goes.
    pub room: ResourceVec,
    /// The request as limits of queues count it before it is known which node it goes to.
    pub least: ResourceVec,
}

impl ShareAsk {
    /// The request as limits of queues count it on a node whose devices have so many MiB: memory in whole
    /// hundredths of a device.
    pub fn on_node(&self, memory: u32) -> Option<ResourceVec> {
        let DevicePart::Memory(asked) = self.share.part else { return None };
        let hundredths = (u64::from(asked) * 100).div_ceil(u64::from(memory.max(1)));
        let mut request = self.room.clone();
        request.set(self.dim, i64::try_from(hundredths * 10).ok()? * i64::from(self.share.devices));
        Some(request)
    }
}

impl DeviceAsk {
    /// What the task takes of a node's lanes, where that is not its request.
    pub(in crate::world) fn room(&self) -> Option<&ResourceVec> {
        match self {
            Self::Share(share) => Some(&share.room),
            Self::Instances(room) => Some(room),
            Self::LooseInstances => None,
        }
    }
}
