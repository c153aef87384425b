//! Devices: what pods ask for beside whole ones, and what nodes say of theirs.

/// What a pod asks of devices that is no whole one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DeviceRequest {
    /// A part of each of some devices.
    Share(DeviceShare),
    /// Instances of divided devices. They are resources of their own; to queues they count as so many
    /// devices.
    Instances {
        /// That many.
        devices: u32,
    },
    /// Instances that are named by an annotation only, so that nobody can count them.
    LooseInstances,
}

/// A part of each of some devices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct DeviceShare {
    /// Of how many, at least one.
    pub devices: u32,
    /// How much of each.
    pub part: DevicePart,
}

/// How much of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DevicePart {
    /// Thousandths of it, at least one and less than all.
    Milli(u16),
    /// MiB of its memory, at least one.
    Memory(u32),
}

/// What a node says of its devices beside their number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct NodeDeviceFacts {
    /// MiB of memory that each of them has, if it is known.
    pub memory: Option<u32>,
    /// How they are divided.
    pub division: Division,
    /// What their instances come to, in devices as queues count them.
    pub instances: u32,
}

/// How the devices of a node are divided into instances.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Division {
    /// They are not.
    #[default]
    None,
    /// They are, and nothing more is said.
    Some,
    /// Into instances that look like whole devices.
    Single,
    /// Into instances that are resources of their own.
    Mixed,
}
