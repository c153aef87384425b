//! How many pods on a node count for each inter-pod rule.
//!
//! Nodes carry [`PodCounts`]: for every [`CountId`], the pods there that count for it. What a task
//! counts for is fixed when it is taken in ([`CountedBy`]); the ledger moves the counts together with
//! all other totals.

use std::sync::Arc;

use bevy_ecs::prelude::Component;

/// Something pods are counted by. Numbers are never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CountId(pub u32);

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

    pub(crate) fn slot(&mut self, stay: Stay) -> &mut u32 {
        match stay {
            Stay::Staying => &mut self.staying,
            Stay::Leaving => &mut self.leaving,
        }
    }

    /// Adds the difference of two other counts.
    pub(crate) fn shift(&mut self, from: Self, to: Self) {
        self.staying = self.staying + to.staying - from.staying;
        self.leaving = self.leaving + to.leaving - from.leaving;
    }
}

/// The pods on a node by what they count for, sorted; those nobody counts for are absent.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct PodCounts(Vec<(CountId, Presence)>);

impl PodCounts {
    /// How many pods count for it.
    pub fn count(&self, count_id: CountId) -> Presence {
        match self.0.binary_search_by_key(&count_id, |entry| entry.0) {
            Ok(at) => self.0[at].1,
            Err(_) => Presence::default(),
        }
    }

    /// Every count that is not zero.
    pub fn iter(&self) -> impl Iterator<Item = (CountId, Presence)> + '_ {
        self.0.iter().copied()
    }

    /// Counts one pod more.
    pub(crate) fn add(&mut self, count_id: CountId, stay: Stay) {
        let at = match self.0.binary_search_by_key(&count_id, |entry| entry.0) {
            Ok(at) => at,
            Err(at) => {
                self.0.insert(at, (count_id, Presence::default()));
                at
            }
        };
        *self.0[at].1.slot(stay) += 1;
    }

    /// Counts one pod less.
    pub(crate) fn remove(&mut self, count_id: CountId, stay: Stay) {
        let Ok(at) = self.0.binary_search_by_key(&count_id, |entry| entry.0) else { return };
        *self.0[at].1.slot(stay) -= 1;
        if self.0[at].1 == Presence::default() {
            self.0.remove(at);
        }
    }
}

/// What a task counts for wherever it is; `None` for most tasks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CountedBy(Option<Arc<[CountId]>>);

impl CountedBy {
    pub(crate) fn new(mut count_ids: Vec<CountId>) -> Self {
        count_ids.sort_unstable();
        count_ids.dedup();
        Self((!count_ids.is_empty()).then(|| count_ids.into()))
    }

    /// The counts, sorted.
    pub fn count_ids(&self) -> &[CountId] {
        self.0.as_deref().unwrap_or_default()
    }
}
