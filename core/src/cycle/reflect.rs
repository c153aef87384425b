//! Ends a cycle: phases of PodGroups that changed become intents, memory that is no longer needed is
//! given back.
//!
//! Reads: job counts. Writes: phases, verdicts of jobs that need nothing any more.

use bevy_ecs::prelude::{ResMut, Resource};

use super::drive::{OUT_OF_TIME, Scene};
use crate::delta::GroupPhase;
use crate::ids::TimeMs;
use crate::intent::Intent;
use crate::verdict::Verdict;
use crate::world::{JobKey, JobReadOnlyItem, JobVerdict, TaskStatus};

/// When the next cycle is due even if nothing happens: the end of the first pause, or of the first
/// patience, of a job.
#[derive(Clone, Copy, Debug, Default, Resource)]
pub(crate) struct NextDue(pub(crate) Option<TimeMs>);

pub(super) fn reflect(mut scene: Scene<'_, '_>, mut due: ResMut<'_, NextDue>) {
    due.0 = None;
    let now = scene.now.0;
    let mut news = Vec::new();
    for job in &scene.cluster.jobs {
        if let Some(until) = job.backoff.until.filter(|&until| until > now) {
            due.0 = Some(due.0.map_or(until, |due| due.min(until)));
        }
        let waits = job.spec.phase == GroupPhase::Pending || job.counts.pending() > 0;
        if let Some(end) = scene.policies.deadline(&job).filter(|&end| waits && end > now) {
            due.0 = Some(due.0.map_or(end, |due| due.min(end)));
        }
        if job.verdict.0.as_ref().is_some_and(|verdict| verdict.message == OUT_OF_TIME) {
            due.0 = Some(now);
        }
        // Actions speak of jobs that wait; of the others it is said here whether they are whole.
        let idle = job.counts.pending() + job.counts.pipelined() == 0;
        let verdict = idle.then(|| missing(&scene, &job));
        let phase = phase_of(&job, verdict.as_ref().unwrap_or(&job.verdict.0).as_ref());
        let told = verdict.as_ref().is_none_or(|verdict| *verdict == job.verdict.0);
        if !told || phase != job.spec.phase || job.identity.announced != Some(phase) {
            news.push((job.entity, phase, verdict));
        }
    }
    for (job, phase, verdict) in news {
        scene.cluster.set_phase(job, phase);
        let mut item = scene.cluster.job_mut(job);
        if let Some(verdict) = verdict {
            *item.verdict = JobVerdict(verdict);
        }
        if item.identity.announced.replace(phase) == Some(phase) {
            continue;
        }
        if let (JobKey::Group(key), true) = (&item.identity.key, item.identity.present) {
            let intent = Intent::GroupPhase { group: key.clone(), phase };
            scene.outcome.0.intents.push(intent);
        }
    }
    scene.rankings.end_cycle();
    let nodes = scene.cluster.columns().len();
    scene.cluster.log.trim(nodes);
}

/// What a job of which nothing waits lacks: pods that do not exist, unless it has ended.
fn missing(scene: &Scene<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> Option<Verdict> {
    let over = phase_of(job, None) == GroupPhase::Completed || !job.identity.present;
    if over { None } else { scene.policies.job_valid(job).err() }
}

/// The phase of a job by where its tasks stand and why it waits.
fn phase_of(job: &JobReadOnlyItem<'_, '_>, verdict: Option<&Verdict>) -> GroupPhase {
    use TaskStatus::{Bound, Failed, Releasing, Running, Succeeded};
    let counts = job.counts;
    let scheduled = counts.count(&[Running, Bound, Failed, Succeeded, Releasing]);
    let ended = counts.count(&[Failed, Succeeded]);
    if scheduled > 0 && scheduled >= job.spec.min_available {
        return if scheduled == ended { GroupPhase::Completed } else { GroupPhase::Running };
    }
    match job.spec.phase {
        _ if counts.total[Running as usize] > 0 && verdict.is_some() => GroupPhase::Unknown,
        GroupPhase::Inqueue => GroupPhase::Inqueue,
        _ => GroupPhase::Pending,
    }
}
