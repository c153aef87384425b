//! What can be asked for on the command line.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use muster::config::{Parsed, default_config, parse};
use muster_benches::flamegraph;
use muster_benches::fleet::{Fleet, NODE};
use muster_core::config::Dialect;
use muster_core::policy::Registry;

use crate::report::Output;

const EXAMPLES: &str = "\
Examples:
  scale --nodes 100000 --gangs 100 --members 1000 --naive 100 -o json
  scale --nodes 5000 --gangs 10000 --members 1 --classes 10000
  scale --nodes 100000 --gangs 10 --members 100 --running 1000000
  scale --case reclaim --dialect both -o json

Exit codes: 0 done, 1 an answer was wrong, 2 bad usage.";

/// Measures whole cycles of the scheduler on a cluster made for the purpose.
#[derive(Debug, Parser)]
#[command(name = "scale", after_help = EXAMPLES)]
pub(crate) struct Options {
    /// Nodes of 32 cores, 128 GiB and 8 GPUs.
    #[arg(long, default_value_t = 1_000)]
    nodes: usize,
    /// Gangs that wait.
    #[arg(long, default_value_t = 10)]
    gangs: usize,
    /// Pods of each gang, all needed.
    #[arg(long, default_value_t = 100)]
    members: usize,
    /// Different requests among the gangs.
    #[arg(long, default_value_t = 3)]
    classes: usize,
    /// Pods that run already.
    #[arg(long, default_value_t = 0)]
    running: usize,
    /// Queues the gangs are dealt out to.
    #[arg(long, default_value_t = 1)]
    queues: usize,
    /// A configuration file, for rules and tuning other than the built-in ones.
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Threads of the pool; one a core if not given.
    #[arg(long)]
    threads: Option<usize>,
    /// Pods placed once more by a twin that looks at every node for each of them.
    #[arg(long, value_name = "PODS", default_value_t = 0)]
    pub(crate) naive: usize,
    /// Draws what the large cycle (or the cycles of a case) spent its time on.
    #[arg(long, value_name = "FILE")]
    pub(crate) flamegraph: Option<PathBuf>,
    /// A fixed case instead, with rules of its own: only `--dialect`, `--threads`, `--flamegraph` and `-o`
    /// count.
    #[arg(long)]
    pub(crate) case: Option<Case>,
    /// Whose rules a case goes by; with both, one after the other in one run.
    #[arg(long, value_enum, default_value_t = Dialects::Volcano)]
    pub(crate) dialect: Dialects,
    /// How to print the figures.
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
}

/// A case of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Case {
    /// A gang nobody can make room for: how long "no" takes.
    Unschedulable,
    /// One queue takes back a whole cluster from another.
    Reclaim,
    /// A thousand of KAI's queues in four levels share a cluster of a hundred thousand jobs: what a pod that
    /// ends costs, with shares kept up to date and divided anew.
    FairShare,
}

/// Whose rules a case goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Dialects {
    /// Volcano's.
    Volcano,
    /// KAI's.
    Kai,
    /// Volcano's, then KAI's.
    Both,
}

impl Dialects {
    /// Each of them.
    pub(crate) fn each(self) -> &'static [Dialect] {
        match self {
            Self::Volcano => &[Dialect::Volcano],
            Self::Kai => &[Dialect::Kai],
            Self::Both => &[Dialect::Volcano, Dialect::Kai],
        }
    }
}

/// Most nodes or pods that can be asked for: rows are numbered in 32 bits.
const MOST: usize = 100_000_000;

impl Options {
    /// What is wrong with the numbers, if anything.
    pub(crate) fn check(&self) -> Result<(), String> {
        let least = [
            ("--nodes", self.nodes),
            ("--gangs", self.gangs),
            ("--members", self.members),
            ("--classes", self.classes),
            ("--queues", self.queues),
            ("--threads", self.threads()),
        ];
        for (name, value) in least {
            if value == 0 || value > MOST {
                return Err(format!("{name} must be from 1 to {MOST}, not {value}"));
            }
        }
        let pods = self.gangs.saturating_mul(self.members);
        if pods > MOST {
            return Err(format!("--gangs times --members is {pods} pods; {MOST} is the limit"));
        }
        if self.classes > self.gangs {
            let Self { classes, gangs, .. } = self;
            return Err(format!("--classes {classes} needs as many --gangs, not {gangs}"));
        }
        if self.naive > pods {
            return Err(format!("--naive {} is more than the {pods} pods that wait", self.naive));
        }
        // Pods that run ask for up to three cores.
        let room = self.nodes.saturating_mul(NODE[0] as usize / 3);
        if self.running > room {
            return Err(format!("--running {} does not fit; {room} do", self.running));
        }
        self.config().map(drop)
    }

    /// Threads of the pool.
    pub(crate) fn threads(&self) -> usize {
        let cores = || std::thread::available_parallelism().map_or(1, usize::from);
        self.threads.unwrap_or_else(cores)
    }

    /// The configuration asked for.
    pub(crate) fn config(&self) -> Result<Parsed, String> {
        let Some(file) = &self.config else { return Ok(default_config()) };
        let name = file.display().to_string();
        let text = std::fs::read_to_string(file).map_err(|error| format!("{name}: {error}"))?;
        parse(&Registry::standard(), &name, &text).map_err(|errors| errors.to_string())
    }

    /// Runs something, under the profiler if that was asked for.
    pub(crate) fn profiled<T>(&self, run: impl FnOnce() -> T) -> Result<T, String> {
        match &self.flamegraph {
            Some(file) => flamegraph(file, run),
            None => Ok(run()),
        }
    }

    /// The cluster asked for.
    pub(crate) fn fleet(&self) -> Fleet {
        let Self { nodes, gangs, members, classes, running, queues, .. } = *self;
        Fleet { nodes, gangs, members, classes, running, queues }
    }
}
