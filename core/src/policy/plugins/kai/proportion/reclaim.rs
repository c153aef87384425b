//! Who takes back from whom.
//!
//! A job may take back if its queue stays within its fair share of everything with it; if it is not
//! preemptible, such jobs must stay within quotas as well, on every level. Queues are compared where their
//! paths part, below the first queue both are in. What a queue gives goes in parcels: pods beyond a gang's
//! minimum one by one, the rest of the gang at once. A set of victims is legal if
//!
//! 1. each queue that gives could give the parcels in some order: before each of them it has more than it
//!    may have of some resource; or more than its quota, where the taker stays within its own quota;
//! 2. a queue on the path of the taker that ends up beyond its fair share stays behind every sibling that
//!    lost something: its part of the share, times the multiplier, is smaller than the sibling's is then.
//!
//! Both are judged on the set as a whole, so the order in which victims were found does not matter. Where a
//! queue has more only of what nobody asks for, it gives nothing to a taker within its quota.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use super::limits::misplaced;
use super::order::fits;
use super::{Amounts, KaiProportion, ShareStanding, SharedResources};
use crate::policy::queues::{Fraction, MILLION};
use crate::policy::{
    Ballot, EvictPurpose, Evictor, PreemptivePlugin, UnifiedEvictablePlugin, upwards,
};
use crate::resource::ResourceVec;
use crate::status::QueueState;
use crate::world::TaskStatus::{Allocated, Binding, Bound, Running};
use crate::world::{Cluster, JobReadOnlyItem, TaskStatus};

impl PreemptivePlugin for KaiProportion {
    fn preemptive(
        &self,
        cluster: &Cluster<'_, '_>,
        job: &JobReadOnlyItem<'_, '_>,
        request: &ResourceVec,
    ) -> bool {
        let queue = cluster.queue(job.spec.queue);
        let Some(standing) = self.standing(&queue) else { return false };
        let asked = self.resources.amounts(request);
        queue.spec.state == QueueState::Open
            && misplaced(cluster, job.spec.queue).is_ok()
            && fits(&sum(&standing.has, &asked), &standing.share.map(Some))
            && (job.spec.is_preemptible() || self.within_quotas(cluster, job.spec.queue, &asked))
    }
}

impl UnifiedEvictablePlugin for KaiProportion {
    fn unified_evictable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        match evictor.purpose {
            EvictPurpose::Preempt | EvictPurpose::Consolidate => Ballot::Abstain,
            EvictPurpose::Reclaim => Exchange::new(self, cluster, evictor).choose(candidates),
        }
    }

    /// Who is moved is taken nothing from. Still only those make way whose queues have no less than others
    /// of what is asked for.
    fn may_move(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        if evictor.purpose != EvictPurpose::Reclaim {
            return Ballot::Abstain;
        }
        let exchange = Exchange::new(self, cluster, evictor);
        Ballot::filter(candidates, |task| {
            let job = cluster.task(task).membership.job;
            job.is_some_and(|job| exchange.may_be_asked(cluster.job(job).spec.queue))
        })
    }
}

impl KaiProportion {
    /// Does so much more work that makes way for nobody fit below the quotas of a queue and those above?
    fn within_quotas(&self, cluster: &Cluster<'_, '_>, queue: Entity, asked: &Amounts) -> bool {
        upwards(cluster, queue).all(|at| {
            let queue = cluster.queue(at);
            let firm = self.resources.amounts(&queue.usage().non_preemptible);
            self.standing(&queue).is_some_and(|standing| {
                (0..SharedResources::COUNT).all(|at| {
                    asked[at] <= 0
                        || standing.quota[at]
                            .is_none_or(|quota| firm[at].saturating_add(asked[at]) <= quota)
                })
            })
        })
    }
}

impl KaiProportion {
    /// Is what one queue has, of its fair share, so much less than what the other has of its own? It need
    /// not be as long as it is within its share, or the other has none.
    pub(super) fn is_behind(
        &self,
        (has, share): (i64, i64),
        (other_has, other_share): (i64, i64),
    ) -> bool {
        if has <= share || other_share <= 0 {
            return true;
        }
        if share <= 0 {
            return false;
        }
        let own = Fraction {
            over: i128::from(has) * i128::from(self.multiplier),
            under: i128::from(share) * i128::from(MILLION),
        };
        own < Fraction { over: i128::from(other_has.max(0)), under: i128::from(other_share) }
    }
}

/// Tasks that a queue gives at once.
struct Parcel {
    /// The queue of their job.
    queue: Entity,
    tasks: Vec<Entity>,
    amounts: Amounts,
}

