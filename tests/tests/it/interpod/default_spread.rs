//! The spread of pods that say nothing of it, against a twin that reads Kubernetes' words: for every
//! pod and node it looks at every Service, every controller and every other pod.
//!
//! Nothing else is scored and there is room everywhere, so the twin names the node of every pod.

use std::collections::BTreeSet;

use muster_core::delta::{
    ClusterDelta, Heed, NodeFacts, ObjectRef, Operator, PodFacts, PodOwner, PodSelector,
    PodSetFacts, PodSetKind, PodSetRef, Requirement, SelectorPart, Spread, Unmet,
};
use muster_core::ids::{Name, ObjectKey, TimeMs};
use muster_core::intent::DecisionOp;
use muster_core::testing::{node, pod};
use muster_tests::policy::{cases, config, scheduler};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::label;

const ZONE: &str = "topology.kubernetes.io/zone";

/// The score of spread and no other.
const SPREAD: &str = "\
actions: \"enqueue, allocate\"
tiers:
- plugins:
  - name: gang
  - name: predicates
  - name: nodeorder
    arguments:
      leastrequested.weight: 0
      balancedresource.weight: 0
      nodeaffinity.weight: 0
      tainttoleration.weight: 0
      podaffinity.weight: 0
      imagelocality.weight: 0
";

/// A cluster as the twin keeps it.
#[derive(Debug)]
struct Twin {
    nodes: Vec<NodeFacts>,
    sets: Vec<PodSetFacts>,
    /// Every pod, with the index of its node if it stays there.
    pods: Vec<(PodFacts, Option<usize>)>,
}

fn holds(selector: &[Requirement], pod: &PodFacts) -> bool {
    selector.iter().all(|one| one.holds(label(&pod.labels, &one.key)))
}

impl Twin {
    /// What pods have in common with this one that belong together with it.
    fn kin(&self, pod: &PodFacts) -> Vec<&Requirement> {
        if !pod.constraints.interpod.spread.is_empty() {
            return Vec::new();
        }
        let says = |facts: &&PodSetFacts| {
            let PodSetRef { kind, key } = &facts.set;
            let owns =
                pod.owner.as_ref().is_some_and(|it| (it.kind, &it.name) == (*kind, &key.name));
            let selects = *kind == PodSetKind::Service && holds(&facts.selector, pod);
            key.namespace == pod.key.namespace && (owns || selects)
        };
        self.sets.iter().filter(says).flat_map(|facts| &facts.selector).collect()
    }

    fn admits(&self, pod: &PodFacts, node: usize) -> bool {
        let mut wanted = pod.constraints.node_selector.iter();
        wanted.all(|(key, value)| label(&self.nodes[node].labels, key) == Some(value))
    }

    /// How many of its kin are already around a node, hosts and zones weighed by how many there are.
    fn crowd(&self, asking: usize, node: usize) -> i64 {
        let pod = &self.pods[asking].0;
        let kin = self.kin(pod);
        let nodes: Vec<usize> = (0..self.nodes.len()).filter(|&at| self.admits(pod, at)).collect();
        let zone = |at: usize| label(&self.nodes[at].labels, ZONE);
        let zones: BTreeSet<&Name> = nodes.iter().filter_map(|&at| zone(at)).collect();
        let is_kin = |other: &PodFacts| {
            other.key.namespace == pod.key.namespace
                && !kin.is_empty()
                && kin.iter().all(|one| one.holds(label(&other.labels, &one.key)))
        };
        let count = |inside: &dyn Fn(usize) -> bool| {
            let there = self.pods.iter().filter(|(other, at)| {
                at.is_some_and(|at| nodes.contains(&at) && inside(at)) && is_kin(other)
            });
            there.count() as i64
        };
        let on_host = weight(nodes.len()) * count(&|at| at == node);
        let in_zone =
            zone(node).map_or(0, |here| weight(zones.len()) * count(&|at| zone(at) == Some(here)));
        on_host + in_zone
    }

