//! Where every job stands, those that wait first when there are many.

use std::io::{self, Write};

use comfy_table::{Cell, CellAlignment, Color};
use muster_core::delta::GroupPhase;
use muster_core::report::JobView;

use super::super::run::RunResult;
use super::{Ink, plural};
use crate::objects::phase_text;

/// Jobs listed.
const SHOWN: usize = 40;

pub(super) fn write(result: &RunResult, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    if result.jobs.is_empty() {
        return Ok(());
    }
    ink.heading(out, "Jobs")?;
    let mut jobs: Vec<&JobView> = result.jobs.iter().collect();
    if jobs.len() > SHOWN {
        jobs.sort_by_key(|job| job.reason.is_none());
    }
    let mut table =
        ink.table(&["job", "queue", "phase", "ready/min", "held", "waiting", "why it waits"]);
    for job in jobs.iter().take(SHOWN) {
        table.add_row(row(job));
    }
    for column in 3..6 {
        if let Some(column) = table.column_mut(column) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    writeln!(out, "{}", table.trim_fmt())?;
    match jobs.len().saturating_sub(SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "… and {}", plural(more, "more job")),
    }
}

fn row(job: &JobView) -> Vec<Cell> {
    let colour = match job.phase {
        GroupPhase::Running => Color::Green,
        GroupPhase::Completed => Color::DarkGrey,
        GroupPhase::Unknown => Color::Red,
        GroupPhase::Pending | GroupPhase::Inqueue => Color::Yellow,
    };
    let why = match (job.reason, job.message.as_deref()) {
        (Some(reason), Some(message)) => format!("{}: {message}", reason.as_str()),
        (Some(reason), None) => reason.as_str().to_owned(),
        (None, message) => message.unwrap_or_default().to_owned(),
    };
    vec![
        Cell::new(&job.key),
        Cell::new(&job.queue),
        Cell::new(phase_text(job.phase)).fg(colour),
        Cell::new(format!("{}/{}", job.ready, job.min_available)),
        Cell::new(blank_zero(job.pipelined)),
        Cell::new(blank_zero(job.pending)),
        Cell::new(why),
    ]
}

fn blank_zero(count: u32) -> String {
    if count == 0 { String::new() } else { count.to_string() }
}
