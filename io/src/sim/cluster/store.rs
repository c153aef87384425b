//! Objects by kind and key, and what an object keeps when it is applied again.

use std::collections::BTreeMap;

use muster_core::ids::ObjectKey;

use crate::objects::{Metadata, Object, ObjectKind, Pod, PodGroup};

/// Objects by kind and key.
#[derive(Debug, Default)]
pub(super) struct Store {
    by_kind: BTreeMap<ObjectKind, BTreeMap<ObjectKey, Object>>,
}

impl Store {
    pub(super) fn get(&self, kind: ObjectKind, key: &ObjectKey) -> Option<&Object> {
        self.by_kind.get(&kind)?.get(key)
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

    pub(super) fn group_mut(&mut self, key: &ObjectKey) -> Option<&mut PodGroup> {
        match self.by_kind.get_mut(&ObjectKind::PodGroup)?.get_mut(key) {
            Some(Object::PodGroup(group)) => Some(group),
            _ => None,
        }
    }

    /// Every key, kind by kind.
    pub(super) fn keys(&self) -> impl Iterator<Item = (ObjectKind, &ObjectKey)> {
        self.by_kind.iter().flat_map(|(kind, map)| map.keys().map(|key| (*kind, key)))
    }
}

/// What an applied object keeps of the one it replaces: identity always, the status unless one is
/// given, and of a pod the node it is on.
pub(super) fn inherit(new: &mut Object, old: &Object) {
    if let (Some(new), Some(old)) = (new.metadata_mut(), old.metadata()) {
        inherit_identity(new, old);
    }
    match (new, old) {
        (Object::Node(new), Object::Node(old)) => keep_status(&mut new.status, &old.status),
        (Object::PodGroup(new), Object::PodGroup(old)) => {
            keep_status(&mut new.status, &old.status);
        }
        (Object::Queue(new), Object::Queue(old)) => keep_status(&mut new.status, &old.status),
        (Object::ResourceQuota(new), Object::ResourceQuota(old)) => {
            keep_status(&mut new.status, &old.status);
        }
        (Object::Pod(new), Object::Pod(old)) => {
            keep_status(&mut new.status, &old.status);
            if new.spec.node_name.is_none() {
                new.spec.node_name.clone_from(&old.spec.node_name);
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
    }
}

fn keep_status<S: Clone + Default + PartialEq>(new: &mut S, old: &S) {
    if *new == S::default() {
        new.clone_from(old);
    }
}
