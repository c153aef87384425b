//! Arithmetic of queues: what each may use at most, what it is due, and what a request would exceed.
//!
//! The plugins `proportion` and `capacity`, and KAI's `proportion`, are thin over these functions. Everything is integer and
//! depends on names and amounts alone, never on the order queues became known in.

mod ceiling;
mod divide;
mod fair_share;
mod shared;
mod fair_tree;
mod giving;
mod kept;
mod limit;
mod room;
mod surplus;

pub(super) use ceiling::{ceilings, dues};
pub(super) use divide::{Claim, divide};
pub(super) use fair_share::{Fraction, MILLION};
pub(super) use fair_tree::{FairTree, quota_terms};
pub(crate) use giving::{Giving, upwards};
pub(super) use limit::{admissible, first_by_name, fits};
pub(super) use room::reclaimable;
pub(super) use shared::Amounts;
pub(crate) use shared::SharedResources;
pub(super) use surplus::{exceeds_due, is_borrowed, is_due_any};

use crate::delta::{OverQuotaWeights, UsedParts};
use crate::ids::{Name, TimeMs};
use crate::resource::{Limits, ResourceNames, ResourceVec};
use crate::world::{QueueTerms, QueueUse};

/// A queue as it enters the division.
#[derive(Clone, Debug)]
pub struct QueueClaim<'a> {
    /// Its name.
    pub name: &'a Name,
    /// Index of its parent; `None` for the root.
    pub parent: Option<usize>,
    /// Weight against all other queues.
    pub weight: u32,
    /// Hard limit by name.
    pub capability: Limits,
    /// Its due by name; `None` where the object names nothing at all.
    pub deserved: Option<Limits>,
    /// Room kept for it.
    pub guarantee: ResourceVec,
    /// Higher is served first.
    pub priority: i32,
    /// When it was created.
    pub created: TimeMs,
    /// Uid of its object.
    pub uid: &'a Name,
    /// Its weights for what is beyond quotas; none unless it is one of KAI's queues.
    pub over_quota: Option<OverQuotaWeights>,
    /// What it and its children have and want.
    pub usage: &'a QueueUse,
    /// What of it counts.
    pub wants: Wants,
    /// What they used of late.
    pub past: UsedParts,
}

/// What of a queue's requests counts in a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wants {
    /// All of them.
    Everything,
    /// What it has: a queue that does not exist gets nothing new.
    WhatItHas,
}

impl QueueClaim<'_> {
    /// What the queue and its children would use if they could.
    pub(super) fn demand(&self) -> ResourceVec {
        self.wants.of(self.usage)
    }
}

impl Wants {
    /// What of a queue's totals it is.
    fn of(self, usage: &QueueUse) -> ResourceVec {
        match self {
            Self::Everything => usage.requested.clone(),
            Self::WhatItHas => {
                let mut has = usage.allocated.clone();
                has.add(&usage.reserved);
                has
            }
        }
    }
}

/// All queues, sorted by name, and what there is to divide.
#[derive(Clone, Debug)]
pub struct Claims<'a> {
    /// The queues, the root among them.
    pub queues: Vec<QueueClaim<'a>>,
    /// What all nodes offer.
    pub total: &'a ResourceVec,
    /// What pods of other schedulers take of it.
    pub others: &'a ResourceVec,
    /// Names of resources, for warnings.
    pub names: &'a ResourceNames,
}

impl Claims<'_> {
    /// Indexes of the queues, parents before their children.
    pub(super) fn top_down(&self) -> Vec<usize> {
        let depth = |mut at: usize| {
            let mut depth = 0;
            while let Some(parent) = self.queues[at].parent {
                (at, depth) = (parent, depth + 1);
            }
            depth
        };
        let mut order: Vec<(usize, usize)> =
            (0..self.queues.len()).map(|at| (depth(at), at)).collect();
        order.sort_unstable();
        order.into_iter().map(|(_, at)| at).collect()
    }

    /// For each queue the sum of a measure over its children.
    pub(super) fn of_children(&self, measure: impl Fn(usize) -> ResourceVec) -> Vec<ResourceVec> {
        let mut sums = vec![ResourceVec::default(); self.queues.len()];
        for (at, queue) in self.queues.iter().enumerate() {
            if let Some(parent) = queue.parent {
                sums[parent].add(&measure(at));
            }
        }
        sums
    }
}

/// What a queue gets out of the division.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Portion {
    /// Its due.
    pub deserved: Limits,
    /// Its limits.
    pub terms: QueueTerms,
}

#[cfg(test)]
pub(super) mod tests;
