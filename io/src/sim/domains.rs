//! Which nodes belong to which topology domain, resolved from the domain objects alone.

use std::collections::{BTreeMap, BTreeSet};

use muster_core::delta::{DomainMember, NodeFacts, Operator, Requirement};
use muster_core::ids::Name;
use regex_lite::Regex;

use super::books::Books;

/// Membership of nodes in domains, as of one version of the books.
#[derive(Debug, Default)]
pub struct DomainIndex {
    version: Option<u64>,
    /// Name and tier of each domain.
    domains: Vec<(Name, u32)>,
    /// Domains each node is in, as sorted indices into `domains`.
    of_node: BTreeMap<Name, Vec<u32>>,
    tier_max: u32,
}

impl DomainIndex {
    /// Resolves all domains again if any of them, or any node's labels, changed.
    pub fn refresh(&mut self, books: &Books) {
        if self.version == Some(books.topology_version) {
            return;
        }
        *self = Self { version: Some(books.topology_version), ..Self::default() };
        let mut resolver = Resolver { books, resolved: BTreeMap::new() };
        for (name, facts) in &books.domains {
            let id = self.domains.len() as u32;
            self.domains.push((name.clone(), facts.tier));
            self.tier_max = self.tier_max.max(facts.tier);
            for node in resolver.nodes(name, &mut Vec::new()) {
                self.of_node.entry(node).or_default().push(id);
            }
        }
    }

    /// Do these nodes share a domain of this tier or a lower one? Above the highest tier there is,
    /// the cluster itself is the domain.
    pub fn share<'a>(&self, nodes: impl IntoIterator<Item = &'a Name>, tier: u32) -> bool {
        if tier > self.tier_max {
            return true;
        }
        let mut shared: Option<Vec<u32>> = None;
        for node in nodes {
            let of_node = self.of_node.get(node).map_or(&[][..], Vec::as_slice);
            let near = |id: &u32| self.domains[*id as usize].1 <= tier;
            shared = Some(match shared {
                None => of_node.iter().copied().filter(near).collect(),
                Some(ids) => {
                    ids.into_iter().filter(|id| of_node.binary_search(id).is_ok()).collect()
                }
            });
        }
        shared.is_none_or(|ids| !ids.is_empty())
    }
}

struct Resolver<'a> {
    books: &'a Books,
    resolved: BTreeMap<Name, BTreeSet<Name>>,
}

impl Resolver<'_> {
    /// Nodes of a domain; `path` guards against domains that contain each other.
    fn nodes(&mut self, domain: &Name, path: &mut Vec<Name>) -> BTreeSet<Name> {
        if let Some(nodes) = self.resolved.get(domain) {
            return nodes.clone();
        }
        let Some(facts) = self.books.domains.get(domain).filter(|_| !path.contains(domain)) else {
            return BTreeSet::new();
        };
        path.push(domain.clone());
        let mut nodes = BTreeSet::new();
        for member in &facts.members {
            match member {
                DomainMember::Node(name) => drop(nodes.insert(name.clone())),
                DomainMember::Domain(name) => nodes.append(&mut self.nodes(name, path)),
                DomainMember::NodePattern(pattern) => {
                    // A pattern that does not compile matches nothing; its object was set aside.
                    if let Ok(regex) = Regex::new(pattern) {
                        nodes.extend(self.matching(|node| regex.is_match(&node.name)));
                    }
                }
                DomainMember::NodeLabels(terms) => {
                    nodes
                        .extend(self.matching(|node| terms.iter().all(|t| holds(t, &node.labels))));
                }
            }
        }
        path.pop();
        self.resolved.insert(domain.clone(), nodes.clone());
        nodes
    }

    fn matching(&self, matches: impl Fn(&NodeFacts) -> bool) -> Vec<Name> {
        let facts = self.books.nodes.values().filter_map(|node| node.facts.as_deref());
        facts.filter(|node| matches(node)).map(|node| node.name.clone()).collect()
    }
}

/// Does the requirement hold for these labels?
fn holds(requirement: &Requirement, labels: &[(Name, Name)]) -> bool {
    let value = labels.iter().find(|label| label.0 == requirement.key).map(|label| &label.1);
    let number = |text: &Name| text.parse::<i64>().ok();
    let compare = |test: fn(&i64, &i64) -> bool| {
        let limit = requirement.values.first().and_then(number);
        value.and_then(number).zip(limit).is_some_and(|(value, limit)| test(&value, &limit))
    };
    match requirement.operator {
        Operator::In => value.is_some_and(|value| requirement.values.contains(value)),
        Operator::NotIn => value.is_none_or(|value| !requirement.values.contains(value)),
        Operator::Exists => value.is_some(),
        Operator::DoesNotExist => value.is_none(),
        Operator::Gt => compare(i64::gt),
        Operator::Lt => compare(i64::lt),
    }
}

#[cfg(test)]
mod tests {
    use muster_core::delta::{ClusterDelta, DomainFacts};

    use super::super::fixtures::{books, domain, node};
    use super::*;

    fn with_members(name: &str, tier: u32, members: Vec<DomainMember>) -> ClusterDelta {
        let facts = DomainFacts { name: name.into(), tier, tier_name: None, members };
        ClusterDelta::from(facts)
    }

    fn share(index: &DomainIndex, nodes: &[&str], tier: u32) -> bool {
        let names: Vec<Name> = nodes.iter().map(|node| Name::from(*node)).collect();
        index.share(&names, tier)
    }

    #[test]
    fn domains_within_domains_hold_all_their_nodes() {
        let of = |name: &str| DomainMember::Domain(name.into());
        let books = books(&[
            node("n0", 1),
            node("n1", 1),
            node("n2", 1),
            domain("rack0", 1, &["n0", "n1"]),
            domain("rack1", 1, &["n2"]),
            with_members("hall", 2, vec![of("rack0"), of("rack1"), of("hall")]),
        ]);
        let mut index = DomainIndex::default();
        index.refresh(&books);
        assert!(share(&index, &["n0", "n1"], 1) && !share(&index, &["n0", "n2"], 1));
        assert!(share(&index, &["n0", "n1", "n2"], 2));
        assert!(share(&index, &["n0", "elsewhere"], 3), "the cluster itself is above all tiers");
        assert!(!share(&index, &["n0", "elsewhere"], 2));
        assert!(share(&index, &[], 1));
    }

    #[test]
    fn members_are_found_by_pattern_and_by_label() {
        let label = Requirement {
            key: "host".into(),
            operator: Operator::NotIn,
            values: vec!["a0".into(), "a1".into()],
        };
        let mut books = books(&[
            node("a0", 1),
            node("a1", 1),
            node("b0", 1),
            with_members("as", 1, vec![DomainMember::NodePattern("^a".into())]),
            with_members("others", 1, vec![DomainMember::NodeLabels(vec![label])]),
        ]);
        let mut index = DomainIndex::default();
        index.refresh(&books);
        assert!(share(&index, &["a0", "a1"], 1) && !share(&index, &["a0", "b0"], 1));
        books.apply(&node("b1", 1));
        index.refresh(&books);
        assert!(share(&index, &["b0", "b1"], 1), "a node that joins is found");
    }
}
