//! An outside world that is slow, forgetful and out of order: calls are carried out late or never,
//! their outcomes are lost, events arrive twice or after newer ones, pods take long to leave, nodes
//! come and go, and jobs keep arriving.
//!
//! Like [`crate::outside`] it is driven by [`Dice`]: all zeros is a world without any trouble.

use std::collections::{BTreeMap, BTreeSet};

use muster_core::delta::{
    ClusterDelta, Facts, NodeFacts, ObjectRef, PodFacts, PodGroupFacts, PodPhase,
};
use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::Intent;

use crate::outside::Dice;

/// Longest delay of a call or an event, in cycles.
const DELAY_MAX: u8 = 4;

/// Does the world cause trouble?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Weather {
    /// It does.
    Storm,
    /// Everything is done at once, pods that were told to leave are gone, nodes are back.
    Calm,
}

/// The objects as they are, and what is on its way to and from the scheduler.
#[derive(Clone, Debug)]
pub struct Storm {
    nodes: BTreeMap<Name, NodeFacts>,
    lost: BTreeMap<Name, NodeFacts>,
    pods: BTreeMap<ObjectKey, PodFacts>,
    groups: BTreeMap<ObjectKey, PodGroupFacts>,
    /// Objects that come later, with the cycle they come before.
    arrivals: Vec<(u32, ClusterDelta)>,
    /// Calls on their way, with the cycle they arrive before.
    calls: Vec<(u32, Intent)>,
    /// Events on their way, with the cycle they arrive before.
    events: Vec<(u32, ClusterDelta)>,
    /// What the scheduler was told of nodes and groups that are there.
    told: BTreeSet<Name>,
    told_groups: BTreeSet<ObjectKey>,
    dice: Dice,
    cycle: u32,
    versions: u64,
}

impl Storm {
    /// A world of objects, each with the cycle before which it comes.
    pub fn new(objects: Vec<(u32, ClusterDelta)>, dice: Dice) -> Self {
        Self {
            nodes: BTreeMap::new(),
            lost: BTreeMap::new(),
            pods: BTreeMap::new(),
            groups: BTreeMap::new(),
            arrivals: objects,
            calls: Vec::new(),
            events: Vec::new(),
            told: BTreeSet::new(),
            told_groups: BTreeSet::new(),
            dice,
            cycle: 0,
            versions: 0,
        }
    }

    /// Does the scheduler know the node as one that is there?
    pub fn is_told(&self, node: &Name) -> bool {
        self.told.contains(node)
    }

    /// Does the scheduler know the PodGroup as one that is there?
    pub fn is_group_told(&self, group: &ObjectKey) -> bool {
        self.told_groups.contains(group)
    }

    /// Takes the calls of a cycle: each arrives sooner or later, or never.
    pub fn take(&mut self, intents: Vec<Intent>, weather: Weather) {
        for intent in intents {
            let throw = self.throw(weather, 16);
            // Statuses of groups come back from where they were written and are never lost.
            let kept = matches!(intent, Intent::GroupStatus { .. } | Intent::GroupPast { .. });
            let lost = throw == 1 && !kept;
            let delay = if throw < 10 { 0 } else { throw % DELAY_MAX };
            if !lost {
                self.calls.push((self.cycle + u32::from(delay), intent));
            }
        }
    }

    /// Everything there is, as a scheduler that starts now reads it; what was on its way is not for
    /// it.
    pub fn list(&mut self) -> Vec<ClusterDelta> {
        self.events.clear();
        self.told = self.nodes.keys().cloned().collect();
        self.told_groups = self.groups.keys().cloned().collect();
        let nodes = self.nodes.values().map(|node| ClusterDelta::from(node.clone()));
        let groups = self.groups.values();
        let groups = groups.map(|group| ClusterDelta::from(group.clone()));
        let pods = self.pods.values().map(|pod| ClusterDelta::from(pod.clone()));
        nodes.chain(groups).chain(pods).collect()
    }

