//! Room from moves alone: everybody who makes way is placed again in the same transaction.
//!
//! Places are compared by what would have to move there ([`move_plan`](super::move_plan)), and tried in that
//! order. Who finds no place, or a node on which the job finds none after all, is left out of the next
//! plan. Where single nodes do not help, the last in the order of victims move together, one, two, four
//! jobs at a time. In the end nobody moves who need not.

use std::collections::BTreeSet;

use bevy_ecs::entity::Entity;

use crate::ids::TimeMs;
use crate::place::{PendingTasks, Reach, Rows, Session, first_tasks, place_minimum};
use crate::policy::{Purpose, SearchSpace, Unit};
use crate::resource::ResourceVec;
use crate::statement::{Checkpoint, Statement};

use super::EvictionPlan;
use super::action::EvictAction;
use super::evictor_view::EvictorView;
use super::move_plan::{Bans, MovePlan, Movers, Planner};
use super::moves::{is_lost, place_all};
use super::refusal::SearchEnd;
use super::search::grounds;
use super::shortage::Shortage;

/// Plans that are tried in one place.
const TRIALS: usize = 32;
/// Operations that giving back may cost altogether: victims left times tasks moved.
const PLACED_ANEW: usize = 20_000;
/// How long a pod is left alone that came in the place of one that was moved.
const REST_MS: i64 = 3_600_000;

/// Who moves for the job, together with its placement.
pub(super) fn decide(
    session: &mut Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    pending: &PendingTasks,
    view: &EvictorView,
) -> Result<EvictionPlan, SearchEnd> {
    if !shortage.least.fits(&free_in_all(session)) {
        return Err(SearchEnd::Crowded);
    }
    let groups = places(session, action, shortage, view)?;
    let movers = movers(session, shortage, view);
    let mut statement = Statement::new(action.name);
    for places in groups {
        let search = MoveSearch { action, shortage, pending, movers: &movers };
        if let Some(victims) = search.in_places(session, &mut statement, places) {
            return Ok(EvictionPlan { statement, victims });
        }
    }
    Err(SearchEnd::Jammed)
}

/// What is free on all nodes together, or will be: wherever pods are moved, it is not more.
fn free_in_all(session: &Session<'_, '_>) -> ResourceVec {
    let nodes = session.cluster.columns();
    let mut free = ResourceVec::default();
    for row in 0..nodes.len() {
        let mut room = nodes.future(row);
        room.hot.0.iter_mut().for_each(|lane| *lane = (*lane).max(0));
        free.add(&room);
    }
    free
}

/// Rows a job may be placed on together.
type Place = Vec<u32>;

/// Places that could hold the job, by preference; if there are none, how many of its tasks would fit in the
/// best.
fn places(
    session: &Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    view: &EvictorView,
) -> Result<Vec<Vec<Place>>, SearchEnd> {
    let unit = Unit { job: &session.cluster.job(shortage.evictor.job), subgroup: None };
    let space = session.policies.search_space(&session.cluster, unit, Purpose::Evict);
    let everywhere = || SearchSpace { groups: vec![vec![None]], limit: usize::MAX };
    let SearchSpace { groups, limit } = space.unwrap_or_else(everywhere);
    let (mut left, mut most) = (limit.min(action.max_domains), 0);
    let mut found = Vec::new();
    for group in groups {
        let mut hopeful = Vec::new();
        for domain in group {
            if left == 0 {
                break;
            }
            let rows = match domain {
                Some(domain) => session.cluster.domain(domain).spot.rows.clone(),
                None => (0..session.cluster.columns().len() as u32).collect(),
            };
            let bound = view.freeable.bound(session, shortage, rows.iter().copied());
            most = most.max(bound.slots);
            if bound.hopeful {
                hopeful.push(rows);
                left -= 1;
            }
        }
        found.push(hopeful);
    }
    found.retain(|hopeful| !hopeful.is_empty());
    if found.is_empty() { Err(SearchEnd::Infeasible(most)) } else { Ok(found) }
}

