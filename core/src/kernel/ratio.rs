//! Scores from how full a node would be, in whole numbers.
//!
//! A score is counted in points of [`SCORE_SCALE`]; each kernel gives 0 to 100 points a row,
//! multiplied by a weight and added to `out`. Every quotient is rounded down, and is exact: no row's
//! score depends on the machine, the width of its vectors or the order of rows.
//!
//! All kernels look at `used + request` against `allocatable`, with amounts outside of
//! `0..=allocatable` taken as the nearer end. What counts as used (with or without defaults for pods
//! that ask for nothing) is the caller's choice of column.

use wide::f64x4;

use super::lanes::{LANES, Lanes};
use super::quad::{self, FUSED, Quad, Wholes};

/// One point of a score. Fractions of a point are kept where the original scorer has them.
pub const SCORE_SCALE: i64 = 1_000_000;

/// The best a kernel gives before its weight.
const POINTS: i64 = 100;

/// Parts of one by which [`balanced`] measures fullness: decimal fractions stay exact.
const PARTS: i64 = 1_000_000_000;

/// Prefers nodes with much left: the mean of `(allocatable - used - request) * 100 / allocatable`.
///
/// Per lane and in the mean whole points, as Kubernetes' least-allocated scorer has them. `weights`
/// say how much each lane counts; one of zero or less does not count, nor does a lane of which the
/// node has nothing. A lane that would be over is worth nothing.
///
/// # Panics
///
/// If the slices differ in length.
pub fn least_requested(
    request: &Lanes,
    weights: &[i64; LANES],
    weight: i64,
    used: &[Lanes],
    allocatable: &[Lanes],
    out: &mut [i64],
) {
    let columns = (used, allocatable);
    mean_of_points(request, weights, weight, columns, out, Quad::left, |wanted, whole| {
        whole - wanted
    });
}

/// Prefers nodes that would be full: the mean of `(used + request) * 100 / allocatable`.
///
/// Whole points and weights as in [`least_requested`]; a lane that would be over counts as full.
///
/// # Panics
///
/// If the slices differ in length.
pub fn most_requested(
    request: &Lanes,
    weights: &[i64; LANES],
    weight: i64,
    used: &[Lanes],
    allocatable: &[Lanes],
    out: &mut [i64],
) {
    let columns = (used, allocatable);
    mean_of_points(request, weights, weight, columns, out, Quad::wanted, |wanted, _| wanted);
}

#[inline]
fn mean_of_points(
    request: &Lanes,
    weights: &[i64; LANES],
    weight: i64,
    columns: (&[Lanes], &[Lanes]),
    out: &mut [i64],
    four: impl Fn(Quad, f64x4) -> f64x4,
    part: impl Fn(i64, i64) -> i64,
) {
    let lanes = Weighted::new(weights, |_| true);
    let small = lanes.total < 1 << 40 && lanes.iter().all(|&(at, _)| Quad::takes(request.0[at]));
    let (mut wholes, mut divisor) = ([Whole::ONE; LANES], Whole::ONE);
    let (scale, total) = (f64x4::splat(POINTS as f64), f64x4::splat(lanes.total as f64));
    let mut sizes = [Wholes::NONE; LANES];
    let four = |used: &[Lanes; quad::ROWS], allocatable: &[Lanes; quad::ROWS]| {
        let mut points = f64x4::ZERO;
        for &(lane, weight) in lanes.iter() {
            let quad = Quad::new(used, allocatable, lane, &mut sizes[lane])?;
            let ask = Quad::ask(request.0[lane]);
            points += quad.share(four(quad, ask), scale) * f64x4::splat(weight as f64);
        }
        // A quotient that is not whole is further from the next number than rounding reaches.
        Some((points / total).floor())
    };
    let one = |used: &Lanes, allocatable: &Lanes| {
        let (mut points, mut total) = (0, 0);
        for &(lane, weight) in lanes.iter() {
            let whole = allocatable.0[lane];
            if whole > 0 {
                let wanted = wanted(used.0[lane], request.0[lane], whole);
                points += weight * wholes[lane].of(whole).share(part(wanted, whole), POINTS);
                total += weight;
            }
        }
        if total == 0 { 0 } else { divisor.of(total).share(points, 1) * SCORE_SCALE }
    };
    if FUSED && small && lanes.total > 0 {
        by_four(columns, out, weight, four, one);
    } else {
        for_each_row(columns, out, weight, one);
    }
}

