//! Carries out what the scheduler decided: one task a call, a bounded number at a time.
//!
//! Files stand in the order a call passes them. `call_queue` keeps calls about one object in order and
//! holds reports back for a moment, so that several become one; `dispatcher` starts them, or `dry_run`
//! logs them instead; `api` knows the way of each kind; `bind`, `claim`, `evict`, `pod_status`,
//! `group_status`, `kai_group`, `queue_status`, `shard_status` and `event` know what its requests look like; `client` sends these,
//! with `verify`, `failure` and `rate_limit` below it.

mod call_queue;
pub(crate) mod dispatcher;
pub(crate) mod dry_run;
pub(crate) mod api;
mod bind;
mod claim;
mod evict;
mod pod_status;
mod group_status;
mod kai_group;
mod queue_status;
mod shard_status;
pub(crate) mod event;
mod client;
mod verify;
mod failure;
mod rate_limit;

use std::fmt;
use std::sync::Arc;

use muster_core::delta::{AnnotatedNode, GroupPhase};
use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::{Intent, Ruling};
use muster_core::status::{
    GangWait, GroupPastReport, GroupReport, QueueReport, ShardReport, WaitReport,
};

/// A call to the API server.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    /// Changes what happens to a pod.
    Act(Act),
    /// Writes how things stand.
    Report(Report),
}

impl Call {
    /// What it is about.
    pub(crate) fn subject(&self) -> Subject {
        match self {
            Self::Act(Act { pod, .. }) | Self::Report(Report::Wait { pod, .. }) => {
                Subject::Pod(pod.key.clone())
            }
            Self::Report(Report::Group { group, .. } | Report::GangWait { group, .. }) => {
                Subject::Group(group.clone())
            }
            Self::Report(Report::Past { group, .. }) => Subject::Past(group.clone()),
            Self::Report(Report::Queue { queue, .. }) => Subject::Queue(queue.clone()),
            Self::Report(Report::Shard { shard, .. }) => Subject::Shard(shard.clone()),
        }
    }
}

/// The object a call is about: calls about the same one are made one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// A pod.
    Pod(ObjectKey),
    /// A PodGroup.
    Group(ObjectKey),
    /// The past of a PodGroup, which is written apart from its status.
    Past(ObjectKey),
    /// A queue.
    Queue(Name),
    /// Our shard of nodes.
    Shard(Name),
}

/// A pod as calls name it; prints as its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PodRef {
    /// Namespace and name.
    pub(crate) key: ObjectKey,
    /// The uid it must still have.
    pub(crate) uid: Name,
}

impl fmt::Display for PodRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.key.fmt(f)
    }
}

/// A call that changes what happens to a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Act {
    /// The pod.
    pub(crate) pod: PodRef,
    /// What happens to it.
    pub(crate) kind: ActKind,
}

/// What happens to a pod.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ActKind {
    /// It is bound once its claims have their volumes.
    Bind {
        /// Where to.
        node: Name,
        /// What was decided.
        ruling: Arc<Ruling>,
        /// Claims that need a volume first.
        claims: Vec<ClaimFix>,
    },
    /// It is evicted.
    Evict {
        /// What was decided.
        ruling: Arc<Ruling>,
    },
    /// The node held for it is written, or cleared.
    Nominate(Option<Name>),
    /// The annotations about the room held for it are written, or removed.
    Annotate(Option<AnnotatedNode>),
    /// An event says that room is held for it.
    Held {
        /// Where.
        node: Name,
        /// What was decided.
        ruling: Arc<Ruling>,
    },
}

/// A claim that needs a volume before its pod is bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ClaimFix {
    /// The claim.
    pub(crate) claim: ObjectKey,
    /// The volume it gets; without one, a volume is provisioned.
    pub(crate) volume: Option<Name>,
}

/// A call that tells users and controllers how things stand; only the newest counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Report {
    /// A pod waits.
    Wait {
        /// The pod.
        pod: PodRef,
        /// Its job.
        job: ObjectKey,
        /// Why it waits.
        wait: Arc<WaitReport>,
    },
    /// Status of a PodGroup.
    Group {
        /// The PodGroup.
        group: ObjectKey,
        /// Its phase.
        phase: GroupPhase,
        /// The rest.
        report: GroupReport,
    },
    /// The past of a PodGroup of KAI's.
    Past {
        /// The PodGroup.
        group: ObjectKey,
        /// Its times.
        report: Box<GroupPastReport>,
    },
    /// A PodGroup of KAI's waits.
    GangWait {
        /// The PodGroup.
        group: ObjectKey,
        /// Why.
        wait: Box<GangWait>,
    },
    /// Status of a queue.
    Queue {
        /// The queue.
        queue: Name,
        /// Its status.
        report: Box<QueueReport>,
    },
    /// Status of our shard of nodes.
    Shard {
        /// The shard.
        shard: Name,
        /// Its status.
        report: Box<ShardReport>,
    },
}

/// The calls of a cycle, in order. Claims go with the bind of their pod, which they come before.
pub(crate) fn calls(intents: Vec<Intent>) -> Vec<Call> {
    let mut claims: Vec<(ObjectKey, ClaimFix)> = Vec::new();
    let mut calls = Vec::with_capacity(intents.len());
    for intent in intents {
        calls.push(match intent {
            Intent::FixClaim { claim, volume, pod, .. } => {
                claims.push((pod, ClaimFix { claim, volume }));
                continue;
            }
            // A pod that asks for parts of devices is set aside on a real cluster: it is never placed.
            Intent::FixDevices { .. } => continue,
            Intent::Bind { pod, uid, node, ruling } => {
                let own = claims.extract_if(.., |(of, _)| *of == pod).map(|(_, fix)| fix).collect();
                act(pod, uid, ActKind::Bind { node, ruling, claims: own })
            }
            Intent::Evict { pod, uid, ruling } => act(pod, uid, ActKind::Evict { ruling }),
            Intent::Nominate { pod, uid, node } => act(pod, uid, ActKind::Nominate(node)),
            Intent::Annotate { pod, uid, reservation } => {
                act(pod, uid, ActKind::Annotate(reservation))
            }
            Intent::Unscheduled { pod, uid, job, wait } => {
                Call::Report(Report::Wait { pod: PodRef { key: pod, uid }, job, wait })
            }
            Intent::GroupStatus { group, phase, report } => {
                Call::Report(Report::Group { group, phase, report })
            }
            Intent::GroupPast { group, report } => Call::Report(Report::Past { group, report }),
            Intent::GroupWait { group, wait } => Call::Report(Report::GangWait { group, wait }),
            Intent::Held { pod, uid, node, ruling } => {
                act(pod, uid, ActKind::Held { node, ruling })
            }
            Intent::QueueStatus { queue, report } => Call::Report(Report::Queue { queue, report }),
            Intent::ShardStatus { shard, report } => Call::Report(Report::Shard { shard, report }),
        });
    }
    calls
}

fn act(pod: ObjectKey, uid: Name, kind: ActKind) -> Call {
    Call::Act(Act { pod: PodRef { key: pod, uid }, kind })
}

#[cfg(test)]
mod tests;
