//! Storage as the scheduler knows it: objects, what pods need of nodes for them, and which volumes
//! are held for pods that have a place but not yet their volumes.

mod capacity;
mod known;
mod needs;
mod rules;
mod shared;
mod stock;
mod hold;

use std::collections::BTreeMap;
use std::sync::Arc;

use bevy_ecs::prelude::{Component, Resource};

pub(crate) use hold::{Choice, holds};
pub(crate) use known::Known;
pub(crate) use needs::{Claimant, Resolved, resolve};
pub use needs::{Pin, SharedId, VolumeNeeds, Wish};
pub use rules::VolumeRules;
pub(crate) use shared::Shared;
pub use shared::UseCounts;
pub(crate) use stock::Stock;
pub use stock::{Pick, Spot};

use super::node::NodeRules;
use super::symbol::{Symbol, Symbols};
use crate::delta::PodClaim;
use crate::ids::{Name, ObjectKey};

/// Everything known about storage. Rules read it; the ledger and ingest write it.
#[derive(Debug, Default, Resource)]
pub struct Volumes {
    pub(crate) known: Known,
    pub(crate) shared: Shared,
    pub(crate) stock: Stock,
    /// Most wishes any pod ever had: a rack that has more left looks the same to all.
    pub(crate) widest: u32,
    /// How often the stock was taken in.
    stocktakes: u64,
}

impl Volumes {
    /// Can a node meet all wishes, with what is not held for others?
    pub fn serve(&self, rules: &VolumeRules, spot: Spot<'_>) -> bool {
        self.stock.serves(rules, &self.shared, spot)
    }

    /// How many pods use a claim that several pods have.
    pub fn usage(&self, claim: SharedId) -> UseCounts {
        self.shared.get(claim).counts
    }

    /// A number that differs whenever answers for all nodes may.
    pub fn stamp(&self, rules: Option<&Arc<VolumeRules>>) -> u64 {
        rules.map_or(0, |rules| {
            let stock = if rules.wishes.is_empty() { 0 } else { self.stocktakes };
            stock + self.shared.stamp(rules)
        })
    }

    /// What is known of a pod's claims, resolved.
    pub(crate) fn resolve(&mut self, claimant: Claimant<'_>) -> Resolved {
        let Self { known, shared, .. } = self;
        // Numbers are given before, so that resolving only reads.
        let ids: Vec<(ObjectKey, SharedId)> = claimant
            .claims
            .iter()
            .map(|claim| ObjectKey::new(claimant.pod.namespace.clone(), claim.name.clone()))
            .filter(|key| known.users(key).nth(1).is_some())
            .map(|key| (key.clone(), shared.intern(&key)))
            .collect();
        let id = |key: &ObjectKey| ids.iter().find(|entry| entry.0 == *key).map(|entry| entry.1);
        let resolved = resolve(known, claimant, id);
        self.widest = self.widest.max(resolved.needs.wishes.len() as u32);
        resolved
    }

    /// Takes in the free volumes again; the names of what was in stock before, by number.
    pub(crate) fn restock(&mut self, nodes: &[NodeRules], symbols: &mut Symbols) -> Vec<Name> {
        let before = self.stock.items.iter().map(|item| item.name.clone()).collect();
        self.stock.fill(&self.known, nodes, symbols);
        self.shared.forget_choices();
        self.stocktakes += 1;
        before
    }

    /// No volume in stock, none to take in, and no choice to forget?
    pub(crate) fn has_nothing_to_take_in(&self) -> bool {
        self.stock.items.is_empty()
            && self.known.free().next().is_none()
            && self.shared.iter().all(|claim| claim.holders() == 0)
    }

    /// Numbers in the stock, by name.
    pub(crate) fn numbers(&self) -> BTreeMap<Name, u32> {
        let items = self.stock.items.iter().zip(0..);
        items.map(|(item, number)| (item.name.clone(), number)).collect()
    }

    /// May all of it be held for one more task?
    pub(crate) fn are_free(&self, picks: &[Pick]) -> bool {
        let common = |pick: &Pick| self.shared.iter().any(|claim| claim.chose(*pick));
        picks.iter().all(|pick| match pick {
            Pick::Found(item) => self.stock.items[*item as usize].takers == 0 || common(pick),
            Pick::Made | Pick::Empty => true,
        })
    }
}

/// The claims of a task, and the volumes it got for those that had none.
#[derive(Clone, Debug, Default)]
pub struct TaskVolumes {
    /// Its claims.
    pub claims: Vec<PodClaim>,
    /// Drivers of the volumes that stand in the pod itself.
    pub inline_drivers: Vec<Name>,
    /// Why it can go nowhere, as a sentence.
    pub trouble: Option<String>,
    /// Claims to be served when it is bound, in the order of its wishes.
    pub open: Vec<Name>,
    /// Claims that get the volume kept for them when it is bound.
    pub kept: Vec<(Name, Name)>,
    /// What it asks of nodes; `None` if nothing.
    pub rules: Option<Arc<VolumeRules>>,
    /// What it got for its wishes on the node it was given.
    pub picks: Vec<Pick>,
}

impl TaskVolumes {
    /// Are there neither claims nor anything that came of them?
    pub(crate) fn is_nothing(&self) -> bool {
        let Self { claims, inline_drivers, trouble, open, kept, rules, picks } = self;
        claims.is_empty()
            && inline_drivers.is_empty()
            && trouble.is_none()
            && open.is_empty()
            && kept.is_empty()
            && rules.is_none()
            && picks.is_empty()
    }

    /// Has it wishes that a node must meet?
    pub fn has_wishes(&self) -> bool {
        self.rules.as_ref().is_some_and(|rules| !rules.wishes.is_empty())
    }
}

/// Attachments of a node, by driver.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct Attachments(pub Vec<Attachment>);

/// Volumes of one driver attached to a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// Name of the driver.
    pub driver: Symbol,
    /// How many the node can attach; none is any number.
    pub limit: Option<u32>,
    /// How many it has.
    pub counts: UseCounts,
}

impl Attachments {
    /// What there is of a driver.
    pub fn of(&self, driver: Symbol) -> Option<&Attachment> {
        self.0.iter().find(|entry| entry.driver == driver)
    }

    /// The entry of a driver, a new one if it has none.
    pub(crate) fn entry(&mut self, driver: Symbol) -> &mut Attachment {
        let at = self.0.iter().position(|entry| entry.driver == driver).unwrap_or_else(|| {
            self.0.push(Attachment { driver, limit: None, counts: UseCounts::default() });
            self.0.len() - 1
        });
        &mut self.0[at]
    }

    /// Drops entries that say nothing.
    pub(crate) fn prune(&mut self) {
        self.0.retain(|entry| entry.limit.is_some() || entry.counts != UseCounts::default());
    }
}