/// Prefers nodes whose lanes would be evenly full, and tasks that make them more even.
///
/// How even a node is: `s = 100 - ceil(100 * std)` points, with `std` the population standard
/// deviation of its fullness over `lanes`, each fullness in billionths and rounded down. The score is
/// `50 + (50 + s(with the request) - s(without)) / 2` whole points, as Kubernetes'
/// balanced-allocation scorer has it. Lanes of which the node has nothing do not count.
///
/// # Panics
///
/// If the slices differ in length or a lane is not below [`LANES`].
pub fn balanced(
    request: &Lanes,
    lanes: &[usize],
    weight: i64,
    used: &[Lanes],
    allocatable: &[Lanes],
    out: &mut [i64],
) {
    assert!(lanes.len() <= LANES, "each lane once");
    let columns = (used, allocatable);
    let mut wholes = [Whole::ONE; LANES];
    let one = |used: &Lanes, allocatable: &Lanes| {
        let (mut with, mut without) = (LaneSpread::NONE, LaneSpread::NONE);
        for &lane in lanes {
            let whole = allocatable.0[lane];
            if whole > 0 {
                let divisor = wholes[lane].of(whole);
                let wanted = |ask| wanted(used.0[lane], ask, whole);
                with.add(divisor.share(wanted(request.0[lane]), PARTS));
                without.add(divisor.share(wanted(0), PARTS));
            }
        }
        let half = POINTS / 2;
        (half + (half + with.evenness() - without.evenness()) / 2) * SCORE_SCALE
    };
    match *lanes {
        [a, b] if FUSED && [a, b].iter().all(|&lane| Quad::takes(request.0[lane])) => {
            let asks = [a, b].map(|lane| Quad::ask(request.0[lane]));
            let mut sizes = [Wholes::NONE; 2];
            let four = |used: &_, whole: &_| {
                let [size_a, size_b] = &mut sizes;
                let first = Quad::new(used, whole, a, size_a)?;
                Some(balance([first, Quad::new(used, whole, b, size_b)?], asks))
            };
            by_four(columns, out, weight, four, one);
        }
        _ => for_each_row(columns, out, weight, one),
    }
}

/// What [`balanced`] gives four rows that have some of both lanes, in whole points.
#[inline]
pub(super) fn balance([a, b]: [Quad; 2], [ask_a, ask_b]: [f64x4; 2]) -> f64x4 {
    let (scale, half) = (f64x4::splat(PARTS as f64), f64x4::splat(POINTS as f64 / 2.0));
    // Half of a hundred times the difference, rounded up. The product is off by less than a hair, and
    // a number that is not whole is fifty hairs and more above the last whole one.
    let (point, hair) = (f64x4::splat(POINTS as f64 / 2.0 / PARTS as f64), f64x4::splat(1e-9));
    let uneven = |ask_a: f64x4, ask_b: f64x4| {
        let (a, b) = (a.share(a.wanted(ask_a), scale), b.share(b.wanted(ask_b), scale));
        ((a - b).abs() * point - hair).ceil()
    };
    let gain = uneven(f64x4::ZERO, f64x4::ZERO) - uneven(ask_a, ask_b);
    // Halves are cut off towards zero, as whole numbers do it; the sum is never below zero.
    half + ((half + gain) * f64x4::splat(0.5)).trunc()
}

