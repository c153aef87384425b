//! Rules about other pods, against a twin that reads Kubernetes' words: for every pod and node it
//! looks at every other pod.
//!
//! Every decision must be legal by the twin when it is made, and a pod may only be left waiting when
//! the twin finds no node for it either. `kin` has a twin of the spread pods get by default.

mod default_spread;

use muster_core::delta::{
    ClusterDelta, Heed, HostPort, InterPodFacts, InterPodTerm, NamespaceFacts, NodeFacts,
    ObjectRef, Operator, PodFacts, PodSelector, Protocol, Requirement, SelectorPart, Spread, Unmet,
};
use muster_core::ids::{Name, TimeMs};
use muster_core::intent::DecisionOp;
use muster_core::testing::{node, pod};
use muster_tests::policy::{cases, everything, scheduler};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

/// How a pod is on its node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stay {
    Staying,
    Leaving,
}

/// Whether pods that are leaving still count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    Now,
    Later,
}

/// A cluster as the twin keeps it.
#[derive(Clone, Debug)]
struct Twin {
    nodes: Vec<NodeFacts>,
    namespaces: Vec<NamespaceFacts>,
    /// Every pod, with the index of its node.
    pods: Vec<(PodFacts, Option<(usize, Stay)>)>,
}

fn label<'a>(labels: &'a [(Name, Name)], key: &str) -> Option<&'a Name> {
    labels.iter().find(|label| &*label.0 == key).map(|label| &label.1)
}

impl Twin {
    fn matches(&self, selector: &PodSelector, pod: &PodFacts) -> bool {
        selector.0.iter().all(|part| {
            let namespace = &pod.key.namespace;
            let found = self.namespaces.iter().find(|facts| facts.name == *namespace);
            let theirs = found.map_or(&[][..], |facts| &facts.labels);
            let inside = part.namespaces.contains(namespace)
                || part
                    .namespace_labels
                    .as_ref()
                    .is_some_and(|list| list.iter().all(|one| one.holds(label(theirs, &one.key))));
            let fits = |list: &Vec<Requirement>| {
                list.iter().all(|one| one.holds(label(&pod.labels, &one.key)))
            };
            inside && part.labels.as_ref().is_some_and(fits)
        })
    }

    /// Pods on nodes, the one asked for left out, as far as they count.
    fn others(&self, asking: usize, when: When) -> impl Iterator<Item = (&PodFacts, usize)> {
        let counts = move |stay| stay == Stay::Staying || when == When::Now;
        self.pods.iter().enumerate().filter_map(move |(at, (facts, spot))| {
            let (node, stay) = (*spot)?;
            (at != asking && counts(stay)).then_some((facts, node))
        })
    }

    fn value(&self, node: usize, key: &str) -> Option<&Name> {
        label(&self.nodes[node].labels, key)
    }

    /// Are two nodes in the same value of the label?
    fn interpod(&self, a: usize, b: usize, key: &str) -> bool {
        self.value(a, key).is_some() && self.value(a, key) == self.value(b, key)
    }

    fn ports_free(&self, asking: usize, node: usize, when: When) -> bool {
        let wanted = &self.pods[asking].0.constraints.interpod.ports;
        let mut taken = self.others(asking, when).filter(|other| other.1 == node);
        !taken.any(|(other, _)| {
            let ports = other.constraints.interpod.ports.iter();
            let clash = |a: &HostPort, b: &HostPort| {
                let wide = a.address.is_none() || b.address.is_none();
                (a.port, a.protocol) == (b.port, b.protocol) && (wide || a.address == b.address)
            };
            ports.into_iter().any(|theirs| wanted.iter().any(|ours| clash(ours, theirs)))
        })
    }

    fn affinity_met(&self, asking: usize, node: usize, when: When) -> bool {
        let pod = &self.pods[asking].0;
        let terms = &pod.constraints.interpod.affinity;
        let all = |facts: &PodFacts| terms.iter().all(|term| self.matches(&term.pods, facts));
        let companions: Vec<usize> =
            self.others(asking, when).filter(|other| all(other.0)).map(|other| other.1).collect();
        let labelled = terms.iter().all(|term| self.value(node, &term.topology_key).is_some());
        let met = terms.iter().all(|term| {
            companions.iter().any(|&other| self.interpod(other, node, &term.topology_key))
        });
        let counted = companions
            .iter()
            .any(|&other| terms.iter().any(|term| self.value(other, &term.topology_key).is_some()));
        labelled && (met || (!counted && all(pod)))
    }

