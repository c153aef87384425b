//! The embedded cluster: a store of objects and the few rules by which nodes and controllers change
//! them, on a virtual clock.
//!
//! Nothing here scans: what is due later sits in a queue ordered by time, and what changed since the
//! last cycle in a list, so that a cycle costs by what happens in it and not by the cluster's size.

mod calls;
mod kubelet;
mod store;
mod volumes;

use std::collections::{BTreeMap, BTreeSet};

use muster_core::config::View;
use muster_core::delta::ClusterDelta;
use muster_core::ids::{Name, ObjectKey};

use self::kubelet::Due;
use self::store::Store;
use super::scenario::{Deletion, FailBind, Kubelet, Scenario};
use crate::objects::translate::{OwnerRule, TranslateError, gone, in_both_dialects, translate};
use crate::objects::{KaiPodGroup, Metadata, Object, ObjectKind, Pod, PodGroup, Queue};

/// The embedded cluster.
#[derive(Debug)]
pub struct Cluster {
    kubelet: Kubelet,
    recreate: bool,
    owner: OwnerRule,
    store: Store,
    /// What happens later, by time and then by the order it was planned in.
    due: BTreeMap<(i64, u64), Due>,
    planned: u64,
    /// Entries of `due` that end with a pod gone.
    leaving: usize,
    /// What is already planned for a pod, or remembered about it.
    notes: BTreeMap<ObjectKey, PodNote>,
    fail_bind: BTreeMap<ObjectKey, Option<u32>>,
    /// Pods whose claims could not be bound as decided: their binds fail.
    unfixed: BTreeMap<ObjectKey, String>,
    changed: Vec<(ObjectKind, ObjectKey)>,
    changed_set: BTreeSet<(ObjectKind, ObjectKey)>,
    outcomes: Vec<ClusterDelta>,
    uids: u64,
    /// Changes so far; the newest is the version of the object that changed last.
    versions: u64,
    warnings: Vec<String>,
}

/// What is planned for, and remembered about, the pod that has a name now.
#[derive(Clone, Copy, Debug, Default)]
struct PodNote {
    /// By `Happening`: is it planned, or did it happen?
    planned: [bool; 3],
    /// Evicted by the scheduler, and by nobody else: its controller makes another one.
    comes_back: bool,
}

impl Cluster {
    /// The cluster of a Scenario at time zero, with a queue named `default` unless it has queues of KAI's.
    pub fn new(scenario: &Scenario) -> Self {
        let mut cluster = Self {
            kubelet: scenario.kubelet,
            recreate: scenario.recreate,
            owner: OwnerRule::simulation(),
            store: Store::default(),
            due: BTreeMap::new(),
            planned: 0,
            leaving: 0,
            notes: BTreeMap::new(),
            fail_bind: BTreeMap::new(),
            unfixed: BTreeMap::new(),
            changed: Vec::new(),
            changed_set: BTreeSet::new(),
            outcomes: Vec::new(),
            uids: 0,
            versions: 0,
            warnings: Vec::new(),
        };
        cluster.apply(scenario.objects.iter().cloned(), 0);
        cluster.add_default_queue();
        cluster
    }

    /// The same for a scheduler that sees a part of it: the rest is gone to it.
    #[must_use]
    pub fn seen_by(self, view: View) -> Self {
        Self { owner: self.owner.seeing(view), ..self }
    }

    fn add_default_queue(&mut self) {
        let key = ObjectKind::Queue.key(None, "default");
        let of_kai = |(kind, _): (ObjectKind, &ObjectKey)| kind == ObjectKind::KaiQueue;
        if self.store.get(ObjectKind::Queue, &key).is_some() || self.store.keys().any(of_kai) {
            return;
        }
        let metadata =
            Metadata { name: "default".into(), created_ms: Some(0), ..Metadata::default() };
        self.apply([Object::Queue(Box::new(Queue { metadata, ..Queue::default() }))], 0);
    }

    /// Adds objects or changes those that exist.
    pub fn apply(&mut self, objects: impl IntoIterator<Item = Object>, at_ms: i64) {
        for mut object in objects {
            let (kind, key) = (object.kind(), object.key());
            if let Object::NodeMetrics(metrics) = &mut object {
                metrics.measured_ms.get_or_insert(at_ms);
            }
            match self.store.get(kind, &key) {
                Some(old) => store::inherit(&mut object, old),
                None => self.name_newcomer(&mut object, at_ms),
            }
            if let Object::Pod(pod) = &mut object
                && pod.spec.node_name.is_some()
            {
                pod.status.placed_ms.get_or_insert(at_ms);
            }
            self.store.set(key.clone(), object);
            self.touch(kind, &key);
            if kind == ObjectKind::Pod {
                self.make_claims(&key, at_ms);
                self.plan_applied(&key, at_ms);
            }
        }
    }

