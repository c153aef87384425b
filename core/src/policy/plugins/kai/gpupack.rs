//! `gpupack`: parts of GPUs go to the fullest GPU of the node.
//!
//! Promise: of the GPUs of a node that have room for the part a pod asks for it gets the one of which most
//! is taken; a GPU nobody uses only where no other will do. What leaving pods hold counts as taken.
//!
//! No arguments.

use crate::policy::{Build, DeviceOrderPlugin, Plugin, PluginSpec, Setup, plugin};
use crate::world::DeviceOrder;

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec =
    PluginSpec::of::<GpuPack>("gpupack", "shares of GPUs go to the GPU that is fullest");

/// The plugin.
pub(in crate::policy) struct GpuPack;

plugin!(GpuPack);

impl Plugin for GpuPack {}

impl Build for GpuPack {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl DeviceOrderPlugin for GpuPack {
    fn device_order(&self) -> DeviceOrder {
        DeviceOrder::Fullest
    }
}