    fn nobody_minds(&self, asking: usize, node: usize, when: When) -> bool {
        let pod = &self.pods[asking].0;
        let clash = |whose: &PodFacts, whom: &PodFacts, other: usize| {
            whose.constraints.interpod.anti_affinity.iter().any(|term| {
                self.matches(&term.pods, whom) && self.interpod(other, node, &term.topology_key)
            })
        };
        let mut others = self.others(asking, when);
        !others.any(|(other, at)| clash(pod, other, at) || clash(other, pod, at))
    }

    fn spread_kept(&self, asking: usize, node: usize) -> bool {
        let pod = &self.pods[asking].0;
        let hard: Vec<&Spread> =
            pod.constraints.interpod.spread.iter().filter(|one| one.unmet == Unmet::Wait).collect();
        hard.iter().all(|one| {
            let Some(here) = self.value(node, &one.topology_key) else { return false };
            let eligible = |at: &usize| {
                let complete = hard.iter().all(|one| self.value(*at, &one.topology_key).is_some());
                complete && (one.node_affinity == Heed::Ignore || self.selected(pod, *at))
            };
            let rows: Vec<usize> = (0..self.nodes.len()).filter(eligible).collect();
            let count = |value: &Name| {
                let inside = |at: usize| {
                    rows.contains(&at) && self.value(at, &one.topology_key) == Some(value)
                };
                let others = self.others(asking, When::Later);
                others.filter(|other| inside(other.1) && self.matches(&one.pods, other.0)).count()
            };
            let mut values: Vec<&Name> =
                rows.iter().filter_map(|&at| self.value(at, &one.topology_key)).collect();
            values.sort();
            values.dedup();
            let few = values.len() < one.min_domains.unwrap_or(1) as usize;
            let least = values.iter().map(|value| count(value)).min().filter(|_| !few);
            let own = usize::from(self.matches(&one.pods, pod));
            count(here) + own <= one.max_skew as usize + least.unwrap_or(0)
        })
    }

    fn selected(&self, pod: &PodFacts, node: usize) -> bool {
        let mut wanted = pod.constraints.node_selector.iter();
        wanted.all(|(key, value)| self.value(node, key) == Some(value))
    }

    fn allows(&self, asking: usize, node: usize, when: When) -> bool {
        // A reservation is not given up because others have made the spread uneven since.
        let held = self.pods[asking].1 == Some((node, Stay::Staying));
        self.selected(&self.pods[asking].0, node)
            && self.ports_free(asking, node, when)
            && self.affinity_met(asking, node, when)
            && self.nobody_minds(asking, node, when)
            && (held || self.spread_kept(asking, node))
    }
}

fn selector() -> impl Strategy<Value = PodSelector> {
    let requirement = |key: &str, operator, values: &[&str]| Requirement {
        key: key.into(),
        operator,
        values: values.iter().map(|&value| value.into()).collect(),
    };
    let labels = prop_oneof![
        4 => Just(Some(vec![requirement("app", Operator::In, &["x"])])),
        2 => Just(Some(vec![requirement("app", Operator::In, &["x", "y"])])),
        2 => Just(Some(vec![requirement("app", Operator::NotIn, &["x"])])),
        1 => Just(Some(Vec::new())),
        1 => Just(None),
    ];
    let red = requirement("team", Operator::In, &["red"]);
    let namespaces = prop_oneof![
        4 => Just((vec!["default"], None)),
        1 => Just((vec!["other"], None)),
        1 => Just((Vec::new(), Some(vec![red]))),
        1 => Just((Vec::new(), Some(Vec::new()))),
    ];
    (labels, namespaces).prop_map(|(labels, (namespaces, namespace_labels))| {
        let namespaces = namespaces.into_iter().map(Name::from).collect();
        PodSelector(vec![SelectorPart { namespaces, namespace_labels, labels }])
    })
}

fn key() -> impl Strategy<Value = Name> {
    prop_oneof![Just("zone".into()), Just("rack".into()), Just("host".into())]
}

fn term() -> impl Strategy<Value = InterPodTerm> {
    (selector(), key()).prop_map(|(pods, topology_key)| InterPodTerm { pods, topology_key })
}

