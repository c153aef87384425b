//! `muster crds`: the definitions of PodGroup, Queue and HyperNode, as the API server takes them.

use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

use crate::crds::definitions;

/// Prints the definitions of PodGroup, Queue and HyperNode
#[derive(Debug, clap::Args)]
#[command(after_help = "Example:\n  muster crds | kubectl apply --server-side -f -")]
pub struct CrdsArgs {
    /// Writes one file for each definition here instead
    #[arg(long, value_name = "DIR")]
    write: Option<PathBuf>,
}

/// Writes them.
pub fn run(args: &CrdsArgs, out: &mut dyn Write) -> io::Result<()> {
    for definition in definitions() {
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
