//! `volcano-suites`: Volcano's own end-to-end suites, with Muster as the scheduler.
//!
//! The suites, Volcano's controllers, its webhooks and `vcctl` are built from Volcano's module, which
//! the Go module proxy has; nothing of it is kept in this repository. Each suite runs on a control
//! plane of its own, whose nodes a stand-in for kubelets plays. See `docs/compatibility.md`.
//!
//! The program is its own `muster`: called as `volcano-suites run …` it is the scheduler's command
//! line.

mod args;
mod cluster;
mod configuration;
mod network;
mod programs;
mod progress;
mod report;
mod run;
mod suites;
mod webhooks;

use std::io::{self, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::Parser;
use futures::{StreamExt, stream};
use muster_tests::control_plane::ToolError;

use crate::args::Args;
use crate::programs::Programs;
use crate::report::Outcome;

/// Why there is no result.
#[derive(Debug, thiserror::Error)]
enum SuitesError {
    /// A program is missing.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// Volcano's module cannot be had.
    #[error("Volcano's module cannot be downloaded: {0}")]
    Module(String),
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    File {
        /// Which.
        path: String,
        /// What the system says.
        source: io::Error,
    },
    /// The API server refused something, or does not answer.
    #[error("{doing}: {source}")]
    Call {
        /// What was being done.
        doing: String,
        /// What it said.
        source: Box<kube::Error>,
    },
    /// A program of the cluster did not come up, or ended.
    #[error("{name} is not there; its last words:\n{words}")]
    Gone {
        /// Which.
        name: String,
        /// What it said.
        words: String,
    },
    /// A suite left no report.
    #[error("suite {suite} left no report: {problem}; what it said is in {log}")]
    NoReport {
        /// Which.
        suite: &'static str,
        /// What is wrong with the report.
        problem: String,
        /// Where it said so.
        log: String,
    },
    /// This program cannot be started a second time, or threads cannot be started.
    #[error("cannot start: {0}")]
    Start(#[source] io::Error),
    /// The result could not be written.
    #[error("cannot write the result: {0}")]
    Write(#[source] io::Error),
}

impl SuitesError {
    /// Names the file an operation failed on.
    fn file(path: &std::path::Path) -> impl Fn(io::Error) -> Self {
        move |source| Self::File { path: path.display().to_string(), source }
    }

    /// Names what was being done when a call failed.
    fn call(doing: &str) -> impl Fn(kube::Error) -> Self {
        move |source| Self::Call { doing: doing.to_owned(), source: Box::new(source) }
    }
}

fn main() -> ExitCode {
    if let Err(old_cpu) = muster::cpu::check() {
        eprintln!("volcano-suites: {old_cpu}");
        return ExitCode::from(2);
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == "run") {
        return muster::cli::main();
    }
    let args = Args::parse();
    match carry_out(args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(SuitesError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("volcano-suites: {error}");
            ExitCode::from(2)
        }
    }
}

/// Did every case pass that ran?
fn carry_out(args: Args) -> Result<bool, SuitesError> {
    let programs = Arc::new(Programs::find(&args.suites(), args.scheduler)?);
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.enable_all().build().map_err(SuitesError::Start)?;
    let outcomes = runtime.block_on(run_all(&args, &programs))?;
    let text = report::text(&args, &outcomes);
    io::stdout().write_all(text.as_bytes()).map_err(SuitesError::Write)?;
    Ok(outcomes.iter().all(Outcome::passed))
}

async fn run_all(args: &Args, programs: &Arc<Programs>) -> Result<Vec<Outcome>, SuitesError> {
    let suites = args.suites();
    let runs = stream::iter(suites).map(|suite| run::suite(args, programs, suite));
    let results: Vec<Result<Outcome, SuitesError>> = runs.buffered(args.at_once()).collect().await;
    results.into_iter().collect()
}
