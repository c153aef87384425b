//! What the API server does with the scheduler's calls.

use muster_core::delta::{AnnotatedNode, ClusterDelta, GroupPhase};
use muster_core::ids::{Name, ObjectKey, TimeMs};
use muster_core::intent::Intent;
use muster_core::resource::Format;
use muster_core::status::{
    Condition, ConditionKind, GangWait, GroupReport, GroupTimes, QueueReport, SaidIn, ShardReport,
};

use super::Cluster;
use crate::objects::translate::{DEVICE_GROUP, annotate, group_labels};
use crate::objects::{
    GroupPast, NodeShardStatus, ObjectKind, Pod, PodGroupCondition, Scalar, SchedulingCondition,
};
use crate::objects::{phase_text, state_text};

impl Cluster {
    /// Carries out the calls in order. One that cannot be carried out comes back as a delta.
    pub fn call(&mut self, intents: &[Intent], now_ms: i64) {
        for intent in intents {
            match intent {
                Intent::Bind { pod, uid, node, .. } => self.bind(pod, uid, node, now_ms),
                Intent::FixClaim { claim, volume, node, pod } => {
                    if let Err(reason) = self.fix_claim(claim, volume.as_ref(), node) {
                        self.unfixed.insert(pod.clone(), reason);
                    }
                }
                Intent::FixDevices { pod, uid, devices, .. } => self.label(pod, uid, devices),
                Intent::Evict { pod, uid, .. } => self.evict(pod, uid, now_ms),
                Intent::Nominate { pod, uid, node } => self.nominate(pod, uid, node.as_ref()),
                Intent::Annotate { pod, uid, reservation } => {
                    self.annotate(pod, uid, reservation.as_ref());
                }
                Intent::GroupStatus { group, phase, report } => {
                    self.write_group(group, *phase, report);
                }
                Intent::GroupPast { group, report } => self.write_past(group, report.times),
                Intent::GroupWait { group, wait } => self.write_wait(group, wait),
                Intent::QueueStatus { queue, report } => self.write_queue(queue, report),
                Intent::ShardStatus { shard, report } => self.write_shard(shard, report),
                // The report has the scheduler's own words on every pod that waits, and its decisions.
                Intent::Unscheduled { .. } | Intent::Held { .. } => {}
            }
        }
    }

    fn bind(&mut self, key: &ObjectKey, uid: &Name, node: &Name, now_ms: i64) {
        if let Err(reason) = self.try_bind(key, uid, node, now_ms) {
            if let Some(pod) = self.store.pod_mut(key).filter(|pod| pod.spec.node_name.is_none()) {
                drop_device_labels(pod);
            }
            let (pod, uid) = (key.clone(), uid.clone());
            return self.outcomes.push(ClusterDelta::BindFailed { pod, uid, reason });
        }
        self.touch(ObjectKind::Pod, key);
        self.plan(key, now_ms);
    }

    fn try_bind(
        &mut self,
        key: &ObjectKey,
        uid: &Name,
        node: &Name,
        now_ms: i64,
    ) -> Result<(), String> {
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
        pod.status.placed_ms = Some(now_ms);
        pod.status.nominated_node_name = None;
        Ok(())
    }

    /// Writes which devices a pod shares; the bind that follows tells of the change.
    fn label(&mut self, key: &ObjectKey, uid: &Name, devices: &[Name]) {
        let Some(pod) = self.store.pod_mut(key).filter(|pod| has_uid(pod, uid)) else { return };
        if pod.spec.node_name.is_none() {
            drop_device_labels(pod);
            pod.metadata.labels.extend(group_labels(devices));
        }
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

    fn annotate(&mut self, key: &ObjectKey, uid: &Name, reservation: Option<&AnnotatedNode>) {
        let Some(pod) = self.store.pod_mut(key).filter(|pod| has_uid(pod, uid)) else { return };
        if annotate(&mut pod.metadata, reservation) {
            self.touch(ObjectKind::Pod, key);
        }
    }

    /// Scheduling reads only the phase; the rest is for users and makes no event.
    fn write_group(&mut self, key: &ObjectKey, phase: GroupPhase, report: &GroupReport) {
        let Some(group) = self.store.group_mut(key) else { return };
        let status = &mut group.status;
        (status.running, status.succeeded, status.failed) =
            (report.running, report.succeeded, report.failed);
        let ours = [ConditionKind::Unschedulable, ConditionKind::Scheduled];
        status.conditions.retain(|entry| ours.iter().all(|kind| kind.as_str() != entry.kind));
        status.conditions.extend(report.conditions.iter().map(condition));
        let phase = Some(phase_text(phase).to_owned());
        if status.phase != phase {
            status.phase = phase;
            self.touch(ObjectKind::PodGroup, key);
        }
    }

    /// Only a scheduler that starts anew reads it.
    fn write_past(&mut self, key: &ObjectKey, times: GroupTimes) {
        let Some(group) = self.store.kai_group_mut(key) else { return };
        let ms = |time: Option<TimeMs>| time.map(|time| time.0);
        group.past = GroupPast {
            last_start_ms: ms(times.last_start),
            stale_since_ms: ms(times.stale_since),
            last_eviction_ms: ms(times.last_eviction),
        };
    }

    /// As with the past.
    fn write_wait(&mut self, key: &ObjectKey, wait: &GangWait) {
        let Some(group) = self.store.kai_group_mut(key) else { return };
        if wait.class.said == SaidIn::Status {
            let condition = SchedulingCondition::of(wait, group.status.next_transition());
            let conditions = &mut group.status.scheduling_conditions;
            conditions.retain(|entry| *entry.node_pool != *wait.pool);
            conditions.push(condition);
        }
    }

    fn write_shard(&mut self, name: &Name, report: &ShardReport) {
        let Some(shard) = self.store.shard_mut(name) else { return };
        let texts = |names: &[Name]| names.iter().map(ToString::to_string).collect();
        shard.status = NodeShardStatus {
            nodes_in_use: texts(&report.in_use),
            nodes_to_add: texts(&report.to_add),
            nodes_to_remove: texts(&report.to_remove),
        };
        let key = ObjectKind::NodeShard.key(None, name);
        self.touch(ObjectKind::NodeShard, &key);
    }

    /// A queue's state belongs to its controller: it is written only where there is none yet.
    fn write_queue(&mut self, name: &Name, report: &QueueReport) {
        let Some(queue) = self.store.queue_mut(name) else { return };
        let status = &mut queue.status;
        if status.state.is_none() {
            status.state = Some(state_text(report.state).to_owned());
        }
        let used = report.allocated.iter().filter(|entry| !entry.1.is_zero());
        status.allocated = used
            .map(|(name, amount)| {
                let text = amount.format(Format::of(name));
                (name.to_string(), Scalar::from(text.as_str()))
            })
            .collect();
    }
}

fn condition(held: &Condition) -> PodGroupCondition {
    PodGroupCondition {
        kind: held.kind.as_str().to_owned(),
        status: "True".to_owned(),
        reason: held.reason.to_string(),
        message: held.message.clone(),
    }
}

/// A pod without node has no device.
pub(super) fn drop_device_labels(pod: &mut Pod) {
    pod.metadata.labels.retain(|key, _| !key.starts_with(DEVICE_GROUP));
}

fn has_uid(pod: &Pod, uid: &str) -> bool {
    pod.metadata.uid.as_deref() == Some(uid)
}
