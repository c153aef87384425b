//! Totals of domains, summed up from their nodes whenever the tree changes.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{In, World};

use crate::kernel::sum::sum_rows;
use crate::resource::{Lanes, ResourceVec, Tail};
use crate::world::cluster::Cluster;
use crate::world::domain::{DomainSpot, DomainTotals, node_debt};
use crate::world::node::NodeTails;

/// Gives each domain its place in the tree and the totals of its nodes.
pub(crate) fn place_domains(world: &mut World, spots: Vec<(Entity, DomainSpot)>) {
    let rows: Vec<Vec<u32>> = spots.iter().map(|(_, spot)| spot.rows.clone()).collect();
    // The parameters are queries and resources that always exist: the system runs.
    let totals = world.run_system_cached_with(sums, rows).unwrap_or_default();
    for ((domain, spot), totals) in spots.into_iter().zip(totals) {
        if let Ok(mut domain) = world.get_entity_mut(domain) {
            domain.insert((spot, totals));
        }
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
        debt: rows.iter().fold(Lanes::ZERO, |mut sum, &row| {
            let row = row as usize;
            sum.add(&node_debt(&nodes.idle[row], &nodes.releasing[row], &nodes.pipelined[row]));
            sum
        }),
    };
    choices.into_iter().map(totals).collect()
}
