//! Places for many tasks that are alike, entered in one go.
//!
//! A gang of a thousand equal pods moves the same totals a thousand times by the same amounts. Nodes
//! move one by one, since every choice depends on the last; everything else moves once, by the sum.
//! What comes of it is what moving the tasks one after the other gives.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Query;

use super::Flow;
use crate::resource::ResourceVec;
use crate::world::cluster::{Cluster, row_of};
use crate::world::job::JobCounts;
use crate::world::node::{ChangeLog, LogMark, NodeColumns};
use crate::world::rows::{Node, NodeContiguousItem, TaskReadOnlyContiguousItem};
use crate::world::task::{Assumed, Assumption, Request, TaskStatus, status_of};
use crate::world::{ClassId, Stay, Unmeasured};

/// What tasks must have in common to be entered together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct BulkKey {
    pub(crate) job: Entity,
    pub(crate) class: ClassId,
    role: u16,
    subgroup: Option<u16>,
}

impl BulkKey {
    /// The kind of a task that waits; `None` if it has volumes, budgets or the like.
    pub(crate) fn of_waiting(
        tasks: &TaskReadOnlyContiguousItem<'_, '_>,
        row: usize,
    ) -> Option<Self> {
        let waits = status_of(&tasks.observed[row], tasks.assumed[row]).0 == TaskStatus::Pending;
        let own = Self::of(tasks, row)?;
        (waits && !tasks.traits[row].gated).then_some(own)
    }

    /// The kind of a task; `None` if it has volumes, budgets or the like.
    pub(crate) fn of(tasks: &TaskReadOnlyContiguousItem<'_, '_>, row: usize) -> Option<Self> {
        let cold = &tasks.cold[row];
        let plain =
            cold.guards.0.is_empty() && cold.nomination.0.is_none() && cold.volumes.is_nothing();
        let plain = plain && tasks.request[row].devices.is_none();
        let member = &tasks.membership[row];
        let job = member.job.filter(|_| plain)?;
        Some(Self { job, class: member.class, role: member.role, subgroup: member.subgroup })
    }
}

/// A task and the node it gets.
pub(crate) type BulkPlace = (Entity, Entity);

/// The nodes while tasks take room on them, one after the other.
pub(crate) struct BulkNodes<'a, 's> {
    nodes: NodeContiguousItem<'a, 's>,
    log: &'a mut ChangeLog,
}

impl<'a, 's> BulkNodes<'a, 's> {
    /// All nodes there are.
    pub(crate) fn of(nodes: &'a mut Query<'_, 's, Node>, log: &'a mut ChangeLog) -> Option<Self> {
        Some(Self { nodes: nodes.contiguous_iter_mut().ok()?.next()?, log })
    }

    /// The nodes as they are now.
    pub(crate) fn columns(&self) -> NodeColumns<'_> {
        NodeColumns::of_writable(&self.nodes)
    }

    /// How far the log of changed rows goes.
    pub(crate) fn mark(&self) -> LogMark {
        self.log.mark()
    }

    /// Takes room on a row for one task, and says which node that is. The task itself and whatever
    /// else counts it follow with [`Cluster::place_bulk`].
    pub(crate) fn take(&mut self, row: u32, request: &Request) -> Entity {
        self.log.touch(row);
        let (nodes, row) = (&mut self.nodes, row as usize);
        Flow::In.count(&mut nodes.tenants.bypass_change_detection()[row].0);
        let amounts = &request.amounts;
        nodes.used.bypass_change_detection()[row].0.add(&amounts.hot);
        nodes.idle.bypass_change_detection()[row].0.sub(&amounts.hot);
        if !amounts.tail.is_empty() {
            let tails = &mut nodes.tails.bypass_change_detection()[row];
            tails.used.add(&amounts.tail);
            tails.idle.sub(&amounts.tail);
        }
        if request.unasked != [0; 2] {
            let unasked = &mut nodes.unasked.bypass_change_detection()[row].0;
            Flow::In.pair(unasked, request.unasked);
            let (releasing, pipelined) = (&nodes.releasing[row].0, &nodes.pipelined[row].0);
            let unasked = *unasked;
            let flags = &mut nodes.flags.bypass_change_detection()[row];
            *flags = flags.with_room(releasing, pipelined, unasked);
        }
        if request.unmeasured != Unmeasured::NONE {
            let load = &mut nodes.load.bypass_change_detection()[row];
            Flow::In.load(&mut load.unmeasured, &request.unmeasured);
        }
        if !request.counted_by.count_ids().is_empty() {
            let pod_counts = &mut nodes.pod_counts.bypass_change_detection()[row];
            Flow::In.neighbour(pod_counts, &request.counted_by, Stay::Staying);
        }
        nodes.entity[row]
    }
}

