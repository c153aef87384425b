//! Objects that rules look up by name and that have no row of their own: all of one kind, as the
//! cluster last described them.

use std::collections::BTreeMap;

use bevy_ecs::prelude::Resource;

use crate::delta::Identified;
use crate::ids::{Name, ObjectKey};

/// Every object of a kind, in the order of names.
#[derive(Clone, Debug, Resource)]
pub struct Catalog<F: Identified>(BTreeMap<F::Id, F>);

impl<F: Identified> Default for Catalog<F> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<F: Identified> Catalog<F> {
    /// Puts an object in, in place of what was known of it.
    pub(crate) fn set(&mut self, facts: F) {
        self.0.insert(facts.id().clone(), facts);
    }

    /// Takes an object out; gives what was known of it.
    pub(crate) fn remove(&mut self, id: &F::Id) -> Option<F> {
        self.0.remove(id)
    }

    /// The object of that name.
    pub fn get(&self, id: &F::Id) -> Option<&F> {
        self.0.get(id)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &F> {
        self.0.values()
    }
}

impl<F: Identified<Id = ObjectKey>> Catalog<F> {
    /// Those of a namespace.
    pub fn inside(&self, namespace: &Name) -> impl Iterator<Item = &F> {
        let first = ObjectKey { namespace: namespace.clone(), name: Name::default() };
        let from_there = self.0.range(first..);
        from_there.take_while(move |(key, _)| key.namespace == *namespace).map(|(_, facts)| facts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::QuotaFacts;
    use crate::resource::ResourceList;

    fn quota(namespace: &str, name: &str) -> QuotaFacts {
        let key = ObjectKey::new(namespace, name);
        QuotaFacts { key, hard: ResourceList::new(), used: ResourceList::new() }
    }

    #[test]
    fn a_namespace_has_its_own_objects_and_no_others() {
        let mut catalog = Catalog::default();
        for (namespace, name) in [("b", "x"), ("a", "z"), ("ab", "y"), ("a", "c"), ("a", "c")] {
            catalog.set(quota(namespace, name));
        }
        let names = |catalog: &Catalog<QuotaFacts>, namespace: &str| -> Vec<String> {
            let namespace = namespace.into();
            catalog.inside(&namespace).map(|quota| quota.key.to_string()).collect()
        };
        assert_eq!(names(&catalog, "a"), ["a/c", "a/z"]);
        assert_eq!(names(&catalog, "aa"), [""; 0]);
        assert!(catalog.remove(&ObjectKey::new("a", "c")).is_some());
        assert!(catalog.remove(&ObjectKey::new("a", "c")).is_none());
        assert_eq!(names(&catalog, "a"), ["a/z"]);
        assert_eq!(catalog.iter().count(), 3);
    }
}
