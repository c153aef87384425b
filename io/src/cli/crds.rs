//! `muster crds`: the definitions of the objects of a dialect, as the API server takes them.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use muster_core::config::Dialect;

use crate::crds::definitions;

/// Prints the definitions of PodGroup, Queue and HyperNode, or those of KAI's objects
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  muster crds | kubectl apply --server-side -f -")]
pub struct CrdsArgs {
    /// Whose objects: those of Volcano, or PodGroup, Queue and Topology of KAI
    #[arg(long, value_name = "NAME", default_value = "volcano")]
    dialect: ObjectsOf,
    /// Writes one file for each definition here instead
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
}

/// Whose objects.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum ObjectsOf {
    Volcano,
    Kai,
}

impl From<ObjectsOf> for Dialect {
    fn from(of: ObjectsOf) -> Self {
        match of {
            ObjectsOf::Volcano => Self::Volcano,
            ObjectsOf::Kai => Self::Kai,
        }
    }
}

/// Writes them.
pub fn run(args: &CrdsArgs, out: &mut dyn Write) -> io::Result<()> {
    for definition in definitions(args.dialect.into()) {
        match &args.write {
            None => write!(out, "---\n{}", definition.yaml())?,
            Some(folder) => {
                let path = folder.join(format!("{}.yaml", definition.plural));
                fs::write(&path, definition.yaml()).map_err(|error| {
                    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
                })?;
            }
        }
    }
    Ok(())
}
