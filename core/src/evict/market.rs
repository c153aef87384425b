//! What could be taken in one place, as units in the order they would go.
//!
//! `preempt` looks at the state of the gang, then at priority, then at efficiency; `reclaim` at the
//! state, then at which queue is furthest over its due, then at efficiency. Efficiencies in the same
//! [`BAND`] are equal, so that a negligible gain does not override the order of jobs, which decides
//! what is left; before it, a job that holds an accelerator nobody asked for is spared.

use std::collections::BTreeMap;
use std::ops::Range;

use bevy_ecs::entity::Entity;

use crate::cycle::drive::Scene;
use crate::kernel::roi::{self, FREE, PARTS};
use crate::policy::EvictPurpose;
use crate::resource::{Dim, Lanes, ResourceVec};
use crate::world::JobReadOnlyItem;

use super::bundle::{Part, State, split};
use super::herd::{Candidate, Stand};
use super::need::Need;
use super::raid::{Raid, WholeBundles};

/// Efficiencies are compared in steps of this.
const BAND: i64 = PARTS / 20;

/// Tasks that go together.
#[derive(Debug)]
pub(super) struct Unit {
    /// Their job.
    pub(super) job: Entity,
    /// What it does to the job.
    pub(super) state: State,
    /// Priority of the job.
    pub(super) priority: i32,
    /// What it frees in the place.
    pub(super) freed: ResourceVec,
    /// What the job loses everywhere, in millionths of the need.
    pub(super) cost: i64,
    lost: ResourceVec,
    rank: Rank,
    tasks: Range<usize>,
}

/// The order in which units go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Rank {
    state: State,
    /// Position of the queue: the one furthest over its due first.
    queue: u32,
    /// What the purpose looks at next, smaller first.
    merit: [i64; 2],
    /// Holds an accelerator nobody asked for.
    spill: bool,
    /// Position of the job: the one served last first.
    place: usize,
    /// Position within the job.
    seat: usize,
}

impl Unit {
    /// What decides about the unit before efficiency and order of jobs do.
    pub(super) fn policy_rank(&self, purpose: EvictPurpose) -> (State, u32, i64) {
        let priority = match purpose {
            EvictPurpose::Preempt => i64::from(self.priority),
            EvictPurpose::Reclaim => 0,
        };
        (self.state, self.rank.queue, priority)
    }
}

/// Units in the order they go.
#[derive(Debug, Default)]
pub(super) struct Market {
    pub(super) units: Vec<Unit>,
    tasks: Vec<Entity>,
}

impl Market {
    /// The units of the candidates, as far as they stand on rows that count.
    pub(super) fn new(
        scene: &Scene<'_, '_>,
        raid: &Raid,
        need: &Need,
        candidates: &[Candidate],
        counts: impl Fn(u32) -> bool,
    ) -> Self {
        let mut market = Self::default();
        let valued = need.valued();
        let queues = queue_ranks(scene, need, candidates);
        for candidate in candidates {
            let (mut here, there): (Vec<Stand>, Vec<Stand>) =
                candidate.footprint.open.iter().partition(|stand| counts(stand.row));
            if here.is_empty() {
                continue;
            }
            if here.len() > 1 {
                sort_within_job(scene, &valued, &mut here);
            }
            let remote: &[Stand] = if raid.whole == WholeBundles::Gang { &there } else { &[] };
            market.offer(scene, raid, candidate, &here, remote);
        }
        for unit in &mut market.units {
            unit.rank.queue =
                queues.get(&scene.cluster.job(unit.job).spec.queue).copied().unwrap_or(0);
            unit.rank.spill = spills(&unit.lost, &valued);
        }
        market.price(raid.purpose, &valued);
        market.units.sort_unstable_by_key(|unit| unit.rank);
        market
    }

    /// Units of some states, in order.
    pub(super) fn of_states(&self, states: &[State]) -> Vec<usize> {
        let chosen = |at: &usize| states.contains(&self.units[*at].state);
        (0..self.units.len()).filter(chosen).collect()
    }

    /// The tasks of a unit.
    pub(super) fn tasks(&self, unit: &Unit) -> &[Entity] {
        &self.tasks[unit.tasks.clone()]
    }

    /// Adds the units of one job: its safe tasks one by one, its core as one. With the core goes all
    /// the rest, safe or not: a gang must not be left half alive.
    fn offer(
        &mut self,
        scene: &Scene<'_, '_>,
        raid: &Raid,
        candidate: &Candidate,
        here: &[Stand],
        remote: &[Stand],
    ) {
        let job = scene.cluster.job(candidate.job);
        let parts: Vec<Part> =
            here.iter().map(|stand| Part::of(&scene.cluster, stand.task)).collect();
        let mut core = ResourceVec::default();
        let mut breaks = false;
        for (seat, (part, state)) in parts.iter().zip(split(&job, &parts)).enumerate() {
            let freed = scene.cluster.task(part.task).whole_request();
            if state != State::Safe {
                core.add(&freed);
                breaks = true;
            }
            if state != State::Whole {
                let from = self.tasks.len();
                self.tasks.push(part.task);
                self.add(&job, (state, candidate.place, seat), freed.clone(), freed, from);
            }
        }
        if !breaks || raid.whole == WholeBundles::Spared || candidate.footprint.vetoed {
            return;
        }
        let from = self.tasks.len();
        self.tasks.extend(parts.iter().map(|part| part.task));
        self.tasks.extend(remote.iter().map(|stand| stand.task));
        let lost = job.held.allocated.clone();
        self.add(&job, (State::Whole, candidate.place, 0), core, lost, from);
    }

