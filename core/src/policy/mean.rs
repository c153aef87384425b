//! A score as the weighted mean over the resources a class asks for, in any dimension.

use super::Pairing;
use crate::delta::Packing;
use crate::kernel::ratio::{SCORE_SCALE, share};
use crate::resource::Dim;
use crate::world::NodeColumns;

/// How one resource counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MeanTerm {
    /// Its part in the mean.
    pub(super) weight: i64,
    /// Which nodes are better.
    pub(super) packing: Packing,
}

/// Weights above this are typing errors; the sum over all resources must fit.
const WEIGHT_MAX: i64 = 1_000_000;
/// The best score before its factor.
const BEST: i64 = 100 * SCORE_SCALE;
/// Rows at a time, on the stack.
const ROWS: usize = 64;

/// Adds `factor * 100 * Σ weight * part / Σ weight` to each row, over the resources the class asks for
/// that `term` gives a weight. The part is how full the task would leave the node, or how empty. A node
/// without any of a resource gets nothing for it, its weight stays in the divisor; a node that would be
/// over in one of them gets nothing at all.
pub(super) fn add_mean(
    pairing: &Pairing<'_>,
    factor: i64,
    term: impl Fn(Dim) -> Option<MeanTerm>,
    scores: &mut [i64],
) {
    let request = &pairing.class.request;
    let terms = || {
        let asked = request.iter().filter(|&(_, asked)| asked > 0);
        asked.filter_map(|(dim, asked)| term(dim).map(|term| (dim, asked, term)))
    };
    let total: i64 = terms().map(|entry| entry.2.weight.min(WEIGHT_MAX)).sum();
    if total <= 0 {
        return;
    }
    for first in (0..scores.len()).step_by(ROWS) {
        let rows = first..scores.len().min(first + ROWS);
        let nodes = pairing.nodes.rows(rows.clone());
        let mut sums = [Some(0_i64); ROWS];
        for (dim, asked, term) in terms() {
            for (row, sum) in sums[..rows.len()].iter_mut().enumerate() {
                *sum = sum.and_then(|sum| Some(sum + part(&nodes, row, dim, asked, term)?));
            }
        }
        for (score, sum) in scores[rows].iter_mut().zip(sums) {
            let mean = sum.unwrap_or(0) / total;
            *score = score.saturating_add(mean.saturating_mul(factor));
        }
    }
}

/// The weighted part of one resource on one node; `None` if the node would be over.
fn part(nodes: &NodeColumns<'_>, row: usize, dim: Dim, asked: i64, term: MeanTerm) -> Option<i64> {
    let (whole, used) = match dim.lane() {
        Some(lane) => (nodes.allocatable[row].0[lane], nodes.used[row].0[lane]),
        None => (nodes.tails[row].allocatable.get(dim), nodes.tails[row].used.get(dim)),
    };
    if whole <= 0 {
        return Some(0);
    }
    // A sum that overflows is over.
    let wanted = used.checked_add(asked).filter(|&wanted| wanted <= whole)?.max(0);
    let part = match term.packing {
        Packing::Most => wanted,
        Packing::Least => whole - wanted,
    };
    Some(term.weight.min(WEIGHT_MAX) * share(part, whole, BEST))
}
