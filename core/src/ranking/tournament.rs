//! A tournament over node rows: the best row at the top, mended in O(log n) when rows change.
//!
//! Rows meet in blocks first, and only the best of each block enters the tree. So the tree is small
//! enough to stay in the cache, and each match reads two entries that lie side by side.

use std::cmp::Reverse;

/// Rank of a row that must not be chosen.
pub(super) const CLOSED: i64 = i64::MIN;

/// Winners of a knock-out tournament; ties go to the lower ordinal.
#[derive(Clone, Debug, Default)]
pub(super) struct Tournament {
    /// `winners[leaves + block]` is the best of a block, `winners[1]` the champion.
    winners: Vec<Winner>,
    leaves: usize,
    /// Matches to be played again, while many rows are mended.
    stale: Vec<u32>,
}

/// Rows of a block: two cache lines of ranks.
const BLOCK: usize = 16;

#[derive(Clone, Copy, Debug)]
struct Winner {
    rank: i64,
    ordinal: u32,
    row: u32,
}

/// Loses against everybody.
const NOBODY: Winner = Winner { rank: CLOSED, ordinal: u32::MAX, row: u32::MAX };

impl Winner {
    /// Is it chosen before the other?
    fn beats(&self, other: &Self) -> bool {
        (self.rank, Reverse(self.ordinal)) > (other.rank, Reverse(other.ordinal))
    }

    /// The best of some rows.
    fn of(first: usize, ranks: &[i64], ordinals: &[u32]) -> Self {
        let rank = ranks.iter().copied().max().unwrap_or(CLOSED);
        let mut least = i64::MAX;
        for (at, (&other, &ordinal)) in (0_i64..).zip(ranks.iter().zip(ordinals)) {
            let place = (i64::from(ordinal) << 32) | at;
            least = least.min(if other == rank { place } else { i64::MAX });
        }
        if rank == CLOSED {
            return NOBODY;
        }
        Self { rank, ordinal: (least >> 32) as u32, row: first as u32 + least as u32 }
    }
}

impl Tournament {
    /// Forgets every match, and keeps the memory.
    pub(super) fn clear(&mut self) {
        self.winners.clear();
        self.leaves = 0;
    }

    /// Has any match been played?
    pub(super) fn is_played(&self) -> bool {
        self.leaves > 0
    }

    /// Plays every match again.
    pub(super) fn rebuild(&mut self, ranks: &[i64], ordinals: &[u32]) {
        self.leaves = ranks.len().div_ceil(BLOCK).next_power_of_two();
        self.winners.clear();
        self.winners.resize(self.leaves * 2, NOBODY);
        for block in 0..ranks.len().div_ceil(BLOCK) {
            self.play_block(block, ranks, ordinals);
        }
        for at in (1..self.leaves).rev() {
            self.play(at);
        }
    }

    /// Plays the matches of one row again.
    pub(super) fn mend(&mut self, row: usize, ranks: &[i64], ordinals: &[u32]) {
        let mut at = self.play_block(row / BLOCK, ranks, ordinals);
        // The winner so far is compared with the entry beside it: nothing just written is read again.
        let mut winner = self.winners[at];
        while at > 1 {
            let other = self.winners[at ^ 1];
            winner = if other.beats(&winner) { other } else { winner };
            at /= 2;
            self.winners[at] = winner;
        }
    }

    /// Plays the matches of several rows again; they are given in ascending order.
    pub(super) fn mend_all(&mut self, rows: &[u32], ranks: &[i64], ordinals: &[u32]) {
        if let &[row] = rows {
            self.mend(row as usize, ranks, ordinals);
            return;
        }
        let mut stale = std::mem::take(&mut self.stale);
        stale.clear();
        for block in rows.chunk_by(|a, b| *a as usize / BLOCK == *b as usize / BLOCK) {
            let at = self.play_block(block[0] as usize / BLOCK, ranks, ordinals) as u32;
            stale.push(at);
        }
        // Level by level, so that a match is played once however many rows come together in it.
        while stale.first().is_some_and(|&at| at > 1) {
            for at in &mut stale {
                *at /= 2;
            }
            stale.dedup();
            for &at in &stale {
                self.play(at as usize);
            }
        }
        self.stale = stale;
    }

    /// The best row, if any row may be chosen.
    pub(super) fn best(&self) -> Option<u32> {
        self.winners.get(1).filter(|winner| winner.rank != CLOSED).map(|winner| winner.row)
    }

    /// Finds the best of a block, and says where it enters the tree.
    fn play_block(&mut self, block: usize, ranks: &[i64], ordinals: &[u32]) -> usize {
        let first = block * BLOCK;
        let rows = first..ranks.len().min(first + BLOCK);
        let at = self.leaves + block;
        self.winners[at] = Winner::of(first, &ranks[rows.clone()], &ordinals[rows]);
        at
    }

    fn play(&mut self, at: usize) {
        let (left, right) = (self.winners[at * 2], self.winners[at * 2 + 1]);
        self.winners[at] = if right.beats(&left) { right } else { left };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn naive(ranks: &[i64], ordinals: &[u32]) -> Option<u32> {
        (0..ranks.len() as u32)
            .filter(|&row| ranks[row as usize] != CLOSED)
            .max_by_key(|&row| (ranks[row as usize], std::cmp::Reverse(ordinals[row as usize])))
    }

    proptest! {
        #[test]
        fn champion_is_the_naive_best_after_any_changes(
            start in prop::collection::vec(prop_oneof![Just(CLOSED), -3_i64..3], 0..200),
            changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(CLOSED), -3_i64..3]), 0..40),
            shift in 0_u32..200,
            together in 1_usize..9,
        ) {
            let mut ranks = start;
            let n = ranks.len() as u32;
            let ordinals: Vec<u32> = (0..n).map(|row| (row + shift) % n.max(1)).collect();
            let mut tree = Tournament::default();
            tree.rebuild(&ranks, &ordinals);
            prop_assert_eq!(tree.best(), naive(&ranks, &ordinals));
            if ranks.is_empty() { return Ok(()); }
            for changes in changes.chunks(together) {
                let mut rows = Vec::new();
                for (index, rank) in changes {
                    let row = index.index(ranks.len());
                    ranks[row] = *rank;
                    rows.push(row as u32);
                }
                rows.sort_unstable();
                rows.dedup();
                tree.mend_all(&rows, &ranks, &ordinals);
                prop_assert_eq!(tree.best(), naive(&ranks, &ordinals));
            }
        }
    }
}
