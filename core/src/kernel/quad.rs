//! Four rows at a time: quotients in floats that are exact all the same.
//!
//! The quotient of two floats is rounded, but with a fused multiply-add the rest of the division is
//! known to the last bit, and it tells whether the rounded quotient is the right one. That needs
//! amounts below 2^51 (two petabytes, two billion cores), which is checked row by row; whoever calls
//! has another way for the others.

use wide::{f64x4, i64x4};

use super::lanes::Lanes;

/// Rows taken together.
pub(super) const ROWS: usize = 4;

/// Is multiply-add fused in this build? Else rests are not exact, and rows are taken one by one.
pub(super) const FUSED: bool = cfg!(target_feature = "fma");

/// Amounts from here on are not for floats.
const LIMIT: i64 = 1 << 51;

/// A float of this size has its whole part in its last bits: adding an amount to those bits and taking
/// the number away again turns an integer into a float. AVX2 has no instruction for that.
const TURN: f64 = ((1_u64 << 52) + (1 << 51)) as f64;

/// What four rows have of one lane, and its inverse, taken a hair too small. Nodes come in few sizes:
/// the next rows mostly have the same, and nothing is divided.
#[derive(Clone, Copy)]
pub(super) struct Wholes {
    whole: f64x4,
    inverse: f64x4,
}

/// Less than one by eight times what a float is rounded by.
const SHORT: f64 = 1.0 - 8.0 * f64::EPSILON;

impl Wholes {
    /// Of no rows yet: whatever comes is different.
    pub(super) const NONE: Self = Self { whole: f64x4::ZERO, inverse: f64x4::ZERO };

    #[inline]
    fn of(whole: f64x4) -> Self {
        Self { whole, inverse: f64x4::splat(SHORT) / whole }
    }
}

/// One lane of four rows.
#[derive(Clone, Copy)]
pub(super) struct Quad {
    used: f64x4,
    wholes: Wholes,
}

impl Quad {
    /// The lane of four rows; none if a row has nothing of it or too much to be exact.
    #[inline]
    pub(super) fn new(
        used: &[Lanes; ROWS],
        whole: &[Lanes; ROWS],
        lane: usize,
        wholes: &mut Wholes,
    ) -> Option<Self> {
        let known = std::slice::from_mut(wholes).as_mut_array()?;
        let [quad] = Self::several([column(used, lane)], [column(whole, lane)], known)?;
        Some(quad)
    }

    /// Several lanes of four rows, given as columns; none if a row has nothing of one, or too much of
    /// one, or less than nothing is used.
    #[inline]
    pub(super) fn several<const N: usize>(
        used: [i64x4; N],
        whole: [i64x4; N],
        wholes: &mut [Wholes; N],
    ) -> Option<[Self; N]> {
        // An amount from zero to the limit has no high bits, nor has a whole of at least one, less one.
        let mut bits = i64x4::ZERO;
        for (used, whole) in used.into_iter().zip(whole) {
            bits |= used | (whole - i64x4::ONE);
        }
        if !(bits & i64x4::splat(-LIMIT)).simd_eq(i64x4::ZERO).all() {
            return None;
        }
        let whole = whole.map(float);
        if !whole.iter().zip(&*wholes).all(|(whole, known)| whole.simd_eq(known.whole).all()) {
            *wholes = whole.map(Wholes::of);
        }
        Some(std::array::from_fn(|at| Self { used: float(used[at]), wholes: wholes[at] }))
    }

    /// Can so much be asked for?
    #[inline]
    pub(super) fn takes(request: i64) -> bool {
        (-LIMIT..LIMIT).contains(&request)
    }

    /// So much asked of each row.
    #[inline]
    pub(super) fn ask(request: i64) -> f64x4 {
        f64x4::splat(request as f64)
    }

    /// What would be used of the whole, within `0..=whole`.
    #[inline]
    pub(super) fn wanted(self, ask: f64x4) -> f64x4 {
        (self.used + ask).fast_max(f64x4::ZERO).fast_min(self.wholes.whole)
    }

    /// What would be left.
    #[inline]
    pub(super) fn left(self, ask: f64x4) -> f64x4 {
        self.wholes.whole - self.wanted(ask)
    }

    /// `part * scale / whole`, rounded down, for `0 <= part <= whole` and `0 < scale < 2^30`.
    ///
    /// The product is `high + low`, both exact. The inverse is short by more than all roundings
    /// together, so the quotient is never too large; it is below 2^30 and short by less than 2^-18,
    /// hence by one at most. So the rest lies within `0..2 * whole`: a whole number below 2^53, which is
    /// exact too.
    #[inline]
    pub(super) fn share(self, part: f64x4, scale: f64x4) -> f64x4 {
        let Wholes { whole, inverse } = self.wholes;
        let high = part * scale;
        let low = part.mul_sub(scale, high);
        let guess = (high * inverse).floor();
        let rest = guess.mul_neg_add(whole, high) + low;
        guess + (rest.simd_ge(whole) & f64x4::ONE)
    }
}

/// One lane of four rows, as it is.
#[inline]
pub(super) fn column([a, b, c, d]: &[Lanes; ROWS], lane: usize) -> i64x4 {
    i64x4::new([a.0[lane], b.0[lane], c.0[lane], d.0[lane]])
}

/// Amounts within the limit as floats.
#[inline]
fn float(amounts: i64x4) -> f64x4 {
    let [a, b, c, d] = (amounts + i64x4::splat(TURN.to_bits() as i64)).to_array();
    let turned = |bits: i64| f64::from_bits(bits as u64);
    f64x4::new([turned(a), turned(b), turned(c), turned(d)]) - f64x4::splat(TURN)
}

/// Whole numbers below the limit as integers.
#[inline]
pub(super) fn whole(numbers: f64x4) -> i64x4 {
    let [a, b, c, d] = (numbers + f64x4::splat(TURN)).to_array();
    let bits = |number: f64| number.to_bits() as i64;
    i64x4::new([bits(a), bits(b), bits(c), bits(d)]) - i64x4::splat(TURN.to_bits() as i64)
}
