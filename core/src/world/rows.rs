//! Every kind of entity with all its columns, as queries hand them out.
#![expect(missing_docs, reason = "each field is the column of that name; the derive adds others")]

use bevy_ecs::bundle::Bundle;
use bevy_ecs::entity::Entity;
use bevy_ecs::query::QueryData;

use super::cold::Cold;
use super::device::NodeDevices;
use super::domain::{DomainSpec, DomainSpot, DomainTotals};
use super::index::JobKey;
use super::job::{
    JobAllocated, JobBackoff, JobCounts, JobEvictions, JobIdentity, JobMembers, JobOverdue,
    JobSpec, JobVerdict,
};
use super::job_charge::JobCharge;
use super::load::NodeLoad;
use super::node::{
    Allocatable, DomainPath, Idle, NodeIdentity, NodePlace, NodeRules, NodeTails, Pipelined,
    Releasing, Tenants, Unasked, Used,
};
use super::node_flags::NodeFlags;
use super::past_use::QueuePast;
use super::queue::{QueueDeserved, QueueIdentity, QueueSpec, QueueTerms, QueueUse};
use super::reservation::Timing;
use super::symbol::Symbol;
use super::task::{
    Assumed, Labels, Membership, Observed, Request, TaskIdentity, TaskPriority, TaskStatus,
    TaskTraits, heir_home_of, status_of,
};
use super::task_cold::TaskCold;
use super::volume::Attachments;
use crate::delta::Tries;
use crate::ids::{Name, ObjectKey, TimeMs};
use crate::resource::{Lanes, Limits, ResourceVec};
use crate::world::PodCounts;

/// A node with all its columns.
#[derive(QueryData)]
#[query_data(mutable, contiguous(all))]
pub struct Node {
    pub entity: Entity,
    pub identity: &'static mut NodeIdentity,
    pub place: &'static mut NodePlace,
    pub rules: &'static mut NodeRules,
    pub flags: &'static mut NodeFlags,
    pub(super) allocatable: &'static mut Allocatable,
    pub(super) idle: &'static mut Idle,
    pub(super) used: &'static mut Used,
    pub(super) releasing: &'static mut Releasing,
    pub(super) pipelined: &'static mut Pipelined,
    pub(super) tails: &'static mut NodeTails,
    pub(super) unasked: &'static mut Unasked,
    pub(super) tenants: &'static mut Tenants,
    pub domains: &'static mut DomainPath,
    pub(super) pod_counts: &'static mut PodCounts,
    pub(super) attachments: &'static mut Attachments,
    pub(super) devices: &'static mut NodeDevices,
    pub(crate) load: &'static mut NodeLoad,
}

impl Node {
    /// The columns of a node nobody has seen yet: no room, and closed to every task.
    pub(crate) fn columns(name: Name) -> impl Bundle {
        let identity = NodeIdentity { name, present: false };
        let room = (
            Allocatable::default(),
            Idle::default(),
            Used::default(),
            Releasing::default(),
            Pipelined::default(),
            NodeTails::default(),
            Unasked::default(),
        );
        let place = (NodePlace::default(), Tenants::default(), DomainPath::default());
        let devices = NodeDevices::default();
        let on_it = (PodCounts::default(), Attachments::default(), NodeLoad::default(), devices);
        (identity, NodeRules::default(), NodeFlags::ABSENT, on_it, room, place)
    }
}

impl NodeItem<'_, '_> {
    /// Is this what it offers?
    pub(crate) fn offers(&self, offer: &ResourceVec) -> bool {
        self.allocatable.0 == offer.hot && self.tails.allocatable == offer.tail
    }

    /// Replaces how many volumes of each driver it can attach; says whether that changed anything.
    pub(crate) fn set_attach_limits(
        &mut self,
        limits: impl Iterator<Item = (Symbol, u32)>,
    ) -> bool {
        let mut attachments = self.attachments.clone();
        attachments.0.iter_mut().for_each(|entry| entry.limit = None);
        for (driver, limit) in limits {
            attachments.entry(driver).limit = Some(limit);
        }
        attachments.prune();
        let changed = *self.attachments != attachments;
        if changed {
            *self.attachments = attachments;
        }
        changed
    }
}

