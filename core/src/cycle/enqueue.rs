//! Action `enqueue`: admits jobs whose queue takes them and to whom no plugin objects.
//!
//! Queues in their order, jobs of a queue in theirs; a job that is turned away does not stop the next.
//! Admission moves what was promised and nothing that queues or jobs are ordered by, so one pass in
//! sorted order is the same as turn after turn.
//!
//! Reads: jobs that are pending, their queues, quotas. Writes: phase, verdict, what was admitted.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::delta::{GroupPhase, ObjectRef};
use crate::place::{Admission, Session};
use crate::policy::{AdmissionContext, OrderKey};
use crate::status::QueueState;
use crate::verdict::{Reason, Verdict};

pub(super) fn enqueue(mut session: Session<'_, '_>) {
    session.quotas.admitted.clear();
    for job in pending_in_order(&mut session) {
        if let Err(verdict) = consider(&session, job) {
            session.judge(job, Some(verdict));
        } else {
            admit(&mut session, job);
        }
    }
}

/// Jobs that wait for admission, by queue order, then by job order.
fn pending_in_order(session: &mut Session<'_, '_>) -> Vec<Entity> {
    let standings = session.policies.standings(&session.cluster);
    let mut queues: BTreeMap<Entity, OrderKey> = BTreeMap::new();
    let mut pending: Vec<((OrderKey, Entity, OrderKey), Entity)> = Vec::new();
    for job in session.cluster.open_jobs() {
        let job = session.cluster.job(job);
        if !job.identity.present || job.spec.phase != GroupPhase::Pending {
            continue;
        }
        let queue = queues.entry(job.spec.queue).or_insert_with(|| {
            session.policies.queue_key(&session.cluster, &standings, job.spec.queue, None)
        });
        let key = session.policies.job_key(&session.cluster, &job);
        pending.push(((queue.clone(), job.spec.queue, key), job.entity));
    }
    pending.sort();
    pending.into_iter().map(|(_, job)| job).collect()
}

/// May the job be tried? Without the `enqueue` action every job is admitted when it is met, if only its
/// queue takes jobs: that is how admission by resources is switched off.
pub(super) fn is_admitted(session: &mut Session<'_, '_>, job: Entity) -> bool {
    if session.cluster.job(job).spec.phase != GroupPhase::Pending {
        return true;
    }
    if session.settings.admission == Admission::Enqueue {
        return false;
    }
    let verdict = queue_takes_jobs(session, session.cluster.job(job).spec.queue).err();
    let passed = verdict.is_none();
    if passed {
        admit(session, job);
    }
    session.judge(job, verdict);
    passed
}

/// May the job be admitted?
fn consider(session: &Session<'_, '_>, job: Entity) -> Result<(), Verdict> {
    let item = session.cluster.job(job);
    queue_takes_jobs(session, item.spec.queue)?;
    let (names, quotas) = (&session.names.0, &*session.quotas);
    let context = AdmissionContext { names, quotas, evictions: session.settings.evictions };
    session.policies.job_enqueueable(&session.cluster, &context, &item)
}

fn admit(session: &mut Session<'_, '_>, job: Entity) {
    let item = session.cluster.job(job);
    session.policies.job_enqueued(&session.cluster, &item);
    let (namespace, asked) = (&item.identity.key.object().namespace, &item.spec.min_quota);
    session.quotas.admit(namespace, asked);
    session.cluster.set_phase(job, GroupPhase::Inqueue);
}

/// Is there such a queue? While there is none nothing is known of its limits, so nothing is placed for
/// its jobs, those admitted before included.
pub(super) fn queue_exists(session: &Session<'_, '_>, queue: Entity) -> Result<(), Verdict> {
    let queue = session.cluster.queue(queue);
    if queue.identity.present {
        return Ok(());
    }
    let name = &queue.identity.name;
    let message = match session.aside.0.get(&ObjectRef::Queue(name.clone())) {
        Some(why) => format!("queue {name:?} cannot be understood: {why}"),
        None => format!("queue {name:?} does not exist; create it or name another one"),
    };
    Err(Verdict::new(Reason::NotAdmitted, message))
}

/// No plugin can let a job into a queue that is not there or not open.
fn queue_takes_jobs(session: &Session<'_, '_>, queue: Entity) -> Result<(), Verdict> {
    queue_exists(session, queue)?;
    let queue = session.cluster.queue(queue);
    let name = &queue.identity.name;
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