fn spread() -> impl Strategy<Value = Spread> {
    let unmet = prop_oneof![3 => Just(Unmet::Wait), 1 => Just(Unmet::GoAnyway)];
    let heed = prop_oneof![Just(Heed::Honor), Just(Heed::Ignore)];
    (selector(), key(), 1..3_u32, option::of(1..4_u32), unmet, heed).prop_map(
        |(pods, topology_key, max_skew, min_domains, unmet, node_affinity)| Spread {
            pods,
            topology_key,
            max_skew,
            min_domains: min_domains.filter(|_| unmet == Unmet::Wait),
            unmet,
            node_affinity,
            node_taints: Heed::Ignore,
        },
    )
}

fn port() -> impl Strategy<Value = HostPort> {
    let protocol = prop_oneof![Just(Protocol::Tcp), Just(Protocol::Udp)];
    let address = option::of(prop_oneof![Just("10.0.0.1".into()), Just("10.0.0.2".into())]);
    (80..82_u16, protocol, address).prop_map(|(port, protocol, address)| HostPort {
        port,
        protocol,
        address,
    })
}

/// Mostly none, sometimes a few.
fn few<T: Clone + std::fmt::Debug>(of: impl Strategy<Value = T>) -> impl Strategy<Value = Vec<T>> {
    prop_oneof![3 => Just(Vec::new()), 2 => vec(of, 1..3)]
}

fn rules() -> impl Strategy<Value = InterPodFacts> {
    let wish = (prop_oneof![-100..-1, 1..100], term());
    (few(port()), few(term()), few(term()), few(spread()), few(wish)).prop_map(
        |(mut ports, affinity, anti_affinity, spread, preferred)| {
            ports.sort();
            ports.dedup();
            InterPodFacts { ports, affinity, anti_affinity, preferred, spread }
        },
    )
}

/// A pod: namespace, app, rules, zone it selects, and for some the node and how it is there.
type Draft = (bool, usize, InterPodFacts, Option<bool>, Option<(prop::sample::Index, bool)>);

fn draft() -> impl Strategy<Value = Draft> {
    let zone = option::weighted(0.2, any::<bool>());
    let spot = option::weighted(0.4, (any::<prop::sample::Index>(), any::<bool>()));
    (any::<bool>(), 0..3_usize, rules(), zone, spot)
}

type NodeKind = (Option<usize>, Option<usize>, bool);

/// Nodes by zone, by rack, and whether they have a label for themselves.
fn twin() -> impl Strategy<Value = Twin> {
    let node_kind = (
        option::weighted(0.9, 0..3_usize),
        option::weighted(0.9, 0..2_usize),
        prop::bool::weighted(0.9),
    );
    (vec(node_kind, 1..7), vec(draft(), 1..16)).prop_map(|(kinds, drafts)| {
        let nodes: Vec<NodeFacts> = kinds.iter().enumerate().map(node_of).collect();
        let red =
            NamespaceFacts { name: "other".into(), labels: vec![("team".into(), "red".into())] };
        let pods = drafts.into_iter().enumerate().map(|entry| pod_of(entry, &nodes)).collect();
        Twin { nodes, namespaces: vec![red], pods }
    })
}

fn node_of((at, (zone, rack, named)): (usize, &NodeKind)) -> NodeFacts {
    let name = format!("n{at}");
    let mut built = node(&name).offer("cpu", 100);
    if let Some(zone) = zone {
        built = built.label("zone", ["a", "b", "c"][*zone]);
    }
    if let Some(rack) = rack {
        built = built.label("rack", ["r0", "r1"][*rack]);
    }
    if *named {
        built = built.label("host", &name);
    }
    built.facts()
}