/// What the ledger keeps of a node; nobody else writes it.
impl<'w> NodeReadOnlyItem<'w, '_> {
    /// What the node offers in all.
    pub fn allocatable(&self) -> &'w Lanes {
        &self.allocatable.0
    }

    /// What it offers less what is used.
    pub fn idle(&self) -> &'w Lanes {
        &self.idle.0
    }

    /// What tasks on it take, leaving ones included.
    pub fn used(&self) -> &'w Lanes {
        &self.used.0
    }

    /// The part of what is used whose tasks are leaving.
    pub fn releasing(&self) -> &'w Lanes {
        &self.releasing.0
    }

    /// What is held for tasks that wait for it.
    pub fn pipelined(&self) -> &'w Lanes {
        &self.pipelined.0
    }

    /// The same five beyond the hot lanes.
    pub fn tails(&self) -> &'w NodeTails {
        self.tails
    }

    /// What its tasks count for above what they ask.
    pub fn unasked(&self) -> [i64; 2] {
        self.unasked.0
    }

    /// How many tasks are on it, leaving, awaited and ended ones included.
    pub fn tenants(&self) -> u32 {
        self.tenants.0
    }

    /// Its pods by what inter-pod rules count.
    pub fn pod_counts(&self) -> &'w PodCounts {
        self.pod_counts
    }

    /// How loaded it is.
    pub fn load(&self) -> &'w NodeLoad {
        self.load
    }

    /// Its volumes by driver.
    pub fn attachments(&self) -> &'w Attachments {
        self.attachments
    }

    /// Its devices, as far as they are shared or divided.
    pub fn devices(&self) -> &'w NodeDevices {
        self.devices
    }
}

/// A task with all its columns.
#[derive(QueryData)]
#[query_data(mutable, contiguous(all))]
pub struct Task {
    pub entity: Entity,
    pub identity: &'static mut TaskIdentity,
    pub traits: &'static mut TaskTraits,
    pub priority: &'static mut TaskPriority,
    pub request: &'static mut Request,
    pub labels: &'static mut Labels,
    pub membership: &'static mut Membership,
    pub observed: &'static mut Observed,
    pub assumed: &'static mut Assumed,
    pub timing: &'static mut Timing,
    pub cold: &'static mut Cold<TaskCold>,
}

impl TaskItem<'_, '_> {
    /// Status and node.
    pub fn status(&self) -> (TaskStatus, Option<Entity>) {
        status_of(&self.observed, *self.assumed)
    }

    /// The node its status concerns, or the one it ended on.
    pub fn home(&self) -> Option<Entity> {
        self.status().1.or(self.observed.node)
    }

    /// The node where room is held for the pod that comes in its place, while it leaves.
    pub fn heir_home(&self) -> Option<Entity> {
        heir_home_of(&self.observed, *self.assumed)
    }
}

impl TaskReadOnlyItem<'_, '_> {
    /// Status and node.
    pub fn status(&self) -> (TaskStatus, Option<Entity>) {
        status_of(self.observed, *self.assumed)
    }

    /// All it asks for.
    pub fn whole_request(&self) -> ResourceVec {
        self.request.amounts.clone()
    }

    /// The node its status concerns, or the one it ended on.
    pub fn home(&self) -> Option<Entity> {
        self.status().1.or(self.observed.node)
    }

    /// The node where room is held for the pod that comes in its place, while it leaves.
    pub fn heir_home(&self) -> Option<Entity> {
        heir_home_of(self.observed, *self.assumed)
    }

    /// Its status as its job and its queue count it: room held for the pod that comes in its place
    /// counts like room held for itself.
    pub fn counted_status(&self) -> TaskStatus {
        if self.heir_home().is_some() { TaskStatus::Pipelined } else { self.status().0 }
    }

    /// Is there no pod, but room held for one that is to come in the place of one that has gone?
    pub fn is_vacancy(&self) -> bool {
        self.identity.uid.is_empty() && self.status().0 == TaskStatus::Pipelined
    }
}

impl Task {
    /// The columns of a pod that has only been named.
    pub(crate) fn columns(key: ObjectKey) -> impl Bundle {
        let identity = TaskIdentity {
            key,
            uid: Name::default(),
            version: None,
            created: TimeMs::default(),
            index: 0,
        };
        let facts = (identity, TaskTraits::default(), TaskPriority::default());
        let place = (Membership::default(), Labels::default());
        let state = (Observed::default(), Assumed::default(), Timing::default());
        (facts, Request::default(), place, state, Cold::<TaskCold>::default())
    }
}

/// A job with all its columns.
#[derive(QueryData)]
#[query_data(mutable)]
pub struct Job {
    pub entity: Entity,
    pub identity: &'static mut JobIdentity,
    pub spec: &'static mut JobSpec,
    pub(super) counts: &'static mut JobCounts,
    pub(super) held: &'static mut JobAllocated,
    pub(super) charge: &'static mut JobCharge,
    pub overdue: &'static mut JobOverdue,
    pub members: &'static mut JobMembers,
    pub verdict: &'static mut JobVerdict,
    pub backoff: &'static mut JobBackoff,
    pub evictions: &'static mut JobEvictions,
}

impl Job {
    /// The columns of a job without object and members, in that queue.
    pub(crate) fn columns(key: JobKey, queue: Entity) -> impl Bundle {
        let identity = JobIdentity {
            key,
            uid: Name::default(),
            created: TimeMs::default(),
            present: false,
            announced: None,
            told: None,
        };
        let totals = (JobCounts::default(), JobAllocated::default(), JobCharge::default());
        let state = (JobVerdict::default(), JobBackoff::default(), JobEvictions::default());
        let members = (JobMembers::default(), JobOverdue::default());
        (identity, JobSpec::empty(queue), totals, members, state)
    }
}

