//! What each node lacks for a class of tasks, for those who want to read it node by node.

use crate::place::Session;
use crate::resource::{Dim, ResourceNames, ResourceVec};
use crate::world::{ClassId, Exclusion, NodeColumns, Obstacle};

/// Nodes that are gone through one by one; of more than these only the number is said.
const NODES_TOLD: usize = 200;

/// Every node with what keeps the class off it, in the order of names. To be asked while what was
/// placed still has its places.
pub(super) fn one_by_one(session: &mut Session<'_, '_>, class: ClassId) -> String {
    let exclusions: Vec<Exclusion> = session.ranking(class).exclusions().collect();
    let request = &session.classes.get(class).request;
    let (nodes, names) = (session.cluster.columns(), &session.names.0);
    let there = |&row: &usize| exclusions[row].later != Obstacle::Absent;
    let mut rows: Vec<usize> = (0..nodes.len()).filter(there).collect();
    rows.sort_unstable_by_key(|&row| nodes.places[row].ordinal);
    let told = rows.iter().take(NODES_TOLD).map(|&row| {
        let why = match exclusions[row].later {
            Obstacle::None => lacking(&nodes, row, request, names),
            obstacle => obstacle.describe().to_owned(),
        };
        format!("{}: {why}", nodes.identities[row].name)
    });
    let mut told: Vec<String> = told.collect();
    if let more @ 1.. = rows.len().saturating_sub(NODES_TOLD) {
        told.push(format!("and {more} more nodes"));
    }
    told.join("; ")
}

/// What an open node has too little of.
fn lacking(
    nodes: &NodeColumns<'_>,
    row: usize,
    request: &ResourceVec,
    names: &ResourceNames,
) -> String {
    let mut short: Vec<String> = request
        .iter()
        .filter(|&(dim, ask)| ask > nodes.future_idle(row, dim).max(0))
        .map(|(dim, ask)| {
            let left = names.display(dim, nodes.future_idle(row, dim));
            let (all, ask) = (names.display(dim, nodes.offered(row, dim)), names.display(dim, ask));
            let name = if dim == Dim::PODS { "pod slots" } else { &**names.name(dim) };
            format!("{name} {left} of {all} left, {ask} asked")
        })
        .collect();
    short.sort_unstable();
    if short.is_empty() { "has room".to_owned() } else { short.join(", ") }
}
