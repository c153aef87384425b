//! Volumes, claims and classes by name, and who refers to whom.

use std::collections::{BTreeMap, BTreeSet};

use bevy_ecs::entity::Entity;

use super::capacity::{Capacities, suffices};
use crate::delta::{
    ClaimFacts, ClaimState, CsiDriverFacts, StorageCapacityFacts, StorageClassFacts, VolumeFacts,
    VolumeState,
};
use crate::ids::{Name, ObjectKey};

/// Every object about storage.
#[derive(Debug, Default)]
pub(crate) struct Known {
    claims: BTreeMap<ObjectKey, ClaimFacts>,
    volumes: BTreeMap<Name, VolumeFacts>,
    classes: BTreeMap<Name, StorageClassFacts>,
    /// What storage is left where.
    pub(super) capacities: Capacities,
    /// Claims that wait for a volume.
    pending: BTreeSet<ObjectKey>,
    /// Attachments each node allows, by driver.
    limits: BTreeMap<Name, Vec<(Name, u32)>>,
    /// Pods that have a claim, whether the claim exists or not.
    users: BTreeMap<ObjectKey, BTreeSet<Entity>>,
    /// Claims that name a volume.
    claiming: BTreeMap<Name, BTreeSet<ObjectKey>>,
    /// Volumes that name a claim.
    kept: BTreeMap<ObjectKey, BTreeSet<Name>>,
}

fn link<K: Ord + Clone, V: Ord>(map: &mut BTreeMap<K, BTreeSet<V>>, key: &K, value: V) {
    map.entry(key.clone()).or_default().insert(value);
}

fn unlink<K: Ord, V: Ord>(map: &mut BTreeMap<K, BTreeSet<V>>, key: &K, value: &V) {
    if let Some(set) = map.get_mut(key) {
        set.remove(value);
        if set.is_empty() {
            map.remove(key);
        }
    }
}

impl Known {
    pub(super) fn claim(&self, key: &ObjectKey) -> Option<&ClaimFacts> {
        self.claims.get(key)
    }

    pub(super) fn volume(&self, name: &Name) -> Option<&VolumeFacts> {
        self.volumes.get(name)
    }

    pub(super) fn class(&self, name: &Name) -> Option<&StorageClassFacts> {
        self.classes.get(name)
    }

    /// The class of a claim: the one it names, else the default; `None` if it wants none.
    pub(super) fn class_of<'a>(&'a self, claim: &'a ClaimFacts) -> Option<&'a Name> {
        let default = || {
            let defaults = self.classes.values().filter(|class| class.is_default);
            // As the API server fills it in: the youngest, then the first by name.
            defaults.rev().max_by_key(|class| class.created).map(|class| &class.name)
        };
        claim.class.as_ref().map_or_else(default, |name| (!name.is_empty()).then_some(name))
    }

    /// Volumes that name the claim.
    pub(super) fn kept_for(&self, claim: &ObjectKey) -> impl Iterator<Item = &VolumeFacts> {
        let names = self.kept.get(claim).into_iter().flatten();
        names.filter_map(|name| self.volumes.get(name))
    }

    /// Volumes any fitting claim may get, by name.
    pub(super) fn free(&self) -> impl Iterator<Item = &VolumeFacts> {
        self.volumes.values().filter(|volume| {
            volume.state == VolumeState::Usable
                && volume.claim.is_none()
                && !self.claiming.contains_key(&volume.name)
        })
    }