    /// What happens until the next cycle, and what the scheduler hears of it.
    pub fn pass(&mut self, weather: Weather) -> Vec<ClusterDelta> {
        self.cycle += 1;
        let due = |at: u32, cycle: u32| at <= cycle || weather == Weather::Calm;
        let cycle = self.cycle;
        for (_, object) in
            self.arrivals.extract_if(.., |entry| due(entry.0, cycle)).collect::<Vec<_>>()
        {
            self.arrive(object, weather);
        }
        for (_, call) in self.calls.extract_if(.., |entry| due(entry.0, cycle)).collect::<Vec<_>>()
        {
            self.answer(call, weather);
        }
        for key in self.pods.keys().cloned().collect::<Vec<_>>() {
            self.live(&key, weather);
        }
        self.flap(weather);
        let heard = self.events.extract_if(.., |entry| due(entry.0, cycle)).map(|entry| entry.1);
        let heard: Vec<ClusterDelta> = heard.collect();
        for event in &heard {
            match event {
                ClusterDelta::Set(Facts::Node(node)) => drop(self.told.insert(node.name.clone())),
                ClusterDelta::Gone(ObjectRef::Node(name)) => drop(self.told.remove(name)),
                ClusterDelta::Set(Facts::PodGroup(group)) => {
                    self.told_groups.insert(group.key.clone());
                }
                ClusterDelta::Gone(ObjectRef::PodGroup(key)) => drop(self.told_groups.remove(key)),
                _ => {}
            }
        }
        heard
    }

    fn throw(&mut self, weather: Weather, sides: u8) -> u8 {
        match weather {
            Weather::Storm => self.dice.throw(sides),
            Weather::Calm => 0,
        }
    }

    /// Sends an event off; in a storm it may come late, or twice.
    fn tell(&mut self, event: ClusterDelta, weather: Weather) {
        let throw = self.throw(weather, 12);
        if throw == 1 {
            self.events.push((self.cycle + u32::from(DELAY_MAX), event.clone()));
        }
        let delay = if throw < 8 { 0 } else { throw % DELAY_MAX };
        self.events.push((self.cycle + u32::from(delay), event));
    }

    /// Nodes and groups are told in order and at once: they have no version to be put in order by.
    fn tell_now(&mut self, event: ClusterDelta) {
        self.events.push((self.cycle, event));
    }

    fn tell_pod(&mut self, key: &ObjectKey, weather: Weather) {
        self.versions += 1;
        let version = self.versions;
        let Some(pod) = self.pods.get_mut(key) else { return };
        pod.version = Some(version);
        let event = ClusterDelta::from(pod.clone());
        self.tell(event, weather);
    }

    fn arrive(&mut self, object: ClusterDelta, weather: Weather) {
        match object {
            ClusterDelta::Set(Facts::Pod(pod)) => {
                let key = pod.key.clone();
                self.pods.insert(key.clone(), *pod);
                self.tell_pod(&key, weather);
            }
            ClusterDelta::Set(Facts::PodGroup(group)) => {
                self.groups.insert(group.key.clone(), (*group).clone());
                self.tell_now(ClusterDelta::Set(Facts::PodGroup(group)));
            }
            ClusterDelta::Set(Facts::Node(node)) => {
                self.nodes.insert(node.name.clone(), (*node).clone());
                self.tell_now(ClusterDelta::Set(Facts::Node(node)));
            }
            other => self.tell_now(other),
        }
    }

    fn answer(&mut self, call: Intent, weather: Weather) {
        match call {
            Intent::Bind { pod, uid, node, .. } => self.bind(pod, uid, node, weather),
            Intent::Evict { pod, uid, .. } => {
                if self.throw(weather, 6) == 1 {
                    let reason = "refused".into();
                    return self.tell(ClusterDelta::EvictFailed { pod, uid, reason }, weather);
                }
                self.change(&pod, &uid, weather, |pod| pod.deleting = true);
            }
            Intent::Nominate { pod, uid, node } => self.change(&pod, &uid, weather, |pod| {
                if pod.node.is_none() {
                    pod.nominated = node;
                }
            }),
            Intent::Annotate { pod, uid, reservation } => {
                self.change(&pod, &uid, weather, |pod| pod.annotated = reservation);
            }
            Intent::GroupStatus { group, phase, report } => {
                let Some(facts) = self.groups.get_mut(&group) else { return };
                facts.phase = Some(phase);
                facts.report = report;
                let event = ClusterDelta::from(facts.clone());
                self.tell_now(event);
            }
            Intent::FixDevices { pod, uid, devices, .. } => {
                self.change(&pod, &uid, weather, |pod| pod.shared_devices = devices.into());
            }
            Intent::GroupPast { group, report } => {
                let Some(facts) = self.groups.get_mut(&group) else { return };
                if let Some(tree) = &mut facts.tree {
                    tree.say(report.times);
                }
                let event = ClusterDelta::from(facts.clone());
                self.tell_now(event);
            }
            // Claims, statuses of queues and conditions of pods are no part of this world.
            Intent::FixClaim { .. }
            | Intent::QueueStatus { .. }
            | Intent::ShardStatus { .. }
            | Intent::GroupWait { .. }
            | Intent::Held { .. }
            | Intent::Unscheduled { .. } => {}
        }
    }

