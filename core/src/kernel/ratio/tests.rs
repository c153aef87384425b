//! Scores by example, and twins that do everything in 128 bits.

use proptest::prelude::*;

use super::super::lanes::tests::{any_columns, any_lanes};
use super::*;

const CPU: usize = 0;
const MEMORY: usize = 1;
const GPU: usize = 4;
const GI: i64 = 1 << 30;

fn lanes(entries: &[(usize, i64)]) -> Lanes {
    let mut lanes = Lanes::ZERO;
    for &(lane, amount) in entries {
        lanes.0[lane] = amount;
    }
    lanes
}

fn weights(entries: &[(usize, i64)]) -> [i64; LANES] {
    lanes(entries).0
}

type Kernel = fn(&Lanes, &[i64; LANES], i64, &[Lanes], &[Lanes], &mut [i64]);

fn scored(
    kernel: Kernel,
    weights: &[i64; LANES],
    request: Lanes,
    used: Lanes,
    allocatable: Lanes,
) -> i64 {
    let mut out = [7];
    kernel(&request, weights, 3, &[used], &[allocatable], &mut out);
    let score = out[0] - 7;
    assert_eq!(score % 3, 0, "the weight multiplies");
    score / 3
}

#[test]
fn least_requested_is_the_mean_of_whole_points_left() {
    let halves = weights(&[(CPU, 50), (MEMORY, 50)]);
    let allocatable = lanes(&[(CPU, 4000), (MEMORY, 10 * GI)]);
    let request = lanes(&[(CPU, 1000), (MEMORY, GI)]);
    let score = |used| scored(least_requested, &halves, request, used, allocatable);
    // 75 and 90 points, mean 82.5 rounded down.
    assert_eq!(score(Lanes::ZERO), 82 * SCORE_SCALE);
    // cpu over: no points for it; memory 80.
    assert_eq!(score(lanes(&[(CPU, 3001), (MEMORY, GI)])), 40 * SCORE_SCALE);
}

#[test]
fn most_requested_is_the_mean_of_whole_points_taken() {
    let even = weights(&[(CPU, 1), (MEMORY, 1)]);
    let allocatable = lanes(&[(CPU, 3000), (MEMORY, 10 * GI)]);
    let request = lanes(&[(CPU, 1000), (MEMORY, GI)]);
    let score = |used| scored(most_requested, &even, request, used, allocatable);
    // 33 and 10 points.
    assert_eq!(score(Lanes::ZERO), 21 * SCORE_SCALE);
    // What would be over counts as full.
    assert_eq!(score(lanes(&[(CPU, 9000), (MEMORY, 9 * GI)])), 100 * SCORE_SCALE);
}

#[test]
fn lanes_a_node_does_not_have_leave_the_mean() {
    let even = weights(&[(CPU, 1), (GPU, 1)]);
    let request = lanes(&[(CPU, 1), (GPU, 1)]);
    let allocatable = lanes(&[(CPU, 4)]);
    assert_eq!(scored(most_requested, &even, request, Lanes::ZERO, allocatable), 25 * SCORE_SCALE);
    assert_eq!(scored(most_requested, &even, request, Lanes::ZERO, Lanes::ZERO), 0);
    assert_eq!(scored(least_requested, &[0; LANES], request, Lanes::ZERO, allocatable), 0);
}

fn balance(lanes: &[usize], request: Lanes, used: Lanes, allocatable: Lanes) -> i64 {
    let mut out = [0];
    balanced(&request, lanes, 1, &[used], &[allocatable], &mut out);
    assert_eq!(out[0] % SCORE_SCALE, 0, "whole points");
    out[0] / SCORE_SCALE
}

#[test]
fn a_request_that_keeps_the_balance_scores_the_middle() {
    let allocatable = lanes(&[(CPU, 4000), (MEMORY, 8 * GI)]);
    let request = lanes(&[(CPU, 1000), (MEMORY, 2 * GI)]);
    assert_eq!(balance(&[CPU, MEMORY], request, Lanes::ZERO, allocatable), 75);
    // One lane is always even, and so is none.
    assert_eq!(balance(&[CPU], request, Lanes::ZERO, allocatable), 75);
    assert_eq!(balance(&[], request, Lanes::ZERO, allocatable), 75);
    assert_eq!(balance(&[GPU], request, Lanes::ZERO, allocatable), 75);
}

