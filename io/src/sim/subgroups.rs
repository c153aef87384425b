//! Which sub-groups the pods of a gang form, by its policies and the pods' labels alone.

use std::collections::BTreeMap;

use muster_core::delta::{SubGroupPolicy, TopologyWish};
use muster_core::ids::{Name, ObjectKey};

use super::books::{Books, PodEntry};

/// A sub-group of a gang.
#[derive(Clone, Debug)]
pub(super) struct SubGroupEntry<'a> {
    /// How close its pods must sit.
    pub topology: Option<&'a TopologyWish>,
    /// Its pods.
    pub pods: Vec<&'a PodEntry>,
}

/// The sub-groups of a gang that have pods, by name: that of the policy and the values of its labels, joined
/// by dashes.
pub(super) fn subgroups_of<'a>(
    books: &'a Books,
    gang: &ObjectKey,
) -> BTreeMap<String, SubGroupEntry<'a>> {
    let policies = books.groups.get(gang).map_or(&[][..], |group| group.subgroups.as_slice());
    let mut found: BTreeMap<String, SubGroupEntry<'a>> = BTreeMap::new();
    for (_, pod) in books.pods_of(gang).filter(|_| !policies.is_empty()) {
        let first = policies.iter().find_map(|policy| Some((policy, name(policy, pod)?)));
        let Some((policy, name)) = first else { continue };
        let topology = policy.topology.as_ref();
        let entry = found.entry(name).or_insert(SubGroupEntry { topology, pods: Vec::new() });
        entry.pods.push(pod);
    }
    found
}

/// The sub-group of a policy the pod is in; `None` if it is in none. A policy without label keys makes none.
fn name(policy: &SubGroupPolicy, pod: &PodEntry) -> Option<String> {
    let label = |key: &Name| pod.labels.iter().find(|(name, _)| name == key).map(|label| &label.1);
    let mut requirements = policy.selector.iter().flatten();
    let keys = &policy.match_label_keys;
    if keys.is_empty() || !requirements.all(|one| one.holds(label(&one.key))) {
        return None;
    }
    keys.iter().try_fold(policy.name.to_string(), |name, key| {
        let value = label(key).filter(|value| !value.is_empty())?;
        Some(format!("{name}-{value}"))
    })
}
