//! What victims give and what their jobs lose, both in parts of what is needed.
//!
//! Per bundle and lane of the need: gain is the part of the need that the bundle frees where it is
//! needed, at most all of it; cost is what its job loses everywhere, in the same unit. A lane nobody
//! needs does not count. Efficiency is gain by cost.
//!
//! Floating point, because a division a lane in integers is forty times slower. Every operation is a
//! single IEEE one in a fixed order, so the result is the same for any vector width and any number of
//! threads; what is compared is the efficiency as a whole number.

use wide::f64x4;

use super::lanes::{LANES, Lanes};

/// Efficiency of a bundle that costs nothing.
pub const FREE: i64 = i64::MAX;
/// Parts an efficiency of one is made of.
pub const PARTS: i64 = 1_000_000;

/// Writes gain and cost of each bundle.
///
/// # Panics
///
/// If the slices differ in length.
pub fn gain_and_cost(
    need: &Lanes,
    local: &[Lanes],
    global: &[Lanes],
    gains: &mut [f64],
    costs: &mut [f64],
) {
    assert_eq!(local.len(), global.len(), "columns of one table");
    assert_eq!(local.len(), gains.len(), "one gain for each bundle");
    assert_eq!(local.len(), costs.len(), "one cost for each bundle");
    let whole = halves(need);
    let parts = whole.map(|half| f64x4::new(half.to_array().map(part)));
    let bundles = local.iter().zip(global).zip(gains.iter_mut().zip(costs));
    for ((local, global), (gain, cost)) in bundles {
        (*gain, *cost) = (0.0, 0.0);
        let sides = halves(local).into_iter().zip(halves(global));
        for ((local, global), (whole, part)) in sides.zip(whole.into_iter().zip(parts)) {
            *gain += in_order(local.fast_min(whole) * part);
            *cost += in_order(global * part);
        }
    }
}

/// Gain by cost in [`PARTS`]; a bundle that costs nothing is [`FREE`].
pub fn efficiency(gain: f64, cost: f64) -> i64 {
    if cost <= 0.0 { FREE } else { (gain / cost * PARTS as f64).round() as i64 }
}

fn halves(lanes: &Lanes) -> [f64x4; 2] {
    let float = |lane: usize| lanes.0[lane].max(0) as f64;
    let half = |from: usize| f64x4::new(std::array::from_fn(|at| float(from + at)));
    [half(0), half(LANES / 2)]
}

/// What one unit of a lane is of the need; nothing where nothing is needed.
fn part(need: f64) -> f64 {
    if need > 0.0 { 1.0 / need } else { 0.0 }
}

fn in_order(lanes: f64x4) -> f64 {
    lanes.to_array().into_iter().sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::lanes::tests::{any_columns, any_lanes};
    use super::*;

    fn lanes(cpu: i64, memory: i64, gpu: i64) -> Lanes {
        Lanes([cpu, memory, 0, 0, gpu, 0, 0, 0])
    }

    /// Gain, cost and efficiency of one bundle.
    fn roi(need: Lanes, local: Lanes, global: Lanes) -> (f64, f64, i64) {
        let (mut gains, mut costs) = ([0.0], [0.0]);
        gain_and_cost(&need, &[local], &[global], &mut gains, &mut costs);
        (gains[0], costs[0], efficiency(gains[0], costs[0]))
    }

    #[test]
    fn a_job_spread_over_domains_pays_less_than_a_local_one() {
        let need = lanes(0, 0, 2);
        assert_eq!(roi(need, lanes(0, 0, 2), lanes(0, 0, 4)), (1.0, 2.0, PARTS / 2));
        assert_eq!(roi(need, lanes(0, 0, 2), lanes(0, 0, 2)), (1.0, 1.0, PARTS));
    }

    #[test]
    fn part_of_the_need_at_a_small_cost_pays() {
        let need = lanes(10, 0, 0);
        assert_eq!(roi(need, lanes(10, 0, 0), lanes(20, 0, 0)), (1.0, 2.0, PARTS / 2));
        assert_eq!(roi(need, lanes(2, 0, 0), lanes(2, 0, 0)), (0.2, 0.2, PARTS));
    }

    #[test]
    fn several_resources_add_up() {
        let need = lanes(4, 16, 0);
        assert_eq!(roi(need, lanes(4, 4, 0), lanes(4, 4, 0)), (1.25, 1.25, PARTS));
        assert_eq!(roi(need, lanes(2, 8, 0), lanes(2, 8, 0)), (1.0, 1.0, PARTS));
    }

    #[test]
    fn what_nobody_asked_for_does_not_count() {
        let need = lanes(4, 0, 0);
        assert_eq!(roi(need, lanes(4, 0, 0), lanes(4, 0, 0)), (1.0, 1.0, PARTS));
        assert_eq!(roi(need, lanes(4, 0, 1), lanes(4, 0, 1)), (1.0, 1.0, PARTS));
        assert_eq!(roi(need, lanes(9, 0, 0), Lanes::ZERO).2, FREE);
    }

    proptest! {
        #[test]
        fn equals_the_formula_lane_by_lane(need in any_lanes(), columns in any_columns::<2>()) {
            let [local, global] = columns;
            let (mut gains, mut costs) = (vec![0.0; local.len()], vec![0.0; local.len()]);
            gain_and_cost(&need, &local, &global, &mut gains, &mut costs);
            for at in 0..local.len() {
                let (mut gain, mut cost) = (0.0, 0.0);
                for lane in (0..LANES).filter(|&lane| need.0[lane] > 0) {
                    let whole = need.0[lane] as f64;
                    gain += (local[at].0[lane].max(0) as f64).min(whole) / whole;
                    cost += global[at].0[lane].max(0) as f64 / whole;
                }
                prop_assert!((gains[at] - gain).abs() <= 1e-9 * gain.abs().max(1.0));
                prop_assert!((costs[at] - cost).abs() <= 1e-9 * cost.abs().max(1.0));
            }
        }
    }
}
