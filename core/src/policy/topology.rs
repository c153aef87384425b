//! `network-topology-aware`: keep the pods of a gang close to each other.
//!
//! Promise: a job with a hard constraint is placed whole within one domain of an allowed tier, or
//! not at all; one with a soft constraint within the closest tier that holds it, else anywhere. Of
//! the domains of a tier that hold the job the one it fills best is taken, which keeps free ones
//! whole. Sub-groups with wishes of their own are placed one by one inside the job's domain. A gang
//! that partly runs stays in a domain that contains what runs.
//!
//! Arguments: `weight` 1, `hypernode.binpack.cpu` 1, `hypernode.binpack.memory` 1,
//! `hypernode.binpack.resources` and `hypernode.binpack.resources.<name>` 1 each.

use bevy_ecs::entity::Entity;

use super::weights::weights;
use super::{Point, Policy, Purpose, SearchSpace, Unit};
use crate::config::Arguments;
use crate::delta::{TierRef, TopologyMode, TopologyWish};
use crate::kernel::ratio::SCORE_SCALE;
use crate::resource::{Dim, ResourceNames};
use crate::world::{Cluster, JobReadOnlyItem, TaskStatus};

/// The plugin with its arguments.
pub(super) struct Topology {
    weight: i64,
    dims: Vec<(Dim, i64)>,
}

impl Topology {
    pub(super) fn new(arguments: &Arguments, names: &mut ResourceNames) -> Self {
        let dims = weights(arguments, "hypernode.binpack", names);
        Self { weight: arguments.int("weight", 1), dims }
    }
}

impl Policy for Topology {
    fn name(&self) -> &'static str {
        "network-topology-aware"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::SearchSpace, Point::DomainScore]
    }

    fn search_space(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        _purpose: Purpose,
    ) -> Option<SearchSpace> {
        let wish = wish(unit)?;
        let highest = highest_tier(cluster, wish)?;
        let home = rows_in_use(cluster, unit);
        let mut groups: Vec<Vec<Option<Entity>>> = Vec::new();
        for (tier, domains) in &cluster.tree.tiers {
            let group: Vec<_> =
                domains.iter().filter(|&&domain| contains(cluster, domain, &home)).collect();
            if i64::from(*tier) <= highest && !group.is_empty() {
                groups.push(group.into_iter().map(|&domain| Some(domain)).collect());
            }
        }
        if wish.mode == TopologyMode::Soft {
            groups.push(vec![None]);
        }
        Some(SearchSpace { groups })
    }

    /// How full the plan leaves the domain, over the weighted resources the job uses.
    fn domain_score(
        &self,
        cluster: &Cluster<'_, '_>,
        job: &JobReadOnlyItem<'_, '_>,
        domain: Entity,
    ) -> i64 {
        let totals = cluster.domain(domain).totals;
        let (mut sum, mut weights) = (0_i128, 0_i128);
        for &(dim, weight) in &self.dims {
            let asked = job.held.allocated.get(dim) + job.held.reserved.get(dim);
            let whole = i128::from(totals.allocatable.get(dim));
            if asked <= 0 || whole <= 0 {
                continue;
            }
            let taken = i128::from(totals.used.get(dim) + totals.pipelined.get(dim));
            sum += i128::from(weight) * taken * i128::from(SCORE_SCALE) * 100 / whole;
            weights += i128::from(weight);
        }
        let mean = if weights == 0 { 0 } else { sum / weights };
        i64::try_from(mean).unwrap_or(i64::MAX).saturating_mul(self.weight)
    }
}

/// The widest tier a wish allows. A soft wish without one allows all; a hard one without one is no
/// constraint, as upstream. A name no domain carries allows none: the job waits rather than being
/// placed against its wish.
fn highest_tier(cluster: &Cluster<'_, '_>, wish: &TopologyWish) -> Option<i64> {
    match (&wish.tier, wish.mode) {
        (Some(TierRef::Number(tier)), _) => Some(i64::from(*tier)),
        (Some(TierRef::Named(name)), _) => {
            let known = cluster.tree.tier_names.iter().find(|entry| entry.0 == *name);
            Some(known.map_or(-1, |entry| i64::from(entry.1)))
        }
        (None, TopologyMode::Soft) => Some(i64::MAX),
        (None, TopologyMode::Hard) => None,
    }
}

fn wish(unit: Unit<'_>) -> Option<&TopologyWish> {
    let spec = unit.job.spec;
    let Some(subgroup) = unit.subgroup else { return spec.topology.as_ref() };
    let policy = unit.job.counts.subgroups[usize::from(subgroup)].policy;
    spec.subgroups[usize::from(policy)].topology.as_ref()
}

/// Rows of the nodes the unit already has places on or held, ascending.
fn rows_in_use(cluster: &Cluster<'_, '_>, unit: Unit<'_>) -> Vec<u32> {
    let job = unit.job;
    if job.counts.tasks() == job.counts.pending() {
        return Vec::new();
    }
    let placed = job.members.0.iter().filter_map(|&task| {
        let task = cluster.task(task);
        let (status, node) = task.status();
        let inside = unit.subgroup.is_none() || task.membership.subgroup == unit.subgroup;
        node.filter(|_| inside).filter(|_| status.is_allocated() || status == TaskStatus::Pipelined)
    });
    let mut rows: Vec<u32> = placed.map(|node| cluster.node(node).place.row).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

fn contains(cluster: &Cluster<'_, '_>, domain: Entity, rows: &[u32]) -> bool {
    let spot = cluster.domain(domain).spot;
    rows.iter().all(|row| spot.rows.binary_search(row).is_ok())
}
