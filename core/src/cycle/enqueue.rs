//! Action `enqueue`: admits jobs whose queue takes them.
//!
//! Reads: jobs that are pending, their queues. Writes: phase, verdict.

use bevy_ecs::entity::Entity;

use super::Admission;
use super::drive::Scene;
use crate::delta::{GroupPhase, ObjectRef, QueueState};
use crate::verdict::{Reason, Verdict};

pub(super) fn enqueue(mut scene: Scene<'_, '_>) {
    let pending: Vec<Entity> = scene
        .cluster
        .jobs
        .iter()
        .filter(|job| job.identity.present && job.spec.phase == GroupPhase::Pending)
        .map(|job| job.entity)
        .collect();
    for job in pending {
        match admit(&scene, job) {
            Ok(()) => scene.cluster.job_mut(job).spec.phase = GroupPhase::Inqueue,
            Err(verdict) => scene.judge(job, Some(verdict)),
        }
    }
}

/// May the job be tried? Without the `enqueue` action the question is asked when it is met.
pub(super) fn is_admitted(scene: &mut Scene<'_, '_>, job: Entity) -> bool {
    if scene.cluster.job(job).spec.phase != GroupPhase::Pending {
        return true;
    }
    if scene.settings.admission == Admission::Enqueue {
        return false;
    }
    let admitted = admit(scene, job);
    if admitted.is_ok() {
        scene.cluster.job_mut(job).spec.phase = GroupPhase::Inqueue;
    }
    let verdict = admitted.err();
    let passed = verdict.is_none();
    scene.judge(job, verdict);
    passed
}

fn admit(scene: &Scene<'_, '_>, job: Entity) -> Result<(), Verdict> {
    let queue = scene.cluster.queue(scene.cluster.job(job).spec.queue);
    let name = &queue.identity.name;
    if !queue.identity.present {
        let message = match scene.aside.0.get(&ObjectRef::Queue(name.clone())) {
            Some(why) => format!("queue {name:?} cannot be understood: {why}"),
            None => format!("queue {name:?} does not exist; create it or name another one"),
        };
        return Err(Verdict::new(Reason::NotAdmitted, message));
    }
    match queue.spec.state {
        QueueState::Open => Ok(()),
        QueueState::Closing => {
            let message = format!("queue {name:?} is closing and takes no more jobs");
            Err(Verdict::new(Reason::QueueClosed, message))
        }
        QueueState::Closed => {
            Err(Verdict::new(Reason::QueueClosed, format!("queue {name:?} is closed")))
        }
    }
}
