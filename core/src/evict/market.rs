//! What could be taken in one place, as units in the order they would go.
//!
//! `preempt` looks at the state of the gang, then at priority, then at efficiency; `reclaim` at the
//! state, then at which queue is furthest over its due, then at efficiency. Efficiencies in the same
//! [`BAND`] are equal, so that a negligible gain does not override the order of jobs, which decides
//! what is left; before it, a job that holds an accelerator nobody asked for is spared.

use std::collections::BTreeMap;
use std::ops::Range;

use bevy_ecs::entity::Entity;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::cycle::drive::Scene;
use crate::kernel::roi::{self, FREE, PARTS};
use crate::policy::{EvictPurpose, Point};
use crate::resource::{Dim, Lanes, ResourceVec};
use crate::world::JobReadOnlyItem;

use super::bundle::{Part, State, is_surplus, split};
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
    queue: Entity,
    lost: ResourceVec,
    rank: Rank,
    tasks: Range<usize>,
}

/// The order in which units of one state and queue go.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// What the purpose looks at first, smaller first.
    merit: [i64; 2],
    /// Holds an accelerator nobody asked for.
    spill: bool,
    /// Position of the job: the one served last first.
    place: usize,
    /// Position within the job.
    seat: usize,
}

/// Units in the order they go: by state, then by queue, then by rank.
#[derive(Debug, Default)]
pub(super) struct Market {
    units: Vec<Unit>,
    tasks: Vec<Entity>,
    /// Units of a job, which are neighbours.
    of_job: HashMap<Entity, Range<usize>, FxBuildHasher>,
    /// Units of a state and queue, in order of rank.
    stalls: BTreeMap<(State, Entity), Vec<usize>>,
    /// Queues in the order they give.
    queues: Vec<Entity>,
}

/// What units are valued and judged by.
#[derive(Clone, Copy)]
pub(super) struct Appraiser<'a> {
    pub(super) raid: &'a Raid,
    pub(super) need: &'a Need,
    /// Does a row belong to the place?
    pub(super) counts: &'a dyn Fn(u32) -> bool,
}

impl Market {
    /// The units of the candidates, as far as they stand on rows that count.
    pub(super) fn new(scene: &Scene<'_, '_>, by: Appraiser<'_>, candidates: &[Candidate]) -> Self {
        let mut market = Self::default();
        if !market.take_named(scene, by, candidates) {
            for candidate in candidates {
                market.offer(scene, by, candidate);
            }
            market.price(by, 0..market.units.len());
        }
        let Self { units, stalls, .. } = &mut market;
        for (at, unit) in units.iter().enumerate() {
            stalls.entry((unit.state, unit.queue)).or_default().push(at);
        }
        for stall in stalls.values_mut() {
            stall.sort_unstable_by_key(|&at| units[at].rank);
        }
        market.sort_queues(scene, by.need);
        market
    }

    /// Puts the queues in order: what plugins say of them when this evictor asks, else the one served
    /// last first. Shares move with every eviction.
    pub(super) fn sort_queues(&mut self, scene: &Scene<'_, '_>, need: &Need) {
        let mut queues: Vec<Entity> = self.stalls.keys().map(|&(_, queue)| queue).collect();
        queues.sort_unstable();
        queues.dedup();
        if need.evictor.purpose == EvictPurpose::Reclaim {
            scene.policies.sort_victim_queues(&scene.cluster, &need.evictor, &mut queues);
        }
        self.queues = queues;
    }

    /// A job has changed: its units leave, and what it has to offer now takes their place.
    pub(super) fn renew(
        &mut self,
        scene: &Scene<'_, '_>,
        by: Appraiser<'_>,
        job: Entity,
        candidate: Option<&Candidate>,
    ) {
        for at in self.of_job.remove(&job).unwrap_or_default() {
            let unit = &self.units[at];
            if let Some(stall) = self.stalls.get_mut(&(unit.state, unit.queue)) {
                stall.retain(|&other| other != at);
            }
        }
        let Some(candidate) = candidate else { return };
        let from = self.units.len();
        self.offer(scene, by, candidate);
        self.price(by, from..self.units.len());
        let Self { units, stalls, .. } = self;
        for at in from..units.len() {
            let stall = stalls.entry((units[at].state, units[at].queue)).or_default();
            let behind = stall.partition_point(|&other| units[other].rank < units[at].rank);
            stall.insert(behind, at);
        }
    }

