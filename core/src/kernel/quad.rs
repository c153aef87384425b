//! Four rows at a time: quotients in floats that are exact all the same.
//!
//! The quotient of two floats is rounded, but with a fused multiply-add the rest of the division is
//! known to the last bit, and it tells whether the rounded quotient is the right one. That needs
//! amounts below 2^51 (two petabytes, two billion cores), which is checked row by row; whoever calls
//! has another way for the others.

use wide::f64x4;

use super::lanes::Lanes;

/// Rows taken together.
pub(super) const ROWS: usize = 4;

/// Is multiply-add fused in this build? Else rests are not exact, and rows are taken one by one.
pub(super) const FUSED: bool = cfg!(target_feature = "fma");

/// Amounts from here on are not for floats.
const LIMIT: i64 = 1 << 51;

/// One lane of four rows.
#[derive(Clone, Copy)]
pub(super) struct Quad {
    used: f64x4,
    whole: f64x4,
}

impl Quad {
    /// The lane of four rows; none if a row has nothing of it or too much to be exact.
    #[inline]
    pub(super) fn new(used: &[Lanes; ROWS], whole: &[Lanes; ROWS], lane: usize) -> Option<Self> {
        let column =
            |rows: &[Lanes; ROWS]| f64x4::new(rows.each_ref().map(|row| row.0[lane] as f64));
        let whole = column(whole);
        let fits = whole.simd_gt(f64x4::ZERO) & whole.simd_lt(f64x4::splat(LIMIT as f64));
        fits.all().then(|| Self { used: column(used), whole })
    }

    /// Can so much be asked for?
    #[inline]
    pub(super) fn takes(request: i64) -> bool {
        (-LIMIT..LIMIT).contains(&request)
    }

    /// What would be used of the whole, within `0..=whole`. An amount a float cannot hold is beyond
    /// either end, with the request or without.
    #[inline]
    pub(super) fn wanted(self, request: i64) -> f64x4 {
        (self.used + f64x4::splat(request as f64)).max(f64x4::ZERO).min(self.whole)
    }

    /// What would be left.
    #[inline]
    pub(super) fn left(self, request: i64) -> f64x4 {
        self.whole - self.wanted(request)
    }

    /// `part * scale / whole`, rounded down, for `0 <= part <= whole` and `0 < scale < 2^30`.
    ///
    /// The product is `high + low`, both exact. The quotient is below 2^30 and off by at most one, so
    /// the rest lies within `-whole..2 * whole`: a whole number below 2^53, hence exact too.
    #[inline]
    pub(super) fn share(self, part: f64x4, scale: f64x4) -> f64x4 {
        let high = part * scale;
        let low = part.mul_sub(scale, high);
        let guess = (high / self.whole).floor();
        let rest = guess.mul_neg_add(self.whole, high) + low;
        let more = rest.simd_ge(self.whole) & f64x4::ONE;
        let less = rest.simd_lt(f64x4::ZERO) & f64x4::ONE;
        guess + more - less
    }
}
