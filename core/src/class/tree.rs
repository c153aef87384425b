//! A tournament over node rows: the best row at the top, mended in O(log n) when one row changes.

/// Rank of a row that must not be chosen.
pub(super) const CLOSED: i64 = i64::MIN;

/// Winners of a knock-out tournament; ties go to the lower ordinal.
#[derive(Clone, Debug, Default)]
pub(super) struct Tournament {
    /// `winners[leaves + row]` is the row itself, `winners[1]` the champion.
    winners: Vec<u32>,
    leaves: usize,
}

const NOBODY: u32 = u32::MAX;

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

    /// Plays every match anew.
    pub(super) fn rebuild(&mut self, ranks: &[i64], ordinals: &[u32]) {
        self.leaves = ranks.len().next_power_of_two();
        self.winners.clear();
        self.winners.resize(self.leaves * 2, NOBODY);
        for row in 0..ranks.len() {
            self.winners[self.leaves + row] = row as u32;
        }
        for at in (1..self.leaves).rev() {
            self.winners[at] = self.play(at, ranks, ordinals);
        }
    }

    /// Plays the matches of one row anew.
    pub(super) fn mend(&mut self, row: usize, ranks: &[i64], ordinals: &[u32]) {
        let mut at = (self.leaves + row) >> 1;
        while at >= 1 {
            self.winners[at] = self.play(at, ranks, ordinals);
            at /= 2;
        }
    }

    /// The best row, if any row may be chosen.
    pub(super) fn best(&self, ranks: &[i64]) -> Option<u32> {
        let champion = self.winners.get(1).copied().filter(|&row| row != NOBODY)?;
        (ranks[champion as usize] != CLOSED).then_some(champion)
    }

    fn play(&self, at: usize, ranks: &[i64], ordinals: &[u32]) -> u32 {
        let (left, right) = (self.winners[at * 2], self.winners[at * 2 + 1]);
        if left == NOBODY || right == NOBODY {
            return left.min(right);
        }
        if beats(right, left, ranks, ordinals) { right } else { left }
    }
}

/// Is row `a` chosen before row `b`?
fn beats(a: u32, b: u32, ranks: &[i64], ordinals: &[u32]) -> bool {
    let (a, b) = (a as usize, b as usize);
    (ranks[a], std::cmp::Reverse(ordinals[a])) > (ranks[b], std::cmp::Reverse(ordinals[b]))
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
            start in prop::collection::vec(prop_oneof![Just(CLOSED), -3_i64..3], 0..70),
            changes in prop::collection::vec((any::<prop::sample::Index>(), prop_oneof![Just(CLOSED), -3_i64..3]), 0..40),
            shift in 0_u32..70,
        ) {
            let mut ranks = start;
            let n = ranks.len() as u32;
            let ordinals: Vec<u32> = (0..n).map(|row| (row + shift) % n.max(1)).collect();
            let mut tree = Tournament::default();
            tree.rebuild(&ranks, &ordinals);
            prop_assert_eq!(tree.best(&ranks), naive(&ranks, &ordinals));
            for (index, rank) in changes {
                if ranks.is_empty() { break; }
                let row = index.index(ranks.len());
                ranks[row] = rank;
                tree.mend(row, &ranks, &ordinals);
                prop_assert_eq!(tree.best(&ranks), naive(&ranks, &ordinals));
            }
        }
    }
}
