//! Where pods with claims go, against a plain reading of the rules.
//!
//! The twin keeps the objects as they are and asks, for one pod and one node at a time, whether the
//! pod may go there. After every cycle each bind must have been allowed when it was made, each claim
//! must have got the volume the twin would give it, and no pod that waits may be one the twin could
//! place. A scheduler that has just started must decide the same as one that followed all changes.

mod facts;

use std::collections::{BTreeMap, BTreeSet};

use facts::{
    DRIVER, HOST, Reach, ZONE, capacity, claim, claims_of, classes, has_storage, holds, in_zone,
    one_of, reaches, volume, zone_name,
};
use muster_core::delta::{
    AccessModes, BindingMode, CapacityTracking, ClaimFacts, ClaimOrigin, ClaimRef, ClaimState,
    ClusterDelta, CsiDriverFacts, CsiNodeFacts, NodeFacts, ObjectRef, PodClaim, PodFacts, PodPhase,
    StorageCapacityFacts, StorageClassFacts, VolumeFacts,
};
use muster_core::ids::{Name, ObjectKey, TimeMs};
use muster_core::intent::{CycleOutcome, Intent};
use muster_core::resource::Quantity;
use muster_core::scheduler::Scheduler;
use muster_core::testing::{key, node, pod};
use muster_tests::policy::{cases, config, scheduler};
use proptest::collection::vec;
use proptest::prelude::*;

const CONFIG: &str = "\
actions: \"enqueue, allocate, backfill\"
tiers:
- plugins: [{name: gang}, {name: predicates}, {name: nodeorder}]
";

/// One change of an object, by number.
#[derive(Clone, Debug)]
enum Change {
    Node { at: usize, zone: Option<usize>, limit: Option<u32> },
    Volume { at: usize, class: usize, size: i64, reach: Reach, claim: Option<usize>, csi: bool },
    VolumeGone(usize),
    Claim { at: usize, class: usize, size: i64, once_pod: bool, volume: Option<usize>, state: u8 },
    ClaimGone(usize),
    Driver(CapacityTracking),
    Capacity { at: usize, class: usize, size: Option<i64>, reach: Reach },
    CapacityGone(usize),
    Pod { at: usize, claims: BTreeSet<usize>, inline: usize, on: Option<usize> },
    PodGone(usize),
}

fn reach() -> impl Strategy<Value = Reach> {
    prop_oneof![
        2 => Just(Reach::Everywhere),
        4 => (0..4_usize).prop_map(Reach::Host),
        3 => (0..2_usize).prop_map(Reach::Zone),
        2 => (0..2_usize).prop_map(Reach::Labelled),
        1 => Just(Reach::LabelledBoth),
    ]
}

fn rarely<T: std::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Option<T>> {
    prop::option::weighted(0.2, of)
}

fn change() -> impl Strategy<Value = Change> {
    let on_node = (0..4_usize, prop::option::of(0..2_usize), prop::option::of(0..3_u32));
    let volume = (0..6_usize, 0..3_usize, 1..4_i64, reach(), rarely(0..5_usize), any::<bool>());
    let claim = (0..5_usize, 0..5_usize, 1..4_i64, any::<bool>(), rarely(0..6_usize), 0..12_u8);
    let claims = prop::collection::btree_set(0..6_usize, 0..3);
    let pod = (0..8_usize, claims, rarely(1..3_usize), rarely(0..4_usize));
    let capacity = (0..4_usize, 0..3_usize, prop::option::weighted(0.9, 1..4_i64), reach());
    let tracking = prop_oneof![Just(CapacityTracking::Absent), Just(CapacityTracking::Published)];
    prop_oneof![
        4 => on_node.prop_map(|(at, zone, limit)| Change::Node { at, zone, limit }),
        6 => volume.prop_map(|(at, class, size, reach, claim, csi)| {
            Change::Volume { at, class, size, reach, claim, csi }
        }),
        1 => (0..6_usize).prop_map(Change::VolumeGone),
        6 => claim.prop_map(|(at, class, size, once_pod, volume, state)| {
            Change::Claim { at, class, size, once_pod, volume, state }
        }),
        1 => (0..5_usize).prop_map(Change::ClaimGone),
        2 => tracking.prop_map(Change::Driver),
        4 => capacity.prop_map(|(at, class, size, reach)| {
            Change::Capacity { at, class, size, reach }
        }),
        1 => (0..4_usize).prop_map(Change::CapacityGone),
        8 => pod.prop_map(|(at, claims, inline, on)| {
            Change::Pod { at, claims, inline: inline.unwrap_or(0), on }
        }),
        2 => (0..8_usize).prop_map(Change::PodGone),
    ]
}

