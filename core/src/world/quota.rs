//! Quotas of namespaces, and what admission has promised of them.

use std::collections::BTreeMap;

use bevy_ecs::prelude::Resource;

use super::catalog::Catalog;
use crate::delta::QuotaFacts;
use crate::ids::Name;
use crate::resource::{Quantity, ResourceList};

/// Every `ResourceQuota`, and what it does not know yet.
#[derive(Clone, Debug, Default, Resource)]
pub struct Quotas {
    /// As the cluster says.
    pub of: Catalog<QuotaFacts>,
    /// By namespace: what was admitted in this cycle, which the cluster cannot have counted yet.
    pub admitted: BTreeMap<Name, ResourceList>,
}

impl Quotas {
    /// Notes that a job was admitted.
    pub fn admit(&mut self, namespace: &Name, asked: &ResourceList) {
        if asked.is_empty() || self.of.inside(namespace).next().is_none() {
            return;
        }
        let admitted = self.admitted.entry(namespace.clone()).or_default();
        for (name, quantity) in asked {
            match admitted.binary_search_by(|entry| entry.0.cmp(name)) {
                Ok(at) => admitted[at].1 = admitted[at].1.add(*quantity),
                Err(at) => admitted.insert(at, (name.clone(), *quantity)),
            }
        }
    }
}

/// The amount of a name, none where the list does not have it.
pub(crate) fn amount(list: &ResourceList, name: &Name) -> Option<Quantity> {
    list.iter().find(|entry| entry.0 == *name).map(|entry| entry.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ids::ObjectKey;

    fn list(entries: &[(&str, i64)]) -> ResourceList {
        let entry = |&(name, units): &(&str, i64)| (name.into(), Quantity::from_units(units));
        entries.iter().map(entry).collect()
    }

    #[test]
    fn what_is_admitted_adds_up_where_there_is_a_quota() {
        let mut quotas = Quotas::default();
        let key = ObjectKey::new("a", "q");
        quotas.of.set(QuotaFacts { key, hard: ResourceList::new(), used: ResourceList::new() });
        quotas.admit(&"a".into(), &list(&[("cpu", 1), ("pods", 2)]));
        quotas.admit(&"a".into(), &list(&[("cpu", 3), ("memory", 4)]));
        quotas.admit(&"b".into(), &list(&[("cpu", 3)]));
        assert_eq!(quotas.admitted.len(), 1);
        let admitted = &quotas.admitted[&Name::from("a")];
        assert_eq!(*admitted, list(&[("cpu", 4), ("memory", 4), ("pods", 2)]));
        assert_eq!(amount(admitted, &"pods".into()), Some(Quantity::from_units(2)));
        assert_eq!(amount(admitted, &"gpu".into()), None);
    }
}
