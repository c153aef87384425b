//! Every selector, rule and port pods were met with, and which pods match which selectors.

use std::collections::BTreeMap;

use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::delta::{
    HostPort, InterPodFacts, InterPodTerm, NamespaceFacts, PodSelector, Protocol, SelectorPart,
};
use crate::ids::Name;
use crate::world::{CountId, CountedBy, LabelIndex, has_labels, label_value};

type RegistryMap<K, V> = HashMap<K, V, FxBuildHasher>;

/// Number of a selector over pods. Numbers are never used again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SelectorId(pub u32);

/// What is counted.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Counted {
    /// Pods that match a selector.
    Match(SelectorId),
    /// Pods with a rule about pods that match a selector: required anti-affinity, or a preference
    /// with its weight.
    Rule { about: SelectorId, key: Name, weight: Option<i32> },
    /// Pods that take exactly this port.
    Port(HostPort),
    /// Pods that take the port on any address.
    PortAnywhere(u16, Protocol),
}

/// A selector that was met.
#[derive(Debug)]
struct SelectorSlot {
    /// Pods that match it, once somebody counts them. Pods that were counted keep the number when the
    /// selector goes out of use.
    count_id: Option<CountId>,
    /// What it is, while it is in use.
    selector: Option<Box<Selector>>,
}

/// A selector in use.
#[derive(Debug)]
struct Selector {
    pods: PodSelector,
    /// Rules of pods about pods that match: topology key, weight, count.
    rules: Vec<(Name, Option<i32>, CountId)>,
}

/// What a pod's rules are, in numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Learned {
    /// Selectors its own rules use.
    pub(crate) own: Vec<SelectorId>,
    /// Counts its own rules and ports add to, besides those of selectors it matches.
    made: Vec<CountId>,
}

/// With fewer selectors than this, unused ones are not looked for.
const SELECTORS_MIN: usize = 64;

/// The label every namespace has.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Every selector and rule in use.
#[derive(Debug, Default, Resource)]
pub struct SelectorRegistry {
    selectors: Vec<SelectorSlot>,
    ids: RegistryMap<PodSelector, SelectorId>,
    /// Those that some pod could match, by its labels.
    index: LabelIndex<SelectorId>,
    /// New selectors: pods that came before them have not been matched against them yet.
    fresh: Vec<SelectorId>,
    /// Live selectors after which unused ones are looked for.
    limit: usize,
    /// What each number counts; `None` where it is about a selector out of use.
    counted: Vec<Option<Box<Counted>>>,
    count_ids: RegistryMap<Counted, CountId>,
    namespaces: BTreeMap<Name, Vec<(Name, Name)>>,
    /// Grows whenever a rule appears that may concern classes made before.
    version: u32,
}

impl SelectorRegistry {
    /// Makes the rules of a pod known.
    pub(crate) fn learn(&mut self, facts: &InterPodFacts) -> Learned {
        if facts.is_empty() {
            return Learned::default();
        }
        let mut own: Vec<SelectorId> =
            facts.selectors().map(|selector| self.selector(&selector)).collect();
        own.sort_unstable();
        own.dedup();
        let mut made = Vec::new();
        for term in &facts.anti_affinity {
            made.push(self.rule(term, None));
        }
        for (weight, term) in &facts.preferred {
            made.push(self.rule(term, Some(*weight)));
        }
        for port in &facts.ports {
            made.push(self.count_id(Counted::Port(port.clone())));
            made.push(self.count_id(Counted::PortAnywhere(port.port, port.protocol)));
        }
        Learned { own, made }
    }

    /// Every count of a task that has learned these rules and matches these selectors.
    pub(crate) fn counted_by(&mut self, learned: &Learned, matched: &[SelectorId]) -> CountedBy {
        let mut count_ids = learned.made.clone();
        count_ids.extend(matched.iter().map(|&selector| self.matches(selector)));
        CountedBy::new(count_ids)
    }