fn pod_of(
    (at, (elsewhere, app, rules, zone, spot)): (usize, Draft),
    nodes: &[NodeFacts],
) -> (PodFacts, Option<(usize, Stay)>) {
    let mut built = pod(&format!("p-{at}")).ask("cpu", 1).with(|pod| {
        pod.created = TimeMs(at as i64);
        pod.constraints.interpod = rules;
        if elsewhere {
            pod.key.namespace = "other".into();
        }
        if let Some(app) = ["x", "y"].get(app) {
            pod.labels = vec![("app".into(), (*app).into())];
        }
        let zone = zone.map(|first| if first { "a" } else { "b" });
        pod.constraints.node_selector =
            zone.into_iter().map(|zone| ("zone".into(), zone.into())).collect();
    });
    let spot = spot.map(|(node, leaving)| {
        (node.index(nodes.len()), if leaving { Stay::Leaving } else { Stay::Staying })
    });
    if let Some((node, stay)) = spot {
        built = built.running_on(&nodes[node].name);
        if stay == Stay::Leaving {
            built = built.leaving();
        }
    }
    (built.facts(), spot)
}

/// A pod labelled `app` that wants no other pod with that label on its host.
fn hermit(at: usize, app: &str) -> PodFacts {
    let one = Requirement { key: "app".into(), operator: Operator::In, values: vec![app.into()] };
    let part = SelectorPart {
        namespaces: vec!["default".into()],
        namespace_labels: None,
        labels: Some(vec![one]),
    };
    let apart = InterPodTerm { pods: PodSelector(vec![part]), topology_key: "host".into() };
    let built = pod(&format!("p-{at}")).ask("cpu", 1).with(|pod| {
        pod.labels = vec![("app".into(), app.into())];
        pod.constraints.interpod.anti_affinity = vec![apart];
    });
    built.facts()
}

#[test]
fn selectors_of_pods_long_gone_are_forgotten_and_may_come_again() {
    let mut scheduler = scheduler(&everything());
    scheduler.feed((0..2).map(|at| {
        let name = format!("n{at}");
        node(&name).offer("cpu", 100).label("host", &name).into()
    }));
    for round in 0..300 {
        // Old names come back after their selectors went out of use.
        let app = format!("app-{}", round % 150);
        let pods = [hermit(0, &app), hermit(1, &app), hermit(2, &app)];
        let keys: Vec<_> = pods.iter().map(|pod| pod.key.clone()).collect();
        scheduler.feed(pods.map(ClusterDelta::from));
        let outcome = scheduler.run_cycle(TimeMs(round));
        let nodes: Vec<&str> = outcome.decisions.iter().map(|one| &*one.node).collect();
        assert_eq!(nodes, ["n0", "n1"], "two of three, one a host, in round {round}");
        assert_eq!(scheduler.audit(), Vec::<String>::new());
        scheduler.feed(keys.into_iter().map(|key| ClusterDelta::Gone(ObjectRef::Pod(key))));
    }
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn every_decision_is_legal_and_nobody_waits_without_need(mut twin in twin()) {
        let mut scheduler = scheduler(&everything());
        scheduler.feed(twin.pods.iter().map(|(facts, _)| ClusterDelta::from(facts.clone())));
        scheduler.feed(twin.nodes.iter().map(|facts| ClusterDelta::from(facts.clone())));
        scheduler.feed(twin.namespaces.iter().cloned().map(ClusterDelta::from));
        for cycle in 0.. {
            let outcome = scheduler.run_cycle(TimeMs(cycle));
            prop_assert_eq!(scheduler.audit(), Vec::<String>::new());
            if outcome.decisions.is_empty() {
                break;
            }
            prop_assert!(cycle < 40, "decisions come to an end");
            for decision in outcome.decisions {
                let asking = twin.pods.iter().position(|(facts, _)| facts.key == decision.pod);
                let asking = asking.expect("a pod of ours");
                let node = twin.nodes.iter().position(|facts| facts.name == decision.node);
                let node = node.expect("a node of ours");
                let when = match decision.op {
                    DecisionOp::Bind => When::Now,
                    DecisionOp::Pipeline => When::Later,
                    _ => {
                        twin.pods[asking].1 = None;
                        continue;
                    }
                };
                prop_assert!(twin.allows(asking, node, when), "{:?} {when:?}", decision);
                twin.pods[asking].1 = Some((node, Stay::Staying));
            }
        }
        for asking in (0..twin.pods.len()).filter(|&at| twin.pods[at].1.is_none()) {
            for node in 0..twin.nodes.len() {
                for when in [When::Now, When::Later] {
                    let (pod, name) = (&twin.pods[asking].0.key, &twin.nodes[node].name);
                    prop_assert!(!twin.allows(asking, node, when), "{pod} may go to {name} {when:?}");
                }
            }
        }
    }
}
