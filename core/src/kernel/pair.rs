//! Emptiness, fullness and balance of two lanes in one pass.
//!
//! The scores are those of [`ratio`], which has a kernel for each. They have much in common: amounts are
//! read, checked and turned into floats once, four rows at a time, and points are added up before they
//! are turned back.

use std::slice;

use wide::{f64x4, i64x4};

use super::lanes::{LANES, Lanes};
use super::quad::{FUSED, Quad, ROWS, Wholes, column};
use super::ratio::{self, SCORE_SCALE};

/// How much each score counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Weights {
    /// Of [`ratio::least_requested`], both lanes counting alike.
    pub least: i64,
    /// Of [`ratio::most_requested`], both lanes counting alike.
    pub most: i64,
    /// Of [`ratio::balanced`].
    pub balanced: i64,
}

impl Weights {
    /// Sums of points times weights from here on are not for floats.
    const LIMIT: i64 = 1 << 20;

    fn are_small(self) -> bool {
        [self.least, self.most, self.balanced].iter().all(|weight| weight.abs() < Self::LIMIT)
    }
}

/// Adds all three scores to each row.
///
/// # Panics
///
/// If the slices differ in length, or the lanes are not two different ones below [`LANES`].
pub fn score(
    request: &Lanes,
    lanes: [usize; 2],
    weights: Weights,
    used: &[Lanes],
    allocatable: &[Lanes],
    out: &mut [i64],
) {
    assert!(lanes[0] != lanes[1], "two lanes");
    assert_eq!(used.len(), out.len(), "one score for each row");
    assert_eq!(allocatable.len(), out.len(), "columns of one table");
    let columns = (used, allocatable);
    if !FUSED || !weights.are_small() || !lanes.into_iter().all(|at| Quad::takes(request.0[at])) {
        return one_by_one(request, lanes, weights, columns, out);
    }
    match lanes {
        // Where the lanes are known, and lie side by side, both are read at once.
        [0, 1] => by_four(request, [0, 1], weights, columns, out),
        lanes => by_four(request, lanes, weights, columns, out),
    }
}

#[inline(always)]
#[expect(clippy::inline_always, reason = "made once for the lanes almost everybody reads")]
fn by_four(
    request: &Lanes,
    lanes: [usize; 2],
    weights: Weights,
    (used, allocatable): (&[Lanes], &[Lanes]),
    out: &mut [i64],
) {
    let (used, used_rest) = used.as_chunks::<ROWS>();
    let (wholes, wholes_rest) = allocatable.as_chunks::<ROWS>();
    let (out, out_rest) = out.as_chunks_mut::<ROWS>();
    let terms = Terms::new(lanes.map(|lane| request.0[lane]), weights);
    let mut sizes = [Wholes::NONE; 2];
    for ((used, wholes), out) in used.iter().zip(wholes).zip(out) {
        let of = |rows: &[Lanes; ROWS]| [column(rows, lanes[0]), column(rows, lanes[1])];
        let quads = Quad::several(of(used), of(wholes), &mut sizes);
        match quads.and_then(|quads| added(out, terms.weighted(quads))) {
            Some(sum) => *out = sum,
            None => one_by_one(request, lanes, weights, (used, wholes), out),
        }
    }
    // Mostly a single row that has changed: it is taken as four of the same.
    for ((used, whole), out) in used_rest.iter().zip(wholes_rest).zip(out_rest) {
        let of = |row: &Lanes| lanes.map(|lane| i64x4::splat(row.0[lane]));
        let quads = Quad::several(of(used), of(whole), &mut sizes);
        let sum = quads.and_then(|quads| added(&[*out; ROWS], terms.weighted(quads)));
        if let Some([sum, ..]) = sum {
            *out = sum;
        } else {
            let columns = (slice::from_ref(used), slice::from_ref(whole));
            one_by_one(request, lanes, weights, columns, slice::from_mut(out));
        }
    }
}

/// What is the same for all rows, four times side by side.
struct Terms {
    asks: [f64x4; 2],
    weights: Weights,
    least: f64x4,
    most: f64x4,
    balanced: f64x4,
}

impl Terms {
    #[inline]
    fn new(asks: [i64; 2], weights: Weights) -> Self {
        let float = |weight: i64| f64x4::splat(weight as f64);
        let Weights { least, most, balanced } = weights;
        let asks = asks.map(Quad::ask);
        Self { asks, weights, least: float(least), most: float(most), balanced: float(balanced) }
    }

