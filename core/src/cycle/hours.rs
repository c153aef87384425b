//! Opens and closes zones of lent nodes as the hour has it, before the actions ask.
//!
//! Reads: the time, what a plugin says of zones. Writes: which zones are open; where that is news, every
//! ranking and every proof is made anew, which is twice a day for each zone.

use bevy_ecs::prelude::{Res, ResMut};

use crate::place::Now;
use crate::policy::Policies;
use crate::world::{Cluster, Lending, Symbols};

pub(super) fn turn(
    mut cluster: Cluster<'_, '_>,
    policies: Res<'_, Policies>,
    mut symbols: ResMut<'_, Symbols>,
    now: Res<'_, Now>,
) {
    let zones = policies.lent_zones(now.0).unwrap_or_default();
    let mut lending = Lending { until: zones.until, ..Lending::default() };
    for (zone, is_open) in zones.zones {
        let list = if is_open { &mut lending.open } else { &mut lending.closed };
        list.push(symbols.intern(&zone));
    }
    if (&lending.open, &lending.closed) != (&cluster.lending.open, &cluster.lending.closed) {
        cluster.log.renumber();
    }
    *cluster.lending = lending;
}
