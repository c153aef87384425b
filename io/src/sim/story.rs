//! What happened in the cluster between two cycles, in sentences.

use std::collections::BTreeMap;

use muster_core::delta::{ClusterDelta, Facts, GroupPhase, ObjectRef, Ownership, PodPhase};
use muster_core::ids::{Name, ObjectKey};

use super::books::{Books, PodStatus};

/// Sentences about the deltas, judged against the books as they were before them. Pods are told by
/// job, so that a thousand pods make one line.
pub(super) fn happenings(before: &Books, deltas: &[ClusterDelta]) -> Vec<String> {
    let mut story = Story::default();
    for delta in deltas {
        story.hear(before, delta);
    }
    story.tell()
}

/// Sentences about calls that failed.
pub(super) fn failures(deltas: &[ClusterDelta]) -> Vec<String> {
    let sentence = |delta: &ClusterDelta| match delta {
        ClusterDelta::BindFailed { pod, reason, .. } => {
            Some(format!("binding {pod} failed: {reason}"))
        }
        ClusterDelta::EvictFailed { pod, reason, .. } => {
            Some(format!("evicting {pod} failed: {reason}"))
        }
        _ => None,
    };
    deltas.iter().filter_map(sentence).collect()
}

#[derive(Default)]
struct Story {
    nodes_in: Vec<Name>,
    nodes_out: Vec<Name>,
    jobs_in: Vec<ObjectKey>,
    started: BTreeMap<ObjectKey, usize>,
    finished: BTreeMap<ObjectKey, usize>,
    left: BTreeMap<ObjectKey, usize>,
}

impl Story {
    fn hear(&mut self, before: &Books, delta: &ClusterDelta) {
        match delta {
            ClusterDelta::Set(Facts::Node(facts))
                if before.nodes.get(&facts.name).is_none_or(|node| node.facts.is_none()) =>
            {
                self.nodes_in.push(facts.name.clone());
            }
            ClusterDelta::Gone(ObjectRef::Node(name)) => self.nodes_out.push(name.clone()),
            ClusterDelta::Set(Facts::PodGroup(facts))
                if !before.groups.contains_key(&facts.key)
                    && matches!(facts.phase, None | Some(GroupPhase::Pending)) =>
            {
                self.jobs_in.push(facts.key.clone());
            }
            ClusterDelta::Set(Facts::Pod(facts)) => {
                let old = before.pods.get(&facts.key).filter(|pod| pod.uid == facts.uid);
                let replaced = before.pods.get(&facts.key).filter(|pod| pod.uid != facts.uid);
                if let Some(replaced) = replaced {
                    *self.left.entry(replaced.job.clone()).or_default() += 1;
                } else if old.is_none() && facts.group.is_none() && facts.node.is_none() {
                    self.jobs_in.push(facts.key.clone());
                }
                let Some(old) = old.filter(|old| old.ownership == Ownership::Ours) else { return };
                match facts.phase {
                    PodPhase::Running if old.status == PodStatus::Bound => {
                        *self.started.entry(old.job.clone()).or_default() += 1;
                    }
                    PodPhase::Succeeded if old.status != PodStatus::Succeeded => {
                        *self.finished.entry(old.job.clone()).or_default() += 1;
                    }
                    _ => {}
                }
            }
            ClusterDelta::Gone(ObjectRef::Pod(key)) => {
                if let Some(pod) = before.pods.get(key) {
                    *self.left.entry(pod.job.clone()).or_default() += 1;
                }
            }
            _ => {}
        }
    }

    fn tell(self) -> Vec<String> {
        let mut lines = Vec::new();
        let mut nodes = |names: &[Name], verb: &str| match names {
            [] => {}
            [one] => lines.push(format!("node {one} {verb}s")),
            [first, .., last] => {
                lines.push(format!("{} nodes {verb} ({first} … {last})", names.len()));
            }
        };
        nodes(&self.nodes_in, "join");
        nodes(&self.nodes_out, "leave");
        match &self.jobs_in[..] {
            [] => {}
            [one] => lines.push(format!("{one} arrives")),
            [first, .., last] => {
                lines.push(format!("{} jobs arrive ({first} … {last})", self.jobs_in.len()));
            }
        }
        for (counts, verb) in
            [(&self.started, "started"), (&self.finished, "finished"), (&self.left, "gone")]
        {
            let pods = |count: usize| if count == 1 { "pod" } else { "pods" };
            lines.extend(counts.iter().map(|(job, &n)| format!("{job}: {n} {} {verb}", pods(n))));
        }
        lines
    }
}