    fn add(
        &mut self,
        job: &JobReadOnlyItem<'_, '_>,
        (state, place, seat): (State, usize, usize),
        freed: ResourceVec,
        lost: ResourceVec,
        from: usize,
    ) {
        let rank = Rank { state, queue: 0, merit: [0; 2], spill: false, place, seat };
        let (priority, tasks) = (job.spec.priority, from..self.tasks.len());
        self.units.push(Unit {
            job: job.entity,
            state,
            priority,
            freed,
            lost,
            cost: 0,
            rank,
            tasks,
        });
    }

    /// Values all units in one pass and writes what they are ordered by.
    fn price(&mut self, purpose: EvictPurpose, need: &ResourceVec) {
        let local: Vec<Lanes> = self.units.iter().map(|unit| unit.freed.hot).collect();
        let global: Vec<Lanes> = self.units.iter().map(|unit| unit.lost.hot).collect();
        let (mut gains, mut costs) = (vec![0.0; local.len()], vec![0.0; local.len()]);
        roi::gain_and_cost(&need.hot, &local, &global, &mut gains, &mut costs);
        for ((unit, gain), cost) in self.units.iter_mut().zip(&mut gains).zip(&mut costs) {
            for (dim, whole) in need.tail.iter().filter(|entry| entry.1 > 0) {
                let part = |amount: i64| amount.max(0) as f64 / whole as f64;
                *gain += part(unit.freed.get(dim).min(whole));
                *cost += part(unit.lost.get(dim));
            }
            unit.cost = (*cost * PARTS as f64).round() as i64;
            let efficiency = match unit.state {
                State::Safe | State::Instead => FREE,
                State::Whole => roi::efficiency(*gain, *cost),
            };
            let band = -(efficiency.saturating_add(BAND / 2) / BAND);
            unit.rank.merit = match purpose {
                EvictPurpose::Preempt => [i64::from(unit.priority), band],
                EvictPurpose::Reclaim => [band, 0],
            };
        }
    }
}

/// Within a job: what covers more of the need first, then the least important, then the smallest,
/// then the youngest.
fn sort_within_job(scene: &Scene<'_, '_>, need: &ResourceVec, stands: &mut [Stand]) {
    let requests: Vec<Lanes> =
        stands.iter().map(|stand| scene.cluster.task(stand.task).request.0).collect();
    let (mut covers, mut sizes) = (vec![0.0; requests.len()], vec![0.0; requests.len()]);
    roi::gain_and_cost(&need.hot, &requests, &requests, &mut covers, &mut sizes);
    let parts = |value: f64| (value * PARTS as f64).round() as i64;
    let mut keyed: Vec<_> = stands
        .iter()
        .zip(covers.iter().zip(&sizes))
        .map(|(&stand, (&cover, &size))| {
            let task = scene.cluster.task(stand.task);
            let last_first = std::cmp::Reverse(scene.policies.task_key(&task));
            let created = std::cmp::Reverse(task.identity.created);
            ((-parts(cover), task.traits.priority, parts(size), created, last_first), stand)
        })
        .collect();
    keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    for (place, (_, stand)) in stands.iter_mut().zip(keyed) {
        *place = stand;
    }
}

/// Holds it any resource beyond those every pod asks for, of which nothing is needed?
fn spills(lost: &ResourceVec, need: &ResourceVec) -> bool {
    let common = [Dim::CPU, Dim::MEMORY, Dim::PODS, Dim::EPHEMERAL];
    lost.iter().any(|(dim, held)| held > 0 && !common.contains(&dim) && need.get(dim) <= 0)
}

/// Position of each queue with candidates: what plugins say of it when this evictor asks, else the one
/// served last first.
fn queue_ranks(
    scene: &Scene<'_, '_>,
    need: &Need,
    candidates: &[Candidate],
) -> BTreeMap<Entity, u32> {
    if need.evictor.purpose == EvictPurpose::Preempt {
        return BTreeMap::new();
    }
    let mut queues: Vec<Entity> = Vec::new();
    let mut last = None;
    for candidate in candidates {
        let queue = scene.cluster.job(candidate.job).spec.queue;
        if last != Some(queue) {
            last = Some(queue);
            queues.push(queue);
        }
    }
    queues.sort_unstable();
    queues.dedup();
    scene.policies.sort_victim_queues(&scene.cluster, &need.evictor, &mut queues);
    queues.into_iter().zip(0..).collect()
}
