//! An outside world that answers the scheduler's calls: it grants them, refuses them, keeps them
//! hanging, or lets someone else win; meanwhile pods run, end and leave, and nodes come and go.
//!
//! Everything it does is decided by [`Dice`], which are part of a test's input: all zeros is a world
//! in which every call is granted at once and nothing else happens.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_core::delta::{
    ClusterDelta, Facts, NodeFacts, ObjectRef, PodFacts, PodGroupFacts, PodPhase,
};
use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::{Intent, Ruling};

/// Chance as data: a list of throws, used again from the start when it ends.
#[derive(Clone, Debug)]
pub struct Dice {
    throws: Vec<u8>,
    next: usize,
}

impl Dice {
    /// Dice that fall as given; none fall on zero.
    pub fn new(throws: Vec<u8>) -> Self {
        Self { throws, next: 0 }
    }

    /// One throw of a die with so many sides, counted from zero.
    pub(crate) fn throw(&mut self, sides: u8) -> u8 {
        let throw = self.throws.get(self.next).copied().unwrap_or(0);
        self.next = (self.next + 1) % self.throws.len().max(1);
        throw % sides
    }
}

/// The objects of the cluster and the calls not answered yet.
#[derive(Clone, Debug)]
pub struct Outside {
    nodes: BTreeMap<Name, NodeFacts>,
    lost: BTreeMap<Name, NodeFacts>,
    pods: BTreeMap<ObjectKey, PodFacts>,
    groups: BTreeMap<ObjectKey, PodGroupFacts>,
    calls: Vec<Intent>,
    dice: Dice,
    lives: u32,
}

impl Outside {
    /// A world of the objects given.
    pub fn new(objects: &[ClusterDelta], dice: Dice) -> Self {
        let mut outside = Self {
            nodes: BTreeMap::new(),
            lost: BTreeMap::new(),
            pods: BTreeMap::new(),
            groups: BTreeMap::new(),
            calls: Vec::new(),
            dice,
            lives: 0,
        };
        for object in objects {
            match object {
                ClusterDelta::Set(Facts::Node(node)) => {
                    drop(outside.nodes.insert(node.name.clone(), (**node).clone()));
                }
                ClusterDelta::Set(Facts::Pod(pod)) => {
                    drop(outside.pods.insert(pod.key.clone(), (**pod).clone()));
                }
                ClusterDelta::Set(Facts::PodGroup(group)) => {
                    drop(outside.groups.insert(group.key.clone(), (**group).clone()));
                }
                _ => {}
            }
        }
        outside
    }

    /// Nodes that are there.
    pub fn nodes(&self) -> &BTreeMap<Name, NodeFacts> {
        &self.nodes
    }

    /// Pods that are there.
    pub fn pods(&self) -> &BTreeMap<ObjectKey, PodFacts> {
        &self.pods
    }

    /// PodGroups that are there.
    pub fn groups(&self) -> &BTreeMap<ObjectKey, PodGroupFacts> {
        &self.groups
    }

    /// Takes calls to be answered later.
    pub fn take(&mut self, intents: impl IntoIterator<Item = Intent>) {
        self.calls.extend(intents);
    }

    /// What happens until the next cycle.
    pub fn pass(&mut self) -> Vec<ClusterDelta> {
        let mut news = Vec::new();
        for call in std::mem::take(&mut self.calls) {
            news.extend(self.answer(call));
        }
        let pods: Vec<ObjectKey> = self.pods.keys().cloned().collect();
        for key in pods {
            news.extend(self.live(&key));
        }
        news.extend(self.storm());
        news
    }

    fn answer(&mut self, call: Intent) -> Option<ClusterDelta> {
        match call {
            Intent::Bind { pod, uid, node, ruling } => self.bind(pod, uid, node, ruling),
            Intent::Evict { pod, uid, .. } => {
                if self.dice.throw(6) == 1 {
                    let reason = "refused".into();
                    return Some(ClusterDelta::EvictFailed { pod, uid, reason });
                }
                self.change(&pod, &uid, |pod| pod.deleting = true)
            }
            Intent::Nominate { pod, uid, node } => {
                self.change(&pod, &uid, |pod| pod.nominated = node)
            }
            Intent::Annotate { pod, uid, reservation } => {
                self.change(&pod, &uid, |pod| pod.annotated = reservation)
            }
            Intent::FixDevices { pod, uid, devices, .. } => {
                self.change(&pod, &uid, |pod| pod.shared_devices = devices.into())
            }
            // Claims, statuses of queues and conditions of pods are no part of this world.
            Intent::FixClaim { .. }
            | Intent::QueueStatus { .. }
            | Intent::ShardStatus { .. }
            | Intent::GroupWait { .. }
            | Intent::Held { .. }
            | Intent::Unscheduled { .. } => None,
            Intent::GroupPast { group, report } => {
                let facts = self.groups.get_mut(&group)?;
                facts.tree.as_mut()?.say(report.times);
                Some(ClusterDelta::from(facts.clone()))
            }
            Intent::GroupStatus { group, phase, report } => {
                let facts = self.groups.get_mut(&group)?;
                facts.phase = Some(phase);
                facts.report = report;
                Some(ClusterDelta::from(facts.clone()))
            }
        }
    }

