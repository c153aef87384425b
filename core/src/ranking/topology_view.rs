//! What one class of tasks finds around each node, and what its rules make of it.
//!
//! Every rule is a [`TopologyCounts`]. Rules about a label whose values are single nodes are a matter of the
//! row; rules about wider labels are a matter of a cell of rows with equal values. A few numbers
//! concern all nodes at once: the least count of a spread, whether the first pod of its kind is still
//! to come, and the scales of the scores. [`TopologyView::settle`] says when one of them has moved.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::topology_counts::{Axis, NO_VALUE, TopologyCounts};
use crate::class::Class;
use crate::delta::{Heed, TaintEffect, Unmet};
use crate::interpod::{InterPodFilters, InterPodScores, Rule, RuleKind, SpreadRule, Unlabelled};
use crate::kernel::ratio::SCORE_SCALE;
use crate::world::{
    Exclusion, NodeColumns, NodeRules, Obstacle, PodCounts, Presence, Symbol, Symbols,
};

/// Which rules are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    /// Those that are a matter of the row.
    Row,
    /// Those that are a matter of a cell.
    Cell,
}

/// One class's view of the pods on all nodes.
#[derive(Debug)]
pub(crate) struct TopologyView {
    axes: Vec<Axis>,
    counts: Vec<TopologyCounts>,
    weights: InterPodScores,
    /// Tasks of the class fulfil their own required affinity.
    own_companion: bool,
    wide: bool,
    outlook: TopologyOutlook,
    /// The outlook before, kept for its memory.
    spare: TopologyOutlook,
    /// Axis and value of every sum of a cell's rule that changed.
    moved: Vec<(u32, u32)>,
}

/// The numbers that concern all nodes at once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct TopologyOutlook {
    /// No pod that fulfils the required affinity is anywhere, now and later, and the task itself
    /// would: it may be the first.
    first: [bool; 2],
    /// Bits the scores of preferences and of spread are scaled down by.
    bits: [u32; 2],
    /// Least count of each count that is a spread.
    least: Vec<i64>,
}

/// Which levels have to be looked at again as a whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct TopologyChange {
    /// All rows.
    pub(crate) rows: bool,
    /// All cells.
    pub(crate) cells: bool,
}

/// Fraction bits of the weight of a spread.
const WEIGHT_BITS: u32 = 8;

impl TopologyView {
    /// The view of a class that has rules in force; `None` if it has not.
    pub(crate) fn new(
        class: &Class,
        nodes: NodeColumns<'_>,
        symbols: &Symbols,
        filters: InterPodFilters,
        weights: InterPodScores,
    ) -> Option<Self> {
        let in_force = |rule: &&Rule| rule.kind.is_in_force(filters, weights);
        let rules: Vec<Rule> = class.interpod.rules.iter().filter(in_force).copied().collect();
        if rules.is_empty() {
            return None;
        }
        let mut keys: Vec<Option<Symbol>> = Vec::new();
        for rule in &rules {
            if !keys.contains(&rule.axis) {
                keys.push(rule.axis);
            }
        }
        let axes: Vec<Axis> = keys.iter().map(|&key| axis(key, &nodes)).collect();
        let place = |rule: &Rule| keys.iter().position(|key| *key == rule.axis).unwrap_or(0);
        let [must, should] =
            [Unmet::Wait, Unmet::GoAnyway].map(|unmet| complete_rows(&rules, unmet, place, &axes));
        let counts = rules.iter().map(|rule| {
            let at = place(rule);
            TopologyCounts::new(*rule, at, &axes[at], |row| match rule.kind {
                RuleKind::Spread(spread) => {
                    must[row] && heeds(class, spread, &nodes.rules[row], symbols)
                }
                RuleKind::Even(spread) => {
                    let labelled = should[row] || spread.unlabelled == Unlabelled::Untouched;
                    labelled && heeds(class, spread, &nodes.rules[row], symbols)
                }
                _ => true,
            })
        });
        let counts: Vec<TopologyCounts> = counts.collect();
        let wide = counts.iter().any(|counts| !axes[counts.axis].local);
        let own_companion = class.interpod.own_companion;
        let mut new = Self {
            axes,
            counts,
            weights,
            own_companion,
            wide,
            outlook: TopologyOutlook::default(),
            spare: TopologyOutlook::default(),
            moved: Vec::new(),
        };
        for (row, pod_counts) in nodes.pod_counts.iter().enumerate() {
            new.observe(row, pod_counts);
        }
        new.settle();
        new.moved.clear();
        Some(new)
    }

    /// Counts a row again; says whether any count changed.
    pub(crate) fn observe(&mut self, row: usize, pod_counts: &PodCounts) -> bool {
        let mut changed = false;
        for counts in &mut self.counts {
            if counts.observe(row, pod_counts) {
                changed = true;
                let axis = &self.axes[counts.axis];
                if !axis.local {
                    self.moved.push((counts.axis as u32, axis.value_of[row]));
                }
            }
        }
        changed
    }

