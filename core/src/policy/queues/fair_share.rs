//! Fair shares: one resource divided among the queues of one level, by quota first and by weight beyond.
//!
//! Everybody gets what it asks for up to its quota, whatever there is. What is left goes to those who want
//! more: group by group from the highest priority down, within a group round by round in proportion to the
//! weights, a queue that used much of late having less of a claim. A part of a unit nobody can use is put
//! together again in the end: one unit each for those who missed most of one. Nobody gets more than its
//! limit.
//!
//! Everything is exact: amounts are integers, and the fractions in between are kept as such.

mod fraction;

use std::cmp::{Ordering, Reverse};

pub(crate) use self::fraction::Fraction;
use self::fraction::scaled;
use crate::ids::{Name, TimeMs};

/// A whole: weights, usage and its influence are counted in millionths.
pub(crate) const MILLION: u64 = 1_000_000;

/// Largest weight that counts, a thousand million: sums of weights stay in range.
const WEIGHT_MAX: u64 = 1_000_000_000 * MILLION;
/// Largest usage and influence that count, a thousand.
const FACTOR_MAX: u64 = 1_000 * MILLION;

/// What is divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Pot {
    /// How much there is.
    pub(crate) total: i64,
    /// What beyond quotas is given in: the fraction of it that is left over makes no share.
    pub(crate) unit: i64,
    /// How much usage of late counts, in millionths: the plugin's `kValue`.
    pub(crate) usage_weight: u64,
}

/// A queue as it enters the division of one resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Contender<'a> {
    /// What it gets before anybody gets more than its quota; none is everything.
    pub(crate) quota: Option<i64>,
    /// What it may have at most; none is as much as there is.
    pub(crate) limit: Option<i64>,
    /// Its part of what is beyond quotas, in millionths.
    pub(crate) weight: u64,
    /// The part of the cluster it used of late, in millionths.
    pub(crate) usage: u64,
    /// Higher goes first.
    pub(crate) priority: i32,
    /// What it and those below it have and want.
    pub(crate) request: i64,
    /// When it was created, and its uid: the older goes first where nothing else decides.
    pub(crate) age: (TimeMs, &'a Name),
}

impl Contender<'_> {
    /// What it asks for and may have.
    fn requestable(&self) -> i64 {
        let asked = self.request.max(0);
        self.limit.map_or(asked, |limit| asked.min(limit.max(0)))
    }

    /// What it gets by its quota.
    fn within_quota(&self, total: i64) -> i64 {
        self.quota.unwrap_or(total).max(0).min(self.requestable())
    }

    /// Its claim on what is beyond quotas when the weights of those who want more sum up to `weights`:
    /// in proportion to `w + k * (w - usage)`, where `w` is its part of the weights, and never below zero.
    fn claim(&self, weights: i128, usage_weight: u64) -> i128 {
        let (one, k) = (i128::from(MILLION), i128::from(usage_weight.min(FACTOR_MAX)));
        let used = i128::from(self.usage.min(FACTOR_MAX));
        let weight = i128::from(self.clamped_weight());
        (weight * one * one + k * (weight * one - used * weights)).max(0)
    }

    fn clamped_weight(&self) -> u64 {
        self.weight.min(WEIGHT_MAX)
    }
}

/// The fair share of each contender, in their order; it does not depend on that order.
pub(crate) fn fair_shares(pot: Pot, contenders: &[Contender<'_>]) -> Vec<i64> {
    let mut shares: Vec<i64> = contenders.iter().map(|one| one.within_quota(pot.total)).collect();
    let given: i128 = shares.iter().map(|&share| i128::from(share)).sum();
    // Where quotas promise more than there is, everybody still has what was promised.
    let Some(left) = i64::try_from(i128::from(pot.total) - given).ok().filter(|&left| left > 0)
    else {
        return shares;
    };
    let mut order: Vec<usize> = (0..contenders.len()).collect();
    order.sort_by_key(|&at| Reverse(contenders[at].priority));
    let mut beyond =
        BeyondQuotas { pot, contenders, shares: &mut shares, left, missed: Vec::new() };
    let groups = || order.chunk_by(|&a, &b| contenders[a].priority == contenders[b].priority);
    beyond.missed.resize(contenders.len(), None);
    groups().for_each(|group| while beyond.round(group) {});
    groups().for_each(|group| beyond.give_units(group));
    shares
}

/// The division of what quotas leave.
struct BeyondQuotas<'a> {
    pot: Pot,
    contenders: &'a [Contender<'a>],
    shares: &'a mut [i64],
    left: i64,
    /// The part of a unit that was due to a contender and could not be given.
    missed: Vec<Option<Fraction>>,
}

impl BeyondQuotas<'_> {
    fn need(&self, at: usize) -> i64 {
        self.contenders[at].requestable() - self.shares[at]
    }

    /// Gives each of a group its part of what is left, as far as it needs it. Another round is due if
    /// somebody needed less.
    fn round(&mut self, group: &[usize]) -> bool {
        let open = || group.iter().copied().filter(|&at| self.need(at) > 0);
        let weights = open().map(|at| i128::from(self.contenders[at].clamped_weight())).sum();
        let claims: Vec<(usize, i128)> = open()
            .map(|at| (at, self.contenders[at].claim(weights, self.pot.usage_weight)))
            .collect();
        let sum: i128 = claims.iter().map(|claim| claim.1).sum();
        if sum == 0 || self.left == 0 {
            return false;
        }
        let (there, mut again) = (self.left, false);
        for (at, claim) in claims {
            if self.contenders[at].weight == 0 {
                continue;
            }
            let (part, rest) = scaled(there, claim, sum);
            let need = self.need(at);
            let give = if need <= part {
                again |= need < part || rest > 0;
                self.missed[at] = None;
                need
            } else {
                let over = part % self.pot.unit;
                let fraction = i128::from(over).saturating_mul(sum).saturating_add(rest);
                self.missed[at] = Some(Fraction {
                    over: fraction,
                    under: sum.saturating_mul(self.pot.unit.into()),
                });
                part - over
            };
            self.shares[at] += give;
            self.left -= give;
        }
        again
    }

    /// Gives units that could not be split to those of a group who missed most of one.
    fn give_units(&mut self, group: &[usize]) {
        let mut line: Vec<(Fraction, usize)> =
            group.iter().filter_map(|&at| Some((self.missed[at]?, at))).collect();
        line.sort_by(|a, b| self.before(*a, *b));
        for (_, at) in line {
            let most = self.contenders[at].limit.map_or(i64::MAX, |limit| limit - self.shares[at]);
            let give = self.pot.unit.min(self.left).min(most);
            self.shares[at] += give;
            self.left -= give;
        }
    }

    fn before(&self, a: (Fraction, usize), b: (Fraction, usize)) -> Ordering {
        let age = |at: usize| self.contenders[at].age;
        b.0.cmp(&a.0).then_with(|| age(a.1).cmp(&age(b.1)))
    }
}

#[cfg(test)]
pub(super) mod tests;
