//! Room held at the end: for whom, where, what is waited for, and for how long.

use std::collections::BTreeMap;
use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment};
use muster_core::ids::{Name, ObjectKey};
use muster_core::reservation::Release;

use super::super::clock;
use super::super::run::{Held, RunResult};
use super::{Ink, plural};

/// Lines listed, and pods named in each.
const SHOWN: usize = 40;
const PODS_NAMED: usize = 3;

pub(super) fn write(result: &RunResult, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    if result.held.is_empty() {
        return Ok(());
    }
    ink.heading(out, "Reservations")?;
    let mut lines: BTreeMap<(&ObjectKey, &Name), Vec<&Held>> = BTreeMap::new();
    for held in &result.held {
        lines.entry((&held.job, &held.room.node)).or_default().push(held);
    }
    let now_ms = result.cycles.last().map_or(0, |cycle| cycle.time_ms);
    let mut table = ink.table(&["job", "node", "pods", "since", "left", "waits for"]);
    for ((job, node), held) in lines.iter().take(SHOWN) {
        let since = held.iter().map(|held| held.room.since.0).min().unwrap_or_default();
        let until = held.iter().map(|held| held.room.until.0).min().unwrap_or_default();
        table.add_row(vec![
            Cell::new(job),
            Cell::new(node),
            Cell::new(held.len()),
            Cell::new(clock::text(since)),
            Cell::new(clock::text((until - now_ms).max(0))),
            Cell::new(if result.books.moves.contains_key(&held[0].pod) {
                "the pod that comes next".to_owned()
            } else {
                awaited(&held[0].room.waits_for)
            }),
        ]);
    }
    for column in 2..5 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    writeln!(out, "{}", table.trim_fmt())?;
    match lines.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "… and {}", plural(more, "more line")),
    }
}

fn awaited(pods: &[ObjectKey]) -> String {
    let named: Vec<String> = pods.iter().take(PODS_NAMED).map(ToString::to_string).collect();
    match pods.len().saturating_sub(PODS_NAMED) {
        0 if named.is_empty() => "the rest of its gang".to_owned(),
        0 => named.join(", "),
        more => format!("{} and {}", named.join(", "), plural(more, "more pod")),
    }
}

/// What became of all reservations of the run, as one line; `None` if there were none.
pub(super) fn summary(result: &RunResult) -> Option<String> {
    let counts = &result.reservations;
    if counts.made + counts.restored == 0 {
        return None;
    }
    let causes = Release::ALL.into_iter().map(|cause| (counts.released_for(cause), cause.as_str()));
    let causes: Vec<String> = causes
        .filter(|(times, _)| *times > 0)
        .map(|(times, cause)| format!("{times} {cause}"))
        .collect();
    let why = if causes.is_empty() { String::new() } else { format!(" ({})", causes.join(", ")) };
    Some(format!(
        "{} made, {} read back, {} confirmed, {} released{why}",
        plural(counts.made as usize, "reservation"),
        counts.restored,
        counts.confirmed,
        counts.released.iter().sum::<u64>(),
    ))
}
