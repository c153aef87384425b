//! Disruption budgets: how many of the pods they guard may go.
//!
//! Every task knows the budgets that guard it, and the ledger counts for each budget the tasks that
//! exist, run and are being evicted. So a budget is current within a cycle: what one decision takes of
//! it the next does not have.

use std::collections::BTreeMap;

use bevy_ecs::prelude::Resource;

use super::task::{Assumption, TaskStatus};
use crate::delta::{BudgetFacts, Share};
use crate::ids::{Name, ObjectKey};
use crate::world::Labels;

/// Number of a budget.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BudgetId(pub u32);

/// Budgets that guard a task, sorted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Guards(pub Vec<BudgetId>);

/// Tasks of a budget.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct BudgetCounts {
    /// That have not ended.
    pub expected: u32,
    /// That run and are not leaving.
    pub healthy: u32,
    /// That are being evicted by a decision the cluster has not confirmed.
    pub evicting: u32,
}

impl BudgetCounts {
    /// What a task in that state counts for: expected, healthy, evicting.
    pub(crate) fn of(status: TaskStatus, assumed: Option<Assumption>) -> [bool; 3] {
        let evicting =
            status == TaskStatus::Releasing && assumed.is_some_and(Assumption::is_eviction);
        [!status.is_ended(), status == TaskStatus::Running, evicting]
    }
}

/// A budget with its tasks.
#[derive(Clone, Debug, PartialEq)]
pub struct Budget {
    /// What the object says.
    pub facts: BudgetFacts,
    /// Its tasks.
    pub counts: BudgetCounts,
}

impl Budget {
    /// Tasks that may still go.
    ///
    /// What the cluster itself says counts, less what was decided since. Where it says nothing, it
    /// follows from the running tasks and what the object asks for.
    pub fn allowed(&self) -> i64 {
        let BudgetCounts { expected, healthy, evicting } = self.counts;
        if let Some(allowed) = self.facts.allowed {
            return (allowed - i64::from(evicting)).max(0);
        }
        let needed = match (&self.facts.min_available, &self.facts.max_unavailable) {
            (Some(least), _) => least.of(expected),
            (None, Some(most)) => i64::from(expected) - most.of(expected),
            // A budget that asks for nothing forbids nothing.
            (None, None) => 0,
        };
        (i64::from(healthy) - needed).max(0)
    }

    /// Does the budget guard a pod with these labels?
    pub fn guards(&self, namespace: &str, labels: &Labels) -> bool {
        let Some(selector) = &self.facts.selector else { return false };
        &*self.facts.key.namespace == namespace
            && selector.iter().all(|requirement| requirement.holds(labels.get(&requirement.key)))
    }
}

impl Share {
    /// The percentage of a number of pods, rounded up as Kubernetes does.
    pub fn of(self, all: u32) -> i64 {
        match self {
            Self::Count(count) => i64::from(count),
            Self::Percent(percent) => (i64::from(all) * i64::from(percent) + 99) / 100,
        }
    }
}

/// Every budget.
#[derive(Debug, Default, Resource)]
pub struct Budgets {
    ids: BTreeMap<ObjectKey, BudgetId>,
    slots: Vec<Option<Budget>>,
}

impl Budgets {
    /// The budget of a number, while its object is there.
    pub fn get(&self, id: BudgetId) -> Option<&Budget> {
        self.slots[id.0 as usize].as_ref()
    }

    pub(super) fn counts_mut(&mut self, id: BudgetId) -> Option<&mut BudgetCounts> {
        self.slots[id.0 as usize].as_mut().map(|budget| &mut budget.counts)
    }

    /// Budgets that are there, with their numbers.
    pub fn iter(&self) -> impl Iterator<Item = (BudgetId, &Budget)> {
        let slots = self.slots.iter().enumerate();
        slots.filter_map(|(at, slot)| Some((BudgetId(at as u32), slot.as_ref()?)))
    }

    /// Budgets that guard a pod.
    pub(crate) fn guards_of(&self, namespace: &str, labels: &Labels) -> Guards {
        let guards = self.iter().filter(|(_, budget)| budget.guards(namespace, labels));
        Guards(guards.map(|entry| entry.0).collect())
    }

    /// Is the budget known with that selector, so that it guards the same pods as before?
    pub(crate) fn guards_as_before(&self, facts: &BudgetFacts) -> bool {
        let known = self.ids.get(&facts.key).and_then(|&id| self.get(id));
        known.is_some_and(|known| known.facts.selector == facts.selector)
    }

    /// Writes what the object says; tasks counted so far stay counted.
    pub(crate) fn set(&mut self, facts: BudgetFacts) {
        let slots = &mut self.slots;
        let id = *self.ids.entry(facts.key.clone()).or_insert_with(|| {
            slots.push(None);
            BudgetId(slots.len() as u32 - 1)
        });
        let slot = &mut self.slots[id.0 as usize];
        let counts = slot.as_ref().map(|budget| budget.counts).unwrap_or_default();
        *slot = Some(Budget { facts, counts });
    }

    /// Forgets a budget; no task may be guarded by it any more.
    pub(crate) fn remove(&mut self, key: &ObjectKey) {
        if let Some(&id) = self.ids.get(key) {
            self.slots[id.0 as usize] = None;
        }
    }

    /// Is the pod one the cluster has counted as gone already?
    pub fn is_disrupted(budget: &Budget, pod: &Name) -> bool {
        budget.facts.disrupted.binary_search(pod).is_ok()
    }
}