/// The objects, and what was decided in the cycle under way.
#[derive(Default)]
struct Twin {
    nodes: BTreeMap<Name, NodeFacts>,
    limits: BTreeMap<Name, u32>,
    volumes: BTreeMap<Name, VolumeFacts>,
    claims: BTreeMap<ObjectKey, ClaimFacts>,
    classes: BTreeMap<Name, StorageClassFacts>,
    tracking: CapacityTracking,
    capacities: BTreeMap<ObjectKey, StorageCapacityFacts>,
    pods: BTreeMap<ObjectKey, PodFacts>,
    /// What claims got in this cycle: a volume, or one to be made for the node.
    chosen: BTreeMap<ObjectKey, Result<Name, Name>>,
    lives: u32,
}

/// What a claim gets.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Gift {
    /// A volume that exists.
    Found(Name),
    /// One that is made.
    Made,
}

/// What the claims of one pod get on one node.
type Gifts = BTreeMap<ObjectKey, Gift>;

impl Twin {
    fn change(&mut self, change: &Change) -> Vec<ClusterDelta> {
        match change {
            Change::Node { at, zone, limit } => self.set_node(*at, *zone, *limit),
            Change::Volume { at, class, size, reach, claim, csi } => {
                let facts = volume(*at, *class, *size, *reach, *claim, *csi);
                self.volumes.insert(facts.name.clone(), facts.clone());
                vec![ClusterDelta::from(facts)]
            }
            Change::VolumeGone(at) => {
                let name: Name = format!("v{at}").into();
                self.volumes.remove(&name);
                vec![ClusterDelta::Gone(ObjectRef::Volume(name))]
            }
            Change::Claim { at, class, size, once_pod, volume, state } => {
                let facts = claim(*at, *class, *size, *once_pod, *volume, *state);
                self.claims.insert(facts.key.clone(), facts.clone());
                vec![ClusterDelta::from(facts)]
            }
            Change::ClaimGone(at) => {
                let key = key(&format!("claim{at}"));
                self.claims.remove(&key);
                vec![ClusterDelta::Gone(ObjectRef::Claim(key))]
            }
            Change::Driver(tracking) => {
                self.tracking = *tracking;
                vec![self.driver()]
            }
            Change::Capacity { at, class, size, reach } => {
                let facts = capacity(*at, *class, *size, *reach);
                self.capacities.insert(facts.key.clone(), facts.clone());
                vec![ClusterDelta::from(facts)]
            }
            Change::CapacityGone(at) => {
                let key = key(&format!("capacity{at}"));
                self.capacities.remove(&key);
                vec![ClusterDelta::Gone(ObjectRef::StorageCapacity(key))]
            }
            Change::Pod { at, claims, inline, on } => self.set_pod(*at, claims, *inline, *on),
            Change::PodGone(at) => {
                let key = key(&format!("p{at}"));
                self.pods.remove(&key);
                vec![ClusterDelta::Gone(ObjectRef::Pod(key))]
            }
        }
    }

    fn set_node(
        &mut self,
        at: usize,
        zone: Option<usize>,
        limit: Option<u32>,
    ) -> Vec<ClusterDelta> {
        let name = format!("n{at}");
        let mut built = node(&name).offer("cpu", 64).label(HOST, &name);
        if let Some(zone) = zone {
            built = built.label(ZONE, zone_name(zone));
        }
        let (facts, name) = (built.facts(), Name::from(name));
        self.nodes.insert(name.clone(), facts.clone());
        let csi = if let Some(limit) = limit {
            self.limits.insert(name.clone(), limit);
            let limits = vec![(DRIVER.into(), limit)];
            ClusterDelta::from(CsiNodeFacts { node: name, limits })
        } else {
            self.limits.remove(&name);
            ClusterDelta::Gone(ObjectRef::CsiNode(name))
        };
        // What is attached comes first half of the time.
        let node = ClusterDelta::from(facts);
        if at.is_multiple_of(2) { vec![csi, node] } else { vec![node, csi] }
    }

