//! Action `shuffle`: running pods that a plugin wants elsewhere leave their nodes.
//!
//! It makes room for nobody in particular. Who leaves comes back by its controller, if it has one, and
//! is placed like any other pod.
//!
//! Reads: the whole cluster, if there is a plugin that can propose. Writes: assumptions through a
//! Statement, the evictions of jobs.

use super::drive::Scene;
use crate::evict::{self, Limits};
use crate::policy::Point;
use crate::statement::{Grounds, Statement};

/// The action with its arguments.
pub(super) fn shuffle(limits: Limits) -> impl FnMut(Scene<'_, '_>) {
    move |mut scene: Scene<'_, '_>| {
        // Without anybody who could name them, nobody is looked at.
        if scene.policies.is_asked(Point::VictimTasks) {
            send_off(&mut scene, &limits);
        }
    }
}

fn send_off(scene: &mut Scene<'_, '_>, limits: &Limits) {
    let candidates = evict::movable(scene, limits);
    let now = scene.now.0;
    let moves = scene.policies.victim_tasks(&scene.cluster, now, &candidates);
    scene.wake_at(moves.again);
    let mut statement = Statement::new("shuffle");
    for (task, plugin) in moves.tasks {
        let Some(job) = scene.cluster.task(task).membership.job else { continue };
        // Several of one job may be named at once, each of which counts.
        if limits.is_worn(scene.cluster.job(job).evictions, now) {
            continue;
        }
        let reason = format!("proposed for shuffle by {plugin}");
        let grounds = Grounds { beneficiary: None, reason };
        if statement.evict(&mut scene.cluster, task, grounds).is_ok() {
            scene.cluster.job_mut(job).evictions.note(now);
        }
    }
    statement.commit(&mut scene.cluster, &mut scene.outcome.0);
}
