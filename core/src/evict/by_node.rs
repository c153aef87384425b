//! Who may make way, node by node, with what making room on a node costs at least.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::place::Session;
use crate::resource::{Lanes, ResourceVec};

use super::candidates::{Candidate, Occupant};
use super::domains::{Change, FreeableRoom};

/// Tasks that may make way, by row.
#[derive(Default)]
pub(super) struct VictimsByNode {
    pub(super) rows: BTreeMap<u32, NodeVictims>,
}

/// Those on one node.
#[derive(Default)]
pub(super) struct NodeVictims {
    pub(super) tasks: Vec<Entity>,
    /// Of each resource in a lane, the most that one of them has ever held.
    most: Lanes,
    /// The lowest priority any of their jobs has ever had.
    lowest: Option<i32>,
}

impl VictimsByNode {
    pub(super) fn new(
        session: &Session<'_, '_>,
        candidates: &[Candidate],
        freeable: &FreeableRoom,
    ) -> Self {
        let mut victims_by_node = Self::default();
        for candidate in candidates {
            victims_by_node.change(session, freeable, &candidate.footprint.open, Change::Free);
        }
        victims_by_node
    }

    /// Tasks join, or are not to be had any more.
    pub(super) fn change(
        &mut self,
        session: &Session<'_, '_>,
        freeable: &FreeableRoom,
        occupants: &[Occupant],
        change: Change,
    ) {
        for occupant in occupants.iter().filter(|occupant| freeable.is_open(occupant.row)) {
            let node_victims = self.rows.entry(occupant.row).or_default();
            if change == Change::Fill {
                node_victims.tasks.retain(|&task| task != occupant.task);
                continue;
            }
            let task = session.cluster.task(occupant.task);
            node_victims.tasks.push(occupant.task);
            let frees = task.request.freed_at_most();
            for (most, holds) in node_victims.most.0.iter_mut().zip(frees.hot.0) {
                *most = (*most).max(holds);
            }
            let priority = job_priority(session, occupant.task);
            node_victims.lowest =
                Some(node_victims.lowest.map_or(priority, |lowest| lowest.min(priority)));
        }
    }
}

impl NodeVictims {
    /// What making room for a request costs here at least.
    pub(super) fn at_least(&self, request: &ResourceVec, room: &ResourceVec) -> (i32, usize) {
        let lanes = request.hot.0.iter().zip(&room.hot.0).zip(&self.most.0);
        let counts = lanes.map(|((&ask, &has), &most)| match ask.max(0) - has {
            lacks if ask <= 0 || lacks <= 0 => 0,
            lacks if most > 0 => usize::try_from((lacks - 1) / most + 1).unwrap_or(usize::MAX),
            _ => usize::MAX,
        });
        match counts.max().unwrap_or(0) {
            // Nothing but a resource without a lane can be what is lacking.
            0 => (i32::MIN, 0),
            count => (self.lowest.unwrap_or(i32::MAX), count),
        }
    }
}

/// Priority of a task's job.
pub(super) fn job_priority(session: &Session<'_, '_>, task: Entity) -> i32 {
    let job = session.cluster.task(task).membership.job;
    job.map_or(i32::MAX, |job| session.cluster.job(job).spec.priority)
}
