//! Action `preempt`: a more important job of a queue takes the place of less important ones.
//!
//! Reads: the whole cluster. Writes: assumptions through a Statement, verdicts.

use super::allocate;
use super::drive::Scene;
use crate::evict::{self, Raid};

/// The action with its arguments.
pub(super) fn preempt(raid: Raid) -> impl FnMut(Scene<'_, '_>) {
    move |mut scene: Scene<'_, '_>| raid_for_waiting(&mut scene, &raid)
}

/// Serves every job that may be tried and lacks its minimum.
pub(super) fn raid_for_waiting(scene: &mut Scene<'_, '_>, raid: &Raid) {
    let waiting = allocate::eligible(scene, raid.action);
    evict::run(scene, raid, waiting);
}
