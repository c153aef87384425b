//! Who could make way at all, found once for an action and kept current while it decides.
//!
//! The order of jobs is that at the start of the action: the job to be served last goes first.

use std::cell::OnceCell;
use std::cmp::Reverse;
use std::rc::Rc;

use bevy_ecs::entity::Entity;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::TimeMs;
use crate::place::Session;
use crate::policy::{EvictPurpose, Evictor};
use crate::world::{Cluster, JobReadOnlyItem, JobSpec, TaskReadOnlyItem, TaskStatus};

use super::action::{EvictAction, EvictLimits, Style};
use super::evictor_view::EvictorView;
use super::refusal::{Refusals, SparedBy};
use super::surplus::is_elastic;

/// Jobs with tasks on nodes.
pub(super) struct CandidatePool {
    /// By the order they would be served in, the last first.
    jobs: Vec<JobOccupants>,
    /// Where a job stands in that list.
    places: HashMap<Entity, usize, FxBuildHasher>,
    /// Jobs that lost tasks or were placed since the action began, in order.
    losses: Vec<Entity>,
    /// What the last job saw.
    pub(super) last_view: Option<EvictorView>,
}

struct JobOccupants {
    job: Entity,
    queue: Entity,
    priority: i32,
    footprint: OnceCell<Rc<Footprint>>,
}

/// A task on a node.
#[derive(Clone, Copy, Debug)]
pub(super) struct Occupant {
    pub(super) task: Entity,
    pub(super) row: u32,
}

/// The tasks of a job that hold room.
#[derive(Debug, Default)]
pub(super) struct Footprint {
    /// Those that may be taken, as far as the action is concerned.
    pub(super) open: Vec<Occupant>,
    /// Is there one that may not? Then the gang as a whole may not either.
    pub(super) vetoed: bool,
    /// When the first of those that only run too short a time may be taken.
    ripe: Option<TimeMs>,
    /// Pods that may not be evicted by their own word, and that run too short a time: how many, and
    /// one of them.
    locked: (u32, Option<Entity>),
    young: (u32, Option<Entity>),
}

/// A job victims may come from.
pub(super) struct Candidate {
    pub(super) job: Entity,
    /// Position in the order of jobs: smaller goes first.
    pub(super) place: usize,
    pub(super) footprint: Rc<Footprint>,
}

impl Candidate {
    /// The job itself, whose less important tasks may make way for others of it.
    pub(super) fn own(session: &Session<'_, '_>, action: &EvictAction, job: Entity) -> Self {
        let (now, item) = (session.now.0, session.cluster.job(job));
        let footprint = footprint(&session.cluster, &action.limits, now, &item);
        Self { job, place: 0, footprint: Rc::new(footprint) }
    }
}

impl CandidatePool {
    pub(super) fn new(session: &Session<'_, '_>) -> Self {
        let on_nodes = session.cluster.jobs.iter().filter(|job| occupants(job) > 0);
        let mut keyed: Vec<_> = on_nodes
            .map(|job| {
                let entry = JobOccupants {
                    job: job.entity,
                    queue: job.spec.queue,
                    priority: job.spec.priority,
                    footprint: OnceCell::new(),
                };
                (Reverse(session.policies.job_key(&session.cluster, &job)), entry)
            })
            .collect();
        keyed.sort_by(|a, b| a.0.cmp(&b.0));
        let jobs: Vec<JobOccupants> = keyed.into_iter().map(|(_, entry)| entry).collect();
        let places = jobs.iter().enumerate().map(|(at, entry)| (entry.job, at)).collect();
        Self { jobs, places, losses: Vec::new(), last_view: None }
    }

    /// Jobs an action for `evictor` may take tasks from; who may not, and why, is counted.
    pub(super) fn candidates(
        &self,
        session: &Session<'_, '_>,
        action: &EvictAction,
        evictor: Entity,
        refusals: &mut Refusals,
    ) -> Vec<Candidate> {
        let places = 0..self.jobs.len();
        places.filter_map(|at| self.consider(session, action, evictor, at, refusals)).collect()
    }

