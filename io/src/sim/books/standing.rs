//! How far jobs are from what they need at least.

use std::collections::BTreeMap;

use muster_core::delta::PodGroupFacts;
use muster_core::ids::{Name, ObjectKey};

use super::super::subgroups::is_whole;
use super::{Books, PodEntry, PodStatus};

/// How far a job is from what it needs at least.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Pods on nodes to stay.
    pub bound: u32,
    /// Pods that ended well.
    pub finished: u32,
    /// Pods it needs.
    pub minimum: u32,
    /// Is the minimum met, roles and sets of sub-groups included?
    pub is_met: bool,
}

struct Minimum<'a> {
    members: u32,
    roles: &'a [(Name, u32)],
}

impl<'a> Minimum<'a> {
    /// Role minima count only when together they are within the gang's minimum.
    fn of(group: Option<&'a PodGroupFacts>) -> Self {
        let Some(group) = group else { return Self { members: 1, roles: &[] } };
        let sum: u32 = group.min_task_member.iter().map(|entry| entry.1).sum();
        let roles: &[_] = if group.min_member >= sum { &group.min_task_member } else { &[] };
        Self { members: group.min_member, roles }
    }
}

impl Books {
    /// How the job's pods on nodes compare with what it needs at least.
    pub fn standing(&self, job: &ObjectKey) -> Standing {
        self.standing_of(job, |_| true)
    }

    /// The same, had it only the pods that `stays` keeps.
    pub fn standing_of(&self, job: &ObjectKey, stays: impl Fn(&ObjectKey) -> bool) -> Standing {
        let pods = self.pods_of(job).filter(|(key, _)| stays(key));
        self.standing_with(job, pods.map(|(_, pod)| (pod, pod.status.is_bound())).collect())
    }

    /// The same for these pods, each with whether it counts as bound.
    pub(super) fn standing_with(&self, job: &ObjectKey, pods: Vec<(&PodEntry, bool)>) -> Standing {
        let mut bound = 0;
        let mut finished = 0;
        let mut by_role: BTreeMap<&Name, u32> = BTreeMap::new();
        let done = |pod: &PodEntry| pod.status == PodStatus::Succeeded;
        for &(pod, is_bound) in &pods {
            bound += u32::from(is_bound);
            finished += u32::from(done(pod));
            if done(pod) || is_bound {
                *by_role.entry(&pod.role).or_default() += 1;
            }
        }
        let (group, minimum) = (self.groups.get(job), Minimum::of(self.groups.get(job)));
        let sets_met = group.and_then(|group| group.tree.as_deref()).is_none_or(|tree| {
            let counted = pods.iter().filter(|(pod, is_bound)| *is_bound || done(pod));
            is_whole(tree, counted.map(|(pod, _)| *pod))
        });
        let roles_met = minimum
            .roles
            .iter()
            .all(|(role, min)| by_role.get(role).copied().unwrap_or_default() >= *min);
        Standing {
            bound,
            finished,
            minimum: minimum.members,
            is_met: roles_met && sets_met && bound + finished >= minimum.members,
        }
    }
}
