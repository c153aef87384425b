//! Division of one resource by weight, with a floor and a cap for everybody.
//!
//! Think of vessels whose widths are the weights, filled to one level: none stands lower than its
//! floor or higher than its cap. The level is found exactly, by walking over the amounts at which a
//! vessel leaves its floor or reaches its cap. Units that cannot be split go, one by one, where a unit
//! raises the level least; ties go to the claim that comes first.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// One side of a division.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Claim {
    /// Width of the vessel; at least 1.
    pub(crate) weight: u32,
    /// Gets this much in any case.
    pub(crate) floor: i64,
    /// Gets no more than this; at least the floor.
    pub(crate) cap: i64,
}

/// Divides a number of units among the claims. Everybody has at least the floor and at most the cap;
/// nothing is left over while anybody is below the cap; beyond that, amounts are as the weights.
pub(crate) fn divide(total: i64, claims: &[Claim]) -> Vec<i64> {
    let sum =
        |of: fn(&Claim) -> i64| claims.iter().map(|claim| i128::from(of(claim))).sum::<i128>();
    let total = i128::from(total);
    if sum(|claim| claim.cap) <= total {
        return claims.iter().map(|claim| claim.cap).collect();
    }
    let (volume, width) = level(total, claims);
    let below = |claim: &Claim| {
        let amount = if width == 0 { 0 } else { volume.max(0) * i128::from(claim.weight) / width };
        let amount = i64::try_from(amount).unwrap_or(i64::MAX);
        amount.clamp(claim.floor, claim.cap)
    };
    let mut amounts: Vec<i64> = claims.iter().map(below).collect();
    let given: i128 = amounts.iter().map(|&amount| i128::from(amount)).sum();
    give_units(total - given, claims, &mut amounts);
    amounts
}

/// The level all vessels that are neither at their floor nor at their cap stand at, as a fraction:
/// volume over width. No width means that nobody is between the two.
fn level(total: i128, claims: &[Claim]) -> (i128, i128) {
    // Amounts at which a vessel leaves its floor (it counts from there on) or reaches its cap.
    let mut steps: Vec<(Height, i128, i128)> = Vec::new();
    for claim in claims.iter().filter(|claim| claim.floor < claim.cap) {
        let (floor, cap, weight) =
            (i128::from(claim.floor), i128::from(claim.cap), i128::from(claim.weight));
        steps.push((Height(floor, weight), -floor, weight));
        steps.push((Height(cap, weight), cap, -weight));
    }
    steps.sort_by_key(|step| step.0);
    let mut fixed: i128 = claims.iter().map(|claim| i128::from(claim.floor)).sum();
    let mut width = 0;
    for (height, amount, weight) in steps {
        // Below this step the sum is `fixed + level * width`: does it reach the total before?
        let here = fixed * height.1 + height.0 * width;
        if here >= total * height.1 {
            break;
        }
        fixed += amount;
        width += weight;
    }
    (total - fixed, width)
}

/// A height: amount over weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Height(i128, i128);

impl PartialOrd for Height {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Height {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.0 * other.1).cmp(&(other.0 * self.1))
    }
}

