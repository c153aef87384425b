//! Rules about whole gangs: bound whole or not at all, within one domain, and worth their victims.

use std::collections::BTreeSet;

use muster_core::delta::{TierRef, TopologyMode, TopologyWish};
use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::{Decision, DecisionOp};

use super::super::books::{Books, PodEntry, PodStatus};
use super::super::domains::DomainIndex;
use super::super::subgroups::subgroups_of;
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
    /// The widest tier it may span.
    tier: u32,
    /// Nodes its pods are on or have room on.
    nodes: BTreeSet<&'a Name>,
}

/// What of a gang must share a domain.
fn bounded<'a>(books: &'a Books, job: &ObjectKey) -> Vec<Bounded<'a>> {
    let Some(group) = books.groups.get(job) else { return Vec::new() };
    let whole = hard_tier(books, group.topology.as_ref()).map(|tier| {
        let nodes = nodes_of(books.pods_of(job).map(|(_, pod)| pod));
        Bounded { subgroup: String::new(), tier, nodes }
    });
    let parts = subgroups_of(books, job).into_iter().filter_map(|(subgroup, entry)| {
        let tier = hard_tier(books, entry.topology)?;
        Some(Bounded { subgroup, tier, nodes: nodes_of(entry.pods) })
    });
    whole.into_iter().chain(parts).collect()
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
            for Bounded { subgroup, tier, nodes } in bounded(books, job) {
                let unit = (job.clone(), subgroup);
                if domains.share(nodes, tier) {
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
            for Bounded { subgroup, tier, nodes } in bounded(books, job) {
                let unit = (job.clone(), subgroup);
                if self.scattered.contains(&unit) || domains.share(nodes.iter().copied(), tier) {
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
                    format!("{who} spans more than one domain of tier {tier}: {nodes}"),
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
            let standing = books.standing(job);
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
