//! A transaction over the world: an undo log of what was assumed of tasks.
//!
//! Every operation writes columns and totals at once and notes what was assumed before, so undoing it
//! is one write. Checkpoints nest; a plan found on one domain can be saved and recovered after others
//! were tried; nothing leaves the process before [`Statement::commit`].

mod commit;

use bevy_ecs::entity::Entity;

use crate::ids::ObjectKey;
use crate::intent::CycleOutcome;
use crate::policy::{Point, Policies};
use crate::reservation::Release;
use crate::resource::ResourceVec;
use crate::verdict::Verdict;
use crate::world::{
    Assumption, BulkKey, BulkPlace, Cluster, Holdings, LastTransaction, TaskStatus,
};

#[cfg(test)]
pub(crate) mod tests;

/// An open transaction.
#[derive(Debug)]
pub struct Statement {
    action: &'static str,
    log: Vec<LoggedOp>,
    /// Has it evicted a task, even one it has spared since?
    evicts: bool,
}

#[derive(Clone, Debug)]
struct LoggedOp {
    task: Entity,
    before: Option<Assumption>,
    after: Option<Assumption>,
    why: Why,
    /// Volumes and devices it held before.
    holdings: Holdings,
}

/// How a decision about the task is reported.
#[derive(Clone, Debug)]
enum Why {
    /// A place is taken or held, which needs no explanation.
    Placed,
    /// Room is given up.
    Released(Release),
    /// A task is evicted.
    Evicted(Box<Grounds>),
}

/// Why a task is evicted, and for whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grounds {
    /// The job that gets the room; `None` where the task is merely to go elsewhere.
    pub beneficiary: Option<ObjectKey>,
    /// Why, as a sentence.
    pub reason: String,
}

/// A position in the log to return to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Checkpoint(usize);

impl Checkpoint {
    /// Before the first operation.
    pub const START: Self = Self(0);
}

/// Operations kept after they were undone, to be done again.
#[derive(Clone, Debug, Default)]
pub struct Plan(Vec<LoggedOp>);

/// An operation that does not fit the task's status. The world is unchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cannot {op} a task that is {}", .status.as_str())]
pub struct StatementError {
    /// What was asked.
    pub op: &'static str,
    /// What the task is.
    pub status: TaskStatus,
}

type Result<T = (), E = StatementError> = std::result::Result<T, E>;

impl Statement {
    /// An empty transaction of an action.
    pub fn new(action: &'static str) -> Self {
        Self { action, log: Vec::new(), evicts: false }
    }

    /// Takes free room on the node for a task that is pending or had room held.
    pub fn allocate(
        &mut self,
        cluster: &mut Cluster<'_, '_>,
        task: Entity,
        node: Entity,
    ) -> Result {
        let allowed = [TaskStatus::Pending, TaskStatus::Pipelined];
        expect_status(cluster, task, "allocate", &allowed)?;
        self.write(cluster, task, Some(Assumption::Allocated(node)), Why::Placed);
        Ok(())
    }

    /// Holds room on the node for a task; holding the same room again changes nothing.
    pub fn pipeline(
        &mut self,
        cluster: &mut Cluster<'_, '_>,
        task: Entity,
        node: Entity,
    ) -> Result {
        let allowed = [TaskStatus::Pending, TaskStatus::Pipelined, TaskStatus::Allocated];
        expect_status(cluster, task, "pipeline", &allowed)?;
        self.write(cluster, task, Some(Assumption::Pipelined(node)), Why::Placed);
        Ok(())
    }

    /// Gives up the room held for a task, or for the pod that comes in its place. The cause is told and
    /// counted if nothing else follows.
    pub fn unpipeline(
        &mut self,
        cluster: &mut Cluster<'_, '_>,
        task: Entity,
        cause: Release,
    ) -> Result {
        let item = cluster.task(task);
        if item.heir_home().is_none() {
            expect_status(cluster, task, "unpipeline", &[TaskStatus::Pipelined])?;
        }
        let moving = item.assumed.0.is_some_and(Assumption::is_eviction);
        let after = moving.then_some(Assumption::Evicting);
        self.write(cluster, task, after, Why::Released(cause));
        Ok(())
    }

    /// Evicts a task from its node.
    pub fn evict(
        &mut self,
        cluster: &mut Cluster<'_, '_>,
        task: Entity,
        grounds: Grounds,
    ) -> Result {
        expect_status(cluster, task, "evict", &[TaskStatus::Bound, TaskStatus::Running])?;
        self.write(cluster, task, Some(Assumption::Evicting), Why::Evicted(grounds.into()));
        Ok(())
    }

    /// Takes an eviction of this transaction back.
    pub fn spare(&mut self, cluster: &mut Cluster<'_, '_>, task: Entity) -> Result {
        expect_status(cluster, task, "spare", &[TaskStatus::Releasing])?;
        if cluster.task(task).assumed.0.is_some_and(Assumption::is_eviction) {
            self.write(cluster, task, None, Why::Placed);
        }
        Ok(())
    }