    fn bind(&mut self, pod: ObjectKey, uid: Name, node: Name, weather: Weather) {
        let throw = self.throw(weather, 10);
        let facts = self.pods.get(&pod).filter(|facts| facts.uid == uid && !facts.deleting);
        let free =
            facts.is_some_and(|facts| facts.node.is_none()) && self.nodes.contains_key(&node);
        if throw == 2 || !free {
            let done = facts.is_some_and(|facts| facts.node.as_ref() == Some(&node));
            if !done {
                let reason = "refused".into();
                self.tell(ClusterDelta::BindFailed { pod, uid, reason }, weather);
            }
            return;
        }
        // Now and then somebody else was faster.
        let stolen = self.nodes.keys().next().filter(|_| throw == 3).cloned();
        let phase = if throw == 4 { PodPhase::Pending } else { PodPhase::Running };
        self.change(&pod, &uid, weather, |pod| {
            pod.node = Some(stolen.unwrap_or(node));
            pod.nominated = None;
            pod.phase = phase;
        });
    }

    fn change(
        &mut self,
        key: &ObjectKey,
        uid: &Name,
        weather: Weather,
        change: impl FnOnce(&mut PodFacts),
    ) {
        if let Some(pod) = self.pods.get_mut(key).filter(|pod| pod.uid == *uid) {
            change(pod);
            self.tell_pod(key, weather);
        }
    }

    /// A step in the life of one pod.
    fn live(&mut self, key: &ObjectKey, weather: Weather) {
        let Some(pod) = self.pods.get(key) else { return };
        let ended = matches!(pod.phase, PodPhase::Succeeded | PodPhase::Failed);
        let (uid, leaving, bound) = (pod.uid.clone(), pod.deleting || ended, pod.node.is_some());
        if leaving && (weather == Weather::Calm || self.throw(weather, 10) == 1) {
            return self.remove(key);
        }
        if leaving || weather == Weather::Calm {
            return;
        }
        match self.throw(weather, 40) {
            1..=3 if bound => self.change(key, &uid, weather, |pod| pod.deleting = true),
            4 if bound => self.change(key, &uid, weather, |pod| pod.phase = PodPhase::Succeeded),
            5 if bound => self.change(key, &uid, weather, |pod| pod.phase = PodPhase::Failed),
            6 => self.remove(key),
            7 => self.replace(key, weather),
            _ => {}
        }
    }

    /// Nothing is heard of a pod after it is gone.
    fn remove(&mut self, key: &ObjectKey) {
        self.pods.remove(key);
        self.silence(key);
        self.tell_now(ClusterDelta::Gone(ObjectRef::Pod(key.clone())));
    }

    fn silence(&mut self, key: &ObjectKey) {
        self.events.retain(
            |(_, event)| !matches!(event, ClusterDelta::Set(Facts::Pod(pod)) if pod.key == *key),
        );
    }

    /// Another pod of the same name, which waits.
    fn replace(&mut self, key: &ObjectKey, weather: Weather) {
        self.silence(key);
        let life = self.versions;
        let Some(pod) = self.pods.get_mut(key) else { return };
        pod.uid = format!("{}-{life}", pod.key.name).into();
        pod.phase = PodPhase::Pending;
        (pod.node, pod.nominated, pod.annotated) = (None, None, None);
        pod.deleting = false;
        self.tell_pod(key, weather);
    }

    /// Nodes and groups that go, or come back.
    fn flap(&mut self, weather: Weather) {
        for name in self.nodes.keys().cloned().collect::<Vec<_>>() {
            if self.throw(weather, 30) == 1 {
                self.lost.extend(self.nodes.remove_entry(&name));
                self.tell_now(ClusterDelta::Gone(ObjectRef::Node(name)));
            }
        }
        for name in self.lost.keys().cloned().collect::<Vec<_>>() {
            if weather == Weather::Calm || self.throw(weather, 3) == 1 {
                self.nodes.extend(self.lost.remove_entry(&name));
                self.tell_now(ClusterDelta::from(self.nodes[&name].clone()));
            }
        }
        for key in self.groups.keys().cloned().collect::<Vec<_>>() {
            if self.throw(weather, 60) == 1 {
                self.groups.remove(&key);
                self.tell_now(ClusterDelta::Gone(ObjectRef::PodGroup(key)));
            }
        }
    }
}
