//! Reclaiming moves the cluster towards what queues are due, never in circles.
//!
//! A task may be taken only while its queue is further over its due than the taker's queue will be when
//! it has what it asks for. Queues are compared where their paths part: what moves between two queues
//! below a common parent is no matter of that parent. `capacity` with a hierarchy may name another
//! place, a number of levels above each queue, zero for the queues themselves; then all are compared
//! there. Only resources the taker asks for are compared, and of those only what a due speaks of. No
//! queue that loses by it falls below its guarantee, whichever plugin decides about victims. KAI's
//! `proportion` has rules of its own to the same end, and none of this applies.
//!
//! Why no circle: every exchange lowers the larger of the two shares, so the shares of all queues that
//! are compared, sorted, only ever fall. That is why the place is the same for everybody: a queue that
//! gives by its own share could take back by its parent's.
//!
//! Where that finds nobody, a job that lacks its minimum may have what another gang can do without, if
//! its queues stay within their due with it ([`Entitlement::Surplus`]). Such an exchange takes no queue above
//! its due, so shares above it still only fall, and makes surplus part of a minimum. Surplus never asks
//! for room, so nobody takes that back; only a queue above its due loses part of a minimum.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::place::Session;
use crate::policy::{Evictor, Giving, upwards};
use crate::resource::{Dim, ResourceVec};
use crate::world::Cluster;

use super::surplus::{GangTask, SpareTasks};

/// What a taker may have of others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Entitlement {
    /// What queues have that are further over their due.
    Due,
    /// Besides, for a job that lacks its minimum and within its queues' due: what gangs can do without.
    Surplus,
}

/// A share no use exceeds.
const BOUNDLESS: i128 = i128::MAX;
/// Parts of a whole share.
const WHOLE: i128 = 1_000_000_000;

/// Queues while one of them takes tasks from others.
pub(super) struct Fairness<'a, 'w, 's> {
    cluster: &'a Cluster<'w, 's>,
    giving: Giving<'a, 'w, 's>,
    /// What the taker asks for.
    asks: &'a ResourceVec,
    /// Its queue and those above it.
    taker: Vec<Entity>,
    /// How far above them queues are compared at most; none if the plugin that divides sees to it alone.
    levels: Option<usize>,
    /// What the gangs that were looked at can still do without; none where the taker may not have that.
    spare: Option<BTreeMap<Entity, SpareTasks<'a>>>,
}

impl<'a, 'w, 's> Fairness<'a, 'w, 's> {
    pub(super) fn new(
        session: &'a Session<'w, 's>,
        evictor: &Evictor,
        asks: &'a ResourceVec,
        entitlement: Entitlement,
    ) -> Self {
        let (cluster, levels) = (&session.cluster, session.policies.levels_compared());
        let taker = upwards(cluster, evictor.queue(cluster)).collect();
        let lacks = || !session.policies.job_pipelined(&cluster.job(evictor.job));
        let spare = (entitlement == Entitlement::Surplus && lacks()).then(BTreeMap::new);
        Self { cluster, giving: Giving::new(cluster, evictor), asks, taker, levels, spare }
    }

    /// May the task go? If so it counts as gone for those after it.
    pub(super) fn take(&mut self, task: Entity) -> bool {
        let Self { cluster, giving, asks, taker, levels, spare } = self;
        let Some(levels) = levels else { return true };
        giving.take(task, |giving, lot| {
            let is_spare = spare.as_mut().is_some_and(|spare| is_spare(cluster, spare, task));
            let Some(parted) = compared(cluster, taker, lot.queue, *levels) else { return false };
            let (has, held) = (giving.left(parted.giver), &lot.request);
            let over = share_of_giver(cluster, asks, parted.giver, has, held)
                > share_of_taker(cluster, asks, parted.taker);
            let apart = &taker[..parted.at];
            over || is_spare && apart.iter().all(|&queue| stays_within_due(cluster, asks, queue))
        })
    }
}

/// Can its gang do without the task, and without those that were asked about before it?
fn is_spare<'a>(
    cluster: &'a Cluster<'_, '_>,
    spare: &mut BTreeMap<Entity, SpareTasks<'a>>,
    task: Entity,
) -> bool {
    let Some(job) = cluster.task(task).membership.job else { return false };
    let spare = spare.entry(job).or_insert_with(|| SpareTasks::of(&cluster.job(job)));
    spare.give(&GangTask::of(cluster, task))
}

/// Two queues that are compared.
struct Parted {
    giver: Entity,
    taker: Entity,
    /// How many of the taker's queues, from below, are not the giver's too.
    at: usize,
}

/// The queues that are compared for giver and taker: the ancestors this many levels above them, at most
/// those just below the first queue both are in. `None` if one contains the other.
fn compared(
    cluster: &Cluster<'_, '_>,
    taker: &[Entity],
    queue: Entity,
    levels: usize,
) -> Option<Parted> {
    let mut giver = queue;
    for (height, at) in upwards(cluster, queue).enumerate() {
        if let Some(at) = taker.iter().position(|&above| above == at) {
            let below = at.checked_sub(1).filter(|_| height > 0);
            return below.map(|below| Parted { giver, taker: taker[below.min(levels)], at });
        }
        if height <= levels {
            giver = at;
        }
    }
    None
}

/// The largest part of its due the queue would have of what is asked for.
fn share_of_taker(cluster: &Cluster<'_, '_>, asks: &ResourceVec, queue: Entity) -> i128 {
    let item = cluster.queue(queue);
    let Some(due) = item.lasting_due() else { return BOUNDLESS };
    let shares = asked(asks).filter_map(|(dim, ask)| {
        due.get(dim).map(|due| share(item.usage().taken(dim).saturating_add(ask), due))
    });
    shares.max().unwrap_or(0)
}

/// Has the queue, with what is asked for, no more than its due of any of it? What its due does not speak
/// of is borrowed.
fn stays_within_due(cluster: &Cluster<'_, '_>, asks: &ResourceVec, queue: Entity) -> bool {
    let item = cluster.queue(queue);
    let within = |(dim, ask): (Dim, i64)| {
        let due = item.lasting_due()?.get(dim)?;
        Some(item.usage().taken(dim).saturating_add(ask) <= due)
    };
    asked(asks).all(|asked| within(asked).unwrap_or(false))
}

/// The largest part of its due the queue has of what is asked for and the task holds; boundless if its
/// due does not speak of it, because then all of it is borrowed.
fn share_of_giver(
    cluster: &Cluster<'_, '_>,
    asks: &ResourceVec,
    queue: Entity,
    has: &ResourceVec,
    held: &ResourceVec,
) -> i128 {
    let Some(due) = cluster.queue(queue).lasting_due() else { return 0 };
    let shares = asked(asks)
        .filter(|&(dim, _)| held.get(dim) > 0)
        .filter_map(|(dim, _)| due.get(dim).map(|due| share(has.get(dim), due)));
    shares.max().unwrap_or(BOUNDLESS)
}

fn asked(shortage: &ResourceVec) -> impl Iterator<Item = (Dim, i64)> + '_ {
    shortage.iter().filter(|&(dim, ask)| ask > 0 && dim != Dim::PODS)
}

fn share(used: i64, due: i64) -> i128 {
    match (used.max(0), due.max(0)) {
        (0, _) => 0,
        (_, 0) => BOUNDLESS,
        (used, due) => i128::from(used) * WHOLE / i128::from(due),
    }
}