    /// Pods that have the claim.
    pub(crate) fn users(&self, claim: &ObjectKey) -> impl Iterator<Item = Entity> + '_ {
        self.users.get(claim).into_iter().flatten().copied()
    }

    /// Pods with a claim that waits for a volume.
    pub(crate) fn waiting_users(&self) -> BTreeSet<Entity> {
        self.pending.iter().flat_map(|key| self.users(key)).collect()
    }

    /// Claims that wait for a volume.
    pub(super) fn pending(&self) -> impl Iterator<Item = &ClaimFacts> {
        self.pending.iter().filter_map(|key| self.claims.get(key))
    }

    pub(crate) fn add_user(&mut self, claim: &ObjectKey, pod: Entity) {
        link(&mut self.users, claim, pod);
    }

    pub(crate) fn remove_user(&mut self, claim: &ObjectKey, pod: Entity) {
        unlink(&mut self.users, claim, &pod);
    }

    pub(crate) fn limits(&self, node: &Name) -> &[(Name, u32)] {
        self.limits.get(node).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn set_limits(&mut self, node: &Name, limits: Option<Vec<(Name, u32)>>) {
        match limits {
            Some(limits) => drop(self.limits.insert(node.clone(), limits)),
            None => drop(self.limits.remove(node)),
        }
    }

    /// Replaces what is known of a claim; true if that is news.
    pub(crate) fn set_claim(&mut self, key: &ObjectKey, facts: Option<ClaimFacts>) -> bool {
        if self.claims.get(key) == facts.as_ref() {
            return false;
        }
        if let Some(name) = self.claims.remove(key).and_then(|old| old.volume) {
            unlink(&mut self.claiming, &name, key);
        }
        self.pending.remove(key);
        if let Some(facts) = facts {
            if facts.state == ClaimState::Pending {
                self.pending.insert(key.clone());
            }
            if let Some(name) = &facts.volume {
                link(&mut self.claiming, name, key.clone());
            }
            self.claims.insert(key.clone(), facts);
        }
        true
    }

    /// Replaces what is known of a volume; the claims that concerns, none if it is no news.
    pub(crate) fn set_volume(
        &mut self,
        name: &Name,
        facts: Option<VolumeFacts>,
    ) -> Option<BTreeSet<ObjectKey>> {
        if self.volumes.get(name) == facts.as_ref() {
            return None;
        }
        let mut concerned = self.claiming.get(name).cloned().unwrap_or_default();
        if let Some(old) = self.volumes.remove(name).and_then(|old| old.claim) {
            unlink(&mut self.kept, &old.key, name);
            concerned.insert(old.key);
        }
        if let Some(facts) = facts {
            if let Some(claim) = &facts.claim {
                link(&mut self.kept, &claim.key, name.clone());
                concerned.insert(claim.key.clone());
            }
            self.volumes.insert(name.clone(), facts);
        }
        Some(concerned)
    }

    /// Replaces what is known of a class; the claims that concerns.
    pub(crate) fn set_class(
        &mut self,
        name: &Name,
        facts: Option<StorageClassFacts>,
    ) -> Vec<ObjectKey> {
        if self.classes.get(name) == facts.as_ref() {
            return Vec::new();
        }
        match facts {
            Some(facts) => drop(self.classes.insert(name.clone(), facts)),
            None => drop(self.classes.remove(name)),
        }
        let concerned =
            self.pending().filter(|claim| claim.class.as_ref().is_none_or(|own| own == name));
        concerned.map(|claim| claim.key.clone()).collect()
    }

    /// Replaces what a driver says of itself; the claims that concerns.
    pub(crate) fn set_driver(
        &mut self,
        name: &Name,
        facts: Option<CsiDriverFacts>,
    ) -> Vec<ObjectKey> {
        if !self.capacities.set_driver(name, facts) {
            return Vec::new();
        }
        let made_by = |claim: &&ClaimFacts| {
            let class = self.class_of(claim).and_then(|class| self.classes.get(class));
            class.is_some_and(|class| class.provisioner.as_ref() == Some(name))
        };
        self.pending().filter(made_by).map(|claim| claim.key.clone()).collect()
    }

    /// Replaces what is known of the storage left in a segment; the claims for which that makes a
    /// difference.
    pub(crate) fn set_capacity(
        &mut self,
        key: &ObjectKey,
        facts: Option<StorageCapacityFacts>,
    ) -> Vec<ObjectKey> {
        let after = facts.clone();
        let before = self.capacities.set(key, facts);
        let differs = |claim: &&ClaimFacts| {
            let Some(class) = self.class_of(claim) else { return false };
            let serves = |facts: &Option<StorageCapacityFacts>| {
                facts
                    .as_ref()
                    .filter(|facts| facts.class == *class && suffices(facts, claim.size))
                    .map(|facts| facts.segment.clone())
            };
            serves(&before) != serves(&after)
        };
        self.pending().filter(differs).map(|claim| claim.key.clone()).collect()
    }
}