    fn name_newcomer(&mut self, object: &mut Object, at_ms: i64) {
        let Some(metadata) = object.metadata_mut() else { return };
        if metadata.uid.is_none() {
            self.uids += 1;
            metadata.uid = Some(format!("uid-{}", self.uids));
        }
        metadata.created_ms.get_or_insert(at_ms);
    }

    /// Removes objects: a pod leaves its node first, everything else is gone at once.
    pub fn delete(&mut self, deletions: &[Deletion], at_ms: i64) {
        for Deletion { kind, key } in deletions {
            if self.store.get(*kind, key).is_none() {
                let name =
                    if kind.is_namespaced() { key.to_string() } else { key.name.to_string() };
                self.warnings.push(format!(
                    "timeline at {}: there is no {kind} {name} to delete",
                    super::clock::text(at_ms)
                ));
            } else if *kind == ObjectKind::Pod {
                self.notes.entry(key.clone()).or_default().comes_back = false;
                self.begin_leaving(key, at_ms);
            } else if *kind == ObjectKind::PersistentVolumeClaim {
                self.remove_claim(key);
            } else {
                self.store.remove(*kind, key);
                self.touch(*kind, key);
            }
        }
    }

    /// Makes the next bindings of these pods fail.
    pub fn fail_bindings(&mut self, failures: &[FailBind]) {
        for failure in failures {
            self.fail_bind.insert(failure.pod.clone(), failure.times);
        }
    }

    /// Is a pod on its way out, and will it ever be?
    pub fn has_leaving_pods(&self) -> bool {
        self.leaving > 0
    }

    /// Is there a node of that name?
    pub fn has_node(&self, name: &Name) -> bool {
        self.store.get(ObjectKind::Node, &ObjectKind::Node.key(None, name)).is_some()
    }

    /// What of it the scheduler sees.
    pub fn view(&self) -> &View {
        self.owner.view()
    }

    /// The pod of that name.
    pub fn pod(&self, key: &ObjectKey) -> Option<&Pod> {
        self.store.pod(key)
    }

    /// The PodGroup of that name.
    pub fn group(&self, key: &ObjectKey) -> Option<&PodGroup> {
        self.store.group(key)
    }

    /// The PodGroup of KAI's of that name.
    pub fn kai_group(&self, key: &ObjectKey) -> Option<&KaiPodGroup> {
        self.store.kai_group(key)
    }

    /// Sentences about input that had no effect, each given once.
    pub fn take_warnings(&mut self) -> Vec<String> {
        std::mem::take(&mut self.warnings)
    }

    /// The changes since the last call, one delta for each object however often it changed, in the
    /// order of first change; then the outcomes of calls.
    pub fn take_deltas(&mut self) -> Vec<ClusterDelta> {
        self.changed_set.clear();
        let changed = std::mem::take(&mut self.changed);
        let mut deltas: Vec<_> =
            changed.iter().filter_map(|(kind, key)| self.delta(*kind, key)).collect();
        deltas.append(&mut self.outcomes);
        deltas
    }

    /// Everything there is, as a scheduler that knows nothing reads it.
    pub fn list(&self) -> Vec<ClusterDelta> {
        self.store.keys().filter_map(|(kind, key)| self.delta(kind, key)).collect()
    }

    fn delta(&self, kind: ObjectKind, key: &ObjectKey) -> Option<ClusterDelta> {
        let seen = |kind| self.store.get(kind, key).filter(|object| self.owner.sees(object));
        match (seen(kind), kind.namesake().and_then(seen)) {
            (None, None) => gone(kind, key),
            (Some(_), Some(_)) => in_both_dialects(kind, key),
            (Some(object), None) | (None, Some(object)) => {
                translate(object, &self.owner).unwrap_or_else(TranslateError::set_aside)
            }
        }
    }

    /// Notes that an object changed: it gets a new version, and the next delta tells of it.
    fn touch(&mut self, kind: ObjectKind, key: &ObjectKey) {
        self.versions += 1;
        let version = self.versions;
        if let Some(metadata) = self.store.metadata_mut(kind, key) {
            metadata.resource_version = Some(version.to_string());
        }
        if self.changed_set.insert((kind, key.clone())) {
            self.changed.push((kind, key.clone()));
        }
    }
}

#[cfg(test)]
mod tests;
