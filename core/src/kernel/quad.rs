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

/// What four rows have of one lane, and its inverse. Nodes come in few sizes: the next rows mostly
/// have the same, and nothing is divided.
#[derive(Clone, Copy)]
pub(super) struct Wholes {
    whole: f64x4,
    inverse: f64x4,
}

impl Wholes {
    pub(super) const ONE: Self = Self { whole: f64x4::ONE, inverse: f64x4::ONE };

    #[inline]
    fn of(&mut self, whole: f64x4) -> Self {
        if !self.whole.simd_eq(whole).all() {
            *self = Self { whole, inverse: f64x4::ONE / whole };
        }
        *self
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
        let (used, whole) = (column(used, lane), column(whole, lane));
        let limit = i64x4::splat(LIMIT);
        let fits = whole.simd_gt(i64x4::ZERO)
            & limit.simd_gt(whole)
            & limit.simd_gt(used)
            & used.simd_gt(i64x4::ZERO - limit);
        fits.all().then(|| Self { used: float(used), wholes: wholes.of(float(whole)) })
    }

    /// Can so much be asked for?
    #[inline]
    pub(super) fn takes(request: i64) -> bool {
        (-LIMIT..LIMIT).contains(&request)
    }

    /// What would be used of the whole, within `0..=whole`.
    #[inline]
    pub(super) fn wanted(self, request: i64) -> f64x4 {
        (self.used + f64x4::splat(request as f64)).max(f64x4::ZERO).min(self.wholes.whole)
    }

    /// What would be left.
    #[inline]
    pub(super) fn left(self, request: i64) -> f64x4 {
        self.wholes.whole - self.wanted(request)
    }

    /// `part * scale / whole`, rounded down, for `0 <= part <= whole` and `0 < scale < 2^30`.
    ///
    /// The product is `high + low`, both exact. The quotient is below 2^30 and off by at most one, as
    /// three roundings move it by less than 2^-20; so the rest lies within `-whole..2 * whole`: a whole
    /// number below 2^53, hence exact too.
    #[inline]
    pub(super) fn share(self, part: f64x4, scale: f64x4) -> f64x4 {
        let Wholes { whole, inverse } = self.wholes;
        let high = part * scale;
        let low = part.mul_sub(scale, high);
        let guess = (high * inverse).floor();
        let rest = guess.mul_neg_add(whole, high) + low;
        let more = rest.simd_ge(whole) & f64x4::ONE;
        let less = rest.simd_lt(f64x4::ZERO) & f64x4::ONE;
        guess + more - less
    }
}

#[inline]
fn column([a, b, c, d]: &[Lanes; ROWS], lane: usize) -> i64x4 {
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
