//! The built-in cluster that `muster simulate` shows when it is given none.

use super::load::{LoadErrors, load_text};
use super::scenario::Scenario;

/// The Scenario, as one would write it to a file.
pub const TEXT: &str = include_str!("demo.yaml");

/// What to try after it.
pub const NEXT_STEPS: &str = "\
That was the built-in demonstration. Now try your own:
  muster simulate nodes.yaml jobs.yaml     plain Kubernetes and Volcano manifests
  muster simulate --help                   what else there is";

/// The demonstration, read and expanded like any other Scenario.
pub fn scenario() -> Result<Scenario, LoadErrors> {
    load_text("built-in demonstration", TEXT)
}
