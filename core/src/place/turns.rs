//! The loop all actions share: queues in [order](super::queue_order), jobs of a queue in order, a turn at
//! a time.
//!
//! After each turn the queue and the job go back with fresh keys, so shares that moved are seen at
//! once. What a turn does, and where its room comes from, is the action's.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bevy_ecs::entity::Entity;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::pending::PendingTasks;
use super::queue_order::QueueOrder;
use super::session::{Deadline, Session};
use crate::policy::OrderKey;
use crate::verdict::{Reason, Verdict};

/// Why a job had no turn: another cycle may give it one, and comes at once.
pub(crate) const OUT_OF_TIME: &str = "the action's time budget ended before the job's turn came";
/// Why a job had no turn: it will have one when those before it are served or gone.
const OUT_OF_TURNS: &str = "the action has tried as many jobs of the queue as it may in one cycle";

/// How a turn ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The job may have another one.
    Again,
    /// Enough for this cycle.
    Over,
    /// It had nothing to do; its queue has not used up a turn.
    Passed,
}

/// Which queues have turns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Entitled {
    /// All.
    All,
    /// Those that have not had their part, and jobs with room held for them.
    BelowDue,
}

/// A job in line, with the tasks it still has to place.
struct InLine {
    key: OrderKey,
    job: Entity,
    pending: Option<PendingTasks>,
}

impl PartialEq for InLine {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}
impl Eq for InLine {}
impl PartialOrd for InLine {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for InLine {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (&self.key, self.job).cmp(&(&other.key, other.job))
    }
}

/// Gives turns until every job has had enough: round after round, so that no job of a later round
/// is served before one of an earlier.
///
/// `depth` is how many jobs of one queue have a turn; none is as the scheduler is set.
pub(crate) fn drive(
    session: &mut Session<'_, '_>,
    (entitled, depth): (Entitled, Option<u32>),
    rounds: impl IntoIterator<Item = Vec<Entity>>,
    mut turn: impl FnMut(&mut Session<'_, '_>, Entity, &mut Option<PendingTasks>) -> Turn,
) {
    let deadline = session.settings.deadline();
    let mut lines = Lines::default();
    for jobs in rounds {
        line_up(session, jobs, &mut lines);
        let depth = depth.or(session.settings.tuning.jobs_per_queue);
        give_turns(session, (entitled, depth), &mut lines, deadline.as_ref(), &mut turn);
    }
}

fn give_turns(
    session: &mut Session<'_, '_>,
    (entitled, depth): (Entitled, Option<u32>),
    lines: &mut Lines,
    deadline: Option<&Deadline>,
    turn: &mut impl FnMut(&mut Session<'_, '_>, Entity, &mut Option<PendingTasks>) -> Turn,
) {
    let mut queues = QueueOrder::of(session, lines);
    while let Some(queue) = queues.first(session, lines) {
        if deadline.is_some_and(Deadline::is_over) {
            let waiting = lines.order.iter().filter_map(|queue| lines.of.get(queue));
            waiting.for_each(|line| cut(session, line, OUT_OF_TIME));
            return;
        }
        let Some(line) = lines.of.get_mut(&queue) else { continue };
        if entitled == Entitled::BelowDue
            && !holds_room(session, line)
            && session.policies.overused(&session.cluster, &session.cluster.queue(queue))
        {
            let name = &session.cluster.queue(queue).identity.name;
            let message = format!("queue {name:?} has all it is due of every resource");
            turn_away(session, line, &Verdict::new(Reason::QueueOverCapability, message));
            queues.closed(session, lines, queue);
            continue;
        }
        if depth.is_some_and(|limit| line.served >= limit) {
            cut(session, line, OUT_OF_TURNS);
            queues.closed(session, lines, queue);
            continue;
        }
        let Some(Reverse(mut next)) = line.waiting.pop() else {
            queues.closed(session, lines, queue);
            continue;
        };
        let mark = session.cluster.active_jobs.mark();
        let ended = turn(session, next.job, &mut next.pending);
        session.rankings.end_turn();
        match ended {
            Turn::Again => {
                next.key = job_key(session, next.job);
                line.waiting.push(Reverse(next));
            }
            Turn::Over => line.served += 1,
            Turn::Passed => {}
        }
        queues.served(session, lines, queue, mark);
    }
}

/// Has the next job of a line room held for it? Then its turn takes nothing its queue does not have.
fn holds_room(session: &Session<'_, '_>, line: &Line) -> bool {
    let next = line.waiting.peek();
    next.is_some_and(|Reverse(next)| session.cluster.job(next.job).counts().pipelined() > 0)
}

/// Tells every job in a line that its turn does not come in this cycle.
fn cut(session: &mut Session<'_, '_>, line: &Line, why: &str) {
    turn_away(session, line, &Verdict::new(Reason::SearchCut, why));
}

/// Tells every job in a line why it has no turn.
fn turn_away(session: &mut Session<'_, '_>, line: &Line, why: &Verdict) {
    for Reverse(waiting) in &line.waiting {
        if session.cluster.job(waiting.job).verdict.0.as_ref() != Some(why) {
            session.judge(waiting.job, Some(why.clone()));
            session.forget_attempt(waiting.job);
        }
    }
}

#[derive(Default)]
struct Line {
    waiting: BinaryHeap<Reverse<InLine>>,
    served: u32,
}

/// Jobs by queue; the list fixes an order the map does not have.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) order: Vec<Entity>,
    of: HashMap<Entity, Line, FxBuildHasher>,
}

impl Lines {
    /// The job of a queue that is served next.
    pub(super) fn next(&self, queue: Entity) -> Option<Entity> {
        self.of.get(&queue)?.waiting.peek().map(|Reverse(next)| next.job)
    }
}

fn line_up(session: &Session<'_, '_>, jobs: Vec<Entity>, lines: &mut Lines) {
    for job in jobs {
        let queue = session.cluster.job(job).spec.queue;
        let line = lines.of.entry(queue).or_insert_with(|| {
            lines.order.push(queue);
            Line::default()
        });
        line.waiting.push(Reverse(InLine { key: job_key(session, job), job, pending: None }));
    }
}

fn job_key(session: &Session<'_, '_>, job: Entity) -> OrderKey {
    session.policies.job_key(&session.cluster, &session.cluster.job(job))
}
