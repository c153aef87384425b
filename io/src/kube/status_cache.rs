//! What calls need of objects and the scheduler does not keep: uids of PodGroups, and what statuses
//! say already, so that the same is not written twice, not even after a restart.

use std::sync::{Mutex, MutexGuard, PoisonError};

use hashbrown::HashMap;
use muster_core::config::{Dialect, Pool};
use muster_core::ids::{Name, ObjectKey};
use rustc_hash::FxBuildHasher;
use tokio::sync::mpsc::UnboundedReceiver;

use super::pool_roll::PoolRoll;
use crate::metrics::GroupOrigin;
use crate::objects::{
    GroupPast, KaiPodGroupStatus, Object, ObjectKind, PodGroup, PodStatus, QueueStatus,
};

/// Type of the condition a waiting pod has.
pub(crate) const POD_SCHEDULED: &str = "PodScheduled";

/// Conditions of a PodGroup that are ours to write.
pub(crate) const OUR_CONDITIONS: [&str; 2] = ["Unschedulable", "Scheduled"];

/// The cache; watches write it, calls read it.
#[derive(Debug, Default)]
pub(crate) struct StatusCache {
    known: Mutex<Known>,
    /// Where the cluster is divided into pools, who is of which.
    pool: Option<PoolRoll>,
}

#[derive(Debug, Default)]
struct Known {
    groups: HashMap<ObjectKey, CachedGroup, FxBuildHasher>,
    gangs: HashMap<ObjectKey, CachedGang, FxBuildHasher>,
    waits: HashMap<ObjectKey, Wait, FxBuildHasher>,
    queues: HashMap<Name, QueueStatus, FxBuildHasher>,
    /// What people call a queue that has another name.
    titles: HashMap<Name, Name, FxBuildHasher>,
}

/// What is kept of a PodGroup.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CachedGroup {
    /// Its uid.
    pub(crate) uid: String,
    /// Does it have conditions of other writers? They must survive a write of ours.
    pub(crate) foreign_conditions: bool,
}

/// What is kept of a PodGroup of KAI's.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct CachedGang {
    /// Its uid.
    pub(crate) uid: String,
    /// What its annotations say of its past.
    pub(crate) past: GroupPast,
    /// What its status says of why it waits.
    pub(crate) status: KaiPodGroupStatus,
    /// The node pool it is to run in.
    pub(crate) pool: Name,
}

/// The condition a pod that waits has already.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Wait {
    uid: String,
    reason: String,
    code: String,
}

impl StatusCache {
    /// Nothing is known yet, of a cluster that is divided into pools if one is given.
    pub(crate) fn new(pool: Option<Pool>) -> Self {
        Self { known: Mutex::default(), pool: pool.map(PoolRoll::new) }
    }

    /// The object is there, in this state.
    pub(crate) fn note(&self, key: &ObjectKey, object: &Object) {
        self.note_pool(key, object);
        match object {
            Object::PodGroup(group) => drop(self.known().groups.insert(key.clone(), cached(group))),
            Object::KaiPodGroup(group) => {
                let uid = group.metadata.uid.clone().unwrap_or_default();
                let (past, status, pool) = (
                    group.past,
                    group.status.clone(),
                    group.pool(self.pool.as_ref().map(PoolRoll::pool)),
                );
                let gang = CachedGang { uid, past, status, pool };
                drop(self.known().gangs.insert(key.clone(), gang));
            }
            Object::Queue(queue) => {
                drop(self.known().queues.insert(key.name.clone(), queue.status.clone()));
            }
            Object::KaiQueue(queue) => self.title(&key.name, &queue.spec.display_name),
            Object::Pod(pod) => {
                let uid = pod.metadata.uid.clone().unwrap_or_default();
                let wait = if pod.spec.node_name.is_none() { wait(uid, &pod.status) } else { None };
                match wait {
                    Some(wait) => drop(self.known().waits.insert(key.clone(), wait)),
                    None => drop(self.known().waits.remove(key)),
                }
            }
            _ => {}
        }
    }

    fn note_pool(&self, key: &ObjectKey, object: &Object) {
        let Some(pool) = &self.pool else { return };
        match object {
            Object::Pod(pod) => pool.note_pod(key, pod),
            Object::PodGroup(_) | Object::KaiPodGroup(_) => pool.note_here(key),
            _ => {}
        }
    }

    /// The object is there, but in another pool than ours.
    pub(crate) fn note_elsewhere(&self, kind: ObjectKind, key: &ObjectKey) {
        self.forget(kind, key);
        if let (Some(pool), ObjectKind::PodGroup | ObjectKind::KaiPodGroup) = (&self.pool, kind) {
            pool.note_elsewhere(key);
        }
    }

