//! Fractions that are compared exactly, whatever they are over.

use std::cmp::Ordering;

/// A fraction; neither part is negative, and it is over more than zero.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fraction {
    pub(crate) over: i128,
    pub(crate) under: i128,
}

impl Ord for Fraction {
    /// By whole parts, and where those are equal by what remains, turned upside down: as many steps as
    /// finding a common divisor takes, and no product that could overflow.
    fn cmp(&self, other: &Self) -> Ordering {
        let (mut a, mut b) = (*self, *other);
        loop {
            let whole = (a.over / a.under).cmp(&(b.over / b.under));
            let rests = (a.over % a.under, b.over % b.under);
            match (whole, rests) {
                (Ordering::Equal, (0, _) | (_, 0)) => return rests.0.cmp(&rests.1),
                (Ordering::Equal, (of_a, of_b)) => {
                    let turned = Self { over: b.under, under: of_b };
                    b = Self { over: a.under, under: of_a };
                    a = turned;
                }
                (different, _) => return different,
            }
        }
    }
}

impl PartialOrd for Fraction {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Fraction {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Fraction {}

/// An amount times a fraction of at most one: the whole part, and what remains over the same.
pub(super) fn scaled(amount: i64, over: i128, under: i128) -> (i64, i128) {
    let (part, rest) = match i128::from(amount).checked_mul(over) {
        Some(product) => (product / under, product % under),
        None => scaled_by_bits(amount, over, under),
    };
    // It is no more than the amount.
    (i64::try_from(part).unwrap_or(amount), rest)
}

/// The same bit by bit, for products beyond the range of integers; `under` is below a third of it.
fn scaled_by_bits(amount: i64, over: i128, under: i128) -> (i128, i128) {
    let (mut part, mut rest) = (0, 0);
    for bit in (0..i64::BITS).rev() {
        part *= 2;
        rest *= 2;
        if amount >> bit & 1 == 1 {
            rest += over;
        }
        while rest >= under {
            rest -= under;
            part += 1;
        }
    }
    (part, rest)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn fractions_are_compared_by_value() {
        let fraction = |over, under| Fraction { over, under };
        assert_eq!(fraction(1, 3), fraction(2, 6));
        assert_eq!(fraction(0, 3), fraction(0, 7));
        assert!(fraction(1, 3) < fraction(1, 2));
        let huge = i128::MAX / 4;
        assert!(fraction(huge - 1, huge) > fraction(huge - 2, huge - 1));
    }

    proptest! {
        #[test]
        fn comparing_is_that_of_products(a in 0i128..90, b in 1i128..90, c in 0i128..90, d in 1i128..90) {
            let (one, other) = (Fraction { over: a, under: b }, Fraction { over: c, under: d });
            prop_assert_eq!(one.cmp(&other), (a * d).cmp(&(c * b)));
        }

        #[test]
        fn bit_by_bit_gives_the_same(amount in 0i64..=i64::MAX, under in 1i128..1 << 60, part in 0.0..=1.0) {
            let over = ((under as f64 * part) as i128).min(under);
            let product = i128::from(amount) * over;
            prop_assert_eq!(scaled_by_bits(amount, over, under), (product / under, product % under));
        }
    }
}
