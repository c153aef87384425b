//! Who may make way, node by node, with what making room on a node costs at least.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::cycle::drive::Scene;
use crate::resource::{Lanes, ResourceVec};

use super::herd::{Candidate, Stand};
use super::sites::{Flow, Terrain};

/// Tasks that may make way, by row.
#[derive(Default)]
pub(super) struct Prey {
    pub(super) rows: BTreeMap<u32, Pen>,
}

/// Those on one node.
#[derive(Default)]
pub(super) struct Pen {
    pub(super) tasks: Vec<Entity>,
    /// Of each resource in a lane, the most that one of them has ever held.
    most: Lanes,
    /// The lowest priority any of their jobs has ever had.
    lowest: Option<i32>,
}

impl Prey {
    pub(super) fn new(scene: &Scene<'_, '_>, candidates: &[Candidate], terrain: &Terrain) -> Self {
        let mut prey = Self::default();
        for candidate in candidates {
            prey.change(scene, terrain, &candidate.footprint.open, Flow::Free);
        }
        prey
    }

    /// Tasks join, or are not to be had any more.
    pub(super) fn change(
        &mut self,
        scene: &Scene<'_, '_>,
        terrain: &Terrain,
        stands: &[Stand],
        flow: Flow,
    ) {
        for stand in stands.iter().filter(|stand| terrain.is_open(stand.row)) {
            let pen = self.rows.entry(stand.row).or_default();
            if flow == Flow::Fill {
                pen.tasks.retain(|&task| task != stand.task);
                continue;
            }
            let task = scene.cluster.task(stand.task);
            pen.tasks.push(stand.task);
            for (most, holds) in pen.most.0.iter_mut().zip(task.request.amounts.hot.0) {
                *most = (*most).max(holds);
            }
            let priority = job_priority(scene, stand.task);
            pen.lowest = Some(pen.lowest.map_or(priority, |lowest| lowest.min(priority)));
        }
    }
}

impl Pen {
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
pub(super) fn job_priority(scene: &Scene<'_, '_>, task: Entity) -> i32 {
    let job = scene.cluster.task(task).membership.job;
    job.map_or(i32::MAX, |job| scene.cluster.job(job).spec.priority)
}
