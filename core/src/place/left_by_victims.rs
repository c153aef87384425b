//! Room that the victims of a transaction leave, for tasks that may not have it.
//!
//! A pod with `preemptionPolicy: Never` may belong to a gang others are evicted for. It then has to make
//! do with what is free without them: on nodes they stay away from, and within what its queue may have
//! with them still there.

use bevy_ecs::entity::Entity;

use super::reach::Rows;
use super::session::Session;
use crate::resource::ResourceVec;
use crate::statement::Statement;

/// Who goes, and from where.
pub(super) struct LeftByVictims {
    victims: Vec<Entity>,
    /// Rows of their nodes, ascending.
    rows: Vec<u32>,
}

impl LeftByVictims {
    /// What the victims of a transaction leave.
    pub(super) fn of(session: &Session<'_, '_>, statement: &Statement) -> Self {
        let cluster = &session.cluster;
        let victims: Vec<Entity> = statement.victims(cluster).collect();
        let nodes = victims.iter().filter_map(|&task| cluster.task(task).status().1);
        let mut rows: Vec<u32> = nodes.map(|node| cluster.node(node).place.row).collect();
        rows.sort_unstable();
        rows.dedup();
        Self { victims, rows }
    }

    /// Of some rows those nobody goes from.
    pub(super) fn other_rows(&self, session: &Session<'_, '_>, rows: Rows<'_>) -> Vec<u32> {
        let untouched = |row: &u32| self.rows.binary_search(row).is_err();
        match rows {
            Some(rows) => rows.iter().copied().filter(untouched).collect(),
            None => (0..session.cluster.columns().len() as u32).filter(untouched).collect(),
        }
    }

    /// A request, and what those of a queue have who go.
    pub(super) fn with(
        &self,
        session: &Session<'_, '_>,
        queue: Entity,
        request: &ResourceVec,
    ) -> ResourceVec {
        let cluster = &session.cluster;
        let mut sum = request.clone();
        // What is held for the next pod still counts for the queue.
        let lost = self.victims.iter().map(|&task| cluster.task(task));
        for task in lost.filter(|task| task.heir_home().is_none()) {
            if task.membership.job.is_some_and(|job| cluster.job(job).spec.queue == queue) {
                sum.add(&task.whole_request());
            }
        }
        sum
    }
}
