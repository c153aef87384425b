//! `podgroup`: what KAI does with PodGroups whatever its file says. No file names it; it is always in
//! force.
//!
//! Promise: nothing of a gang is bound before its minimum has a place. Any job with a pod that waits may
//! have others make way for it, for its minimum first and then pod by pod. Nobody makes way for a job of their own queue that is not of higher
//! priority, and no job that is not preemptible makes way for anybody. As a victim a gang gives up what
//! it has above its minimum first, and the rest at once.

use bevy_ecs::entity::Entity;

use crate::policy::plugins::gang::Gang;
use crate::policy::{
    Ballot, Build, EvictPurpose, Evictor, JobPipelinedPlugin, JobReadyPlugin, JobStarvingPlugin,
    JobValidPlugin, Plugin, PluginSpec, Setup, UnifiedEvictablePlugin, Vote, Words, plugin,
};
use crate::verdict::Verdict;
use crate::world::{Cluster, JobReadOnlyItem};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    words: Words {
        victims: Some("they are preemptible, and of lower priority within a queue"),
        gang_victims: &[EvictPurpose::Preempt, EvictPurpose::Reclaim],
        ..Words::NONE
    },
    ..PluginSpec::of::<PodGroup>(
        "podgroup",
        "gangs start whole, and only preemptible jobs make way",
    )
};

/// The plugin.
pub(in crate::policy) struct PodGroup;

plugin!(PodGroup);

impl Plugin for PodGroup {}

impl Build for PodGroup {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl JobValidPlugin for PodGroup {
    fn job_valid(&self, job: &JobReadOnlyItem<'_, '_>) -> Result<(), Verdict> {
        Gang.job_valid(job)
    }
}

impl JobReadyPlugin for PodGroup {
    fn job_ready(&self, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> bool {
        Gang.job_ready(cluster, job)
    }

    fn job_lacks(&self, job: &JobReadOnlyItem<'_, '_>) -> u32 {
        Gang.job_lacks(job)
    }
}

impl JobPipelinedPlugin for PodGroup {
    fn job_pipelined(&self, job: &JobReadOnlyItem<'_, '_>) -> Vote {
        Gang.job_pipelined(job)
    }
}

impl JobStarvingPlugin for PodGroup {
    fn job_starving(&self, job: &JobReadOnlyItem<'_, '_>) -> bool {
        // For whom room is being made waits for it before it asks for more.
        job.counts().pending() > 0 && job.counts().pipelined() == 0
    }
}

impl UnifiedEvictablePlugin for PodGroup {
    fn unified_evictable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        let own = cluster.job(evictor.job).spec.priority;
        let ranked = evictor.purpose == EvictPurpose::Preempt;
        Ballot::filter(candidates, |victim| {
            let Some(job) = cluster.task(victim).membership.job else { return false };
            let spec = cluster.job(job).spec;
            (!ranked || spec.priority < own) && spec.is_preemptible()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Bed, evictor, named, tasks};

    #[test]
    fn within_a_queue_only_preemptible_jobs_of_lower_priority_make_way() {
        let mut bed = Bed::new();
        bed.node("n", &[("cpu", 9)]).class("low", 20).class("mid", 50).class("build", 100);
        for (name, class) in [("low", "low"), ("mid", "mid"), ("firm", "build")] {
            bed.group(name, 1, |group| group.priority_class = Some(class.into()));
            bed.pod(name, 0, Some("n"), |_| {});
        }
        bed.group("kept", 1, |group| {
            group.priority_class = Some("low".into());
            group.preemptable = Some(false);
        });
        bed.pod("kept", 0, Some("n"), |_| {});
        let victims = bed.look(|cluster, directory| {
            let all = tasks(directory, &["low-0", "mid-0", "firm-0", "kept-0"]);
            [EvictPurpose::Preempt, EvictPurpose::Reclaim].map(|purpose| {
                let evictor = evictor(directory, "mid", None, purpose);
                match PodGroup.unified_evictable(cluster, &evictor, &all) {
                    Ballot::Abstain => panic!("it has an opinion"),
                    Ballot::Only(victims) => named(cluster, &victims),
                }
            })
        });
        assert_eq!(victims, [vec!["low-0"], vec!["low-0", "mid-0"]]);
    }
}
