//! The domains of topologies by labels, drawn again together with the tree of domains.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::World;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::Finders;
use crate::cycle::ingest::sweep::natural_order;
use crate::delta::{TopologyFacts, TopologyLevel};
use crate::ids::Name;
use crate::world::{
    Catalog, Domain, DomainIndex, DomainPath, DomainSpec, DomainSpot, LevelTree, LevelValues,
    NodeIdentity, NodePlace, NodeRules, Symbol, Symbols, TreeLevel, place_domains,
};

/// Draws every topology, after the paths of nodes were written anew without them.
pub(super) fn draw(world: &mut World) {
    let mut known = known_domains(world);
    let topologies: Vec<TopologyFacts> =
        world.resource::<Catalog<TopologyFacts>>().iter().cloned().collect();
    let mut spots = Vec::new();
    for facts in &topologies {
        let drafts = draft(world, facts);
        place(world, facts, drafts, &mut known, &mut spots);
    }
    // No node counts them any more.
    for gone in known.into_values() {
        world.despawn(gone);
    }
    if !spots.is_empty() {
        place_domains(world, spots);
    }
}

/// Entities of domains there were before, by what they are.
fn known_domains(world: &mut World) -> BTreeMap<LevelValues, Entity> {
    let mut query = world.query::<(Entity, &DomainSpec)>();
    let domains = query.iter(world);
    domains.filter_map(|(entity, spec)| Some((spec.level.clone()?, entity))).collect()
}

/// A domain while its topology is being drawn.
struct LevelDraft {
    parent: Option<usize>,
    level: usize,
    value: Symbol,
    rows: Vec<u32>,
}

/// Finds out which nodes belong together; domains come after those around them.
fn draft(world: &mut World, facts: &TopologyFacts) -> Vec<LevelDraft> {
    let symbols = world.resource::<Symbols>();
    let labels: Option<Vec<Symbol>> =
        facts.levels.iter().map(|level| symbols.find(&level.label)).collect();
    // A label nobody has met is on no node.
    let Some(labels) = labels else { return Vec::new() };
    let mut drafts: Vec<LevelDraft> = Vec::new();
    let mut inside: HashMap<(Option<usize>, Symbol), usize, FxBuildHasher> = HashMap::default();
    let mut nodes = world.query::<(&NodePlace, &NodeIdentity, &NodeRules)>();
    for (place, _, rules) in nodes.iter(world).filter(|(_, identity, _)| identity.present) {
        let values: Option<Vec<Symbol>> = labels.iter().map(|&label| rules.label(label)).collect();
        let mut parent = None;
        for (level, value) in values.unwrap_or_default().into_iter().enumerate() {
            let at = *inside.entry((parent, value)).or_insert_with(|| {
                drafts.push(LevelDraft { parent, level, value, rows: Vec::new() });
                drafts.len() - 1
            });
            drafts[at].rows.push(place.row);
            parent = Some(at);
        }
    }
    drafts
}

/// Gives the domains of a topology their entities and writes them into the index and into the paths of
/// their nodes.
fn place(
    world: &mut World,
    facts: &TopologyFacts,
    drafts: Vec<LevelDraft>,
    known: &mut BTreeMap<LevelValues, Entity>,
    spots: &mut Vec<(Entity, DomainSpot)>,
) {
    let mut named: Vec<(Name, Entity)> = Vec::with_capacity(drafts.len());
    let mut values: Vec<Vec<Name>> = Vec::with_capacity(drafts.len());
    for draft in &drafts {
        let mut own = draft.parent.map_or_else(Vec::new, |parent| values[parent].clone());
        own.push(world.resource::<Symbols>().text(draft.value).clone());
        let what = LevelValues { topology: facts.name.clone(), values: own.clone() };
        let name: Name = own.join(".").into();
        values.push(own);
        let entity = known.remove(&what).unwrap_or_else(|| spawn(world, name.clone(), what));
        named.push((name, entity));
    }
    write_index(world, facts, &drafts, &named);
    write_paths(world, &drafts, &named);
    let depth = facts.levels.len();
    spots.extend(drafts.into_iter().enumerate().map(|(at, mut draft)| {
        draft.rows.sort_unstable();
        let parent = draft.parent.map(|parent| named[parent].1);
        let tier = (depth - draft.level) as u32;
        (named[at].1, DomainSpot { tier, parent, rows: draft.rows, set_aside: None })
    }));
}

fn spawn(world: &mut World, name: Name, level: LevelValues) -> Entity {
    let domain = world.spawn((Domain::columns(name), Finders::default())).id();
    if let Some(mut spec) = world.get_mut::<DomainSpec>(domain) {
        spec.level = Some(level);
    }
    domain
}

fn write_index(
    world: &mut World,
    facts: &TopologyFacts,
    drafts: &[LevelDraft],
    named: &[(Name, Entity)],
) {
    let mut order: Vec<usize> = (0..drafts.len()).collect();
    order.sort_by(|&a, &b| natural_order(&named[a].0, &named[b].0).then(a.cmp(&b)));
    let level = |TopologyLevel { label, alias }: &TopologyLevel| TreeLevel {
        label: label.clone(),
        alias: alias.clone(),
        domains: Vec::new(),
    };
    let mut tree = LevelTree { levels: facts.levels.iter().map(level).collect() };
    let mut index = world.resource_mut::<DomainIndex>();
    for at in order {
        let (draft, entity) = (&drafts[at], named[at].1);
        tree.levels[draft.level].domains.push(entity);
        if let Some(parent) = draft.parent {
            index.inner.entry(Some(named[parent].1)).or_default().push(entity);
        }
    }
    index.topologies.insert(facts.name.clone(), tree);
}

