//! The loop all actions share: queues in order, jobs of a queue in order, a turn at a time.
//!
//! After each turn the queue and the job go back with fresh keys, so shares that moved are seen at
//! once. What a turn does, and where its room comes from, is the action's.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{Res, ResMut, Resource};
use bevy_ecs::system::SystemParam;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::ingest::SetAside;
use super::worksheet::Sheet;
use super::{Deadline, Now, Outcome, Settings};
use crate::class::{ClassId, Classes, Ranking, Rankings, Rules};
use crate::evict::Hopeless;
use crate::ids::TimeMs;
use crate::policy::{OrderKey, Policies, Standings};
use crate::verdict::{Reason, Verdict};
use crate::world::{Around, Cluster, JobVerdict, LastTransaction, Names, Quotas, Symbols};

/// Everything an action reads and writes.
#[derive(SystemParam)]
pub(crate) struct Scene<'w, 's> {
    pub(crate) cluster: Cluster<'w, 's>,
    pub(crate) policies: Res<'w, Policies>,
    pub(crate) classes: Res<'w, Classes>,
    pub(crate) symbols: Res<'w, Symbols>,
    pub(crate) names: Res<'w, Names>,
    pub(crate) settings: Res<'w, Settings>,
    pub(crate) now: Res<'w, Now>,
    pub(crate) aside: Res<'w, SetAside>,
    pub(crate) quotas: ResMut<'w, Quotas>,
    pub(crate) rankings: ResMut<'w, Rankings>,
    pub(crate) outcome: ResMut<'w, Outcome>,
    pub(crate) alarm: ResMut<'w, Alarm>,
    pub(crate) hopeless: ResMut<'w, Hopeless>,
}

/// When somebody who is spared for the time being may be looked at again.
#[derive(Clone, Copy, Debug, Default, Resource)]
pub(crate) struct Alarm(pub(crate) Option<TimeMs>);

impl Scene<'_, '_> {
    /// How the nodes look to a class of tasks right now.
    pub(crate) fn ranking(&mut self, class: ClassId) -> &Ranking {
        let rules = Rules {
            classes: &self.classes,
            policies: &self.policies,
            symbols: &self.symbols,
            tuning: &self.settings.tuning,
            around: Around {
                domains: self.cluster.domain_view(),
                volumes: &self.cluster.volumes,
                groups: &self.cluster.groups,
                images: &self.cluster.images,
                names: &self.names.0,
            },
        };
        self.rankings.of(class, self.cluster.columns(), &self.cluster.log, rules)
    }

    /// Drops what an earlier attempt had in mind for the job's tasks: reports speak of the last one.
    pub(crate) fn forget_attempt(&mut self, job: Entity) {
        let Cluster { jobs, tasks, .. } = &mut self.cluster;
        let Ok(item) = jobs.get(job) else { return };
        for &task in &item.members.0 {
            if let Ok(mut task) = tasks.get_mut(task)
                && task.affairs.last.0.is_some()
            {
                task.affairs.last = LastTransaction(None);
            }
        }
    }

    /// Asks for a cycle at that time, even if nothing happens.
    pub(crate) fn wake_at(&mut self, time: Option<TimeMs>) {
        self.alarm.0 = match (self.alarm.0, time) {
            (Some(first), Some(time)) => Some(first.min(time)),
            (alarm, time) => alarm.or(time),
        };
    }

    /// Writes why a job waits, if that is news.
    pub(crate) fn judge(&mut self, job: Entity, verdict: Option<Verdict>) {
        let mut item = self.cluster.job_mut(job);
        if item.verdict.0 != verdict {
            *item.verdict = JobVerdict(verdict);
        }
    }
}

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
    sheet: Option<Sheet>,
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
pub(crate) fn drive(
    scene: &mut Scene<'_, '_>,
    entitled: Entitled,
    rounds: impl IntoIterator<Item = Vec<Entity>>,
    mut turn: impl FnMut(&mut Scene<'_, '_>, Entity, &mut Option<Sheet>) -> Turn,
) {
    let deadline = scene.settings.deadline();
    let mut lines = Lines::default();
    for jobs in rounds {
        line_up(scene, jobs, &mut lines);
        give_turns(scene, entitled, &mut lines, deadline.as_ref(), &mut turn);
    }
}

