//! Which domains are worth a trial, and in which order.
//!
//! A trial places the whole gang and takes it back; with a thousand racks that is a thousand gangs.
//! So every domain is first held against bounds that cost next to nothing: the sums of its nodes
//! against the least the gang needs, then the number of pods its nodes could take. A domain that
//! fails a bound cannot hold the gang, whatever the order of placing. The rest is tried from the best
//! on, and the first one where the gang can start is the best there is: how good a domain is does not
//! depend on the plan.

use std::cmp::Reverse;

use bevy_ecs::entity::Entity;

use super::Session;
use super::pending::first_tasks;
use super::reach::Rows;
use crate::class::Class;
use crate::kernel::slots::{Slots, count, slots};
use crate::policy::{Unit, UnitAsks};
use crate::resource::{Dim, Lanes};
use crate::world::{ClassId, DeviceSlots, JobReadOnlyItem, NodeColumns, READY, TaskStatus};

/// Tasks of one class that wait for a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Want {
    pub(super) class: ClassId,
    /// All of them.
    pub(super) tasks: u32,
    /// Those without which the placement fails.
    pub(super) least: u32,
}

/// What a job or sub-group still has to place.
#[derive(Clone, Debug, Default)]
pub(super) struct DomainNeed {
    /// By class, in the order they are to be placed.
    pub(super) wants: Vec<Want>,
    /// What they ask for together.
    pub(super) asks: UnitAsks,
    /// What the least of them ask for, in the hot lanes.
    least: Lanes,
    /// Tasks that must find a place, of whatever class.
    fewest: u32,
}

impl DomainNeed {
    /// What these tasks of a job, or of one of its sub-groups, come to.
    pub(super) fn of(
        session: &Session<'_, '_>,
        job: Entity,
        subgroup: Option<u16>,
        tasks: impl IntoIterator<Item = Entity>,
    ) -> Self {
        let (mut need, mut waiting) = (Self::default(), Vec::new());
        for task in tasks {
            let task = session.cluster.task(task);
            // Room held for a task is its own: it is no need for more. Who is evicted lacks what it had.
            if !matches!(task.status().0, TaskStatus::Pending | TaskStatus::Releasing) {
                continue;
            }
            let class = task.membership.class;
            need.asks.all.add(&session.classes.get(class).request);
            waiting.push(task.entity);
            match need.wants.iter_mut().find(|want| want.class == class) {
                Some(want) => want.tasks += 1,
                None => need.wants.push(Want { class, tasks: 1, least: 0 }),
            }
        }
        need.set_least(session, fewest(session, job, subgroup));
        for task in first_tasks(session, job, waiting.into_iter(), need.fewest.max(1) as usize) {
            let class = session.cluster.task(task).membership.class;
            need.asks.first.add(&session.classes.get(class).request);
        }
        need
    }

    /// Tasks that must find a place, or the attempt fails; none where that is not certain.
    pub(super) fn fewest(&self) -> u32 {
        self.fewest
    }

    /// What is missing of the least, where there is no more room than this.
    pub(super) fn short_of(&self, room: &Lanes) -> impl Iterator<Item = (Dim, i64)> {
        let lanes = self.least.0.into_iter().zip(room.0).enumerate();
        let short = lanes.filter(|&(_, (least, room))| least > room.max(0));
        short.map(|(lane, (least, room))| (Dim(lane as u32), least - room.max(0)))
    }

    /// Of each class at least what the others cannot make up for.
    fn set_least(&mut self, session: &Session<'_, '_>, fewest: u32) {
        let all: u32 = self.wants.iter().map(|want| want.tasks).sum();
        self.fewest = fewest.min(all);
        for want in &mut self.wants {
            want.least = fewest.saturating_sub(all - want.tasks).min(want.tasks);
            let request = &session.classes.get(want.class).room().hot;
            let least = request.0.map(|ask| ask.max(0).saturating_mul(i64::from(want.least)));
            for (sum, least) in self.least.0.iter_mut().zip(least) {
                *sum = sum.saturating_add(least);
            }
        }
    }
}

/// Tasks that must find a place, or the attempt fails. Where room is held already it may be given up
/// on the way and serve another task, so nothing is certain.
fn fewest(session: &Session<'_, '_>, job: Entity, subgroup: Option<u16>) -> u32 {
    let item = session.cluster.job(job);
    if item.counts().pipelined() > 0 {
        return 0;
    }
    let covered = subgroup.is_none() && session.policies.job_pipelined(&item);
    if covered { 1 } else { lacks(session, &item, subgroup).max(1) }
}

/// How many more places a job or one of its sub-groups needs, at least, before it has enough.
pub(super) fn lacks(
    session: &Session<'_, '_>,
    job: &JobReadOnlyItem<'_, '_>,
    subgroup: Option<u16>,
) -> u32 {
    let Some(at) = subgroup else { return session.policies.job_lacks(job) };
    if let Some(progress) = job.progress(&READY) {
        return progress.of(subgroup).lacks;
    }
    let group = &job.counts().subgroups[usize::from(at)];
    let size = job.spec.subgroups[usize::from(group.policy)].size;
    size.saturating_sub(group.count(&READY))
}

