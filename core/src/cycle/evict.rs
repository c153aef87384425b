//! Actions `preempt` and `reclaim`, and their forms for gangs: jobs that lack their minimum take room
//! from others. Action `consolidation`: others move together for them.
//!
//! `preempt`: a more important job of a queue takes the place of less important ones. `reclaim`: a
//! queue with less than its due takes it back from those that have more.
//!
//! Reads: the whole cluster. Writes: assumptions through a Statement, verdicts.

use bevy_ecs::prelude::ResMut;

use super::allocate;
use crate::evict::{self, EvictAction, InfeasibleCache};
use crate::place::Session;

/// The action with its arguments.
pub(super) fn evict(
    action: EvictAction,
) -> impl FnMut(Session<'_, '_>, ResMut<'_, InfeasibleCache>) {
    move |mut session: Session<'_, '_>, mut infeasible: ResMut<'_, InfeasibleCache>| {
        let waiting = allocate::eligible(&mut session, action.name);
        evict::run(&mut session, &action, &mut infeasible, waiting);
    }
}
