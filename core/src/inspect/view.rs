//! What the outside may see: pods, jobs and queues as plain values, sorted by name.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{Query, Res, World};

use crate::world::{
    ClusterTotals, Job, JobReadOnlyItem, Names, Node, Queue, QueueReadOnlyItem, Reservations, Task,
    TaskReadOnlyItem, WHOLE_SHARE,
};

use crate::ids::{Name, ObjectKey};
use crate::report::{Census, JobView, PodView, QueueView, ReservationView};
use crate::reservation::time_left;
use crate::resource::{Dim, Quantity, ResourceNames, ResourceVec};
use crate::verdict::{Reason, Verdict};
use crate::world::{Assumption, TaskStatus};

/// Every pod, sorted by key.
pub(crate) fn pods(world: &mut World) -> Vec<PodView> {
    world.run_system_cached(view_pods).unwrap_or_default()
}

fn view_pods(
    tasks: Query<'_, '_, Task>,
    nodes: Query<'_, '_, Node>,
    jobs: Query<'_, '_, Job>,
) -> Vec<PodView> {
    let name = |node: Entity| nodes.get(node).ok().map(|node| node.identity.name.clone());
    let leaving = leaving(&tasks);
    let mut pods: Vec<PodView> = tasks
        .iter()
        .filter(|task| !task.identity.uid.is_empty() || task.is_vacancy())
        .map(|task| {
            let (status, node) = task.status();
            let held = status == TaskStatus::Pipelined;
            let seen_on = task.observed.node.and_then(name);
            let node = node.and_then(name);
            let job = task.membership.job.and_then(|job| jobs.get(job).ok());
            let verdict = job.as_ref().and_then(|job| job.verdict.0.as_ref());
            let wait = job.as_ref().and_then(|_| Wait::of(&task, verdict));
            let promised = held || task.heir_home().is_some();
            let reservation = task.cold.nomination.0.filter(|_| promised).and_then(|record| {
                Some(ReservationView {
                    node: name(record.node)?,
                    since: record.since,
                    until: record.until,
                    evicted: record.evicted,
                    waits_for: leaving.get(&record.node).cloned().unwrap_or_default(),
                })
            });
            let message = match (wait, &reservation) {
                (Some(Wait::ForRoom), Some(held)) => Some(waiting_for(held)),
                (wait, _) => wait.map(|wait| wait.message(verdict, node.as_ref())),
            };
            PodView {
                key: task.identity.key.clone(),
                status: status.as_str(),
                reason: wait.map(|wait| wait.code(verdict)),
                unscheduled: wait.and_then(Wait::condition),
                message,
                nominated: node.clone().filter(|_| held),
                node: node.filter(|_| !held).or(seen_on),
                devices: task.cold.devices.clone(),
                job: job.map(|job| job.identity.key.object().clone()),
                reservation,
            }
        })
        .collect();
    pods.sort_by(|a, b| a.key.cmp(&b.key));
    pods
}

/// Pods that are leaving each node on which room is held, sorted by key.
fn leaving(tasks: &Query<'_, '_, Task>) -> BTreeMap<Entity, Vec<ObjectKey>> {
    let held = tasks.iter().filter_map(|task| task.cold.nomination.0.map(|record| record.node));
    let mut leaving: BTreeMap<Entity, Vec<ObjectKey>> =
        held.map(|node| (node, Vec::new())).collect();
    if leaving.is_empty() {
        return leaving;
    }
    for task in tasks {
        if let (TaskStatus::Releasing, Some(node)) = task.status()
            && let Some(pods) = leaving.get_mut(&node)
        {
            pods.push(task.identity.key.clone());
        }
    }
    for pods in leaving.values_mut() {
        pods.sort();
    }
    leaving
}

/// What a pod with room held for it waits for.
fn waiting_for(held: &ReservationView) -> String {
    match held.waits_for.len() {
        0 => format!("room is held for it on {}, waiting for its gang", held.node),
        1 => format!("waiting for 1 pod on {} to terminate", held.node),
        pods => format!("waiting for {pods} pods on {} to terminate", held.node),
    }
}

