//! Who is of which pool of nodes, where the cluster is divided into pools: what watches and calls must
//! know of it and the scheduler does not.
//!
//! A pod of a PodGroup is where its PodGroup is. As long as it waits it is not there for us if that is in
//! another pool; a PodGroup that moves takes such pods along, so their watch is asked to tell of them
//! again. A pod that gets its node also gets the label of the pool, if it has not got it.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::{HashMap, HashSet};
use muster_core::config::Pool;
use muster_core::ids::ObjectKey;
use rustc_hash::FxBuildHasher;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use crate::objects::translate::group_of;
use crate::objects::{ObjectKind, Pod};

/// What is known; watches write it, calls read it.
#[derive(Debug)]
pub(crate) struct PoolRoll {
    pool: Pool,
    known: Mutex<Known>,
    /// Pods whose PodGroup has moved.
    moved: UnboundedSender<ObjectKey>,
}

#[derive(Debug, Default)]
struct Known {
    /// PodGroups of other pools.
    elsewhere: HashSet<ObjectKey, FxBuildHasher>,
    /// Pods without a node.
    waiting: HashMap<ObjectKey, Waiting, FxBuildHasher>,
    /// The same by PodGroup.
    members: HashMap<ObjectKey, HashSet<ObjectKey, FxBuildHasher>, FxBuildHasher>,
    /// Who is to hear of pods whose PodGroup has moved, until somebody does.
    hear: Option<UnboundedReceiver<ObjectKey>>,
}

#[derive(Debug)]
struct Waiting {
    group: Option<ObjectKey>,
    label: Label,
}

/// Does a pod carry the label of the pool?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Label {
    Right,
    Missing,
}

impl PoolRoll {
    /// Nothing is known yet.
    pub(crate) fn new(pool: Pool) -> Self {
        let (moved, hear) = unbounded_channel();
        let known = Known { hear: Some(hear), ..Known::default() };
        Self { pool, known: Mutex::new(known), moved }
    }

    /// Our pool.
    pub(super) fn pool(&self) -> &Pool {
        &self.pool
    }

    /// Pods to be told of again, for whoever asks first.
    pub(super) fn moved(&self) -> Option<UnboundedReceiver<ObjectKey>> {
        self.known().hear.take()
    }

    /// A pod is there.
    pub(super) fn note_pod(&self, key: &ObjectKey, pod: &Pod) {
        let mut known = self.known();
        known.forget(key);
        if pod.spec.node_name.is_some() {
            return;
        }
        let group = group_of(&pod.metadata);
        let group = group.map(|name| ObjectKey::new(key.namespace.clone(), name));
        if let Some(group) = &group {
            known.members.entry_ref(group).or_default().insert(key.clone());
        }
        let has = pod.metadata.labels.get(&*self.pool.key).map(String::as_str);
        let label = if self.pool.has(has) { Label::Right } else { Label::Missing };
        known.waiting.insert(key.clone(), Waiting { group, label });
    }

    /// A PodGroup is there, in another pool.
    pub(super) fn note_elsewhere(&self, group: &ObjectKey) {
        let mut known = self.known();
        if known.elsewhere.insert(group.clone()) {
            self.tell_again(&known, group);
        }
    }

    /// A PodGroup is there, in ours.
    pub(super) fn note_here(&self, group: &ObjectKey) {
        let mut known = self.known();
        if known.elsewhere.remove(group) {
            self.tell_again(&known, group);
        }
    }

    fn tell_again(&self, known: &Known, group: &ObjectKey) {
        let mut pods: Vec<_> = known.members.get(group).into_iter().flatten().cloned().collect();
        pods.sort_unstable();
        for pod in pods {
            // Without a watch there is nobody to tell of it, and the process is about to end.
            let _ended = self.moved.send(pod);
        }
    }

    /// The object is gone.
    pub(super) fn forget(&self, kind: ObjectKind, key: &ObjectKey) {
        match kind {
            ObjectKind::Pod => self.known().forget(key),
            ObjectKind::PodGroup | ObjectKind::KaiPodGroup => self.note_here(key),
            _ => {}
        }
    }

    /// Does the pod wait for another pool's scheduler?
    pub(super) fn is_elsewhere(&self, pod: &ObjectKey) -> bool {
        let known = self.known();
        let group = known.waiting.get(pod).and_then(|waiting| waiting.group.as_ref());
        group.is_some_and(|group| known.elsewhere.contains(group))
    }

    /// The pool whose label the pod is to get. A pool without a name has none to give.
    pub(super) fn to_label(&self, pod: &ObjectKey) -> Option<Pool> {
        let known = self.known();
        let lacks = known.waiting.get(pod).is_some_and(|waiting| waiting.label == Label::Missing);
        (lacks && !self.pool.value.is_empty()).then(|| self.pool.clone())
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // A thread that panicked while holding it has changed one entry at most.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Known {
    /// The pod waits no more.
    fn forget(&mut self, pod: &ObjectKey) {
        let Some(Waiting { group: Some(group), .. }) = self.waiting.remove(pod) else { return };
        if let Some(members) = self.members.get_mut(&group) {
            members.remove(pod);
            if members.is_empty() {
                self.members.remove(&group);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod(label: Option<&str>, node: Option<&str>) -> Pod {
        let labels = label.map_or(json!({}), |value| json!({"pool": value}));
        let pod = json!({
            "metadata": {"name": "p", "labels": labels, "annotations": {"pod-group-name": "g"}},
            "spec": {"nodeName": node},
        });
        serde_json::from_value(pod).unwrap()
    }

    #[test]
    fn a_pod_is_where_its_group_is_and_gets_the_label_it_lacks() {
        let roll = |value: &str| PoolRoll::new(Pool { key: "pool".into(), value: value.into() });
        let (key, group) = (ObjectKey::new("default", "p"), ObjectKey::new("default", "g"));
        let ours = roll("a");
        ours.note_pod(&key, &pod(Some("b"), None));
        assert!(!ours.is_elsewhere(&key));
        assert_eq!(ours.to_label(&key).map(|pool| pool.value.to_string()), Some("a".to_owned()));
        let mut moved = ours.moved().unwrap();
        assert!(ours.moved().is_none());
        ours.note_here(&group);
        assert!(moved.try_recv().is_err());
        ours.note_elsewhere(&group);
        ours.note_elsewhere(&group);
        assert!(ours.is_elsewhere(&key));
        ours.forget(ObjectKind::KaiPodGroup, &group);
        assert!(!ours.is_elsewhere(&key));
        assert_eq!([moved.try_recv(), moved.try_recv()], [Ok(key.clone()), Ok(key.clone())]);
        assert!(moved.try_recv().is_err());
        ours.note_pod(&key, &pod(Some("a"), None));
        assert_eq!(ours.to_label(&key), None);
        ours.note_pod(&key, &pod(None, Some("n0")));
        assert_eq!(ours.to_label(&key), None);
        ours.note_elsewhere(&group);
        assert!(moved.try_recv().is_err(), "it waits no more");
        let unnamed = roll("");
        unnamed.note_pod(&key, &pod(Some("b"), None));
        assert_eq!(unnamed.to_label(&key), None);
    }
}
