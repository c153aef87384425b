//! `minruntime` of KAI: jobs run for a while before others may take their room.
//!
//! Promise: from when its minimum last started, a gang keeps its minimum for as long as its queue, or the
//! nearest queue above it that says so, or else the default wants. For a job of the same queue that is the
//! `preemptMinRuntime`, for one of another queue the `reclaimMinRuntime`. What a gang has above its minimum
//! may go at any time.
//!
//! Arguments: the two defaults, and where looking for a `reclaimMinRuntime` begins: where the paths of the
//! two queues part (`lca`), so that what queues of one department grant each other is theirs to say, or at
//! the victim's own queue (`queue`).

use bevy_ecs::entity::Entity;

use crate::config::ArgumentKind::{Duration, OneOf};
use crate::config::arg;
use crate::delta::OverQuotaTerms;
use crate::ids::TimeMs;
use crate::policy::{
    Build, EvictPurpose, Evictor, MinRuntimePlugin, Plugin, PluginSpec, Setup, Words, plugin,
    upwards,
};
use crate::world::{Cluster, JobReadOnlyItem};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    arguments: &[
        arg("defaultReclaimMinRuntime", Duration, "0s", "how long reclaim leaves a job alone"),
        arg("defaultPreemptMinRuntime", Duration, "0s", "how long preempt leaves a job alone"),
        arg(
            "reclaimResolveMethod",
            OneOf(&["lca", "queue"]),
            "lca",
            "whose time counts when another queue takes back: that of the queue below the first both are in, \
             or of the victim's own; else of those above it",
        ),
    ],
    words: Words {
        victims: Some("they have run for long enough, or are not needed"),
        gang_victims: &[EvictPurpose::Preempt, EvictPurpose::Reclaim],
        ..Words::NONE
    },
    ..PluginSpec::of::<MinRuntime>(
        "minruntime",
        "gangs keep their minimum for a while before others may take their room",
    )
};

/// The plugin.
pub(in crate::policy) struct MinRuntime {
    default_reclaim_ms: i64,
    default_preempt_ms: i64,
    resolve: Resolve,
}

/// Where the time of a victim's queue is looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Resolve {
    /// From below the first queue both are in.
    Lca,
    /// From the victim's own.
    Queue,
}

plugin!(MinRuntime);

impl Plugin for MinRuntime {}

impl Build for MinRuntime {
    fn build(setup: &mut Setup<'_>) -> Self {
        let time = |key: &str| setup.arguments.duration_ms(key).unwrap_or(0);
        Self {
            default_reclaim_ms: time("defaultReclaimMinRuntime"),
            default_preempt_ms: time("defaultPreemptMinRuntime"),
            resolve: match setup.arguments.text("reclaimResolveMethod") {
                "queue" => Resolve::Queue,
                _ => Resolve::Lca,
            },
        }
    }
}

impl MinRuntimePlugin for MinRuntime {
    fn keeps_until(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Option<TimeMs> {
        let started = job.spec.tree.as_ref()?.last_start?;
        let time = match evictor.purpose {
            // Nobody loses what it has.
            EvictPurpose::Consolidate => return None,
            EvictPurpose::Preempt => {
                let named =
                    first_named(cluster, job.spec.queue, |terms| terms.preempt_min_runtime_ms);
                named.unwrap_or(self.default_preempt_ms)
            }
            EvictPurpose::Reclaim => {
                let from = self.first_asked(cluster, evictor.queue(cluster), job.spec.queue);
                let named = first_named(cluster, from, |terms| terms.reclaim_min_runtime_ms);
                named.unwrap_or(self.default_reclaim_ms)
            }
        };
        Some(TimeMs(started.0.saturating_add(time.max(0))))
    }
}

impl MinRuntime {
    /// The first queue that is asked for its time when another takes back from a victim's queue.
    fn first_asked(&self, cluster: &Cluster<'_, '_>, taker: Entity, queue: Entity) -> Entity {
        if self.resolve == Resolve::Queue {
            return queue;
        }
        let is_common = |at: Entity| upwards(cluster, taker).any(|above| above == at);
        let apart = upwards(cluster, queue).take_while(|&at| !is_common(at));
        apart.last().unwrap_or(queue)
    }
}

/// The first time that a queue or one above it names.
fn first_named(
    cluster: &Cluster<'_, '_>,
    queue: Entity,
    time: impl Fn(&OverQuotaTerms) -> Option<i64>,
) -> Option<i64> {
    upwards(cluster, queue).find_map(|at| time(cluster.queue(at).spec.over_quota.as_deref()?))
}

#[cfg(test)]
mod tests;