    fn driver(&self) -> ClusterDelta {
        CsiDriverFacts { name: DRIVER.into(), capacity: self.tracking }.into()
    }

    /// A pod that exists stays as it is: pods do not change their claims.
    fn set_pod(
        &mut self,
        at: usize,
        claims: &BTreeSet<usize>,
        inline: usize,
        on: Option<usize>,
    ) -> Vec<ClusterDelta> {
        let name = format!("p{at}");
        if self.pods.contains_key(&key(&name)) {
            return Vec::new();
        }
        self.lives += 1;
        let lives = self.lives;
        let claims = claims
            .iter()
            .map(|at| PodClaim { name: format!("claim{at}").into(), origin: ClaimOrigin::Named });
        let claims: Vec<PodClaim> = claims.collect();
        let on = on.map(|at| Name::from(format!("n{at}"))).filter(|n| self.nodes.contains_key(n));
        let facts = pod(&name).ask("cpu", 1).with(|pod| {
            pod.uid = format!("uid-{lives}").into();
            pod.claims = claims;
            pod.inline_drivers = vec![DRIVER.into(); inline];
            pod.phase = if on.is_some() { PodPhase::Running } else { PodPhase::Pending };
            pod.node = on;
        });
        let facts = facts.facts();
        self.pods.insert(facts.key.clone(), facts.clone());
        vec![ClusterDelta::from(facts)]
    }

    fn list(&self) -> Vec<ClusterDelta> {
        let limits = self.limits.iter().map(|(node, &limit)| {
            let limits = vec![(DRIVER.into(), limit)];
            ClusterDelta::from(CsiNodeFacts { node: node.clone(), limits })
        });
        let pods = self.pods.values().map(|facts| ClusterDelta::from(facts.clone()));
        let nodes = self.nodes.values().map(|facts| ClusterDelta::from(facts.clone()));
        let volumes = self.volumes.values().map(|v| ClusterDelta::from(v.clone()));
        let claims = self.claims.values().map(|c| ClusterDelta::from(c.clone()));
        let classes = self.classes.values().map(|c| ClusterDelta::from(c.clone()));
        let capacities = self.capacities.values().map(|c| ClusterDelta::from(c.clone()));
        let storage = limits.chain(claims).chain(volumes).chain(capacities).chain([self.driver()]);
        pods.chain(storage).chain(nodes).chain(classes).collect()
    }

    /// May the pod go to the node now, and what do its claims get there?
    fn admits(&self, pod: &PodFacts, node: &NodeFacts) -> Option<Gifts> {
        let mut gifts = Gifts::new();
        let mut open = Vec::new();
        for key in claims_of(pod) {
            let claim = self.claims.get(&key)?;
            if claim.modes.covers(AccessModes::ONCE_POD) && self.is_used(&key) {
                return None;
            }
            match (claim.state, &claim.volume) {
                (ClaimState::Bound, Some(name)) => {
                    let volume = self.volumes.get(name)?;
                    if !reaches(volume, node) || !in_zone(volume, node) {
                        return None;
                    }
                }
                (ClaimState::Pending | ClaimState::Bound, None) => open.push(claim),
                _ => return None,
            }
        }
        open.sort_by_key(|claim| {
            // The order of claims of one size follows what tells their wishes apart.
            let users = self.pods.values().filter(|pod| claims_of(pod).any(|key| key == claim.key));
            let is_shared = users.count() > 1;
            (claim.size, claim.class.clone(), claim.modes, is_shared, claim.key.clone())
        });
        for claim in open {
            let gift = self.serve(claim, node, &gifts)?;
            gifts.insert(claim.key.clone(), gift);
        }
        let used = self.pods.values().filter(|other| other.node.as_ref() == Some(&node.name));
        let used: u32 = used.map(|other| self.attachments(other)).sum();
        let fits = |&limit: &u32| used + self.attachments(pod) <= limit;
        let free = self.attachments(pod) == 0 || self.limits.get(&node.name).is_none_or(fits);
        free.then_some(gifts)
    }