/// A queue takes back what others have.
struct Exchange<'a, 'w, 's> {
    plugin: &'a KaiProportion,
    cluster: &'a Cluster<'w, 's>,
    /// The queue that takes and those above it.
    taker: Vec<Entity>,
    asked: Amounts,
}

/// What queues lose, those above the ones that give included.
type Losses = BTreeMap<Entity, Amounts>;

impl<'a, 'w, 's> Exchange<'a, 'w, 's> {
    fn new(plugin: &'a KaiProportion, cluster: &'a Cluster<'w, 's>, evictor: &Evictor) -> Self {
        let job = cluster.job(evictor.job);
        let asked = match evictor.task {
            Some(task) => plugin.resources.amounts(&cluster.task(task).request.amounts),
            None => plugin.next_request(cluster, &job),
        };
        let taker = upwards(cluster, job.spec.queue).collect();
        Self { plugin, cluster, taker, asked }
    }

    /// Candidates that may go together: all whose queues may give, if they may; else one parcel after the
    /// other, as long as what was chosen may go.
    fn choose(&self, candidates: &[Entity]) -> Ballot {
        let mut open: Vec<Parcel> = self.parcels(candidates);
        open.retain(|parcel| self.may_be_asked(parcel.queue));
        let mut chosen = Vec::new();
        if self.is_legal(&open) {
            chosen = open;
        } else {
            self.choose_in_turn(open, &mut chosen);
        }
        let mut go: Vec<Entity> = chosen.into_iter().flat_map(|parcel| parcel.tasks).collect();
        go.sort_unstable();
        Ballot::filter(candidates, |task| go.binary_search(&task).is_ok())
    }

    /// Chooses parcels as long as another one may go; one that may not is looked at again after others.
    fn choose_in_turn(&self, mut open: Vec<Parcel>, chosen: &mut Vec<Parcel>) {
        let mut losses = Losses::new();
        loop {
            let before = chosen.len();
            let mut refused = Vec::new();
            for parcel in open {
                let gives = self.gives(parcel.queue, &losses);
                self.lose(&mut losses, &parcel);
                if gives && self.stays_behind(&losses) {
                    chosen.push(parcel);
                } else {
                    self.give_back(&mut losses, &parcel);
                    refused.push(parcel);
                }
            }
            if refused.is_empty() || chosen.len() == before {
                return;
            }
            open = refused;
        }
    }

    /// May all of these go together?
    fn is_legal(&self, parcels: &[Parcel]) -> bool {
        let mut losses = Losses::new();
        for parcel in parcels {
            self.lose(&mut losses, parcel);
        }
        let mut can_be_last: BTreeMap<Entity, bool> = BTreeMap::new();
        for parcel in parcels {
            let Some((_, giver)) = self.compared(parcel.queue) else { return false };
            let can_be = can_be_last.entry(giver).or_default();
            if !*can_be {
                // The less it has left, the less it may give: who may go last is all that matters.
                self.give_back(&mut losses, parcel);
                *can_be = self.gives(parcel.queue, &losses);
                self.lose(&mut losses, parcel);
            }
        }
        can_be_last.values().all(|&can_be| can_be) && self.stays_behind(&losses)
    }

    /// Candidates by parcel, in the order in which they come.
    fn parcels(&self, candidates: &[Entity]) -> Vec<Parcel> {
        let mut parcels: Vec<Parcel> = Vec::new();
        // What of each gang, or part of one, may still go one by one, and the parcel of its rest.
        let mut gangs: BTreeMap<(Entity, Option<u16>), (usize, Option<usize>)> = BTreeMap::new();
        for &candidate in candidates {
            let task = self.cluster.task(candidate);
            let Some(job) = task.membership.job.map(|job| self.cluster.job(job)) else { continue };
            let part = task.membership.subgroup;
            let (spare, rest) =
                gangs.entry((job.entity, part)).or_insert_with(|| (spare(&job, part), None));
            let amounts = self.plugin.resources.amounts(&task.request.amounts);
            if *spare > 0 {
                *spare -= 1;
                parcels.push(Parcel { queue: job.spec.queue, tasks: vec![candidate], amounts });
                continue;
            }
            let at = *rest.get_or_insert_with(|| {
                let nothing = [0; SharedResources::COUNT];
                parcels.push(Parcel { queue: job.spec.queue, tasks: Vec::new(), amounts: nothing });
                parcels.len() - 1
            });
            parcels[at].tasks.push(candidate);
            parcels[at].amounts = sum(&parcels[at].amounts, &amounts);
        }
        parcels
    }

    /// Where the paths of the taker and of a queue part: the two queues there. None if one contains the
    /// other.
    fn compared(&self, queue: Entity) -> Option<(Entity, Entity)> {
        let mut giver = None;
        for at in upwards(self.cluster, queue) {
            if let Some(height) = self.taker.iter().position(|&above| above == at) {
                return Some((self.taker[height.checked_sub(1)?], giver?));
            }
            giver = Some(at);
        }
        None
    }

