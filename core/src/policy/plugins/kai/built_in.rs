//! Plugins of KAI's whose promise always holds here, so that there is nothing to ask them.

use crate::policy::{PluginSpec, Support};

pub(super) const NODEAVAILABILITY: PluginSpec = always(
    "nodeavailability",
    "room that is free now goes before room that is being freed; it does with and without the plugin",
);

pub(super) const NOMINATEDNODE: PluginSpec = always(
    "nominatednode",
    "a pod goes to the node it is nominated for, which is held for it; with and without the plugin",
);

pub(super) const SNAPSHOT: PluginSpec = always(
    "snapshot",
    "in KAI, serves the state of the scheduler over HTTP; has no effect on decisions",
);

pub(super) const REFLECTJOBORDER: PluginSpec = always(
    "reflectjoborder",
    "in KAI, serves the order of jobs over HTTP; has no effect on decisions",
);

pub(super) const SG_NODELOCALGREEDY: PluginSpec = always(
    "sg-nodelocalgreedy",
    "in KAI, proposes victims node by node; here victims are always sought for the whole gang",
);

pub(super) const SG_MULTINODEGANG: PluginSpec = always(
    "sg-multinodegang",
    "in KAI, proposes victims on several nodes; here victims are always sought for the whole gang",
);

const fn always(name: &'static str, summary: &'static str) -> PluginSpec {
    PluginSpec { support: Support::Always, ..PluginSpec::named(name, summary) }
}
