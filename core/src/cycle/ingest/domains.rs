//! The tree of domains over the nodes, derived again when domains or nodes come or go.
//!
//! Nodes get the path of domains they belong to, domains the rows of their nodes and the sums over
//! them. Of a domain with a fault as much counts as is beyond doubt: a member that cannot be one does
//! not count, a domain that two others claim counts in neither, and only a domain whose members nobody
//! can tell takes no part at all. The reason is kept with the object it is about.
//!
//! The domains of topologies by labels of nodes are drawn beside them ([`levels`]).

mod members;
mod levels;

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;

pub(super) use self::members::Finders;
use self::members::{FoundMembers, find, not_there};
use super::sweep::natural_order;
use crate::delta::{DomainFacts, DomainMember, ObjectRef};
use crate::ids::Name;
use crate::world::{
    Cluster, Directory, DomainIndex, DomainPath, DomainSpec, DomainSpot, DomainTree, NodePlace,
    SetAside, place_domains,
};

/// Builds the tree again, given the nodes that came, went or changed labels.
pub(super) fn rebuild(world: &mut World, mut changed: Vec<Entity>) {
    changed.sort_unstable();
    changed.dedup();
    let mut plan = DomainPlan::draw(world, &changed);
    plan.join();
    plan.name_tiers();
    plan.place(world);
}

/// A domain while the tree is being drawn.
struct Draft {
    entity: Entity,
    facts: DomainFacts,
    /// Rows of nodes it names itself.
    own: Vec<u32>,
    parent: Option<usize>,
    /// Why it takes no part.
    aside: Option<String>,
    /// What of it does not count.
    remarks: Vec<String>,
}

impl Draft {
    /// What its reader should know, in one sentence.
    fn fault(&self) -> Option<String> {
        let remarks = (!self.remarks.is_empty()).then(|| self.remarks.join("; "));
        self.aside.clone().or(remarks)
    }
}

struct DomainPlan {
    drafts: Vec<Draft>,
    /// Domains that are mentioned but not there.
    idle: Vec<Entity>,
    by_name: BTreeMap<Name, usize>,
    /// Tiers by name; a name that several have is the lowest of them.
    tier_names: BTreeMap<Name, u32>,
}

impl DomainPlan {
    fn draw(world: &mut World, changed: &[Entity]) -> Self {
        let mut query = world.query::<(Entity, &DomainSpec)>();
        let mut specs: Vec<(Entity, DomainSpec)> =
            query.iter(world).map(|(entity, spec)| (entity, spec.clone())).collect();
        specs.retain(|(_, spec)| spec.level.is_none());
        specs.sort_by(|a, b| natural_order(&a.1.name, &b.1.name));
        let mut plan = Self {
            drafts: Vec::new(),
            idle: Vec::new(),
            by_name: BTreeMap::new(),
            tier_names: BTreeMap::new(),
        };
        for (entity, spec) in specs {
            let Some(facts) = spec.facts else {
                plan.idle.push(entity);
                // What it had found grows old from now on.
                world.entity_mut(entity).insert(Finders::default());
                continue;
            };
            plan.by_name.insert(spec.name, plan.drafts.len());
            let (found, aside) = match find(world, entity, &facts, changed) {
                Ok(found) => (found, None),
                Err(fault) => (FoundMembers::default(), Some(fault)),
            };
            let missing = found.missing.into_iter().map(|what| format!("{what}; the rest counts"));
            let (own, remarks) = (found.rows, missing.collect());
            plan.drafts.push(Draft { entity, facts, own, parent: None, aside, remarks });
        }
        plan
    }

    /// Finds the one domain that contains each. A member is of a lower tier than its container, so
    /// there are no circles.
    fn join(&mut self) {
        let mut containers: Vec<Vec<usize>> = vec![Vec::new(); self.drafts.len()];
        for at in 0..self.drafts.len() {
            let (children, remarks) = self.children(at);
            self.drafts[at].remarks.extend(remarks);
            if self.drafts[at].aside.is_none() {
                for child in children {
                    // Named twice by the same domain is once.
                    if containers[child].last() != Some(&at) {
                        containers[child].push(at);
                    }
                }
            }
        }
        for (child, containers) in containers.iter().enumerate() {
            match containers[..] {
                [] => {}
                [parent] => self.drafts[child].parent = Some(parent),
                _ => {
                    let names: Vec<String> = containers
                        .iter()
                        .map(|&at| format!("{:?}", self.drafts[at].facts.name))
                        .collect();
                    let remark =
                        format!("it is a member of {}; it counts in none", names.join(" and "));
                    self.drafts[child].remarks.push(remark);
                }
            }
        }
    }

