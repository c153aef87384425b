//! `scale`: whole cycles of a cluster of any size, and two cases that are hard for evictions.
//!
//! Figures go to standard output, progress to standard error.

mod options;
mod report;
mod whole;
mod cases;

use std::process::ExitCode;

use clap::Parser;
use muster_benches::memory::Counting;

use options::{Case, Options};

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
        Some(Case::Unschedulable) => {
            cases::unschedulable(&options).map(|figures| options.output.print(&figures))
        }
        Some(Case::Reclaim) => {
            cases::reclaim(&options).map(|figures| options.output.print(&figures))
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
