//! What could be taken in one place, as bundles in the order they would go.
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

use crate::kernel::roi::{self, FREE, PARTS};
use crate::place::Session;
use crate::policy::{EvictPurpose, Point};
use crate::resource::{Dim, Lanes, ResourceVec};
use crate::world::{JobReadOnlyItem, TaskReadOnlyItem};

use super::action::{EvictAction, WholeBundles};
use super::candidates::{Candidate, Occupant};
use super::shortage::Shortage;
use super::surplus::{GangTask, Harm, is_surplus, split};

/// Efficiencies are compared in steps of this.
const BAND: i64 = PARTS / 20;

/// Tasks that go together.
#[derive(Debug)]
pub(super) struct Bundle {
    /// Their job.
    pub(super) job: Entity,
    /// What it does to the job.
    pub(super) state: Harm,
    /// Priority of the job.
    pub(super) priority: i32,
    /// What it frees in the place.
    freed: FreedRoom,
    /// What the job loses everywhere, in millionths of the need.
    pub(super) cost: i64,
    queue: Entity,
    lost: ResourceVec,
    rank: Rank,
    tasks: Range<usize>,
}

/// What tasks free when they leave.
#[derive(Clone, Debug, Default)]
struct FreedRoom {
    /// What they ask for.
    asked: ResourceVec,
    /// The same where devices they share count as whole ones, if they share any: of such a device perhaps
    /// all is freed, and perhaps nothing that others can use.
    most: Option<Box<ResourceVec>>,
}

impl FreedRoom {
    fn of(task: &TaskReadOnlyItem<'_, '_>) -> Self {
        let shares = task.request.share().is_some();
        let most = shares.then(|| Box::new(task.request.freed_at_most()));
        Self { asked: task.whole_request(), most }
    }

    fn add(&mut self, other: &Self) {
        if self.most.is_some() || other.most.is_some() {
            let most = self.most.get_or_insert_with(|| Box::new(self.asked.clone()));
            most.add(other.at_most());
        }
        self.asked.add(&other.asked);
    }

    fn at_most(&self) -> &ResourceVec {
        self.most.as_deref().unwrap_or(&self.asked)
    }
}

impl Bundle {
    /// What it frees in the place at most.
    pub(super) fn freed(&self) -> &ResourceVec {
        self.freed.at_most()
    }
}

/// The order in which bundles of one state and queue go.
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

/// Bundles in the order they go: by state, then by queue, then by rank.
#[derive(Debug, Default)]
pub(super) struct Bundles {
    list: Vec<Bundle>,
    tasks: Vec<Entity>,
    /// Bundles of a job, which stand side by side.
    of_job: HashMap<Entity, Range<usize>, FxBuildHasher>,
    /// Bundles of a state and queue, in order of rank.
    by_queue: BTreeMap<(Harm, Entity), Vec<usize>>,
    /// Queues in the order they give.
    queues: Vec<Entity>,
}

/// What bundles are valued and judged by.
#[derive(Clone, Copy)]
pub(super) struct Valuation<'a> {
    pub(super) action: &'a EvictAction,
    pub(super) shortage: &'a Shortage,
    /// Does a row belong to the place?
    pub(super) counts: &'a dyn Fn(u32) -> bool,
}

impl Bundles {
    /// The bundles of the candidates, as far as they stand on rows that count.
    pub(super) fn new(
        session: &Session<'_, '_>,
        by: Valuation<'_>,
        candidates: &[Candidate],
    ) -> Self {
        let mut all = Self::default();
        if !all.take_named(session, by, candidates) {
            for candidate in candidates {
                all.offer(session, by, candidate);
            }
            all.price(by, 0..all.list.len());
        }
        let Self { list: bundles, by_queue, .. } = &mut all;
        for (at, bundle) in bundles.iter().enumerate() {
            by_queue.entry((bundle.state, bundle.queue)).or_default().push(at);
        }
        for in_queue in by_queue.values_mut() {
            in_queue.sort_unstable_by_key(|&at| bundles[at].rank);
        }
        all.sort_queues(session, by.shortage);
        all
    }

