//! One cycle, a file a stage, in running order.
//!
//! `ingest` takes in what happened, `consult` tells plugins of the cycle that speak with others, `age` forgets
//! loads that are too old, `expire` ends what has waited too long, `stale` gives up reservations that cannot be
//! kept, `remember` weighs what queues used of late, `shares` divides the cluster among the queues,
//! `overdue` marks who has waited too long, `hours` opens and closes zones of lent nodes, the configured actions
//! decide, and `reflect` says how things stand. The `actions` line of the configuration builds the schedule;
//! stages are data, not code.

pub(crate) mod ingest;
mod consult;
mod age;
mod expire;
mod stale;
pub(crate) mod remember;
mod shares;
mod overdue;
mod hours;
mod enqueue;
mod allocate;
mod backfill;
mod evict;
mod shuffle;
mod evict_stale_gangs;
mod reflect;

use bevy_ecs::prelude::{IntoScheduleConfigs, Res, ResMut, Resource, Schedule};
use bevy_ecs::schedule::ScheduleLabel;
use bevy_ecs::schedule::SingleThreadedExecutor;

pub(crate) use evict_stale_gangs::StaleGangs;
pub(crate) use reflect::{NextDue, ReportedQueues};

use crate::config::{ActionKind, STALE_GRACE_KEY};
use crate::evict::{EvictAction, EvictLimits};
use crate::place::{Outcome, Settings, TaskSet};
use crate::policy::SchedulerConfig;

/// Whether this scheduler decides, or only keeps up with the one that does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Resource)]
pub(crate) enum Leadership {
    /// It decides; what it assumes holds until the cluster says otherwise.
    #[default]
    Leads,
    /// Another one decides; what the cluster says is all there is.
    Follows,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, ScheduleLabel)]
struct Cycle;

/// The schedule of a configuration: the fixed stages around its actions, in its order.
pub(crate) fn schedule(config: &SchedulerConfig) -> Schedule {
    let mut schedule = Schedule::new(Cycle);
    schedule.set_executor(SingleThreadedExecutor::new());
    let opening = (
        ingest::ingest,
        consult::begin,
        age::age,
        expire::expire,
        stale::release,
        remember::weigh,
        shares::apportion,
        overdue::mark,
        hours::turn,
    )
        .chain();
    schedule.add_systems((opening, lap("ingest")).chain().in_set(Stage(0)));
    for (at, action) in config.actions.iter().enumerate() {
        let stage = Stage(at + 1);
        schedule.add_systems(lap(action.spec.name).in_set(Lap(at + 1)));
        schedule.configure_sets(Lap(at + 1).after(stage).before(Stage(at + 2)));
        match action.spec.kind {
            ActionKind::Enqueue => schedule.add_systems(enqueue::enqueue.in_set(stage)),
            ActionKind::Allocate | ActionKind::AllocateAll => {
                let set = match action.spec.kind {
                    ActionKind::Allocate => TaskSet::Requesting,
                    _ => TaskSet::All,
                };
                let depth = action.queue_depth();
                schedule.add_systems(allocate::allocate(set, depth).in_set(stage))
            }
            ActionKind::Backfill => schedule.add_systems(backfill::backfill.in_set(stage)),
            ActionKind::Evict(purpose, _) => {
                let action = EvictAction::of(action, purpose);
                schedule.add_systems(evict::evict(action).in_set(stage))
            }
            ActionKind::Shuffle => {
                let limits = EvictLimits::of(action.values());
                schedule.add_systems(shuffle::shuffle(limits).in_set(stage))
            }
            ActionKind::EvictStaleGangs => {
                let grace_ms = action.values().duration_ms(STALE_GRACE_KEY).unwrap_or(-1);
                let evict = evict_stale_gangs::evict_stale_gangs(grace_ms);
                schedule.add_systems(evict.in_set(stage))
            }
        };
    }
    let closing = (
        reflect::reflect,
        reflect::tell_waits,
        reflect::rest,
        remember::note,
        consult::end,
        lap("reflect"),
    )
        .chain();
    schedule.add_systems(closing.in_set(Stage(config.actions.len() + 1)));
    for at in 0..=config.actions.len() {
        schedule.configure_sets(Stage(at).before(Stage(at + 1)));
    }
    schedule
}

/// Notes the time at which a stage ended, where there is a watch to see it by.
fn lap(stage: &'static str) -> impl Fn(Res<'_, Settings>, ResMut<'_, Outcome>) {
    move |settings, mut outcome| {
        if let Some(stopwatch) = &settings.stopwatch {
            outcome.0.laps.push((stage, (stopwatch.0)()));
        }
    }
}

/// The end of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, bevy_ecs::schedule::SystemSet)]
struct Lap(usize);

/// A position in the running order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, bevy_ecs::schedule::SystemSet)]
struct Stage(usize);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{ACTIONS, ActionConfig, Arguments, KAI_ACTIONS};
    use crate::policy::testing::config;

    #[test]
    fn every_action_can_be_built_and_asks_for_arguments_it_has() {
        let names: Vec<&str> = ACTIONS.iter().map(|spec| spec.name).collect();
        // Panics for a key an action does not have.
        let mut config = config(Vec::new(), &names);
        let plain = |spec| ActionConfig { spec, arguments: Arguments::default() };
        config.actions.extend(KAI_ACTIONS.iter().map(plain));
        let built = schedule(&config);
        assert_eq!(built.label(), ScheduleLabel::intern(&Cycle));
    }
}
