//! `gang`: all the pods a job needs, or none.
//!
//! Promise: nothing of a job is bound before its minimum, in all and per role, has a place. Roles
//! count only where `minMember` is at least the sum of the roles' minima; below that the job is
//! elastic in its roles. A member counts once it has a place, whether it asks for resources or not.
//! Where sub-groups are asked for, so many of them must be whole. Jobs that are not ready go before
//! jobs that are.

use super::{Point, Policy, Vote};
use crate::delta::SubGroupPolicy;
use crate::verdict::{Reason, Verdict};
use crate::world::{Cluster, JobReadOnlyItem, READY, Role, SubGroup, TaskStatus};

/// The plugin; it has no arguments.
pub(super) struct Gang;

impl Policy for Gang {
    fn name(&self) -> &'static str {
        "gang"
    }

    fn points(&self) -> &'static [Point] {
        &[
            Point::JobOrder,
            Point::JobValid,
            Point::JobReady,
            Point::JobPipelined,
            Point::JobStarving,
        ]
    }

    fn job_order(&self, _cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> i64 {
        i64::from(is_ready(job))
    }

    fn job_valid(&self, job: &JobReadOnlyItem<'_, '_>) -> Result<(), Verdict> {
        let (min, valid) = (job.spec.min_available, job.counts.valid());
        if valid < min {
            let message = format!("{valid} of the {min} pods the gang needs exist");
            return Err(Verdict::new(Reason::GangIncomplete, message));
        }
        let short = enforced_roles(job).find(|role| valid_in(role) < role.min);
        if let Some(role) = short {
            let message = format!(
                "{} of the {} pods that role {:?} needs exist",
                valid_in(role),
                role.min,
                role.name
            );
            return Err(Verdict::new(Reason::GangIncomplete, message));
        }
        for (policy, rule) in enforced_subgroups(job) {
            let there = subgroups(job, policy).count() as u32;
            if there < rule.min_subgroups {
                let message = format!(
                    "{there} of the {} sub-groups that policy {:?} needs exist",
                    rule.min_subgroups, rule.name
                );
                return Err(Verdict::new(Reason::GangIncomplete, message));
            }
        }
        let free = valid - job.counts.gated_pending;
        if free < min {
            let message = format!(
                "{} pods are held by scheduling gates, {free} of the {min} the gang needs are not",
                job.counts.gated_pending
            );
            return Err(Verdict::new(Reason::Gated, message));
        }
        let gated = enforced_roles(job).find(|role| valid_in(role) - role.gated_pending < role.min);
        if let Some(role) = gated {
            let message = format!(
                "{} pods of role {:?} are held by scheduling gates, {} of the {} it needs are not",
                role.gated_pending,
                role.name,
                valid_in(role) - role.gated_pending,
                role.min
            );
            return Err(Verdict::new(Reason::Gated, message));
        }
        Ok(())
    }

    fn job_ready(&self, job: &JobReadOnlyItem<'_, '_>) -> bool {
        is_ready(job)
    }

    fn job_pipelined(&self, job: &JobReadOnlyItem<'_, '_>) -> Vote {
        let counts = job.counts;
        let covered = counts.ready() + counts.pipelined();
        let roles = enforced_roles(job)
            .all(|role| ready_in(role) + role.count(&[TaskStatus::Pipelined]) >= role.min);
        let groups = subgroups_reach(job, |group| {
            group.count(&READY) + group.count(&[TaskStatus::Pipelined])
        });
        if covered >= job.spec.min_available && roles && groups {
            Vote::Permit
        } else {
            Vote::Reject
        }
    }

    fn job_starving(&self, job: &JobReadOnlyItem<'_, '_>) -> bool {
        job.counts.ready() + job.counts.pipelined() < job.spec.min_available
    }
}

fn is_ready(job: &JobReadOnlyItem<'_, '_>) -> bool {
    job.counts.ready() >= job.spec.min_available
        && enforced_roles(job).all(|role| ready_in(role) >= role.min)
        && subgroups_reach(job, |group| group.count(&READY))
}

/// Policies that need a number of sub-groups, with their indexes.
fn enforced_subgroups<'a>(
    job: &JobReadOnlyItem<'a, '_>,
) -> impl Iterator<Item = (usize, &'a SubGroupPolicy)> + use<'a> {
    job.spec.subgroups.iter().enumerate().filter(|(_, policy)| policy.min_subgroups > 0)
}

/// Sub-groups of a policy that have tasks.
fn subgroups<'a>(
    job: &JobReadOnlyItem<'a, '_>,
    policy: usize,
) -> impl Iterator<Item = &'a SubGroup> + use<'a> {
    let of_policy = move |group: &&SubGroup| usize::from(group.policy) == policy;
    let groups = job.counts.subgroups.iter().filter(of_policy);
    groups.filter(|group| group.counts.iter().any(|&count| count > 0))
}

/// Has every policy enough sub-groups with enough tasks?
fn subgroups_reach(job: &JobReadOnlyItem<'_, '_>, tasks: impl Fn(&SubGroup) -> u32) -> bool {
    enforced_subgroups(job).all(|(policy, rule)| {
        let whole = subgroups(job, policy).filter(|group| tasks(group) >= rule.size);
        whole.count() >= rule.min_subgroups as usize
    })
}

/// Roles whose minimum must be met: none if the job's own minimum is below their sum.
fn enforced_roles<'a>(job: &JobReadOnlyItem<'a, '_>) -> impl Iterator<Item = &'a Role> + use<'a> {
    let enforced = job.spec.min_available >= job.counts.role_minimum();
    job.counts.roles.iter().filter(move |role| enforced && role.min > 0)
}

fn ready_in(role: &Role) -> u32 {
    role.count(&READY)
}

fn valid_in(role: &Role) -> u32 {
    role.count(&READY) + role.count(&[TaskStatus::Pipelined, TaskStatus::Pending])
}
