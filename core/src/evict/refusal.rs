//! Why nobody makes way: which rule protects how many pods, and one of them by name.

use bevy_ecs::entity::Entity;

use crate::delta::PreemptionPolicy;
use crate::ids::TimeMs;
use crate::place::{PendingTasks, Session};
use crate::policy::{EvictPurpose, Evictor, Point};
use crate::world::Cluster;

use super::action::{EvictAction, Style};
use super::candidates::{Candidate, is_standing};
use super::fairness::{Entitlement, Fairness};
use super::shortage::Shortage;

/// A rule of the action itself that spares pods.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SparedBy {
    /// The action has nothing to do with their queue.
    Apart,
    /// Their job is as important.
    Equal,
    /// Their queue gives nothing back.
    LockedQueue,
    /// They are marked not preemptable.
    Locked,
    /// They have been running for too short a time.
    Young,
    /// Their job was evicted often enough.
    Worn,
    /// Others of their job are on their way to other nodes: until they are there the gang looks broken,
    /// and is not.
    Underway,
}

impl SparedBy {
    const ALL: [Self; 7] = [
        Self::Apart,
        Self::Equal,
        Self::LockedQueue,
        Self::Locked,
        Self::Young,
        Self::Worn,
        Self::Underway,
    ];

    fn words(self) -> &'static str {
        match self {
            Self::Apart => "of queues the action does not look at",
            Self::Equal => "of the same or higher priority",
            Self::LockedQueue => "of queues that are not reclaimable",
            Self::Locked => "not preemptable",
            Self::Young => "running for too short a time",
            Self::Worn => "of jobs evicted often enough",
            Self::Underway => "of jobs that are being moved",
        }
    }
}

/// Pods one rule spares.
#[derive(Clone, Copy, Debug, Default)]
struct Spared {
    pods: u32,
    /// One of them, or the job of one of them.
    example: Option<Entity>,
}

/// Pods that were looked at and spared, by rule.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refusals {
    by_rule: [Spared; SparedBy::ALL.len()],
    /// When the first of them may go.
    pub(super) until: Option<TimeMs>,
}

impl Refusals {
    /// The rule spares a number of pods, of which one is given: itself, or its job.
    pub(super) fn count(&mut self, rule: SparedBy, pods: u32, example: Option<Entity>) {
        let spared = &mut self.by_rule[rule as usize];
        spared.pods += pods;
        spared.example = spared.example.or(example.filter(|_| pods > 0));
    }

    /// Are there jobs that are spared only until their pods have been moved?
    pub(super) fn awaits_moves(&self) -> bool {
        self.by_rule[SparedBy::Underway as usize].pods > 0
    }

    /// Some of those spared may go at that time.
    pub(super) fn postpone(&mut self, time: Option<TimeMs>) {
        self.until = match (self.until, time) {
            (Some(first), Some(time)) => Some(first.min(time)),
            (until, time) => until.or(time),
        };
    }
}

/// Why a job may take nothing from any candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Denied {
    /// No plugin says what queues are due.
    Undivided,
    /// Its queue has its due, or would have more with it.
    AtItsDue,
    /// Its pods do not want it.
    Never,
}

/// Why the queue of the evictor may not take back from others what it needs, if it may not.
pub(super) fn denied(session: &Session<'_, '_>, shortage: &Shortage) -> Option<Denied> {
    if shortage.evictor.purpose != EvictPurpose::Reclaim {
        return None;
    }
    let job = session.cluster.job(shortage.evictor.job);
    if session.cluster.queue(job.spec.queue).deserved.0.is_none() {
        return Some(Denied::Undivided);
    }
    let entitled = session.policies.preemptive(&session.cluster, &job, &shortage.sum);
    (!entitled).then_some(Denied::AtItsDue)
}

/// Says why the job may not even ask.
pub(super) fn deny(
    session: &mut Session<'_, '_>,
    action: &EvictAction,
    job: Entity,
    denied: Denied,
) {
    let why = match denied {
        Denied::Undivided => {
            "no plugin says what queues are due; proportion and capacity do".to_owned()
        }
        Denied::AtItsDue => "its queue would have more than its due".to_owned(),
        Denied::Never => "its pods have preemptionPolicy Never".to_owned(),
    };
    report(session, action, job, &why);
}

/// How a search ended that found nobody, or not enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SearchEnd {
    /// There would be too little room if all candidates left; no plugin was asked. So many tasks would
    /// fit in the best place.
    Infeasible(usize),
    /// Those that may go by what plugins say are not enough.
    Failed,
    /// There is too little free room in all, wherever others are moved.
    Crowded,
    /// However others are moved, nobody found a place for everybody.
    Jammed,
}