    fn standing(&self, queue: Entity) -> Option<ShareStanding> {
        self.plugin.standing(&self.cluster.queue(queue))
    }

    /// Does the taker stay within its quota, on the level where it is compared?
    fn is_owed(&self, taker: &ShareStanding) -> bool {
        fits(&sum(&taker.has, &self.asked), &taker.quota)
    }

    /// Can a queue give anything at all that helps?
    fn may_be_asked(&self, queue: Entity) -> bool {
        let Some((taker, giver)) = self.compared(queue) else { return false };
        let (Some(taker), Some(giver)) = (self.standing(taker), self.standing(giver)) else {
            return false;
        };
        if !self.is_owed(&taker) {
            return exceeds(&giver.has, &giver.due());
        }
        let asked = (0..SharedResources::COUNT).filter(|&at| self.asked[at] > 0);
        let sides = || asked.clone().filter_map(|at| Some(giver.has[at].cmp(&giver.quota[at]?)));
        sides().any(Ordering::is_gt) || !sides().any(Ordering::is_lt)
    }

    /// May a queue give one more parcel when so much is lost already?
    fn gives(&self, queue: Entity, losses: &Losses) -> bool {
        let Some((taker, giver)) = self.compared(queue) else { return false };
        let left = self.left(giver, losses);
        let (Some(taker), Some(giver)) = (self.standing(taker), self.standing(giver)) else {
            return false;
        };
        exceeds(&left, &giver.due()) || (self.is_owed(&taker) && exceeds(&left, &giver.quota))
    }

    /// Does every queue on the path of the taker that would be beyond its fair share stay behind those
    /// beside it that lose something?
    fn stays_behind(&self, losses: &Losses) -> bool {
        self.taker.windows(2).all(|level| {
            let [queue, parent] = *level else { return true };
            let Some(own) = self.standing(queue) else { return true };
            let with = sum(&self.left(queue, losses), &self.asked);
            let siblings = losses.iter().filter(|&(&at, _)| {
                at != queue && self.cluster.queue(at).spec.parent == Some(parent)
            });
            siblings.into_iter().all(|(&at, lost)| {
                let Some(sibling) = self.standing(at) else { return true };
                let left = self.left(at, losses);
                (0..SharedResources::COUNT).filter(|&at| self.asked[at] > 0 || lost[at] > 0).all(
                    |at| {
                        let own = (with[at], own.share[at]);
                        self.plugin.is_behind(own, (left[at], sibling.share[at]))
                    },
                )
            })
        })
    }

    /// What a queue has left.
    fn left(&self, queue: Entity, losses: &Losses) -> Amounts {
        let has = self.standing(queue).map(|standing| standing.has).unwrap_or_default();
        losses
            .get(&queue)
            .map_or(has, |lost| std::array::from_fn(|at| has[at].saturating_sub(lost[at])))
    }

    fn lose(&self, losses: &mut Losses, parcel: &Parcel) {
        for queue in upwards(self.cluster, parcel.queue) {
            let lost = losses.entry(queue).or_default();
            *lost = sum(lost, &parcel.amounts);
        }
    }

    fn give_back(&self, losses: &mut Losses, parcel: &Parcel) {
        let back = parcel.amounts.map(|amount| -amount);
        for queue in upwards(self.cluster, parcel.queue) {
            let lost = losses.entry(queue).or_default();
            *lost = sum(lost, &back);
            if *lost == Amounts::default() {
                losses.remove(&queue);
            }
        }
    }
}

/// How many tasks of a gang, or of a part of one, are beyond its minimum.
fn spare(job: &JobReadOnlyItem<'_, '_>, part: Option<u16>) -> usize {
    let active = |count: &dyn Fn(&[TaskStatus]) -> u32| {
        count(&[Allocated, Binding, Bound, Running]) as usize
    };
    match part.and_then(|part| job.counts().subgroups.get(usize::from(part))) {
        Some(group) => {
            let size = job.spec.subgroups[usize::from(group.policy)].size;
            active(&|statuses| group.count(statuses)).saturating_sub(size as usize)
        }
        None => active(&|statuses| job.counts().count(statuses))
            .saturating_sub(job.spec.min_available as usize),
    }
}

fn sum(one: &Amounts, other: &Amounts) -> Amounts {
    std::array::from_fn(|at| one[at].saturating_add(other[at]))
}

/// Is there more of something than its bound?
fn exceeds(amounts: &Amounts, bounds: &[Option<i64>; SharedResources::COUNT]) -> bool {
    !fits(amounts, bounds)
}