/// Prefers nodes that the request would fill: the weighted mean of `(used + request) / allocatable`
/// over the lanes it asks for, times 100, in parts of [`SCORE_SCALE`].
///
/// A lane counts where the request and its weight are above zero. A node without any of it gets
/// nothing for it, yet its weight stays in the divisor; a node that would be over in one of them gets
/// nothing at all.
///
/// # Panics
///
/// If the slices differ in length.
pub fn binpack(
    request: &Lanes,
    weights: &[i64; LANES],
    weight: i64,
    used: &[Lanes],
    allocatable: &[Lanes],
    out: &mut [i64],
) {
    let lanes = Weighted::new(weights, |lane| request.0[lane] > 0);
    if lanes.total == 0 {
        return;
    }
    let (mut wholes, divisor) = ([Whole::ONE; LANES], Whole::new(lanes.total));
    for_each_row((used, allocatable), out, weight, |used, allocatable| {
        let mut sum = 0;
        for &(lane, weight) in lanes.iter() {
            let whole = allocatable.0[lane];
            if whole <= 0 {
                continue;
            }
            // The request is above zero here: a sum that overflows is over.
            match used.0[lane].checked_add(request.0[lane]) {
                Some(wanted) if wanted <= whole => {
                    let divisor = wholes[lane].of(whole);
                    sum += weight * divisor.share(wanted.max(0), POINTS * SCORE_SCALE);
                }
                _ => return 0,
            }
        }
        divisor.share(sum, 1)
    });
}

/// Adds `weight * score(used, allocatable)` to each row, without running over the ends of `i64`.
#[inline]
fn for_each_row(
    (used, allocatable): (&[Lanes], &[Lanes]),
    out: &mut [i64],
    weight: i64,
    mut score: impl FnMut(&Lanes, &Lanes) -> i64,
) {
    assert_eq!(used.len(), out.len(), "one score for each row");
    assert_eq!(allocatable.len(), out.len(), "columns of one table");
    for ((used, allocatable), out) in used.iter().zip(allocatable).zip(out) {
        *out = out.saturating_add(score(used, allocatable).saturating_mul(weight));
    }
}

/// The same four rows at a time: whole points for those `four` can do, `one` by one the others.
#[inline]
fn by_four(
    (used, allocatable): (&[Lanes], &[Lanes]),
    out: &mut [i64],
    weight: i64,
    mut four: impl FnMut(&[Lanes; quad::ROWS], &[Lanes; quad::ROWS]) -> Option<f64x4>,
    mut one: impl FnMut(&Lanes, &Lanes) -> i64,
) {
    assert_eq!(used.len(), out.len(), "one score for each row");
    assert_eq!(allocatable.len(), out.len(), "columns of one table");
    let (used, used_rest) = used.as_chunks::<{ quad::ROWS }>();
    let (allocatable, allocatable_rest) = allocatable.as_chunks::<{ quad::ROWS }>();
    let (out, out_rest) = out.as_chunks_mut::<{ quad::ROWS }>();
    for ((used, allocatable), out) in used.iter().zip(allocatable).zip(out) {
        let Some(points) = four(used, allocatable) else {
            for_each_row((used, allocatable), out, weight, &mut one);
            continue;
        };
        for (out, points) in out.iter_mut().zip(points.to_array()) {
            let score = points as i64 * SCORE_SCALE;
            *out = out.saturating_add(score.saturating_mul(weight));
        }
    }
    for_each_row((used_rest, allocatable_rest), out_rest, weight, one);
}

/// Lanes that count, with their weights.
struct Weighted {
    lanes: [(usize, i64); LANES],
    count: usize,
    total: i64,
}

impl Weighted {
    /// So that the sum of all weights times the largest score of a lane fits an `i64`.
    const TOTAL_MAX: i64 = i64::MAX / (POINTS * SCORE_SCALE);

    fn new(weights: &[i64; LANES], counts: impl Fn(usize) -> bool) -> Self {
        let mut lanes = [(0, 0); LANES];
        let mut count = 0;
        for (lane, &weight) in weights.iter().enumerate() {
            if weight > 0 && counts(lane) {
                lanes[count] = (lane, weight);
                count += 1;
            }
        }
        // Weights of this size are typing errors; keep their proportions as far as they go.
        while lanes.iter().map(|lane| i128::from(lane.1)).sum::<i128>() > Self::TOTAL_MAX.into() {
            for lane in &mut lanes {
                lane.1 /= 2;
            }
        }
        let total = lanes.iter().map(|lane| lane.1).sum();
        Self { lanes, count, total }
    }

    fn iter(&self) -> std::slice::Iter<'_, (usize, i64)> {
        self.lanes[..self.count].iter()
    }
}

/// What would be used, within `0..=whole`.
#[inline]
fn wanted(used: i64, request: i64, whole: i64) -> i64 {
    used.saturating_add(request).clamp(0, whole)
}

