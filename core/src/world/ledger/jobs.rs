//! What a task adds to its job.

use super::{Contribution, Flow};
use crate::world::job::{JobAllocated, JobCounts, Role};
use crate::world::task::TaskStatus;

/// Counts a task in its job, its sub-group and its role.
pub(super) fn count_task(counts: &mut JobCounts, contribution: &Contribution, flow: Flow) {
    let status = contribution.counted() as usize;
    flow.count(&mut counts.total[status]);
    let pending = contribution.status == TaskStatus::Pending;
    if pending && contribution.gated {
        flow.count(&mut counts.gated_pending);
    }
    let subgroup = contribution.subgroup.and_then(|at| counts.subgroups.get_mut(usize::from(at)));
    if let Some(subgroup) = subgroup {
        flow.count(&mut subgroup.counts[status]);
        if pending && contribution.gated {
            flow.count(&mut subgroup.gated_pending);
        }
    }
    let role: Option<&mut Role> = counts.roles.get_mut(usize::from(contribution.role));
    if let Some(role) = role {
        flow.count(&mut role.counts[status]);
        if pending && contribution.gated {
            flow.count(&mut role.gated_pending);
        }
    }
}

/// Enters what a task asks for into what its job holds, has held and waits for.
pub(super) fn hold(held: &mut JobAllocated, contribution: &Contribution, flow: Flow) {
    let request = &contribution.request.amounts;
    if !contribution.status.is_ended() {
        flow.vector(&mut held.asked, request);
    }
    match contribution.counted() {
        status if status.is_allocated() => flow.vector(&mut held.allocated, request),
        TaskStatus::Pipelined => flow.vector(&mut held.reserved, request),
        TaskStatus::Pending => {
            flow.vector(&mut held.waiting, request);
            if contribution.gated {
                flow.vector(&mut held.gated, request);
            }
        }
        _ => {}
    }
}
