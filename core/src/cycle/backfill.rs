//! Action `backfill`: pods that ask for nothing but a slot, on any node that has one.
//!
//! The same turns as `allocate`, over best-effort tasks.

use super::allocate::place_jobs;
use super::drive::Scene;
use super::worksheet::Portion;

pub(super) fn backfill(mut scene: Scene<'_, '_>) {
    place_jobs(&mut scene, "backfill", Portion::BestEffort);
}