/// Gives what could not be split, each unit to the claim whose level stays lowest with it.
fn give_units(mut units: i128, claims: &[Claim], amounts: &mut [i64]) {
    let next = |at: usize, amount: i64| {
        let claim = claims[at];
        let height = Height(i128::from(amount) + 1, i128::from(claim.weight));
        (amount < claim.cap).then_some(Reverse((height, at)))
    };
    let mut line: BinaryHeap<_> =
        amounts.iter().enumerate().filter_map(|(at, &amount)| next(at, amount)).collect();
    while units > 0 {
        let Some(Reverse((_, at))) = line.pop() else { return };
        amounts[at] += 1;
        units -= 1;
        line.extend(next(at, amounts[at]));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn claim(weight: u32, floor: i64, cap: i64) -> Claim {
        Claim { weight, floor, cap }
    }

    /// Unit by unit: the next one goes where the amount over the weight is smallest with it.
    fn divide_naively(total: i64, claims: &[Claim]) -> Vec<i64> {
        let mut amounts: Vec<i64> = claims.iter().map(|claim| claim.floor).collect();
        while amounts.iter().sum::<i64>() < total {
            let open = (0..claims.len()).filter(|&at| amounts[at] < claims[at].cap);
            // Compared as fractions: a/b < c/d is a*d < c*b.
            let lowest = open.reduce(|best, at| {
                let (a, b) = (amounts[at] + 1, i64::from(claims[at].weight));
                let (c, d) = (amounts[best] + 1, i64::from(claims[best].weight));
                if a * d < c * b { at } else { best }
            });
            let Some(at) = lowest else { break };
            amounts[at] += 1;
        }
        amounts
    }

    #[test]
    fn weights_divide_what_both_want() {
        assert_eq!(divide(16, &[claim(1, 0, 16), claim(3, 0, 16)]), [4, 12]);
        assert_eq!(divide(16, &[claim(1, 0, 16), claim(3, 0, 5)]), [11, 5]);
        assert_eq!(divide(16, &[claim(1, 0, 3), claim(3, 0, 5)]), [3, 5]);
        assert_eq!(divide(0, &[claim(1, 0, 3), claim(3, 0, 5)]), [0, 0]);
        assert_eq!(divide(7, &[]), []);
    }

    #[test]
    fn a_floor_holds_even_beyond_the_total() {
        assert_eq!(divide(10, &[claim(1, 4, 10), claim(9, 0, 10)]), [4, 6]);
        assert_eq!(divide(10, &[claim(1, 8, 8), claim(1, 7, 9)]), [8, 7]);
        assert_eq!(divide(-5, &[claim(1, 2, 8), claim(1, 0, 9)]), [2, 0]);
    }

    #[test]
    fn what_cannot_be_split_goes_to_the_lowest_and_then_to_the_first() {
        assert_eq!(divide(10, &[claim(1, 0, 9), claim(1, 0, 9), claim(1, 0, 9)]), [4, 3, 3]);
        assert_eq!(divide(1, &[claim(1, 0, 9), claim(2, 0, 9)]), [0, 1]);
    }

    #[test]
    fn amounts_at_the_end_of_the_range_do_not_overflow() {
        let all = i64::MAX;
        let amounts = divide(all, &[claim(65_535, 0, all), claim(1, 0, all), claim(7, all, all)]);
        assert_eq!(amounts, [0, 0, all]);
        let amounts = divide(all, &[claim(65_535, 0, all), claim(65_535, 0, all)]);
        assert_eq!(amounts.iter().sum::<i64>(), all);
    }

    fn any_claims() -> impl Strategy<Value = Vec<Claim>> {
        let weight = prop_oneof![3 => 1u32..5, 1 => 1u32..65_536];
        let one = (weight, 0i64..30, 0i64..30)
            .prop_map(|(weight, a, b)| claim(weight, a.min(b) / 2, a.max(b)));
        prop::collection::vec(one, 0..9)
    }

    proptest! {
        #[test]
        fn the_division_is_that_of_unit_by_unit(total in 0i64..200, claims in any_claims()) {
            prop_assert_eq!(divide(total, &claims), divide_naively(total, &claims));
        }

        #[test]
        fn nothing_is_left_over_and_nobody_leaves_their_bounds(
            total in 0i64..1_000_000_000_000,
            claims in prop::collection::vec((1u32..65_536, 0i64..1_000_000_000, 0i64..1_000_000_000_000), 0..40),
        ) {
            let claims: Vec<Claim> =
                claims.into_iter().map(|(weight, floor, more)| claim(weight, floor, floor + more)).collect();
            let amounts = divide(total, &claims);
            for (claim, &amount) in claims.iter().zip(&amounts) {
                prop_assert!(claim.floor <= amount && amount <= claim.cap);
            }
            let given: i64 = amounts.iter().sum();
            let floors: i64 = claims.iter().map(|claim| claim.floor).sum();
            let full = claims.iter().zip(&amounts).all(|(claim, &amount)| amount == claim.cap);
            prop_assert!(given <= total.max(floors));
            prop_assert!(full || given == total.max(floors), "{given} of {total} with floors {floors}");
        }

        #[test]
        fn more_weight_never_gets_less(total in 0i64..1000, claims in any_claims(), at in 0usize..9) {
            prop_assume!(at < claims.len());
            let mut heavier = claims.clone();
            heavier[at].weight += 1;
            prop_assert!(divide(total, &heavier)[at] >= divide(total, &claims)[at]);
        }
    }
}
