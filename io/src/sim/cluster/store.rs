//! Objects by kind and key, and what an object keeps when it is applied again.

use std::collections::BTreeMap;

use muster_core::ids::ObjectKey;

use crate::objects::{
    KaiPodGroup, Metadata, Node, NodeShard, Object, ObjectKind, PersistentVolume,
    PersistentVolumeClaim, Pod, PodGroup, Queue, StorageClass,
};

use crate::objects::translate::keep_reservation;

/// Objects by kind and key.
#[derive(Debug, Default)]
pub(super) struct Store {
    by_kind: BTreeMap<ObjectKind, BTreeMap<ObjectKey, Object>>,
}

impl Store {
    pub(super) fn get(&self, kind: ObjectKind, key: &ObjectKey) -> Option<&Object> {
        self.by_kind.get(&kind)?.get(key)
    }

    pub(super) fn metadata_mut(
        &mut self,
        kind: ObjectKind,
        key: &ObjectKey,
    ) -> Option<&mut Metadata> {
        self.by_kind.get_mut(&kind)?.get_mut(key)?.metadata_mut()
    }

    pub(super) fn set(&mut self, key: ObjectKey, object: Object) {
        self.by_kind.entry(object.kind()).or_default().insert(key, object);
    }

    pub(super) fn remove(&mut self, kind: ObjectKind, key: &ObjectKey) -> Option<Object> {
        self.by_kind.get_mut(&kind)?.remove(key)
    }

    pub(super) fn pod(&self, key: &ObjectKey) -> Option<&Pod> {
        match self.get(ObjectKind::Pod, key) {
            Some(Object::Pod(pod)) => Some(pod),
            _ => None,
        }
    }

    pub(super) fn pod_mut(&mut self, key: &ObjectKey) -> Option<&mut Pod> {
        match self.by_kind.get_mut(&ObjectKind::Pod)?.get_mut(key) {
            Some(Object::Pod(pod)) => Some(pod),
            _ => None,
        }
    }

    pub(super) fn group(&self, key: &ObjectKey) -> Option<&PodGroup> {
        match self.get(ObjectKind::PodGroup, key) {
            Some(Object::PodGroup(group)) => Some(group),
            _ => None,
        }
    }

    pub(super) fn kai_group(&self, key: &ObjectKey) -> Option<&KaiPodGroup> {
        match self.get(ObjectKind::KaiPodGroup, key) {
            Some(Object::KaiPodGroup(group)) => Some(group),
            _ => None,
        }
    }

    pub(super) fn kai_group_mut(&mut self, key: &ObjectKey) -> Option<&mut KaiPodGroup> {
        match self.by_kind.get_mut(&ObjectKind::KaiPodGroup)?.get_mut(key) {
            Some(Object::KaiPodGroup(group)) => Some(group),
            _ => None,
        }
    }

    pub(super) fn group_mut(&mut self, key: &ObjectKey) -> Option<&mut PodGroup> {
        match self.by_kind.get_mut(&ObjectKind::PodGroup)?.get_mut(key) {
            Some(Object::PodGroup(group)) => Some(group),
            _ => None,
        }
    }

    pub(super) fn shard_mut(&mut self, name: &str) -> Option<&mut NodeShard> {
        let key = ObjectKind::NodeShard.key(None, name);
        match self.by_kind.get_mut(&ObjectKind::NodeShard)?.get_mut(&key) {
            Some(Object::NodeShard(shard)) => Some(shard),
            _ => None,
        }
    }

    pub(super) fn queue_mut(&mut self, name: &str) -> Option<&mut Queue> {
        let key = ObjectKind::Queue.key(None, name);
        match self.by_kind.get_mut(&ObjectKind::Queue)?.get_mut(&key) {
            Some(Object::Queue(queue)) => Some(queue),
            _ => None,
        }
    }

    pub(super) fn node(&self, name: &str) -> Option<&Node> {
        match self.get(ObjectKind::Node, &ObjectKind::Node.key(None, name)) {
            Some(Object::Node(node)) => Some(node),
            _ => None,
        }
    }

    pub(super) fn claim(&self, key: &ObjectKey) -> Option<&PersistentVolumeClaim> {
        match self.get(ObjectKind::PersistentVolumeClaim, key) {
            Some(Object::PersistentVolumeClaim(claim)) => Some(claim),
            _ => None,
        }
    }

