//! Plugins of KAI's that this version knows by name only: a file may list them, their arguments are
//! checked, and `check-config` says that they have no effect.

use crate::config::ArgumentKind::{Bool, IntFrom, List, Text};
use crate::config::arg;
use crate::policy::PluginSpec;

pub(super) const DYNAMICRESOURCES: PluginSpec = PluginSpec {
    arguments: &[arg("maxCelCacheEntries", IntFrom(0), "10", "expressions that are kept compiled")],
    ..PluginSpec::named("dynamicresources", "pods get the devices their claims ask for")
};

pub(super) const NUMA: PluginSpec = PluginSpec {
    arguments: &[
        arg("ignoreList", List(&Text), "", "resources that are not aligned"),
        arg("reconstructAvailable", Bool, "true", "counts what is left of a zone from its pods"),
    ],
    ..PluginSpec::named("numa", "pods get cpu, memory and devices of as few NUMA zones as possible")
};
