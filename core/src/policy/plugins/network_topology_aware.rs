//! `network-topology-aware`: keep the pods of a gang close to each other.
//!
//! Promise: a job with a hard constraint is placed whole within one domain of an allowed tier, or
//! not at all; one with a soft constraint within the closest tier that holds it, else anywhere. Of
//! the domains of a tier that hold the job the one it fills best is taken, which keeps free ones
//! whole; inside a domain the domains within are filled one after the other. Sub-groups with wishes
//! of their own are placed one by one inside the job's domain. A gang that partly runs stays in a
//! domain that contains what runs.
//!
//! Pods without a wish are drawn to nodes in no domain, and else to fuller domains, so that free ones
//! stay whole: the score is the mean over tiers of how full the pod would leave the domain around the
//! node, each tier weighted by a power of `fading`.
//!
//! Arguments: its own weight, those of the resources, and for pods without a wish a switch and `fading`.

use bevy_ecs::entity::Entity;

use crate::class::Class;
use crate::config::ArgumentKind::{Bool, FloatFrom, IntFrom, Text};
use crate::config::arg;
use crate::delta::{TierRef, TopologyMode, TopologyWish};
use crate::kernel::ratio::SCORE_SCALE;
use crate::policy::weights::weights;
use crate::policy::{
    Build, DomainPullPlugin, DomainScorePlugin, InnerDomainsPlugin, Plugin, PluginSpec, Point,
    Purpose, SearchSpace, SearchSpacePlugin, Setup, Support, Unit, UnitAsks, Words, plugin,
};
use crate::resource::{Dim, ResourceVec};
use crate::world::{Cluster, DomainTotals};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    support: Support::Full,
    arguments: &[
        arg("weight", IntFrom(0), "1", "factor of its domain and node scores"),
        arg("hypernode.binpack.cpu", IntFrom(0), "1", "weight of cpu in a domain's fullness"),
        arg("hypernode.binpack.memory", IntFrom(0), "1", "weight of memory in it"),
        arg("hypernode.binpack.resources", Text, "", "further resources, comma separated"),
        arg("hypernode.binpack.resources.*", IntFrom(0), "1", "weight of that resource in it"),
        arg(
            "hypernode.binpack.normal-pod.enable",
            Bool,
            "true",
            "prefers fuller domains for pods without a topology constraint too",
        ),
        arg(
            "hypernode.binpack.normal-pod.fading",
            FloatFrom(0),
            "0.8",
            "how much less each further tier counts for those pods",
        ),
        arg(
            "hypernode.gradient.evict.max-hypernodes",
            IntFrom(1),
            "8",
            "domains a gang-aware evicting action may look into for one job; its `maxDomains` counts too",
        ),
    ],
    words: Words { domains: Some("one network domain"), ..Words::NONE },
    ..PluginSpec::of::<Topology>(
        "network-topology-aware",
        "a job's pods share a network domain as small as it asks for",
    )
};

/// The plugin with its arguments.
pub(in crate::policy) struct Topology {
    weight: i64,
    dims: Vec<(Dim, i64)>,
    /// Are pods without a wish drawn to fuller domains?
    pulls: bool,
    /// How much each further tier counts for them, in parts of [`WHOLE`].
    fading: i128,
    /// Domains a search for victims goes into at most.
    evict_limit: usize,
}

/// One, where fractions of it are weights.
const WHOLE: i128 = 1_000_000_000;

impl Topology {
    /// How much a tier counts: one for tier 1, and for each further one `fading` of the one below.
    fn tier_weight(&self, tier: u64) -> i128 {
        let (mut weight, mut power, mut left) = (WHOLE, self.fading, tier.saturating_sub(1));
        while left > 0 {
            // Beyond this size weights are typing errors; they stay in order and in range.
            if left % 2 == 1 {
                weight = (weight * power / WHOLE).min(WHOLE * WHOLE);
            }
            power = (power * power / WHOLE).min(WHOLE * WHOLE);
            left /= 2;
        }
        weight
    }
}

plugin!(Topology);

impl Plugin for Topology {
    fn takes_part(&self, point: Point) -> bool {
        point != Point::DomainPull || self.pulls
    }
}

impl Build for Topology {
    fn build(setup: &mut Setup<'_>) -> Self {
        let dims = weights(setup, "hypernode.binpack");
        let arguments = setup.arguments;
        let weight = arguments.int("weight");
        let pulls = arguments.bool("hypernode.binpack.normal-pod.enable") && weight > 0;
        let fading = arguments.float("hypernode.binpack.normal-pod.fading");
        // A number as written in a file; from here on whole numbers decide.
        let fading = (fading.clamp(0.0, 1000.0) * WHOLE as f64).round() as i128;
        let limit = arguments.int("hypernode.gradient.evict.max-hypernodes");
        let evict_limit = usize::try_from(limit).unwrap_or(usize::MAX);
        Self { weight, dims, pulls, fading, evict_limit }
    }
}

