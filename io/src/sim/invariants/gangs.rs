//! Rules about whole gangs: bound whole or not at all, within one domain, and worth their victims.

use std::collections::BTreeSet;
use std::fmt;

use muster_core::delta::{LevelWish, TierRef, TopologyFacts, TopologyMode, TopologyWish};
use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::{Decision, DecisionOp};

use super::super::books::{Books, PodEntry, PodStatus};
use super::super::domains::DomainIndex;
use super::super::subgroups::{subgroups_of, tree_of};
use super::{Invariant, Watch};

/// An eviction that the gang it was made for has still to justify.
#[derive(Clone, Debug)]
pub(super) struct Owed {
    pub(super) cycle: u32,
    pub(super) victim: ObjectKey,
    pub(super) beneficiary: ObjectKey,
    /// Timeline entries by then.
    pub(super) entries: u64,
}

/// Jobs these decisions place pods of.
fn placed_jobs(decisions: &[Decision]) -> BTreeSet<&ObjectKey> {
    let places = |op| matches!(op, DecisionOp::Bind | DecisionOp::Pipeline);
    decisions.iter().filter(|decision| places(decision.op)).map(|decision| &decision.job).collect()
}

/// Nodes pods are on or have room on, leaving ones aside.
fn nodes_of<'a>(pods: impl IntoIterator<Item = &'a PodEntry>) -> BTreeSet<&'a Name> {
    let staying = pods.into_iter().filter(|pod| pod.status != PodStatus::Releasing);
    staying.filter_map(|pod| pod.seat().or(pod.hold())).collect()
}

/// A gang, or a sub-group of one, that must share a domain.
struct Bounded<'a> {
    /// Name of the sub-group; empty for the gang itself.
    subgroup: String,
    /// What it may span.
    span: Span<'a>,
    /// Nodes its pods are on or have room on.
    nodes: BTreeSet<&'a Name>,
}

/// What the nodes of a unit must have in common.
enum Span<'a> {
    /// A domain of this tier or a closer one.
    Tier(u32),
    /// A domain of a level of a topology.
    Level {
        topology: &'a TopologyFacts,
        /// Index of the level.
        level: usize,
    },
}

impl Span<'_> {
    /// Do the nodes keep to it?
    fn holds(&self, books: &Books, domains: &DomainIndex, nodes: &BTreeSet<&Name>) -> bool {
        match self {
            Self::Tier(tier) => domains.share(nodes.iter().copied(), *tier),
            Self::Level { topology, level } => {
                let values: BTreeSet<Option<Vec<&Name>>> =
                    nodes.iter().map(|node| level_values(books, topology, *level, node)).collect();
                values.len() <= 1 && !values.contains(&None)
            }
        }
    }
}

/// What a node has for the labels of a topology down to a level; `None` if it lacks the label of any.
fn level_values<'a>(
    books: &'a Books,
    topology: &TopologyFacts,
    level: usize,
    node: &Name,
) -> Option<Vec<&'a Name>> {
    let labels = &books.nodes.get(node)?.facts.as_ref()?.labels;
    let value = |label: &Name| labels.iter().find(|(key, _)| key == label).map(|entry| &entry.1);
    let all: Option<Vec<&Name>> = topology.levels.iter().map(|level| value(&level.label)).collect();
    all.map(|mut values| {
        values.truncate(level + 1);
        values
    })
}

impl fmt::Display for Span<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tier(tier) => write!(f, "tier {tier}"),
            Self::Level { topology, level } => {
                let label = &topology.levels[*level].label;
                write!(f, "level {label} of topology {}", topology.name)
            }
        }
    }
}

/// What of a gang must share a domain.
fn bounded<'a>(books: &'a Books, job: &ObjectKey) -> Vec<Bounded<'a>> {
    let Some(group) = books.groups.get(job) else { return Vec::new() };
    let whole = hard_tier(books, group.topology.as_ref()).map(|tier| {
        let nodes = nodes_of(books.pods_of(job).map(|(_, pod)| pod));
        Bounded { subgroup: String::new(), span: Span::Tier(tier), nodes }
    });
    let parts = subgroups_of(books, job).into_iter().filter_map(|(subgroup, entry)| {
        let tier = hard_tier(books, entry.topology)?;
        let (span, nodes) = (Span::Tier(tier), nodes_of(entry.pods));
        Some(Bounded { subgroup, span, nodes })
    });
    let levels = group.tree.as_deref().and_then(|tree| tree.levels.as_ref());
    let all = books.pods_of(job).map(|(_, pod)| pod).collect();
    let units = [("", levels, all)]
        .into_iter()
        .chain(tree_of(books, job).into_iter().map(|(name, levels, pods)| (&**name, levels, pods)));
    let by_levels = units.filter_map(|(subgroup, levels, pods)| {
        let (span, nodes) = (required_level(books, levels)?, nodes_of(pods));
        Some(Bounded { subgroup: subgroup.to_owned(), span, nodes })
    });
    whole.into_iter().chain(parts).chain(by_levels).collect()
}