    fn bind(
        &mut self,
        pod: ObjectKey,
        uid: Name,
        node: Name,
        ruling: Arc<Ruling>,
    ) -> Option<ClusterDelta> {
        let throw = self.dice.throw(8);
        if throw == 1 {
            // No answer yet.
            self.calls.push(Intent::Bind { pod, uid, node, ruling });
            return None;
        }
        let here = self.pods.get(&pod).filter(|facts| facts.uid == uid && facts.node.is_none());
        if throw == 2 || here.is_none() {
            return Some(ClusterDelta::BindFailed { pod, uid, reason: "refused".into() });
        }
        // Now and then somebody else was faster.
        let stolen = self.nodes.keys().next().filter(|_| throw == 3).cloned();
        let phase = if throw == 4 { PodPhase::Pending } else { PodPhase::Running };
        self.change(&pod, &uid, |pod| {
            pod.node = Some(stolen.unwrap_or(node));
            pod.phase = phase;
        })
    }

    fn change(
        &mut self,
        pod: &ObjectKey,
        uid: &Name,
        change: impl FnOnce(&mut PodFacts),
    ) -> Option<ClusterDelta> {
        let facts = self.pods.get_mut(pod).filter(|facts| facts.uid == *uid)?;
        change(facts);
        Some(ClusterDelta::from(facts.clone()))
    }

    /// A step in the life of one pod.
    fn live(&mut self, key: &ObjectKey) -> Option<ClusterDelta> {
        let pod = self.pods.get(key)?;
        let ended = matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed);
        let (uid, leaving, bound) = (pod.uid.clone(), pod.deleting || ended, pod.node.is_some());
        match self.dice.throw(24) {
            1..=8 if leaving => self.remove(key),
            _ if leaving => None,
            1 => self.change(key, &uid, |pod| pod.deleting = true),
            2 if bound => self.change(key, &uid, |pod| pod.phase = PodPhase::Succeeded),
            3 if bound => self.change(key, &uid, |pod| pod.phase = PodPhase::Failed),
            4 if bound => self.change(key, &uid, |pod| pod.phase = PodPhase::Running),
            5 => self.remove(key),
            6 => self.replace(key),
            _ => None,
        }
    }

    fn remove(&mut self, key: &ObjectKey) -> Option<ClusterDelta> {
        self.pods.remove(key).map(|pod| ClusterDelta::Gone(ObjectRef::Pod(pod.key)))
    }

    /// Another pod of the same name, which waits.
    fn replace(&mut self, key: &ObjectKey) -> Option<ClusterDelta> {
        self.lives += 1;
        let life = self.lives;
        let uid = self.pods.get(key)?.uid.clone();
        self.change(key, &uid, |pod| {
            pod.uid = format!("{}-again-{life}", pod.uid).into();
            pod.phase = PodPhase::Pending;
            pod.node = None;
            pod.nominated = None;
            pod.deleting = false;
        })
    }

    /// Nodes that go, or come back.
    fn storm(&mut self) -> Vec<ClusterDelta> {
        let mut news = Vec::new();
        for name in self.nodes.keys().cloned().collect::<Vec<_>>() {
            if self.dice.throw(20) == 1 {
                self.lost.extend(self.nodes.remove_entry(&name));
                news.push(ClusterDelta::Gone(ObjectRef::Node(name)));
            }
        }
        for name in self.lost.keys().cloned().collect::<Vec<_>>() {
            if self.dice.throw(4) == 1 {
                self.nodes.extend(self.lost.remove_entry(&name));
                news.push(ClusterDelta::from(self.nodes[&name].clone()));
            }
        }
        news
    }
}
