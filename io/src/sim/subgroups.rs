//! Which sub-groups the pods of a gang form, by its policies or its tree and the pods' labels alone.

use std::collections::BTreeMap;

use muster_core::delta::{
    GroupTree, LevelWish, SUBGROUP_LABEL, SubGroupPolicy, TopologyWish, WholeWhen,
};
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

/// The sub-groups of a gang's tree, sets included, by name: each with its wish for levels of a topology, and
/// the pods inside it.
pub(super) fn tree_of<'a>(
    books: &'a Books,
    gang: &ObjectKey,
) -> Vec<(&'a Name, Option<&'a LevelWish>, Vec<&'a PodEntry>)> {
    let tree = books.groups.get(gang).and_then(|group| group.tree.as_deref());
    let Some(tree) = tree else { return Vec::new() };
    let mut inside: Vec<Vec<&PodEntry>> = vec![Vec::new(); tree.subgroups.len()];
    for (_, pod) in books.pods_of(gang) {
        let mut at = leaf(tree, pod);
        while let Some(subgroup) = at {
            inside[subgroup].push(pod);
            at = tree.subgroups[subgroup].parent.map(usize::from);
        }
    }
    let nodes = tree.subgroups.iter().zip(inside);
    nodes.map(|(node, pods)| (&node.name, node.levels.as_ref(), pods)).collect()
}

/// The sub-group with pods of its own that a pod says it is of.
fn leaf(tree: &GroupTree, pod: &PodEntry) -> Option<usize> {
    let label = pod.labels.iter().find(|(name, _)| **name == *SUBGROUP_LABEL)?;
    let own = |whole| matches!(whole, WholeWhen::Pods(_));
    tree.subgroups.iter().position(|node| node.name == label.1 && own(node.whole))
}

/// Do these pods make a tree whole?
pub(super) fn is_whole<'a>(tree: &GroupTree, pods: impl Iterator<Item = &'a PodEntry>) -> bool {
    let mut counts = vec![0; tree.subgroups.len()];
    pods.filter_map(|pod| leaf(tree, pod)).for_each(|at| counts[at] += 1);
    is_set_whole(tree, None, tree.min_subgroups, &counts)
}

fn is_set_whole(tree: &GroupTree, set: Option<usize>, min: Option<u32>, counts: &[u32]) -> bool {
    let inside = tree.subgroups.iter().enumerate();
    let inside = inside.filter(|(_, node)| node.parent.map(usize::from) == set);
    let (mut all, mut whole) = (0, 0);
    for (at, node) in inside {
        all += 1;
        whole += u32::from(match node.whole {
            WholeWhen::Pods(pods) => counts[at] >= pods,
            WholeWhen::SubGroups(min) => is_set_whole(tree, Some(at), min, counts),
        });
    }
    whole >= min.unwrap_or(all)
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
