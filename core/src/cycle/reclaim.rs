//! Action `reclaim`: a queue with less than its due takes it back from those that have more.
//!
//! Reads: the whole cluster. Writes: assumptions through a Statement, verdicts.

use super::drive::Scene;
use super::preempt::raid_for_waiting;
use crate::evict::Raid;

/// The action with its arguments.
pub(super) fn reclaim(raid: Raid) -> impl FnMut(Scene<'_, '_>) {
    move |mut scene: Scene<'_, '_>| raid_for_waiting(&mut scene, &raid)
}