    /// The number of a selector, a new one if it is not in use.
    pub(crate) fn selector(&mut self, pods: &PodSelector) -> SelectorId {
        if let Some(&id) = self.ids.get(pods) {
            return id;
        }
        let id = SelectorId(self.selectors.len() as u32);
        let selector = Box::new(Selector { pods: pods.clone(), rules: Vec::new() });
        self.selectors.push(SelectorSlot { count_id: None, selector: Some(selector) });
        self.ids.insert(pods.clone(), id);
        file(&mut self.index, id, pods);
        self.fresh.push(id);
        id
    }

    fn get(&self, id: SelectorId) -> Option<&Selector> {
        self.selectors[id.0 as usize].selector.as_deref()
    }

    /// Selectors a pod matches, sorted.
    pub(crate) fn matching(&self, namespace: &Name, labels: &[(Name, Name)]) -> Vec<SelectorId> {
        self.matching_of(&self.index, namespace, labels)
    }

    fn matching_of(
        &self,
        index: &LabelIndex<SelectorId>,
        namespace: &Name,
        labels: &[(Name, Name)],
    ) -> Vec<SelectorId> {
        let found = index.candidates(labels).copied();
        let mut found: Vec<SelectorId> =
            found.filter(|&selector| self.is_match(selector, namespace, labels)).collect();
        found.sort_unstable();
        found.dedup();
        found
    }

    /// Does a pod match the selector?
    fn is_match(&self, selector: SelectorId, namespace: &Name, labels: &[(Name, Name)]) -> bool {
        let Some(selector) = self.get(selector) else { return false };
        selector.pods.0.iter().all(|part| {
            let fits = part.labels.as_ref().is_some_and(|wants| has_labels(wants, labels));
            fits && self.is_inside(part, namespace)
        })
    }

    fn is_inside(&self, part: &SelectorPart, namespace: &Name) -> bool {
        part.namespaces.contains(namespace)
            || part.namespace_labels.as_ref().is_some_and(|requirements| {
                let labels = self.namespaces.get(namespace).map_or(&[][..], Vec::as_slice);
                requirements.iter().all(|requirement| match &*requirement.key {
                    NAMESPACE_NAME => requirement.holds(Some(namespace)),
                    _ => requirement.holds(label_value(labels, &requirement.key)),
                })
            })
    }

    /// Selectors that are new since the last call.
    pub(crate) fn take_fresh(&mut self) -> Fresh {
        let mut fresh = Fresh { within: Some(Vec::new()), ..Fresh::default() };
        for id in std::mem::take(&mut self.fresh) {
            let Some(selector) = self.get(id) else { continue };
            file(&mut fresh.index, id, &selector.pods);
            fresh.count += 1;
            // Pods match all parts or none: the namespaces of one part bound those of the whole.
            let named = selector.pods.0.iter().find(|part| part.namespace_labels.is_none());
            match (named, &mut fresh.within) {
                (Some(part), Some(within)) => within.extend_from_slice(&part.namespaces),
                _ => fresh.within = None,
            }
        }
        if let Some(within) = &mut fresh.within {
            within.sort_unstable();
            within.dedup();
        }
        fresh
    }

    /// Those of the fresh selectors a pod matches, sorted.
    pub(crate) fn matching_fresh(
        &self,
        fresh: &Fresh,
        namespace: &Name,
        labels: &[(Name, Name)],
    ) -> Vec<SelectorId> {
        self.matching_of(&fresh.index, namespace, labels)
    }

    /// Is the selector in use?
    pub(crate) fn is_live(&self, selector: SelectorId) -> bool {
        self.get(selector).is_some()
    }

    /// Writes a namespace's labels; says whether pods may match other selectors now.
    pub(crate) fn set_namespace(&mut self, facts: NamespaceFacts) -> bool {
        let old = self.namespaces.get(&facts.name).map_or(&[][..], Vec::as_slice);
        let changed = old != facts.labels && self.looks_at_namespaces();
        self.namespaces.insert(facts.name, facts.labels);
        changed
    }

    /// Forgets a namespace's labels; says whether pods may match other selectors now.
    pub(crate) fn drop_namespace(&mut self, name: &Name) -> bool {
        self.namespaces.remove(name).is_some() && self.looks_at_namespaces()
    }

    fn looks_at_namespaces(&self) -> bool {
        let live = self.selectors.iter().filter_map(|slot| slot.selector.as_ref());
        live.flat_map(|selector| &selector.pods.0).any(|part| part.namespace_labels.is_some())
    }

