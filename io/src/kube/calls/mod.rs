//! What the scheduler wants, carried out: one task a call, a bounded number at a time.
//!
//! `tray` keeps calls about one object in order and holds reports back for a moment, so that several
//! become one; `desk` starts them; `office` issues one call, again and again while the trouble is
//! transient; `bind`, `evict`, `claim`, `pod`, `group`, `queue` and `event` know what each call
//! looks like.

pub(crate) mod desk;
pub(crate) mod office;
mod tray;
mod pace;
mod failure;
mod bind;
mod evict;
mod claim;
mod pod;
mod group;
mod queue;
pub(crate) mod event;

use std::sync::Arc;

use muster_core::delta::{AnnotatedNode, GroupPhase};
use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::{Decision, DecisionOp, Intent};
use muster_core::status::{GroupReport, QueueReport, WaitReport};

/// What calls are about: those about the same are made one after the other.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Subject {
    /// A pod.
    Pod(ObjectKey),
    /// A PodGroup.
    Group(ObjectKey),
    /// A queue.
    Queue(Name),
}

/// A call that changes what happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Act {
    /// Bind a pod once its claims are seen to.
    Bind {
        /// Its uid.
        uid: Name,
        /// Where to.
        node: Name,
        /// Its job.
        job: ObjectKey,
        /// Claims to be seen to first: each with the volume it gets, none has one made.
        claims: Vec<(ObjectKey, Option<Name>)>,
    },
    /// Evict a pod.
    Evict {
        /// Its uid.
        uid: Name,
        /// Its job.
        job: ObjectKey,
        /// Why, for people.
        reason: String,
    },
    /// Write the node held for a pod; none clears it.
    Nominate {
        /// Its uid.
        uid: Name,
        /// The node.
        node: Option<Name>,
    },
    /// Write the annotations that tell of the room held for a pod, or remove them.
    Annotate {
        /// Its uid.
        uid: Name,
        /// The room.
        reservation: Option<AnnotatedNode>,
    },
}

/// A call that tells people and controllers how things stand; only the newest counts.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Report {
    /// A pod waits.
    Wait {
        /// Its uid.
        uid: Name,
        /// Its job.
        job: ObjectKey,
        /// Why.
        wait: Arc<WaitReport>,
    },
    /// Status of a PodGroup.
    Group {
        /// Its phase.
        phase: GroupPhase,
        /// The rest.
        report: GroupReport,
    },
    /// Status of a queue.
    Queue(Box<QueueReport>),
}

/// A call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Call {
    /// Of the first kind.
    Act(Act),
    /// Of the second.
    Report(Report),
}

/// The calls of a cycle, in order. Claims go with the bind they come before, and binds and evictions
/// with the job their decision names.
pub(crate) fn calls(intents: Vec<Intent>, decisions: &[Decision]) -> Vec<(Subject, Call)> {
    let mut made = decisions
        .iter()
        .filter(|decision| matches!(decision.op, DecisionOp::Bind | DecisionOp::Evict));
    // Both lists are in the order things were decided, so the next decision about the pod is its own.
    let mut job_of = |pod: &ObjectKey| {
        let decision = made.find(|decision| decision.pod == *pod);
        decision.map_or_else(|| pod.clone(), |decision| decision.job.clone())
    };
    let mut claims = Vec::new();
    let mut calls = Vec::with_capacity(intents.len());
    for intent in intents {
        let (subject, call) = match intent {
            Intent::FixClaim { claim, volume, .. } => {
                claims.push((claim, volume));
                continue;
            }
            Intent::Bind { pod, uid, node } => {
                let (job, claims) = (job_of(&pod), std::mem::take(&mut claims));
                (Subject::Pod(pod), Call::Act(Act::Bind { uid, node, job, claims }))
            }
            Intent::Evict { pod, uid, reason } => {
                let job = job_of(&pod);
                (Subject::Pod(pod), Call::Act(Act::Evict { uid, job, reason }))
            }
            Intent::Nominate { pod, uid, node } => {
                (Subject::Pod(pod), Call::Act(Act::Nominate { uid, node }))
            }
            Intent::Annotate { pod, uid, reservation } => {
                (Subject::Pod(pod), Call::Act(Act::Annotate { uid, reservation }))
            }
            Intent::Unscheduled { pod, uid, job, wait } => {
                (Subject::Pod(pod), Call::Report(Report::Wait { uid, job, wait }))
            }
            Intent::GroupStatus { group, phase, report } => {
                (Subject::Group(group), Call::Report(Report::Group { phase, report }))
            }
            Intent::QueueStatus { queue, report } => {
                (Subject::Queue(queue), Call::Report(Report::Queue(report)))
            }
        };
        calls.push((subject, call));
    }
    calls
}

#[cfg(test)]
mod tests;
