//! Forgets what was measured of nodes too long ago: their load is not known any more.
//!
//! Reads: the clock. Writes: loads of nodes, the change log.

use bevy_ecs::prelude::Res;

use crate::place::Now;
use crate::world::Cluster;

pub(super) fn age(mut cluster: Cluster<'_, '_>, now: Res<'_, Now>) {
    cluster.fade_loads(now.0);
}
