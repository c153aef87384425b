//! Columns of a queue.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Component;

use crate::delta::{NodeGroupFacts, OverQuotaTerms};
use crate::ids::{Name, TimeMs};
use crate::resource::{Dim, Limits, ResourceList, ResourceVec};
use crate::status::QueueState;

/// Name of the queue, and whether the object is there.
#[derive(Clone, Debug, Component)]
pub struct QueueIdentity {
    /// Object name.
    pub name: Name,
    /// Uid of the object.
    pub uid: Name,
    /// Creation time.
    pub created: TimeMs,
    /// Has the queue object been seen and not gone?
    pub present: bool,
}

/// What the queue was given.
#[derive(Clone, Debug, PartialEq, Component)]
pub struct QueueSpec {
    /// Parent in force; none only for the root.
    pub parent: Option<Entity>,
    /// Parent the object names; another one is in force if that would make a circle.
    pub wanted_parent: Option<Name>,
    /// Weight among its siblings.
    pub weight: u32,
    /// Higher is served first.
    pub priority: i32,
    /// Hard limit; a name that is absent is unlimited.
    pub capability: Option<ResourceList>,
    /// Its due.
    pub deserved: Option<ResourceList>,
    /// Room kept for it.
    pub guarantee: Option<ResourceList>,
    /// May others take back what it borrowed?
    pub reclaimable: bool,
    /// Does it take jobs?
    pub state: QueueState,
    /// Its place in the tree of shares: names below the root with weights in thousandths.
    pub hierarchy: Vec<(Name, u32)>,
    /// What it says of groups of nodes.
    pub node_groups: NodeGroupFacts,
    /// How it shares what is beyond quotas; none unless it is one of KAI's queues.
    pub over_quota: Option<Box<OverQuotaTerms>>,
    /// Why the parent in force is not the one it names, as a sentence.
    pub fault: Option<String>,
}

impl Default for QueueSpec {
    fn default() -> Self {
        Self {
            parent: None,
            wanted_parent: None,
            weight: 1,
            priority: 0,
            capability: None,
            deserved: None,
            guarantee: None,
            reclaimable: true,
            state: QueueState::Open,
            hierarchy: Vec::new(),
            node_groups: NodeGroupFacts::default(),
            over_quota: None,
            fault: None,
        }
    }
}

/// What the queue and its children use, want and were promised.
///
/// Moved by the ledger alone, along the whole path to the root: an ancestor is as current as a leaf.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct QueueUse {
    /// Requests of tasks that hold room.
    pub allocated: ResourceVec,
    /// Requests of tasks room is held for.
    pub reserved: ResourceVec,
    /// Requests of all tasks that hold room, have it held or wait for it.
    pub requested: ResourceVec,
    /// What admitted jobs were promised and do not hold yet: see
    /// [`JobCharge`](super::JobCharge).
    pub inqueue: ResourceVec,
    /// What jobs hold beyond their `minResources`.
    pub elastic: ResourceVec,
    /// Requests of gated tasks: the part of `requested` nobody can serve yet.
    pub gated: ResourceVec,
    /// What jobs that make way for nobody hold or have held: see
    /// [`JobSpec::is_preemptible`](super::JobSpec::is_preemptible).
    pub non_preemptible: ResourceVec,
}

impl QueueUse {
    /// Number of totals.
    pub(super) const FIELDS: usize = 7;

    /// Every total, in the order of declaration.
    pub(crate) fn fields(&self) -> [&ResourceVec; Self::FIELDS] {
        [
            &self.allocated,
            &self.reserved,
            &self.requested,
            &self.inqueue,
            &self.elastic,
            &self.gated,
            &self.non_preemptible,
        ]
    }

    /// Adds what somebody else uses.
    pub(crate) fn add(&mut self, other: &Self) {
        for (total, part) in self.fields_mut().into_iter().zip(other.fields()) {
            total.add(part);
        }
    }

    /// The same, to write.
    pub(super) fn fields_mut(&mut self) -> [&mut ResourceVec; Self::FIELDS] {
        [
            &mut self.allocated,
            &mut self.reserved,
            &mut self.requested,
            &mut self.inqueue,
            &mut self.elastic,
            &mut self.gated,
            &mut self.non_preemptible,
        ]
    }

    /// What is taken or promised to tasks by name: a reservation counts as if it were used, so that
    /// it cannot burst a limit when it is redeemed.
    pub fn taken(&self, dim: Dim) -> i64 {
        self.allocated.get(dim).saturating_add(self.reserved.get(dim))
    }
}

