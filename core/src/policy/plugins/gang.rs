//! `gang`: all the pods a job needs, or none.
//!
//! Promise: nothing of a job is bound before its minimum, in all and per role, has a place. Roles
//! count only where `minMember` is at least the sum of the roles' minima; below that the job is
//! elastic in its roles. A member counts once it has a place, whether it asks for resources or not.
//! Where a number of sub-groups is asked for, that many must be whole; where they form a tree, as many as
//! each set of it needs. A gang that has lost what it needs
//! and still holds room goes before those that wait for all of theirs, those before gangs that run;
//! sub-groups that are not whole go before those that are.
//!
//! As a victim a gang gives up what it has above its minimum and nothing of the minimum itself; where
//! roles have minima that count, nothing of those either. An action that evicts for whole gangs takes
//! gangs apart by rules of its own, and this plugin leaves it all candidates.
//!
//! It has no arguments.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::delta::SubGroupPolicy;
use crate::policy::{
    Ballot, Build, Evictor, JobOrderPlugin, JobPipelinedPlugin, JobReadyPlugin, JobStarvingPlugin,
    JobValidPlugin, Plugin, PluginSpec, PreemptablePlugin, ReclaimablePlugin, Setup,
    SubGroupOrderPlugin, UnifiedEvictablePlugin, Unit, Vote, Words, plugin,
};
use crate::verdict::{Reason, Verdict};
use crate::world::{
    COVERED, Cluster, JobReadOnlyItem, Membership, Progress, READY, Role, SubGroup, TaskStatus,
    TreeSpare,
};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    // Sub-groups are part of the question about their job: no switch of theirs has an effect.
    words: Words {
        job_order: Some("not started yet"),
        victims: Some("gangs keep their minimum"),
        ..Words::NONE
    },
    ..PluginSpec::of::<Gang>(
        "gang",
        "a job's pods start together or not at all, by its minimum and its roles' minima",
    )
};

/// The plugin.
pub(in crate::policy) struct Gang;

/// Which gangs are served first: what is left of a broken one holds room for nothing until it is whole.
const BROKEN: i64 = 0;
const WAITING: i64 = 1;
const WHOLE: i64 = 2;

plugin!(Gang);

impl Plugin for Gang {}

impl Build for Gang {
    fn build(_setup: &mut Setup<'_>) -> Self {
        Self
    }
}

