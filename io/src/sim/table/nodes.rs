//! How full the nodes are, with a bar for each resource that anybody asks for.

use std::io::{self, Write};

use comfy_table::Cell;
use muster_core::resource::{Dim, ResourceVec};

use super::super::books::{Books, NodeEntry};
use super::{Ink, plural};

/// Nodes listed one by one; of more only the sum is shown.
const SHOWN: usize = 24;
/// Characters of a bar.
const WIDTH: i64 = 12;

pub(super) fn write(books: &Books, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let nodes: Vec<_> = books.nodes.iter().filter(|(_, node)| node.facts.is_some()).collect();
    if nodes.is_empty() {
        return Ok(());
    }
    ink.heading(out, "Nodes")?;
    let mut sum = NodeEntry::default();
    for (_, node) in &nodes {
        sum.allocatable.add(&node.allocatable);
        sum.used.add(&node.used);
        sum.held.add(&node.held);
        sum.leaving.add(&node.leaving);
        sum.pods += node.pods;
    }
    let asked = asked_dims(books);
    let mut header = vec!["node", "pods"];
    header.extend(asked.iter().map(|&dim| &**books.names.name(dim)));
    let mut table = ink.table(&header);
    if nodes.len() <= SHOWN {
        for (name, node) in &nodes {
            table.add_row(row(books, name, node, &asked));
        }
    }
    if nodes.len() > 1 {
        table.add_row(row(books, &format!("all {}", nodes.len()), &sum, &asked));
    }
    writeln!(out, "{}", table.trim_fmt())?;
    if nodes.len() > SHOWN {
        let empty = nodes.iter().filter(|(_, node)| node.pods == 0).count();
        let full = |node: &NodeEntry| {
            asked.iter().any(|&dim| {
                node.allocatable.get(dim) > 0 && node.used.get(dim) >= node.allocatable.get(dim)
            })
        };
        let full = nodes.iter().filter(|(_, node)| full(node)).count();
        writeln!(out, "{}, {full} of them full and {empty} empty", plural(nodes.len(), "node"))?;
    }
    writeln!(out, "█ used   ▓ used and leaving   ▒ held for a pod to come   ░ free")
}

/// Resources that some pod asks for, pods themselves aside.
fn asked_dims(books: &Books) -> Vec<Dim> {
    let mut asked = ResourceVec::default();
    for pod in books.pods.values() {
        asked.add(&pod.counts);
    }
    asked.iter().map(|entry| entry.0).filter(|&dim| dim != Dim::PODS).collect()
}

fn row(books: &Books, name: &str, node: &NodeEntry, asked: &[Dim]) -> Vec<Cell> {
    let mut cells = vec![Cell::new(name), Cell::new(node.pods)];
    cells.extend(asked.iter().map(|&dim| Cell::new(bar(books, (name, node), dim))));
    cells
}

fn bar(books: &Books, (name, node): (&str, &NodeEntry), dim: Dim) -> String {
    let room = node.allocatable.get(dim);
    let (mut used, mut leaving) = (node.used.get(dim), node.leaving.get(dim));
    if books.gpu() == Some(dim) && books.has_shares() {
        let free;
        [free, leaving] = books.whole_gpus(&name.into());
        used = room - free;
    }
    if room == 0 && used == 0 {
        return "-".to_owned();
    }
    // What is held often waits for what is leaving: it adds to the bar only beyond that.
    let held = (node.held.get(dim) - leaving).max(0);
    let cells = |amount: i64| {
        let scaled = i128::from(amount) * i128::from(WIDTH) / i128::from(room.max(1));
        scaled.clamp(0, i128::from(WIDTH)) as i64
    };
    let staying = cells(used - leaving);
    let leaving = cells(used) - staying;
    let coming = (cells(used + held) - staying - leaving).max(0);
    let free = (WIDTH - staying - leaving - coming).max(0);
    let mut bar = String::new();
    for (count, mark) in [(staying, '█'), (leaving, '▓'), (coming, '▒'), (free, '░')] {
        bar.extend(std::iter::repeat_n(mark, count.max(0) as usize));
    }
    format!("{bar} {}/{}", books.names.display(dim, used), books.names.display(dim, room))
}
