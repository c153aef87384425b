//! Tells plugins that speak with somebody outside that a cycle begins, and that it has ended.
//!
//! What such a plugin said in an earlier cycle does not hold any more, though no node has changed: every
//! ranking and every proof is made anew. Where there is no such plugin nothing is done.
//!
//! Reads: the whole cluster. Writes: the change log, the outcome, when the next cycle is due.

use bevy_ecs::prelude::{Res, ResMut};

use super::reflect::NextDue;
use crate::ids::TimeMs;
use crate::place::{Now, Outcome};
use crate::policy::{CycleScene, Policies};
use crate::world::{Cluster, Names, Symbols};

pub(super) fn begin(
    mut cluster: Cluster<'_, '_>,
    policies: Res<'_, Policies>,
    names: Res<'_, Names>,
    symbols: Res<'_, Symbols>,
    now: Res<'_, Now>,
) {
    if policies.is_moody() {
        cluster.log.renumber();
        let scene = CycleScene { names: &names.0, symbols: &symbols, now: now.0 };
        policies.cycle_begins(&cluster, &scene);
    }
}

pub(super) fn end(
    policies: Res<'_, Policies>,
    now: Res<'_, Now>,
    mut outcome: ResMut<'_, Outcome>,
    mut due: ResMut<'_, NextDue>,
) {
    let consultations = policies.cycle_ends();
    let again = consultations.iter().filter_map(|(_, said)| said.again_ms);
    let again = again.map(|pause| TimeMs(now.0.0.saturating_add(pause)));
    due.0 = due.0.into_iter().chain(again).min();
    outcome.0.consultations = consultations;
}