    /// Where a pod belongs: the first of the nodes with the fewest of its kin around.
    fn best(&self, asking: usize) -> Option<usize> {
        let pod = &self.pods[asking].0;
        let admitted = (0..self.nodes.len()).filter(|&at| self.admits(pod, at));
        admitted.min_by_key(|&at| (self.crowd(asking, at), at))
    }
}

/// The binary logarithm of so many values and two more, in parts of 256, straight between powers.
fn weight(values: usize) -> i64 {
    let number = values as i64 + 2;
    let below = (0..63).map(|bits| 1_i64 << bits).take_while(|power| *power <= number).last();
    let below = below.expect("1 is a power");
    256 * i64::from(below.trailing_zeros()) + 256 * (number - below) / below
}

fn wants(key: &str, operator: Operator, values: &[&str]) -> Requirement {
    let values = values.iter().map(|&value| value.into()).collect();
    Requirement { key: key.into(), operator, values }
}

/// A Service or controller and what becomes of it before there are nodes.
#[derive(Debug)]
struct Life {
    /// What is told of it before any pod, and after all of them.
    told: [Vec<ClusterDelta>; 2],
    /// What it is in the end; one without selector is gone.
    end: PodSetFacts,
}

/// Sets of either namespace: they were there with another selector, go, or come late.
fn sets() -> impl Strategy<Value = Vec<Life>> {
    use Operator::{Exists, In};
    let kind = select(&[PodSetKind::Service, PodSetKind::ReplicaSet, PodSetKind::StatefulSet][..]);
    let selectors = || {
        select(vec![
            vec![wants("app", In, &["x"])],
            vec![wants("app", In, &["x"]), wants("tier", In, &["t"])],
            vec![wants("app", In, &["y"])],
            vec![wants("tier", Exists, &[])],
        ])
    };
    let drafts = vec((kind, any::<bool>(), selectors(), option::of(selectors()), 0..4_u8), 0..6);
    drafts.prop_map(|drafts| {
        let kept = drafts.into_iter().enumerate().map(|(at, (kind, other, now, before, fate))| {
            let namespace = if other { "other" } else { "default" };
            // Controllers share names, so that pods find one of theirs.
            let name = match kind {
                PodSetKind::Service => format!("s{at}"),
                _ => format!("c{}", at % 2),
            };
            let set = PodSetRef { kind, key: ObjectKey::new(namespace, name.as_str()) };
            let tell = |selector: &Vec<Requirement>| {
                let facts = PodSetFacts { set: set.clone(), selector: selector.clone() };
                ClusterDelta::from(facts)
            };
            let first: Vec<_> = before.as_ref().map(tell).into_iter().collect();
            let then = match fate {
                0 => vec![tell(&now), ClusterDelta::Gone(ObjectRef::PodSet(set.clone()))],
                _ => vec![tell(&now)],
            };
            let selector = if fate == 0 { Vec::new() } else { now };
            Life { told: [first, then], end: PodSetFacts { set, selector } }
        });
        kept.collect()
    })
}

type Draft = (bool, usize, bool, Option<(PodSetKind, usize)>, u8, Option<prop::sample::Index>);

fn draft() -> impl Strategy<Value = Draft> {
    let owner = (select(&[PodSetKind::ReplicaSet, PodSetKind::StatefulSet][..]), 0..2_usize);
    let spot = option::weighted(0.3, any::<prop::sample::Index>());
    (prop::bool::weighted(0.2), 0..3_usize, any::<bool>(), option::of(owner), 0..10_u8, spot)
}

