//! How use is forgotten: half of it after every half-life, all in whole numbers.
//!
//! What is left after some time is 2 to the power of minus the time in half-lives. Its whole part is a
//! shift; of the rest every bit that is set is a factor: the square root of a half, the root of that, and
//! so on.

/// A whole, in factors.
pub(super) const WHOLE: u64 = 1 << 63;
/// Bits of a part of a half-life that count.
const BITS: usize = 48;
/// Milliseconds that count are told in this many parts of one.
pub(super) const PARTS: i128 = 256;

/// 2 to the power of -1/2, -1/4, -1/8 …, as factors.
const ROOTS: [u64; BITS] = roots();
/// One over the natural logarithm of 2, in parts of 2 to the power of 62.
const INVERSE_LN_2: u128 = 0x5C55_1D94_AE0B_F85D;

const fn roots() -> [u64; BITS] {
    let mut roots = [0; BITS];
    let mut last = (WHOLE / 2) as u128;
    let mut at = 0;
    while at < BITS {
        last = (last << 63).isqrt();
        roots[at] = last as u64;
        at += 1;
    }
    roots
}

/// What is left of use after so many milliseconds, as a factor; all of it without a half-life.
pub(super) fn left(half_life_ms: Option<i64>, after_ms: i64) -> u64 {
    let Some((half_life, after)) = positive(half_life_ms, after_ms) else { return WHOLE };
    let (halves, rest) = (after / half_life, after % half_life);
    let part = (rest << BITS) / half_life;
    let bits = (0..BITS).filter(|bit| part >> (BITS - 1 - bit) & 1 == 1);
    let factor =
        bits.fold(u128::from(WHOLE), |factor, bit| (factor * u128::from(ROOTS[bit])) >> 63);
    u32::try_from(halves).ok().and_then(|halves| factor.checked_shr(halves)).unwrap_or(0) as u64
}

/// How many milliseconds, in [`PARTS`], the last so many count at their end: less than they are, because
/// the first of them are half forgotten.
pub(super) fn counted(half_life_ms: Option<i64>, during_ms: i64) -> i128 {
    let Some((half_life, _)) = positive(half_life_ms, during_ms) else {
        return i128::from(during_ms.max(0)) * PARTS;
    };
    // The integral of what is left.
    let forgotten = u128::from(WHOLE - left(half_life_ms, during_ms));
    let part = (forgotten * INVERSE_LN_2) >> 62;
    let parts = (part * half_life * PARTS as u128 + u128::from(WHOLE / 2)) >> 63;
    parts as i128
}

fn positive(half_life_ms: Option<i64>, after_ms: i64) -> Option<(u128, u128)> {
    let half_life = u128::try_from(half_life_ms?).ok().filter(|&ms| ms > 0)?;
    Some((half_life, u128::try_from(after_ms).ok().filter(|&ms| ms > 0)?))
}

/// An amount times a factor.
pub(super) fn scaled(amount: i128, factor: u64) -> i128 {
    // 32 bits of the factor leave room for any amount there is.
    let factor = i128::from(factor >> 31);
    match amount.checked_mul(factor) {
        Some(product) => product >> 32,
        None => (amount >> 32).saturating_mul(factor),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn close(found: f64, want: f64) -> bool {
        (found - want).abs() <= 1e-9 * want.abs().max(1.0)
    }

    proptest! {
        #[test]
        fn what_is_left_halves_with_every_half_life(half in 1i64..1 << 40, after in 0i64..1 << 42) {
            let found = left(Some(half), after) as f64 / WHOLE as f64;
            let want = 0.5f64.powf(after as f64 / half as f64);
            prop_assert!(close(found, want), "{found} for {want}");
        }

        #[test]
        fn what_counts_is_the_sum_of_what_is_left(half in 1i64..1 << 40, during in 0i64..1 << 42) {
            let found = counted(Some(half), during) as f64 / PARTS as f64;
            let lives = during as f64 / half as f64;
            let want = half as f64 * -(-lives * std::f64::consts::LN_2).exp_m1() / std::f64::consts::LN_2;
            prop_assert!((found - want).abs() <= 1e-7 * want + 0.01, "{found} for {want}");
        }

        #[test]
        fn a_time_in_two_parts_counts_as_in_one(half in 1_000i64..1 << 40, first in 0i64..1 << 38, then in 0i64..1 << 38) {
            let apart = scaled(counted(Some(half), first), left(Some(half), then)) + counted(Some(half), then);
            let at_once = counted(Some(half), first + then);
            let off = (apart - at_once).abs() as f64;
            prop_assert!(off <= 2.0 + at_once as f64 * 1e-8, "{apart} for {at_once}");
        }
    }

    #[test]
    fn without_a_half_life_everything_counts() {
        assert_eq!(left(None, 5), WHOLE);
        assert_eq!(counted(None, 5), 5 * PARTS);
        assert_eq!(counted(Some(10), -5), 0);
        assert_eq!(left(Some(1), i64::MAX), 0);
    }

    #[test]
    fn amounts_at_the_end_of_the_range_do_not_overflow() {
        assert_eq!(scaled(i128::MAX, WHOLE) >> 100, i128::MAX >> 100);
        assert_eq!(scaled(1 << 80, WHOLE / 2), 1 << 79);
    }
}
