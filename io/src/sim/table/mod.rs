//! The result as tables: what happened cycle by cycle, then where everything stands.

mod cycles;
mod jobs;
mod nodes;
mod queues;
mod reservations;

use std::io::{self, Write};

use comfy_table::{ContentArrangement, LineStyle, Table, TableStyle};
use owo_colors::{OwoColorize, Style};

use super::books::PodStatus;
use super::clock;
use super::run::RunResult;

/// Is the text for eyes that see colour?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ink {
    /// No escape codes at all.
    Plain,
    /// Coloured.
    Colour,
}

impl Ink {
    /// The text, coloured or not.
    pub(crate) fn paint(self, text: &str, style: Style) -> String {
        match self {
            Self::Plain => text.to_owned(),
            Self::Colour => text.style(style).to_string(),
        }
    }

    /// What stands before something that holds.
    pub(crate) fn tick(self) -> String {
        self.paint("✓", Style::new().green())
    }

    /// What stands before something that does not.
    pub(crate) fn cross(self) -> String {
        self.paint("✗", Style::new().red().bold())
    }

    fn heading(self, out: &mut dyn Write, text: &str) -> io::Result<()> {
        writeln!(out, "\n{}", self.paint(text, Style::new().bold()))
    }

    fn table(self, header: &[&str]) -> Table {
        let mut table = Table::new();
        table.load_style(RULED);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        match self {
            Self::Plain => table.force_no_tty(),
            Self::Colour => table.enforce_styling(),
        };
        table.set_header(header.iter().copied());
        table
    }
}

/// A rule under the header and nothing else: rows are read along, not across.
const RULED: TableStyle =
    TableStyle::new().header_separator(LineStyle::none().fill('─').junction('─'));

/// Writes the whole report.
pub fn write_table(
    name: &str,
    result: &RunResult,
    ink: Ink,
    out: &mut dyn Write,
) -> io::Result<()> {
    write_summary(name, result, ink, out)?;
    cycles::write(result, ink, out)?;
    jobs::write(result, ink, out)?;
    reservations::write(result, ink, out)?;
    nodes::write(&result.books, ink, out)?;
    queues::write(result, ink, out)?;
    write_expectations(result, ink, out)?;
    write_violations(result, ink, out)?;
    write_set_aside(result, ink, out)?;
    write_warnings(result, ink, out)
}

fn write_summary(name: &str, result: &RunResult, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let cycles = result.cycles.len();
    let end_ms = result.cycles.last().map_or(0, |cycle| cycle.time_ms);
    let spent_us: u64 = result.cycles.iter().map(|cycle| cycle.duration_us).sum();
    let decisions: usize = result.cycles.iter().map(|cycle| cycle.decisions.len()).sum();
    let running = |pod: &&super::books::PodEntry| pod.status.is_bound();
    let waiting = |pod: &&super::books::PodEntry| {
        matches!(pod.status, PodStatus::Pending | PodStatus::Pipelined)
    };
    let pods = &result.books.pods;
    let nodes = result.books.nodes.values().filter(|node| node.facts.is_some()).count();
    writeln!(out, "{}", ink.paint(name, Style::new().bold().cyan()))?;
    writeln!(
        out,
        "{} on {}: {} placed, {} waiting, {}",
        plural(pods.len(), "pod"),
        plural(nodes, "node"),
        pods.values().filter(running).count(),
        pods.values().filter(waiting).count(),
        plural(result.tally.evictions as usize, "eviction"),
    )?;
    writeln!(
        out,
        "{} over {} of virtual time, {}, {} of scheduling",
        plural(cycles, "cycle"),
        clock::text(end_ms),
        plural(decisions, "decision"),
        spent(spent_us),
    )?;
    match reservations::summary(result) {
        Some(line) => writeln!(out, "{line}"),
        None => Ok(()),
    }
}

/// A real duration in a unit that suits it.
pub(crate) fn spent(us: u64) -> String {
    match us {
        0..1_000 => format!("{us} µs"),
        1_000..1_000_000 => format!("{}.{} ms", us / 1_000, us % 1_000 / 100),
        _ => format!("{}.{:02} s", us / 1_000_000, us % 1_000_000 / 10_000),
    }
}

/// `1 pod`, `2 pods`.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn write_expectations(result: &RunResult, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    if result.expect.is_empty() {
        return Ok(());
    }
    ink.heading(out, "Expectations")?;
    for judgement in &result.expect {
        let mark = if judgement.pass { ink.tick() } else { ink.cross() };
        writeln!(out, "  {} {}  got {}", mark, judgement.assertion, judgement.got)?;
    }
    Ok(())
}

/// Breaches shown; a run that goes wrong every cycle says the rest with a number.
const VIOLATIONS_SHOWN: usize = 20;

fn write_violations(result: &RunResult, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let Some(violations) = &result.violations else {
        return writeln!(out, "\nThe invariants were not checked.");
    };
    if violations.is_empty() {
        return Ok(());
    }
    ink.heading(out, "Violated invariants")?;
    for violation in violations.iter().take(VIOLATIONS_SHOWN) {
        let rule = ink.paint(violation.invariant.as_str(), Style::new().red().bold());
        writeln!(out, "  ✗ {rule} in cycle {}: {}", violation.cycle, violation.sentence)?;
    }
    match violations.len().saturating_sub(VIOLATIONS_SHOWN) {
        0 => Ok(()),
        more => writeln!(out, "  … and {more} more"),
    }
}

fn write_set_aside(result: &RunResult, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    if result.set_aside.is_empty() {
        return Ok(());
    }
    ink.heading(out, "Set aside")?;
    for (object, why) in &result.set_aside {
        writeln!(out, "  {} {object}: {why}", ink.cross())?;
    }
    Ok(())
}

fn write_warnings(result: &RunResult, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    if result.warnings.is_empty() {
        return Ok(());
    }
    ink.heading(out, "Warnings")?;
    for warning in &result.warnings {
        writeln!(out, "  {} {warning}", ink.paint("!", Style::new().yellow().bold()))?;
    }
    Ok(())
}