    /// Lists the queues that have bundles, in the order in which they give: for a reclaim the one
    /// plugins put first, else in the order of their making. Shares move with every eviction, so the
    /// order is found again after each.
    pub(super) fn sort_queues(&mut self, session: &Session<'_, '_>, shortage: &Shortage) {
        let mut queues: Vec<Entity> = self.by_queue.keys().map(|&(_, queue)| queue).collect();
        queues.sort_unstable();
        queues.dedup();
        if shortage.evictor.purpose == EvictPurpose::Reclaim {
            session.policies.sort_victim_queues(&session.cluster, &shortage.evictor, &mut queues);
        }
        self.queues = queues;
    }

    /// A job has changed: its bundles leave, and what it has to offer now takes their place.
    pub(super) fn renew(
        &mut self,
        session: &Session<'_, '_>,
        by: Valuation<'_>,
        job: Entity,
        candidate: Option<&Candidate>,
    ) {
        for at in self.of_job.remove(&job).unwrap_or_default() {
            let bundle = &self.list[at];
            if let Some(in_queue) = self.by_queue.get_mut(&(bundle.state, bundle.queue)) {
                in_queue.retain(|&other| other != at);
            }
        }
        let Some(candidate) = candidate else { return };
        let from = self.list.len();
        self.offer(session, by, candidate);
        self.price(by, from..self.list.len());
        let Self { list: bundles, by_queue, .. } = self;
        for at in from..bundles.len() {
            let in_queue = by_queue.entry((bundles[at].state, bundles[at].queue)).or_default();
            let behind = in_queue.partition_point(|&other| bundles[other].rank < bundles[at].rank);
            in_queue.insert(behind, at);
        }
    }

    /// Bundles of some states, in order.
    pub(super) fn of_states(&self, states: &[Harm]) -> Vec<usize> {
        let mut chosen = Vec::new();
        for &state in states {
            for &queue in &self.queues {
                chosen.extend(self.by_queue.get(&(state, queue)).into_iter().flatten());
            }
        }
        chosen
    }

    /// Is there any bundle of that state?
    pub(super) fn has(&self, wanted: Harm) -> bool {
        self.by_queue.iter().any(|((state, _), in_queue)| *state == wanted && !in_queue.is_empty())
    }

    /// A bundle by its index.
    pub(super) fn bundle(&self, at: usize) -> &Bundle {
        &self.list[at]
    }

    /// The tasks of a bundle.
    pub(super) fn tasks(&self, bundle: &Bundle) -> &[Entity] {
        &self.tasks[bundle.tasks.clone()]
    }

    /// All that is on offer, in order.
    pub(super) fn shows(&self) -> Vec<(Harm, i64, &[Entity])> {
        let all = self.of_states(&[Harm::Safe, Harm::Instead, Harm::Whole]);
        let bundles = all.into_iter().map(|at| &self.list[at]);
        bundles.map(|bundle| (bundle.state, bundle.cost, self.tasks(bundle))).collect()
    }

    /// How many tasks the job can do without.
    pub(super) fn surplus(&self, job: Entity) -> usize {
        let bundles = self.of_job.get(&job).map_or(&[][..], |range| &self.list[range.clone()]);
        bundles.iter().filter(|bundle| bundle.state == Harm::Safe).count()
    }

    /// What decides about a bundle before efficiency and order of jobs do.
    pub(super) fn policy_rank(&self, bundle: &Bundle, purpose: EvictPurpose) -> (Harm, usize, i64) {
        let queue = self.queues.iter().position(|&queue| queue == bundle.queue).unwrap_or(0);
        match purpose {
            EvictPurpose::Preempt => (bundle.state, 0, i64::from(bundle.priority)),
            EvictPurpose::Reclaim | EvictPurpose::Consolidate => (bundle.state, queue, 0),
        }
    }

