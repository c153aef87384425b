//! Second pass, sub-groups: which tasks of a job belong together.

use bevy_ecs::entity::Entity;

use super::intake::Intake;
use crate::delta::{
    GroupTree, ObjectRef, Operator, PodGroupFacts, Requirement, SUBGROUP_LABEL, SubGroupNode,
    SubGroupPolicy, WholeWhen,
};
use crate::ids::Name;
use crate::world::Labels;

/// By which policies the tasks of a job form sub-groups, and the tree of those, if they form one.
#[derive(Debug, Default)]
pub(super) struct Grouping {
    policies: Vec<SubGroupPolicy>,
    tree: Option<Box<GroupTree>>,
}

impl Grouping {
    /// What a PodGroup says. A tree makes a policy for each of its sub-groups, in its order; how many of
    /// them a job needs is for the tree to say.
    pub(super) fn of(facts: &PodGroupFacts) -> Self {
        let tree = facts.tree.clone();
        let of_tree = tree.as_deref().filter(|tree| !tree.subgroups.is_empty());
        let policies = match of_tree {
            None => facts.subgroups.clone(),
            Some(tree) => tree.subgroups.iter().map(policy).collect(),
        };
        Self { policies, tree }
    }

    /// Label values of sub-groups that are there before they have tasks, so that those of a tree are
    /// numbered as in the tree.
    fn named(&self) -> impl Iterator<Item = Vec<Name>> + '_ {
        let nodes = self.tree.iter().flat_map(|tree| &tree.subgroups);
        nodes.map(|node| vec![node.name.clone()])
    }
}

fn policy(node: &SubGroupNode) -> SubGroupPolicy {
    let key = Name::from(SUBGROUP_LABEL);
    let (size, keys) = match node.whole {
        WholeWhen::Pods(size) => (size, vec![key.clone()]),
        // Without a label key it has no pods of its own.
        WholeWhen::SubGroups(_) => (0, Vec::new()),
    };
    let values = vec![node.name.clone()];
    SubGroupPolicy {
        name: node.name.clone(),
        size,
        min_subgroups: 0,
        match_label_keys: keys,
        selector: Some(vec![Requirement { key, operator: Operator::In, values }]),
        topology: None,
    }
}

impl Intake<'_, '_> {
    /// Puts the task into the sub-group the first matching policy of its job makes for it. Where
    /// sub-groups form a tree, a task that belongs to none has no place in the job.
    pub(super) fn join_subgroup(&mut self, task: Entity, job: Entity) {
        let Ok(mut task) = self.cluster.tasks.get_mut(task) else { return };
        let Ok(mut job) = self.cluster.jobs.get_mut(job) else { return };
        let found = job.spec.subgroups.iter().enumerate().find_map(|(at, policy)| {
            subgroup_values(policy, &task.labels).map(|values| (at as u16, values))
        });
        task.membership.subgroup = found.map(|(policy, values)| job.join_subgroup(policy, values));
        let in_tree = job.spec.tree.as_ref().is_some_and(|tree| !tree.subgroups.is_empty());
        if in_tree && task.membership.subgroup.is_none() {
            let group = job.identity.key.object();
            let why = match task.labels.get(SUBGROUP_LABEL) {
                None => {
                    format!("it has no label {SUBGROUP_LABEL}, and PodGroup {group} has sub-groups")
                }
                Some(name) => format!("PodGroup {group} has no sub-group {name:?} for pods"),
            };
            self.set_aside.0.insert(ObjectRef::Pod(task.identity.key.clone()), why);
        } else if !self.set_aside.0.is_empty() {
            self.set_aside.0.remove(&ObjectRef::Pod(task.identity.key.clone()));
        }
    }

    /// Replaces the policies of a job and sorts its tasks into sub-groups again.
    pub(super) fn regroup(&mut self, job: Entity, grouping: Grouping) {
        if self.cluster.job(job).spec.subgroups == grouping.policies {
            self.cluster.job_mut(job).spec.tree = grouping.tree;
            return;
        }
        let members = self.cluster.job(job).members.0.clone();
        for &task in &members {
            self.cluster.detach(task);
        }
        let mut item = self.cluster.job_mut(job);
        item.clear_subgroups();
        for (at, values) in grouping.named().enumerate() {
            item.join_subgroup(at as u16, values);
        }
        item.spec.subgroups = grouping.policies;
        item.spec.tree = grouping.tree;
        for task in members {
            self.join_subgroup(task, job);
            self.cluster.attach(task);
        }
    }
}

/// The label values that put a pod into a sub-group of the policy; none if it belongs to none. A
/// policy without label keys makes no sub-groups, as upstream.
fn subgroup_values(policy: &SubGroupPolicy, labels: &Labels) -> Option<Vec<Name>> {
    let selected = policy.selector.as_ref().is_none_or(|requirements| {
        requirements.iter().all(|requirement| requirement.holds(labels.get(&requirement.key)))
    });
    let values = policy
        .match_label_keys
        .iter()
        .map(|key| labels.get(key).filter(|value| !value.is_empty()).cloned());
    let values: Option<Vec<Name>> = values.collect();
    values.filter(|values| selected && !values.is_empty())
}