/// The queue's due as a plugin computed it, if one does. A resource it does not name is not judged.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct QueueDeserved(pub Option<Limits>);

/// A whole share, in the parts shares are counted in: finer than one milli-core of a million.
pub const WHOLE_SHARE: i64 = 1_000_000_000;

impl QueueDeserved {
    /// The largest part of its due the queue has, in parts per billion: 1 where it is due nothing by
    /// name, because whatever it has is borrowed.
    pub fn share(&self, used: impl Fn(Dim) -> i64) -> Option<i64> {
        let due = self.0.as_ref()?;
        let parts = due.iter().map(|(dim, due)| match (used(dim).max(0), due.max(0)) {
            (0, _) => 0,
            (_, 0) => i128::from(WHOLE_SHARE),
            (used, due) => i128::from(used) * i128::from(WHOLE_SHARE) / i128::from(due),
        });
        let largest = parts.max().unwrap_or(i128::from(WHOLE_SHARE));
        Some(i64::try_from(largest).unwrap_or(i64::MAX))
    }

    /// What the queue has beyond its due. Without a due of its own it has borrowed everything; a
    /// resource that its due does not name among others is nobody's debt.
    pub fn borrowed(&self, allocated: &ResourceVec) -> ResourceVec {
        let mut borrowed = ResourceVec::default();
        let Some(due) = &self.0 else { return borrowed };
        for (dim, amount) in allocated.iter() {
            let over = match due.get(dim) {
                Some(due) => amount.saturating_sub(due),
                None if due.is_empty() && dim != Dim::PODS => amount,
                None => 0,
            };
            borrowed.set(dim, over.max(0));
        }
        borrowed
    }
}

/// The queue's limits as a plugin computed them, beside its due.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct QueueTerms {
    /// The most it and its children may use: its capability, and what the cluster has left beside
    /// the guarantees of others. What it does not name there is none of. None: nobody sets limits.
    pub ceiling: Option<ResourceVec>,
    /// Room kept for it and its children.
    pub guarantee: ResourceVec,
    /// What of that its own object names: evictions never take it below. The rest is its children's,
    /// one by one.
    pub floor: ResourceVec,
    /// What it would be due if the cluster were no larger than what pods of other schedulers leave of
    /// it; `None` where that is no less than its due.
    pub lasting_due: Option<Limits>,
    /// Is it a parent?
    pub is_parent: bool,
    /// Its quota and limit by name, where the plugin that divides goes by quotas.
    pub quotas: Option<Box<QuotaTerms>>,
    /// What is odd about its limits, as a sentence; never a reason to stop.
    pub warnings: Vec<String>,
}

/// What a queue was given by name, in the units of the scheduler. What is not named is unlimited.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct QuotaTerms {
    /// What it has before anybody shares the rest.
    pub quota: Limits,
    /// The most it and its children may have.
    pub limit: Limits,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vector(cpu: i64, memory: i64) -> ResourceVec {
        let mut vector = ResourceVec::default();
        vector.set(Dim::CPU, cpu);
        vector.set(Dim::MEMORY, memory);
        vector
    }

    fn due(entries: &[(Dim, i64)]) -> QueueDeserved {
        let mut limits = Limits::default();
        for &(dim, amount) in entries {
            limits.set(dim, amount);
        }
        QueueDeserved(Some(limits))
    }

    #[test]
    fn the_share_is_the_largest_part_of_what_is_named() {
        let used = vector(500, 900);
        let share = |due: QueueDeserved| due.share(|dim| used.get(dim));
        assert_eq!(share(due(&[(Dim::CPU, 1000)])), Some(WHOLE_SHARE / 2));
        assert_eq!(share(due(&[(Dim::CPU, 1000), (Dim::MEMORY, 900)])), Some(WHOLE_SHARE));
        assert_eq!(share(due(&[(Dim::CPU, 0)])), Some(WHOLE_SHARE));
        assert_eq!(share(due(&[(Dim::PODS, 0)])), Some(0));
        assert_eq!(share(due(&[])), Some(WHOLE_SHARE));
        assert_eq!(share(QueueDeserved(None)), None);
    }

    #[test]
    fn what_is_beyond_the_due_is_borrowed() {
        let used = vector(500, 900);
        assert_eq!(due(&[(Dim::CPU, 200)]).borrowed(&used), vector(300, 0));
        assert_eq!(due(&[(Dim::CPU, 800), (Dim::MEMORY, 0)]).borrowed(&used), vector(0, 900));
        assert_eq!(due(&[]).borrowed(&used), used);
        assert_eq!(QueueDeserved(None).borrowed(&used), ResourceVec::default());
    }
}
