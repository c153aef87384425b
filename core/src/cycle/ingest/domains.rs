//! The tree of domains over the nodes, derived anew when domains or nodes come or go.
//!
//! Nodes get the path of domains they belong to, domains the rows of their nodes and the sums over
//! them. A domain in a circle, with two parents, or with a pattern that is none takes no part; the
//! reason is kept, and the rest goes on.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{In, World};
use regex_lite::Regex;

use super::intake::SetAside;
use super::sweep::natural_order;
use crate::class::Matcher;
use crate::delta::{DomainFacts, DomainMember, ObjectRef};
use crate::ids::Name;
use crate::kernel::sum::sum_rows;
use crate::resource::{Lanes, ResourceVec, Tail};
use crate::world::{
    Cluster, Directory, DomainIndex, DomainPath, DomainSpec, DomainSpot, DomainTotals,
    NodeIdentity, NodePlace, NodeRules, NodeTails, Symbols,
};

pub(super) fn rebuild(world: &mut World) {
    let mut plan = Plan::draw(world);
    plan.check_parents();
    plan.place(world);
}

/// A domain while the tree is being drawn.
struct Draft {
    entity: Entity,
    facts: DomainFacts,
    /// Rows of nodes it names itself.
    own: Vec<u32>,
    parent: Option<usize>,
    fault: Option<String>,
}

struct Plan {
    drafts: Vec<Draft>,
    /// Domains that are mentioned but not there.
    idle: Vec<Entity>,
    by_name: BTreeMap<Name, usize>,
}

impl Plan {
    fn draw(world: &mut World) -> Self {
        let mut query = world.query::<(Entity, &DomainSpec)>();
        let mut specs: Vec<(Entity, DomainSpec)> =
            query.iter(world).map(|(entity, spec)| (entity, spec.clone())).collect();
        specs.sort_by(|a, b| natural_order(&a.1.name, &b.1.name));
        let mut plan = Self { drafts: Vec::new(), idle: Vec::new(), by_name: BTreeMap::new() };
        for (entity, spec) in specs {
            let Some(facts) = spec.facts else {
                plan.idle.push(entity);
                continue;
            };
            plan.by_name.insert(spec.name, plan.drafts.len());
            let (own, fault) = match own_rows(world, &facts) {
                Ok(rows) => (rows, None),
                Err(fault) => (Vec::new(), Some(fault)),
            };
            plan.drafts.push(Draft { entity, facts, own, parent: None, fault });
        }
        plan
    }

    /// One parent each, of a wider tier, and no circles.
    fn check_parents(&mut self) {
        for at in 0..self.drafts.len() {
            for member in self.drafts[at].facts.members.clone() {
                let DomainMember::Domain(child) = member else { continue };
                let Some(&child) = self.by_name.get(&child) else { continue };
                let fault = match self.drafts[child].parent {
                    Some(other) if other != at => Some(format!(
                        "it is a member of both {:?} and {:?}",
                        self.drafts[other].facts.name, self.drafts[at].facts.name
                    )),
                    _ if self.drafts[child].facts.tier >= self.drafts[at].facts.tier => {
                        Some(format!(
                            "its tier {} is not below tier {} of {:?}, which contains it",
                            self.drafts[child].facts.tier,
                            self.drafts[at].facts.tier,
                            self.drafts[at].facts.name
                        ))
                    }
                    _ => None,
                };
                match fault {
                    // A tier below that of every container also rules out circles.
                    Some(fault) => {
                        self.drafts[child].fault.get_or_insert(fault);
                    }
                    None => self.drafts[child].parent = Some(at),
                }
            }
        }
        for draft in &mut self.drafts {
            if draft.fault.is_some() {
                draft.parent = None;
            }
        }
    }

    /// Writes the tree into the world.
    fn place(self, world: &mut World) {
        let rows = self.all_rows();
        // The parameters are queries and resources that always exist: the system runs.
        let totals = world.run_system_cached_with(sums, rows.clone()).unwrap_or_default();
        let mut index = DomainIndex::default();
        let mut tiers: BTreeMap<u32, Vec<Entity>> = BTreeMap::new();
        let mut names: BTreeMap<Name, u32> = BTreeMap::new();
        for draft in self.drafts.iter().filter(|draft| draft.fault.is_none()) {
            tiers.entry(draft.facts.tier).or_default().push(draft.entity);
            if let Some(name) = &draft.facts.tier_name {
                names.insert(name.clone(), draft.facts.tier);
            }
        }
        index.tiers = tiers.into_iter().collect();
        index.tier_names = names.into_iter().collect();
        world.insert_resource(index);
        self.write_paths(world, &rows);
        for ((draft, rows), totals) in self.drafts.iter().zip(rows).zip(totals) {
            let spot = DomainSpot {
                tier: draft.facts.tier,
                parent: draft.parent.map(|parent| self.drafts[parent].entity),
                rows,
                set_aside: draft.fault.clone(),
            };
            write_domain(world, draft.entity, spot, totals);
            note_fault(world, draft);
        }
        self.forget_idle(world);
    }

