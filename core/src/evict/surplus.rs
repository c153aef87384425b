//! Which tasks of a job go together.
//!
//! What a gang can do without is safe: each such task goes by itself, and so does every task of a gang
//! that is below its minimum and of no use to it. The rest is the core: if one of it goes, all of it
//! goes.

use bevy_ecs::entity::Entity;

use crate::world::{Cluster, JobReadOnlyItem, READY, Role, SubGroup, TreeSpare};

/// Is the gang harmed?
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Harm {
    /// No: it has enough without, or does not work anyway.
    Safe,
    /// No, if it goes in place of one that is safe: any of its tasks may be the surplus.
    Instead,
    /// Yes: it ends.
    Whole,
}

/// A task with what it counts for in its job.
#[derive(Clone, Copy, Debug)]
pub(super) struct GangTask {
    pub(super) task: Entity,
    pub(super) role: u16,
    pub(super) subgroup: Option<u16>,
}

impl GangTask {
    /// The task as its job counts it.
    pub(super) fn of(cluster: &Cluster<'_, '_>, task: Entity) -> Self {
        let membership = cluster.task(task).membership;
        Self { task, role: membership.role, subgroup: membership.subgroup }
    }
}

/// Tells for each of a job's tasks, taken in this order, whether the gang can do without it. Tasks of
/// the job elsewhere stay.
pub(super) fn split(job: &JobReadOnlyItem<'_, '_>, tasks: &[GangTask]) -> Vec<Harm> {
    let mut budget = SpareTasks::of(job);
    let states = tasks.iter().map(|task| match budget.take(task) {
        Harm::Whole if SpareTasks::of(job).take(task) == Harm::Safe => Harm::Instead,
        state => state,
    });
    states.collect()
}

/// Can the gang do without all of these together?
pub(super) fn is_surplus(job: &JobReadOnlyItem<'_, '_>, tasks: &[GangTask]) -> bool {
    let mut budget = SpareTasks::of(job);
    tasks.iter().all(|task| budget.take(task) == Harm::Safe)
}

/// Does the gang run with more than it needs, and no part of it with only some of what that needs?
pub(super) fn is_elastic(job: &JobReadOnlyItem<'_, '_>) -> bool {
    let counts = job.counts();
    let is_broken = |group: &SubGroup| {
        (1..job.spec.subgroups[usize::from(group.policy)].size).contains(&group.count(&READY))
    };
    counts.ready() > job.spec.min_available && !counts.subgroups.iter().any(is_broken)
}

/// What a job can do without.
pub(super) struct SpareTasks<'a> {
    /// Tasks; `None` if it is below its minimum.
    job: Option<u32>,
    /// Tasks of each role; empty where roles do not count.
    roles: Vec<u32>,
    groups: Vec<SpareGroup>,
    /// Whole sub-groups of each policy beyond those it needs; `None` where it needs none.
    policies: Vec<Option<u32>>,
    /// Where sub-groups form a tree.
    sets: Option<TreeSpare<'a>>,
}

/// A sub-group.
struct SpareGroup {
    policy: usize,
    /// Tasks beyond its size; `None` if it is not whole.
    spare: Option<u32>,
}

impl<'a> SpareTasks<'a> {
    pub(super) fn of(job: &JobReadOnlyItem<'a, '_>) -> Self {
        let counts = job.counts();
        let enforced = job.spec.min_available >= counts.role_minimum();
        let spare = |role: &Role| role.count(&READY).saturating_sub(role.min);
        let groups: Vec<SpareGroup> = counts
            .subgroups
            .iter()
            .map(|group| {
                let policy = usize::from(group.policy);
                let size = job.spec.subgroups[policy].size;
                SpareGroup { policy, spare: group.count(&READY).checked_sub(size) }
            })
            .collect();
        let whole = |policy: usize| {
            let of = groups.iter().filter(|group| group.policy == policy);
            of.filter(|group| group.spare.is_some()).count() as u32
        };
        let policies = job.spec.subgroups.iter().enumerate().map(|(at, policy)| {
            let needed = Some(policy.min_subgroups).filter(|&min| min > 0);
            needed.map(|min| whole(at).saturating_sub(min))
        });
        Self {
            job: counts.ready().checked_sub(job.spec.min_available).filter(|_| job.is_tree_whole()),
            roles: if enforced { counts.roles.iter().map(spare).collect() } else { Vec::new() },
            policies: policies.collect(),
            sets: job.spare(),
            groups,
        }
    }

    /// Gives the task up, if the gang works and goes on working without it.
    pub(super) fn give(&mut self, task: &GangTask) -> bool {
        self.job.is_some() && self.take(task) == Harm::Safe
    }

    fn take(&mut self, task: &GangTask) -> Harm {
        let Some(job) = self.job else { return Harm::Safe };
        let role = self.roles.get(usize::from(task.role)).copied();
        let group = task.subgroup.map(usize::from);
        if job == 0 || role == Some(0) || group.is_some_and(|at| !self.can_lose(at)) {
            return Harm::Whole;
        }
        if let (Some(sets), Some(subgroup)) = (&mut self.sets, task.subgroup)
            && !sets.take(subgroup)
        {
            return Harm::Whole;
        }
        self.job = Some(job - 1);
        if let Some(left) = self.roles.get_mut(usize::from(task.role)) {
            *left -= 1;
        }
        if let Some(at) = group {
            self.lose(at);
        }
        Harm::Safe
    }

    fn can_lose(&self, group: usize) -> bool {
        let SpareGroup { policy, spare } = self.groups[group];
        match (self.policies[policy], spare) {
            (None, _) | (_, None) => true,
            (Some(whole), Some(spare)) => spare > 0 || whole > 0,
        }
    }

