//! How loaded a node is: what was measured of it, and what pods on it ask for that is in no measurement
//! yet.
//!
//! A measurement counts for five minutes; after that nothing is known of the node's load, which is not
//! the same as no load. A pod is in a measurement if it had been running for the time it was measured
//! over. Until then what it asks for is summed up beside it.

use std::collections::BTreeMap;

use bevy_ecs::prelude::{Component, Resource};

use super::cluster::Cluster;
use crate::delta::{MeasuredUsage, NodeLoadFacts};
use crate::ids::{Name, TimeMs};

/// A whole node, in the unit of loads: thousandths of a percent.
pub const WHOLE_LOAD: i64 = 100_000;

/// How long a measurement counts.
const VALID_MS: i64 = 5 * 60 * 1000;

/// What pods ask for whose load is in no measurement: one pod's part, or the sum over those of a node.
/// Nothing where no rule reads loads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmeasured {
    /// Milli-cpu and bytes of memory they ask for.
    pub requests: [i64; 2],
    /// What they may use at most; where a container has no limit, what it asks for.
    pub limits: [i64; 2],
    /// How many of them say neither.
    pub silent: i64,
}

impl Unmeasured {
    /// Nothing.
    pub const NONE: Self = Self { requests: [0; 2], limits: [0; 2], silent: 0 };

    /// A pod that asks for so much and may use so much.
    pub fn of(requests: [i64; 2], limits: [i64; 2]) -> Self {
        let limits = std::array::from_fn(|at| limits[at].max(requests[at]));
        Self { requests, limits, silent: i64::from(limits == [0; 2]) }
    }

    /// Adds another.
    pub(super) fn add(&mut self, other: &Self) {
        self.shift(other, i64::wrapping_add);
    }

    /// Takes another out.
    pub(super) fn remove(&mut self, other: &Self) {
        self.shift(other, i64::wrapping_sub);
    }

    fn shift(&mut self, other: &Self, by: fn(i64, i64) -> i64) {
        for at in 0..2 {
            self.requests[at] = by(self.requests[at], other.requests[at]);
            self.limits[at] = by(self.limits[at], other.limits[at]);
        }
        self.silent = by(self.silent, other.silent);
    }
}

/// The load of a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Component)]
pub struct NodeLoad {
    /// Parts of cpu and memory in use, in units of [`WHOLE_LOAD`]; `None` where nothing is known that is
    /// not too old.
    shares: Option<[i64; 2]>,
    measured: TimeMs,
    window_ms: i64,
    /// Milli-cpu and bytes of memory the node has.
    capacity: [i64; 2],
    pub(super) unmeasured: Unmeasured,
}

impl NodeLoad {
    /// Parts of cpu and memory in use, in units of [`WHOLE_LOAD`]; `None` where nothing is known that is
    /// not too old.
    pub fn shares(&self) -> Option<[i64; 2]> {
        self.shares
    }

    /// When that was measured.
    pub fn measured(&self) -> TimeMs {
        self.measured
    }

    /// Milli-cpu and bytes of memory the parts are parts of.
    pub fn capacity(&self) -> [i64; 2] {
        self.capacity
    }

    /// What its pods ask for beside that.
    pub fn unmeasured(&self) -> &Unmeasured {
        &self.unmeasured
    }

    /// Is a pod in the measurement that has been running since then?
    pub(crate) fn has_seen(&self, since: TimeMs) -> bool {
        self.sees_until().is_some_and(|until| since <= until)
    }

    /// Pods that were running by then are in the measurement.
    pub(crate) fn sees_until(&self) -> Option<TimeMs> {
        self.shares.map(|_| TimeMs(self.measured.0.saturating_sub(self.window_ms)))
    }

    /// Replaces what the node has; what was measured in amounts is to be written again.
    pub(crate) fn set_capacity(&mut self, capacity: [i64; 2]) {
        self.capacity = capacity;
    }

    /// Writes what was measured, if it still counts; says whether the parts in use are others now.
    pub(crate) fn measure(&mut self, facts: Option<&NodeLoadFacts>, now: TimeMs) -> bool {
        let before = self.shares;
        let counts = facts.filter(|facts| now < end_of(facts.measured));
        self.shares = counts.and_then(|facts| shares(facts.usage, self.capacity));
        if let Some(facts) = counts {
            (self.measured, self.window_ms) = (facts.measured, facts.window_ms);
        }
        before != self.shares
    }

    /// Forgets a measurement that is too old; says whether there was one.
    fn fade(&mut self, now: TimeMs) -> bool {
        let old = self.shares.is_some() && now >= end_of(self.measured);
        if old {
            self.shares = None;
        }
        old
    }
}

/// From when on a measurement does not count any more.
fn end_of(measured: TimeMs) -> TimeMs {
    TimeMs(measured.0.saturating_add(VALID_MS + 1))
}

