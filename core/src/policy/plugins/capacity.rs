//! `capacity`: queues have what they deserve, lend what they do not use and take it back.
//!
//! Promise: a queue may use whatever is free, up to its capability, the capability of every queue
//! above it, and what is guaranteed to others; what it uses beyond `deserved` it has borrowed. The
//! queue of higher priority is served first, then the one that has the smaller part of its due; of two
//! with equal parts the one that has a due. A queue that is below its due may take back what others
//! have borrowed.
//!
//! With `enableHierarchy: true` queues are compared where their paths part, by the shares of the two
//! ancestors there, and a job belongs into a queue without children: one in a parent waits, alone.
//! Ceilings hold along the path to the root with and without it.
//!
//! Which pods a queue gives back is in [`victims`].
//!
//! With the hierarchy, an argument says how many levels of parents may be below their due in place of
//! the queue, and must be above it where they give. Counting device claims is not part of this version.

mod victims;

use bevy_ecs::entity::Entity;

use crate::config::ArgumentKind::{Bool, IntFrom};
use crate::config::{Gate, arg};
use crate::policy::queues::{Claims, Portion, admissible, ceilings, dues, fits};
use crate::policy::{
    AdmissionContext, Admittance, AllocatablePlugin, ApportionPlugin, Ballot, Build, EvictPurpose,
    Evictor, JobEnqueueablePlugin, Plugin, PluginSpec, PreemptivePlugin, QueueOrderPlugin,
    ReclaimablePlugin, Setup, Support, UnifiedEvictablePlugin, VictimQueueOrderPlugin, Words,
    plugin,
};
use crate::resource::compare::less_equal_partly_where_asked;
use crate::resource::{Dim, Limits, ResourceNames, ResourceVec};
use crate::status::QueueState;
use crate::verdict::{Reason, Verdict};
use crate::world::{Cluster, JobReadOnlyItem, QueueReadOnlyItem};

/// Keys in the order of queues: priority, shares along the path, and whether the queue is due nothing.
const ORDER_KEYS: usize = 6;

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    support: Support::Partial("everything but counting device claims"),
    extra_gates: &[Gate::Hierarchy],
    arguments: &[
        arg(
            "ancestorReclaimLevel",
            IntFrom(0),
            "0",
            "how many levels of parent queues may be below their share in place of the queue that \
             takes back, and must be above it beside the one that gives",
        ),
        arg(
            "capacity.DynamicResourceAllocationEnable",
            Bool,
            "",
            "counts device claims against the queue; without it the cluster's own feature \
             gate decides",
        ),
        arg(
            "capacity.DRAConsumableCapacityEnable",
            Bool,
            "",
            "counts the capacity taken from shared devices as well; without it the cluster's \
             own feature gate decides",
        ),
    ],
    words: Words {
        queue_order: Some("higher priority, then smallest part of its due used"),
        admits: Some("its queue and those above stay within their capability"),
        victims: Some("their queue uses more than it deserves and keeps its guarantee"),
        gang_victims: &[EvictPurpose::Reclaim],
        ..Words::NONE
    },
    ..PluginSpec::of::<Capacity>(
        "capacity",
        "queues have what they deserve, lend what they do not use and take it back",
    )
};

/// The plugin.
pub(in crate::policy) struct Capacity {
    hierarchy: Hierarchy,
    ancestor_reclaim_level: u32,
}

/// How queues are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Hierarchy {
    /// All with all.
    Flat,
    /// Where their paths part.
    Tree,
}

impl Capacity {
    /// Why a job may not be in the queue, if it may not.
    fn misplaced(&self, queue: &QueueReadOnlyItem<'_, '_>) -> Result<(), Verdict> {
        if self.hierarchy == Hierarchy::Flat || !queue.terms.is_parent {
            return Ok(());
        }
        let message = format!(
            "queue {:?} has child queues; with enableHierarchy a job belongs into one without, name one \
             of its children",
            queue.identity.name
        );
        Err(Verdict::new(Reason::NotAdmitted, message))
    }
}

plugin!(Capacity);

impl Plugin for Capacity {}

impl Build for Capacity {
    fn build(setup: &mut Setup<'_>) -> Self {
        let tree = setup.gates.is_open(Gate::Hierarchy);
        let level = setup.arguments.int("ancestorReclaimLevel");
        Self {
            hierarchy: if tree { Hierarchy::Tree } else { Hierarchy::Flat },
            ancestor_reclaim_level: u32::try_from(level).unwrap_or(u32::MAX),
        }
    }
}

impl ApportionPlugin for Capacity {
    fn apportion(&self, claims: &Claims<'_>) -> Vec<Portion> {
        dues(claims, ceilings(claims))
    }

    fn levels_compared(&self) -> Option<usize> {
        match self.hierarchy {
            Hierarchy::Flat => Some(usize::MAX),
            Hierarchy::Tree => Some(self.ancestor_levels()),
        }
    }
}

impl QueueOrderPlugin for Capacity {
    fn queue_order(
        &self,
        cluster: &Cluster<'_, '_>,
        queue: &QueueReadOnlyItem<'_, '_>,
        _next: Option<Entity>,
        keys: &mut [i64],
    ) {
        let mut own = [0; ORDER_KEYS];
        own[0] = -i64::from(queue.spec.priority);
        own[ORDER_KEYS - 1] = i64::from(queue.deserved.0.as_ref().is_none_or(Limits::is_empty));
        match self.hierarchy {
            Hierarchy::Flat => own[1] = share(queue),
            Hierarchy::Tree => path_shares(cluster, queue, &mut own[1..ORDER_KEYS - 1]),
        }
        keys.copy_from_slice(&own[..keys.len()]);
    }

