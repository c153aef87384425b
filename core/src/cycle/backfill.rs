//! Action `backfill`: pods that ask for nothing but a slot, on any node that has one.
//!
//! The same turns as `allocate`, over best-effort tasks.

use super::allocate::place_jobs;
use crate::place::{Session, TaskSet};

pub(super) fn backfill(mut session: Session<'_, '_>) {
    place_jobs(&mut session, "backfill", TaskSet::BestEffort, None);
}
