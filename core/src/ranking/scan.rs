//! One look at node rows for a class of tasks: who may serve, and how well.
//!
//! Rows are looked at in short runs, every rule in turn, so that what one rule has read is still at
//! hand for the next.

use std::cmp::Reverse;

use super::node_ranking::Rules;
use super::rank::{Grade, Preference, grade_of, rank_of, score_of};
use super::tournament::CLOSED;
use crate::class::Class;
use crate::kernel::fit::{self, Fit};
use crate::policy::{Pairing, Policies, ScoreScale};
use crate::ranking::TopologyView;
use crate::resource::Tail;
use crate::world::{Exclusion, NodeColumns, NodeFlags, NodeTails};

/// A row among others, the better the greater.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NodeStanding {
    rank: i64,
    ordinal: Reverse<u32>,
    pub(super) row: u32,
}

/// A class and all nodes.
pub(super) fn pairing_of<'a>(
    class: &'a Class,
    nodes: NodeColumns<'a>,
    rules: Rules<'a>,
) -> Pairing<'a> {
    let flags = NodeFlags::default();
    Pairing { class, nodes, flags, symbols: rules.symbols, cluster_facts: rules.cluster_facts }
}

/// What rows are looked at with.
pub(super) struct Scan<'a> {
    pub(super) scales: &'a [ScoreScale],
    pub(super) policies: &'a Policies,
    pub(super) topology: Option<&'a TopologyView>,
    pub(super) ordinals: &'a [u32],
}

impl Scan<'_> {
    /// Fills ranks and bars of rows from `first` on, some at a time: what one rule has read is still
    /// at hand for the next. The best of them, if any may serve.
    pub(super) fn look_at(
        &self,
        whole: &Pairing<'_>,
        first: usize,
        ranks: &mut [i64],
        exclusions: &mut [Exclusion],
    ) -> Option<NodeStanding> {
        let mut best = None;
        self.fill(whole, first, ranks, exclusions, |first, ranks| {
            best = best.max(self.first_of(first, ranks, best));
        });
        best
    }

    /// The same; somebody sees every run as soon as it is filled.
    pub(super) fn fill(
        &self,
        whole: &Pairing<'_>,
        first: usize,
        ranks: &mut [i64],
        exclusions: &mut [Exclusion],
        mut seen: impl FnMut(usize, &[i64]),
    ) {
        let runs = ranks.chunks_mut(RUN_ROWS).zip(exclusions.chunks_mut(RUN_ROWS));
        for (first, (ranks, exclusions)) in (first..).step_by(RUN_ROWS).zip(runs) {
            self.look_at_run(&whole.rows(first..first + ranks.len()), first, ranks, exclusions);
            seen(first, ranks);
        }
    }

    fn look_at_run(
        &self,
        pairing: &Pairing<'_>,
        first: usize,
        ranks: &mut [i64],
        exclusions: &mut [Exclusion],
    ) {
        exclusions.fill(Exclusion::OPEN);
        self.policies.filter(pairing, exclusions);
        ranks.fill(0);
        self.policies.score(pairing, self.scales, ranks);
        let mut grades = [Fit::None; RUN_ROWS];
        let grades = &mut grades[..ranks.len()];
        grade(pairing, grades);
        if let Some(topology) = self.topology {
            let rows = exclusions.iter().zip(ranks.iter_mut()).zip(grades.iter_mut());
            for (row, ((&exclusion, score), grade)) in (first..).zip(rows) {
                let mut exclusion = exclusion;
                topology.judge_row(row, &mut exclusion);
                *score += topology.score_row(row);
                *grade = exclusion.limit(*grade);
            }
        } else {
            let rows = exclusions.iter().zip(grades.iter_mut());
            rows.filter(|(exclusion, _)| **exclusion != Exclusion::OPEN).for_each(
                |(exclusion, grade)| {
                    *grade = exclusion.limit(*grade);
                },
            );
        }
        let preference = Preference::Full;
        for (rank, &fit) in ranks.iter_mut().zip(&*grades) {
            let open = rank_of(Grade { fit, preference }, *rank);
            *rank = if fit == Fit::None { CLOSED } else { open };
        }
        if pairing.flags.any(NodeFlags::LAST_RESORT) {
            let rows = ranks.iter_mut().zip(pairing.nodes.flags);
            let last = rows.filter(|(_, flags)| flags.any(NodeFlags::LAST_RESORT));
            last.filter(|(rank, _)| **rank != CLOSED).for_each(|(rank, _)| *rank = put_last(*rank));
        }
    }

    /// The best of a run, if it may serve and is not worse than the best so far.
    fn first_of(
        &self,
        first: usize,
        ranks: &[i64],
        best: Option<NodeStanding>,
    ) -> Option<NodeStanding> {
        let rank = ranks.iter().copied().max().filter(|&rank| rank != CLOSED)?;
        if best.is_some_and(|best| best.rank > rank) {
            return None;
        }
        // Many nodes of a new cluster are equal: no branch to guess here either.
        let ordinals = &self.ordinals[first..first + ranks.len()];
        let mut least = i64::MAX;
        for (at, (&other, &ordinal)) in (0_i64..).zip(ranks.iter().zip(ordinals)) {
            let place = (i64::from(ordinal) << 32) | at;
            least = least.min(if other == rank { place } else { i64::MAX });
        }
        let (ordinal, at) = ((least >> 32) as u32, least as u32);
        Some(NodeStanding { rank, ordinal: Reverse(ordinal), row: first as u32 + at })
    }
}

/// The rank of a node that is a last resort, from the one it would have as ours.
fn put_last(rank: i64) -> i64 {
    let grade = Grade { preference: Preference::LastResort, ..grade_of(rank) };
    rank_of(grade, score_of(rank))
}

/// Rows looked at together: their room is a small part of a core's first cache.
const RUN_ROWS: usize = 128;

/// How the request of a class fits each row.
fn grade(pairing: &Pairing<'_>, grades: &mut [Fit]) {
    let (request, nodes) = (pairing.class.room(), &pairing.nodes);
    if pairing.flags.any(NodeFlags::MOVING) {
        fit::grade(&request.hot, nodes.idle, nodes.releasing, nodes.pipelined, grades);
    } else {
        fit::grade_at_rest(&request.hot, nodes.used, nodes.allocatable, grades);
    }
    if !request.tail.is_empty() {
        for (grade, tails) in grades.iter_mut().zip(nodes.tails) {
            *grade = (*grade).min(grade_tail(&request.tail, tails));
        }
    }
    if let Some(share) = pairing.class.share() {
        let rows = grades.iter_mut().zip(nodes.devices).enumerate();
        for (row, (grade, devices)) in rows.filter(|(_, (grade, _))| **grade != Fit::None) {
            *grade = (*grade).min(devices.fit(share, nodes.free_devices(row, share.dim)));
        }
    }
}

fn grade_tail(request: &Tail, node: &NodeTails) -> Fit {
    let mut future = node.idle.clone();
    future.add(&node.releasing);
    future.sub(&node.pipelined);
    match (request.fits(&future), request.fits(&node.idle)) {
        (false, _) => Fit::None,
        (true, false) => Fit::Future,
        (true, true) => Fit::Idle,
    }
}
