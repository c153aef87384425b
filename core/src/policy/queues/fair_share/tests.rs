//! The division against its rules, written down step by step with plain rational numbers.

use std::cmp::Reverse;
use std::ops::{Add, Div, Mul, Sub};

use proptest::prelude::*;

use super::*;

/// A rational number in lowest terms; the denominator is above zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ratio(i128, i128);

impl Ratio {
    fn new(over: i128, under: i128) -> Self {
        let divisor = |mut a: i128, mut b: i128| {
            while b != 0 {
                (a, b) = (b, a % b);
            }
            a.abs().max(1)
        };
        let common = divisor(over, under) * under.signum();
        Self(over / common, under / common)
    }

    fn whole(number: i128) -> Self {
        Self(number, 1)
    }

    fn floor(self) -> Self {
        Self::whole(self.0.div_euclid(self.1))
    }
}

impl Add for Ratio {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self::new(self.0 * other.1 + other.0 * self.1, self.1 * other.1)
    }
}
impl Sub for Ratio {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self::new(self.0 * other.1 - other.0 * self.1, self.1 * other.1)
    }
}
impl Mul for Ratio {
    type Output = Self;
    fn mul(self, other: Self) -> Self {
        Self::new(self.0 * other.0, self.1 * other.1)
    }
}
impl Div for Ratio {
    type Output = Self;
    fn div(self, other: Self) -> Self {
        Self::new(self.0 * other.1, self.1 * other.0)
    }
}
impl PartialOrd for Ratio {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Ratio {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0 * other.1).cmp(&(other.0 * self.1))
    }
}

/// The rules as they are written, in units; limits are whole units.
pub(crate) fn by_the_rules(pot: Pot, contenders: &[Contender<'_>]) -> Vec<i64> {
    let unit = i128::from(pot.unit);
    let units = |amount: i64| Ratio::new(i128::from(amount), unit);
    let millionths = |amount: u64| Ratio::new(i128::from(amount), i128::from(MILLION));
    let (zero, one) = (Ratio::whole(0), Ratio::whole(1));
    let requestable = |one: &Contender<'_>| units(one.limit.unwrap_or(i64::MAX).min(one.request));
    let total = units(pot.total);
    let mut share: Vec<Ratio> =
        contenders.iter().map(|one| one.quota.map_or(total, units).min(requestable(one))).collect();
    let mut rest = share.iter().fold(total, |rest, &share| rest - share);
    let mut remembered: Vec<Option<Ratio>> = vec![None; contenders.len()];
    let mut priorities: Vec<i32> = contenders.iter().map(|one| one.priority).collect();
    priorities.sort_unstable_by_key(|&priority| Reverse(priority));
    priorities.dedup();
    for &priority in &priorities {
        loop {
            let open: Vec<usize> = (0..contenders.len())
                .filter(|&at| contenders[at].priority == priority)
                .filter(|&at| requestable(&contenders[at]) > share[at])
                .collect();
            let weight = |at: usize| millionths(contenders[at].weight);
            let weights = open.iter().fold(zero, |sum, &at| sum + weight(at));
            if rest <= zero || weights == zero {
                break;
            }
            let k = millionths(pot.usage_weight);
            let portion = |at: usize| {
                let own = weight(at) / weights;
                (own + k * (own - millionths(contenders[at].usage))).max(zero)
            };
            let portions = open.iter().fold(zero, |sum, &at| sum + portion(at));
            if portions == zero {
                break;
            }
            let (there, mut again) = (rest, false);
            for &at in open.iter().filter(|&&at| weight(at) > zero) {
                let part = there * portion(at) / portions;
                let need = requestable(&contenders[at]) - share[at];
                again |= need < part;
                remembered[at] = (need > part).then(|| part - part.floor());
                let give = if need <= part { need } else { part.floor() };
                share[at] = share[at] + give;
                rest = rest - give;
            }
            if !again {
                break;
            }
        }
    }
    for &priority in &priorities {
        let mut line: Vec<usize> = (0..contenders.len())
            .filter(|&at| contenders[at].priority == priority && remembered[at].is_some())
            .collect();
        line.sort_by_key(|&at| (Reverse(remembered[at]), contenders[at].age));
        for at in line {
            let give = one.min(rest).max(zero);
            share[at] = share[at] + give;
            rest = rest - give;
        }
    }
    share.iter().map(|share| i64::try_from(share.0 * unit / share.1).unwrap()).collect()
}

fn names() -> Vec<Name> {
    (0..9).map(|at| format!("uid-{at}").into()).collect()
}

fn contender(uid: &Name) -> Contender<'_> {
    let age = (TimeMs(0), uid);
    Contender {
        quota: Some(0),
        limit: None,
        weight: MILLION,
        usage: 0,
        priority: 100,
        request: 0,
        age,
    }
}

