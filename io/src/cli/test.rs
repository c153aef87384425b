//! `muster test FILE-or-DIR…`: every Scenario below those paths against its own expectations.

use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::PathBuf;
use std::time::{Duration, Instant};

use muster_core::policy::Registry;
use owo_colors::Style;
use serde::Serialize;

use super::simulate::{resolve_config, unused_sources};
use super::{CliError, Outcome, Threads, stdout_ink};
use crate::config::Parsed;
use crate::sim::load::load_all;
use crate::sim::report::{Assertion, InvariantCounts, assertions, invariant_counts};
use crate::sim::run::{self, Narration, RunResult};
use crate::sim::scenario::Scenario;
use crate::sim::table::{Ink, plural, spent};

const EXAMPLES: &str = "\
Examples:
  muster test scenarios/               every Scenario below a directory
  muster test gang.yaml queue.yaml     these two
  muster test scenarios/ -o json       for machines";

/// Runs every Scenario below these paths and checks what it expects
///
/// One line each; a Scenario that fails lists what it got instead. Exit code 1 if any fails.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct TestArgs {
    /// Scenario files, or directories that hold some
    #[arg(value_name = "FILE-or-DIR", required = true)]
    paths: Vec<PathBuf>,
    /// Form of the result
    #[arg(short, long, value_enum, default_value_t = Form::Text)]
    output: Form,
    #[command(flatten)]
    threads: Threads,
}

/// Form of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Form {
    /// Lines to read
    Text,
    /// One JSON document and nothing else
    Json,
}

/// One Scenario that was run, or could not be.
struct Trial {
    scenario: Scenario,
    result: Result<RunResult, String>,
    took: Duration,
}

impl Trial {
    fn passed(&self) -> bool {
        self.result.as_ref().is_ok_and(RunResult::passed)
    }
}

/// Runs the command.
pub(super) fn run(
    args: &TestArgs,
    registry: &Registry,
    out: &mut dyn Write,
) -> Result<Outcome, CliError> {
    let scenarios = load_all(&args.paths)?;
    let pool = args.threads.pool(None)?;
    let ink = stdout_ink();
    let mut trials = Vec::with_capacity(scenarios.len());
    let mut warned = BTreeSet::new();
    for scenario in scenarios {
        let begun = Instant::now();
        let result = resolve_config(registry, None, &scenario)
            .map(|parsed| {
                let unused = unused_sources(&parsed, &scenario);
                let Parsed { config, mut warnings, .. } = parsed;
                warnings.extend(unused);
                warn_once(&mut warned, warnings);
                run::run(&scenario, &config, &pool, Narration::Silent, &mut |_, _| {})
            })
            .map_err(|errors| errors.to_string());
        let trial = Trial { scenario, result, took: begun.elapsed() };
        if args.output == Form::Text {
            write_trial(&trial, ink, out)?;
            // Someone may be watching a long list grow.
            out.flush()?;
        }
        trials.push(trial);
    }
    match args.output {
        Form::Text => write_summary(&trials, ink, out)?,
        Form::Json => write_json(&trials, out)?,
    }
    Ok(match &trials {
        trials if trials.iter().any(|trial| trial.result.is_err()) => Outcome::BadInput,
        trials if trials.iter().all(Trial::passed) => Outcome::Done,
        _ => Outcome::Failed,
    })
}

/// Says what a configuration asks for in vain; what many Scenarios share is said once.
fn warn_once(warned: &mut BTreeSet<String>, warnings: Vec<String>) {
    for warning in warnings {
        if !warned.contains(&warning) {
            eprintln!("warning: {warning}");
            warned.insert(warning);
        }
    }
}

/// Breaches shown of one Scenario.
const VIOLATIONS_SHOWN: usize = 10;

fn write_trial(trial: &Trial, ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let mark = if trial.passed() { ink.tick() } else { ink.cross() };
    let name = &trial.scenario.name;
    let took = spent(u64::try_from(trial.took.as_micros()).unwrap_or(u64::MAX));
    let result = match &trial.result {
        Ok(result) => result,
        Err(error) => {
            writeln!(out, "{mark} {name}")?;
            return writeln!(out, "    {}", error.replace('\n', "\n    "));
        }
    };
    writeln!(out, "{mark} {name}  {}  {took}", plural(result.cycles.len(), "cycle"))?;
    for judgement in result.expect.iter().filter(|judgement| !judgement.pass) {
        writeln!(out, "    {}", judgement.assertion)?;
        writeln!(out, "      got {}", judgement.got)?;
    }
    let violations = result.violations.as_deref().unwrap_or_default();
    for violation in violations.iter().take(VIOLATIONS_SHOWN) {
        let rule = violation.invariant.as_str();
        writeln!(out, "    {rule} in cycle {}: {}", violation.cycle, violation.sentence)?;
    }
    match violations.len().saturating_sub(VIOLATIONS_SHOWN) {
        0 => {}
        more => writeln!(out, "    … and {}", plural(more, "more violation"))?,
    }
    if !trial.passed() {
        writeln!(out, "    in {}", trial.scenario.source.display())?;
    }
    Ok(())
}

fn write_summary(trials: &[Trial], ink: Ink, out: &mut dyn Write) -> io::Result<()> {
    let passed = trials.iter().filter(|trial| trial.passed()).count();
    let failed = trials.len() - passed;
    let took: Duration = trials.iter().map(|trial| trial.took).sum();
    let took = spent(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
    let verdict = match failed {
        0 => ink.paint(&format!("{passed} passed"), Style::new().green().bold()),
        _ => ink.paint(&format!("{passed} passed, {failed} failed"), Style::new().red().bold()),
    };
    writeln!(out, "\n{}: {verdict} in {took}", plural(trials.len(), "Scenario"))
}

#[derive(Serialize)]
struct Document<'a> {
    scenarios: Vec<Line<'a>>,
    passed: usize,
    failed: usize,
}

#[derive(Serialize)]
struct Line<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    variant: Option<&'a str>,
    file: String,
    pass: bool,
    cycles: usize,
    expect: Vec<Assertion<'a>>,
    invariants: InvariantCounts,
    error: Option<&'a str>,
}

impl<'a> Line<'a> {
    fn of(trial: &'a Trial) -> Self {
        let result = trial.result.as_ref().ok();
        Self {
            name: &trial.scenario.name,
            variant: trial.scenario.variant.as_ref().map(|variant| &*variant.name),
            file: trial.scenario.source.display().to_string(),
            pass: trial.passed(),
            cycles: result.map_or(0, |result| result.cycles.len()),
            expect: assertions(result.map_or(&[], |result| &result.expect)),
            invariants: result.map(invariant_counts).unwrap_or_default(),
            error: trial.result.as_ref().err().map(String::as_str),
        }
    }
}

fn write_json(trials: &[Trial], out: &mut dyn Write) -> io::Result<()> {
    let passed = trials.iter().filter(|trial| trial.passed()).count();
    let scenarios = trials.iter().map(Line::of).collect();
    let document = Document { scenarios, passed, failed: trials.len() - passed };
    serde_json::to_writer(&mut *out, &document)?;
    writeln!(out)
}