    pub(super) fn claim_mut(&mut self, key: &ObjectKey) -> Option<&mut PersistentVolumeClaim> {
        match self.by_kind.get_mut(&ObjectKind::PersistentVolumeClaim)?.get_mut(key) {
            Some(Object::PersistentVolumeClaim(claim)) => Some(claim),
            _ => None,
        }
    }

    pub(super) fn volume_mut(&mut self, name: &str) -> Option<&mut PersistentVolume> {
        let key = ObjectKind::PersistentVolume.key(None, name);
        match self.by_kind.get_mut(&ObjectKind::PersistentVolume)?.get_mut(&key) {
            Some(Object::PersistentVolume(volume)) => Some(volume),
            _ => None,
        }
    }

    pub(super) fn class(&self, name: &str) -> Option<&StorageClass> {
        match self.get(ObjectKind::StorageClass, &ObjectKind::StorageClass.key(None, name)) {
            Some(Object::StorageClass(class)) => Some(class),
            _ => None,
        }
    }

    pub(super) fn classes(&self) -> impl Iterator<Item = &StorageClass> {
        let classes = self.by_kind.get(&ObjectKind::StorageClass).into_iter().flatten();
        classes.filter_map(|(_, object)| match object {
            Object::StorageClass(class) => Some(&**class),
            _ => None,
        })
    }

    /// Every key, kind by kind.
    pub(super) fn keys(&self) -> impl Iterator<Item = (ObjectKind, &ObjectKey)> {
        self.by_kind.iter().flat_map(|(kind, map)| map.keys().map(|key| (*kind, key)))
    }
}

/// What an applied object keeps of the one it replaces: identity always, the status unless one is
/// given, of a pod the node it is on, of claims and volumes each other.
pub(super) fn inherit(new: &mut Object, old: &Object) {
    if let (Some(new), Some(old)) = (new.metadata_mut(), old.metadata()) {
        inherit_identity(new, old);
    }
    match (new, old) {
        (Object::Node(new), Object::Node(old)) => keep_status(&mut new.status, &old.status),
        (Object::PodGroup(new), Object::PodGroup(old)) => {
            keep_status(&mut new.status, &old.status);
        }
        (Object::KaiPodGroup(new), Object::KaiPodGroup(old)) => {
            keep_status(&mut new.status, &old.status);
            keep_status(&mut new.past, &old.past);
        }
        (Object::Queue(new), Object::Queue(old)) => keep_status(&mut new.status, &old.status),
        (Object::ResourceQuota(new), Object::ResourceQuota(old)) => {
            keep_status(&mut new.status, &old.status);
        }
        (Object::Pod(new), Object::Pod(old)) => {
            keep_status(&mut new.status, &old.status);
            new.status.placed_ms = new.status.placed_ms.or(old.status.placed_ms);
            keep_reservation(&mut new.metadata, &old.metadata);
            if new.spec.node_name.is_none() {
                new.spec.node_name.clone_from(&old.spec.node_name);
            }
        }
        (Object::PersistentVolumeClaim(new), Object::PersistentVolumeClaim(old)) => {
            keep_status(&mut new.status, &old.status);
            if new.spec.volume_name.is_none() {
                new.spec.volume_name.clone_from(&old.spec.volume_name);
            }
        }
        (Object::PersistentVolume(new), Object::PersistentVolume(old)) => {
            keep_status(&mut new.status, &old.status);
            if new.spec.claim_ref.is_none() {
                new.spec.claim_ref.clone_from(&old.spec.claim_ref);
            }
        }
        _ => {}
    }
}

fn inherit_identity(new: &mut Metadata, old: &Metadata) {
    new.uid.clone_from(&old.uid);
    new.creation_timestamp.clone_from(&old.creation_timestamp);
    new.created_ms = old.created_ms;
    if old.deletion_timestamp.is_some() {
        new.deletion_timestamp.clone_from(&old.deletion_timestamp);
        new.deletion_ms = old.deletion_ms;
    }
}

fn keep_status<S: Clone + Default + PartialEq>(new: &mut S, old: &S) {
    if *new == S::default() {
        new.clone_from(old);
    }
}