    fn queue_levels(&self) -> usize {
        ORDER_KEYS
    }
}

impl AllocatablePlugin for Capacity {
    fn allocatable(
        &self,
        cluster: &Cluster<'_, '_>,
        names: &ResourceNames,
        job: &JobReadOnlyItem<'_, '_>,
        request: &ResourceVec,
    ) -> Result<(), Verdict> {
        let queue = cluster.queue(job.spec.queue);
        self.misplaced(&queue)?;
        fits(cluster, names, &queue, request)
    }
}

impl PreemptivePlugin for Capacity {
    fn preemptive(
        &self,
        cluster: &Cluster<'_, '_>,
        job: &JobReadOnlyItem<'_, '_>,
        request: &ResourceVec,
    ) -> bool {
        let queue = cluster.queue(job.spec.queue);
        queue.spec.state == QueueState::Open
            && self.misplaced(&queue).is_ok()
            && below_ceiling(&queue, request)
            && self.below_due(cluster, &queue, request)
    }
}

impl JobEnqueueablePlugin for Capacity {
    fn job_enqueueable(
        &self,
        cluster: &Cluster<'_, '_>,
        context: &AdmissionContext<'_>,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Admittance {
        let queue = cluster.queue(job.spec.queue);
        self.misplaced(&queue).and_then(|()| admissible(cluster, context, job)).into()
    }
}

impl ReclaimablePlugin for Capacity {
    fn reclaimable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        victims::for_a_task(cluster, evictor, candidates, self.ancestor_levels())
    }
}

impl UnifiedEvictablePlugin for Capacity {
    fn unified_evictable(
        &self,
        cluster: &Cluster<'_, '_>,
        evictor: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        victims::for_a_gang(cluster, evictor, candidates)
    }
}

impl VictimQueueOrderPlugin for Capacity {
    fn victim_queue_order(
        &self,
        cluster: &Cluster<'_, '_>,
        queue: &QueueReadOnlyItem<'_, '_>,
        wants: Entity,
    ) -> i64 {
        match self.hierarchy {
            Hierarchy::Flat => 0,
            Hierarchy::Tree => victims::nearest_first(cluster, queue.entity, wants),
        }
    }
}

impl Capacity {
    /// How many queues above a queue have a say in what it takes and gives.
    fn ancestor_levels(&self) -> usize {
        match self.hierarchy {
            Hierarchy::Flat => 0,
            Hierarchy::Tree => usize::try_from(self.ancestor_reclaim_level).unwrap_or(usize::MAX),
        }
    }

    /// With the request, would the queue be within its due in something it asks for? If not, a parent
    /// may be, as far up as the configuration says; the root has no due to speak of.
    fn below_due(
        &self,
        cluster: &Cluster<'_, '_>,
        queue: &QueueReadOnlyItem<'_, '_>,
        request: &ResourceVec,
    ) -> bool {
        if within_due(queue, request) {
            return true;
        }
        let mut next = queue.spec.parent;
        for _ in 0..self.ancestor_levels() {
            let Some(ancestor) = next.map(|at| cluster.queue(at)) else { return false };
            if ancestor.spec.parent.is_none() {
                return false;
            }
            if within_due(&ancestor, request) {
                return true;
            }
            next = ancestor.spec.parent;
        }
        false
    }
}

fn taken_with(queue: &QueueReadOnlyItem<'_, '_>, request: &ResourceVec) -> ResourceVec {
    let mut taken = queue.usage().allocated.clone();
    taken.add(&queue.usage().reserved);
    taken.add(request);
    taken
}

fn within_due(queue: &QueueReadOnlyItem<'_, '_>, request: &ResourceVec) -> bool {
    let Some(due) = &queue.deserved.0 else { return false };
    less_equal_partly_where_asked(&taken_with(queue, request), due.values(), request)
}

/// Would the queue stay below its own ceiling? Those above it may be full of what is to be taken back.
fn below_ceiling(queue: &QueueReadOnlyItem<'_, '_>, request: &ResourceVec) -> bool {
    let Some(ceiling) = &queue.terms.ceiling else { return true };
    let taken = taken_with(queue, request);
    let asked = request.iter().filter(|&(dim, asked)| asked > 0 && dim != Dim::PODS);
    asked.into_iter().all(|(dim, _)| taken.get(dim) <= ceiling.get(dim))
}

/// The part of its due the queue has, reservations included.
fn share(queue: &QueueReadOnlyItem<'_, '_>) -> i64 {
    queue.deserved.share(|dim| queue.usage().taken(dim)).unwrap_or(0)
}

/// Shares from below the root down to the queue; of a path longer than the key, the queue's own share
/// stands last.
fn path_shares(cluster: &Cluster<'_, '_>, queue: &QueueReadOnlyItem<'_, '_>, key: &mut [i64]) {
    let mut depth = 0;
    let mut next = queue.spec.parent;
    while let Some(at) = next {
        depth += 1;
        next = cluster.queue(at).spec.parent;
    }
    let mut at = queue.entity;
    let mut level = depth;
    let last = key.len() - 1;
    while level > 0 {
        let item = cluster.queue(at);
        if level == depth {
            key[(level - 1).min(last)] = share(&item);
        } else if level - 1 < last {
            key[level - 1] = share(&item);
        }
        level -= 1;
        match item.spec.parent {
            Some(parent) => at = parent,
            None => break,
        }
    }
}

#[cfg(test)]
mod tests;