    /// Adds the bundles of one job: its safe tasks one by one, its core as one. With the core goes all
    /// the rest, safe or not: a gang must not be left half alive.
    fn offer(&mut self, session: &Session<'_, '_>, by: Valuation<'_>, candidate: &Candidate) {
        let (mut here, there): (Vec<Occupant>, Vec<Occupant>) =
            candidate.footprint.open.iter().partition(|occupant| (by.counts)(occupant.row));
        if here.is_empty() {
            return;
        }
        if here.len() > 1 {
            sort_within_job(session, &by.shortage.valued(), &mut here);
        }
        let job = session.cluster.job(candidate.job);
        let first = self.list.len();
        let parts: Vec<GangTask> =
            here.iter().map(|occupant| GangTask::of(&session.cluster, occupant.task)).collect();
        let mut core = FreedRoom::default();
        let mut breaks = false;
        for (seat, (part, state)) in parts.iter().zip(split(&job, &parts)).enumerate() {
            let freed = FreedRoom::of(&session.cluster.task(part.task));
            let lost = freed.asked.clone();
            if state != Harm::Safe {
                core.add(&freed);
                breaks = true;
            }
            if state != Harm::Whole {
                let from = self.tasks.len();
                self.tasks.push(part.task);
                self.add(&job, (state, candidate.place, seat), freed, lost, from);
            }
        }
        let whole = by.action.whole != WholeBundles::Spared && !candidate.footprint.vetoed;
        if breaks && whole {
            let remote: &[Occupant] =
                if by.action.whole == WholeBundles::Gang { &there } else { &[] };
            let from = self.tasks.len();
            self.tasks.extend(parts.iter().map(|part| part.task));
            self.tasks.extend(remote.iter().map(|occupant| occupant.task));
            let lost = job.held().allocated.clone();
            self.add(&job, (Harm::Whole, candidate.place, 0), core, lost, from);
        }
        self.of_job.insert(job.entity, first..self.list.len());
    }

    /// Asks plugins whom they would take; if one says so, those are all there is, in its order. A gang
    /// may be named with what it can do without, or whole.
    fn take_named(
        &mut self,
        session: &Session<'_, '_>,
        by: Valuation<'_>,
        candidates: &[Candidate],
    ) -> bool {
        if !session.policies.is_asked(Point::GangVictims) {
            return false;
        }
        let counts = |occupant: &Occupant| (by.counts)(occupant.row);
        let here = candidates.iter().filter(|one| one.footprint.open.iter().any(counts));
        let jobs: Vec<Entity> = here.map(|candidate| candidate.job).collect();
        let Shortage { evictor, sum, .. } = by.shortage;
        let Some(named) = session.policies.gang_victims(&session.cluster, evictor, sum, &jobs)
        else {
            return false;
        };
        for (place, (job, tasks)) in named.into_iter().enumerate() {
            let Some(candidate) = candidates.iter().find(|one| one.job == job) else { continue };
            self.offer_named(session, by, candidate, place, &tasks);
        }
        self.price(by, 0..self.list.len());
        for bundle in &mut self.list {
            (bundle.rank.merit, bundle.rank.spill) = ([0; 2], false);
        }
        true
    }

    fn offer_named(
        &mut self,
        session: &Session<'_, '_>,
        by: Valuation<'_>,
        candidate: &Candidate,
        place: usize,
        tasks: &[Entity],
    ) {
        let open = &candidate.footprint.open;
        let occupants: Vec<&Occupant> =
            open.iter().filter(|one| tasks.contains(&one.task)).collect();
        let job = session.cluster.job(candidate.job);
        let parts: Vec<GangTask> = occupants
            .iter()
            .map(|occupant| GangTask::of(&session.cluster, occupant.task))
            .collect();
        let room_of = |task: Entity| FreedRoom::of(&session.cluster.task(task));
        let first = self.list.len();
        if is_surplus(&job, &parts) {
            for (seat, part) in parts.iter().enumerate() {
                let from = self.tasks.len();
                self.tasks.push(part.task);
                let freed = room_of(part.task);
                let lost = freed.asked.clone();
                self.add(&job, (Harm::Safe, place, seat), freed, lost, from);
            }
        } else {
            let reached = |occupant: &&Occupant| {
                by.action.whole == WholeBundles::Gang || (by.counts)(occupant.row)
            };
            let all = open.iter().filter(reached).count() == occupants.len();
            if !all || by.action.whole == WholeBundles::Spared || candidate.footprint.vetoed {
                return;
            }
            let mut freed = FreedRoom::default();
            for occupant in occupants.iter().filter(|occupant| (by.counts)(occupant.row)) {
                freed.add(&room_of(occupant.task));
            }
            let from = self.tasks.len();
            self.tasks.extend(parts.iter().map(|part| part.task));
            let lost = job.held().allocated.clone();
            self.add(&job, (Harm::Whole, place, 0), freed, lost, from);
        }
        self.of_job.insert(job.entity, first..self.list.len());
    }