    /// Holds room on the node for the pod that comes in the place of one that is being evicted: it is
    /// moved rather than lost. On its own node it simply stays.
    pub fn relocate(
        &mut self,
        cluster: &mut Cluster<'_, '_>,
        task: Entity,
        node: Entity,
    ) -> Result {
        let item = cluster.task(task);
        let (status, from) = item.status();
        let leaves = item.assumed.0.is_some_and(Assumption::is_eviction);
        // No part of a device is held for a pod that is to come.
        let whole = item.request.share().is_none();
        if !leaves || !whole || status != TaskStatus::Releasing {
            return Err(StatementError { op: "relocate", status });
        }
        if from == Some(node) {
            return self.spare(cluster, task);
        }
        self.write(cluster, task, Some(Assumption::Moving(node)), Why::Placed);
        Ok(())
    }

    /// Turns every place the job was given in this transaction into a reservation: nothing of a gang
    /// that is not ready is bound.
    pub fn pipeline_all_allocated(&mut self, cluster: &mut Cluster<'_, '_>, job: Entity) {
        for at in 0..self.log.len() {
            let task = self.log[at].task;
            let item = cluster.task(task);
            let (TaskStatus::Allocated, Some(node)) = item.status() else { continue };
            if item.membership.job == Some(job) {
                self.write(cluster, task, Some(Assumption::Pipelined(node)), Why::Placed);
            }
        }
    }

    /// May it evict tasks?
    pub(crate) fn evicts(&self) -> bool {
        self.evicts
    }

    /// Tasks it evicts, those it moves included.
    pub(crate) fn victims<'a>(
        &'a self,
        cluster: &'a Cluster<'_, '_>,
    ) -> impl Iterator<Item = Entity> + 'a {
        let evicted = self.log.iter().filter(|entry| matches!(entry.why, Why::Evicted(_)));
        let goes =
            |task: &Entity| cluster.task(*task).assumed.0.is_some_and(Assumption::is_eviction);
        evicted.map(|entry| entry.task).filter(goes)
    }

    /// Where the log stands now.
    pub fn checkpoint(&self) -> Checkpoint {
        Checkpoint(self.log.len())
    }

    /// Undoes everything since the checkpoint, last first.
    pub fn rollback(&mut self, cluster: &mut Cluster<'_, '_>, to: Checkpoint) {
        while self.log.len() > to.0 {
            let Some(entry) = self.log.pop() else { return };
            cluster.restore(entry.task, entry.before, &entry.holdings);
        }
    }

    /// The operations since the checkpoint, to be done again with [`Self::recover`].
    pub fn save(&self, from: Checkpoint) -> Plan {
        Plan(self.log[from.0..].to_vec())
    }

    /// Does saved operations again. They are writes of the same values, so they cannot fail on the
    /// world they were saved from.
    pub fn recover(&mut self, cluster: &mut Cluster<'_, '_>, plan: &Plan) {
        for entry in &plan.0 {
            self.write(cluster, entry.task, entry.after, entry.why.clone());
        }
    }

    /// Has anything been done?
    pub fn is_empty(&self) -> bool {
        self.log.is_empty()
    }

    /// Undoes everything; for reports each task keeps where it would have gone.
    pub fn discard(mut self, cluster: &mut Cluster<'_, '_>) {
        for entry in &self.log {
            if let Ok(mut task) = cluster.tasks.get_mut(entry.task) {
                task.cold.last = LastTransaction(entry.after);
            }
        }
        self.rollback(cluster, Checkpoint::START);
    }

    /// Ends the transaction and keeps its effects: places become binds under way, and every task whose
    /// state differs from before gives a decision and a call, in the order they were first touched.
    pub fn commit(self, cluster: &mut Cluster<'_, '_>, outcome: &mut CycleOutcome) {
        commit::commit(self, cluster, outcome);
    }

    /// Makes it so, unless a plugin that hears of placements objects: then everything is undone. To a
    /// transaction that only gives up places nobody can object.
    pub(crate) fn conclude(
        self,
        cluster: &mut Cluster<'_, '_>,
        policies: &Policies,
        outcome: &mut CycleOutcome,
    ) -> Result<(), Verdict> {
        if policies.is_asked(Point::Placement) {
            let shifts = commit::shifts(&self, cluster);
            if let Err(verdict) = policies.shifted(cluster, &shifts) {
                self.discard(cluster);
                return Err(verdict);
            }
        }
        self.commit(cluster, outcome);
        Ok(())
    }

    /// Notes places of tasks of one kind whose room is taken already; `asked` is what they ask for
    /// together.
    pub(crate) fn allocate_alike(
        &mut self,
        cluster: &mut Cluster<'_, '_>,
        kind: BulkKey,
        places: &[BulkPlace],
        request: &ResourceVec,
        asked: &ResourceVec,
    ) {
        cluster.place_bulk(kind, places, request, asked);
        self.log.extend(places.iter().map(|&(task, node)| LoggedOp {
            task,
            before: None,
            after: Some(Assumption::Allocated(node)),
            why: Why::Placed,
            holdings: Holdings::default(),
        }));
    }

    fn write(
        &mut self,
        cluster: &mut Cluster<'_, '_>,
        task: Entity,
        after: Option<Assumption>,
        why: Why,
    ) {
        self.evicts |= matches!(why, Why::Evicted(_));
        let holdings = cluster.holdings(task);
        let before = cluster.assume(task, after);
        if before != after {
            self.log.push(LoggedOp { task, before, after, why, holdings });
        }
    }
}

fn expect_status(
    cluster: &Cluster<'_, '_>,
    task: Entity,
    op: &'static str,
    allowed: &[TaskStatus],
) -> Result {
    let (status, _) = cluster.task(task).status();
    if allowed.contains(&status) { Ok(()) } else { Err(StatementError { op, status }) }
}
