//! What must hold in every run, whatever the configuration: checked as the run goes, from the books
//! and the decisions, never from the scheduler's own view of itself.

mod bounds;
mod gangs;
mod interpod;
mod replay;
mod victims;

use std::collections::{BTreeMap, BTreeSet};

use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::{Decision, DecisionOp};
use muster_core::resource::ResourceList;

use super::books::Books;
use super::domains::DomainIndex;
use super::scenario::TimelineEntry;
use crate::objects::ObjectKind;

/// One of the rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Invariant {
    /// No pod name is evicted twice without an entry of the timeline between.
    NoRepeatEviction,
    /// Who evicts is bound later.
    NoUselessEviction,
    /// Every victim was needed.
    MinimalVictims,
    /// No gang ends half bound.
    AllOrNothing,
    /// Every total equals its recomputation.
    Ledger,
    /// No queue above its capability or pushed below its guarantee.
    QueueBounds,
    /// A hard-topology gang shares one domain, and so does each sub-group with such a wish.
    HardTopology,
    /// No node above its allocatable.
    NodeBounds,
}

impl Invariant {
    /// Every rule, in the order results list them.
    pub const ALL: [Self; 8] = [
        Self::NoRepeatEviction,
        Self::NoUselessEviction,
        Self::MinimalVictims,
        Self::AllOrNothing,
        Self::Ledger,
        Self::QueueBounds,
        Self::HardTopology,
        Self::NodeBounds,
    ];

    /// The name used in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NoRepeatEviction => "no-repeat-eviction",
            Self::NoUselessEviction => "no-useless-eviction",
            Self::MinimalVictims => "minimal-victims",
            Self::AllOrNothing => "all-or-nothing",
            Self::Ledger => "ledger",
            Self::QueueBounds => "queue-bounds",
            Self::HardTopology => "hard-topology",
            Self::NodeBounds => "node-bounds",
        }
    }
}

/// One breach of a rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Which rule.
    pub invariant: Invariant,
    /// After which cycle it was seen.
    pub cycle: u32,
    /// What happened, as a sentence.
    pub sentence: String,
}

/// Watches one run.
#[derive(Debug, Default)]
pub struct Watch {
    violations: Vec<Violation>,
    cycle: u32,
    /// Timeline entries so far.
    entries: u64,
    /// Entries there had been when a pod name was last evicted.
    evicted_at: BTreeMap<ObjectKey, u64>,
    /// Evictions not yet paid back by a bound gang.
    owed: Vec<gangs::Owed>,
    /// Jobs some of whose pods the scheduler bound or evicted.
    acted_on: BTreeSet<ObjectKey>,
    /// Jobs and pods whose state the timeline itself changed.
    excused: BTreeSet<ObjectKey>,
    /// What queues are due, where none may go beyond its due.
    dues: BTreeMap<Name, ResourceList>,
    /// Hard-topology gangs, and sub-groups by name, that were already apart before the scheduler placed
    /// more of them.
    scattered: BTreeSet<(ObjectKey, String)>,
}

impl Watch {
    /// Breaches so far, in the order they were seen.
    pub fn violations(&self) -> &[Violation] {
        &self.violations
    }

    /// Hears what queues are due where none may go beyond its due.
    pub fn hear_dues(&mut self, dues: BTreeMap<Name, ResourceList>) {
        self.dues = dues;
    }

    /// Hears of a timeline entry before it takes effect.
    pub fn timeline(&mut self, books: &Books, entry: &TimelineEntry) {
        self.entries += 1;
        let deleted = entry.delete.iter().map(|deletion| (deletion.kind, deletion.key.clone()));
        let applied = entry.apply.iter().map(|object| (object.kind(), object.key()));
        for (kind, key) in deleted.chain(applied) {
            match kind {
                ObjectKind::Pod => {
                    if let Some(pod) = books.pods.get(&key) {
                        self.excused.insert(pod.job.clone());
                    }
                }
                ObjectKind::PodGroup | ObjectKind::KaiPodGroup
                    if books.groups.contains_key(&key) =>
                {
                    self.excused.insert(key);
                }
                _ => {}
            }
        }
        self.excused.extend(entry.fail_bind.iter().map(|failure| failure.pod.clone()));
    }

    /// Judges a cycle's decisions against the books as the cycle found them.
    pub fn decided(
        &mut self,
        books: &Books,
        domains: &DomainIndex,
        decisions: &[Decision],
        cycle: u32,
    ) {
        self.cycle = cycle;
        for decision in decisions {
            match decision.op {
                DecisionOp::Evict => {
                    // What is taken from a gang that did not work before does not break it.
                    if books.standing(&decision.job).is_met {
                        self.acted_on.insert(decision.job.clone());
                    }
                    self.note_eviction(decision);
                }
                DecisionOp::Bind => {
                    self.acted_on.insert(decision.job.clone());
                }
                DecisionOp::Pipeline | DecisionOp::Unpipeline => {}
            }
        }
        self.note_scattered(books, domains, decisions);
        self.check_victims(books, decisions);
    }

    /// Judges the state after the cycle's calls were carried out.
    pub fn settled(&mut self, books: &Books, domains: &DomainIndex, decisions: &[Decision]) {
        self.check_nodes(books, decisions);
        self.check_capabilities(books, decisions);
        self.check_topology(books, domains, decisions);
        self.pay_back(books, decisions);
    }

    /// Hears of totals that differ from their recomputation after a cycle.
    pub fn ledger(&mut self, faults: Vec<String>, cycle: u32) {
        self.cycle = cycle;
        for fault in faults {
            self.report(Invariant::Ledger, fault);
        }
    }

    /// Judges what only the end of the run can tell.
    pub fn finish(&mut self, books: &Books) {
        self.check_gangs(books);
        self.check_debts(books);
    }

    fn report(&mut self, invariant: Invariant, sentence: String) {
        self.violations.push(Violation { invariant, cycle: self.cycle, sentence });
    }

    fn note_eviction(&mut self, decision: &Decision) {
        let before = self.evicted_at.insert(decision.pod.clone(), self.entries);
        if before == Some(self.entries) {
            self.report(
                Invariant::NoRepeatEviction,
                format!("{} was evicted again, and nothing new had happened", decision.pod),
            );
        }
        if let Some(beneficiary) = &decision.beneficiary {
            self.owed.push(gangs::Owed {
                cycle: self.cycle,
                victim: decision.pod.clone(),
                beneficiary: beneficiary.clone(),
                entries: self.entries,
            });
        }
    }

    /// Did the timeline change the job itself, or one of its pods?
    fn is_excused(&self, books: &Books, job: &ObjectKey) -> bool {
        self.excused.contains(job) || books.pods_of(job).any(|(pod, _)| self.excused.contains(pod))
    }
}

#[cfg(test)]
mod tests;
