//! The `muster` binary.

use std::process::ExitCode;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    if let Err(old_cpu) = muster::cpu::check() {
        eprintln!("muster: {old_cpu}");
        return ExitCode::from(2);
    }
    muster::cli::main()
}
