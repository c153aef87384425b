//! Claims that several pods have: how many of them are on nodes, and which volume was chosen.

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::needs::SharedId;
use super::rules::VolumeRules;
use super::stock::Pick;
use crate::ids::ObjectKey;

/// Tasks or attachments on nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct UseCounts {
    /// In use, by leaving tasks too.
    pub used: u32,
    /// The part of `used` that is leaving.
    pub leaving: u32,
    /// Held for tasks that wait for their node.
    pub held: u32,
}

/// One claim.
#[derive(Clone, Debug)]
pub(crate) struct SharedClaim {
    pub(crate) key: ObjectKey,
    pub(crate) counts: UseCounts,
    /// What its first pod got in this cycle, and the row of that pod's node.
    pub(super) choice: Option<(Pick, u32)>,
    /// Pods that go by the choice.
    pub(super) holders: u32,
    /// Grows with every change.
    version: u64,
}

impl SharedClaim {
    /// Pods that go by the choice.
    pub(crate) fn holders(&self) -> u32 {
        self.holders
    }

    /// Is that the choice?
    pub(super) fn chose(&self, pick: Pick) -> bool {
        self.choice.is_some_and(|choice| choice.0 == pick)
    }
}

/// Every claim several pods have or once had.
#[derive(Debug, Default)]
pub(crate) struct Shared {
    by_key: HashMap<ObjectKey, SharedId, FxBuildHasher>,
    claims: Vec<SharedClaim>,
}

impl Shared {
    /// The number of a claim, a new one if it has none.
    pub(crate) fn intern(&mut self, key: &ObjectKey) -> SharedId {
        let next = SharedId(self.claims.len() as u32);
        let id = *self.by_key.entry_ref(key).or_insert(next);
        if id == next {
            self.claims.push(SharedClaim {
                key: key.clone(),
                counts: UseCounts::default(),
                choice: None,
                holders: 0,
                version: 0,
            });
        }
        id
    }

    pub(crate) fn get(&self, id: SharedId) -> &SharedClaim {
        &self.claims[id.0 as usize]
    }

    /// The claim, to be changed.
    pub(crate) fn change(&mut self, id: SharedId) -> &mut SharedClaim {
        let claim = &mut self.claims[id.0 as usize];
        claim.version += 1;
        claim
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &SharedClaim> {
        self.claims.iter()
    }

    /// A number that differs whenever an answer for the rules may.
    pub(crate) fn stamp(&self, rules: &VolumeRules) -> u64 {
        rules.shared.iter().map(|&id| self.get(id).version).sum()
    }

    /// Forgets every choice: they are made again.
    pub(super) fn forget_choices(&mut self) {
        for claim in &mut self.claims {
            claim.choice = None;
            claim.holders = 0;
            claim.version += 1;
        }
    }
}