fn pod_of(
    (at, (elsewhere, app, tier, owner, odd, spot)): (usize, Draft),
    nodes: &[NodeFacts],
) -> (PodFacts, Option<usize>) {
    let mut built = pod(&format!("p-{at}")).ask("cpu", 1).with(|pod| {
        pod.created = TimeMs(at as i64);
        if elsewhere {
            pod.key.namespace = "other".into();
        }
        if let Some(app) = ["x", "y"].get(app) {
            pod.labels.push(("app".into(), (*app).into()));
        }
        if tier {
            pod.labels.push(("tier".into(), "t".into()));
        }
        pod.owner = owner.map(|(kind, at)| PodOwner { kind, name: format!("c{at}").into() });
        match odd {
            0 => pod.constraints.node_selector = vec![(ZONE.into(), "a".into())],
            1 => pod.constraints.interpod.spread = vec![nowhere()],
            _ => {}
        }
    });
    let spot = spot.map(|spot| spot.index(nodes.len()));
    if let Some(spot) = spot {
        built = built.running_on(&nodes[spot].name);
        if odd == 2 {
            return (built.leaving().facts(), None);
        }
    }
    (built.facts(), spot)
}

/// A constraint of a pod's own that no pod counts for.
fn nowhere() -> Spread {
    let namespaces = vec!["default".into()];
    let part = SelectorPart { namespaces, namespace_labels: None, labels: None };
    Spread {
        pods: PodSelector(vec![part]),
        topology_key: "host".into(),
        max_skew: 1,
        min_domains: None,
        unmet: Unmet::GoAnyway,
        node_affinity: Heed::Honor,
        node_taints: Heed::Ignore,
    }
}

fn node_of((at, zone): (usize, Option<usize>)) -> NodeFacts {
    let name = format!("n{at}");
    let built = node(&name).offer("cpu", 1000).label("host", &name);
    match zone {
        Some(zone) => built.label(ZONE, ["a", "b", "c"][zone]).facts(),
        None => built.facts(),
    }
}

proptest! {
    #![proptest_config(cases(500))]

    #[test]
    fn pods_go_where_the_fewest_of_their_kin_are(
        zones in vec(option::weighted(0.8, 0..3_usize), 1..8),
        sets in sets(),
        drafts in vec(draft(), 1..24),
    ) {
        let nodes: Vec<NodeFacts> = zones.into_iter().enumerate().map(node_of).collect();
        let pods = drafts.into_iter().enumerate().map(|entry| pod_of(entry, &nodes)).collect();
        let mut twin = Twin { nodes, sets: Vec::new(), pods };
        let mut scheduler = scheduler(&config(SPREAD));
        let told = |facts: &PodFacts| ClusterDelta::from(facts.clone());
        scheduler.feed(sets.iter().flat_map(|set| set.told[0].clone()));
        scheduler.feed(twin.pods.iter().map(|pod| told(&pod.0)));
        prop_assert!(scheduler.run_cycle(TimeMs(0)).decisions.is_empty());
        for Life { told: [_, then], end } in sets {
            scheduler.feed(then);
            twin.sets.retain(|known| known.set != end.set);
            if !end.selector.is_empty() {
                twin.sets.push(end);
            }
        }
        scheduler.feed(twin.nodes.iter().map(|facts| ClusterDelta::from(facts.clone())));
        let decisions = scheduler.run_cycle(TimeMs(1)).decisions;
        prop_assert_eq!(scheduler.audit(), Vec::<String>::new());
        for decision in decisions {
            prop_assert_eq!(decision.op, DecisionOp::Bind);
            let asking = twin.pods.iter().position(|(facts, _)| facts.key == decision.pod);
            let asking = asking.expect("a pod of ours");
            let best = twin.best(asking).expect("it was placed somewhere");
            prop_assert_eq!(&decision.node, &twin.nodes[best].name, "{} in {:#?}", decision.pod, twin);
            twin.pods[asking].1 = Some(best);
        }
        let waits = |entry: &&(PodFacts, Option<usize>)| entry.1.is_none() && entry.0.node.is_none();
        for (facts, _) in twin.pods.iter().filter(waits) {
            prop_assert!(!(0..twin.nodes.len()).any(|at| twin.admits(facts, at)), "{} waits", facts.key);
        }
    }
}
