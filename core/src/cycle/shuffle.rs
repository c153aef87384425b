//! Action `shuffle`: running pods that a plugin wants elsewhere leave their nodes.
//!
//! It makes room for nobody in particular. Who leaves comes back by its controller, if it has one, and
//! is placed like any other pod.
//!
//! Reads: the whole cluster, if there is a plugin that can propose. Writes: assumptions through a
//! Statement, the evictions of jobs.

use crate::evict::{self, EvictLimits};
use crate::place::Session;
use crate::statement::{Grounds, Statement};

/// The action with its arguments.
pub(super) fn shuffle(limits: EvictLimits) -> impl FnMut(Session<'_, '_>) {
    move |mut session: Session<'_, '_>| {
        // Without anybody who could name them now, nobody is looked at.
        if let Some(due) = due_plugins(&mut session) {
            send_off(&mut session, &limits, &due);
        }
    }
}

/// Plugins whose interval has passed; `None` if there is nobody to ask at all. For the others a cycle comes
/// when theirs has.
fn due_plugins(session: &mut Session<'_, '_>) -> Option<Vec<&'static str>> {
    let now = session.now.0;
    let plugins: Vec<_> = session.policies.victim_rounds().collect();
    let (mut due, mut asked) = (Vec::new(), false);
    for (name, interval) in plugins {
        let Some(interval) = interval else {
            asked = true;
            continue;
        };
        let next = session.cluster.rounds.next(name, interval, now);
        if next <= now {
            due.push(name);
        } else {
            session.wake_at(Some(next));
        }
    }
    (asked || !due.is_empty()).then_some(due)
}

fn send_off(session: &mut Session<'_, '_>, limits: &EvictLimits, due: &[&'static str]) {
    let candidates = evict::movable(session, limits);
    let now = session.now.0;
    let moves = session.policies.victim_tasks(&session.cluster, now, due, &candidates);
    session.wake_at(moves.again);
    for name in moves.rounds {
        session.cluster.rounds.note(name, now);
    }
    // When those come next that were asked now.
    due_plugins(session);
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
            session.cluster.job_mut(job).note_eviction(now);
        }
    }
    let _not_refused = session.conclude(statement);
}
