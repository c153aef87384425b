//! The tests from outside, as one binary: each further one would link Kubernetes' client, TLS and the
//! ECS once more. A topic is a module; `cargo test --workspace --test it tidy` runs one.
//!
//! Whatever a module shares with the others is made for it: thread pools and control planes are
//! handed out by `muster_tests`, and nothing here changes the environment or the current directory
//! of the process.

// The repository and its documents.
mod tidy;
mod rooms;
mod dependencies;
mod kinds;
mod guide;
mod samples;
mod configs;
mod scenarios;

// The scheduler as a library.
mod world;
mod projection;
mod placement;
mod interpod;
mod topology;
mod volumes;
mod fair_share;
mod reservations;
mod oracle;
mod lives;
mod kai_lives;
mod shuffle;
mod plugins;
mod own_plugin;
mod limits;
mod cycles;
mod handover;
mod status;
mod kai_status;

// The program on a real API server.
mod control_plane;
mod kubelets;
mod definitions;
mod chart;
mod cluster_gangs;
mod cluster_kai;
mod cluster_dry_run;
mod cluster_evictions;
mod cluster_faults;
mod cluster_late_answers;
mod cluster_pools;
mod cluster_versions;

/// The command line of `muster`, as a program to be started.
const PROGRAM: &str = env!("CARGO_BIN_EXE_muster-under-test");