#[test]
fn a_request_that_mends_the_balance_scores_more_than_one_that_breaks_it() {
    let allocatable = lanes(&[(CPU, 4000), (MEMORY, 8 * GI)]);
    let used = lanes(&[(MEMORY, 8 * GI)]);
    let cpu = lanes(&[(CPU, 4000)]);
    // From 50 points to 100 and the other way round.
    assert_eq!(balance(&[CPU, MEMORY], cpu, used, allocatable), 100);
    assert_eq!(balance(&[CPU, MEMORY], cpu, Lanes::ZERO, allocatable), 50);
}

#[test]
fn three_lanes_use_the_population_deviation() {
    let allocatable = lanes(&[(CPU, 1000), (MEMORY, GI), (GPU, 8000)]);
    let request = lanes(&[(GPU, 8000)]);
    // Fullness 0, 0, 1: deviation 0.4714, 52 points against 100 before.
    assert_eq!(balance(&[CPU, MEMORY, GPU], request, Lanes::ZERO, allocatable), 50 + 2 / 2);
}

fn deviation(fullness: &[i64]) -> u64 {
    let mut spread = LaneSpread::NONE;
    for &fullness in fullness {
        spread.add(fullness);
    }
    spread.deviation()
}

#[test]
fn deviations_a_hair_above_a_whole_point_are_not_lost_in_the_guess() {
    // Squared, these lie less than one part in 10^17 above 35, 40 and 42 points: no float tells.
    for (points, x, y) in
        [(35, 737_640_574, 9_550_943), (40, 845_885_490, 5_260_832), (42, 880_161_794, 21_206_879)]
    {
        assert_eq!(deviation(&[x + y, y, 0]), points + 1);
        assert_eq!(deviation(&[y, x + y - 1, 0]), points);
    }
    let even_split = |high, low| deviation(&[high, high, high, high, low, low, low, low]);
    assert_eq!(even_split(PARTS, 0), 50);
    assert_eq!(even_split(20_000_000, 0), 1);
    assert_eq!(even_split(20_000_001, 0), 2);
}

#[test]
fn binpack_keeps_fractions_of_a_point() {
    let even = weights(&[(CPU, 1), (MEMORY, 1)]);
    let request = lanes(&[(CPU, 1000), (MEMORY, 0)]);
    let score = |used, all| scored(binpack, &even, request, used, lanes(&[(CPU, all)]));
    assert_eq!(score(Lanes::ZERO, 3000), 33_333_333);
    assert_eq!(score(lanes(&[(CPU, 2000)]), 3000), 100 * SCORE_SCALE);
    assert_eq!(score(lanes(&[(CPU, 2001)]), 3000), 0);
    // Over by more than the type holds is over all the same.
    assert_eq!(score(lanes(&[(CPU, i64::MAX)]), i64::MAX), 0);
}

#[test]
fn binpack_weighs_lanes_and_keeps_the_weight_of_one_the_node_lacks() {
    let weights = weights(&[(CPU, 1), (MEMORY, 2), (GPU, 5)]);
    let allocatable = lanes(&[(CPU, 4000), (MEMORY, 4 * GI)]);
    let half = lanes(&[(CPU, 2000), (MEMORY, GI)]);
    // (1 * 50 + 2 * 25) / 3
    assert_eq!(scored(binpack, &weights, half, Lanes::ZERO, allocatable), 33_333_333);
    let with_gpu = lanes(&[(CPU, 2000), (MEMORY, GI), (GPU, 1)]);
    // The same sum over 8.
    assert_eq!(scored(binpack, &weights, with_gpu, Lanes::ZERO, allocatable), 12_500_000);
}

#[test]
fn a_full_lane_without_weight_does_not_spoil_binpack() {
    let only_cpu = weights(&[(CPU, 1)]);
    let request = lanes(&[(CPU, 1), (MEMORY, 5)]);
    let allocatable = lanes(&[(CPU, 2), (MEMORY, 4)]);
    let half = 50 * SCORE_SCALE;
    assert_eq!(scored(binpack, &only_cpu, request, Lanes::ZERO, allocatable), half);
    assert_eq!(scored(binpack, &[0; LANES], request, Lanes::ZERO, allocatable), 0);
}