/// What the ledger keeps of a job; nobody else writes it.
impl<'w> JobReadOnlyItem<'w, '_> {
    /// Is a task of it on a node, or on its way there?
    pub fn has_started(&self) -> bool {
        use TaskStatus::{Allocated, Binding, Bound, Running};
        self.counts.count(&[Allocated, Binding, Bound, Running]) > 0
    }

    /// Was it to be tried once in its node pool, and was in vain?
    pub fn has_given_up(&self) -> bool {
        let once = self.spec.tree.as_ref().filter(|tree| tree.tries == Tries::One);
        let told = self.identity.told.as_ref();
        once.zip(told).is_some_and(|(tree, told)| told.failed_in.as_ref() == Some(&tree.pool))
    }

    /// Its tasks by status, role and sub-group.
    pub fn counts(&self) -> &'w JobCounts {
        self.counts
    }

    /// What its tasks hold and ask for.
    pub fn held(&self) -> &'w JobAllocated {
        self.held
    }

    /// What it adds to the totals of its queues.
    pub fn charge(&self) -> &'w JobCharge {
        self.charge
    }
}

impl JobItem<'_, '_> {
    /// Notes that a task of it was evicted.
    pub(crate) fn note_eviction(&mut self, now: TimeMs) {
        self.evictions.note(now);
        if let Some(tree) = &mut self.spec.tree {
            tree.last_eviction = Some(now);
        }
    }

    /// Notes an eviction that made room for another job.
    pub(crate) fn make_way(&mut self, now: TimeMs) {
        self.note_eviction(now);
        self.evictions.await_turn();
    }

    /// The index of a role, a new one if it was never met.
    pub(crate) fn join_role(&mut self, name: &Name) -> u16 {
        self.counts.role(name)
    }

    /// The index of a sub-group, a new one if it was never met.
    pub(crate) fn join_subgroup(&mut self, policy: u16, values: Vec<Name>) -> u16 {
        self.counts.subgroup(policy, values)
    }

    /// Replaces the minimum of every role; one that is not named has none.
    pub(crate) fn set_role_minimums(&mut self, minimums: &[(Name, u32)]) {
        for role in &mut self.counts.roles {
            role.min = 0;
        }
        for (name, min) in minimums {
            let role = self.counts.role(name);
            self.counts.roles[usize::from(role)].min = *min;
        }
    }

    /// Forgets its sub-groups; none of its tasks contributes to any total meanwhile.
    pub(crate) fn clear_subgroups(&mut self) {
        self.counts.subgroups.clear();
    }
}

/// A queue with all its columns.
#[derive(QueryData)]
#[query_data(mutable)]
pub struct Queue {
    pub entity: Entity,
    pub identity: &'static mut QueueIdentity,
    pub spec: &'static mut QueueSpec,
    pub(super) usage: &'static mut QueueUse,
    pub deserved: &'static mut QueueDeserved,
    pub terms: &'static mut QueueTerms,
    pub past: &'static mut QueuePast,
}

impl Queue {
    /// The columns of a queue nobody has seen yet.
    pub(crate) fn columns(name: Name) -> impl Bundle {
        let identity =
            QueueIdentity { uid: name.clone(), name, created: TimeMs::default(), present: false };
        let state = (QueueUse::default(), QueueDeserved::default(), QueueTerms::default());
        (identity, QueueSpec::default(), state, QueuePast::default())
    }
}

impl<'w> QueueReadOnlyItem<'w, '_> {
    /// What it and its children use, want and were promised; written by the ledger alone.
    pub fn usage(&self) -> &'w QueueUse {
        self.usage
    }

    /// The due that counts when queues take from each other. A due of room that other schedulers have
    /// taken would make every queue look poor, and none would give anything back.
    pub fn lasting_due(&self) -> Option<&'w Limits> {
        self.terms.lasting_due.as_ref().or(self.deserved.0.as_ref())
    }
}

/// A domain with all its columns.
#[derive(QueryData)]
#[query_data(mutable, contiguous(immutable))]
pub struct Domain {
    pub entity: Entity,
    pub spec: &'static mut DomainSpec,
    pub spot: &'static mut DomainSpot,
    pub(super) totals: &'static mut DomainTotals,
}

impl Domain {
    /// The columns of a domain that has only been named.
    pub(crate) fn columns(name: Name) -> impl Bundle {
        let spec = DomainSpec { name, facts: None, level: None };
        (spec, DomainSpot::default(), DomainTotals::default())
    }
}

impl<'w> DomainReadOnlyItem<'w, '_> {
    /// The sums over its nodes; written by the ledger alone.
    pub fn totals(&self) -> &'w DomainTotals {
        self.totals
    }
}
