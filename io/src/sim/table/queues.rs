//! What each queue uses of what it is due.

use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment};
use muster_core::ids::Name;
use muster_core::resource::{Format, Quantity};

use super::super::run::RunResult;
use super::Ink;

pub(super) fn write(result: &RunResult, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    if result.queues.is_empty() {
        return Ok(());
    }
    ink.heading(out, "Queues")?;
    let mut table =
        ink.table(&["queue", "share", "allocated", "deserved", "borrowed", "capability"]);
    for queue in &result.queues {
        let tenths = queue.share_ppm / 1_000;
        table.add_row(vec![
            Cell::new(&queue.name),
            Cell::new(format!("{}.{}%", tenths / 10, tenths % 10)),
            Cell::new(amounts(&queue.allocated)),
            Cell::new(amounts(&queue.deserved)),
            Cell::new(amounts(&queue.borrowed)),
            Cell::new(amounts(&queue.capability)),
        ]);
    }
    if let Some(column) = table.column_mut(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    writeln!(out, "{}", table.trim_fmt())
}

fn amounts(list: &[(Name, Quantity)]) -> String {
    let some = list.iter().filter(|entry| !entry.1.is_zero());
    let parts: Vec<String> =
        some.map(|(name, amount)| format!("{name} {}", amount.format(Format::of(name)))).collect();
    parts.join(", ")
}
