//! What every plugin is, whatever it has a say in.

use std::sync::Arc;

use super::point::{Extensions, HasPoints, Point};
use super::spec::Setup;
use crate::world::{Inheritance, Reads};

/// A plugin. What it has a say in follows from the traits of [`extension`](super::extension) it
/// implements beside this one: say [`plugin!`](crate::plugin) once for the type.
///
/// A plugin reads and never writes. It keeps no totals of its own, because the cluster it is shown has
/// them all; it does no I/O and reads no clock; and the same question always gets the same answer.
pub trait Plugin: Extensions + Send + Sync {
    /// Does it take part there as it is configured? To stay out of a point its type has the trait for,
    /// for example because a weight is zero: nobody asks then, which costs nothing.
    fn takes_part(&self, _point: Point) -> bool {
        true
    }

    /// What it reads of pods beyond request and node constraints. Pods that differ only in what no
    /// plugin reads are of one class and are judged once.
    fn reads(&self) -> Reads {
        Reads::default()
    }

    /// Where queues that say nothing of node groups take it from, if it reads groups at all. What
    /// nobody reads is not kept.
    fn node_groups(&self) -> Option<Inheritance> {
        None
    }
}

/// A plugin that a configuration can name.
pub trait Build: Plugin + HasPoints + Sized + 'static {
    /// The plugin with its arguments, which are known to be valid.
    fn build(setup: &mut Setup<'_>) -> Self;
}

/// Makes a plugin of its type for a [`PluginSpec`](super::PluginSpec).
pub(super) fn build<P: Build>(setup: &mut Setup<'_>) -> Arc<dyn Plugin> {
    Arc::new(P::build(setup))
}

/// Finds out which traits of [`policy::extension`](crate::policy::extension) a type implements, so
/// that it is asked at those points and no others.
///
/// ```
/// use muster_core::policy::{Pairing, Plugin, ScorePlugin, ScoreScale};
///
/// /// Likes every node equally well.
/// struct Content;
///
/// muster_core::plugin!(Content);
///
/// impl Plugin for Content {}
///
/// impl ScorePlugin for Content {
///     fn score(&self, _: &Pairing<'_>, _: ScoreScale, scores: &mut [i64]) {
///         scores.iter_mut().for_each(|score| *score += 1);
///     }
/// }
/// ```
#[macro_export]
macro_rules! plugin {
    ($plugin:ty) => {
        $crate::__with_points!(implement $plugin);
    };
}

pub(super) use plugin;

#[cfg(test)]
mod tests;
