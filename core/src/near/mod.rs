//! Rules about other pods: what is counted on nodes, and what a class of tasks makes of the counts.
//!
//! Nodes carry [`Neighbours`]: for every [`Tally`], how many pods there make it. A tally is "pods that
//! match a selector", "pods that have a certain rule" or "pods that take a port". Which tallies a task
//! makes is fixed when it is taken in ([`Marks`]); the ledger moves the counts with all other totals.
//! [`Near`] knows every selector and rule met, [`NearRules`] are those that concern one class, and
//! `Surroundings` sums the counts up over zones, racks or whatever label a rule names, row by row as
//! rows change.

mod index;
mod registry;
mod rules;
mod gauge;
mod surroundings;

pub(crate) use index::LabelIndex;
pub(crate) use registry::{Fresh, has_labels};
pub use registry::{Near, SelectorId};
pub use rules::{NearFilters, NearRules, NearScores, Rule, RuleKind, SpreadRule, Unlabelled};
pub(crate) use surroundings::{News, Surroundings};

use std::sync::Arc;

use bevy_ecs::prelude::Component;

/// Something pods are counted by. Numbers are never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tally(pub u32);

/// How a pod is on a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stay {
    /// It is there, or will be: a place or a reservation.
    Staying,
    /// It is leaving.
    Leaving,
}

/// A number of pods, by how they are there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Presence {
    /// Pods that will be there once what is leaving has left.
    pub staying: u32,
    /// Pods that are leaving.
    pub leaving: u32,
}

impl Presence {
    /// Pods in all.
    pub fn any(self) -> u32 {
        self.staying + self.leaving
    }

    fn slot(&mut self, stay: Stay) -> &mut u32 {
        match stay {
            Stay::Staying => &mut self.staying,
            Stay::Leaving => &mut self.leaving,
        }
    }

    /// Adds the difference of two other counts.
    fn shift(&mut self, from: Self, to: Self) {
        self.staying = self.staying + to.staying - from.staying;
        self.leaving = self.leaving + to.leaving - from.leaving;
    }
}

/// The pods on a node by tally, sorted; tallies nobody makes are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct Neighbours(Vec<(Tally, Presence)>);

impl Neighbours {
    /// How many pods make the tally.
    pub fn count(&self, tally: Tally) -> Presence {
        match self.0.binary_search_by_key(&tally, |entry| entry.0) {
            Ok(at) => self.0[at].1,
            Err(_) => Presence::default(),
        }
    }

    /// Every tally somebody makes.
    pub fn iter(&self) -> impl Iterator<Item = (Tally, Presence)> + '_ {
        self.0.iter().copied()
    }

    /// Counts one pod more.
    pub(crate) fn add(&mut self, tally: Tally, stay: Stay) {
        let at = match self.0.binary_search_by_key(&tally, |entry| entry.0) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (tally, Presence::default()));
                at
            }
        };
        *self.0[at].1.slot(stay) += 1;
    }

    /// Counts one pod less.
    pub(crate) fn remove(&mut self, tally: Tally, stay: Stay) {
        let Ok(at) = self.0.binary_search_by_key(&tally, |entry| entry.0) else { return };
        *self.0[at].1.slot(stay) -= 1;
        if self.0[at].1 == Presence::default() {
            self.0.remove(at);
        }
    }
}

/// The tallies a task makes wherever it is; none for most tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Marks(Option<Arc<[Tally]>>);

impl Marks {
    fn new(mut tallies: Vec<Tally>) -> Self {
        tallies.sort_unstable();
        tallies.dedup();
        Self((!tallies.is_empty()).then(|| tallies.into()))
    }

    /// The tallies, sorted.
    pub fn tallies(&self) -> &[Tally] {
        self.0.as_deref().unwrap_or_default()
    }
}