/// `part * scale / whole`, rounded down, for `0 <= part <= whole`, `0 < whole` and `0 < scale < 2^50`.
#[inline]
pub(crate) fn share(part: i64, whole: i64, scale: i64) -> i64 {
    debug_assert!((0..=whole).contains(&part) && whole > 0 && (1..1 << 50).contains(&scale));
    Whole::new(whole).share(part, scale)
}

/// Something above zero to divide by. Nodes come in few sizes: the next row mostly has the same.
#[derive(Clone, Copy)]
struct Whole {
    whole: i64,
    inverse: f64,
}

impl Whole {
    const ONE: Self = Self { whole: 1, inverse: 1.0 };

    #[inline]
    fn new(whole: i64) -> Self {
        Self { whole, inverse: 1.0 / whole as f64 }
    }

    /// The same for another number, without a division if it is the same number.
    #[inline]
    fn of(&mut self, whole: i64) -> Self {
        if self.whole != whole {
            *self = Self::new(whole);
        }
        *self
    }

    /// `part * scale / whole`, rounded down, for `0 <= part`, `0 < scale` and a quotient below 2^50.
    ///
    /// The product does not fit an `i64` (memory is counted in bytes), and dividing 128 bits is slow.
    /// So a float guesses: six roundings of 2^-53 each on a quotient below 2^50 leave the guess less
    /// than one away, hence its floor at most one away. The rest of the division tells which way; it
    /// is computed modulo 2^64, which is exact because it lies within `-whole..2 * whole`.
    #[inline]
    fn share(self, part: i64, scale: i64) -> i64 {
        let Self { whole, inverse } = self;
        if whole > 1 << 62 {
            return (i128::from(part) * i128::from(scale) / i128::from(whole)) as i64;
        }
        let guess = (part as f64 * scale as f64 * inverse) as i64;
        let rest = part.wrapping_mul(scale).wrapping_sub(guess.wrapping_mul(whole));
        guess + i64::from(rest >= whole) - i64::from(rest < 0)
    }
}

/// What the standard deviation of the fullness of lanes needs, in [`PARTS`].
struct LaneSpread {
    count: u64,
    sum: u64,
    /// Modulo 2^64.
    sum_of_squares: u64,
    min: u64,
    max: u64,
}

impl LaneSpread {
    const NONE: Self = Self { count: 0, sum: 0, sum_of_squares: 0, min: u64::MAX, max: 0 };

    #[inline]
    fn add(&mut self, fullness: i64) {
        let fullness = fullness as u64;
        self.count += 1;
        self.sum += fullness;
        self.sum_of_squares = self.sum_of_squares.wrapping_add(fullness * fullness);
        self.min = self.min.min(fullness);
        self.max = self.max.max(fullness);
    }

    /// `100 - ceil(100 * std)` points, exactly. Of two lanes the deviation is half the difference,
    /// of one or none it is nothing.
    #[inline]
    fn evenness(&self) -> i64 {
        let off = match self.count {
            0 | 1 => 0,
            2 => (100 * (self.max - self.min)).div_ceil(2 * PARTS as u64),
            _ => self.deviation(),
        };
        POINTS - off as i64
    }

    /// `ceil(100 * std)` of any number of lanes.
    ///
    /// With `n` lanes and fullness `f`, `(n * PARTS * std)^2 = n * Σf² - (Σf)²`. It is at most
    /// `(n * PARTS / 2)^2`, below 2^64 for eight lanes, so computing it modulo 2^64 is exact.
    #[inline]
    fn deviation(&self) -> u64 {
        let squared = self.sum.wrapping_mul(self.sum);
        let spread = self.count.wrapping_mul(self.sum_of_squares).wrapping_sub(squared);
        let one = self.count * PARTS as u64;
        let reaches = |points: u64| {
            let scaled = u128::from(points * one);
            scaled * scaled >= u128::from(spread) * 10_000
        };
        // The smallest number of points that reaches: guessed, then put right.
        let mut points = ((spread as f64).sqrt() * 100.0 / one as f64).ceil() as u64;
        while !reaches(points) {
            points += 1;
        }
        while points > 0 && reaches(points - 1) {
            points -= 1;
        }
        points
    }
}

#[cfg(test)]
mod tests;
