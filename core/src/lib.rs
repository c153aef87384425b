//! Muster's scheduler without any outside world: cluster deltas in, intents out, time as an argument.
//!
//! Modules are declared in one direction: each imports only those above it.

pub mod kernel;
pub mod ids;
pub mod resource;
pub mod verdict;
pub mod status;
pub mod delta;
pub mod config;
pub mod reservation;
pub mod intent;
pub mod report;
pub mod world;
pub mod interpod;
pub mod class;
pub mod policy;
pub mod ranking;
pub mod statement;
mod place;
mod evict;
mod inspect;
mod cycle;
pub mod scheduler;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
