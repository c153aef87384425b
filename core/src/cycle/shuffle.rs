//! Action `shuffle`: running pods that a plugin wants elsewhere leave their nodes.
//!
//! It makes room for nobody in particular. Who leaves comes back by its controller, if it has one, and
//! is placed like any other pod.
//!
//! Reads: the whole cluster, if there is a plugin that can propose. Writes: assumptions through a
//! Statement, the evictions of jobs.

use crate::evict::{self, EvictLimits};
use crate::place::Session;
use crate::policy::Point;
use crate::statement::{Grounds, Statement};

/// The action with its arguments.
pub(super) fn shuffle(limits: EvictLimits) -> impl FnMut(Session<'_, '_>) {
    move |mut session: Session<'_, '_>| {
        // Without anybody who could name them, nobody is looked at.
        if session.policies.is_asked(Point::VictimTasks) {
            send_off(&mut session, &limits);
        }
    }
}

fn send_off(session: &mut Session<'_, '_>, limits: &EvictLimits) {
    let candidates = evict::movable(session, limits);
    let now = session.now.0;
    let moves = session.policies.victim_tasks(&session.cluster, now, &candidates);
    session.wake_at(moves.again);
    let mut statement = Statement::new("shuffle");
    for (task, plugin) in moves.tasks {
        let Some(job) = session.cluster.task(task).membership.job else { continue };
        // Several of one job may be named at once, each of which counts.
        if limits.is_worn(session.cluster.job(job).evictions, now) {
            continue;
        }
        let reason = format!("proposed for shuffle by {plugin}");
        let grounds = Grounds { beneficiary: None, reason };
        if statement.evict(&mut session.cluster, task, grounds).is_ok() {
            session.cluster.job_mut(job).evictions.note(now);
        }
    }
    statement.commit(&mut session.cluster, &mut session.outcome.0);
}