fn gpus(total: i64) -> Pot {
    Pot { total: total * 1000, unit: 1000, usage_weight: MILLION }
}

/// Shares in whole units of contenders that are given as quota, weight, request and usage in percent.
fn shares_of(total: i64, given: &[(i64, u64, i64, u64)]) -> Vec<i64> {
    let names = names();
    let contenders: Vec<Contender<'_>> = given
        .iter()
        .zip(&names)
        .map(|(&(quota, weight, request, percent), uid)| Contender {
            quota: Some(quota * 1000),
            weight: weight * MILLION,
            request: request * 1000,
            usage: percent * MILLION / 100,
            ..contender(uid)
        })
        .collect();
    fair_shares(gpus(total), &contenders).into_iter().map(|share| share / 1000).collect()
}

#[test]
fn quotas_come_first_and_weights_divide_the_rest() {
    assert_eq!(shares_of(10, &[(2, 1, 10, 0), (4, 3, 10, 0)]), [3, 7]);
    assert_eq!(shares_of(10, &[(2, 1, 10, 0), (4, 0, 10, 0)]), [6, 4]);
    assert_eq!(shares_of(10, &[(2, 0, 10, 0), (4, 0, 10, 0)]), [2, 4]);
}

#[test]
fn what_cannot_be_split_goes_to_the_largest_fraction_and_then_to_the_oldest() {
    assert_eq!(shares_of(10, &[(0, 1, 10, 0); 3]), [4, 3, 3]);
    assert_eq!(shares_of(10, &[(0, 2, 10, 0), (0, 2, 10, 0), (0, 3, 10, 0)]), [3, 3, 4]);
}

#[test]
fn quotas_beyond_the_total_are_kept() {
    assert_eq!(shares_of(8, &[(6, 1, 6, 0), (6, 1, 6, 0)]), [6, 6]);
}

#[test]
fn usage_of_late_lowers_the_share_beyond_the_quota() {
    assert_eq!(shares_of(16, &[(0, 1, 16, 50), (0, 1, 16, 0)]), [5, 11]);
    assert_eq!(shares_of(16, &[(0, 1, 16, 100), (0, 1, 16, 0)]), [0, 16]);
    assert_eq!(shares_of(16, &[(8, 1, 16, 100), (0, 1, 16, 0)]), [8, 8]);
}

#[test]
fn a_higher_priority_is_content_before_the_next_one_gets_more_than_its_quota() {
    let names = names();
    let [one, other] =
        [&names[0], &names[1]].map(|uid| Contender { request: 6000, ..contender(uid) });
    let first = Contender { priority: 200, ..other };
    let last = Contender { quota: Some(1000), ..one };
    assert_eq!(fair_shares(gpus(8), &[last, first]), [2000, 6000]);
}

#[test]
fn a_fraction_that_is_asked_for_is_given_whole() {
    let names = names();
    let one = Contender { quota: Some(3000), request: 4500, ..contender(&names[0]) };
    assert_eq!(fair_shares(gpus(5), &[one]), [4500]);
    // Half a unit is left and nobody else wants it.
    let capped = Contender { limit: Some(2500), request: 9000, ..contender(&names[1]) };
    assert_eq!(fair_shares(gpus(2), &[capped]), [2000]);
    assert_eq!(fair_shares(gpus(3), &[capped]), [2500]);
}

#[test]
fn unlimited_quotas_are_the_whole_total() {
    let names = names();
    let all = |at: usize| Contender { quota: None, request: 6000, ..contender(&names[at]) };
    assert_eq!(fair_shares(gpus(8), &[all(0), all(1)]), [6000, 6000]);
}

#[test]
fn amounts_at_the_end_of_the_range_do_not_overflow() {
    let names = names();
    let pot = Pot { total: i64::MAX, unit: 1, usage_weight: u64::MAX };
    let vast = |at: usize, usage| Contender {
        weight: u64::MAX,
        request: i64::MAX,
        usage,
        ..contender(&names[at])
    };
    let shares = fair_shares(pot, &[vast(0, 0), vast(1, 0), vast(2, u64::MAX)]);
    assert_eq!(shares, [i64::MAX / 2 + 1, i64::MAX / 2, 0]);
}