    /// The points of four rows times their weights, all together.
    #[inline]
    fn weighted(&self, quads: [Quad; 2]) -> f64x4 {
        let ([a, b], [ask_a, ask_b]) = (quads, self.asks);
        let mean = |of: fn(Quad, f64x4) -> f64x4| {
            let points = f64x4::splat(100.0);
            let sum = a.share(of(a, ask_a), points) + b.share(of(b, ask_b), points);
            (sum * f64x4::splat(0.5)).floor()
        };
        let mut sum = f64x4::ZERO;
        if self.weights.least != 0 {
            sum += mean(Quad::left) * self.least;
        }
        if self.weights.most != 0 {
            sum += mean(Quad::wanted) * self.most;
        }
        if self.weights.balanced != 0 {
            sum += ratio::balance(quads, self.asks) * self.balanced;
        }
        sum
    }
}

/// Scores with a number of points added; `None` if one of them does not fit.
#[inline]
fn added(scores: &[i64; ROWS], points: f64x4) -> Option<[i64; ROWS]> {
    let scores = i64x4::new(*scores);
    let more = super::quad::whole(points * f64x4::splat(SCORE_SCALE as f64));
    let sum = scores + more;
    // The sum is off if both parts have the sign it has not.
    let off = (scores ^ sum) & (more ^ sum);
    (!off.simd_lt(i64x4::ZERO).any()).then(|| sum.to_array())
}

/// The same with a kernel for each score. They are added up first, so that it makes no difference which
/// way a row takes, even at the ends of the range.
fn one_by_one(
    request: &Lanes,
    lanes: [usize; 2],
    Weights { least, most, balanced }: Weights,
    (used, allocatable): (&[Lanes], &[Lanes]),
    out: &mut [i64],
) {
    let mut both = [0; LANES];
    for lane in lanes {
        both[lane] = 1;
    }
    let rows = used.chunks(ROWS).zip(allocatable.chunks(ROWS)).zip(out.chunks_mut(ROWS));
    for ((used, allocatable), out) in rows {
        let mut more = [0; ROWS];
        let more = &mut more[..out.len()];
        if least != 0 {
            ratio::least_requested(request, &both, least, used, allocatable, more);
        }
        if most != 0 {
            ratio::most_requested(request, &both, most, used, allocatable, more);
        }
        if balanced != 0 {
            ratio::balanced(request, &lanes, balanced, used, allocatable, more);
        }
        out.iter_mut().zip(more).for_each(|(out, more)| *out = out.saturating_add(*more));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lanes::tests::{any_columns, any_lanes};
    use super::*;

    fn any_weight() -> impl Strategy<Value = i64> {
        prop_oneof![4 => -2_i64..5, 1 => Just((1 << 20) - 1), 1 => any::<i64>()]
    }

    /// Amounts as nodes have them.
    fn amounts(rows: Vec<Lanes>) -> Vec<Lanes> {
        rows.into_iter().map(|row| Lanes(row.0.map(|lane| lane.rem_euclid(1 << 38)))).collect()
    }

    proptest! {
        #[test]
        fn all_three_at_once_are_all_three_in_turn(
            request in any_lanes(),
            [used, allocatable] in any_columns::<2>(),
            (least, most, balanced) in (any_weight(), any_weight(), any_weight()),
            start in prop_oneof![4 => -9_i64..9, 1 => Just(i64::MAX - 5), 1 => Just(i64::MIN + 5)],
            lanes in prop_oneof![Just([0, 1]), Just([4, 2])],
            ordinary in any::<bool>(),
        ) {
            let weights = Weights { least, most, balanced };
            let columns = (used, allocatable);
            let (used, allocatable) =
                if ordinary { (amounts(columns.0), amounts(columns.1)) } else { columns };
            let (mut got, mut want) = (vec![start; used.len()], vec![start; used.len()]);
            score(&request, lanes, weights, &used, &allocatable, &mut got);
            for row in 0..used.len() {
                let (row, out) = (row..=row, &mut want[row..=row]);
                let columns = (&used[row.clone()], &allocatable[row]);
                one_by_one(&request, lanes, weights, columns, out);
            }
            prop_assert_eq!(got, want);
        }
    }
}