#[test]
fn memory_of_a_large_node_keeps_its_precision() {
    let only_memory = weights(&[(MEMORY, 1)]);
    let request = lanes(&[(MEMORY, 1)]);
    let allocatable = lanes(&[(MEMORY, 1 << 50)]);
    let used = lanes(&[(MEMORY, (1 << 49) - 2)]);
    assert_eq!(scored(binpack, &only_memory, request, used, allocatable), 49_999_999);
    let used = lanes(&[(MEMORY, (1 << 49) - 1)]);
    assert_eq!(scored(binpack, &only_memory, request, used, allocatable), 50_000_000);
}

#[test]
fn scores_and_weights_without_measure_stay_within_their_type() {
    let mut out = [i64::MAX - 1, i64::MIN + 1];
    let (used, allocatable) = ([Lanes::ZERO; 2], [Lanes([1; LANES]); 2]);
    let request = Lanes([1; LANES]);
    most_requested(&request, &[i64::MAX; LANES], i64::MAX, &used, &allocatable, &mut out);
    assert_eq!(out, [i64::MAX, 0]);
    binpack(&request, &[i64::MAX; LANES], i64::MIN, &used, &allocatable, &mut out);
    assert_eq!(out, [-1, i64::MIN]);
}

// ---- twins ----

fn points(part: i128, whole: i128, scale: i128) -> i128 {
    part * scale / whole
}

fn mean_naively(
    request: &Lanes,
    weights: &[i64; LANES],
    used: &Lanes,
    all: &Lanes,
    part: fn(i128, i128) -> i128,
) -> i128 {
    let (mut sum, mut total) = (0, 0);
    for (lane, &weight) in weights.iter().enumerate() {
        let (weight, whole) = (i128::from(weight), i128::from(all.0[lane]));
        if weight > 0 && whole > 0 {
            let wanted = (i128::from(used.0[lane]) + i128::from(request.0[lane])).clamp(0, whole);
            sum += weight * points(part(wanted, whole), whole, 100);
            total += weight;
        }
    }
    if total == 0 { 0 } else { sum / total * i128::from(SCORE_SCALE) }
}

fn binpack_naively(request: &Lanes, weights: &[i64; LANES], used: &Lanes, all: &Lanes) -> i128 {
    let (mut sum, mut total) = (0, 0);
    for (lane, &weight) in weights.iter().enumerate() {
        let [weight, ask, used, whole] =
            [weight, request.0[lane], used.0[lane], all.0[lane]].map(i128::from);
        if weight <= 0 || ask <= 0 {
            continue;
        }
        total += weight;
        if whole > 0 {
            if used + ask > whole {
                return 0;
            }
            sum += weight * points((used + ask).max(0), whole, 100 * i128::from(SCORE_SCALE));
        }
    }
    if total == 0 { 0 } else { sum / total }
}

fn evenness_naively(fullness: &[i128]) -> i128 {
    let count = fullness.len() as i128;
    let sum: i128 = fullness.iter().sum();
    let spread = count * fullness.iter().map(|f| f * f).sum::<i128>() - sum * sum;
    let one = count * i128::from(PARTS);
    100 - (0..=100).find(|d| (d * one) * (d * one) >= spread * 10_000).unwrap()
}

fn balanced_naively(request: &Lanes, lanes: &[usize], used: &Lanes, all: &Lanes) -> i128 {
    let (mut with, mut without) = (vec![], vec![]);
    for &lane in lanes {
        let [ask, used, whole] = [request.0[lane], used.0[lane], all.0[lane]].map(i128::from);
        if whole > 0 {
            with.push(points((used + ask).clamp(0, whole), whole, PARTS.into()));
            without.push(points(used.clamp(0, whole), whole, PARTS.into()));
        }
    }
    (50 + (50 + evenness_naively(&with) - evenness_naively(&without)) / 2) * i128::from(SCORE_SCALE)
}

/// Amounts as clusters have them beside the extremes.
fn any_amounts() -> impl Strategy<Value = [Vec<Lanes>; 2]> {
    let row = |amount: BoxedStrategy<i64>| prop::array::uniform8(amount).prop_map(Lanes);
    let cluster = prop::collection::vec(
        (row((0i64..1 << 40).boxed()), row((1i64 << 36..1 << 44).boxed())),
        0..20,
    );
    prop_oneof![any_columns::<2>(), cluster.prop_map(|rows| rows.into_iter().unzip().into())]
}