/// Usage as parts of what the node has; `None` where it has nothing, or that is not known.
fn shares(usage: MeasuredUsage, capacity: [i64; 2]) -> Option<[i64; 2]> {
    match usage {
        MeasuredUsage::Shares(shares) => Some(shares),
        MeasuredUsage::Amounts(amounts) => {
            let [cpu, memory] = std::array::from_fn(|at| load_share(amounts[at], capacity[at]));
            Some([cpu?, memory?])
        }
    }
}

/// An amount as a part of a whole, in units of [`WHOLE_LOAD`], rounded down; none of nothing.
pub fn load_share(amount: i64, whole: i64) -> Option<i64> {
    let share = i128::from(amount) * i128::from(WHOLE_LOAD);
    (whole > 0).then(|| i64::try_from(share / i128::from(whole)).unwrap_or(i64::MAX))
}

/// What was measured of nodes, whether they are there or not, and when the first of it is too old.
#[derive(Debug, Default, Resource)]
pub struct NodeLoads {
    known: BTreeMap<Name, NodeLoadFacts>,
    /// No measurement that counts is too old before that.
    fades_at: Option<TimeMs>,
}

impl NodeLoads {
    /// What was measured of a node last.
    pub(crate) fn get(&self, node: &Name) -> Option<&NodeLoadFacts> {
        self.known.get(node)
    }

    /// Takes in what was measured, or that nothing is known any more.
    pub(crate) fn set(&mut self, node: &Name, facts: Option<NodeLoadFacts>) {
        let Some(facts) = facts else {
            self.known.remove(node);
            return;
        };
        let end = end_of(facts.measured);
        self.fades_at = Some(self.fades_at.map_or(end, |first| first.min(end)));
        self.known.insert(node.clone(), facts);
    }

    /// When a measurement may be too old next.
    pub(crate) fn fades_at(&self) -> Option<TimeMs> {
        self.fades_at
    }
}

impl Cluster<'_, '_> {
    /// Forgets what was measured too long ago.
    pub(crate) fn fade_loads(&mut self, now: TimeMs) {
        if self.loads.fades_at.is_none_or(|end| now < end) {
            return;
        }
        let mut next = None;
        self.loads.known.retain(|_, facts| now < end_of(facts.measured));
        for mut node in &mut self.nodes {
            if node.load.fade(now) {
                self.log.touch(node.place.row);
            } else if node.load.shares.is_some() {
                let end = end_of(node.load.measured);
                next = Some(next.map_or(end, |first: TimeMs| first.min(end)));
            }
        }
        self.loads.fades_at = next;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn facts(usage: MeasuredUsage) -> NodeLoadFacts {
        NodeLoadFacts { node: "n".into(), usage, measured: TimeMs(10_000), window_ms: 4_000 }
    }

    #[test]
    fn amounts_become_parts_of_what_the_node_has() {
        let mut load = NodeLoad::default();
        let facts = facts(MeasuredUsage::Amounts([1_500, 3 << 30]));
        assert!(!load.measure(Some(&facts), TimeMs(10_000)), "the node has nothing yet");
        load.set_capacity([4_000, 8 << 30]);
        assert!(load.measure(Some(&facts), TimeMs(10_000)));
        assert_eq!(load.shares(), Some([37_500, 37_500]));
        assert!(!load.measure(Some(&facts), TimeMs(11_000)), "nothing new");
    }

    #[test]
    fn a_measurement_counts_for_five_minutes_and_not_a_moment_longer() {
        let mut load = NodeLoad::default();
        let facts = facts(MeasuredUsage::Shares([1, 2]));
        assert!(load.measure(Some(&facts), TimeMs(310_000)));
        assert!(!load.fade(TimeMs(310_000)));
        assert!(load.fade(TimeMs(310_001)));
        assert_eq!(load.shares(), None);
        assert!(!load.measure(Some(&facts), TimeMs(310_001)));
    }

    #[test]
    fn a_pod_is_in_a_measurement_once_it_has_run_for_its_window() {
        let mut load = NodeLoad::default();
        assert!(!load.has_seen(TimeMs(0)), "nothing was measured");
        load.measure(Some(&facts(MeasuredUsage::Shares([1, 2]))), TimeMs(10_000));
        assert!(load.has_seen(TimeMs(6_000)));
        assert!(!load.has_seen(TimeMs(6_001)));
    }

    #[test]
    fn a_pod_without_limit_may_use_what_it_asks_for() {
        let pod = Unmeasured::of([500, 10], [0, 20]);
        assert_eq!((pod.limits, pod.silent), ([500, 20], 0));
        assert_eq!(Unmeasured::of([0; 2], [0; 2]).silent, 1);
        let mut sum = pod;
        sum.add(&Unmeasured::of([0; 2], [0; 2]));
        sum.remove(&pod);
        assert_eq!(sum, Unmeasured { silent: 1, ..Unmeasured::NONE });
    }
}
