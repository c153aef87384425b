//! `topology`: keep the pods of a gang within levels of a topology that labels of nodes make.
//!
//! Promise: a gang, a set of sub-groups or a sub-group that requires a level is placed whole within one
//! domain of it, or not at all. One that prefers a level is placed in one domain of that level if any
//! holds it, else of the next wider one, up to what it requires or to the whole cluster. Of the domains
//! of a level the fullest that holds it comes first, so that free ones stay whole. Where more than one
//! domain of the preferred level is needed, they are filled one after the other. What grows stays with
//! what it has. A domain is looked for within that of the set around it.
//!
//! A topology or level that is not there holds nothing.
//!
//! No arguments.

use bevy_ecs::entity::Entity;

use crate::delta::LevelWish;
use crate::policy::{
    Build, DomainScorePlugin, InnerDomainsPlugin, Plugin, PluginSpec, Purpose, SearchSpace,
    SearchSpacePlugin, Setup, Unit, UnitAsks, Words, plugin,
};
use crate::resource::{Dim, ResourceVec};
use crate::world::{Cluster, DomainTotals, LevelTree};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    words: Words { domains: Some("one domain of a topology"), ..Words::NONE },
    ..PluginSpec::of::<KaiTopology>(
        "topology",
        "gangs and sub-groups are placed in one domain of the level they require or prefer",
    )
};

/// The plugin.
pub(in crate::policy) struct KaiTopology;

plugin!(KaiTopology);

impl Plugin for KaiTopology {}

impl Build for KaiTopology {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl SearchSpacePlugin for KaiTopology {
    fn search_space(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        _purpose: Purpose,
    ) -> Option<SearchSpace> {
        let wish = unit.levels()?;
        let nowhere = SearchSpace { groups: Vec::new(), limit: usize::MAX };
        let Some(tree) = cluster.domain_index().topology(&wish.topology) else {
            return Some(nowhere);
        };
        let Ok(span) = Span::of(tree, wish) else { return Some(nowhere) };
        let span = span?;
        let rows = rows_in_use(cluster, unit);
        let holds_all = |domain: &Entity| {
            let inside = &cluster.domain(*domain).spot.rows;
            rows.iter().all(|row| inside.binary_search(row).is_ok())
        };
        let level = |at: usize| -> Vec<Option<Entity>> {
            let domains = tree.levels[at].domains.iter().copied();
            domains.filter(holds_all).map(Some).collect()
        };
        let mut groups: Vec<Vec<Option<Entity>>> =
            (span.widest..=span.closest).rev().map(level).collect();
        groups.retain(|group| !group.is_empty());
        if wish.required.is_none() {
            groups.push(vec![None]);
        }
        Some(SearchSpace { groups, limit: usize::MAX })
    }
}

impl DomainScorePlugin for KaiTopology {
    /// How full the unit would leave the domain; what is around it comes first, from the widest on, so
    /// that the domains inside one are tried before those inside the next.
    fn domain_score(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        asks: &UnitAsks,
        domain: Entity,
    ) -> i64 {
        let Some(tree) =
            unit.levels().and_then(|wish| cluster.domain_index().topology(&wish.topology))
        else {
            return 0;
        };
        // As many steps for each level as there are bits.
        let bits = 62 / tree.levels.len().clamp(1, 31) as u32;
        let (mut score, mut shift, mut at) = (0, 0, Some(domain));
        while let Some(domain) = at.filter(|_| shift + bits <= 62) {
            let item = cluster.domain(domain);
            score += fullness(&asks.first, item.totals(), (1 << bits) - 1) << shift;
            shift += bits;
            at = item.spot.parent;
        }
        score
    }
}

impl InnerDomainsPlugin for KaiTopology {
    fn inner_domains(
        &self,
        cluster: &Cluster<'_, '_>,
        unit: Unit<'_>,
        domain: Option<Entity>,
    ) -> Vec<Entity> {
        let inner = || {
            let wish = unit.levels_around()?;
            let tree = cluster.domain_index().topology(&wish.topology)?;
            let preferred = tree.level(wish.preferred.as_ref()?)?;
            let Some(domain) = domain else { return Some(tree.outermost()) };
            let spec = cluster.domain(domain).spec;
            let level = spec.level.as_ref().filter(|level| level.topology == wish.topology)?;
            (level.values.len() <= preferred).then(|| cluster.domain_index().inside(Some(domain)))
        };
        // Of domains with as much room the last by name is filled first, as KAI does.
        inner().unwrap_or_default().iter().rev().copied().collect()
    }
}

/// The levels whose domains are tried, by their indexes.
struct Span {
    widest: usize,
    closest: usize,
}

/// A level a wish names is not there.
struct UnknownLevel;

impl Span {
    /// From the level preferred up to the one required, or to the widest; `None` for a wish for neither.
    fn of(tree: &LevelTree, wish: &LevelWish) -> Result<Option<Self>, UnknownLevel> {
        let index = |name: &Option<crate::ids::Name>| {
            name.as_ref().map(|name| tree.level(name).ok_or(UnknownLevel)).transpose()
        };
        let (required, preferred) = (index(&wish.required)?, index(&wish.preferred)?);
        // To prefer what is wider than the level required says nothing.
        Ok(preferred.max(required).map(|closest| Self { widest: required.unwrap_or(0), closest }))
    }
}

/// How much of what is free or will be the requests take, of the resource they take most of: up to
/// `whole`.
fn fullness(asks: &ResourceVec, totals: &DomainTotals, whole: i64) -> i64 {
    let part = |(dim, ask): (Dim, i64)| {
        let free = totals.idle.get(dim) + totals.releasing.get(dim) - totals.pipelined.get(dim);
        if free <= ask {
            return whole;
        }
        let part = i128::from(ask) * i128::from(whole) / i128::from(free);
        i64::try_from(part).unwrap_or(whole)
    };
    let asked = asks.iter().filter(|&(dim, ask)| ask > 0 && dim != Dim::PODS);
    asked.map(part).max().unwrap_or(0)
}

/// Rows of the nodes the unit already has places on or held.
fn rows_in_use(cluster: &Cluster<'_, '_>, unit: Unit<'_>) -> Vec<u32> {
    let nodes = unit.seats(cluster).into_iter();
    let mut rows: Vec<u32> = nodes.map(|node| cluster.node(node).place.row).collect();
    rows.sort_unstable();
    rows.dedup();
    rows
}

#[cfg(test)]
mod tests;