fn any_weights() -> impl Strategy<Value = [i64; LANES]> {
    prop::array::uniform8(prop_oneof![-1i64..4, 0i64..1000])
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1000))]

    #[test]
    fn shares_are_exact(
        (part, whole) in (1..=i64::MAX).prop_flat_map(|whole| (0..=whole, Just(whole))),
        shift in 0u32..63,
        scale in prop_oneof![Just(POINTS), Just(PARTS), Just(POINTS * SCORE_SCALE), 1i64..1 << 50],
    ) {
        let (part, whole) = (part >> shift, (whole >> shift).max(1));
        let exact = i128::from(part) * i128::from(scale) / i128::from(whole);
        prop_assert_eq!(i128::from(share(part, whole, scale)), exact);
        // And where the quotient is a whole number, or just not one.
        let step = whole / scale.min(whole);
        for interpod in [step - 1, step, step + 1] {
            let interpod = interpod.clamp(0, whole);
            let exact = i128::from(interpod) * i128::from(scale) / i128::from(whole);
            prop_assert_eq!(i128::from(share(interpod, whole, scale)), exact);
        }
    }

    #[test]
    fn means_of_points_equal_the_naive_ones(
        request in any_lanes(), weights in any_weights(), [used, all] in any_amounts(),
        weight in -3i64..10,
    ) {
        let (mut least, mut most) = (vec![5; used.len()], vec![5; used.len()]);
        least_requested(&request, &weights, weight, &used, &all, &mut least);
        most_requested(&request, &weights, weight, &used, &all, &mut most);
        for row in 0..used.len() {
            let naive = |part| {
                let mean = mean_naively(&request, &weights, &used[row], &all[row], part);
                5 + i128::from(weight) * mean
            };
            prop_assert_eq!(i128::from(least[row]), naive(|wanted, whole| whole - wanted));
            prop_assert_eq!(i128::from(most[row]), naive(|wanted, _| wanted));
        }
    }

    #[test]
    fn balance_equals_the_naive_one(
        request in any_lanes(), [used, all] in any_amounts(),
        lanes in prop::sample::subsequence((0..LANES).collect::<Vec<_>>(), 0..=LANES),
        weight in -3i64..10,
    ) {
        let mut out = vec![5; used.len()];
        balanced(&request, &lanes, weight, &used, &all, &mut out);
        for row in 0..used.len() {
            let naive = balanced_naively(&request, &lanes, &used[row], &all[row]);
            prop_assert_eq!(i128::from(out[row]), 5 + i128::from(weight) * naive);
        }
    }

    #[test]
    fn binpack_equals_the_naive_one(
        request in any_lanes(), weights in any_weights(), [used, all] in any_amounts(),
        weight in -3i64..10,
    ) {
        let mut out = vec![5; used.len()];
        binpack(&request, &weights, weight, &used, &all, &mut out);
        for row in 0..used.len() {
            let naive = binpack_naively(&request, &weights, &used[row], &all[row]);
            prop_assert_eq!(i128::from(out[row]), 5 + i128::from(weight) * naive);
        }
    }
}

/// Amounts as clusters have them, with a node now and then that has none of something or is over.
fn any_room() -> impl Strategy<Value = [Lanes; 2]> {
    let whole = prop_oneof![9 => 1_i64..1 << 45, 1 => 0_i64..4];
    prop::array::uniform8((whole, 0_i64..1200)).prop_map(|lanes| {
        let used = lanes.map(|(whole, part)| (i128::from(whole) * i128::from(part) / 1000) as i64);
        [Lanes(used), Lanes(lanes.map(|(whole, _)| whole))]
    })
}

proptest! {
    #[test]
    fn rows_score_the_same_alone_and_among_others(
        rows in prop::collection::vec(any_room(), 0..24),
        request in prop::array::uniform8(0_i64..1 << 40).prop_map(Lanes),
        weights in prop::array::uniform8(0_i64..4),
    ) {
        let [used, whole] = [0, 1].map(|at| rows.iter().map(|row| row[at]).collect::<Vec<_>>());
        let kernels: [Kernel; 3] = [least_requested, most_requested, |request, _, weight, used, whole, out| {
            balanced(request, &[CPU, MEMORY], weight, used, whole, out);
        }];
        for kernel in kernels {
            let (mut together, mut alone) = (vec![5; rows.len()], vec![5; rows.len()]);
            kernel(&request, &weights, 2, &used, &whole, &mut together);
            for (row, out) in alone.chunks_mut(1).enumerate() {
                kernel(&request, &weights, 2, &used[row..=row], &whole[row..=row], out);
            }
            prop_assert_eq!(together, alone);
        }
    }
}
