//! Sets of pods that belong together: Services, and the controllers that make pods.
//!
//! Nothing of a set is kept but its selector. What it is for: a pod that says nothing about its
//! spread is spread from the pods it belongs together with.

use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::delta::{
    PodOwner, PodSelector, PodSetFacts, PodSetKind, PodSetRef, Requirement, SelectorPart,
};
use crate::ids::Name;
use crate::world::{LabelIndex, has_labels};

type PodSetMap<K, V> = HashMap<K, V, FxBuildHasher>;

/// Every set, by namespace: a pod belongs only with pods of its own.
#[derive(Debug, Default, Resource)]
pub struct PodSets {
    inside: PodSetMap<Name, Sets>,
}

/// The sets of a namespace.
#[derive(Debug, Default)]
struct Sets {
    selectors: PodSetMap<(PodSetKind, Name), Box<[Requirement]>>,
    /// Names of Services by a label they select by; controllers are named by their pods.
    services: LabelIndex<Name>,
}

impl PodSets {
    /// Writes what an object says. `None` if it says what it said before, else what it selected by
    /// until now, which is nothing if it is new.
    pub(crate) fn set(&mut self, facts: PodSetFacts) -> Option<Box<[Requirement]>> {
        let PodSetFacts { set: PodSetRef { kind, key }, selector } = facts;
        let sets = self.inside.entry(key.namespace).or_default();
        let known = sets.selectors.get(&(kind, key.name.clone()));
        if known.is_some_and(|known| **known == *selector) {
            return None;
        }
        if kind == PodSetKind::Service {
            if let Some(known) = known {
                sets.services.remove(known, &key.name);
            }
            sets.services.insert(selector.iter(), &key.name);
        }
        let before = sets.selectors.insert((kind, key.name), selector.into());
        Some(before.unwrap_or_default())
    }

    /// Forgets a set; gives what it selected by, if it was there.
    pub(crate) fn remove(&mut self, set: &PodSetRef) -> Option<Box<[Requirement]>> {
        let sets = self.inside.get_mut(&set.key.namespace)?;
        let before = sets.selectors.remove(&(set.kind, set.key.name.clone()))?;
        if set.kind == PodSetKind::Service {
            sets.services.remove(&before, &set.key.name);
        }
        if sets.selectors.is_empty() {
            self.inside.remove(&set.key.namespace);
        }
        Some(before)
    }

    /// The pods that one with these labels and this owner belongs together with: those that all
    /// Services that select it select, too, and its owner besides. `None` if nobody says so.
    pub(crate) fn default_spread(
        &self,
        namespace: &Name,
        labels: &[(Name, Name)],
        owner: Option<&PodOwner>,
    ) -> Option<PodSelector> {
        let sets = self.inside.get(namespace)?;
        let named = |kind, name: &Name| sets.selectors.get(&(kind, name.clone()));
        let services = sets.services.candidates(labels);
        let services = services.filter_map(|name| named(PodSetKind::Service, name));
        let services = services.filter(|selector| has_labels(selector, labels));
        let owner = owner.and_then(|owner| named(owner.kind, &owner.name));
        let all = services.chain(owner).flat_map(|selector| selector.iter().cloned());
        let mut all: Vec<Requirement> = all.collect();
        if all.is_empty() {
            return None;
        }
        // Equal in content is equal in form: pods with the same company share a selector.
        all.sort_unstable();
        all.dedup();
        let namespaces = vec![namespace.clone()];
        Some(PodSelector(vec![SelectorPart {
            namespaces,
            namespace_labels: None,
            labels: Some(all),
        }]))
    }

    /// Every set in words, in no order.
    pub(crate) fn describe(&self) -> impl Iterator<Item = String> + '_ {
        self.inside.iter().flat_map(|(namespace, sets)| {
            sets.selectors.iter().map(move |((kind, name), selector)| {
                format!("set {} {namespace}/{name} {selector:?}", kind.as_str())
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::Operator;
    use crate::ids::ObjectKey;

    fn is(key: &str, value: &str) -> Requirement {
        Requirement { key: key.into(), operator: Operator::In, values: vec![value.into()] }
    }

    fn set(kind: PodSetKind, name: &str, selector: &[Requirement]) -> PodSetFacts {
        let set = PodSetRef { kind, key: ObjectKey::new("ns", name) };
        PodSetFacts { set, selector: selector.to_vec() }
    }

    /// What a pod of the namespace belongs together by, as text.
    fn default_spread(
        sets: &PodSets,
        labels: &[(&str, &str)],
        owner: Option<(PodSetKind, &str)>,
    ) -> String {
        let labels: Vec<(Name, Name)> =
            labels.iter().map(|(key, value)| ((*key).into(), (*value).into())).collect();
        let owner = owner.map(|(kind, name)| PodOwner { kind, name: name.into() });
        let selector = sets.default_spread(&"ns".into(), &labels, owner.as_ref());
        let parts = selector.iter().flat_map(|selector| &selector.0);
        let wants = parts.flat_map(|part| part.labels.iter().flatten());
        let wants: Vec<String> =
            wants.map(|one| format!("{}={}", one.key, one.values.join("|"))).collect();
        wants.join(" ")
    }

    #[test]
    fn services_that_select_a_pod_and_its_owner_add_up() {
        use PodSetKind::{ReplicaSet, Service, StatefulSet};
        let mut sets = PodSets::default();
        for (name, selector) in [("web", vec![is("app", "web")]), ("db", vec![is("app", "db")])] {
            assert_eq!(sets.set(set(Service, name, &selector)), Some(Box::default()));
        }
        sets.set(set(Service, "tier", &[is("app", "web"), is("tier", "front")]));
        sets.set(set(ReplicaSet, "web-1", &[is("app", "web"), is("hash", "1")]));
        let front = [("app", "web"), ("tier", "front")];
        assert_eq!(default_spread(&sets, &[("app", "web")], None), "app=web");
        assert_eq!(default_spread(&sets, &front, None), "app=web tier=front");
        assert_eq!(
            default_spread(&sets, &front, Some((ReplicaSet, "web-1"))),
            "app=web hash=1 tier=front"
        );
        assert_eq!(
            default_spread(&sets, &front, Some((StatefulSet, "web-1"))),
            "app=web tier=front"
        );
        assert_eq!(
            default_spread(&sets, &[("app", "x")], Some((ReplicaSet, "web-1"))),
            "app=web hash=1"
        );
        assert_eq!(default_spread(&sets, &[("app", "x")], None), "");
        assert_eq!(
            sets.default_spread(&"other".into(), &[("app".into(), "web".into())], None),
            None
        );
    }

    #[test]
    fn a_service_that_changes_or_goes_is_found_by_its_old_labels_no_more() {
        use PodSetKind::Service;
        let mut sets = PodSets::default();
        let old = set(Service, "web", &[is("app", "web")]);
        sets.set(old.clone());
        assert_eq!(sets.set(old.clone()), None, "told twice");
        assert!(sets.set(set(Service, "web", &[is("app", "api")])).is_some());
        assert_eq!(default_spread(&sets, &[("app", "web")], None), "");
        assert_eq!(default_spread(&sets, &[("app", "api")], None), "app=api");
        assert!(sets.remove(&old.set).is_some() && sets.inside.is_empty());
        assert_eq!(sets.remove(&old.set), None);
    }
}
