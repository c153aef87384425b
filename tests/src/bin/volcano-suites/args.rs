//! The command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};

use crate::suites::{SUITES, Suite};

const EXAMPLES: &str = "\
Examples:
  volcano-suites                                    all suites, Muster schedules
  volcano-suites --suite gangevict --suite vcctl
  volcano-suites --suite schedulingaction --focus 'Reclaim E2E Test.*Case 1'
  volcano-suites --scheduler volcano                the same with Volcano's scheduler, to compare
  volcano-suites -o json                            for machines

The exit code is 0 if every case passed that ran, 1 if one failed, 2 if there is no result.
Everything is built from source the first time, which needs Go and the network and takes long.";

/// Runs Volcano's own end-to-end suites with Muster as the scheduler
#[derive(Debug, Parser)]
#[command(name = "volcano-suites", version, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// A suite to run; may be given several times [default: all]
    #[arg(long = "suite", value_name = "NAME", value_parser = suite)]
    suites: Vec<&'static Suite>,
    /// Only cases whose full name matches
    #[arg(long, value_name = "REGEX")]
    pub(crate) focus: Option<String>,
    /// Who schedules
    #[arg(long, value_enum, default_value_t = Scheduler::Muster)]
    pub(crate) scheduler: Scheduler,
    /// Suites that run at the same time, each on a control plane of its own
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..))]
    at_once: u8,
    /// Where reports and logs go [default: volcano-suites in the system's temporary folder]
    #[arg(long, value_name = "FOLDER")]
    logs: Option<PathBuf>,
    /// How the result is written
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

/// Who schedules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Scheduler {
    /// This repository's.
    Muster,
    /// Volcano's own, of the same version as the suites.
    Volcano,
}

impl Scheduler {
    /// Its name.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Muster => "muster",
            Self::Volcano => "volcano",
        }
    }
}

/// How the result is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Output {
    /// For people.
    Table,
    /// For machines.
    Json,
}

impl Args {
    /// The suites that run, in the order they are listed.
    pub(crate) fn suites(&self) -> Vec<&'static Suite> {
        let wanted = |suite: &&Suite| {
            self.suites.is_empty() || self.suites.iter().any(|it| it.name == suite.name)
        };
        SUITES.iter().filter(wanted).collect()
    }

    /// Suites that run at the same time.
    pub(crate) fn at_once(&self) -> usize {
        usize::from(self.at_once)
    }

    /// Where reports and logs go.
    pub(crate) fn logs(&self) -> PathBuf {
        self.logs.clone().unwrap_or_else(|| std::env::temp_dir().join("volcano-suites"))
    }
}

fn suite(name: &str) -> Result<&'static Suite, String> {
    SUITES.iter().find(|suite| suite.name == name).ok_or_else(|| {
        let names: Vec<&str> = SUITES.iter().map(|suite| suite.name).collect();
        format!("there is no such suite here; there are {}", names.join(", "))
    })
}
