//! What the API server does with the scheduler's calls.

use muster_core::delta::{ClusterDelta, GroupPhase};
use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::Intent;

use super::Cluster;
use crate::objects::{ObjectKind, Pod};

impl Cluster {
    /// Carries out the calls in order. One that cannot be carried out comes back as a delta.
    pub fn call(&mut self, intents: &[Intent], now_ms: i64) {
        for intent in intents {
            match intent {
                Intent::Bind { pod, uid, node } => self.bind(pod, uid, node, now_ms),
                Intent::FixClaim { claim, volume, node, pod } => {
                    if let Err(reason) = self.fix_claim(claim, volume.as_ref(), node) {
                        self.unfixed.insert(pod.clone(), reason);
                    }
                }
                Intent::Evict { pod, uid, .. } => self.evict(pod, uid, now_ms),
                Intent::Nominate { pod, uid, node } => self.nominate(pod, uid, node.as_ref()),
                Intent::GroupPhase { group, phase } => self.write_phase(group, *phase),
            }
        }
    }

    fn bind(&mut self, key: &ObjectKey, uid: &Name, node: &Name, now_ms: i64) {
        if let Err(reason) = self.try_bind(key, uid, node) {
            let (pod, uid) = (key.clone(), uid.clone());
            return self.outcomes.push(ClusterDelta::BindFailed { pod, uid, reason });
        }
        self.touch(ObjectKind::Pod, key);
        self.plan(key, now_ms);
    }

    fn try_bind(&mut self, key: &ObjectKey, uid: &Name, node: &Name) -> Result<(), String> {
        if let Some(reason) = self.unfixed.remove(key) {
            return Err(reason);
        }
        self.pass_fail_bind(key)?;
        if !self.has_node(node) {
            return Err(format!("node {node} is gone"));
        }
        let pod = self.store.pod_mut(key).ok_or_else(|| format!("pod {key} is gone"))?;
        if !has_uid(pod, uid) {
            return Err(format!("pod {key} is another one now"));
        }
        if pod.metadata.deletion_timestamp.is_some() {
            return Err(format!("pod {key} is leaving"));
        }
        match pod.spec.node_name.as_deref() {
            // Binding twice to the same node is the same wish come true.
            Some(bound) if bound == &**node => return Ok(()),
            Some(bound) => return Err(format!("pod {key} is bound to node {bound} already")),
            None => {}
        }
        pod.spec.node_name = Some(node.to_string());
        pod.status.nominated_node_name = None;
        Ok(())
    }

    /// Fails as often as the timeline said.
    fn pass_fail_bind(&mut self, key: &ObjectKey) -> Result<(), String> {
        let Some(times) = self.fail_bind.get_mut(key) else { return Ok(()) };
        match times {
            None => {}
            Some(0) => {
                self.fail_bind.remove(key);
                return Ok(());
            }
            Some(times) => *times -= 1,
        }
        Err(format!("the Scenario makes the binding of pod {key} fail"))
    }

    fn evict(&mut self, key: &ObjectKey, uid: &Name, now_ms: i64) {
        let Some(pod) = self.store.pod(key).filter(|pod| has_uid(pod, uid)) else {
            let (pod, uid) = (key.clone(), uid.clone());
            let reason = format!("pod {key} is gone");
            return self.outcomes.push(ClusterDelta::EvictFailed { pod, uid, reason });
        };
        // Who deleted it first has decided whether it comes back.
        if pod.metadata.deletion_timestamp.is_none() {
            self.notes.entry(key.clone()).or_default().comes_back = true;
            self.begin_leaving(key, now_ms);
        }
    }

    fn nominate(&mut self, key: &ObjectKey, uid: &Name, node: Option<&Name>) {
        let Some(pod) = self.store.pod_mut(key).filter(|pod| has_uid(pod, uid)) else { return };
        let node = node.map(ToString::to_string);
        // A bound pod holds no room elsewhere.
        if pod.status.nominated_node_name == node || pod.spec.node_name.is_some() {
            return;
        }
        pod.status.nominated_node_name = node;
        self.touch(ObjectKind::Pod, key);
    }

    fn write_phase(&mut self, key: &ObjectKey, phase: GroupPhase) {
        let Some(group) = self.store.group_mut(key) else { return };
        let phase = Some(phase_text(phase).to_owned());
        if group.status.phase != phase {
            group.status.phase = phase;
            self.touch(ObjectKind::PodGroup, key);
        }
    }
}

/// The phase as the object writes it.
pub(crate) fn phase_text(phase: GroupPhase) -> &'static str {
    match phase {
        GroupPhase::Pending => "Pending",
        GroupPhase::Inqueue => "Inqueue",
        GroupPhase::Running => "Running",
        GroupPhase::Unknown => "Unknown",
        GroupPhase::Completed => "Completed",
    }
}

fn has_uid(pod: &Pod, uid: &str) -> bool {
    pod.metadata.uid.as_deref() == Some(uid)
}