    /// After rows were counted again: what concerns all nodes, and whether that has changed.
    pub(crate) fn settle(&mut self) -> TopologyChange {
        let mut outlook = std::mem::take(&mut self.spare);
        self.look_out(&mut outlook);
        let shared = outlook.first != self.outlook.first || outlook.bits != self.outlook.bits;
        let mut change = TopologyChange { rows: shared, cells: shared };
        for (counts, (old, new)) in
            self.counts.iter().zip(self.outlook.least.iter().zip(&outlook.least))
        {
            let local = self.axes[counts.axis].local;
            change.rows |= old != new && local;
            change.cells |= old != new && !local;
        }
        self.spare = std::mem::replace(&mut self.outlook, outlook);
        change
    }

    fn look_out(&self, outlook: &mut TopologyOutlook) {
        let (mut companions, mut reach) = (Presence::default(), [0_i64; 2]);
        outlook.least.clear();
        for counts in &self.counts {
            let mut fewest = 0;
            match counts.rule.kind {
                RuleKind::Attract => companions.shift(Presence::default(), counts.total()),
                RuleKind::Pull(weight) => reach[0] += weight.abs() * counts.greatest(),
                // A label no node has makes no difference between nodes.
                RuleKind::Even(_) if counts.domains() == 0 => {}
                RuleKind::Even(rule) => {
                    let slack = (rule.max_skew - 1) << WEIGHT_BITS;
                    reach[1] += spread_weight(counts.domains()) * counts.greatest() + slack;
                }
                RuleKind::Spread(rule) => fewest = counts.least(rule.min_domains),
                RuleKind::Port | RuleKind::Avoid | RuleKind::Avoided => {}
            }
            outlook.least.push(fewest);
        }
        outlook.first = self.may_be_first(companions);
        outlook.bits = reach.map(|reach| (reach.max(1) as u64).next_power_of_two().ilog2());
    }

    /// Now and later: there are no companions, and the task would be one itself.
    fn may_be_first(&self, companions: Presence) -> [bool; 2] {
        [companions.any() == 0, companions.staying == 0].map(|none| none && self.own_companion)
    }

    /// Are there rules that are a matter of cells?
    pub(crate) fn is_wide(&self) -> bool {
        self.wide
    }

    /// Number of labels rules look at.
    pub(crate) fn axes(&self) -> usize {
        self.axes.len()
    }

    /// Number of rules.
    pub(crate) fn rules(&self) -> usize {
        self.counts.len()
    }

    /// Values of a row by label; labels that are a matter of the row have none.
    pub(crate) fn wide_values(&self, row: usize) -> Vec<u32> {
        let value = |axis: &Axis| if axis.local { NO_VALUE } else { axis.value_of[row] };
        self.axes.iter().map(value).collect()
    }

    /// Axis and value of every sum that changed since the last call.
    pub(crate) fn take_moved(&mut self, into: &mut Vec<(u32, u32)>) {
        into.append(&mut self.moved);
    }

    fn at(&self, level: Level) -> impl Iterator<Item = (usize, &TopologyCounts)> {
        let local = level == Level::Row;
        self.counts
            .iter()
            .enumerate()
            .filter(move |(_, counts)| self.axes[counts.axis].local == local)
    }

    /// Raises what rules of a row say.
    pub(crate) fn judge_row(&self, row: usize, exclusion: &mut Exclusion) {
        for (at, counts) in self.at(Level::Row) {
            self.judge(at, self.axes[counts.axis].value_of[row], exclusion);
        }
    }

    /// Raises what rules of a cell with these values say.
    pub(crate) fn judge_cell(&self, values: &[u32], exclusion: &mut Exclusion) {
        for (at, counts) in self.at(Level::Cell) {
            self.judge(at, values[counts.axis], exclusion);
        }
    }

    fn judge(&self, at: usize, value: u32, exclusion: &mut Exclusion) {
        let counts = &self.counts[at];
        judge(
            counts,
            value,
            counts.at(value),
            self.outlook.first,
            self.outlook.least[at],
            exclusion,
        );
    }

    /// Raises what all rules but spread say of a row room was held on. Spread is not asked again: it
    /// was even enough when the room was given, and pods that came since must not set reservations
    /// wandering.
    pub(crate) fn judge_held(&self, row: usize, exclusion: &mut Exclusion) {
        for (at, counts) in self.counts.iter().enumerate() {
            if !matches!(counts.rule.kind, RuleKind::Spread(_)) {
                self.judge(at, self.axes[counts.axis].value_of[row], exclusion);
            }
        }
    }

    /// Points of a row by rules of the row.
    pub(crate) fn score_row(&self, row: usize) -> i64 {
        self.score(Level::Row, |axis| self.axes[axis].value_of[row])
    }

    /// Points of a cell with these values.
    pub(crate) fn score_cell(&self, values: &[u32]) -> i64 {
        self.score(Level::Cell, |axis| values[axis])
    }

