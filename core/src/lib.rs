//! Muster's scheduler without any outside world: cluster deltas in, intents out, time as an argument.
//!
//! Modules are declared in reading order: what a resource is, what comes in, what goes out, the
//! world in between, the transaction over it, the rules, and the cycle that runs them.

pub mod resource;
pub mod ids;
pub mod delta;
pub mod status;
pub mod intent;
pub mod reservation;
pub mod config;
pub mod kernel;
pub mod near;
pub mod world;
pub mod class;
pub mod policy;
pub mod statement;
mod evict;
mod cycle;
pub mod verdict;
pub mod scheduler;
