//! `network-topology-aware`: keep the pods of a gang close to each other.
//!
//! Promise: a job with a hard constraint is placed whole within one domain of an allowed tier, or
//! not at all; one with a soft constraint within the closest tier that holds it, else anywhere. Of
//! the domains of a tier that hold the job the one it fills best is taken, which keeps free ones
//! whole; inside a domain the domains within are filled one after the other. Sub-groups with wishes
//! of their own are placed one by one inside the job's domain. A gang that partly runs stays in a
//! domain that contains what runs.
//!
//! Arguments: `weight` 1, `hypernode.binpack.cpu` 1, `hypernode.binpack.memory` 1,
//! `hypernode.binpack.resources` and `hypernode.binpack.resources.<name>` 1 each.

use bevy_ecs::entity::Entity;

use super::weights::weights;
use super::{Point, Policy, Purpose, SearchSpace, Unit};
use crate::config::Arguments;
use crate::delta::{TierRef, TopologyMode, TopologyWish};
use crate::kernel::ratio::SCORE_SCALE;
use crate::resource::{Dim, ResourceNames, ResourceVec};
use crate::world::{Cluster, DomainTotals, TaskStatus};

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
        &[Point::SearchSpace, Point::DomainScore, Point::InnerDomains]
    }

    fn search_space(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        _purpose: Purpose,
    ) -> Option<SearchSpace> {
        let wish = wish(unit)?;
        let highest = highest_tier(cluster, wish)?;
        let mut groups: Vec<Vec<Option<Entity>>> = Vec::new();
        let mut tier = None;
        for domain in around(cluster, &rows_in_use(cluster, unit)) {
            let own = cluster.domain(domain).spot.tier;
            if i64::from(own) > highest {
                break;
            }
            if tier.replace(own) != Some(own) {
                groups.push(Vec::new());
            }
            groups.last_mut().expect("one was pushed for the tier").push(Some(domain));
        }
        // The cluster itself is the widest domain, one tier above all others.
        let all = i64::try_from(cluster.tree.root).unwrap_or(i64::MAX);
        if wish.mode == TopologyMode::Soft || all <= highest {
            groups.push(vec![None]);
        }
        Some(SearchSpace { groups })
    }

    fn inner_domains(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        domain: Option<Entity>,
    ) -> Vec<Entity> {
        let job = Unit { subgroup: None, ..unit };
        if wish(unit).or_else(|| wish(job)).is_none() {
            return Vec::new();
        }
        cluster.tree.inside(domain).to_vec()
    }

    /// How full the unit would leave the domain, over the weighted resources it asks for; nothing
    /// where not all of it has room, so that a gang that may grow goes where it can.
    fn domain_score(
        &self,
        cluster: &Cluster<'_, '_>,
        _unit: Unit<'_>,
        asks: &ResourceVec,
        domain: Entity,
    ) -> i64 {
        fullness(&self.dims, asks, cluster.domain(domain).totals).saturating_mul(self.weight)
    }
}

/// How full the domain would be with what is asked for, as a weighted mean over the resources that
/// are: 0 to 100 points, and 0 where one of them would be over.
fn fullness(dims: &[(Dim, i64)], asks: &ResourceVec, totals: &DomainTotals) -> i64 {
    let (mut sum, mut weights) = (0_i128, 0_i128);
    for &(dim, weight) in dims {
        let asked = asks.get(dim);
        if asked <= 0 || weight <= 0 {
            continue;
        }
        let whole = i128::from(totals.allocatable.get(dim));
        let taken = i128::from(totals.used.get(dim)) + i128::from(totals.pipelined.get(dim));
        let wanted = taken.max(0) + i128::from(asked);
        if wanted > whole {
            return 0;
        }
        sum += i128::from(weight) * (wanted * i128::from(SCORE_SCALE) * 100 / whole);
        weights += i128::from(weight);
    }
    let mean = if weights == 0 { 0 } else { sum / weights };
    i64::try_from(mean).unwrap_or(i64::MAX)
}

/// Domains that contain all these rows, or all domains if there are none; by tier, then name.
fn around(cluster: &Cluster<'_, '_>, rows: &[u32]) -> Vec<Entity> {
    let Some(&first) = rows.first() else {
        let tiers = cluster.tree.tiers.iter();
        return tiers.flat_map(|(_, domains)| domains).copied().collect();
    };
    let node = cluster.columns().entities[first as usize];
    let path = cluster.node(node).domains.0.iter();
    path.copied().filter(|&domain| contains(cluster, domain, rows)).collect()
}

/// The widest tier a wish allows; none if it is no constraint: a hard one without tier, as upstream.
/// A soft wish without tier, or with a name no domain carries, allows all. A hard one by such a name
/// allows none: the job waits rather than being placed against its wish.
fn highest_tier(cluster: &Cluster<'_, '_>, wish: &TopologyWish) -> Option<i64> {
    match (&wish.tier, wish.mode) {
        (Some(TierRef::Number(tier)), _) => Some(i64::from(*tier)),
        (Some(TierRef::Named(name)), mode) => {
            let known = cluster.tree.tier_names.iter().find(|entry| entry.0 == *name);
            let unknown = if mode == TopologyMode::Soft { i64::MAX } else { -1 };
            Some(known.map_or(unknown, |entry| i64::from(entry.1)))
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
