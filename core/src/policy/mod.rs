//! The rules: what a plugin may take part in, how answers combine, and the plugins, one file each.
//!
//! A place where plugins have a say is a [`Point`], with one trait in [`extension`]. A plugin is a type
//! with some of those traits and a [`PluginSpec`], which says everything else about it. A [`Registry`]
//! has the specs a configuration may name, and [`Policies`] the plugins it does name, in tiers.

#[cfg(test)]
pub(crate) mod testing;
mod evict;
mod context;
pub mod extension;
mod asked;
mod point;
mod plugin;
mod spec;
mod config;
mod tiers;
mod weights;
mod mean;
mod queues;
mod plugins;
mod registry;

pub use crate::kernel::ratio::SCORE_SCALE;
/// What plugins know nodes, tasks, jobs, queues and domains by.
pub use bevy_ecs::entity::Entity;
pub use config::{Clock, PluginConfig, SchedulerConfig};
pub use context::{
    AdmissionContext, Admittance, CycleScene, Evictions, LentZones, Pairing, Purpose, ScoreScale,
    SearchSpace, Shifts, Unit, UnitAsks, Vote,
};
pub use evict::{Ballot, EvictPurpose, Evictor, Proposal};
pub use extension::*;
use plugin::plugin;
pub use plugin::{Build, Plugin};
pub use point::{Extensions, Facets, HasPoints, Point, Points};
#[doc(hidden)]
pub use point::{Has, HasNot};
pub use queues::{Claims, Portion, QueueClaim, Wants};
pub(crate) use queues::{Giving, SharedResources, upwards};
pub use registry::{Registry, RegistryError};
pub use spec::{BadArgument, BuildFn, PluginSpec, Setup, Support, Weight, Words};
pub use tiers::{Moves, OrderKey, Policies, Standings};
