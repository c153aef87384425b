//! `priority` of KAI: the job of higher priority first.
//!
//! Promise: of two jobs of a queue the one of higher priority is served first. Who may be evicted for
//! whom is not its matter.
//!
//! No arguments.

use crate::policy::{Build, JobOrderPlugin, Plugin, PluginSpec, Setup, Words, plugin};
use crate::world::{Cluster, JobReadOnlyItem};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    words: Words { job_order: Some("higher priority"), ..Words::NONE },
    ..PluginSpec::of::<KaiPriority>(
        "priority",
        "among the jobs of a queue higher priority goes first",
    )
};

/// The plugin.
pub(in crate::policy) struct KaiPriority;

plugin!(KaiPriority);

impl Plugin for KaiPriority {}

impl Build for KaiPriority {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl JobOrderPlugin for KaiPriority {
    fn job_order(&self, _cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> i64 {
        -i64::from(job.spec.priority)
    }
}
