//! What tests from outside share: builders of objects, random clusters, an outside world that
//! answers the scheduler's calls, the repository as text, and a real API server.
//!
//! Everything here uses the public face of the scheduler only.

pub mod policy;
pub mod shape;
pub mod cluster;
pub mod outside;
pub mod storm;
pub mod source;
pub mod page;
pub mod control_plane;
pub mod kubelet;
pub mod process;
pub mod kai;
pub mod faulty;
pub mod chart;