    /// Units of some states, in order.
    pub(super) fn of_states(&self, states: &[State]) -> Vec<usize> {
        let mut chosen = Vec::new();
        for &state in states {
            for &queue in &self.queues {
                chosen.extend(self.stalls.get(&(state, queue)).into_iter().flatten());
            }
        }
        chosen
    }

    /// Is there any unit of that state?
    pub(super) fn has(&self, wanted: State) -> bool {
        self.stalls.iter().any(|((state, _), stall)| *state == wanted && !stall.is_empty())
    }

    /// A unit by its index.
    pub(super) fn unit(&self, at: usize) -> &Unit {
        &self.units[at]
    }

    /// The tasks of a unit.
    pub(super) fn tasks(&self, unit: &Unit) -> &[Entity] {
        &self.tasks[unit.tasks.clone()]
    }

    /// All that is on offer, in order.
    pub(super) fn shows(&self) -> Vec<(State, i64, &[Entity])> {
        let all = self.of_states(&[State::Safe, State::Instead, State::Whole]);
        let units = all.into_iter().map(|at| &self.units[at]);
        units.map(|unit| (unit.state, unit.cost, self.tasks(unit))).collect()
    }

    /// How many tasks the job can do without.
    pub(super) fn surplus(&self, job: Entity) -> usize {
        let units = self.of_job.get(&job).map_or(&[][..], |range| &self.units[range.clone()]);
        units.iter().filter(|unit| unit.state == State::Safe).count()
    }

    /// What decides about a unit before efficiency and order of jobs do.
    pub(super) fn policy_rank(&self, unit: &Unit, purpose: EvictPurpose) -> (State, usize, i64) {
        let queue = self.queues.iter().position(|&queue| queue == unit.queue).unwrap_or(0);
        match purpose {
            EvictPurpose::Preempt => (unit.state, 0, i64::from(unit.priority)),
            EvictPurpose::Reclaim => (unit.state, queue, 0),
        }
    }

    /// Adds the units of one job: its safe tasks one by one, its core as one. With the core goes all
    /// the rest, safe or not: a gang must not be left half alive.
    fn offer(&mut self, scene: &Scene<'_, '_>, by: Appraiser<'_>, candidate: &Candidate) {
        let (mut here, there): (Vec<Stand>, Vec<Stand>) =
            candidate.footprint.open.iter().partition(|stand| (by.counts)(stand.row));
        if here.is_empty() {
            return;
        }
        if here.len() > 1 {
            sort_within_job(scene, &by.need.valued(), &mut here);
        }
        let job = scene.cluster.job(candidate.job);
        let first = self.units.len();
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
        let whole = by.raid.whole != WholeBundles::Spared && !candidate.footprint.vetoed;
        if breaks && whole {
            let remote: &[Stand] = if by.raid.whole == WholeBundles::Gang { &there } else { &[] };
            let from = self.tasks.len();
            self.tasks.extend(parts.iter().map(|part| part.task));
            self.tasks.extend(remote.iter().map(|stand| stand.task));
            let lost = job.held.allocated.clone();
            self.add(&job, (State::Whole, candidate.place, 0), core, lost, from);
        }
        self.of_job.insert(job.entity, first..self.units.len());
    }

    /// Asks plugins whom they would take; if one says so, those are all there is, in its order. A gang
    /// may be named with what it can do without, or whole.
    fn take_named(
        &mut self,
        scene: &Scene<'_, '_>,
        by: Appraiser<'_>,
        candidates: &[Candidate],
    ) -> bool {
        if !scene.policies.is_asked(Point::GangVictims) {
            return false;
        }
        let counts = |stand: &Stand| (by.counts)(stand.row);
        let here = candidates.iter().filter(|one| one.footprint.open.iter().any(counts));
        let jobs: Vec<Entity> = here.map(|candidate| candidate.job).collect();
        let Need { evictor, sum, .. } = by.need;
        let Some(named) = scene.policies.gang_victims(&scene.cluster, evictor, sum, &jobs) else {
            return false;
        };
        for (place, (job, tasks)) in named.into_iter().enumerate() {
            let Some(candidate) = candidates.iter().find(|one| one.job == job) else { continue };
            self.offer_named(scene, by, candidate, place, &tasks);
        }
        self.price(by, 0..self.units.len());
        for unit in &mut self.units {
            (unit.rank.merit, unit.rank.spill) = ([0; 2], false);
        }
        true
    }