fn give_turns(
    scene: &mut Scene<'_, '_>,
    entitled: Entitled,
    lines: &mut Lines,
    deadline: Option<&Deadline>,
    turn: &mut impl FnMut(&mut Scene<'_, '_>, Entity, &mut Option<Sheet>) -> Turn,
) {
    let mut standings = scene.policies.standings(&scene.cluster);
    let joint = standings.are_joint();
    let mut queues = queue_heap(scene, &standings, lines.order.clone());
    while let Some(Reverse((key, queue))) = queues.pop() {
        // Serving one queue moves the shares of its ancestors, and with them the place of others.
        let fresh = if joint { key.clone() } else { queue_key(scene, &standings, queue) };
        if fresh > key {
            queues.push(Reverse((fresh, queue)));
            continue;
        }
        if deadline.is_some_and(Deadline::is_over) {
            let waiting = lines.order.iter().filter_map(|queue| lines.of.get(queue));
            waiting.for_each(|line| cut(scene, line, OUT_OF_TIME));
            return;
        }
        let Some(line) = lines.of.get_mut(&queue) else { continue };
        if entitled == Entitled::BelowDue
            && !holds_room(scene, line)
            && scene.policies.overused(&scene.cluster, &scene.cluster.queue(queue))
        {
            let name = &scene.cluster.queue(queue).identity.name;
            let message = format!("queue {name:?} has all it is due of every resource");
            turn_away(scene, line, &Verdict::new(Reason::QueueOverCapability, message));
            continue;
        }
        if scene.settings.tuning.jobs_per_queue.is_some_and(|limit| line.served >= limit) {
            cut(scene, line, OUT_OF_TURNS);
            continue;
        }
        let Some(Reverse(mut next)) = line.waiting.pop() else { continue };
        let mark = scene.cluster.agenda.mark();
        let ended = turn(scene, next.job, &mut next.sheet);
        scene.rankings.end_turn();
        match ended {
            Turn::Again => {
                next.key = job_key(scene, next.job);
                line.waiting.push(Reverse(next));
            }
            Turn::Over => line.served += 1,
            Turn::Passed => {}
        }
        if joint {
            for job in scene.cluster.agenda.since(mark) {
                standings.job_moved(&scene.cluster, job);
            }
            let left = queues.drain().map(|Reverse((_, queue))| queue).chain([queue]).collect();
            queues = queue_heap(scene, &standings, left);
        } else {
            queues.push(Reverse((queue_key(scene, &standings, queue), queue)));
        }
    }
}

/// Has the next job of a line room held for it? Then its turn takes nothing its queue does not have.
fn holds_room(scene: &Scene<'_, '_>, line: &Line) -> bool {
    let next = line.waiting.peek();
    next.is_some_and(|Reverse(next)| scene.cluster.job(next.job).counts.pipelined() > 0)
}

/// Queues in the order they are served.
fn queue_heap(
    scene: &Scene<'_, '_>,
    standings: &Standings,
    queues: Vec<Entity>,
) -> BinaryHeap<Reverse<(OrderKey, Entity)>> {
    queues.into_iter().map(|queue| Reverse((queue_key(scene, standings, queue), queue))).collect()
}

/// Tells every job in a line that its turn does not come in this cycle.
fn cut(scene: &mut Scene<'_, '_>, line: &Line, why: &str) {
    turn_away(scene, line, &Verdict::new(Reason::SearchCut, why));
}

/// Tells every job in a line why it has no turn.
fn turn_away(scene: &mut Scene<'_, '_>, line: &Line, why: &Verdict) {
    for Reverse(waiting) in &line.waiting {
        if scene.cluster.job(waiting.job).verdict.0.as_ref() != Some(why) {
            scene.judge(waiting.job, Some(why.clone()));
            scene.forget_attempt(waiting.job);
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
struct Lines {
    order: Vec<Entity>,
    of: HashMap<Entity, Line, FxBuildHasher>,
}

fn line_up(scene: &Scene<'_, '_>, jobs: Vec<Entity>, lines: &mut Lines) {
    for job in jobs {
        let queue = scene.cluster.job(job).spec.queue;
        let line = lines.of.entry(queue).or_insert_with(|| {
            lines.order.push(queue);
            Line::default()
        });
        line.waiting.push(Reverse(InLine { key: job_key(scene, job), job, sheet: None }));
    }
}

fn job_key(scene: &Scene<'_, '_>, job: Entity) -> OrderKey {
    scene.policies.job_key(&scene.cluster, &scene.cluster.job(job))
}

fn queue_key(scene: &Scene<'_, '_>, standings: &Standings, queue: Entity) -> OrderKey {
    scene.policies.queue_key(&scene.cluster, standings, queue)
}