/// Adds the domains to the paths of their nodes, the closest first.
fn write_paths(world: &mut World, drafts: &[LevelDraft], named: &[(Name, Entity)]) {
    let mut query = world.query::<(&NodePlace, &mut DomainPath)>();
    let mut around: Vec<Vec<Entity>> = vec![Vec::new(); query.iter(world).count()];
    for (draft, (_, domain)) in drafts.iter().zip(named).rev() {
        for &row in &draft.rows {
            around[row as usize].push(*domain);
        }
    }
    for (place, mut path) in query.iter_mut(world) {
        path.0.append(&mut around[place.row as usize]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::testing::{Bed, inside};
    use crate::resource::Dim;
    use crate::testing::topology;
    use crate::world::Cluster;

    /// Every domain of a topology: level, name, what is free, and its nodes.
    fn domains(bed: Bed, name: &'static str) -> Vec<String> {
        bed.look(move |cluster, _| {
            let Some(tree) = cluster.domain_index().topology(name) else { return Vec::new() };
            let domains = tree.levels.iter().flat_map(|level| &level.domains);
            domains.map(|&domain| describe(cluster, domain)).collect()
        })
    }

    fn describe(cluster: &Cluster<'_, '_>, domain: Entity) -> String {
        let item = cluster.domain(domain);
        let nodes = cluster.columns();
        let rows = item.spot.rows.iter();
        let mut nodes: Vec<&str> = rows.map(|&row| &*nodes.identities[row as usize].name).collect();
        nodes.sort_unstable();
        let free = item.totals().idle.get(Dim::CPU) / 1000;
        format!("{} {} cpu {free}: {}", item.spot.tier, item.spec.name, nodes.join(" "))
    }

    fn two_zones() -> Bed {
        let mut bed = Bed::new();
        for (node, zone, rack) in
            [("n0", "a", "r1"), ("n1", "a", "r2"), ("n2", "b", "r1"), ("n3", "b", "r1")]
        {
            bed.labelled(node, &[("cpu", 4)], &[("zone", zone), ("rack", rack)]);
        }
        bed.labelled("n4", &[("cpu", 4)], &[("zone", "b")]);
        bed.topology(topology("t", &["zone", "rack"]));
        bed.group("g", 1, |_| {}).pod("g", 0, Some("n2"), |_| {});
        bed
    }

    #[test]
    fn a_domain_is_the_nodes_with_equal_labels_down_to_its_level() {
        let expected =
            ["2 a cpu 8: n0 n1", "2 b cpu 7: n2 n3", "1 a.r1 cpu 4: n0", "1 a.r2 cpu 4: n1"];
        let domains = domains(two_zones(), "t");
        assert_eq!(domains[..4], expected, "n4 has no rack and takes no part");
        assert_eq!(domains[4..], ["1 b.r1 cpu 7: n2 n3"], "the rack of another zone is another");
    }

    #[test]
    fn domains_follow_labels_and_objects() {
        let mut bed = two_zones();
        bed.run();
        bed.labelled("n2", &[("cpu", 4)], &[("zone", "a"), ("rack", "r1")]);
        bed.labelled("n4", &[("cpu", 4)], &[("zone", "b"), ("rack", "r9")]);
        bed.run();
        bed.node_gone("n3").run();
        let expected = ["2 a cpu 11: n0 n1 n2", "2 b cpu 4: n4", "1 a.r1 cpu 7: n0 n2"];
        let found = domains(bed, "t");
        assert_eq!(found[..3], expected);
        assert_eq!(found[3..], ["1 a.r2 cpu 4: n1", "1 b.r9 cpu 4: n4"]);
        let mut bed = two_zones();
        bed.run();
        bed.topology(topology("t", &["rack"])).run();
        assert_eq!(domains(bed, "t"), ["1 r1 cpu 11: n0 n2 n3", "1 r2 cpu 4: n1"]);
        let mut bed = two_zones();
        bed.run();
        bed.topology_gone("t").run();
        let left = inside(&mut bed.into_world(), |cluster, _| cluster.domains.iter().count());
        assert_eq!(left, 0, "and what made them is gone");
    }

    #[test]
    fn topologies_overlap_and_tiers_of_objects_are_another_matter() {
        let mut bed = two_zones();
        bed.topology(topology("other", &["rack"]).with(|topology| {
            topology.levels[0].alias = Some("shelf".into());
        }));
        bed.topology(crate::testing::domain("hall", 7).node("n0").node("n4"));
        let seen = bed.look(|cluster, _| {
            let index = cluster.domain_index();
            let tiers: Vec<u32> = index.tiers.iter().map(|(tier, _)| *tier).collect();
            let other = index.topology("other");
            let level = other.and_then(|tree| Some((tree.level("shelf")?, tree.level("rack")?)));
            let node = cluster.nodes.iter().find(|node| &*node.identity.name == "n0");
            let path = node.map(|node| node.domains.0.clone()).unwrap_or_default();
            let path: Vec<String> = path
                .into_iter()
                .map(|domain| cluster.domain(domain).spec.name.to_string())
                .collect();
            (tiers, level, path, index.inside(None).len())
        });
        let path = ["hall", "r1", "a.r1", "a"].map(str::to_owned).to_vec();
        assert_eq!(seen, (vec![7], Some((0, 0)), path, 1));
    }
}