    fn lose(&mut self, group: usize) {
        let SpareGroup { policy, spare } = &mut self.groups[group];
        if *spare == Some(0)
            && let Some(whole) = &mut self.policies[*policy]
        {
            *whole -= 1;
        }
        *spare = spare.and_then(|spare| spare.checked_sub(1));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::delta::SubGroupPolicy;
    use crate::policy::testing::{Bed, tasks};

    /// Which of the tasks of job `a` are safe, taken in the order given.
    fn safe(bed: Bed, order: &'static [&'static str]) -> Vec<&'static str> {
        bed.look(|cluster, directory| {
            let found = tasks(directory, order);
            let parts: Vec<GangTask> =
                found.iter().map(|&task| GangTask::of(cluster, task)).collect();
            let job = cluster.task(found[0]).membership.job.expect("tasks of a job");
            let states = split(&cluster.job(job), &parts);
            let safe = order.iter().zip(states).filter(|(_, state)| *state == Harm::Safe);
            safe.map(|(name, _)| *name).collect()
        })
    }

    fn gang(min: u32, roles: &[(&'static str, u32)], tasks: &[&'static str]) -> Bed {
        let mut bed = Bed::new();
        bed.node("n", &[("cpu", 99)]);
        let minima: Vec<_> = roles.iter().map(|&(name, min)| (name.into(), min)).collect();
        bed.group("a", min, |group| group.min_task_member = minima);
        for (index, &role) in tasks.iter().enumerate() {
            bed.pod("a", index, Some("n"), |pod| pod.role = role.into());
        }
        bed
    }

    const FIVE: &[&str] = &["a-4", "a-3", "a-2", "a-1", "a-0"];

    #[test]
    fn five_of_which_three_are_enough_have_two_to_spare() {
        assert_eq!(safe(gang(3, &[], &["w"; 5]), FIVE), ["a-4", "a-3"]);
    }

    #[test]
    fn a_driver_is_never_spare_and_one_worker_is() {
        let roles = [("driver", 1), ("worker", 3)];
        let tasks = ["driver", "worker", "worker", "worker", "worker"];
        assert_eq!(safe(gang(4, &roles, &tasks), FIVE), ["a-4"]);
        let driver_first = &["a-0", "a-1", "a-2", "a-3", "a-4"];
        assert_eq!(safe(gang(4, &roles, &tasks), driver_first), ["a-1"]);
    }

    #[test]
    fn a_job_that_needs_less_than_its_roles_say_is_elastic_in_them() {
        let roles = [("driver", 1), ("worker", 3)];
        let tasks = ["driver", "worker", "worker", "worker", "worker"];
        let driver_first = &["a-0", "a-1", "a-2", "a-3", "a-4"];
        assert_eq!(safe(gang(2, &roles, &tasks), driver_first), ["a-0", "a-1", "a-2"]);
    }

    #[test]
    fn all_of_a_broken_gang_is_free_to_take() {
        assert_eq!(safe(gang(6, &[], &["w"; 5]), FIVE), FIVE);
    }

    #[test]
    fn a_sub_group_breaks_only_if_another_one_is_enough() {
        let build = |min_subgroups: u32| {
            let mut bed = Bed::new();
            bed.node("n", &[("cpu", 99)]);
            bed.group("a", 2, |group| {
                group.subgroups = vec![SubGroupPolicy {
                    name: "p".into(),
                    size: 2,
                    min_subgroups,
                    match_label_keys: vec!["part".into()],
                    selector: None,
                    topology: None,
                }];
            });
            // Two tasks in the first part, three in the second.
            for (index, part) in ["x", "x", "y", "y", "y"].into_iter().enumerate() {
                bed.pod("a", index, Some("n"), |pod| {
                    pod.labels = vec![("part".into(), part.into())];
                });
            }
            bed
        };
        let all = &["a-0", "a-1", "a-2", "a-3", "a-4"];
        // Both parts are needed: only the third task of the second part is spare.
        assert_eq!(safe(build(2), all), ["a-2"]);
        // One is enough: the first may break, and then the second has one to spare.
        assert_eq!(safe(build(1), all), ["a-0", "a-1", "a-2"]);
    }

    #[test]
    fn a_set_gives_up_sub_groups_beyond_its_number() {
        use crate::delta::{SUBGROUP_LABEL, WholeWhen};
        let build = |needed: u32| {
            let mut bed = Bed::new();
            bed.node("n", &[("cpu", 99)]);
            let tree = crate::testing::tree(&[
                ("set", None, WholeWhen::SubGroups(Some(needed))),
                ("x", Some("set"), WholeWhen::Pods(2)),
                ("y", Some("set"), WholeWhen::Pods(2)),
                ("z", None, WholeWhen::Pods(1)),
            ]);
            bed.group("a", tree.least_pods(), |group| group.tree = Some(Box::new(tree)));
            for (index, part) in ["x", "x", "x", "y", "y", "z"].into_iter().enumerate() {
                bed.pod("a", index, Some("n"), |pod| {
                    pod.labels = vec![(SUBGROUP_LABEL.into(), part.into())];
                });
            }
            bed
        };
        let last_first = &["a-5", "a-4", "a-3", "a-2", "a-1", "a-0"];
        assert_eq!(safe(build(2), last_first), ["a-2"], "x has one more than it needs");
        // One of the two is enough: y goes, and then x has one to spare.
        assert_eq!(safe(build(1), last_first), ["a-4", "a-3", "a-2"]);
    }
}