/// Why the action found nobody, or not enough.
pub(super) fn explain(
    session: &Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    candidates: &[Candidate],
    refusals: Refusals,
    search: SearchEnd,
) -> String {
    match search {
        SearchEnd::Crowded => return "all nodes together have too little free room".to_owned(),
        SearchEnd::Jammed => return "found no moves after which everybody has a place".to_owned(),
        SearchEnd::Infeasible(_) | SearchEnd::Failed => {}
    }
    let mut spared: Vec<String> = SparedBy::ALL
        .into_iter()
        .map(|rule| (rule, refusals.by_rule[rule as usize]))
        .filter(|&(rule, spared)| spared.pods > 0 && rule != SparedBy::Apart)
        .map(|(rule, spared)| sentence(&session.cluster, spared, rule.words()))
        .collect();
    if search == SearchEnd::Failed {
        spared.extend(by_plugins(session, action, shortage, candidates));
    }
    match (spared.is_empty(), candidates.is_empty()) {
        (true, true) => "there is nobody to evict".to_owned(),
        (true, false) => "all others together would not make enough room".to_owned(),
        (false, true) => format!("spared {}", spared.join(", ")),
        (false, false) => {
            format!("spared {}; the rest would not make enough room", spared.join(", "))
        }
    }
}

/// That some of its pods take no room from others, where that may be what it fails on; else nothing.
pub(super) fn forbearing(session: &Session<'_, '_>, pending: &PendingTasks) -> String {
    let never =
        |&task: &Entity| session.cluster.task(task).priority.preempts == PreemptionPolicy::Never;
    match pending.open_tasks().filter(never).count() {
        0 => String::new(),
        1 => "; one of its pods has preemptionPolicy Never".to_owned(),
        many => format!("; {many} of its pods have preemptionPolicy Never"),
    }
}

/// Whom plugins spare among the candidates, and, where queues take back, whom the queues' shares do.
fn by_plugins(
    session: &Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    candidates: &[Candidate],
) -> Vec<String> {
    let mut tasks: Vec<Entity> = candidates
        .iter()
        .flat_map(|candidate| candidate.footprint.open.iter().map(|occupant| occupant.task))
        .collect();
    let (evictor, entitlement) = match action.style {
        Style::Gang | Style::Move => (shortage.evictor, Entitlement::Due),
        Style::Task => (Evictor { task: shortage.first, ..shortage.evictor }, Entitlement::Surplus),
    };
    session.policies.sort_victims(&session.cluster, &evictor, &mut tasks);
    let point = match (action.style, action.purpose) {
        (Style::Gang | Style::Move, _) => Point::UnifiedEvictable,
        (Style::Task, EvictPurpose::Preempt | EvictPurpose::Consolidate) => Point::Preemptable,
        (Style::Task, EvictPurpose::Reclaim) => Point::Reclaimable,
    };
    let (named, left) = session.policies.sparers(point, &session.cluster, &evictor, &tasks);
    let mut said: Vec<String> = named
        .iter()
        .map(|(plugin, stay)| {
            sentence(&session.cluster, some(&session.cluster, stay), &format!("by {plugin}"))
        })
        .collect();
    if action.purpose == EvictPurpose::Reclaim {
        let mut fairness = Fairness::new(session, &evictor, &shortage.sum, entitlement);
        tasks = left;
        tasks.retain(|&task| !fairness.take(task));
        let shares = "whose queue has no larger part of its due";
        let kept = some(&session.cluster, &tasks);
        said.extend((kept.pods > 0).then(|| sentence(&session.cluster, kept, shares)));
    }
    said
}

/// A number of pods, and the first of them by name.
fn some(cluster: &Cluster<'_, '_>, pods: &[Entity]) -> Spared {
    let example = pods.iter().copied().min_by_key(|&task| &cluster.task(task).identity.key);
    Spared { pods: pods.len() as u32, example }
}

/// "3 pods by pdb, such as default/web-0".
fn sentence(cluster: &Cluster<'_, '_>, spared: Spared, rule: &str) -> String {
    let Spared { pods, example } = spared;
    let name = example.and_then(|example| match cluster.jobs.get(example) {
        Err(_) => Some(cluster.task(example).identity.key.clone()),
        Ok(job) => {
            let standing = job.members.0.iter().map(|&task| cluster.task(task));
            standing.filter(is_standing).map(|task| task.identity.key.clone()).min()
        }
    });
    match (pods, name) {
        (1, Some(name)) => format!("{name} ({rule})"),
        (_, Some(name)) => format!("{pods} pods such as {name} ({rule})"),
        (_, None) => format!("{pods} pods ({rule})"),
    }
}

/// Notes what an evicting action found; at the end of the cycle it joins what the job waits for.
pub(super) fn report(session: &mut Session<'_, '_>, action: &EvictAction, job: Entity, why: &str) {
    session.refused.0.push((job, format!("{}: {why}", action.name)));
}