    fn offer_named(
        &mut self,
        scene: &Scene<'_, '_>,
        by: Appraiser<'_>,
        candidate: &Candidate,
        place: usize,
        tasks: &[Entity],
    ) {
        let open = &candidate.footprint.open;
        let stands: Vec<&Stand> = open.iter().filter(|one| tasks.contains(&one.task)).collect();
        let job = scene.cluster.job(candidate.job);
        let parts: Vec<Part> =
            stands.iter().map(|stand| Part::of(&scene.cluster, stand.task)).collect();
        let request = |task: Entity| scene.cluster.task(task).whole_request();
        let first = self.units.len();
        if is_surplus(&job, &parts) {
            for (seat, part) in parts.iter().enumerate() {
                let from = self.tasks.len();
                self.tasks.push(part.task);
                let freed = request(part.task);
                self.add(&job, (State::Safe, place, seat), freed.clone(), freed, from);
            }
        } else {
            let reached =
                |stand: &&Stand| by.raid.whole == WholeBundles::Gang || (by.counts)(stand.row);
            let all = open.iter().filter(reached).count() == stands.len();
            if !all || by.raid.whole == WholeBundles::Spared || candidate.footprint.vetoed {
                return;
            }
            let mut freed = ResourceVec::default();
            for stand in stands.iter().filter(|stand| (by.counts)(stand.row)) {
                freed.add(&request(stand.task));
            }
            let from = self.tasks.len();
            self.tasks.extend(parts.iter().map(|part| part.task));
            let lost = job.held.allocated.clone();
            self.add(&job, (State::Whole, place, 0), freed, lost, from);
        }
        self.of_job.insert(job.entity, first..self.units.len());
    }

    fn add(
        &mut self,
        job: &JobReadOnlyItem<'_, '_>,
        (state, place, seat): (State, usize, usize),
        freed: ResourceVec,
        lost: ResourceVec,
        from: usize,
    ) {
        let (priority, tasks) = (job.spec.priority, from..self.tasks.len());
        self.units.push(Unit {
            job: job.entity,
            queue: job.spec.queue,
            state,
            priority,
            freed,
            lost,
            cost: 0,
            rank: Rank { merit: [0; 2], spill: false, place, seat },
            tasks,
        });
    }

    /// Values some units in one pass and writes what they are ordered by.
    fn price(&mut self, by: Appraiser<'_>, which: Range<usize>) {
        let need = by.need.valued();
        let units = &mut self.units[which];
        let local: Vec<Lanes> = units.iter().map(|unit| unit.freed.hot).collect();
        let global: Vec<Lanes> = units.iter().map(|unit| unit.lost.hot).collect();
        let (mut gains, mut costs) = (vec![0.0; local.len()], vec![0.0; local.len()]);
        roi::gain_and_cost(&need.hot, &local, &global, &mut gains, &mut costs);
        for ((unit, gain), cost) in units.iter_mut().zip(&mut gains).zip(&mut costs) {
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
            unit.rank.merit = match by.raid.purpose {
                EvictPurpose::Preempt => [i64::from(unit.priority), band],
                EvictPurpose::Reclaim => [band, 0],
            };
            unit.rank.spill = spills(&unit.lost, &need);
        }
    }
}

/// Within a job: what covers more of the need first, then the least important, then the smallest,
/// then the youngest.
fn sort_within_job(scene: &Scene<'_, '_>, need: &ResourceVec, stands: &mut [Stand]) {
    let requests: Vec<Lanes> =
        stands.iter().map(|stand| scene.cluster.task(stand.task).request.amounts.hot).collect();
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
            ((-parts(cover), task.priority.value, parts(size), created, last_first), stand)
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
