//! The cluster's answer to decisions: every call succeeds at once, and is seen before the next cycle.

use std::collections::BTreeMap;

use muster_core::delta::{ClusterDelta, Facts, ObjectRef, PodFacts, PodGroupFacts, PodPhase};
use muster_core::ids::ObjectKey;
use muster_core::intent::Intent;

/// Objects as the cluster has them. Only those that were [noted](Self::note) are answered for.
#[derive(Debug, Default)]
pub struct Echo {
    pods: BTreeMap<ObjectKey, Box<PodFacts>>,
    groups: BTreeMap<ObjectKey, Box<PodGroupFacts>>,
}

impl Echo {
    /// Keeps the pods and PodGroups among these.
    pub fn note(&mut self, deltas: &[ClusterDelta]) {
        for delta in deltas {
            match delta {
                ClusterDelta::Set(Facts::Pod(facts)) => {
                    self.pods.insert(facts.key.clone(), facts.clone());
                }
                ClusterDelta::Set(Facts::PodGroup(facts)) => {
                    self.groups.insert(facts.key.clone(), facts.clone());
                }
                _ => {}
            }
        }
    }

    /// What the scheduler sees of its own calls: pods it bound run, pods it evicted are gone.
    pub fn answers(&mut self, intents: &[Intent]) -> Vec<ClusterDelta> {
        intents.iter().filter_map(|intent| self.answer(intent)).collect()
    }

    fn answer(&mut self, intent: &Intent) -> Option<ClusterDelta> {
        match intent {
            Intent::Bind { pod, node, .. } => self.change(pod, |facts| {
                facts.node = Some(node.clone());
                facts.phase = PodPhase::Running;
            }),
            Intent::Evict { pod, .. } => {
                self.pods.remove(pod)?;
                Some(ClusterDelta::Gone(ObjectRef::Pod(pod.clone())))
            }
            Intent::Nominate { pod, node, .. } => {
                self.change(pod, |facts| facts.nominated.clone_from(node))
            }
            Intent::GroupStatus { group, phase, report } => {
                let facts = self.groups.get_mut(group)?;
                (facts.phase, facts.report) = (Some(*phase), report.clone());
                Some(ClusterDelta::Set(Facts::PodGroup(facts.clone())))
            }
            Intent::GroupPast { group, report } => {
                let facts = self.groups.get_mut(group)?;
                facts.tree.as_mut()?.say(report.times);
                Some(ClusterDelta::Set(Facts::PodGroup(facts.clone())))
            }
            // Nothing else changes what the scheduler reads of pods and groups.
            _ => None,
        }
    }

    /// Changes a pod, and says so.
    pub fn change(
        &mut self,
        pod: &ObjectKey,
        change: impl FnOnce(&mut PodFacts),
    ) -> Option<ClusterDelta> {
        let facts = self.pods.get_mut(pod)?;
        change(facts);
        facts.version = facts.version.map(|version| version + 1);
        Some(ClusterDelta::Set(Facts::Pod(facts.clone())))
    }
}
