//! The outside of the scheduler: the objects it reads, the worlds it acts on, the command line.
//!
//! Modules are declared in reading order: what the objects are and how they become deltas, how an API
//! server is told of them, the plugin that asks a server of the user, how the configuration is read, the
//! embedded cluster, the real one with its loop, and the commands.

pub mod objects;
pub mod crds;
mod causes;
pub mod extender;
pub mod config;
pub mod sim;
pub mod kube;
mod metrics;
mod web;
mod node_load;
pub mod past_use;
pub mod run;
pub mod http;
pub mod cli;
pub mod cpu;

/// The program on that page, which must compile.
#[cfg(doctest)]
#[doc = include_str!("../../docs/plugins.md")]
struct PluginsPage;
