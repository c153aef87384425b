//! Room from evictions: who could go, in which bundles, in which order, and how few are enough.
//!
//! One search serves one job in one domain ([`domains`]): candidates ([`candidates`]) are split into
//! bundles that go together ([`surplus`]), put into order ([`bundles`]), judged by the plugins and taken
//! until the job's minimum can be placed ([`search`]); what turned out not to be needed is given back
//! ([`reprieve`]). Everything happens on a Statement, and nothing leaves it but a whole gang's
//! reservations together with the evictions that make them good.
//!
//! [`gang`] serves a whole gang in one decision, [`per_task`] a task at a time, as Volcano does. Victims that
//! fit elsewhere may be moved rather than lost ([`moves`]), and [`consolidate`] makes room by moves alone.
//! Evictions that make room for nobody begin with the same candidates ([`movable`]).

mod action;
mod shortage;
mod candidates;
mod surplus;
mod bundles;
mod fairness;
mod domains;
mod evictor_view;
mod search;
mod reprieve;
mod moves;
mod gang;
mod move_plan;
mod consolidate;
mod by_node;
mod one_task;
mod per_task;
mod refusal;
mod infeasible;

pub(crate) use action::{EvictAction, EvictLimits};
pub(crate) use infeasible::InfeasibleCache;

use bevy_ecs::entity::Entity;

use crate::delta::PreemptionPolicy;
use crate::ids::TimeMs;
use crate::place::{Entitled, PendingTasks, Session, TaskSet, Turn, drive, explain};
use crate::policy::EvictPurpose;
use crate::statement::Statement;
use crate::verdict::Verdict;
use crate::world::{JobReadOnlyItem, TaskStatus};

use action::Style;
use candidates::CandidatePool;
use evictor_view::EvictorView;
use infeasible::Infeasible;
use refusal::{Denied, Refusals, SearchEnd};
use shortage::Shortage;

/// Evictions and the placement they make good, not committed yet.
struct EvictionPlan {
    statement: Statement,
    victims: Vec<Entity>,
}

/// Serves every job that lacks its minimum and could take room from others.
pub(crate) fn run(
    session: &mut Session<'_, '_>,
    action: &EvictAction,
    infeasible: &mut InfeasibleCache,
    waiting: Vec<Entity>,
) {
    if action.max_moved == Some(0) {
        return;
    }
    hear(session, &waiting);
    let starving: Vec<Entity> =
        waiting.into_iter().filter(|&job| may_evict(session, action, job)).collect();
    // Nobody is counted before somebody could gain by it.
    let mut pool = None;
    let entitled = match action.purpose {
        EvictPurpose::Preempt | EvictPurpose::Consolidate => Entitled::All,
        EvictPurpose::Reclaim => Entitled::BelowDue,
    };
    drive(session, (entitled, action.queue_depth), [starving], |session, job, _| {
        serve(session, action, infeasible, &mut pool, job)
    });
}

/// Notes that jobs have their turns, but for those that made way in this very cycle.
fn hear(session: &mut Session<'_, '_>, waiting: &[Entity]) {
    let now = session.now.0;
    for &job in waiting {
        let evictions = session.cluster.job(job).evictions;
        if evictions.is_unheard() && evictions.last() < Some(now) {
            session.cluster.job_mut(job).evictions.hear();
        }
    }
}

/// Running tasks that may be taken though nobody asks for their room, in a stable order. A cycle comes
/// when the first of those may go that are spared for the time being.
pub(crate) fn movable(session: &mut Session<'_, '_>, limits: &EvictLimits) -> Vec<Entity> {
    let mut refusals = Refusals::default();
    let tasks = CandidatePool::new(session).movable(session, limits, &mut refusals);
    session.wake_at(refusals.until);
    tasks
}

/// Does the job lack what it needs to run, and do its pods let others make way for them?
fn may_evict(session: &mut Session<'_, '_>, action: &EvictAction, job: Entity) -> bool {
    let item = session.cluster.job(job);
    if item.counts().pending() == 0 || !session.policies.job_starving(&item) {
        return false;
    }
    // Nobody is moved for what would never be moved itself.
    if action.purpose == EvictPurpose::Consolidate && !item.spec.is_preemptible() {
        return false;
    }
    if let Some(end) = delayed_until(&item).filter(|&end| end > session.now.0) {
        session.wake_at(Some(end));
        return false;
    }
    let item = session.cluster.job(job);
    let members = item.members.0.iter().map(|&task| session.cluster.task(task));
    let mut waiting =
        members.filter(|task| task.status().0 == TaskStatus::Pending && !task.traits.gated);
    let some = waiting.any(|task| task.priority.preempts != PreemptionPolicy::Never);
    if !some {
        refusal::deny(session, action, job, Denied::Never);
    }
    some
}

/// Until when nobody makes way for the job, by its own word.
fn delayed_until(job: &JobReadOnlyItem<'_, '_>) -> Option<TimeMs> {
    let tree = job.spec.tree.as_ref().filter(|tree| tree.preemption_delay_ms > 0)?;
    let since =
        tree.last_eviction.map_or(job.identity.created, |time| time.max(job.identity.created));
    Some(TimeMs(since.0.saturating_add(tree.preemption_delay_ms)))
}

