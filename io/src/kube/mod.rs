//! A real cluster: what its API server says becomes deltas, what the scheduler wants becomes calls.
//!
//! Nothing is decided here. Reading order is the way of one pod: [`watch`] sees it, a [`loop_event`]
//! takes it to the loop in `crate::run`, and [`calls`] carries out what was decided there, while
//! [`lease`], the leader election, says whether this process may.

pub mod loop_event;
pub(crate) mod raw;
mod served;
mod pool_roll;
pub(crate) mod status_cache;
pub(crate) mod namesakes;
pub mod watch;
pub mod lease;
pub mod calls;
pub mod backoff;
