//! The command line.

use std::time::Duration;

use clap::{Parser, ValueEnum};

use crate::fleet::{PODS_PER_NODE, Size};

const EXAMPLES: &str = "\
Examples:
  e2e                                        1,000 nodes, 5,000 pods, once each
  e2e --nodes 100 --pods 1000 --gang-size 50 --runs 3
  e2e -o json                                for machines
  e2e --idle                                 what 5,000 nodes and 20,000 running pods cost at rest

The control plane is built from source the first time, which needs Go and takes some minutes.";

/// Measures Muster on a real API server
#[derive(Debug, Parser)]
#[command(name = "e2e", version, after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Nodes [default: 1000; 5000 with --idle]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    nodes: Option<u32>,
    /// Pods [default: 5000; 20000 with --idle]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    pods: Option<u32>,
    /// Pods of a gang; 1 makes no PodGroups
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    gang_size: u32,
    /// Measurements of each subject; the figures are medians
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..), conflicts_with = "idle")]
    runs: u32,
    /// Measure what a cluster at rest costs instead
    #[arg(long)]
    pub(crate) idle: bool,
    /// How long to look at the cluster at rest
    #[arg(long, value_name = "N", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..), requires = "idle")]
    seconds: u64,
    /// How the result is written
    #[arg(short, long, value_enum, default_value_t = Output::Table)]
    pub(crate) output: Output,
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
    /// What is made.
    pub(crate) fn size(&self) -> Size {
        let (nodes, pods) = if self.idle { (5_000, 20_000) } else { (1_000, 5_000) };
        let pods = self.pods.unwrap_or(pods) as usize;
        Size {
            nodes: self.nodes.unwrap_or(nodes) as usize,
            pods,
            gang: (self.gang_size as usize).min(pods),
        }
    }

    /// Measurements of each subject.
    pub(crate) fn runs(&self) -> usize {
        self.runs as usize
    }

    /// How long to look at the cluster at rest.
    pub(crate) fn quiet_time(&self) -> Duration {
        Duration::from_secs(self.seconds)
    }
}

/// Says what is wrong with a size the cluster has no room for.
pub(crate) fn check(size: &Size) -> Result<(), String> {
    let room = size.nodes * PODS_PER_NODE;
    if size.pods <= room {
        return Ok(());
    }
    Err(format!(
        "--pods {}: {} nodes have room for {room} pods, {PODS_PER_NODE} each",
        size.pods, size.nodes
    ))
}