    /// The job at a place, if an action for `evictor` may take tasks from it; if not, why is counted.
    pub(super) fn consider(
        &self,
        session: &Session<'_, '_>,
        action: &EvictAction,
        evictor: Entity,
        place: usize,
        refusals: &mut Refusals,
    ) -> Option<Candidate> {
        let entry = &self.jobs[place];
        if entry.job == evictor {
            return None;
        }
        let own = session.cluster.job(evictor);
        if let Some(rule) = spared_by(&session.cluster, action, own.spec, entry) {
            let job = session.cluster.job(entry.job);
            refusals.count(rule, occupants(&job), Some(entry.job));
            return None;
        }
        let candidate = self.exposed(session, &action.limits, place, refusals)?;
        after_its_time(session, action, evictor, candidate, refusals)
    }

    /// Running tasks that may be taken for any evictor: jobs in their order, of each the task
    /// placed last first.
    pub(super) fn movable(
        &self,
        session: &Session<'_, '_>,
        limits: &EvictLimits,
        refusals: &mut Refusals,
    ) -> Vec<Entity> {
        let runs = |task: &Entity| session.cluster.task(*task).status().0 == TaskStatus::Running;
        let mut tasks = Vec::new();
        for place in 0..self.jobs.len() {
            let Some(candidate) = self.exposed(session, limits, place, refusals) else { continue };
            let open = candidate.footprint.open.iter().map(|occupant| occupant.task);
            let mut own: Vec<Entity> = open.filter(runs).collect();
            session.policies.sort_last_first(&session.cluster, &mut own);
            tasks.append(&mut own);
        }
        tasks
    }

    /// The job at a position, if it has tasks that may be taken for any evictor; if not, why is
    /// counted.
    fn exposed(
        &self,
        session: &Session<'_, '_>,
        limits: &EvictLimits,
        place: usize,
        refusals: &mut Refusals,
    ) -> Option<Candidate> {
        let entry = &self.jobs[place];
        let job = session.cluster.job(entry.job);
        let now = session.now.0;
        if is_underway(&session.cluster, &job) {
            refusals.count(SparedBy::Underway, occupants(&job), Some(entry.job));
            return None;
        }
        if job.spec.preemptable == Some(false) {
            refusals.count(SparedBy::Locked, occupants(&job), Some(entry.job));
            return None;
        }
        if limits.is_worn(job.evictions, now) {
            refusals.count(SparedBy::Worn, occupants(&job), Some(entry.job));
            refusals.postpone(job.evictions.relief(now));
            return None;
        }
        let footprint = entry
            .footprint
            .get_or_init(|| Rc::new(footprint(&session.cluster, limits, now, &job)))
            .clone();
        refusals.count(SparedBy::Locked, footprint.locked.0, footprint.locked.1);
        refusals.count(SparedBy::Young, footprint.young.0, footprint.young.1);
        refusals.postpone(footprint.ripe);
        let some = !footprint.open.is_empty();
        some.then_some(Candidate { job: entry.job, place, footprint })
    }

    /// Jobs that lost tasks since the action began, in order.
    pub(super) fn losses(&self) -> &[Entity] {
        &self.losses
    }

    /// Position of a job in the order of jobs.
    pub(super) fn place(&self, job: Entity) -> Option<usize> {
        self.places.get(&job).copied()
    }

    /// Tasks of the job were taken, or have room held for them.
    pub(super) fn forget(&mut self, job: Entity) {
        if let Some(&at) = self.places.get(&job) {
            self.jobs[at].footprint = OnceCell::new();
            self.losses.push(job);
        }
    }
}

/// The candidate, unless plugins say that it has not run for long enough; a gang that has more than its
/// minimum then has only that to offer.
fn after_its_time(
    session: &Session<'_, '_>,
    action: &EvictAction,
    evictor: Entity,
    candidate: Candidate,
    refusals: &mut Refusals,
) -> Option<Candidate> {
    let for_whom = Evictor { job: evictor, task: None, purpose: action.purpose };
    let until = session.policies.keeps_until(&session.cluster, &for_whom, candidate.job);
    let Some(until) = until.filter(|&until| until > session.now.0) else {
        return Some(candidate);
    };
    refusals.postpone(Some(until));
    let job = session.cluster.job(candidate.job);
    if action.style != Style::Task && is_elastic(&job) {
        let open = candidate.footprint.open.clone();
        let footprint = Rc::new(Footprint { open, vetoed: true, ..Footprint::default() });
        return Some(Candidate { footprint, ..candidate });
    }
    refusals.count(SparedBy::Young, occupants(&job), Some(candidate.job));
    None
}