    /// What a claim without a volume gets on a node: some volume, or one that is made.
    fn serve(&self, claim: &ClaimFacts, node: &NodeFacts, gifts: &Gifts) -> Option<Gift> {
        let class = self.classes.get(claim.class.as_ref()?)?;
        if class.binding == BindingMode::Immediate {
            return None;
        }
        if let Some(kept) = self.kept(claim) {
            return reaches(kept, node).then(|| Gift::Found(kept.name.clone()));
        }
        match self.chosen.get(&claim.key) {
            Some(Ok(name)) => {
                return reaches(&self.volumes[name], node).then(|| Gift::Found(name.clone()));
            }
            Some(Err(home)) => return (*home == node.name).then_some(Gift::Made),
            None => {}
        }
        let taken = |volume: &VolumeFacts| {
            self.claims.values().any(|claim| claim.volume.as_ref() == Some(&volume.name))
                || self.chosen.values().any(|gift| gift.as_ref() == Ok(&volume.name))
                || gifts.values().any(|gift| *gift == Gift::Found(volume.name.clone()))
        };
        let free = self.volumes.values().filter(|volume| {
            volume.claim.is_none()
                && volume.class == class.name
                && volume.capacity >= claim.size
                && volume.modes.covers(claim.modes)
                && reaches(volume, node)
                && !taken(volume)
        });
        // Equal volumes stand together, and come by the first of them that is free or was.
        if let Some(volume) = free.min_by_key(|volume| self.rank(volume)) {
            return Some(Gift::Found(volume.name.clone()));
        }
        class.provisioner.as_ref()?;
        let terms = &class.topologies;
        let made = terms.is_empty() || terms.iter().any(|term| holds(term, node));
        let mut capacities = self.capacities.values().filter(|c| c.class == class.name);
        let stored = self.tracking == CapacityTracking::Absent
            || capacities.any(|capacity| has_storage(capacity, claim.size, node));
        (made && stored).then_some(Gift::Made)
    }

    /// The order volumes are preferred in: size, then the first name of those like it.
    fn rank(&self, volume: &VolumeFacts) -> (Quantity, Name, Name) {
        let like = |other: &&VolumeFacts| {
            other.claim.is_none()
                && !self.claims.values().any(|claim| claim.volume.as_ref() == Some(&other.name))
                && VolumeFacts {
                    name: volume.name.clone(),
                    driver: volume.driver.clone(),
                    ..(*other).clone()
                } == *volume
        };
        let first = self.volumes.values().find(like).map_or(&volume.name, |first| &first.name);
        (volume.capacity, first.clone(), volume.name.clone())
    }

    fn kept(&self, claim: &ClaimFacts) -> Option<&VolumeFacts> {
        self.volumes.values().find(|volume| {
            let named = volume.claim.as_ref().is_some_and(|named| named.key == claim.key);
            named && volume.capacity >= claim.size
        })
    }

    fn is_used(&self, claim: &ObjectKey) -> bool {
        let mut on_nodes = self.pods.values().filter(|pod| pod.node.is_some());
        on_nodes.any(|pod| claims_of(pod).any(|other| other == *claim))
    }

    fn attachments(&self, pod: &PodFacts) -> u32 {
        let drivers = claims_of(pod).filter_map(|key| self.claims.get(&key)).filter(|claim| {
            let volume = claim.volume.as_ref();
            if let Some(name) = volume {
                return self.volumes.get(name).is_some_and(|volume| volume.driver.is_some());
            }
            let class = claim.class.as_ref().and_then(|name| self.classes.get(name));
            let waits = |c: &&StorageClassFacts| c.binding == BindingMode::WaitForFirstConsumer;
            let unbound = matches!(claim.state, ClaimState::Pending | ClaimState::Bound);
            class.filter(waits).filter(|_| unbound).is_some_and(|class| match self.kept(claim) {
                Some(kept) => kept.driver.is_some(),
                None => class.provisioner.is_some(),
            })
        });
        (drivers.count() + pod.inline_drivers.len()) as u32
    }