    /// Is it time to look for selectors nobody uses any more?
    pub(crate) fn is_crowded(&self) -> bool {
        self.ids.len() > self.limit.max(SELECTORS_MIN)
    }

    /// Drops every selector that is not among those used (sorted). Its number is not given to another.
    pub(crate) fn keep(&mut self, used: &[SelectorId]) {
        self.index = LabelIndex::default();
        for (at, slot) in self.selectors.iter_mut().enumerate() {
            let id = SelectorId(at as u32);
            if used.binary_search(&id).is_ok() {
                let selector = slot.selector.iter();
                selector.for_each(|selector| file(&mut self.index, id, &selector.pods));
                continue;
            }
            let Some(selector) = slot.selector.take() else { continue };
            self.ids.remove(&selector.pods);
            for count_id in selector.rules.iter().map(|rule| rule.2).chain(slot.count_id) {
                if let Some(counted) = self.counted[count_id.0 as usize].take() {
                    self.count_ids.remove(&*counted);
                }
            }
        }
        self.limit = self.ids.len() * 2;
    }

    fn count_id(&mut self, counted: Counted) -> CountId {
        if let Some(&count_id) = self.count_ids.get(&counted) {
            return count_id;
        }
        let count_id = CountId(self.counted.len() as u32);
        self.counted.push(Some(Box::new(counted.clone())));
        self.count_ids.insert(counted, count_id);
        count_id
    }

    /// Pods that match a selector.
    pub(super) fn matches(&mut self, selector: SelectorId) -> CountId {
        if let Some(count_id) = self.selectors[selector.0 as usize].count_id {
            return count_id;
        }
        let count_id = self.count_id(Counted::Match(selector));
        self.selectors[selector.0 as usize].count_id = Some(count_id);
        count_id
    }

    /// Pods with a rule about pods a term selects.
    fn rule(&mut self, term: &InterPodTerm, weight: Option<i32>) -> CountId {
        let (about, key) = (self.selector(&term.pods), term.topology_key.clone());
        let count_id = self.count_id(Counted::Rule { about, key: key.clone(), weight });
        if let Some(selector) = &mut self.selectors[about.0 as usize].selector
            && !selector.rules.iter().any(|rule| rule.2 == count_id)
        {
            selector.rules.push((key, weight, count_id));
            self.version += 1;
        }
        count_id
    }

    /// Rules of pods about pods that match a selector: topology key, weight of a preference, and the
    /// count of the pods that have the rule.
    pub(super) fn rules_about(&self, selector: SelectorId) -> Vec<(Name, Option<i32>, CountId)> {
        self.get(selector).map(|selector| selector.rules.clone()).unwrap_or_default()
    }

    /// Counts that must be zero on a node where a port is wanted.
    pub(super) fn conflicting(&mut self, port: &HostPort) -> Vec<CountId> {
        if port.address.is_none() {
            return vec![self.count_id(Counted::PortAnywhere(port.port, port.protocol))];
        }
        let everywhere = HostPort { address: None, ..port.clone() };
        [port.clone(), everywhere].map(|port| self.count_id(Counted::Port(port))).to_vec()
    }

    /// State of the rules: classes compiled from an earlier one may lack rules of others.
    pub(crate) fn version(&self) -> u32 {
        self.version
    }

    /// A count in words that depend on what it counts alone; `None` for selectors that are not among
    /// those used (sorted).
    pub(crate) fn describe(&self, count_id: CountId, used: &[SelectorId]) -> Option<String> {
        let counted = self.counted[count_id.0 as usize].as_deref()?;
        let pods = |id: &SelectorId| {
            used.binary_search(id).ok().and_then(|_| self.get(*id)).map(|selector| &selector.pods)
        };
        Some(match counted {
            Counted::Match(id) => format!("{:?}", pods(id)?),
            Counted::Rule { about, key, weight } => format!("{weight:?} {key} {:?}", pods(about)?),
            Counted::Port(_) | Counted::PortAnywhere(..) => format!("{counted:?}"),
        })
    }

