//! `scale`: whole cycles of a cluster of any size, two cases that are hard for evictions, and one for the
//! division of the cluster among queues.
//!
//! Figures go to standard output, progress to standard error.

mod options;
mod report;
mod whole;
mod cases;
mod fair_share;

use std::process::ExitCode;

use clap::Parser;
use muster_benches::memory::Counting;
use muster_core::config::Dialect;

use options::{Case, Options};
use report::CaseFigures;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

fn main() -> ExitCode {
    let options = Options::parse();
    if let Err(problem) = options.check() {
        eprintln!("scale: {problem}");
        return ExitCode::from(2);
    }
    let done = match options.case {
        None => whole::measure(&options).map(|figures| options.output.print(&figures)),
        Some(Case::Unschedulable) => in_dialects(&options, cases::unschedulable),
        Some(Case::Reclaim) => in_dialects(&options, cases::reclaim),
        Some(Case::FairShare) => {
            fair_share::measure(&options).map(|figures| options.output.print(&figures))
        }
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => {
            eprintln!("scale: {problem}");
            ExitCode::from(1)
        }
    }
}

/// Runs a case by each of the rules that are asked for, and prints the figures of each.
fn in_dialects(
    options: &Options,
    case: fn(&Options, Dialect) -> Result<CaseFigures, String>,
) -> Result<(), String> {
    for &dialect in options.dialect.each() {
        options.output.print(&case(options, dialect)?);
    }
    Ok(())
}