    /// Pods to be told of again, since their PodGroups have moved to another pool or from one; none where
    /// there are no pools.
    pub(crate) fn moved(&self) -> Option<UnboundedReceiver<ObjectKey>> {
        self.pool.as_ref()?.moved()
    }

    /// Does the pod wait for another pool's scheduler?
    pub(crate) fn is_elsewhere(&self, pod: &ObjectKey) -> bool {
        self.pool.as_ref().is_some_and(|pool| pool.is_elsewhere(pod))
    }

    /// The pool whose label the pod is to get with its node.
    pub(crate) fn to_label(&self, pod: &ObjectKey) -> Option<Pool> {
        self.pool.as_ref()?.to_label(pod)
    }

    /// The object is gone.
    pub(crate) fn forget(&self, kind: ObjectKind, key: &ObjectKey) {
        if let Some(pool) = &self.pool {
            pool.forget(kind, key);
        }
        match kind {
            ObjectKind::PodGroup => drop(self.known().groups.remove(key)),
            ObjectKind::KaiPodGroup => drop(self.known().gangs.remove(key)),
            ObjectKind::KaiQueue => drop(self.known().titles.remove(&key.name)),
            ObjectKind::Queue => drop(self.known().queues.remove(&key.name)),
            ObjectKind::Pod => drop(self.known().waits.remove(key)),
            _ => {}
        }
    }

    /// The PodGroup, if it is there.
    pub(crate) fn group(&self, key: &ObjectKey) -> Option<CachedGroup> {
        self.known().groups.get(key).cloned()
    }

    /// The PodGroup of KAI's, if it is there.
    pub(crate) fn gang(&self, key: &ObjectKey) -> Option<CachedGang> {
        self.known().gangs.get(key).cloned()
    }

    /// What a PodGroup is known by; a pod without one has neither uid nor node pool here.
    pub(crate) fn origin(&self, key: &ObjectKey) -> GroupOrigin {
        let known = self.known();
        let gang = known.gangs.get(key);
        let of_kai =
            gang.map(|gang| GroupOrigin { uid: gang.uid.clone(), pool: gang.pool.clone() });
        let group = known.groups.get(key);
        let of_volcano =
            || group.map(|group| GroupOrigin { uid: group.uid.clone(), ..GroupOrigin::default() });
        of_kai.or_else(of_volcano).unwrap_or_default()
    }

    /// Uid of a PodGroup and whose it is, if it is there.
    pub(crate) fn owner(&self, key: &ObjectKey) -> Option<(String, Dialect)> {
        let known = self.known();
        let of_volcano = known.groups.get(key).map(|group| (group.uid.clone(), Dialect::Volcano));
        of_volcano.or_else(|| known.gangs.get(key).map(|gang| (gang.uid.clone(), Dialect::Kai)))
    }

    /// What people call a queue.
    pub(crate) fn title_of(&self, queue: &Name) -> String {
        self.known().titles.get(queue).unwrap_or(queue).to_string()
    }

    fn title(&self, queue: &Name, title: &str) {
        let titles = &mut self.known().titles;
        if title.is_empty() {
            titles.remove(queue);
        } else {
            titles.insert(queue.clone(), title.into());
        }
    }

    /// The status of a queue, if it is there.
    pub(crate) fn queue(&self, name: &Name) -> Option<QueueStatus> {
        self.known().queues.get(name).cloned()
    }

    /// Does the pod say already that it waits, with that reason and code?
    pub(crate) fn says_already(
        &self,
        pod: &ObjectKey,
        uid: &str,
        reason: &str,
        code: &str,
    ) -> bool {
        let known = self.known();
        let said = known.waits.get(pod);
        said.is_some_and(|said| said.uid == uid && said.reason == reason && said.code == code)
    }

    fn known(&self) -> MutexGuard<'_, Known> {
        // A thread that panicked while holding it has changed one entry at most.
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cached(group: &PodGroup) -> CachedGroup {
    let foreign = |kind: &str| !OUR_CONDITIONS.contains(&kind);
    CachedGroup {
        uid: group.metadata.uid.clone().unwrap_or_default(),
        foreign_conditions: group.status.conditions.iter().any(|entry| foreign(&entry.kind)),
    }
}

fn wait(uid: String, status: &PodStatus) -> Option<Wait> {
    let mut conditions = status.conditions.iter();
    let said = conditions.find(|entry| entry.kind == POD_SCHEDULED && entry.status == "False")?;
    let code = said.message.split_once(": ").map_or("", |(code, _)| code);
    Some(Wait { uid, reason: said.reason.clone(), code: code.to_owned() })
}
