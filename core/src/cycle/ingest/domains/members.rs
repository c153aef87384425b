//! Which nodes a domain names itself, and which of its members are not there.
//!
//! What a pattern or a label selector has found is kept. Only nodes that came, went or changed their
//! labels are matched again: with a thousand racks that select their nodes, a node that joins costs a
//! thousand matches, and not a thousand for each node of the cluster.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{Component, World};
use regex_lite::Regex;

use crate::delta::{DomainFacts, DomainMember};
use crate::ids::Name;
use crate::world::{Directory, Matcher, NodeIdentity, NodePlace, NodeRules, Symbols};

/// The nodes a domain names itself.
#[derive(Debug, Default)]
pub(super) struct FoundMembers {
    /// Rows of the nodes, in no particular order, some perhaps twice.
    pub(super) rows: Vec<u32>,
    /// Members that found no node, in words.
    pub(super) missing: Vec<String>,
}

/// The rules by which a domain finds nodes, each with what it has found.
#[derive(Debug, Default, Component)]
pub(crate) struct Finders(Vec<Finder>);

#[derive(Debug)]
struct Finder {
    rule: DomainMember,
    test: MemberTest,
    nodes: Vec<Entity>,
}

#[derive(Debug)]
enum MemberTest {
    Name(Regex),
    Labels(Matcher),
}

impl MemberTest {
    /// The test of a rule; `None` for members that are named.
    fn of(world: &mut World, rule: &DomainMember) -> Result<Option<Self>, String> {
        match rule {
            DomainMember::Node(_) | DomainMember::Domain(_) => Ok(None),
            DomainMember::NodePattern(pattern) => match Regex::new(pattern) {
                Ok(regex) => Ok(Some(Self::Name(regex))),
                Err(error) => {
                    Err(format!("member pattern {pattern:?} is no regular expression: {error}"))
                }
            },
            DomainMember::NodeLabels(requirements) => {
                Ok(Some(world.resource_scope::<Symbols, _>(|_, mut symbols| {
                    Self::Labels(Matcher::of_labels(requirements, &mut symbols))
                })))
            }
        }
    }

    fn admits(&self, node: &NodeIdentity, rules: &NodeRules, symbols: &Symbols) -> bool {
        node.present
            && match self {
                Self::Name(regex) => regex.is_match(&node.name),
                Self::Labels(matcher) => matcher.admits(rules, symbols),
            }
    }
}

/// Nodes the domain names itself, given the nodes that changed since it was last asked, ascending. An
/// invalid pattern is an error of the whole domain, because nobody can say which nodes it was to have.
pub(super) fn find(
    world: &mut World,
    domain: Entity,
    facts: &DomainFacts,
    changed: &[Entity],
) -> Result<FoundMembers, String> {
    let mut kept = world.get_mut::<Finders>(domain).map(|mut all| std::mem::take(&mut all.0));
    let kept = kept.get_or_insert_default();
    let mut found = FoundMembers::default();
    let mut absent: Vec<&Name> = Vec::new();
    let mut finders = Vec::new();
    for member in &facts.members {
        if let DomainMember::Node(name) = member {
            match row_of(world, name) {
                Some(row) => found.rows.push(row),
                None => absent.push(name),
            }
            continue;
        }
        let known = kept.iter().position(|finder| finder.rule == *member);
        let finder = match known.map(|at| kept.swap_remove(at)) {
            Some(mut finder) => {
                finder.look_again(world, changed);
                finder
            }
            None => match MemberTest::of(world, member)? {
                Some(test) => Finder::new(world, member.clone(), test),
                None => continue,
            },
        };
        if finder.nodes.is_empty() {
            found.missing.push(match member {
                DomainMember::NodePattern(pattern) => format!("pattern {pattern:?} finds no node"),
                _ => "its label selector finds no node".to_owned(),
            });
        }
        let places = finder.nodes.iter().filter_map(|&node| world.get::<NodePlace>(node));
        found.rows.extend(places.map(|place| place.row));
        finders.push(finder);
    }
    if let Some(mut all) = world.get_mut::<Finders>(domain) {
        all.0 = finders;
    }
    absent.sort_unstable();
    absent.dedup();
    found.missing.extend(not_there("node", &absent));
    Ok(found)
}

impl Finder {
    /// Matches all nodes against a rule.
    fn new(world: &mut World, rule: DomainMember, test: MemberTest) -> Self {
        let all = world.query::<(Entity, &NodeIdentity, &NodeRules)>();
        let symbols = world.resource::<Symbols>();
        let matching =
            all.iter_manual(world).filter(|(_, id, rules)| test.admits(id, rules, symbols));
        let nodes = matching.map(|(node, ..)| node).collect();
        Self { rule, test, nodes }
    }

    /// Matches again only the nodes that changed.
    fn look_again(&mut self, world: &World, changed: &[Entity]) {
        self.nodes.retain(|node| changed.binary_search(node).is_err());
        let symbols = world.resource::<Symbols>();
        let matching = changed.iter().copied().filter(|&node| {
            let columns = world.get::<NodeIdentity>(node).zip(world.get::<NodeRules>(node));
            columns.is_some_and(|(id, rules)| self.test.admits(id, rules, symbols))
        });
        self.nodes.extend(matching);
    }
}

fn row_of(world: &World, name: &Name) -> Option<u32> {
    let node = *world.resource::<Directory>().nodes.get(name)?;
    let present = world.get::<NodeIdentity>(node)?.present;
    world.get::<NodePlace>(node).filter(|_| present).map(|place| place.row)
}

/// Names shown before the rest is only counted.
const SHOWN: usize = 3;

/// A sentence that names members that do not exist; `None` if all exist.
pub(super) fn not_there(kind: &str, names: &[&Name]) -> Option<String> {
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect();
    match names.len() {
        0 => None,
        1 => Some(format!("{kind} {} does not exist", shown[0])),
        all if all <= SHOWN => Some(format!("{kind}s {} do not exist", shown.join(", "))),
        all => Some(format!("{kind}s {} and {} more do not exist", shown.join(", "), all - SHOWN)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_few_missing_names_are_named_and_many_are_counted() {
        let names: Vec<Name> = ["a", "b", "c", "d", "e"].map(Name::from).to_vec();
        let names: Vec<&Name> = names.iter().collect();
        let said = |count| not_there("node", &names[..count]);
        assert_eq!(said(0), None);
        assert_eq!(said(1).as_deref(), Some("node \"a\" does not exist"));
        assert_eq!(said(3).as_deref(), Some("nodes \"a\", \"b\", \"c\" do not exist"));
        assert_eq!(said(5).as_deref(), Some("nodes \"a\", \"b\", \"c\" and 2 more do not exist"));
    }
}