/// Tasks that may move; a cycle comes when the first may that was moved of late.
fn movers(session: &mut Session<'_, '_>, shortage: &Shortage, view: &EvictorView) -> Movers {
    let now = session.now.0;
    let rested = |session: &Session<'_, '_>, task: Entity| {
        let moved = session.cluster.task(task).cold.moved.get();
        moved.map(|moved| TimeMs(moved.0.saturating_add(REST_MS))).filter(|&end| end > now)
    };
    let open = view.candidates.iter().flat_map(|candidate| &candidate.footprint.open);
    let first = open.filter_map(|occupant| rested(session, occupant.task)).min();
    session.wake_at(first);
    Movers::of(session, shortage, &view.candidates, |task| rested(session, task).is_some())
}

struct MoveSearch<'a> {
    action: &'a EvictAction,
    shortage: &'a Shortage,
    pending: &'a PendingTasks,
    movers: &'a Movers,
}

/// Why a trial failed.
enum MoveFailure {
    /// The task finds no other place, or may not move.
    Task(Entity),
    /// The job finds no room where it was to have it.
    Job,
}

impl MoveSearch<'_> {
    /// Who moves, in the place of those of one preference where least has to; the statement then holds
    /// the decision.
    fn in_places(
        &self,
        session: &mut Session<'_, '_>,
        statement: &mut Statement,
        places: Vec<Place>,
    ) -> Option<Vec<Entity>> {
        let nothing = Bans::default();
        let mut planned: Vec<((i64, usize), Place)> = Vec::new();
        for rows in places {
            let plan = self.plan(session, &rows, &nothing);
            let price = plan.map_or((i64::MAX, usize::MAX), |plan| (plan.cost, plan.highest));
            planned.push((price, rows));
        }
        planned.sort_by_key(|(price, _)| *price);
        planned.iter().find_map(|(_, rows)| {
            self.node_by_node(session, statement, rows)
                .or_else(|| self.together(session, statement, rows))
        })
    }

    fn plan(&self, session: &mut Session<'_, '_>, rows: &[u32], bans: &Bans) -> Option<MovePlan> {
        let Shortage { evictor, missing, .. } = self.shortage;
        let tasks = first_tasks(session, evictor.job, self.pending.open_tasks(), *missing);
        let planner = Planner { movers: self.movers, rows, need: self.shortage.valued(), bans };
        planner.plan(session, &tasks)
    }

    /// Plans, tries, and plans again without what was in the way.
    fn node_by_node(
        &self,
        session: &mut Session<'_, '_>,
        statement: &mut Statement,
        rows: &[u32],
    ) -> Option<Vec<Entity>> {
        let mut bans = Bans::default();
        for _ in 0..TRIALS {
            let plan = self.plan(session, rows, &bans)?;
            let victims: Vec<usize> = plan.movers;
            match self.attempt(session, statement, rows, &victims) {
                Ok(()) => return self.settle(session, statement, rows, victims),
                Err(MoveFailure::Task(task)) => drop(bans.tasks.insert(task)),
                Err(MoveFailure::Job) => bans.rows.extend(plan.rows),
            }
        }
        None
    }

    /// Lets the last in the order of victims move together, more and more of them.
    fn together(
        &self,
        session: &mut Session<'_, '_>,
        statement: &mut Statement,
        rows: &[u32],
    ) -> Option<Vec<Entity>> {
        /// More jobs than that are not moved at random.
        const MOST: usize = 64;
        let mut jobs: Vec<Entity> = self.movers.list.iter().map(|mover| mover.job).collect();
        jobs.dedup();
        let most = self.action.max_moved.unwrap_or(MOST).min(MOST).min(jobs.len());
        let mut count = 1;
        while count <= most {
            let first = &jobs[..count];
            let movers = self.movers.list.iter().filter(|mover| first.contains(&mover.job));
            let victims: Vec<usize> = movers.map(|mover| mover.place).collect();
            if self.attempt(session, statement, rows, &victims).is_ok() {
                return self.settle(session, statement, rows, victims);
            }
            count = if count < most { (count * 2).min(most) } else { most + 1 };
        }
        None
    }

    /// Sends these off, places the job, then everybody again; or first everybody, on nodes nobody leaves,
    /// and then the job. Without success the statement is empty.
    fn attempt(
        &self,
        session: &mut Session<'_, '_>,
        statement: &mut Statement,
        rows: &[u32],
        victims: &[usize],
    ) -> Result<(), MoveFailure> {
        statement.rollback(&mut session.cluster, Checkpoint::START);
        let tasks: Vec<Entity> = victims.iter().map(|&at| self.movers.list[at].task).collect();
        self.may_all_move(session, victims, &tasks)?;
        let grounds = grounds(session, self.action, self.shortage.evictor.job);
        for &task in &tasks {
            let gone = statement.evict(&mut session.cluster, task, grounds.clone());
            debug_assert!(gone.is_ok(), "candidates stand on nodes");
        }
        let need = self.shortage.valued();
        let start = statement.checkpoint();
        let first = if self.place(session, statement, rows) {
            place_all(session, statement, &tasks, &need, None).map_err(MoveFailure::Task)
        } else {
            Err(MoveFailure::Job)
        };
        let Err(MoveFailure::Task(task)) = first else {
            return first.inspect_err(|_| {
                statement.rollback(&mut session.cluster, Checkpoint::START);
            });
        };
        statement.rollback(&mut session.cluster, start);
        let others = self.rows_nobody_leaves(session, victims);
        if place_all(session, statement, &tasks, &need, Some(&others)).is_ok()
            && self.place(session, statement, rows)
        {
            return Ok(());
        }
        statement.rollback(&mut session.cluster, Checkpoint::START);
        Err(MoveFailure::Task(task))
    }

    fn rows_nobody_leaves(&self, session: &Session<'_, '_>, victims: &[usize]) -> Vec<u32> {
        let left: BTreeSet<u32> = victims.iter().map(|&at| self.movers.list[at].row).collect();
        (0..session.cluster.columns().len() as u32).filter(|row| !left.contains(row)).collect()
    }

    /// Does every plugin let all of these move, and are they not of too many jobs?
    fn may_all_move(
        &self,
        session: &Session<'_, '_>,
        victims: &[usize],
        tasks: &[Entity],
    ) -> Result<(), MoveFailure> {
        let mut jobs: Vec<Entity> = victims.iter().map(|&at| self.movers.list[at].job).collect();
        jobs.sort_unstable();
        jobs.dedup();
        if self.action.max_moved.is_some_and(|most| jobs.len() > most) {
            return Err(MoveFailure::Job);
        }
        let evictor = &self.shortage.evictor;
        let allowed = session.policies.may_move(&session.cluster, evictor, tasks);
        let refused = tasks.iter().find(|task| !allowed.contains(task));
        refused.map_or(Ok(()), |&task| Err(MoveFailure::Task(task)))
    }

    fn place(
        &self,
        session: &mut Session<'_, '_>,
        statement: &mut Statement,
        rows: &[u32],
    ) -> bool {
        let start = statement.checkpoint();
        let mut pending = self.pending.clone();
        let all = rows.len() == session.cluster.columns().len();
        let rows: Rows<'_> = (!all).then_some(rows);
        let job = self.shortage.evictor.job;
        let reach = place_minimum(session, statement, job, &mut pending, rows);
        statement.checkpoint() > start && !matches!(reach, Reach::Short(_))
    }

    /// Lets everybody stay whose move is not needed, the most important first; who is left has moved. A
    /// job for which nobody has to is none of this action's.
    fn settle(
        &self,
        session: &mut Session<'_, '_>,
        statement: &mut Statement,
        rows: &[u32],
        mut victims: Vec<usize>,
    ) -> Option<Vec<Entity>> {
        let mut budget = PLACED_ANEW;
        for at in (0..victims.len()).rev() {
            let work = victims.len() + self.shortage.missing;
            if work > budget {
                break;
            }
            budget -= work;
            let mut fewer = victims.clone();
            fewer.remove(at);
            if self.attempt(session, statement, rows, &fewer).is_ok() {
                victims = fewer;
            }
        }
        let again = self.attempt(session, statement, rows, &victims).is_ok();
        debug_assert!(again, "it held a moment ago");
        let moved: Vec<Entity> = statement.victims(&session.cluster).collect();
        debug_assert!(!moved.iter().any(|&task| is_lost(&session.cluster.task(task))));
        if moved.is_empty() {
            statement.rollback(&mut session.cluster, Checkpoint::START);
            return None;
        }
        Some(moved)
    }
}
