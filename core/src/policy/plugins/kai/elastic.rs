//! `elastic`: jobs that lack their minimum before those that have it.
//!
//! Promise: among jobs of one priority those that have less than their minimum are served first, then
//! those that have just that, then those that have more.
//!
//! No arguments.

use crate::policy::{Build, JobOrderPlugin, Plugin, PluginSpec, Setup, Words, plugin};
use crate::world::{COVERED, Cluster, JobReadOnlyItem};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    words: Words { job_order: Some("below its minimum, then at it"), ..Words::NONE },
    ..PluginSpec::of::<Elastic>("elastic", "jobs below their minimum go first, those above it last")
};

/// The plugin.
pub(in crate::policy) struct Elastic;

const BELOW: i64 = 0;
const JUST: i64 = 1;
const ABOVE: i64 = 2;

plugin!(Elastic);

impl Plugin for Elastic {}

impl Build for Elastic {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl JobOrderPlugin for Elastic {
    fn job_order(&self, _cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> i64 {
        let has = job.counts().ready() + job.counts().pipelined();
        // One whose sets of sub-groups are not whole lacks something, however many pods it has.
        if job.progress(&COVERED).is_some_and(|progress| !progress.of(None).is_whole()) {
            return BELOW;
        }
        match has.cmp(&job.spec.min_available) {
            std::cmp::Ordering::Less => BELOW,
            std::cmp::Ordering::Equal => JUST,
            std::cmp::Ordering::Greater => ABOVE,
        }
    }
}
