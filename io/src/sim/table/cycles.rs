//! What happened, cycle by cycle: the cluster's part and the scheduler's part, pods grouped by job.

use std::collections::BTreeMap;
use std::io::{self, Write};

use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::{Decision, DecisionOp};
use owo_colors::Style;

use super::super::clock;
use super::super::run::{CycleRecord, RunResult};
use super::{Ink, plural};

/// Cycles shown in full; of a longer run the first and the last ones.
const TOLD_HEAD: usize = 30;
const TOLD_TAIL: usize = 10;
/// Lines shown of one cycle.
const LINES_MAX: usize = 12;

pub(super) fn write(result: &RunResult, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    ink.heading(out, "Cycle by cycle")?;
    let eventful = |record: &&CycleRecord| {
        !(record.decisions.is_empty() && record.happenings.is_empty() && record.waits.is_empty())
    };
    let told: Vec<&CycleRecord> = result.cycles.iter().filter(eventful).collect();
    if told.is_empty() {
        return writeln!(out, "  nothing happened and nothing was decided");
    }
    let mut before = 0;
    for (at, record) in told.iter().enumerate() {
        let skip =
            told.len() > TOLD_HEAD + TOLD_TAIL && (TOLD_HEAD..told.len() - TOLD_TAIL).contains(&at);
        if skip {
            if at == TOLD_HEAD {
                let skipped = &told[TOLD_HEAD..told.len() - TOLD_TAIL];
                let decisions: usize = skipped.iter().map(|record| record.decisions.len()).sum();
                writeln!(
                    out,
                    "  … {} with {}",
                    plural(skipped.len(), "more cycle"),
                    plural(decisions, "decision")
                )?;
            }
            before = record.cycle;
            continue;
        }
        write_quiet(before, record.cycle, ink, out)?;
        write_cycle(record, ink, out)?;
        before = record.cycle;
    }
    write_quiet(before, result.cycles.len() as u32 + 1, ink, out)
}

fn write_quiet(before: u32, next: u32, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let dim = Style::new().dimmed();
    match (before + 1, next.saturating_sub(1)) {
        (first, last) if first > last => Ok(()),
        (first, last) if first == last => {
            writeln!(out, "{}", ink.paint(&format!("  cycle {first}: quiet"), dim))
        }
        (first, last) => {
            writeln!(out, "{}", ink.paint(&format!("  cycles {first} to {last}: quiet"), dim))
        }
    }
}

fn write_cycle(record: &CycleRecord, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let title = format!("cycle {} at {}", record.cycle, clock::text(record.time_ms));
    writeln!(out, "  {}", ink.paint(&title, Style::new().bold()))?;
    let mut lines: Vec<String> = Vec::new();
    lines.extend(
        record
            .happenings
            .iter()
            .map(|line| format!("{} {line}", ink.paint("·", Style::new().blue()))),
    );
    lines.extend(condense(&record.decisions).into_iter().map(|line| line.text(ink)));
    let waiting = ink.paint("…", Style::new().yellow());
    lines.extend(record.waits.iter().map(|line| format!("{waiting} {line}")));
    let more = lines.len().saturating_sub(LINES_MAX);
    for line in lines.iter().take(LINES_MAX) {
        writeln!(out, "    {line}")?;
    }
    if more > 0 {
        writeln!(out, "    … and {}", plural(more, "line"))?;
    }
    Ok(())
}

/// Decisions of one action about one job, shown together.
struct Line<'a> {
    action: &'static str,
    op: DecisionOp,
    job: &'a ObjectKey,
    beneficiary: Option<&'a ObjectKey>,
    reason: Option<&'a str>,
    pods: usize,
    nodes: BTreeMap<&'a Name, usize>,
}

fn condense(decisions: &[Decision]) -> Vec<Line<'_>> {
    let mut lines: Vec<Line<'_>> = Vec::new();
    let mut index: BTreeMap<(&str, &str, &ObjectKey, Option<&ObjectKey>), usize> = BTreeMap::new();
    for decision in decisions {
        let beneficiary = decision.beneficiary.as_ref();
        let key = (decision.action, decision.op.as_str(), &decision.job, beneficiary);
        let at = *index.entry(key).or_insert(lines.len());
        if at == lines.len() {
            lines.push(Line {
                action: decision.action,
                op: decision.op,
                job: &decision.job,
                beneficiary,
                reason: decision.reason.as_deref(),
                pods: 0,
                nodes: BTreeMap::new(),
            });
        }
        lines[at].pods += 1;
        *lines[at].nodes.entry(&decision.node).or_default() += 1;
    }
    lines
}

impl Line<'_> {
    fn text(&self, ink: Ink) -> String {
        let (mark, verb, style) = match self.op {
            DecisionOp::Bind => ("+", "binds", Style::new().green()),
            DecisionOp::Evict => ("-", "evicts", Style::new().red()),
            DecisionOp::Pipeline => ("~", "holds room for", Style::new().yellow()),
            DecisionOp::Unpipeline => ("x", "gives up the room of", Style::new().yellow()),
        };
        let preposition = match self.op {
            DecisionOp::Evict | DecisionOp::Unpipeline => "from",
            DecisionOp::Bind | DecisionOp::Pipeline => "on",
        };
        let winner = self.beneficiary.map_or(String::new(), |job| format!(" for {job}"));
        let reason = self.reason.map_or(String::new(), |reason| format!(" ({reason})"));
        format!(
            "{} {} {verb} {} of {} {preposition} {}{winner}{reason}",
            ink.paint(mark, style.bold()),
            self.action,
            plural(self.pods, "pod"),
            self.job,
            self.places(),
        )
    }

    fn places(&self) -> String {
        const SHOWN: usize = 6;
        let place = |(name, &count): (&&Name, &usize)| match count {
            1 => name.to_string(),
            count => format!("{name} ×{count}"),
        };
        let shown: Vec<String> = self.nodes.iter().take(SHOWN).map(place).collect();
        match self.nodes.len().saturating_sub(SHOWN) {
            0 => shown.join(", "),
            more => format!("{} and {}", shown.join(", "), plural(more, "more node")),
        }
    }
}