    /// Checks the decisions of a cycle one by one and enters them; what the outside does then.
    fn follow(&mut self, outcome: &CycleOutcome) -> Result<Vec<ClusterDelta>, TestCaseError> {
        let mut fixes = Gifts::new();
        let mut bound = Vec::new();
        for intent in &outcome.intents {
            match intent {
                Intent::FixClaim { claim, volume, .. } => {
                    fixes.insert(claim.clone(), volume.clone().map_or(Gift::Made, Gift::Found));
                }
                Intent::Bind { pod, node, .. } => {
                    let gifts = self.admits(&self.pods[pod], &self.nodes[node]);
                    prop_assert_eq!(gifts.as_ref(), Some(&fixes), "{} on {}", pod, node);
                    for (claim, gift) in std::mem::take(&mut fixes) {
                        self.chosen.insert(
                            claim,
                            match gift {
                                Gift::Found(name) => Ok(name),
                                Gift::Made => Err(node.clone()),
                            },
                        );
                    }
                    let facts = self.pods.get_mut(pod).expect("it was looked up");
                    facts.node = Some(node.clone());
                    bound.push(pod.clone());
                }
                Intent::QueueStatus { .. } | Intent::Unscheduled { .. } => {}
                other => prop_assert!(false, "{:?}", other),
            }
        }
        for pod in self.pods.values().filter(|pod| pod.node.is_none()) {
            for node in self.nodes.values() {
                prop_assert_eq!(
                    self.admits(pod, node),
                    None,
                    "{} may go to {}",
                    pod.key,
                    node.name
                );
            }
        }
        let mut news = Vec::new();
        for (claim, gift) in std::mem::take(&mut self.chosen) {
            news.extend(self.bind_claim(&claim, gift));
        }
        for pod in bound {
            news.push(ClusterDelta::from(self.pods[&pod].clone()));
        }
        Ok(news)
    }

    fn bind_claim(&mut self, key: &ObjectKey, gift: Result<Name, Name>) -> Vec<ClusterDelta> {
        let claim = self.claims.get_mut(key).expect("claims do not go within a cycle");
        let reference = Some(ClaimRef { key: key.clone(), uid: claim.uid.clone() });
        let name = gift.clone().unwrap_or_else(|_| {
            self.lives += 1;
            format!("made{}", self.lives).into()
        });
        claim.volume = Some(name.clone());
        claim.state = ClaimState::Bound;
        let zone = gift.err().and_then(|node| {
            let labels = &self.nodes[&node].labels;
            labels.iter().find(|label| &*label.0 == ZONE).map(|label| label.1.clone())
        });
        let volume = self.volumes.entry(name.clone()).or_insert_with(|| VolumeFacts {
            name,
            affinity: zone.map(|zone| vec![one_of(ZONE, &zone)]),
            driver: Some(DRIVER.into()),
            ..volume(0, 0, 3, Reach::Everywhere, None, true)
        });
        volume.claim = reference;
        let volume = ClusterDelta::from(volume.clone());
        vec![ClusterDelta::from(claim.clone()), volume]
    }
}

/// Runs a cycle; everything that is summed up must be right after it.
fn cycle(scheduler: &mut Scheduler) -> Result<CycleOutcome, TestCaseError> {
    let outcome = scheduler.run_cycle(TimeMs(0));
    prop_assert_eq!(scheduler.audit(), Vec::<String>::new());
    Ok(outcome)
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn pods_go_where_a_plain_reading_of_the_rules_lets_them(
        start in vec(change(), 20..50),
        rounds in vec(vec(change(), 0..8), 1..5),
    ) {
        let config = config(CONFIG);
        let mut twin = Twin::default();
        let mut steady = scheduler(&config);
        for class in classes() {
            twin.classes.insert(class.name.clone(), class.clone());
            steady.feed([ClusterDelta::from(class)]);
        }
        for changes in std::iter::once(&start).chain(&rounds) {
            for change in changes {
                steady.feed(twin.change(change));
            }
            let mut fresh = scheduler(&config);
            fresh.feed(twin.list());
            let (outcome, again) = (cycle(&mut steady)?, cycle(&mut fresh)?);
            // A fresh one tells every queue and every pod that waits once.
            let decided = |outcome: &CycleOutcome| -> Vec<Intent> {
                let told = |intent: &&Intent| {
                    matches!(intent, Intent::QueueStatus { .. } | Intent::Unscheduled { .. })
                };
                outcome.intents.iter().filter(|intent| !told(intent)).cloned().collect()
            };
            prop_assert_eq!(decided(&outcome), decided(&again));
            let news = twin.follow(&outcome)?;
            steady.feed(news);
        }
    }
}