    fn add(
        &mut self,
        job: &JobReadOnlyItem<'_, '_>,
        (state, place, seat): (Harm, usize, usize),
        freed: FreedRoom,
        lost: ResourceVec,
        from: usize,
    ) {
        let (priority, tasks) = (job.spec.priority, from..self.tasks.len());
        self.list.push(Bundle {
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

    /// Values some bundles in one pass and writes what they are ordered by.
    fn price(&mut self, by: Valuation<'_>, which: Range<usize>) {
        let shortage = by.shortage.valued();
        let bundles = &mut self.list[which];
        let local: Vec<Lanes> = bundles.iter().map(|bundle| bundle.freed.asked.hot).collect();
        let global: Vec<Lanes> = bundles.iter().map(|bundle| bundle.lost.hot).collect();
        let (mut gains, mut costs) = (vec![0.0; local.len()], vec![0.0; local.len()]);
        roi::gain_and_cost(&shortage.hot, &local, &global, &mut gains, &mut costs);
        for ((bundle, gain), cost) in bundles.iter_mut().zip(&mut gains).zip(&mut costs) {
            for (dim, whole) in shortage.tail.iter().filter(|entry| entry.1 > 0) {
                let part = |amount: i64| amount.max(0) as f64 / whole as f64;
                *gain += part(bundle.freed.asked.get(dim).min(whole));
                *cost += part(bundle.lost.get(dim));
            }
            bundle.cost = (*cost * PARTS as f64).round() as i64;
            let efficiency = match bundle.state {
                Harm::Safe | Harm::Instead => FREE,
                Harm::Whole => roi::efficiency(*gain, *cost),
            };
            let band = -(efficiency.saturating_add(BAND / 2) / BAND);
            bundle.rank.merit = match by.action.purpose {
                EvictPurpose::Preempt => [i64::from(bundle.priority), band],
                EvictPurpose::Reclaim | EvictPurpose::Consolidate => [band, 0],
            };
            bundle.rank.spill = spills(&bundle.lost, &shortage);
        }
    }
}

/// Within a job: what covers more of the need first, then the least important, then the smallest,
/// then the youngest.
fn sort_within_job(session: &Session<'_, '_>, shortage: &ResourceVec, occupants: &mut [Occupant]) {
    let requests: Vec<Lanes> = occupants
        .iter()
        .map(|occupant| session.cluster.task(occupant.task).request.amounts.hot)
        .collect();
    let (mut covers, mut sizes) = (vec![0.0; requests.len()], vec![0.0; requests.len()]);
    roi::gain_and_cost(&shortage.hot, &requests, &requests, &mut covers, &mut sizes);
    let parts = |value: f64| (value * PARTS as f64).round() as i64;
    let mut keyed: Vec<_> = occupants
        .iter()
        .zip(covers.iter().zip(&sizes))
        .map(|(&occupant, (&cover, &size))| {
            let task = session.cluster.task(occupant.task);
            let last_first = std::cmp::Reverse(session.policies.task_key(&task));
            let created = std::cmp::Reverse(task.identity.created);
            ((-parts(cover), task.priority.value, parts(size), created, last_first), occupant)
        })
        .collect();
    keyed.sort_unstable_by(|a, b| a.0.cmp(&b.0));
    for (place, (_, occupant)) in occupants.iter_mut().zip(keyed) {
        *place = occupant;
    }
}

/// Holds it any resource beyond those every pod asks for, of which nothing is needed?
fn spills(lost: &ResourceVec, shortage: &ResourceVec) -> bool {
    let common = [Dim::CPU, Dim::MEMORY, Dim::PODS, Dim::EPHEMERAL];
    lost.iter().any(|(dim, held)| held > 0 && !common.contains(&dim) && shortage.get(dim) <= 0)
}
