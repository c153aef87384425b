//! Access to every kind of entity at once, for systems that follow references between them.

use bevy_ecs::entity::{Entities, Entity};
use bevy_ecs::prelude::{Query, Res, ResMut};
use bevy_ecs::system::SystemParam;

use super::active_jobs::ActiveJobs;
use super::budget::Budgets;
use super::cluster_facts::Images;
use super::device::DeviceFleet;
use super::domain::{DomainIndex, DomainTotals};
use super::domain_tree::DomainView;
use super::groups::NodeGroups;
use super::lending::Lending;
use super::load::NodeLoads;
use super::reservation::Reservations;
use super::rounds::Rounds;
use super::rows::{
    Domain, DomainReadOnlyItem, Job, JobItem, JobReadOnlyItem, Node, NodeReadOnlyItem, Queue,
    QueueReadOnlyItem, Task, TaskReadOnlyContiguousItem, TaskReadOnlyItem,
};

use super::node::{ChangeLog, ClusterTotals, ClusterUse, NodeColumns};
use super::volume::Volumes;
use crate::resource::ResourceVec;

/// The cluster as one parameter of a system.
///
/// Its methods are spread over six files by what they move: reading and looking up here, every total
/// in `ledger`, `ledger/bulk` and `ledger/devices`, records of held room in `reservation`, volumes in
/// `volume/hold`. A shared reference is what plugins get: they read everything and write nothing.
#[derive(SystemParam)]
pub struct Cluster<'w, 's> {
    pub(super) entities: &'w Entities,
    pub(crate) nodes: Query<'w, 's, Node>,
    pub(crate) tasks: Query<'w, 's, Task>,
    pub(crate) jobs: Query<'w, 's, Job>,
    pub(crate) queues: Query<'w, 's, Queue>,
    pub(crate) active_jobs: ResMut<'w, ActiveJobs>,
    pub(crate) domains: Query<'w, 's, Domain>,
    pub(crate) tree: Res<'w, DomainIndex>,
    pub(super) capacity: ResMut<'w, ClusterTotals>,
    pub(super) used: ResMut<'w, ClusterUse>,
    pub(crate) log: ResMut<'w, ChangeLog>,
    pub(crate) groups: ResMut<'w, NodeGroups>,
    pub(crate) lending: ResMut<'w, Lending>,
    pub(crate) images: ResMut<'w, Images>,
    pub(crate) volumes: ResMut<'w, Volumes>,
    pub(crate) fleet: ResMut<'w, DeviceFleet>,
    pub(crate) budgets: ResMut<'w, Budgets>,
    pub(crate) reservations: ResMut<'w, Reservations>,
    pub(crate) loads: ResMut<'w, NodeLoads>,
    pub(crate) rounds: ResMut<'w, Rounds>,
}

/// References between entities are kept by ingest, which removes an entity only after the last
/// reference to it; a lookup by such a reference cannot miss.
const KEPT: &str = "ingest keeps every entity that is referred to";

impl<'s> Cluster<'_, 's> {
    /// The node's columns.
    pub fn node(&self, node: Entity) -> NodeReadOnlyItem<'_, 's> {
        self.nodes.get(node).expect(KEPT)
    }

    /// The task's columns.
    pub fn task(&self, task: Entity) -> TaskReadOnlyItem<'_, 's> {
        self.tasks.get(task).expect(KEPT)
    }

    /// The job's columns.
    pub fn job(&self, job: Entity) -> JobReadOnlyItem<'_, 's> {
        self.jobs.get(job).expect(KEPT)
    }

    /// The job's columns, to write; puts it onto the list of active jobs.
    pub fn job_mut(&mut self, job: Entity) -> JobItem<'_, 's> {
        self.active_jobs.note(job);
        self.jobs.get_mut(job).expect(KEPT)
    }

    /// Jobs there may be something to do for, in an order that is the same for the same history.
    pub fn open_jobs(&mut self) -> Vec<Entity> {
        let Self { active_jobs, jobs, .. } = self;
        active_jobs.jobs().iter().copied().filter(|&job| jobs.contains(job)).collect()
    }

    /// The queue's columns.
    pub fn queue(&self, queue: Entity) -> QueueReadOnlyItem<'_, 's> {
        self.queues.get(queue).expect(KEPT)
    }

    /// The domain's columns.
    pub fn domain(&self, domain: Entity) -> DomainReadOnlyItem<'_, 's> {
        self.domains.get(domain).expect(KEPT)
    }

    /// What all nodes offer together.
    pub fn capacity(&self) -> &ResourceVec {
        self.capacity.offered()
    }

    /// What pods of other schedulers take of that.
    pub fn taken_by_others(&self) -> &ResourceVec {
        self.capacity.by_others()
    }

    /// What all tasks on nodes take together.
    pub fn used(&self) -> &ResourceVec {
        &self.used.0
    }

    /// Domains by tier, and how they lie inside each other.
    pub fn domain_index(&self) -> &DomainIndex {
        &self.tree
    }

    /// When plugins that are asked at intervals were asked.
    pub fn rounds(&self) -> &Rounds {
        &self.rounds
    }

    /// The tree of domains with the sums over each.
    pub fn domain_view(&self) -> DomainView<'_> {
        DomainView { index: &self.tree, totals: totals_of(&self.domains) }
    }

    /// Every task there is, in no particular order.
    pub fn every_task(&self) -> impl Iterator<Item = TaskReadOnlyItem<'_, 's>> {
        self.tasks.iter()
    }

    /// Every job there is, in no particular order.
    pub fn every_job(&self) -> impl Iterator<Item = JobReadOnlyItem<'_, 's>> {
        self.jobs.iter()
    }

    /// Every queue there is, in no particular order.
    pub fn every_queue(&self) -> impl Iterator<Item = QueueReadOnlyItem<'_, 's>> {
        self.queues.iter()
    }

    /// The row of an entity in the table of its kind.
    pub(crate) fn row(&self, entity: Entity) -> usize {
        row_of(self.entities, entity)
    }

    /// All tasks as slices, one row a task; `None` where there is none.
    pub(crate) fn task_columns(&self) -> Option<TaskReadOnlyContiguousItem<'_, 's>> {
        // Tasks have one archetype and only table components, as nodes have.
        self.tasks.contiguous_iter().ok()?.next()
    }

    /// All nodes as slices, one row a node.
    pub fn columns(&self) -> NodeColumns<'_> {
        // Nodes have one archetype and only table components: one table, always dense.
        match self.nodes.contiguous_iter() {
            Ok(mut tables) => {
                tables.next().map_or(NodeColumns::EMPTY, |table| NodeColumns::of(&table))
            }
            Err(_) => NodeColumns::EMPTY,
        }
    }
}

/// The row of an entity in the table of its kind: each kind has one table.
pub(super) fn row_of(entities: &Entities, entity: Entity) -> usize {
    entities.get_spawned(entity).expect(KEPT).table_row.index()
}

/// Sums over all domains, a row each.
pub(crate) fn totals_of<'a>(domains: &'a Query<'_, '_, Domain>) -> &'a [DomainTotals] {
    // Domains have one archetype and only table components, as nodes have.
    match domains.contiguous_iter() {
        Ok(mut tables) => tables.next().map_or(&[][..], |table| table.totals),
        Err(_) => &[],
    }
}
