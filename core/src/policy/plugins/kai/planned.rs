//! Plugins of KAI's that this version knows by name only: a file may list them, their arguments are
//! checked, and `check-config` says that they have no effect.

use crate::config::ArgumentKind::{Bool, IntFrom, List, Text};
use crate::config::arg;
use crate::policy::PluginSpec;

pub(super) const DYNAMICRESOURCES: PluginSpec = PluginSpec {
    arguments: &[arg("maxCelCacheEntries", IntFrom(0), "10", "expressions that are kept compiled")],
    ..PluginSpec::named("dynamicresources", "pods get the devices their claims ask for")
};

pub(super) const GPUPACK: PluginSpec =
    PluginSpec::named("gpupack", "shares of GPUs go to the GPU that is fullest");

pub(super) const GPUSPREAD: PluginSpec =
    PluginSpec::named("gpuspread", "shares of GPUs go to the GPU that is emptiest");

pub(super) const GPUSHARINGORDER: PluginSpec =
    PluginSpec::named("gpusharingorder", "shares of GPUs go to nodes with a GPU in shared use");

pub(super) const NUMA: PluginSpec = PluginSpec {
    arguments: &[
        arg("ignoreList", List(&Text), "", "resources that are not aligned"),
        arg("reconstructAvailable", Bool, "true", "counts what is left of a zone from its pods"),
    ],
    ..PluginSpec::named("numa", "pods get cpu, memory and devices of as few NUMA zones as possible")
};
