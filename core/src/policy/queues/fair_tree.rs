//! Fair shares down the tree of queues, kept up to date from change to change.
//!
//! The queues below one parent divide what the parent has; those below the root what the cluster has. What
//! a queue wants concerns its own level and those above it, and a level below only if the share of its
//! parent becomes another one: so a change costs the levels it reaches, one resource at a time.

use std::collections::BTreeSet;

use super::fair_share::{Contender, MILLION, Pot, fair_shares};
use super::shared::{Amounts, SharedResources};
use super::{Claims, QueueClaim, Wants};
use crate::delta::OverQuotaWeights;
use crate::ids::{Name, TimeMs};
use crate::policy::{KeptDivision, QueueNews};
use crate::resource::Limits;
use crate::resource::ResourceVec;
use crate::world::{QueueUse, QuotaTerms};

/// Queues with what they are given, want and share.
#[derive(Clone, Debug)]
pub(crate) struct FairTree {
    resources: SharedResources,
    /// How much usage of late counts, in millionths.
    usage_weight: u64,
    seats: Vec<Seat>,
    total: Amounts,
    /// Levels to be divided again, by depth: below which queue, and which resource. The level above the
    /// root is that of no queue.
    stale: BTreeSet<(usize, Option<usize>, usize)>,
    /// Levels divided since the tree was made.
    divided: usize,
}

/// A queue in the tree.
#[derive(Clone, Debug)]
struct Seat {
    parent: Option<usize>,
    children: Vec<usize>,
    depth: usize,
    priority: i32,
    created: TimeMs,
    uid: Name,
    quota: [Option<i64>; SharedResources::COUNT],
    limit: [Option<i64>; SharedResources::COUNT],
    weights: [u64; SharedResources::COUNT],
    /// Millionths of the cluster it used of late.
    usage: [u64; SharedResources::COUNT],
    request: Amounts,
    /// What of its requests counts.
    wants: Wants,
    share: Amounts,
}

impl FairTree {
    /// The tree of these claims, divided.
    pub(crate) fn new(resources: SharedResources, usage_weight: u64, claims: &Claims<'_>) -> Self {
        let seats = claims.queues.iter().map(|claim| Seat::of(resources, claim)).collect();
        let total = total_of(resources, claims.total, claims.others);
        let mut tree =
            Self { resources, usage_weight, seats, total, stale: BTreeSet::new(), divided: 0 };
        for at in claims.top_down() {
            if let Some(parent) = claims.queues[at].parent {
                tree.seats[parent].children.push(at);
                tree.seats[at].depth = tree.seats[parent].depth + 1;
            }
            for resource in 0..SharedResources::COUNT {
                tree.renew_level_of(at, resource);
            }
        }
        tree.settle();
        tree
    }

    /// The fair share of a queue.
    pub(crate) fn share(&self, at: usize) -> Limits {
        let mut share = Limits::default();
        for (dim, amount) in self.resources.dims().into_iter().zip(self.seats[at].share) {
            share.set(dim, amount);
        }
        share
    }

    /// Has the queue children?
    pub(crate) fn is_parent(&self, at: usize) -> bool {
        !self.seats[at].children.is_empty()
    }

    /// The level a queue is divided in has to be divided again.
    fn renew_level_of(&mut self, at: usize, resource: usize) {
        let seat = &self.seats[at];
        self.stale.insert((seat.depth, seat.parent, resource));
    }

    /// Divides whatever has to be divided again, from the top down; returns the queues that have another
    /// share now.
    fn settle(&mut self) -> BTreeSet<usize> {
        let mut changed = BTreeSet::new();
        while let Some((_, parent, resource)) = self.stale.pop_first() {
            self.divided += 1;
            let found = match parent {
                Some(parent) => self.divide(parent, resource),
                None => self.at_the_top(resource),
            };
            for (at, share) in found {
                if std::mem::replace(&mut self.seats[at].share[resource], share) == share {
                    continue;
                }
                changed.insert(at);
                if let Some(&child) = self.seats[at].children.first() {
                    self.renew_level_of(child, resource);
                }
            }
        }
        changed
    }

    /// Queues without a parent have what there is, within their own limit.
    fn at_the_top(&self, resource: usize) -> Vec<(usize, i64)> {
        let tops = self.seats.iter().enumerate().filter(|(_, seat)| seat.parent.is_none());
        let total = self.total[resource];
        tops.map(|(at, seat)| (at, seat.limit[resource].map_or(total, |limit| limit.min(total))))
            .collect()
    }