    /// A selector in words that depend on what it selects alone; `None` for one out of use.
    pub(crate) fn describe_selector(&self, id: SelectorId) -> Option<String> {
        self.get(id).map(|selector| format!("{:?}", selector.pods))
    }
}

/// Selectors that are new.
#[derive(Debug, Default)]
pub(crate) struct Fresh {
    index: LabelIndex<SelectorId>,
    /// Namespaces that all pods that match any of them are in; `None` if it may be any.
    pub(crate) within: Option<Vec<Name>>,
    count: usize,
}

impl Fresh {
    /// Is there none?
    pub(crate) fn is_empty(&self) -> bool {
        self.count == 0
    }
}

/// Files a selector, unless it has a part without labels: that matches nothing, so the whole does
/// not either.
fn file(index: &mut LabelIndex<SelectorId>, id: SelectorId, pods: &PodSelector) {
    let parts = pods.0.iter().map(|part| part.labels.as_ref());
    if let Some(requirements) = parts.collect::<Option<Vec<_>>>() {
        index.insert(requirements.into_iter().flatten(), &id);
    }
}

#[cfg(test)]
mod tests {
    use crate::delta::Requirement;
    use proptest::prelude::*;

    use super::*;
    use crate::delta::Operator;

    fn requirement() -> impl Strategy<Value = Requirement> {
        let operator = prop_oneof![
            Just(Operator::In),
            Just(Operator::NotIn),
            Just(Operator::Exists),
            Just(Operator::DoesNotExist)
        ];
        (0..3_u8, operator, prop::collection::vec(0..3_u8, 1..3)).prop_map(
            |(key, operator, values)| {
                let values = values.iter().map(|value| format!("v{value}").as_str().into());
                Requirement {
                    key: format!("k{key}").as_str().into(),
                    operator,
                    values: values.collect(),
                }
            },
        )
    }

    fn part() -> impl Strategy<Value = SelectorPart> {
        let requirements = || prop::option::of(prop::collection::vec(requirement(), 0..3));
        let namespaces = prop_oneof![Just(vec!["a"]), Just(vec!["a", "b"]), Just(Vec::new())];
        (namespaces, requirements(), requirements()).prop_map(
            |(namespaces, namespace_labels, labels)| SelectorPart {
                namespaces: namespaces.into_iter().map(Name::from).collect(),
                namespace_labels,
                labels,
            },
        )
    }

    fn labels() -> impl Strategy<Value = Vec<(Name, Name)>> {
        let pairs = prop::collection::btree_map(0..3_u8, 0..3_u8, 0..3);
        pairs.prop_map(|pairs| {
            let name = |letter: char, number: u8| Name::from(format!("{letter}{number}"));
            pairs.into_iter().map(|(key, value)| (name('k', key), name('v', value))).collect()
        })
    }

    proptest! {
        #[test]
        fn the_index_finds_what_asking_every_selector_finds(
            selectors in prop::collection::vec(prop::collection::vec(part(), 1..3), 0..8),
            used in prop::collection::vec(any::<bool>(), 8),
            pods in prop::collection::vec((any::<bool>(), labels()), 1..6),
            namespace in labels(),
        ) {
            let mut interpod = SelectorRegistry::default();
            interpod.set_namespace(NamespaceFacts { name: "b".into(), labels: namespace });
            let ids: Vec<SelectorId> =
                selectors.into_iter().map(|parts| interpod.selector(&PodSelector(parts))).collect();
            let mut kept: Vec<SelectorId> =
                ids.iter().zip(used).filter(|entry| entry.1).map(|entry| *entry.0).collect();
            kept.sort_unstable();
            kept.dedup();
            let mut every = ids;
            every.sort_unstable();
            every.dedup();
            for round in [every, kept] {
                interpod.keep(&round);
                for (first, labels) in &pods {
                    let namespace = Name::from(if *first { "a" } else { "b" });
                    let matched = |id: &SelectorId| interpod.is_match(*id, &namespace, labels);
                    let naive: Vec<SelectorId> = round.iter().copied().filter(matched).collect();
                    prop_assert_eq!(interpod.matching(&namespace, labels), naive);
                }
            }
        }
    }
}