fn any_contenders(uids: &[Name]) -> impl Strategy<Value = Vec<Contender<'_>>> {
    let amount =
        |most: i64| prop_oneof![3 => (0..=most).prop_map(|gpus| gpus * 1000), 1 => 0..=most * 1000];
    let one = (
        prop_oneof![4 => (0i64..6).prop_map(|gpus| Some(gpus * 1000)), 1 => Just(None)],
        prop_oneof![2 => Just(None), 1 => (0i64..9).prop_map(|gpus| Some(gpus * 1000))],
        prop_oneof![4 => (0u64..5).prop_map(|weight| weight * MILLION), 1 => 0..3 * MILLION],
        prop_oneof![2 => Just(0u64), 1 => (0u64..=10).prop_map(|tenths| tenths * MILLION / 10)],
        prop_oneof![3 => Just(100), 1 => Just(50)],
        (amount(12), 0i64..2),
    );
    let uids = uids.iter();
    let fields = prop::collection::vec(one, 0..uids.len());
    fields.prop_map(move |all| {
        let with_uids = all.into_iter().zip(uids.clone());
        let made =
            with_uids.map(|((quota, limit, weight, usage, priority, (request, born)), uid)| {
                Contender {
                    quota,
                    limit,
                    weight,
                    usage,
                    priority,
                    request,
                    age: (TimeMs(born), uid),
                }
            });
        made.collect()
    })
}

fn any_pot() -> impl Strategy<Value = Pot> {
    let factor = prop_oneof![Just(0), Just(MILLION), Just(MILLION / 2), Just(3 * MILLION)];
    let total = prop_oneof![3 => (0i64..30).prop_map(|gpus| gpus * 1000), 1 => 0i64..30_000];
    (total, prop_oneof![Just(1000), Just(1)], factor).prop_map(|(total, unit, usage_weight)| Pot {
        total,
        unit,
        usage_weight,
    })
}

thread_local! {
    static UIDS: &'static [Name] = Box::leak(names().into_boxed_slice());
}

fn any_division() -> impl Strategy<Value = (Pot, Vec<Contender<'static>>)> {
    (any_pot(), any_contenders(UIDS.with(|uids| *uids)))
}

proptest! {
    #[test]
    fn the_division_is_that_of_the_rules((pot, contenders) in any_division()) {
        prop_assert_eq!(fair_shares(pot, &contenders), by_the_rules(pot, &contenders));
    }

    #[test]
    fn nobody_is_above_the_limit_or_below_the_quota((pot, contenders) in any_division()) {
        for (one, share) in contenders.iter().zip(fair_shares(pot, &contenders)) {
            let quota = one.quota.unwrap_or(pot.total).min(one.request).min(one.limit.unwrap_or(i64::MAX));
            prop_assert!(share >= quota, "{one:?} has {share}");
            prop_assert!(one.limit.is_none_or(|limit| share <= limit), "{one:?} has {share}");
        }
    }

    #[test]
    fn nothing_is_left_while_somebody_with_a_claim_wants_it((pot, contenders) in any_division()) {
        let pot = Pot { usage_weight: 0, ..pot };
        let shares = fair_shares(pot, &contenders);
        let left = pot.total - shares.iter().sum::<i64>();
        let mut wanting = contenders.iter().zip(&shares).filter(|&(one, &share)| {
            one.weight > 0 && one.requestable() > share
        });
        prop_assert!(left <= 0 || wanting.next().is_none(), "{left} left");
    }

    #[test]
    fn the_order_of_the_queues_does_not_matter(
        (pot, contenders) in any_division(), turn in 0usize..9, flip in any::<bool>(),
    ) {
        let mut order: Vec<usize> = (0..contenders.len()).collect();
        order.rotate_left(turn % contenders.len().max(1));
        if flip {
            order.reverse();
        }
        let shares = fair_shares(pot, &contenders);
        let turned: Vec<Contender<'_>> = order.iter().map(|&at| contenders[at]).collect();
        let found = fair_shares(pot, &turned);
        for (place, &at) in order.iter().enumerate() {
            prop_assert_eq!(found[place], shares[at]);
        }
    }
}