impl Cluster<'_, '_> {
    /// Enters tasks that wait and are of one kind onto nodes whose room [`BulkNodes::take`] has taken for
    /// them; `asked` is what they ask for together.
    pub(crate) fn place_bulk(
        &mut self,
        kind: BulkKey,
        places: &[BulkPlace],
        request: &ResourceVec,
        asked: &ResourceVec,
    ) {
        self.write_assumed(places, Assumption::Allocated);
        self.used.0.add(asked);
        if self.tree.has_domains() {
            self.place_in_domains(places, request);
        }
        if self.groups.inheritance.is_some() {
            for &(_, node) in places {
                self.post_group(kind.job, node, request, Flow::In);
            }
        }
        if let Ok(mut job) = self.jobs.get_mut(kind.job) {
            let (from, to) = (TaskStatus::Pending, TaskStatus::Allocated);
            shift(&mut job.counts, kind, places.len() as u32, [from, to]);
            job.held.waiting.sub(asked);
            job.held.allocated.add(asked);
        }
        self.settle(Some(kind.job));
    }

    /// Turns the places of tasks of one kind into binds under way.
    pub(crate) fn begin_binds(&mut self, kind: BulkKey, places: &[BulkPlace]) {
        self.write_assumed(places, Assumption::Binding);
        if let Ok(mut job) = self.jobs.get_mut(kind.job) {
            let (from, to) = (TaskStatus::Allocated, TaskStatus::Binding);
            shift(&mut job.counts, kind, places.len() as u32, [from, to]);
        }
        self.note_job(Some(kind.job));
    }

    fn write_assumed(&mut self, places: &[BulkPlace], assumption: fn(Entity) -> Assumption) {
        let Ok(mut tables) = self.tasks.contiguous_iter_mut() else { return };
        let Some(mut tasks) = tables.next() else { return };
        let assumed = tasks.assumed.bypass_change_detection();
        for &(task, node) in places {
            assumed[row_of(self.entities, task)] = Assumed(Some(assumption(node)));
        }
    }

    /// Room that is free and asked for leaves no node in debt that was not, so debts stay.
    fn place_in_domains(&mut self, places: &[BulkPlace], request: &ResourceVec) {
        for &(_, node) in places {
            let Ok(node) = self.nodes.get(node) else { continue };
            for &domain in &node.domains.0 {
                let Ok(mut domain) = self.domains.get_mut(domain) else { continue };
                domain.totals.used.add(request);
                domain.totals.idle.sub(request);
            }
        }
    }
}

/// Counts a number of tasks in another status.
fn shift(counts: &mut JobCounts, kind: BulkKey, tasks: u32, [from, to]: [TaskStatus; 2]) {
    let move_in = |counts: &mut [u32; TaskStatus::COUNT]| {
        counts[from as usize] -= tasks;
        counts[to as usize] += tasks;
    };
    move_in(&mut counts.total);
    if let Some(at) = kind.subgroup
        && let Some(subgroup) = counts.subgroups.get_mut(usize::from(at))
    {
        move_in(&mut subgroup.counts);
    }
    if let Some(role) = counts.roles.get_mut(usize::from(kind.role)) {
        move_in(&mut role.counts);
    }
}
