//! One rule's counts, summed up over the values of a node label.

use crate::interpod::Rule;
use crate::world::{PodCounts, Presence};

/// The value of a node that does not have the label.
pub(super) const NO_VALUE: u32 = u32::MAX;

/// The nodes by their value of a label.
#[derive(Debug)]
pub(super) struct Axis {
    /// Value of each row, dense, or [`NO_VALUE`].
    pub(super) value_of: Vec<u32>,
    /// Number of values.
    pub(super) values: usize,
    /// Has every value one row? Then a rule about it is a matter of the row alone.
    pub(super) local: bool,
}

/// How many values have each count, with the least and the greatest count of any value.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Levels {
    /// By count: number of values that have it.
    values: Vec<u32>,
    least: usize,
    greatest: usize,
}

impl Levels {
    fn enter(&mut self, count: usize) {
        if self.values.len() <= count {
            self.values.resize(count + 1, 0);
        }
        self.values[count] += 1;
        self.least = self.least.min(count);
        self.greatest = self.greatest.max(count);
    }

    /// One value goes from one count to another.
    fn shift(&mut self, from: usize, to: usize) {
        self.values[from] -= 1;
        self.enter(to);
        // Each step was paid for by a change of a count in the other direction.
        while self.values[self.least] == 0 {
            self.least += 1;
        }
        while self.values[self.greatest] == 0 {
            self.greatest -= 1;
        }
    }
}

/// A rule with its counts.
#[derive(Debug)]
pub(super) struct TopologyCounts {
    pub(super) rule: Rule,
    /// Index of its axis.
    pub(super) axis: usize,
    /// Value each row counts for; [`NO_VALUE`] for rows that are left out.
    counts_for: Vec<u32>,
    /// Count of each row when it was looked at last.
    seen: Vec<Presence>,
    /// Sums by value.
    sums: Vec<Presence>,
    /// Over values that at least one row counts for.
    levels: Levels,
    /// Number of those values.
    domains: usize,
    total: Presence,
}

impl TopologyCounts {
    /// Counts that have counted nothing yet; `counts` says which rows take part.
    pub(super) fn new(
        rule: Rule,
        axis: usize,
        of: &Axis,
        mut counts: impl FnMut(usize) -> bool,
    ) -> Self {
        let mut domain = vec![false; of.values];
        let counts_for: Vec<u32> = of
            .value_of
            .iter()
            .enumerate()
            .map(|(row, &value)| {
                let takes_part = value != NO_VALUE && counts(row);
                if takes_part {
                    domain[value as usize] = true;
                }
                if takes_part { value } else { NO_VALUE }
            })
            .collect();
        let domains = domain.iter().filter(|&&there| there).count();
        let mut levels = Levels { least: usize::MAX, ..Levels::default() };
        for _ in 0..domains {
            levels.enter(0);
        }
        Self {
            rule,
            axis,
            seen: vec![Presence::default(); counts_for.len()],
            counts_for,
            sums: vec![Presence::default(); of.values],
            levels,
            domains,
            total: Presence::default(),
        }
    }

    /// Counts a row again; says whether its value's sum changed.
    pub(super) fn observe(&mut self, row: usize, pod_counts: &PodCounts) -> bool {
        let value = self.counts_for[row];
        if value == NO_VALUE {
            return false;
        }
        let (old, new) = (self.seen[row], pod_counts.count(self.rule.count_id));
        if old == new {
            return false;
        }
        self.seen[row] = new;
        let sum = &mut self.sums[value as usize];
        let before = sum.staying;
        sum.shift(old, new);
        let after = sum.staying;
        self.total.shift(old, new);
        if before != after {
            self.levels.shift(before as usize, after as usize);
        }
        true
    }

    /// Pods on nodes of the value.
    pub(super) fn at(&self, value: u32) -> Presence {
        self.sums.get(value as usize).copied().unwrap_or_default()
    }

    /// Pods on all nodes with the label.
    pub(super) fn total(&self) -> Presence {
        self.total
    }

    /// Number of values.
    pub(super) fn domains(&self) -> usize {
        self.domains
    }

    /// The fewest pods any value has, 0 where fewer values than needed exist.
    pub(super) fn least(&self, min_domains: usize) -> i64 {
        if self.domains == 0 || self.domains < min_domains { 0 } else { self.levels.least as i64 }
    }

    /// The most pods any value has.
    pub(super) fn greatest(&self) -> i64 {
        self.levels.greatest as i64
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::interpod::RuleKind;
    use crate::world::{CountId, Stay};

    proptest! {
        #[test]
        fn sums_and_extremes_equal_those_counted_anew(
            values in prop::collection::vec(prop_oneof![Just(NO_VALUE), 0..4_u32], 1..8),
            left_out in prop::collection::vec(any::<bool>(), 8),
            moves in prop::collection::vec((any::<prop::sample::Index>(), 0..2_usize, any::<bool>()), 0..60),
        ) {
            let count_id = CountId(3);
            let axis = Axis { value_of: values.clone(), values: 4, local: false };
            let rule = Rule { count_id, axis: None, kind: RuleKind::Avoid };
            let mut counts = TopologyCounts::new(rule, 0, &axis, |row| !left_out[row]);
            let mut nodes = vec![PodCounts::default(); values.len()];
            for (row, stay, comes) in moves {
                let (row, stay) = (row.index(nodes.len()), [Stay::Staying, Stay::Leaving][stay]);
                let there = *nodes[row].count(count_id).slot(stay) > 0;
                if comes {
                    nodes[row].add(count_id, stay);
                } else if there {
                    nodes[row].remove(count_id, stay);
                }
                counts.observe(row, &nodes[row]);
                let counted = |value: u32| -> Vec<usize> {
                    let counts = |row: &usize| values[*row] == value && !left_out[*row];
                    (0..values.len()).filter(counts).collect()
                };
                let stays: Vec<u32> = (0..4).filter(|&value| !counted(value).is_empty())
                    .map(|value| counted(value).iter().map(|&row| nodes[row].count(count_id).staying).sum())
                    .collect();
                prop_assert_eq!(counts.domains(), stays.len());
                prop_assert_eq!(counts.least(1), i64::from(stays.iter().copied().min().unwrap_or(0)));
                prop_assert_eq!(counts.greatest(), i64::from(stays.iter().copied().max().unwrap_or(0)));
                prop_assert_eq!(counts.total().staying, stays.iter().sum::<u32>());
            }
        }
    }
}
