//! `priority`: higher priority first.
//!
//! Promise: of two jobs of a queue the one of higher priority class is served first, of two tasks of
//! a job the one of higher pod priority, of two sub-groups the one with the most important task.
//! Alone, it calls a job starving while any of its tasks waits. Only a job of lower priority is
//! preempted for another, and within a job only a task of lower priority. What a queue takes back
//! from another is no matter of priority.
//!
//! It has no arguments.

use bevy_ecs::entity::Entity;

use crate::policy::{
    Ballot, Build, EvictPurpose, Evictor, JobOrderPlugin, JobStarvingPlugin, Plugin, PluginSpec,
    PreemptablePlugin, Setup, SubGroupOrderPlugin, TaskOrderPlugin, UnifiedEvictablePlugin, Unit,
    Words, plugin,
};
use crate::world::{Cluster, JobReadOnlyItem, TaskReadOnlyItem};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    words: Words {
        job_order: Some("higher priority"),
        victims: Some("their priority is lower"),
        gang_victims: &[EvictPurpose::Preempt],
        ..Words::NONE
    },
    ..PluginSpec::of::<Priority>(
        "priority",
        "higher priority goes first, and only lower priority may be preempted for it",
    )
};

/// The plugin.
pub(in crate::policy) struct Priority;

plugin!(Priority);

impl Plugin for Priority {}

impl Build for Priority {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl JobOrderPlugin for Priority {
    fn job_order(&self, _cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> i64 {
        -i64::from(job.spec.priority)
    }
}

impl TaskOrderPlugin for Priority {
    fn task_order(&self, task: &TaskReadOnlyItem<'_, '_>) -> i64 {
        -i64::from(task.priority.value)
    }
}

impl JobStarvingPlugin for Priority {
    fn job_starving(&self, job: &JobReadOnlyItem<'_, '_>) -> bool {
        job.counts().ready() + job.counts().pipelined() < job.counts().tasks()
    }
}

impl SubGroupOrderPlugin for Priority {
    fn subgroup_order(
        &self,
        cluster: &Cluster<'_, '_>,
        _unit: Unit<'_>,
        members: &[Entity],
    ) -> i64 {
        let priorities = members.iter().map(|&task| cluster.task(task).priority.value);
        -priorities.max().map_or(0, i64::from)
    }
}

impl PreemptablePlugin for Priority {
    fn preemptable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        let own = cluster.job(evictor.job).spec.priority;
        let task = evictor.task.map(|task| cluster.task(task).priority.value);
        Ballot::filter(candidates, |victim| {
            let victim = cluster.task(victim);
            if victim.membership.job == Some(evictor.job) {
                return task.is_some_and(|task| victim.priority.value < task);
            }
            job_priority(cluster, &victim) < i64::from(own)
        })
    }
}

impl UnifiedEvictablePlugin for Priority {
    fn unified_evictable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        match evictor.purpose {
            EvictPurpose::Reclaim | EvictPurpose::Consolidate => Ballot::Only(candidates.to_vec()),
            EvictPurpose::Preempt => {
                let own = i64::from(cluster.job(evictor.job).spec.priority);
                Ballot::filter(candidates, |victim| {
                    job_priority(cluster, &cluster.task(victim)) < own
                })
            }
        }
    }
}

/// The priority of a task's job; a task without job is nobody's to evict.
fn job_priority(cluster: &Cluster<'_, '_>, task: &TaskReadOnlyItem<'_, '_>) -> i64 {
    task.membership.job.map_or(i64::MAX, |job| i64::from(cluster.job(job).spec.priority))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::Point;
    use crate::policy::testing::{Bed, evictor, named, tasks};

    fn three_jobs() -> Bed {
        let mut bed = Bed::new();
        bed.node("n", &[("cpu", 9)]).class("low", 1).class("mid", 5).class("high", 9);
        for name in ["low", "mid", "high"] {
            bed.group(name, 1, |group| group.priority_class = Some(name.into()));
            bed.pod(name, 0, Some("n"), |_| {});
        }
        // Within the job in the middle one task is less important, and one waits.
        bed.pod("mid", 1, Some("n"), |pod| pod.priority = Some(-3));
        bed.pod("mid", 2, None, |_| {});
        bed
    }

    const ALL: [&str; 4] = ["high-0", "mid-0", "mid-1", "low-0"];

    #[test]
    fn less_important_jobs_and_tasks_may_be_preempted() {
        let victims = three_jobs().look(|cluster, directory| {
            let evictor = evictor(directory, "mid", Some("mid-2"), EvictPurpose::Preempt);
            match Priority.preemptable(cluster, &evictor, &tasks(directory, &ALL)) {
                Ballot::Abstain => panic!("priority has an opinion"),
                Ballot::Only(victims) => named(cluster, &victims),
            }
        });
        assert_eq!(victims, ["mid-1", "low-0"]);
    }

    #[test]
    fn for_a_gang_only_the_job_counts_and_reclaim_does_not_ask_priority() {
        let victims = three_jobs().look(|cluster, directory| {
            [EvictPurpose::Preempt, EvictPurpose::Reclaim].map(|purpose| {
                let evictor = evictor(directory, "mid", None, purpose);
                match Priority.unified_evictable(cluster, &evictor, &tasks(directory, &ALL)) {
                    Ballot::Abstain => panic!("priority has an opinion"),
                    Ballot::Only(victims) => named(cluster, &victims),
                }
            })
        });
        assert_eq!(victims, [vec!["low-0".to_owned()], ALL.map(str::to_owned).to_vec()]);
        assert!(!SPEC.points.contains(Point::Reclaimable));
    }
}