/// The rule of the action that protects a job from this evictor, if one does.
fn spared_by(
    cluster: &Cluster<'_, '_>,
    action: &EvictAction,
    evictor: &JobSpec,
    entry: &JobOccupants,
) -> Option<SparedBy> {
    match action.purpose {
        EvictPurpose::Preempt if entry.queue != evictor.queue => Some(SparedBy::Apart),
        EvictPurpose::Preempt if entry.priority >= evictor.priority => Some(SparedBy::Equal),
        EvictPurpose::Preempt => None,
        EvictPurpose::Reclaim if entry.queue == evictor.queue => Some(SparedBy::Apart),
        EvictPurpose::Reclaim => {
            let giver = cluster.queue(entry.queue);
            let locked = !giver.identity.present || !giver.spec.reclaimable;
            locked.then_some(SparedBy::LockedQueue)
        }
        EvictPurpose::Consolidate => {
            let firm = !cluster.job(entry.job).spec.is_preemptible();
            firm.then_some(SparedBy::Locked)
        }
    }
}

/// Are pods of the job being moved to other nodes?
fn is_underway(cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> bool {
    let moves = |task: TaskReadOnlyItem<'_, '_>| {
        let comes = task.status().0 == TaskStatus::Pipelined;
        task.heir_home().is_some() || comes && task.cold.moved.get().is_some()
    };
    job.counts().pipelined() > 0 && job.members.0.iter().any(|&task| moves(cluster.task(task)))
}

/// Tasks of a job on nodes.
fn occupants(job: &JobReadOnlyItem<'_, '_>) -> u32 {
    job.counts().count(&[TaskStatus::Bound, TaskStatus::Running])
}

/// Does the task stand on a node, for good as far as anybody knows?
pub(super) fn is_standing(task: &TaskReadOnlyItem<'_, '_>) -> bool {
    matches!(task.status().0, TaskStatus::Bound | TaskStatus::Running)
}

/// Counts a task, and keeps the one that is first by name: members come in the order they arrived in.
fn note(cluster: &Cluster<'_, '_>, spared: &mut (u32, Option<Entity>), task: Entity) {
    let key = |task: Entity| cluster.task(task).identity.key.clone();
    spared.0 += 1;
    if spared.1.is_none_or(|first| key(task) < key(first)) {
        spared.1 = Some(task);
    }
}

fn footprint(
    cluster: &Cluster<'_, '_>,
    limits: &EvictLimits,
    now: TimeMs,
    job: &JobReadOnlyItem<'_, '_>,
) -> Footprint {
    let mut found = Footprint::default();
    for &task in &job.members.0 {
        let item = cluster.task(task);
        let (status, node) = item.status();
        if matches!(status, TaskStatus::Allocated | TaskStatus::Binding) {
            // Its bind is under way: what becomes of it is not known yet.
            found.vetoed = true;
        }
        let (TaskStatus::Bound | TaskStatus::Running, Some(node)) = (status, node) else {
            continue;
        };
        let protected_until = item.timing.running.get().map(|since| {
            let floor = limits.min_runtime_ms.max(item.traits.cooldown_ms);
            TimeMs(since.0.saturating_add(floor))
        });
        if item.traits.preemptable == Some(false) {
            note(cluster, &mut found.locked, task);
            found.vetoed = true;
        } else if let Some(ripe) = protected_until.filter(|&until| until > now) {
            note(cluster, &mut found.young, task);
            found.vetoed = true;
            found.ripe = Some(found.ripe.map_or(ripe, |first| first.min(ripe)));
        } else {
            found.open.push(Occupant { task, row: cluster.node(node).place.row });
        }
    }
    found
}
