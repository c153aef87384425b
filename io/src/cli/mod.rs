//! The command line: one module a command.
//!
//! Results go to standard output; progress, warnings and errors to standard error. Exit codes: 0 done,
//! 1 an expectation failed, 2 bad input or usage.

pub mod check_config;
pub mod crds;
pub mod foreign_flags;
pub mod run;
pub mod simulate;
pub mod test;

use std::io::{self, BufWriter, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{CommandFactory, Parser, Subcommand};
use muster_core::policy::Registry;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::config::{self, ConfigErrors};
use crate::run::FirstConfigError;
use crate::sim::load::LoadErrors;
use crate::sim::table::Ink;

const EXAMPLES: &str = "\
Examples:
  muster simulate                          a small cluster to look at
  muster simulate cluster.yaml -o json     your own manifests, result for machines
  muster test scenarios/                   check every Scenario below a directory
  muster check-config volcano.conf         what does this configuration do?
  muster run --kubeconfig ~/.kube/config   schedule a real cluster

Exit codes: 0 done, 1 an expectation failed, 2 bad input or usage.";

/// Muster, a gang scheduler for Kubernetes.
#[derive(Debug, Parser)]
#[command(name = "muster", version, after_help = EXAMPLES, propagate_version = true)]
pub struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Run(Box<run::RunArgs>),
    Simulate(simulate::SimulateArgs),
    Test(test::TestArgs),
    CheckConfig(check_config::CheckConfigArgs),
    Crds(crds::CrdsArgs),
}

/// How a command that did its work came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// All is well.
    Done,
    /// An expectation or an invariant failed.
    Failed,
    /// Part of the input could not be used; the report says which.
    BadInput,
}

/// Why a command did nothing.
#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// The Scenario or the manifests are not valid.
    #[error(transparent)]
    Load(#[from] LoadErrors),
    /// The configuration is not valid.
    #[error(transparent)]
    Config(#[from] ConfigErrors),
    /// Threads could not be started.
    #[error("cannot start {threads} threads: {source}")]
    Threads {
        /// How many were asked for.
        threads: String,
        /// What the system says.
        source: rayon::ThreadPoolBuildError,
    },
    /// Flags that contradict each other.
    #[error("{0}")]
    Usage(String),
    /// The scheduler could not be started.
    #[error(transparent)]
    Run(#[from] crate::run::RunError),
    /// The result could not be written.
    #[error("cannot write the result: {0}")]
    Write(#[from] io::Error),
}

impl From<FirstConfigError> for CliError {
    fn from(error: FirstConfigError) -> Self {
        match error {
            FirstConfigError::Config(errors) => Self::Config(errors),
            FirstConfigError::Run(error) => Self::Run(error),
        }
    }
}

/// Reads the command line and runs it, with what this version has.
pub fn main() -> ExitCode {
    main_with(config::registry())
}

/// The same with plugins of others: every command knows them as it knows our own.
pub fn main_with(registry: Registry) -> ExitCode {
    if let Err(old_cpu) = crate::cpu::check() {
        eprintln!("muster: {old_cpu}");
        return ExitCode::from(2);
    }
    let args = foreign_flags::with_two_dashes(&Cli::command(), std::env::args_os());
    let cli = Cli::parse_from(args);
    let mut out = BufWriter::new(io::stdout().lock());
    let result = carry_out(cli.command, registry, &mut out);
    let result = result.and_then(|outcome| Ok(out.flush().map(|()| outcome)?));
    match result {
        Ok(Outcome::Done) => ExitCode::SUCCESS,
        Ok(Outcome::Failed) => ExitCode::from(1),
        Ok(Outcome::BadInput) => ExitCode::from(2),
        // The reader of the pipe has gone away, which is no error.
        Err(CliError::Write(error)) if error.kind() == io::ErrorKind::BrokenPipe => {
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("muster: {error}");
            ExitCode::from(2)
        }
    }
}

fn carry_out(
    command: Command,
    registry: Registry,
    out: &mut dyn Write,
) -> Result<Outcome, CliError> {
    match command {
        Command::Run(args) => run::run(&args, registry),
        Command::Simulate(args) => simulate::run(&args, &registry, out),
        Command::Test(args) => test::run(&args, &registry, out),
        Command::CheckConfig(args) => {
            check_config::run(&registry, &args.file, out)?;
            Ok(Outcome::Done)
        }
        Command::Crds(args) => {
            crds::run(&args, out)?;
            Ok(Outcome::Done)
        }
    }
}

/// Number of worker threads.
#[derive(Clone, Copy, Debug, clap::Args)]
pub struct Threads {
    /// Worker threads; the result does not depend on it [default: all cores]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    threads: Option<u16>,
}

impl Threads {
    /// The one pool of the process: as many threads as the command line says, else as the
    /// configuration says, else one per core.
    fn pool(self, configured: Option<usize>) -> Result<Arc<ThreadPool>, CliError> {
        let threads = self.threads.map(usize::from).or(configured);
        let builder = ThreadPoolBuilder::new()
            .thread_name(|index| format!("muster-{index}"))
            .num_threads(threads.unwrap_or(0));
        builder.build().map(Arc::new).map_err(|source| CliError::Threads {
            threads: threads.map_or_else(|| "the".to_owned(), |threads| threads.to_string()),
            source,
        })
    }
}

/// Colours are for terminals, unless the user has switched them off.
fn stdout_ink() -> Ink {
    let refused = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    if io::stdout().is_terminal() && !refused { Ink::Colour } else { Ink::Plain }
}
