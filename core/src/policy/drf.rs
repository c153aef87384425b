//! `drf`: dominant resource fairness between the jobs of a queue.
//!
//! Promise: the job whose largest part of any one resource of the cluster is smaller is served
//! first, so that equal elastic jobs take turns.

use super::{Point, Policy};
use crate::resource::ResourceVec;
use crate::world::{Cluster, JobReadOnlyItem};

/// The plugin; it has no arguments.
pub(super) struct Drf;

/// Shares are compared in parts per billion: finer than one milli-core of a million.
const PARTS: i128 = 1_000_000_000;

impl Policy for Drf {
    fn name(&self) -> &'static str {
        "drf"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::JobOrder]
    }

    fn job_order(&self, cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> i64 {
        // Reservations count: a job that waits for room must not look poorer than it will be.
        let mut held = job.held.allocated.clone();
        held.add(&job.held.reserved);
        dominant_share(&held, &cluster.capacity.0)
    }
}

/// The largest part of any resource, in parts per billion.
fn dominant_share(held: &ResourceVec, total: &ResourceVec) -> i64 {
    let parts = held.iter().filter(|&(_, amount)| amount > 0).map(|(dim, amount)| {
        let whole = i128::from(total.get(dim));
        // A resource the cluster no longer has is held entirely.
        if whole <= 0 { PARTS } else { i128::from(amount) * PARTS / whole }
    });
    i64::try_from(parts.max().unwrap_or(0)).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::resource::Dim;

    fn vector(cpu: i64, memory: i64) -> ResourceVec {
        let mut vector = ResourceVec::default();
        vector.set(Dim::CPU, cpu);
        vector.set(Dim::MEMORY, memory);
        vector
    }

    #[test]
    fn the_larger_part_is_dominant() {
        assert_eq!(dominant_share(&vector(1000, 300), &vector(8000, 1000)), 300_000_000);
        assert_eq!(dominant_share(&vector(4000, 300), &vector(8000, 1000)), 500_000_000);
    }

    #[test]
    fn a_resource_that_vanished_counts_as_held_entirely() {
        assert_eq!(dominant_share(&vector(1, 0), &vector(0, 1000)), 1_000_000_000);
    }
}