/// How a pod waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Wait {
    /// A gate of its own holds it.
    Gated,
    /// It would have a place but for the rest of its gang.
    ForGang,
    /// Whatever keeps its job keeps it.
    Stuck,
    /// Room that is being freed is held for it.
    ForRoom,
}

impl Wait {
    /// How the pod of a job with that verdict waits; `None` if it does not, or nobody has looked at it.
    pub(crate) fn of(task: &TaskReadOnlyItem<'_, '_>, verdict: Option<&Verdict>) -> Option<Self> {
        match task.status().0 {
            TaskStatus::Pending if task.traits.gated => Some(Self::Gated),
            TaskStatus::Pending if verdict.is_none() => None,
            TaskStatus::Pending if task.cold.last.0.is_some_and(is_place) => Some(Self::ForGang),
            TaskStatus::Pending => Some(Self::Stuck),
            TaskStatus::Pipelined => Some(Self::ForRoom),
            _ => None,
        }
    }

    /// Reason of the condition `PodScheduled=False`; `None` where it is not ours to write.
    pub(crate) fn condition(self) -> Option<&'static str> {
        match self {
            Self::Gated => None,
            Self::ForGang => Some("Schedulable"),
            Self::Stuck | Self::ForRoom => Some("Unschedulable"),
        }
    }

    /// The stable code.
    pub(crate) fn code(self, verdict: Option<&Verdict>) -> Reason {
        match (self, verdict) {
            (Self::Gated, _) => Reason::Gated,
            (Self::ForGang | Self::Stuck, Some(verdict)) => verdict.reason,
            _ => Reason::WaitingForVictims,
        }
    }

    /// The same as a sentence.
    pub(crate) fn message(self, verdict: Option<&Verdict>, node: Option<&Name>) -> String {
        let why = verdict.map_or("", |verdict| &verdict.message);
        match self {
            Self::Gated => "a scheduling gate of its own holds it".to_owned(),
            Self::ForGang => format!("would fit, but waits for its gang: {why}"),
            Self::Stuck => why.to_owned(),
            Self::ForRoom => {
                let node = node.map_or("a node", |name| name);
                format!("room is held for it on {node}, which is being freed")
            }
        }
    }
}

fn is_place(assumption: Assumption) -> bool {
    matches!(assumption, Assumption::Allocated(_))
}

/// How many pods wait for which reason, and for how many room is held.
pub(crate) fn census(world: &mut World) -> Census {
    world.run_system_cached(count_waits).unwrap_or_default()
}

fn count_waits(jobs: Query<'_, '_, Job>) -> Census {
    let mut census = Census::default();
    for job in &jobs {
        census.reserved += job.counts().pipelined();
        let waiting = job.counts().pending();
        if waiting > 0 {
            let reason = job.verdict.0.as_ref().map(|verdict| verdict.reason);
            *census.waiting.entry(reason).or_default() += waiting;
        }
    }
    census
}

/// Every job, sorted by key.
pub(crate) fn jobs(world: &mut World) -> Vec<JobView> {
    world.run_system_cached(view_jobs).unwrap_or_default()
}

