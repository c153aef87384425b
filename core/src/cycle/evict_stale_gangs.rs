//! Action `stalegangeviction`: what is left of a gang that has run without its minimum for too long
//! makes way.
//!
//! A gang is stale while pods of it hold room, none has ended well, and it, one of its sub-groups or a
//! set of them that it needs has less than its minimum. It may be so for as long as its PodGroup says, or
//! else as the scheduler is set. Since when it is so its PodGroup says, if it does.
//!
//! Reads: jobs that have changed, and gangs that were stale before. Writes: since when gangs are stale,
//! assumptions through a Statement.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{ResMut, Resource};

use crate::ids::TimeMs;
use crate::place::Session;
use crate::statement::{Grounds, Statement};
use crate::world::{JobKey, JobReadOnlyItem, TaskStatus};

/// Gangs without their minimum, and since when.
#[derive(Clone, Debug, Default, Resource)]
pub(crate) struct StaleGangs(BTreeMap<JobKey, Stale>);

#[derive(Clone, Copy, Debug)]
struct Stale {
    job: Entity,
    since: TimeMs,
}

/// Pods that count for the minimum: those that hold room and those it is held for.
const HAVE_ROOM: [TaskStatus; 6] = [
    TaskStatus::Allocated,
    TaskStatus::Pipelined,
    TaskStatus::Binding,
    TaskStatus::Bound,
    TaskStatus::Running,
    TaskStatus::Releasing,
];

/// The action; `grace_ms` is how long a gang may be stale that says nothing itself, below zero for ever.
pub(super) fn evict_stale_gangs(
    grace_ms: i64,
) -> impl FnMut(Session<'_, '_>, ResMut<'_, StaleGangs>) {
    move |mut session: Session<'_, '_>, mut gangs: ResMut<'_, StaleGangs>| {
        note(&mut session, &mut gangs);
        let gangs = gangs.0.values();
        let over: Vec<Entity> =
            gangs.filter_map(|gang| due(&mut session, *gang, grace_ms)).collect();
        for job in over {
            evict(&mut session, job);
        }
    }
}

/// Brings the list of stale gangs up to date.
fn note(session: &mut Session<'_, '_>, gangs: &mut StaleGangs) {
    let now = session.now.0;
    gangs.0.retain(|_, gang| session.cluster.jobs.get(gang.job).is_ok_and(|job| is_stale(&job)));
    for job in session.cluster.open_jobs() {
        let item = session.cluster.job(job);
        let said = item.spec.tree.as_ref().and_then(|tree| tree.stale_since);
        let mut since = None;
        if is_stale(&item) {
            let key = item.identity.key.clone();
            let known = gangs.0.get(&key).map(|gang| gang.since);
            let begun = said.or(known).unwrap_or(now);
            gangs.0.insert(key, Stale { job, since: begun });
            since = Some(begun);
        }
        if since != said
            && let Some(tree) = &mut session.cluster.job_mut(job).spec.tree
        {
            tree.stale_since = since;
        }
    }
}

/// Does it hold room without its minimum? One whose last pods are leaving gives its room up anyway.
fn is_stale(job: &JobReadOnlyItem<'_, '_>) -> bool {
    let counts = job.counts();
    let has = counts.count(&HAVE_ROOM);
    let leaving = counts.total[TaskStatus::Releasing as usize];
    if has == leaving || counts.count(&[TaskStatus::Succeeded]) > 0 {
        return false;
    }
    let short = |group: &crate::world::SubGroup| {
        group.count(&HAVE_ROOM) < job.spec.subgroups[usize::from(group.policy)].size
    };
    let broken = match job.progress(&HAVE_ROOM) {
        Some(progress) => !progress.of(None).is_whole(),
        None => counts.subgroups.iter().any(short),
    };
    has < job.spec.min_available || broken
}

/// The gang, if its time is over; if not, a cycle comes when it is.
fn due(session: &mut Session<'_, '_>, gang: Stale, grace_ms: i64) -> Option<Entity> {
    let tree = session.cluster.job(gang.job).spec.tree.as_ref();
    let own = tree.and_then(|tree| tree.staleness_grace_ms);
    let grace = own.unwrap_or(grace_ms);
    if grace < 0 {
        return None;
    }
    let end = TimeMs(gang.since.0.saturating_add(grace));
    if end > session.now.0 {
        session.wake_at(Some(end));
        return None;
    }
    Some(gang.job)
}

fn evict(session: &mut Session<'_, '_>, job: Entity) {
    let item = session.cluster.job(job);
    let (min, has) = (item.spec.min_available, item.counts().count(&HAVE_ROOM));
    let reason = format!("its gang has run with {has} of the {min} pods it needs for too long");
    let mut statement = Statement::new("stalegangeviction");
    for task in session.policies.members_last_first(&session.cluster, job) {
        let grounds = Grounds { beneficiary: None, reason: reason.clone() };
        // Members that are not on a node, or leave it already, have nothing to give up.
        let _not_there = statement.evict(&mut session.cluster, task, grounds);
    }
    if statement.is_empty() {
        return;
    }
    session.cluster.job_mut(job).note_eviction(session.now.0);
    statement.commit(&mut session.cluster, &mut session.outcome.0);
}