    /// Domains a domain may contain, of those it names, and why not the others.
    fn children(&self, at: usize) -> (Vec<usize>, Vec<String>) {
        let (mut children, mut remarks, mut absent) = (Vec::new(), Vec::new(), Vec::new());
        let draft = &self.drafts[at];
        for member in &draft.facts.members {
            let DomainMember::Domain(name) = member else { continue };
            let Some(&child) = self.by_name.get(name) else {
                absent.push(name);
                continue;
            };
            let (own, theirs) = (draft.facts.tier, self.drafts[child].facts.tier);
            if child == at {
                remarks.push("it is a member of itself; that does not count".to_owned());
            } else if theirs >= own {
                remarks.push(format!(
                    "member {name:?} has tier {theirs}, which is not below its own tier {own}; it \
                     does not count"
                ));
            } else {
                children.push(child);
            }
        }
        absent.sort_unstable();
        absent.dedup();
        let missing = not_there("HyperNode", &absent);
        remarks.extend(missing.map(|what| format!("{what}; the rest counts")));
        (children, remarks)
    }

    /// Finds the tier each tier name stands for.
    fn name_tiers(&mut self) {
        for draft in &self.drafts {
            let Some(name) = &draft.facts.tier_name else { continue };
            let tier = self.tier_names.entry(name.clone()).or_insert(draft.facts.tier);
            *tier = (*tier).min(draft.facts.tier);
        }
        for draft in &mut self.drafts {
            let Some(name) = &draft.facts.tier_name else { continue };
            let tier = self.tier_names[name];
            if tier != draft.facts.tier {
                draft.remarks.push(format!(
                    "tier name {name:?} also stands for tier {tier}; wishes by that name mean {tier}"
                ));
            }
        }
    }

    /// Writes the tree into the world.
    fn place(self, world: &mut World) {
        let rows = self.all_rows();
        let version = world.get_resource::<DomainIndex>().map_or(0, |index| index.version);
        let mut index = DomainIndex { version: version + 1, ..DomainIndex::default() };
        let mut tiers: BTreeMap<u32, Vec<Entity>> = BTreeMap::new();
        for draft in &self.drafts {
            index.root = index.root.max(u64::from(draft.facts.tier) + 1);
            if draft.aside.is_none() {
                tiers.entry(draft.facts.tier).or_default().push(draft.entity);
                let parent = draft.parent.map(|parent| self.drafts[parent].entity);
                index.inner.entry(parent).or_default().push(draft.entity);
            }
        }
        index.tiers = tiers.into_iter().collect();
        index.tier_names =
            self.tier_names.iter().map(|(name, tier)| (name.clone(), *tier)).collect();
        world.insert_resource(index);
        self.write_paths(world, &rows);
        let spots = self.drafts.iter().zip(rows).map(|(draft, rows)| {
            let parent = draft.parent.map(|parent| self.drafts[parent].entity);
            let (tier, set_aside) = (draft.facts.tier, draft.aside.clone());
            (draft.entity, DomainSpot { tier, parent, rows, set_aside })
        });
        place_domains(world, spots.collect());
        levels::draw(world);
        self.drafts.iter().for_each(|draft| note_fault(world, draft));
        self.forget_idle(world);
        number(world);
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
            if draft.aside.is_some() {
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
            if draft.aside.is_none() {
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
                place_domains(world, vec![(entity, DomainSpot::default())]);
            } else {
                world.resource_mut::<Directory>().domains.remove(&name);
                world.despawn(entity);
            }
        }
    }
}

/// Numbers the tree, once the table of domains has its final rows.
fn number(world: &mut World) {
    // The parameters are queries that always exist: the system runs.
    let rows = world.run_system_cached(table_rows).unwrap_or_default();
    let mut paths = world.query::<(&NodePlace, &DomainPath)>();
    let mut by_row: Vec<&[Entity]> = vec![&[]; paths.iter(world).count()];
    for (place, path) in paths.iter_manual(world) {
        by_row[place.row as usize] = &path.0;
    }
    let place = |domain: Entity| {
        let parent = world.get::<DomainSpot>(domain)?.parent;
        Some((parent, *rows.get(&domain)?))
    };
    let nested = DomainTree::new(world.resource::<DomainIndex>(), place, by_row.into_iter());
    world.resource_mut::<DomainIndex>().nested = nested;
}

/// The row of each domain in its table.
fn table_rows(cluster: Cluster<'_, '_>) -> BTreeMap<Entity, u32> {
    let Ok(mut tables) = cluster.domains.contiguous_iter() else { return BTreeMap::new() };
    let entities = tables.next().map_or(&[][..], |table| table.entity);
    entities.iter().enumerate().map(|(row, &domain)| (domain, row as u32)).collect()
}

fn note_fault(world: &mut World, draft: &Draft) {
    let object = ObjectRef::Domain(draft.facts.name.clone());
    let mut set_aside = world.resource_mut::<SetAside>();
    match draft.fault() {
        Some(fault) => drop(set_aside.0.insert(object, fault)),
        None => drop(set_aside.0.remove(&object)),
    }
}
