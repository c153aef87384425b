//! `e2e`: Muster on a real API server, beside the fastest anybody could be and Kubernetes' own
//! scheduler.
//!
//! Each measurement has a control plane of its own, with the same nodes and pods. Three subjects take
//! turns: the *ceiling* posts a binding for every pod and decides nothing; `muster` and
//! `kube-scheduler` are processes of their own. A watch of this program sees when each pod has its
//! node. See `docs/benchmarks.md` for what the figures mean.
//!
//! The program is its own `muster`: called as `e2e run …` it is the scheduler's command line, so one
//! `cargo run` has everything it needs.

mod args;
mod console;
mod fleet;
mod idle;
mod race;
mod report;
mod sight;
mod subject;
mod usage;
mod writes;

use std::io::Write;
use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::{CommandFactory, Parser};
use muster_tests::control_plane::ToolError;

use crate::args::Args;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Why there are no figures.
#[derive(Debug, thiserror::Error)]
enum E2eError {
    /// A program of the control plane is missing.
    #[error(transparent)]
    Tool(#[from] ToolError),
    /// The API server refused something, or does not answer.
    #[error("{doing}: {source}")]
    Call {
        /// What was being done.
        doing: &'static str,
        /// What it said.
        source: Box<kube::Error>,
    },
    /// Pods were left without a node.
    #[error("{subject} gave {bound} of {pods} pods a node and then none for {patience:?}\n{words}")]
    Stuck {
        /// Who.
        subject: &'static str,
        /// Pods with a node.
        bound: usize,
        /// All of them.
        pods: usize,
        /// How long it was waited for another.
        patience: std::time::Duration,
        /// The last that was heard of it.
        words: String,
    },
    /// What a process uses cannot be read.
    #[error("cannot read what process {process} uses, which needs Linux: {source}")]
    Usage {
        /// Its number.
        process: u32,
        /// What the system says.
        source: std::io::Error,
    },
    /// This program cannot be started a second time.
    #[error("cannot find this program: {0}")]
    Program(#[source] std::io::Error),
    /// Threads could not be started.
    #[error("cannot start threads: {0}")]
    Threads(#[source] std::io::Error),
    /// The result could not be written.
    #[error("cannot write the result: {0}")]
    Write(#[source] std::io::Error),
}

impl E2eError {
    /// Names what was being done when a call failed.
    fn call(doing: &'static str) -> impl Fn(kube::Error) -> Self {
        move |source| Self::Call { doing, source: Box::new(source) }
    }
}

fn main() -> ExitCode {
    if let Err(old_cpu) = muster::cpu::check() {
        eprintln!("e2e: {old_cpu}");
        return ExitCode::from(2);
    }
    if std::env::args_os().nth(1).is_some_and(|word| word == "run") {
        return muster::cli::main();
    }
    let args = Args::parse();
    if let Err(problem) = args::check(&args.size()) {
        Args::command().error(ErrorKind::ValueValidation, problem).exit();
    }
    match carry_out(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(E2eError::Write(error)) if error.kind() == std::io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("e2e: {error}");
            ExitCode::from(2)
        }
    }
}

fn carry_out(args: &Args) -> Result<(), E2eError> {
    let mut builder = tokio::runtime::Builder::new_multi_thread();
    let runtime = builder.enable_all().build().map_err(E2eError::Threads)?;
    let size = args.size();
    let text = if args.idle {
        let found = runtime.block_on(idle::measure(&size, args.quiet_time()))?;
        report::idle(&found, args.output)
    } else {
        let found = runtime.block_on(race::run(&size, args.runs()))?;
        report::race(&found, args.output)
    };
    std::io::stdout().write_all(text.as_bytes()).map_err(E2eError::Write)
}