    /// The shares of the children of a queue.
    fn divide(&self, parent: usize, resource: usize) -> Vec<(usize, i64)> {
        let seats = || self.seats[parent].children.iter().map(|&at| (at, &self.seats[at]));
        let contenders: Vec<Contender<'_>> = seats()
            .map(|(_, seat)| Contender {
                quota: seat.quota[resource],
                limit: seat.limit[resource],
                weight: seat.weights[resource],
                usage: seat.usage[resource],
                priority: seat.priority,
                request: seat.request[resource],
                age: (seat.created, &seat.uid),
            })
            .collect();
        let pot = Pot {
            total: self.seats[parent].share[resource],
            unit: SharedResources::UNITS[resource],
            usage_weight: self.usage_weight,
        };
        seats().map(|(at, _)| at).zip(fair_shares(pot, &contenders)).collect()
    }
}

impl KeptDivision for FairTree {
    fn update(
        &mut self,
        total: &ResourceVec,
        others: &ResourceVec,
        changed: &[QueueNews<'_>],
    ) -> Vec<(usize, Limits)> {
        let total = total_of(self.resources, total, others);
        let before = std::mem::replace(&mut self.total, total);
        for resource in (0..SharedResources::COUNT).filter(|&at| before[at] != total[at]) {
            self.stale.insert((0, None, resource));
        }
        for &QueueNews { queue: at, usage, past } in changed {
            let seat = &mut self.seats[at];
            let request = request(self.resources, usage, seat.wants);
            let asked = std::mem::replace(&mut seat.request, request);
            let used = std::mem::replace(&mut seat.usage, past);
            for resource in 0..SharedResources::COUNT {
                if (asked[resource], used[resource]) != (request[resource], past[resource]) {
                    self.renew_level_of(at, resource);
                }
            }
        }
        self.settle().into_iter().map(|at| (at, self.share(at))).collect()
    }
}

/// What of each shared resource there is: what pods of others take is not to be had.
fn total_of(resources: SharedResources, all: &ResourceVec, others: &ResourceVec) -> Amounts {
    let (all, others) = (resources.amounts(all), resources.amounts(others));
    std::array::from_fn(|at| all[at].saturating_sub(others[at]).max(0))
}

impl Seat {
    fn of(resources: SharedResources, claim: &QueueClaim<'_>) -> Self {
        let terms = quota_terms(resources, claim);
        Self {
            parent: claim.parent,
            children: Vec::new(),
            depth: 0,
            priority: claim.priority,
            created: claim.created,
            uid: claim.uid.clone(),
            quota: resources.named(&terms.quota),
            limit: resources.named(&terms.limit),
            weights: weights(claim),
            usage: claim.past,
            request: request(resources, claim.usage, claim.wants),
            wants: claim.wants,
            share: [0; SharedResources::COUNT],
        }
    }
}

/// What a queue and those below it have and could be served with.
fn request(resources: SharedResources, usage: &QueueUse, wants: Wants) -> Amounts {
    let amounts = resources.amounts(&wants.of(usage));
    match wants {
        Wants::WhatItHas => amounts,
        Wants::Everything => {
            let gated = resources.amounts(&usage.gated);
            std::array::from_fn(|at| amounts[at].saturating_sub(gated[at]))
        }
    }
}

/// A queue of Volcano's has one weight for all resources; one that does not exist has no claim.
fn weights(claim: &QueueClaim<'_>) -> [u64; SharedResources::COUNT] {
    match (claim.over_quota, claim.wants) {
        (Some(OverQuotaWeights { cpu, memory, gpu }), _) => [cpu, memory, gpu],
        (None, Wants::Everything) => {
            [u64::from(claim.weight).saturating_mul(MILLION); SharedResources::COUNT]
        }
        (None, Wants::WhatItHas) => [0; SharedResources::COUNT],
    }
}

/// Quota and limit of a queue by name. Where a queue of KAI's names no quota it has no end; one of Volcano's
/// has none then, and shares what others leave.
pub(crate) fn quota_terms(resources: SharedResources, claim: &QueueClaim<'_>) -> QuotaTerms {
    let mut quota = claim.deserved.clone().unwrap_or_default();
    if claim.over_quota.is_none() && claim.parent.is_some() {
        let named = resources.named(&quota);
        for (dim, named) in resources.dims().into_iter().zip(named) {
            if named.is_none() {
                quota.set(dim, 0);
            }
        }
    }
    QuotaTerms { quota, limit: claim.capability.clone() }
}

#[cfg(test)]
mod tests;
