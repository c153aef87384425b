//! What a job adds to the totals of its queues: a pure function of its own columns.

use bevy_ecs::prelude::Component;

use super::job::{JobAllocated, JobCounts, JobSpec};
use super::queue::QueueUse;
use crate::delta::GroupPhase;
use crate::resource::ResourceVec;

/// What the job has added to each queue on its path, as the ledger last entered it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct JobCharge(pub QueueUse);

/// What a job with these columns adds.
pub(crate) fn charge(spec: &JobSpec, counts: &JobCounts, held: &JobAllocated) -> QueueUse {
    let mut requested = held.allocated.clone();
    requested.add(&held.reserved);
    requested.add(&held.waiting);
    QueueUse {
        allocated: held.allocated.clone(),
        reserved: held.reserved.clone(),
        requested,
        inqueue: if is_promised(spec, counts) {
            promise(spec, held)
        } else {
            ResourceVec::default()
        },
        elastic: elastic(spec, held),
        gated: held.gated.clone(),
        non_preemptible: non_preemptible(spec, held),
    }
}

/// What the job holds, or has held for it, and nobody may take back.
fn non_preemptible(spec: &JobSpec, held: &JobAllocated) -> ResourceVec {
    let mut firm = ResourceVec::default();
    if !spec.is_preemptible() {
        firm.add(&held.allocated);
        firm.add(&held.reserved);
    }
    firm
}

/// Is the job owed what its `minResources` name? From admission on, also while it makes up for pods it
/// lost. Not if it lost all of them, because then it is admitted anew, and not once pods have ended and
/// fewer than its minimum are left: those do not come back.
fn is_promised(spec: &JobSpec, counts: &JobCounts) -> bool {
    use super::TaskStatus::{Allocated, Binding, Bound, Failed, Running, Succeeded};
    match spec.phase {
        GroupPhase::Inqueue => true,
        GroupPhase::Running | GroupPhase::Unknown => {
            let placed = counts.count(&[Allocated, Binding, Bound, Running]);
            let ended = counts.count(&[Succeeded, Failed]);
            placed >= spec.min_available || (placed > 0 && ended == 0)
        }
        GroupPhase::Pending | GroupPhase::Completed => false,
    }
}

/// What is still to come of the job's `minResources`: less what it holds, less what gated pods ask
/// for, who cannot take it yet.
fn promise(spec: &JobSpec, held: &JobAllocated) -> ResourceVec {
    let mut promise = lacking(spec, held);
    for (dim, gated) in held.gated.iter() {
        promise.set(dim, promise.get(dim).saturating_sub(gated).max(0));
    }
    promise
}

/// What of the job's `minResources` it does not hold: what admission has to find room for.
pub fn lacking(spec: &JobSpec, held: &JobAllocated) -> ResourceVec {
    let mut lacking = ResourceVec::default();
    for (dim, min) in spec.min_resources.iter().flat_map(ResourceVec::iter) {
        lacking.set(dim, min.saturating_sub(held.allocated.get(dim)).max(0));
    }
    lacking
}

/// What the job holds beyond its `minResources`; all of it where it names none.
fn elastic(spec: &JobSpec, held: &JobAllocated) -> ResourceVec {
    let Some(min) = &spec.min_resources else { return held.allocated.clone() };
    let mut elastic = ResourceVec::default();
    for (dim, amount) in held.allocated.iter() {
        elastic.set(dim, amount.saturating_sub(min.get(dim)).max(0));
    }
    elastic
}

#[cfg(test)]
mod tests {
    use bevy_ecs::entity::Entity;

    use super::*;
    use crate::resource::Dim;
    use crate::world::TaskStatus;

    fn cpu(amount: i64) -> ResourceVec {
        let mut vector = ResourceVec::default();
        vector.set(Dim::CPU, amount);
        vector
    }

    fn job(phase: GroupPhase, min: Option<i64>) -> JobSpec {
        let spec = JobSpec::empty(Entity::PLACEHOLDER);
        JobSpec { phase, min_available: 2, min_resources: min.map(cpu), ..spec }
    }

    fn held(allocated: i64, gated: i64) -> JobAllocated {
        JobAllocated { allocated: cpu(allocated), gated: cpu(gated), ..JobAllocated::default() }
    }

    fn counts((running, ended): (u32, u32)) -> JobCounts {
        let mut counts = JobCounts::default();
        counts.total[TaskStatus::Running as usize] = running;
        counts.total[TaskStatus::Succeeded as usize] = ended;
        counts
    }

    #[test]
    fn an_admitted_job_is_owed_what_it_does_not_hold() {
        let cases = [
            // phase, minResources, holds, gated, tasks that run and ended: promised, elastic
            (GroupPhase::Pending, Some(4), 0, 0, (0, 0), 0, 0),
            (GroupPhase::Inqueue, Some(4), 0, 0, (0, 0), 4, 0),
            (GroupPhase::Inqueue, Some(4), 1, 0, (1, 0), 3, 0),
            (GroupPhase::Inqueue, Some(4), 1, 2, (1, 0), 1, 0),
            (GroupPhase::Inqueue, Some(4), 3, 2, (1, 0), 0, 0),
            (GroupPhase::Inqueue, None, 3, 0, (1, 0), 0, 3),
            (GroupPhase::Running, Some(4), 3, 0, (1, 0), 1, 0),
            (GroupPhase::Running, Some(4), 3, 0, (1, 1), 0, 0),
            (GroupPhase::Running, Some(4), 3, 0, (2, 1), 1, 0),
            (GroupPhase::Running, Some(4), 7, 0, (3, 0), 0, 3),
            (GroupPhase::Running, Some(4), 0, 0, (0, 0), 0, 0),
            (GroupPhase::Unknown, Some(4), 2, 0, (1, 0), 2, 0),
            (GroupPhase::Completed, Some(4), 0, 0, (0, 2), 0, 0),
        ];
        for (phase, min, allocated, gated, tasks, inqueue, elastic) in cases {
            let found = charge(&job(phase, min), &counts(tasks), &held(allocated, gated));
            let about = format!("{phase:?} {min:?} {allocated} {gated} {tasks:?}");
            assert_eq!(found.inqueue, cpu(inqueue), "{about}");
            assert_eq!(found.elastic, cpu(elastic), "{about}");
            assert_eq!(found.allocated, cpu(allocated), "{about}");
        }
    }

    #[test]
    fn what_a_job_holds_is_firm_if_it_makes_way_for_nobody() {
        let cases = [
            // its own word, priority: is that so
            (None, 99, false),
            (None, 100, true),
            (Some(true), 100, false),
            (Some(false), 0, true),
        ];
        for (preemptable, priority, firm) in cases {
            let spec = JobSpec { priority, preemptable, ..job(GroupPhase::Inqueue, None) };
            let held = JobAllocated { reserved: cpu(2), ..held(3, 0) };
            let found = charge(&spec, &JobCounts::default(), &held);
            assert_eq!(found.non_preemptible, cpu(if firm { 5 } else { 0 }));
        }
    }

    #[test]
    fn everything_that_runs_or_waits_is_requested() {
        let held = JobAllocated {
            allocated: cpu(1),
            reserved: cpu(2),
            waiting: cpu(4),
            gated: cpu(4),
            asked: cpu(7),
        };
        let found = charge(&job(GroupPhase::Pending, None), &JobCounts::default(), &held);
        assert_eq!(found.requested, cpu(7));
        assert_eq!(found.reserved, cpu(2));
    }
}
