//! A real cluster: what its API server says becomes deltas, what the scheduler wants becomes calls.
//!
//! This module translates and carries; it decides nothing. Reading order is the way of one pod:
//! [`watch`] hears of it, [`news`] carries it to the loop in `crate::run`, and [`calls`] carries out
//! what was decided, while [`lease`] says whether this process may.

pub mod news;
mod raw;
pub(crate) mod memo;
pub mod watch;
pub mod lease;
pub mod calls;
pub mod backoff;
