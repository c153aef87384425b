//! `gpuspread`: parts of GPUs go to the emptiest GPU of the node.
//!
//! Promise: of the GPUs of a node that have room for the part a pod asks for it gets one that nobody uses,
//! else the one of which least is taken. What leaving pods hold counts as taken.
//!
//! No arguments.

use crate::policy::{Build, DeviceOrderPlugin, Plugin, PluginSpec, Setup, plugin};
use crate::world::DeviceOrder;

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec =
    PluginSpec::of::<GpuSpread>("gpuspread", "shares of GPUs go to the GPU that is emptiest");

/// The plugin.
pub(in crate::policy) struct GpuSpread;

plugin!(GpuSpread);

impl Plugin for GpuSpread {}

impl Build for GpuSpread {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl DeviceOrderPlugin for GpuSpread {
    fn device_order(&self) -> DeviceOrder {
        DeviceOrder::Emptiest
    }
}