/// The level a wish requires; a topology or level that is not there cannot be judged.
fn required_level<'a>(books: &'a Books, wish: Option<&LevelWish>) -> Option<Span<'a>> {
    let wish = wish?;
    let (required, topology) = (wish.required.as_ref()?, books.topologies.get(&wish.topology)?);
    let levels = &topology.levels;
    let by_label = levels.iter().position(|level| level.label == *required);
    let by_alias = || levels.iter().position(|level| level.alias.as_ref() == Some(required));
    Some(Span::Level { topology, level: by_label.or_else(by_alias)? })
}

/// The widest tier a hard wish allows. One without a tier is no constraint, as in Volcano; a tier name that
/// no domain has cannot be judged.
fn hard_tier(books: &Books, wish: Option<&TopologyWish>) -> Option<u32> {
    let wish = wish.filter(|wish| wish.mode == TopologyMode::Hard)?;
    match &wish.tier {
        None => None,
        Some(TierRef::Number(tier)) => Some(*tier),
        Some(TierRef::Named(name)) => {
            let named = |domain: &&_| {
                let domain: &muster_core::delta::DomainFacts = domain;
                domain.tier_name.as_ref() == Some(name)
            };
            books.domains.values().find(named).map(|domain| domain.tier)
        }
    }
}

impl Watch {
    /// Remembers gangs that others have already set apart: placing more of them cannot mend that.
    pub(super) fn note_scattered(
        &mut self,
        books: &Books,
        domains: &DomainIndex,
        decisions: &[Decision],
    ) {
        for job in placed_jobs(decisions) {
            for Bounded { subgroup, span, nodes } in bounded(books, job) {
                let unit = (job.clone(), subgroup);
                if span.holds(books, domains, &nodes) {
                    self.scattered.remove(&unit);
                } else {
                    self.scattered.insert(unit);
                }
            }
        }
    }

    pub(super) fn check_topology(
        &mut self,
        books: &Books,
        domains: &DomainIndex,
        decisions: &[Decision],
    ) {
        for job in placed_jobs(decisions) {
            for Bounded { subgroup, span, nodes } in bounded(books, job) {
                let unit = (job.clone(), subgroup);
                if self.scattered.contains(&unit) || span.holds(books, domains, &nodes) {
                    continue;
                }
                let nodes: Vec<&str> = nodes.iter().map(|name| &***name).collect();
                let who = match &*unit.1 {
                    "" => job.to_string(),
                    subgroup => format!("sub-group {subgroup} of {job}"),
                };
                let nodes = nodes.join(", ");
                self.report(
                    Invariant::HardTopology,
                    format!("{who} spans more than one domain of {span}: {nodes}"),
                );
            }
        }
    }

    /// Strikes out what was owed by gangs that were bound in this cycle and now have their minimum.
    pub(super) fn pay_back(&mut self, books: &Books, decisions: &[Decision]) {
        if self.owed.is_empty() {
            return;
        }
        let bound = |decision: &&Decision| {
            decision.op == DecisionOp::Bind
                && books.pods.get(&decision.pod).is_some_and(|pod| pod.status.is_bound())
        };
        let jobs: BTreeSet<&ObjectKey> =
            decisions.iter().filter(bound).map(|decision| &decision.job).collect();
        let whole: BTreeSet<&ObjectKey> =
            jobs.into_iter().filter(|job| books.standing(job).is_met).collect();
        self.owed.retain(|owed| !whole.contains(&owed.beneficiary));
    }

    /// What is still owed at the end is a useless eviction, unless something came between, or the
    /// victim is still on its way out and the run was merely too short.
    pub(super) fn check_debts(&mut self, books: &Books) {
        for owed in std::mem::take(&mut self.owed) {
            let victim = books.pods.get(&owed.victim);
            let leaving = victim.is_some_and(|pod| pod.status == PodStatus::Releasing);
            let explained =
                self.entries > owed.entries || self.is_excused(books, &owed.beneficiary);
            if leaving || explained {
                continue;
            }
            self.report(
                Invariant::NoUselessEviction,
                format!(
                    "{} was evicted in cycle {} for {}, which was never bound",
                    owed.victim, owed.cycle, owed.beneficiary
                ),
            );
        }
    }

    /// A gang the scheduler bound or evicted from must not end half bound. One that was half bound
    /// from the start and was left alone is not the scheduler's doing.
    pub(super) fn check_gangs(&mut self, books: &Books) {
        for job in books.groups.keys() {
            let standing = books.standing_to_come(job);
            let broken = standing.bound > 0 && !standing.is_met;
            if !broken || !self.acted_on.contains(job) || self.is_excused(books, job) {
                continue;
            }
            let roles = if standing.bound + standing.finished >= standing.minimum {
                "; a role is below its own minimum"
            } else {
                ""
            };
            self.report(
                Invariant::AllOrNothing,
                format!(
                    "{job} ends with {} bound and {} finished pods, its minimum is {}{roles}",
                    standing.bound, standing.finished, standing.minimum
                ),
            );
        }
    }
}