/// A domain worth a trial.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct DomainTrial {
    /// None is the whole cluster.
    pub(super) domain: Option<Entity>,
    /// May the gang start there at once? If not, the best that can come of it is to wait.
    pub(super) at_once: bool,
}

/// Domains of a group that may hold the need, within the rows given, the best first.
pub(super) fn rank_domains(
    session: &mut Session<'_, '_>,
    (job, subgroup): (Entity, Option<u16>),
    need: &DomainNeed,
    group: &[Option<Entity>],
    outer: Rows<'_>,
) -> Vec<DomainTrial> {
    if let &[domain] = group {
        // Nothing to choose: the trial itself says best what is lacking.
        return vec![DomainTrial { domain, at_once: true }];
    }
    bring_up_to_date(session, need);
    let item = session.cluster.job(job);
    let unit = Unit { job: &item, subgroup };
    let mut rated: Vec<(i64, DomainTrial)> = Vec::new();
    for &entry in group {
        let Some(domain) = entry else {
            rated.push((0, DomainTrial { domain: None, at_once: true }));
            continue;
        };
        let columns = session.cluster.domain(domain);
        if !need.least.fits(&columns.totals().room_at_most()) {
            continue;
        }
        let Some(at_once) = holds(session, need, &columns.spot.rows, outer) else { continue };
        let score = session.policies.domain_score(&session.cluster, unit, &need.asks, domain);
        rated.push((score, DomainTrial { domain: entry, at_once }));
    }
    rated.sort_by_key(|(score, trial)| Reverse((trial.at_once, *score)));
    rated.into_iter().map(|(_, trial)| trial).collect()
}

/// Looks at what changed since the rankings of the wanted classes were last asked for.
pub(super) fn bring_up_to_date(session: &mut Session<'_, '_>, need: &DomainNeed) {
    for want in &need.wants {
        session.ranking(want.class);
    }
}

/// Could the rows take the least of every class, and could they at once? None is no.
fn holds(
    session: &Session<'_, '_>,
    need: &DomainNeed,
    rows: &[u32],
    outer: Rows<'_>,
) -> Option<bool> {
    let mut rows_left = rows.iter().filter(|row| is_inside(outer, **row)).peekable();
    rows_left.peek()?;
    let mut at_once = true;
    for want in need.wants.iter().filter(|want| want.least > 0) {
        let room = room_for(session, want.class, rows, outer, want.least);
        if room.later < want.least {
            return None;
        }
        at_once &= room.now >= want.least;
    }
    Some(at_once)
}

pub(super) fn is_inside(outer: Rows<'_>, row: u32) -> bool {
    outer.is_none_or(|outer| outer.binary_search(&row).is_ok())
}

/// How many tasks of a class the rows could take, each for itself; counts no further than `enough`.
///
/// To be asked after [`bring_up_to_date`]. It never says too few: where a rule looks at other pods or
/// volumes, the next task placed may open a node that is closed now, and only room counts.
pub(super) fn room_for(
    session: &Session<'_, '_>,
    class: ClassId,
    rows: &[u32],
    outer: Rows<'_>,
    enough: u32,
) -> Slots {
    let facts = session.classes.get(class);
    let fixed = facts.interpod.rules.is_empty() && facts.volumes.is_none();
    let ranking = session.rankings.latest(class).filter(|_| fixed);
    let nodes = session.cluster.columns();
    let mut sum = Slots::default();
    for &row in rows {
        if !is_inside(outer, row) || ranking.is_some_and(|ranking| !ranking.is_open(row)) {
            continue;
        }
        sum.add(row_slots(facts, &nodes, row as usize));
        if sum.now >= enough {
            break;
        }
    }
    sum
}

fn row_slots(class: &Class, nodes: &NodeColumns<'_>, row: usize) -> Slots {
    let request = class.room();
    let (idle, releasing, pipelined) =
        (&nodes.idle[row], &nodes.releasing[row], &nodes.pipelined[row]);
    let mut all = slots(&request.hot, idle, releasing, pipelined);
    let tails = &nodes.tails[row];
    for (dim, ask) in request.tail.iter().filter(|entry| entry.1 > 0) {
        let idle = tails.idle.get(dim);
        let later = count(idle + tails.releasing.get(dim) - tails.pipelined.get(dim), ask);
        all = all.min(Slots { now: later.min(count(idle, ask)), later });
    }
    if let Some(share) = class.share() {
        let free = nodes.free_devices(row, share.dim);
        let DeviceSlots { now, later } = nodes.devices[row].slots(share, free);
        let [now, later] = [now, later].map(|slots| u32::try_from(slots).unwrap_or(u32::MAX));
        all = all.min(Slots { now, later });
    }
    all
}
