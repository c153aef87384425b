//! Looking at the world from outside: what is known as plain values, every total compared with its
//! recomputation, and all of it as one text.

mod view;
mod audit;
mod devices;
mod volumes;
mod fingerprint;

pub(crate) use audit::group_uses;
pub(crate) use audit::{audit, audit_reservations};
pub(crate) use fingerprint::fingerprint;
pub(crate) use view::{Wait, view_queue};
pub(crate) use view::{census, jobs, pods, queues};