    /// Rows of each domain, those of the domains inside it included, ascending.
    fn all_rows(&self) -> Vec<Vec<u32>> {
        let mut rows: Vec<Vec<u32>> = self.drafts.iter().map(|draft| draft.own.clone()).collect();
        let mut inward: Vec<usize> = (0..self.drafts.len()).collect();
        inward.sort_by_key(|&at| self.drafts[at].facts.tier);
        for at in inward {
            if let Some(parent) = self.drafts[at].parent {
                let inner = rows[at].clone();
                rows[parent].extend(inner);
            }
        }
        for (draft, rows) in self.drafts.iter().zip(&mut rows) {
            rows.sort_unstable();
            rows.dedup();
            // No node counts a domain that takes no part, so it must not sum up nodes either.
            if draft.fault.is_some() {
                rows.clear();
            }
        }
        rows
    }

    fn write_paths(&self, world: &mut World, rows: &[Vec<u32>]) {
        let mut paths: Vec<Vec<(u32, Entity)>> = Vec::new();
        let mut query = world.query::<(&NodePlace, &mut DomainPath)>();
        paths.resize(query.iter(world).count(), Vec::new());
        for (draft, rows) in self.drafts.iter().zip(rows) {
            if draft.fault.is_none() {
                for &row in rows {
                    paths[row as usize].push((draft.facts.tier, draft.entity));
                }
            }
        }
        for (place, mut path) in query.iter_mut(world) {
            let closest_first = &mut paths[place.row as usize];
            closest_first.sort_by_key(|entry| entry.0);
            path.0 = closest_first.iter().map(|entry| entry.1).collect();
        }
    }

    /// A domain that is neither there nor a member of another is forgotten.
    fn forget_idle(self, world: &mut World) {
        let mentioned = |name: &Name| {
            let members = self.drafts.iter().flat_map(|draft| &draft.facts.members);
            members
                .into_iter()
                .any(|member| matches!(member, DomainMember::Domain(child) if child == name))
        };
        for &entity in &self.idle {
            let Some(name) = world.get::<DomainSpec>(entity).map(|spec| spec.name.clone()) else {
                continue;
            };
            if mentioned(&name) {
                write_domain(world, entity, DomainSpot::default(), DomainTotals::default());
            } else {
                world.resource_mut::<Directory>().domains.remove(&name);
                world.despawn(entity);
            }
        }
    }
}

/// Rows of present nodes a domain names itself.
fn own_rows(world: &mut World, facts: &DomainFacts) -> Result<Vec<u32>, String> {
    let mut rows = Vec::new();
    for member in &facts.members {
        match member {
            DomainMember::Node(name) => rows.extend(row_of(world, name)),
            DomainMember::NodePattern(pattern) => {
                let regex = Regex::new(pattern).map_err(|error| {
                    format!("member pattern {pattern:?} is no regular expression: {error}")
                })?;
                let mut nodes = world.query::<(&NodeIdentity, &NodePlace)>();
                let matching = nodes
                    .iter(world)
                    .filter(|(node, _)| node.present && regex.is_match(&node.name));
                rows.extend(matching.map(|(_, place)| place.row));
            }
            DomainMember::NodeLabels(requirements) => {
                let matcher = world.resource_scope::<Symbols, _>(|_, mut symbols| {
                    Matcher::of_labels(requirements, &mut symbols)
                });
                let nodes = world.query::<(&NodeIdentity, &NodeRules, &NodePlace)>();
                let symbols = world.resource::<Symbols>();
                let matching = nodes
                    .iter_manual(world)
                    .filter(|(node, rules, _)| node.present && matcher.admits(rules, symbols));
                rows.extend(matching.map(|(_, _, place)| place.row));
            }
            DomainMember::Domain(_) => {}
        }
    }
    Ok(rows)
}

fn row_of(world: &World, name: &Name) -> Option<u32> {
    let node = *world.resource::<Directory>().nodes.get(name)?;
    let present = world.get::<NodeIdentity>(node)?.present;
    world.get::<NodePlace>(node).filter(|_| present).map(|place| place.row)
}

fn write_domain(world: &mut World, entity: Entity, spot: DomainSpot, totals: DomainTotals) {
    if let Ok(mut domain) = world.get_entity_mut(entity) {
        domain.insert((spot, totals));
    }
}

/// Sums over the nodes of each choice of rows.
fn sums(In(choices): In<Vec<Vec<u32>>>, cluster: Cluster<'_, '_>) -> Vec<DomainTotals> {
    let nodes = cluster.columns();
    let vector = |column: &[Lanes], rows: &[u32], tail: fn(&NodeTails) -> &Tail| {
        let mut sum = ResourceVec { hot: sum_rows(column, rows), tail: Tail::default() };
        for &row in rows {
            sum.tail.add(tail(&nodes.tails[row as usize]));
        }
        sum
    };
    let totals = |rows: Vec<u32>| DomainTotals {
        allocatable: vector(nodes.allocatable, &rows, |tails| &tails.allocatable),
        idle: vector(nodes.idle, &rows, |tails| &tails.idle),
        used: vector(nodes.used, &rows, |tails| &tails.used),
        releasing: vector(nodes.releasing, &rows, |tails| &tails.releasing),
        pipelined: vector(nodes.pipelined, &rows, |tails| &tails.pipelined),
    };
    choices.into_iter().map(totals).collect()
}

fn note_fault(world: &mut World, draft: &Draft) {
    let object = ObjectRef::Domain(draft.facts.name.clone());
    let mut set_aside = world.resource_mut::<SetAside>();
    match &draft.fault {
        Some(fault) => drop(set_aside.0.insert(object, fault.clone())),
        None => drop(set_aside.0.remove(&object)),
    }
}
