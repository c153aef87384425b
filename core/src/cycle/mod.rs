//! One cycle, a file a stage, in running order.
//!
//! `ingest` takes in what happened, `expire` ends what has waited too long, `stale` gives up reservations that cannot be kept, `shares` divides
//! the cluster among the queues, `overdue` marks who has waited too long, the configured actions decide,
//! and `reflect` says how things stand. The `actions` line of the configuration
//! builds the schedule; stages are data, not code.

pub(crate) mod ingest;
mod expire;
mod stale;
mod shares;
mod overdue;
mod enqueue;
mod allocate;
mod backfill;
mod preempt;
mod reclaim;
mod shuffle;
pub(crate) mod drive;
pub(crate) mod worksheet;
mod prospect;
mod filling;
mod stretch;
pub(crate) mod place;
pub(crate) mod explain;
mod reflect;

use std::sync::Arc;

use bevy_ecs::prelude::{IntoScheduleConfigs, Res, ResMut, Resource, Schedule};
use bevy_ecs::schedule::ScheduleLabel;
use bevy_ecs::schedule::SingleThreadedExecutor;

pub(crate) use reflect::{NextDue, ToldQueues};

use crate::config::{SchedulerConfig, Tuning};
use crate::evict::{Limits, Raid};
use crate::ids::TimeMs;
use crate::policy::{EvictPurpose, Evictions};
use crate::scheduler::CycleOutcome;

/// The time of the cycle, as told from outside.
#[derive(Clone, Copy, Debug, Default, Resource)]
pub(crate) struct Now(pub(crate) TimeMs);

/// Whether this scheduler decides, or only keeps up with the one that does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Resource)]
pub(crate) enum Role {
    /// It decides; what it assumes holds until the cluster says otherwise.
    #[default]
    Leads,
    /// Another one decides; what the cluster says is all there is.
    Follows,
}

/// What the cycle has decided so far.
#[derive(Debug, Default, Resource)]
pub(crate) struct Outcome(pub(crate) CycleOutcome);

/// Which parts of the configuration the actions read.
#[derive(Clone, Debug, Resource)]
pub(crate) struct Settings {
    pub(crate) tuning: Tuning,
    /// Without the `enqueue` action jobs are admitted as they come.
    pub(crate) admission: Admission,
    /// Whether room may come from evictions.
    pub(crate) evictions: Evictions,
    /// Measures the actions' time budget; without one no budget is kept.
    pub(crate) stopwatch: Option<Stopwatch>,
}

/// Microseconds since some start, as told from outside.
#[derive(Clone)]
pub(crate) struct Stopwatch(pub(crate) Arc<dyn Fn() -> u64 + Send + Sync>);

impl std::fmt::Debug for Stopwatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stopwatch")
    }
}

impl Settings {
    pub(crate) fn new(config: &SchedulerConfig) -> Self {
        let enqueues = config.actions.iter().any(|action| action.spec.name == "enqueue");
        let admission = if enqueues { Admission::Enqueue } else { Admission::Implicit };
        let evicting = ["preempt", "reclaim", "gangpreempt", "gangreclaim"];
        let evicts = config.actions.iter().any(|action| evicting.contains(&action.spec.name));
        let evictions = if evicts { Evictions::Configured } else { Evictions::None };
        Self { tuning: config.tuning.clone(), admission, evictions, stopwatch: None }
    }

    /// When an action that starts now must end, and the watch to see it by.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let stopwatch = self.stopwatch.clone()?;
        let end = (stopwatch.0)() + self.tuning.action_budget_ms? * 1000;
        Some(Deadline { stopwatch, end })
    }
}

/// The end of an action's time.
pub(crate) struct Deadline {
    stopwatch: Stopwatch,
    end: u64,
}

impl Deadline {
    /// Is the time over?
    pub(crate) fn is_over(&self) -> bool {
        (self.stopwatch.0)() >= self.end
    }
}

/// How jobs are admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// By the `enqueue` action.
    Enqueue,
    /// By whichever action meets them first.
    Implicit,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, ScheduleLabel)]
struct Cycle;

/// The schedule of a configuration: the fixed stages around its actions, in its order.
pub(crate) fn schedule(config: &SchedulerConfig) -> Schedule {
    let mut schedule = Schedule::new(Cycle);
    schedule.set_executor(SingleThreadedExecutor::new());
    let opening =
        (ingest::ingest, expire::expire, stale::release, shares::apportion, overdue::mark).chain();
    schedule.add_systems((opening, lap("ingest")).chain().in_set(Stage(0)));
    for (at, action) in config.actions.iter().enumerate() {
        let stage = Stage(at + 1);
        schedule.add_systems(lap(action.spec.name).in_set(Lap(at + 1)));
        schedule.configure_sets(Lap(at + 1).after(stage).before(Stage(at + 2)));
        match action.spec.name {
            "enqueue" => drop(schedule.add_systems(enqueue::enqueue.in_set(stage))),
            "allocate" => drop(schedule.add_systems(allocate::allocate.in_set(stage))),
            "backfill" => drop(schedule.add_systems(backfill::backfill.in_set(stage))),
            _ if let Some(raid) = Raid::of(action) => match raid.purpose {
                EvictPurpose::Preempt => {
                    schedule.add_systems(preempt::preempt(raid).in_set(stage));
                }
                EvictPurpose::Reclaim => {
                    schedule.add_systems(reclaim::reclaim(raid).in_set(stage));
                }
            },
            "shuffle" => {
                let limits = Limits::of(&action.arguments);
                schedule.add_systems(shuffle::shuffle(limits).in_set(stage));
            }
            // Known by name, without effect in this version; the reader of the file has warned.
            _ => {}
        }
    }
    let closing = (reflect::reflect, reflect::tell_waits, reflect::rest, lap("reflect")).chain();
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
