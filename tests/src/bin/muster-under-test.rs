//! The command line of `muster`, built with the tests so that they can start it as a process.

use std::process::ExitCode;

fn main() -> ExitCode {
    muster::cli::main()
}