/// What is left to place of a job, as far as the action makes room for it.
fn pending_for(session: &Session<'_, '_>, action: &EvictAction, job: Entity) -> PendingTasks {
    let requesting = PendingTasks::of_evictor(session, job);
    let is_modest = |task: Entity| session.cluster.task(task).traits.best_effort;
    if action.takes_slots() && requesting.open_tasks().all(is_modest) {
        let modest = PendingTasks::of(session, job, TaskSet::BestEffort);
        if !modest.is_done() {
            return modest;
        }
    }
    requesting
}

/// Gives a job its turn.
fn serve(
    session: &mut Session<'_, '_>,
    action: &EvictAction,
    infeasible: &mut InfeasibleCache,
    pool: &mut Option<CandidatePool>,
    job: Entity,
) -> Turn {
    let pending = pending_for(session, action, job);
    // Since the action began the job may have become one whose pods are being moved.
    if pending.is_done() || !session.policies.job_starving(&session.cluster.job(job)) {
        return Turn::Passed;
    }
    let shortage = Shortage::of(session, action, job, &pending);
    if let Some(denied) = refusal::denied(session, &shortage) {
        refusal::deny(session, action, job, denied);
        return Turn::Over;
    }
    if let Some(why) = infeasible.still(session, action, &shortage) {
        debug_assert!(is_in_vain(session, action, &shortage, &pending), "what was proved holds");
        refusal::report(session, action, job, &why);
        return Turn::Over;
    }
    let pool = pool.get_or_insert_with(|| CandidatePool::new(session));
    let mut view = EvictorView::of(session, action, pool, &shortage);
    let turn = match decide(session, action, &shortage, &pending, &mut view) {
        Ok(plan) => match commit(session, pool, job, plan) {
            Ok(()) if session.policies.job_starving(&session.cluster.job(job)) => Turn::Again,
            Ok(()) => Turn::Over,
            Err(objection) => {
                refusal::report(session, action, job, &objection.message);
                Turn::Over
            }
        },
        Err(search) => {
            let refusals = view.refusals(session, action, pool, &shortage);
            session.wake_at(refusals.until);
            let why =
                refusal::explain(session, action, &shortage, &view.candidates, refusals, search);
            let forbearing = refusal::forbearing(session, &pending);
            refusal::report(session, action, job, &format!("{why}{forbearing}"));
            match search {
                // Those who are being moved may go when they are there, whichever nodes change by then.
                _ if refusals.awaits_moves() => {}
                SearchEnd::Infeasible(slots) => {
                    let found = Infeasible { slots, until: refusals.until, why };
                    infeasible.note(session, action, &shortage, &view.freeable, found);
                }
                SearchEnd::Crowded | SearchEnd::Jammed => {
                    infeasible.note_jam(session, action, &shortage, why);
                }
                SearchEnd::Failed => {}
            }
            Turn::Over
        }
    };
    pool.last_view = Some(view);
    turn
}

fn decide(
    session: &mut Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    pending: &PendingTasks,
    view: &mut EvictorView,
) -> Result<EvictionPlan, SearchEnd> {
    match action.style {
        Style::Gang => gang::decide(session, action, shortage, pending, view),
        Style::Task => per_task::decide(session, action, shortage, pending, view),
        Style::Move => consolidate::decide(session, action, shortage, pending, view),
    }
}

/// Is there nothing to be had, as a search that remembers nothing sees it?
fn is_in_vain(
    session: &mut Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    pending: &PendingTasks,
) -> bool {
    let mut pool = CandidatePool::new(session);
    let mut view = EvictorView::of(session, action, &mut pool, shortage);
    match decide(session, action, shortage, pending, &mut view) {
        Ok(plan) => {
            plan.statement.discard(&mut session.cluster);
            false
        }
        Err(end) => end != SearchEnd::Failed,
    }
}

/// Makes it so, unless a plugin objects to the places. All that was placed is held, what needs no victim
/// too: `allocate` binds, once the gang can start.
fn commit(
    session: &mut Session<'_, '_>,
    pool: &mut CandidatePool,
    job: Entity,
    plan: EvictionPlan,
) -> Result<(), Verdict> {
    let EvictionPlan { mut statement, victims } = plan;
    statement.pipeline_all_allocated(&mut session.cluster, job);
    session.conclude(statement)?;
    let now = session.now.0;
    // With room held for them its pods may be on their way, too.
    pool.forget(job);
    for victim in victims {
        let Some(of) = session.cluster.task(victim).membership.job else { continue };
        pool.forget(of);
        let moved = session.cluster.task(victim).heir_home().is_some();
        let mut job = session.cluster.job_mut(of);
        // Who is moved has its room, and need not wait for its turn to ask for any.
        if moved { job.note_eviction(now) } else { job.make_way(now) }
    }
    let verdict = explain::waiting(session, job);
    session.judge(job, verdict);
    Ok(())
}