impl JobOrderPlugin for Gang {
    fn job_order(&self, _cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> i64 {
        match (is_ready(job), job.counts().ready()) {
            (false, 1..) => BROKEN,
            (false, 0) => WAITING,
            (true, _) => WHOLE,
        }
    }
}

impl JobValidPlugin for Gang {
    fn job_valid(&self, job: &JobReadOnlyItem<'_, '_>) -> Result<(), Verdict> {
        let (min, valid) = (job.spec.min_available, job.counts().valid());
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
        sets_valid(job)?;
        let free = valid - job.counts().gated_pending;
        if free < min {
            let message = format!(
                "{} pods are held by scheduling gates, {free} of the {min} the gang needs are not",
                job.counts().gated_pending
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
}

impl JobReadyPlugin for Gang {
    fn job_ready(&self, _: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> bool {
        is_ready(job)
    }

    fn job_lacks(&self, job: &JobReadOnlyItem<'_, '_>) -> u32 {
        let of_sets = job.progress(&READY).map_or(0, |progress| progress.of(None).lacks);
        job.spec.min_available.saturating_sub(job.counts().ready()).max(of_sets)
    }
}

impl JobPipelinedPlugin for Gang {
    fn job_pipelined(&self, job: &JobReadOnlyItem<'_, '_>) -> Vote {
        let counts = job.counts();
        let covered = counts.ready() + counts.pipelined();
        let roles = enforced_roles(job)
            .all(|role| ready_in(role) + role.count(&[TaskStatus::Pipelined]) >= role.min);
        let groups = subgroups_reach(job, covered_in);
        if covered >= job.spec.min_available && roles && groups {
            Vote::Permit
        } else {
            Vote::Reject
        }
    }
}

impl JobStarvingPlugin for Gang {
    fn job_starving(&self, job: &JobReadOnlyItem<'_, '_>) -> bool {
        let covered = job.counts().ready() + job.counts().pipelined();
        let sets = job.progress_of(covered_in).is_none_or(|progress| progress.of(None).is_whole());
        covered < job.spec.min_available || !sets
    }
}

impl SubGroupOrderPlugin for Gang {
    fn subgroup_order(&self, _: &Cluster<'_, '_>, unit: Unit<'_>, _: &[Entity]) -> i64 {
        if let Some(progress) = unit.job.progress(&READY) {
            return i64::from(progress.of(unit.subgroup).is_whole());
        }
        let groups = &unit.job.counts().subgroups;
        let group = unit.subgroup.and_then(|at| groups.get(usize::from(at)));
        let whole = group.is_some_and(|group| {
            let policy = &unit.job.spec.subgroups[usize::from(group.policy)];
            group.count(&READY) >= policy.size
        });
        i64::from(whole)
    }
}

impl PreemptablePlugin for Gang {
    fn preemptable(&self, cluster: &Cluster<'_, '_>, _: &Evictor, tasks: &[Entity]) -> Ballot {
        surplus(cluster, tasks)
    }
}

impl ReclaimablePlugin for Gang {
    fn reclaimable(&self, cluster: &Cluster<'_, '_>, _: &Evictor, tasks: &[Entity]) -> Ballot {
        surplus(cluster, tasks)
    }
}

impl UnifiedEvictablePlugin for Gang {
    fn unified_evictable(&self, _: &Cluster<'_, '_>, _: &Evictor, tasks: &[Entity]) -> Ballot {
        Ballot::Only(tasks.to_vec())
    }
}

/// What a job, its roles and its sets of sub-groups could still give up.
struct Spare<'a> {
    job: u32,
    roles: Vec<u32>,
    /// None where sub-groups form no tree.
    sets: Option<TreeSpare<'a>>,
}

impl<'a> Spare<'a> {
    fn of(job: &JobReadOnlyItem<'a, '_>) -> Self {
        let enforced = job.spec.min_available >= job.counts().role_minimum();
        let role = |role: &Role| {
            let min = if enforced { role.min } else { 0 };
            ready_in(role).saturating_sub(min)
        };
        Self {
            // One whose sets are not whole has nothing to give, as one below its minimum.
            job: if job.is_tree_whole() {
                job.counts().ready().saturating_sub(job.spec.min_available)
            } else {
                0
            },
            roles: job.counts().roles.iter().map(role).collect(),
            sets: job.spare(),
        }
    }

    /// Gives one task of the role up, if that leaves the gang whole.
    fn give(&mut self, Membership { role, subgroup, .. }: Membership) -> bool {
        let Some(left) = self.roles.get_mut(usize::from(role)) else { return false };
        if self.job == 0 || *left == 0 {
            return false;
        }
        if let (Some(sets), Some(subgroup)) = (&mut self.sets, subgroup)
            && !sets.take(subgroup)
        {
            return false;
        }
        self.job -= 1;
        *left -= 1;
        true
    }
}

/// The candidates their gangs can do without, taken in order.
fn surplus(cluster: &Cluster<'_, '_>, candidates: &[Entity]) -> Ballot {
    let mut spares: BTreeMap<Entity, Spare<'_>> = BTreeMap::new();
    Ballot::filter(candidates, |task| {
        let membership = *cluster.task(task).membership;
        let Some(job) = membership.job else { return false };
        let spare = spares.entry(job).or_insert_with(|| Spare::of(&cluster.job(job)));
        spare.give(membership)
    })
}

fn is_ready(job: &JobReadOnlyItem<'_, '_>) -> bool {
    job.counts().ready() >= job.spec.min_available
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
    let groups = job.counts().subgroups.iter().filter(of_policy);
    groups.filter(|group| group.counts.iter().any(|&count| count > 0))
}

/// Have the sets of a tree enough sub-groups with enough pods to be whole one day?
fn sets_valid(job: &JobReadOnlyItem<'_, '_>) -> Result<(), Verdict> {
    let Some(tree) = job.tree() else { return Ok(()) };
    let there = job.progress_of(valid_in_group);
    let free = job.progress_of(|group| valid_in_group(group) - group.gated_pending);
    for (progress, reason, lack) in [
        (there, Reason::GangIncomplete, "exist"),
        (free, Reason::Gated, "are not held by scheduling gates"),
    ] {
        let Some(progress) = progress.filter(|progress| !progress.of(None).is_whole()) else {
            continue;
        };
        let all = progress.of(None);
        let mut leaves = (0..tree.subgroups.len() as u16).filter(|&at| !tree.is_set(at));
        let short = leaves.find(|&at| !progress.of(Some(at)).is_whole());
        let detail = short.map_or_else(String::new, |at| {
            let Progress { has, needs, .. } = progress.of(Some(at));
            let name = &tree.subgroups[usize::from(at)].name;
            format!("; {has} of the {needs} pods that sub-group {name:?} needs {lack}")
        });
        let message = format!(
            "{} of the {} sub-groups the gang needs can be whole{detail}",
            all.has, all.needs
        );
        return Err(Verdict::new(reason, message));
    }
    Ok(())
}

/// Has every policy enough sub-groups with enough tasks?
fn subgroups_reach(job: &JobReadOnlyItem<'_, '_>, tasks: impl Fn(&SubGroup) -> u32) -> bool {
    if let Some(progress) = job.progress_of(&tasks) {
        return progress.of(None).is_whole();
    }
    enforced_subgroups(job).all(|(policy, rule)| {
        let whole = subgroups(job, policy).filter(|group| tasks(group) >= rule.size);
        whole.count() >= rule.min_subgroups as usize
    })
}

/// Roles whose minimum must be met: none if the job's own minimum is below their sum.
fn enforced_roles<'a>(job: &JobReadOnlyItem<'a, '_>) -> impl Iterator<Item = &'a Role> + use<'a> {
    let enforced = job.spec.min_available >= job.counts().role_minimum();
    job.counts().roles.iter().filter(move |role| enforced && role.min > 0)
}

fn ready_in(role: &Role) -> u32 {
    role.count(&READY)
}

/// Tasks of a sub-group with a place or with room held.
fn covered_in(group: &SubGroup) -> u32 {
    group.count(&COVERED)
}

fn valid_in_group(group: &SubGroup) -> u32 {
    covered_in(group) + group.count(&[TaskStatus::Pending])
}

fn valid_in(role: &Role) -> u32 {
    role.count(&READY) + role.count(&[TaskStatus::Pipelined, TaskStatus::Pending])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::EvictPurpose;
    use crate::policy::testing::{Bed, evictor, named, tasks};

    /// Which of the candidates may be preempted; what may be reclaimed must be the same.
    fn spared(bed: Bed, candidates: &'static [&'static str]) -> Vec<String> {
        bed.look(|cluster, directory| {
            let evictor = evictor(directory, "e", None, EvictPurpose::Preempt);
            let tasks = tasks(directory, candidates);
            let answer = Gang.preemptable(cluster, &evictor, &tasks);
            assert_eq!(answer, Gang.reclaimable(cluster, &evictor, &tasks));
            let all = Gang.unified_evictable(cluster, &evictor, &tasks);
            assert_eq!(all, Ballot::Only(tasks));
            match answer {
                Ballot::Abstain => panic!("gang has an opinion"),
                Ballot::Only(victims) => named(cluster, &victims),
            }
        })
    }

    #[test]
    fn each_gang_gives_up_its_surplus_in_the_order_asked() {
        let mut bed = Bed::new();
        bed.node("n", &[("cpu", 9)]).group("e", 1, |_| {});
        bed.group("a", 2, |_| {}).running("a", 4, "n");
        bed.group("b", 3, |_| {}).running("b", 3, "n");
        let all = &["a-3", "b-0", "a-0", "a-1", "b-1", "a-2"];
        assert_eq!(spared(bed, all), ["a-3", "a-0"]);
    }

    #[test]
    fn a_role_keeps_its_minimum_where_roles_count() {
        let build = |min_member: u32| {
            let mut bed = Bed::new();
            bed.node("n", &[("cpu", 9)]).group("e", 1, |_| {});
            bed.group("a", min_member, |group| {
                group.min_task_member = vec![("ps".into(), 1), ("worker".into(), 1)];
            });
            let roles = ["ps", "worker", "worker", "worker"];
            for (index, role) in roles.into_iter().enumerate() {
                bed.pod("a", index, Some("n"), |pod| pod.role = role.into());
            }
            bed
        };
        let all = &["a-0", "a-1", "a-2", "a-3"];
        assert_eq!(spared(build(2), all), ["a-1", "a-2"]);
        // Below the sum of the roles' minima the job is elastic in its roles.
        assert_eq!(spared(build(1), all), ["a-0", "a-1", "a-2"]);
    }

    #[test]
    fn a_gang_that_is_not_whole_gives_up_nothing() {
        let mut bed = Bed::new();
        bed.node("n", &[("cpu", 9)]).group("e", 1, |_| {});
        bed.group("a", 3, |_| {}).running("a", 2, "n").pod("a", 2, None, |_| {});
        assert_eq!(spared(bed, &["a-0", "a-1"]), [""; 0]);
    }
}