fn view_jobs(
    jobs: Query<'_, '_, Job>,
    tasks: Query<'_, '_, Task>,
    queues: Query<'_, '_, Queue>,
    reservations: Res<'_, Reservations>,
) -> Vec<JobView> {
    let message = |job: &JobReadOnlyItem<'_, '_>| {
        let verdict = job.verdict.0.as_ref()?;
        let waits = verdict.reason == Reason::WaitingForVictims && job.counts().pipelined() > 0;
        let members = job.members.0.iter().filter(|_| waits);
        let records = members.filter_map(|&task| tasks.get(task).ok()?.cold.nomination.0);
        let first = records.map(|record| record.until).min();
        let left = first.map(|until| time_left(until, reservations.now));
        Some(format!("{}{}", verdict.message, left.unwrap_or_default()))
    };
    let mut views: Vec<JobView> = jobs
        .iter()
        .map(|job| JobView {
            key: job.identity.key.object().clone(),
            queue: queues
                .get(job.spec.queue)
                .map(|queue| queue.identity.name.clone())
                .unwrap_or_default(),
            phase: job.spec.phase,
            min_available: job.spec.min_available,
            ready: job.counts().ready(),
            pipelined: job.counts().pipelined(),
            pending: job.counts().pending(),
            reason: job.verdict.0.as_ref().map(|verdict| verdict.reason),
            message: message(&job),
            conditions: job
                .identity
                .announced
                .as_ref()
                .map(|told| told.1.conditions.clone())
                .unwrap_or_default(),
        })
        .collect();
    views.sort_by(|a, b| a.key.cmp(&b.key));
    views
}

/// Every queue that exists, sorted by name.
pub(crate) fn queues(world: &mut World) -> Vec<QueueView> {
    world.run_system_cached(view_queues).unwrap_or_default()
}

fn view_queues(
    queues: Query<'_, '_, Queue>,
    names: Res<'_, Names>,
    capacity: Res<'_, ClusterTotals>,
) -> Vec<QueueView> {
    let mut views: Vec<QueueView> = queues
        .iter()
        .filter(|queue| queue.identity.present)
        .map(|queue| view_queue(&queue, &names.0, capacity.offered()))
        .collect();
    views.sort_by(|a, b| a.name.cmp(&b.name));
    views
}

/// One queue.
pub(crate) fn view_queue(
    queue: &QueueReadOnlyItem<'_, '_>,
    names: &ResourceNames,
    capacity: &ResourceVec,
) -> QueueView {
    let given = |list: &Option<Vec<(Name, Quantity)>>| list.clone().unwrap_or_default();
    let deserved = match &queue.deserved.0 {
        Some(deserved) => list(deserved.values(), names),
        None => given(&queue.spec.deserved),
    };
    QueueView {
        name: queue.identity.name.clone(),
        state: queue.spec.state,
        allocated: list(&queue.usage().allocated, names),
        share_ppm: share_ppm(queue, capacity),
        borrowed: list(&queue.deserved.borrowed(&queue.usage().allocated), names),
        warnings: queue.spec.fault.iter().chain(&queue.terms.warnings).cloned().collect(),
        deserved,
        capability: given(&queue.spec.capability),
        guarantee: given(&queue.spec.guarantee),
        past: queue.past.0,
    }
}

fn list(vector: &ResourceVec, names: &ResourceNames) -> Vec<(Name, Quantity)> {
    let entries = vector
        .iter()
        .map(|(dim, units)| (names.name(dim).clone(), ResourceNames::quantity(dim, units)));
    let mut list: Vec<_> = entries.collect();
    list.sort_by(|a, b| a.0.cmp(&b.0));
    list
}

/// The largest part of its due, in parts per million; of the cluster where no plugin says what is due.
fn share_ppm(queue: &QueueReadOnlyItem<'_, '_>, capacity: &ResourceVec) -> u64 {
    let used = &queue.usage().allocated;
    if used.iter().all(|(_, amount)| amount <= 0) {
        return 0;
    }
    if let Some(share) = queue.deserved.share(|dim| used.get(dim)) {
        return u64::try_from(share / (WHOLE_SHARE / 1_000_000)).unwrap_or(0);
    }
    let parts =
        used.iter().filter(|&(dim, amount)| amount > 0 && dim != Dim::PODS).map(|(dim, amount)| {
            let whole = i128::from(capacity.get(dim));
            if whole <= 0 { 1_000_000 } else { i128::from(amount) * 1_000_000 / whole }
        });
    parts.max().and_then(|share| u64::try_from(share).ok()).unwrap_or(0)
}
