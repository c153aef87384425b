//! The embedded cluster: Scenario files in, a virtual clock, a report out.
//!
//! Modules are declared in reading order: what a Scenario is and how it is read, the cluster it makes,
//! the run, what is checked, and the reports.

pub mod duration;
pub mod clock;
pub mod scenario;
pub mod expectation;
mod expand;
pub mod load;
pub mod demo;
pub mod cluster;
mod aside;
pub mod books;
pub mod domains;
mod subgroups;
mod story;
pub mod run;
pub mod expect;
pub mod invariants;
pub mod report;
pub mod table;
#[cfg(test)]
mod fixtures;
