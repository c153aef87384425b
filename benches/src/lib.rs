//! What the benches share: sizes, synthetic clusters with a fixed seed, and the profiler.
//!
//! Every bench runs on its real size under `cargo bench` and on a smoke size everywhere else: with
//! `cargo bench -- --test`, which is how the checks run it, and with `cargo test`. A flamegraph of any bench, without root:
//!
//! ```sh
//! cargo bench -p muster-benches --bench cycle -- --profile-time 5 allocate
//! ```
//!
//! writes `target/criterion/<bench>/profile/flamegraph.svg`.

mod cluster;
pub mod echo;
pub mod fleet;
pub mod memory;
mod profile;
mod racks;
pub mod rig;

pub use cluster::{Company, Shape, config, pool};
pub use profile::{criterion, flamegraph};
pub use racks::{Naming, Racks, rack_config};

/// Is this the quick run that only checks that a bench works? Cargo says `--bench` where it is to be
/// measured; criterion decides by the same words.
pub fn is_smoke() -> bool {
    let said = |word: &str| std::env::args().any(|argument| argument == word);
    said("--test") || !said("--bench")
}

/// A number for the real run and one for the smoke run.
pub fn size(real: usize, smoke: usize) -> usize {
    if is_smoke() { smoke } else { real }
}