impl SearchSpacePlugin for Topology {
    fn search_space(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        _purpose: Purpose,
    ) -> Option<SearchSpace> {
        let wish = unit.wish()?;
        let highest = highest_tier(cluster, wish)?;
        let mut groups: Vec<Vec<Option<Entity>>> = Vec::new();
        let mut tier = None;
        for domain in cluster_facts(cluster, &rows_in_use(cluster, unit)) {
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
        Some(SearchSpace { groups, limit: self.evict_limit })
    }
}

impl DomainPullPlugin for Topology {
    fn domain_pull(
        &self,
        class: &Class,
        tiers: &[u64],
        at: usize,
        totals: Option<&DomainTotals>,
    ) -> i64 {
        let whole: i128 = tiers.iter().map(|&tier| self.tier_weight(tier)).sum();
        if whole == 0 {
            return 0;
        }
        let full =
            totals.map_or(100 * SCORE_SCALE, |totals| fullness(&self.dims, &class.request, totals));
        let pull = i128::from(full) * self.tier_weight(tiers[at]) / whole;
        i64::try_from(pull).unwrap_or(i64::MAX).saturating_mul(self.weight)
    }
}

impl InnerDomainsPlugin for Topology {
    fn inner_domains(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        domain: Option<Entity>,
    ) -> Vec<Entity> {
        let job = Unit { subgroup: None, ..unit };
        if unit.wish().or_else(|| job.wish()).is_none() {
            return Vec::new();
        }
        cluster.tree.inside(domain).to_vec()
    }
}

impl DomainScorePlugin for Topology {
    /// How full the unit would leave the domain, over the weighted resources it asks for; nothing
    /// where not all of it has room, so that a gang that may grow goes where it can.
    fn domain_score(
        &self,
        cluster: &Cluster<'_, '_>,
        _unit: Unit<'_>,
        asks: &UnitAsks,
        domain: Entity,
    ) -> i64 {
        fullness(&self.dims, &asks.all, cluster.domain(domain).totals()).saturating_mul(self.weight)
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
fn cluster_facts(cluster: &Cluster<'_, '_>, rows: &[u32]) -> Vec<Entity> {
    let Some(&first) = rows.first() else {
        let tiers = cluster.tree.tiers.iter();
        return tiers.flat_map(|(_, domains)| domains).copied().collect();
    };
    let node = cluster.columns().entities[first as usize];
    let path = cluster.node(node).domains.0.iter();
    // A topology by labels has tiers of its own, which are not those of wishes.
    let ours = path.copied().filter(|&domain| cluster.domain(domain).spec.level.is_none());
    ours.filter(|&domain| contains(cluster, domain, rows)).collect()
}

/// The widest tier a wish allows; `None` if it is no constraint: a hard one without tier, as upstream.
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

/// Rows of the nodes the unit already has places on or held, ascending.
fn rows_in_use(cluster: &Cluster<'_, '_>, unit: Unit<'_>) -> Vec<u32> {
    let nodes = unit.seats(cluster).into_iter();
    let mut rows: Vec<u32> = nodes.map(|node| cluster.node(node).place.row).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

fn contains(cluster: &Cluster<'_, '_>, domain: Entity, rows: &[u32]) -> bool {
    let spot = cluster.domain(domain).spot;
    rows.iter().all(|row| spot.rows.binary_search(row).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ArgumentValue::{self, Bool, Float};
    use crate::policy::testing::build;

    fn plugin(given: &[(&str, ArgumentValue)]) -> Topology {
        build(&SPEC, given.iter().cloned())
    }

    #[test]
    fn further_tiers_fade() {
        let fading = |value| plugin(&[("hypernode.binpack.normal-pod.fading", Float(value))]);
        let weights = |plugin: Topology| [0, 1, 2, 3].map(|tier| plugin.tier_weight(tier));
        assert_eq!(weights(plugin(&[])), [WHOLE, WHOLE, 800_000_000, 640_000_000]);
        assert_eq!(weights(fading(0.0)), [WHOLE, WHOLE, 0, 0], "only the closest tier counts");
        assert_eq!(weights(fading(1.0)), [WHOLE; 4]);
        assert_eq!(fading(0.8).tier_weight(u64::from(u32::MAX)), 0, "absurd tiers end, and fade");
        assert!(fading(1000.0).tier_weight(u64::from(u32::MAX)) > 0, "and stay in range");
    }

    #[test]
    fn switched_off_it_pulls_nobody() {
        let off = plugin(&[("hypernode.binpack.normal-pod.enable", Bool(false))]);
        assert!(!off.takes_part(Point::DomainPull));
        assert!(plugin(&[]).takes_part(Point::DomainPull));
    }

    #[test]
    fn fullness_is_the_mean_of_what_is_asked_for_and_nothing_beyond_the_brim() {
        let vector = |cpu, memory| {
            let mut vector = ResourceVec::default();
            vector.set(Dim::CPU, cpu);
            vector.set(Dim::MEMORY, memory);
            vector
        };
        let mut totals = DomainTotals { allocatable: vector(100, 10), ..DomainTotals::default() };
        totals.used = vector(40, 1);
        totals.pipelined = vector(10, 0);
        let dims = [(Dim::CPU, 1), (Dim::MEMORY, 3)];
        let points = |asks: ResourceVec| fullness(&dims, &asks, &totals) / SCORE_SCALE;
        assert_eq!(points(vector(10, 0)), 60, "what is not asked for does not count");
        assert_eq!(points(vector(10, 1)), (60 + 3 * 20) / 4);
        assert_eq!(points(vector(51, 1)), 0, "over in one is no good in all");
        assert_eq!(points(vector(0, 0)), 0);
    }
}