    fn score(&self, level: Level, value: impl Fn(usize) -> u32) -> i64 {
        let (mut pull, mut uneven) = (0, 0);
        for (_, counts) in self.at(level) {
            let value = value(counts.axis);
            let count = i64::from(counts.at(value).staying);
            match counts.rule.kind {
                RuleKind::Pull(weight) => pull += weight * count,
                RuleKind::Even(rule) if value == NO_VALUE => {
                    // A node that is shunned is as bad as the worst that has the label.
                    let shunned = rule.unlabelled == Unlabelled::Shunned;
                    uneven += i64::from(shunned) << self.outlook.bits[1];
                }
                RuleKind::Even(_) => uneven += spread_weight(counts.domains()) * count,
                _ => {}
            }
        }
        points(pull, self.weights.affinity, self.outlook.bits[0])
            - points(uneven, self.weights.spread, self.outlook.bits[1])
    }
}

/// A hundred points for everything that is possible.
fn points(amount: i64, weight: i64, bits: u32) -> i64 {
    // Around most nodes there is nobody, and the division is the dear part of a scan.
    if amount == 0 {
        return 0;
    }
    let points = i128::from(amount) * i128::from(weight) * i128::from(100 * SCORE_SCALE);
    (points / (1_i128 << bits)) as i64
}

/// Rules over many values count more than rules over few: the binary logarithm, with linear steps
/// between powers of two and two values added so that it is never zero.
fn spread_weight(domains: usize) -> i64 {
    let number = domains as i64 + 2;
    let whole = number.ilog2();
    let fraction = ((number << WEIGHT_BITS) >> whole) - (1 << WEIGHT_BITS);
    (i64::from(whole) << WEIGHT_BITS) + fraction
}

fn judge(
    counts: &TopologyCounts,
    value: u32,
    count: Presence,
    first: [bool; 2],
    least: i64,
    exclusion: &mut Exclusion,
) {
    let mut none_may_be_there = |obstacle| {
        if count.any() > 0 {
            exclusion.raise_now(obstacle);
        }
        if count.staying > 0 {
            exclusion.raise_later(obstacle);
        }
    };
    match counts.rule.kind {
        RuleKind::Port => none_may_be_there(Obstacle::Ports),
        RuleKind::Avoid => none_may_be_there(Obstacle::PodAntiAffinity),
        RuleKind::Avoided => none_may_be_there(Obstacle::OtherAntiAffinity),
        // The label must be there even for the first pod of its kind.
        RuleKind::Attract if value == NO_VALUE => exclusion.raise(Obstacle::PodAffinity),
        RuleKind::Attract => {
            if count.any() == 0 && !first[0] {
                exclusion.raise_now(Obstacle::PodAffinity);
            }
            if count.staying == 0 && !first[1] {
                exclusion.raise_later(Obstacle::PodAffinity);
            }
        }
        RuleKind::Spread(_) if value == NO_VALUE => exclusion.raise(Obstacle::TopologySpread),
        RuleKind::Spread(rule) => {
            if i64::from(count.staying) + rule.own - least > rule.max_skew {
                exclusion.raise(Obstacle::TopologySpread);
            }
        }
        RuleKind::Pull(_) | RuleKind::Even(_) => {}
    }
}

fn axis(key: Option<Symbol>, nodes: &NodeColumns<'_>) -> Axis {
    let Some(key) = key else {
        let value_of = (0..nodes.len() as u32).collect();
        return Axis { value_of, values: nodes.len(), local: true };
    };
    let mut numbers: HashMap<Symbol, u32, FxBuildHasher> = HashMap::default();
    let mut local = true;
    let value_of = nodes.rules.iter().map(|rules| {
        let Some(value) = rules.label(key) else { return NO_VALUE };
        let next = numbers.len() as u32;
        let number = *numbers.entry(value).or_insert(next);
        local &= number == next;
        number
    });
    let value_of = value_of.collect();
    Axis { value_of, values: numbers.len(), local }
}

/// Rows that have every label the hard, or the soft, spread rules name: others are left out of the
/// count of all of them.
fn complete_rows(
    rules: &[Rule],
    unmet: Unmet,
    place: impl Fn(&Rule) -> usize,
    axes: &[Axis],
) -> Vec<bool> {
    let mut complete = vec![true; axes.first().map_or(0, |axis| axis.value_of.len())];
    let meant = |rule: &&Rule| match rule.kind {
        RuleKind::Spread(_) => unmet == Unmet::Wait,
        RuleKind::Even(_) => unmet == Unmet::GoAnyway,
        _ => false,
    };
    for rule in rules.iter().filter(meant) {
        for (complete, value) in complete.iter_mut().zip(&axes[place(rule)].value_of) {
            *complete &= *value != NO_VALUE;
        }
    }
    complete
}

/// Is a node counted by a spread rule of the class?
fn heeds(class: &Class, rule: SpreadRule, node: &NodeRules, symbols: &Symbols) -> bool {
    let repels = |effect| matches!(effect, TaintEffect::NoSchedule | TaintEffect::NoExecute);
    (rule.affinity == Heed::Ignore || class.nodes.admits(node, symbols))
        && (rule.taints == Heed::Ignore
            || !node
                .taints
                .iter()
                .any(|taint| repels(taint.effect) && !class.tolerances.bears(taint)))
}
