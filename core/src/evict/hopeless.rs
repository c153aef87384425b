//! Jobs that no eviction can help, remembered for as long as that is certain.
//!
//! The proof is a count: so many tasks would fit, node by node, if everybody left who could. It holds
//! until nodes have changed by which the job might gain what it lacks: a node that changed since counts
//! as if it were empty. So "no" costs what changed, not the cluster.

use std::collections::VecDeque;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Resource;

use crate::class::ClassId;
use crate::cycle::drive::Scene;
use crate::ids::TimeMs;
use crate::policy::{EvictPurpose, Point};
use crate::world::LogMark;

use super::need::Need;
use super::raid::{Raid, Style};
use super::sites::Terrain;
use super::view::Ask;

/// Proofs that are kept; the oldest makes way.
const KEPT: usize = 64;

/// What is known to be hopeless.
#[derive(Default, Resource)]
pub(crate) struct Hopeless(VecDeque<Proof>);

/// Why a kind of job cannot be helped.
struct Proof {
    of: Kind,
    /// What is said of it.
    why: String,
    /// Tasks that would fit in the best place.
    slots: usize,
    /// Tasks that would fit on each row.
    rows: Vec<u16>,
    /// When the nodes were looked at.
    mark: LogMark,
    /// When somebody who is spared for the time being may go.
    until: Option<TimeMs>,
}

/// Jobs one proof is good for.
#[derive(PartialEq, Eq)]
struct Kind {
    purpose: EvictPurpose,
    ask: Ask,
    /// Where places or candidates differ from job to job, the job.
    job: Option<Entity>,
}

impl Kind {
    fn of(scene: &Scene<'_, '_>, raid: &Raid, need: &Need) -> Self {
        let evictor = need.evictor;
        // Task by task, tasks of the job itself may make way for others of it.
        let own = raid.style == Style::Task && raid.purpose == EvictPurpose::Preempt;
        let apart = own || scene.policies.is_asked(Point::SearchSpace);
        let job = apart.then_some(evictor.job);
        Self { purpose: evictor.purpose, ask: Ask::of(scene, need), job }
    }
}

/// Does what bars nodes for the job change only with the nodes themselves? Then the log tells.
fn is_provable(scene: &Scene<'_, '_>, need: &Need) -> bool {
    let [class] = need.classes.as_slice() else { return false };
    let class = scene.classes.get(*class);
    class.near.rules.is_empty() && class.volumes.is_none() && class.group_rule.is_none()
}

impl Hopeless {
    /// The class is no more, and another may get its number.
    pub(crate) fn forget(&mut self, class: ClassId) {
        self.0.retain(|proof| !proof.of.ask.is_of(class));
    }

    /// What was said of jobs like this one, if it still holds.
    pub(super) fn still(
        &mut self,
        scene: &mut Scene<'_, '_>,
        raid: &Raid,
        need: &Need,
    ) -> Option<String> {
        if !is_provable(scene, need) {
            return None;
        }
        let kind = Kind::of(scene, raid, need);
        let at = self.0.iter().position(|proof| proof.of == kind)?;
        if !self.0[at].holds(scene, need) {
            self.0.remove(at);
            return None;
        }
        let proof = &self.0[at];
        scene.wake_at(proof.until);
        Some(proof.why.clone())
    }

    /// Remembers what was just found: so many tasks would fit in the best place.
    pub(super) fn note(
        &mut self,
        scene: &Scene<'_, '_>,
        raid: &Raid,
        need: &Need,
        terrain: &Terrain,
        found: Found,
    ) {
        if !is_provable(scene, need) {
            return;
        }
        let Found { slots, until, why } = found;
        let count = scene.cluster.columns().len() as u32;
        let fits = |row| u16::try_from(terrain.slots(scene, need, row)).unwrap_or(u16::MAX);
        let rows = (0..count).map(fits).collect();
        let (of, mark) = (Kind::of(scene, raid, need), scene.cluster.log.mark());
        if self.0.len() == KEPT {
            self.0.pop_front();
        }
        self.0.push_back(Proof { of, why, slots, rows, mark, until });
    }
}

/// What a search that was hopeless found.
pub(super) struct Found {
    /// Tasks that would fit in the best place.
    pub(super) slots: usize,
    /// When somebody who is spared for the time being may go.
    pub(super) until: Option<TimeMs>,
    /// What is said of it.
    pub(super) why: String,
}

impl Proof {
    fn holds(&self, scene: &Scene<'_, '_>, need: &Need) -> bool {
        if self.until.is_some_and(|until| until <= scene.now.0) {
            return false;
        }
        let Some(changed) = scene.cluster.log.since(self.mark) else { return false };
        let request = &scene.classes.get(need.classes[0]).request;
        let nodes = scene.cluster.columns();
        let mut changed = changed.to_vec();
        changed.sort_unstable();
        changed.dedup();
        let gains = changed.iter().map(|&row| {
            let all = nodes.allocatable[row as usize].0.iter().zip(request.hot.0);
            let fit = all.filter(|&(_, ask)| ask > 0).map(|(&has, ask)| has / ask).min();
            let empty = fit.map_or(need.missing, |fit| usize::try_from(fit).unwrap_or(0));
            empty.min(need.missing).saturating_sub(usize::from(self.rows[row as usize]))
        });
        self.slots + gains.sum::<usize>() < need.missing
    }
}
