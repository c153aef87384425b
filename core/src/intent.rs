//! What the core asks of the outside, and what it says it decided.

use std::ops::Deref;
use std::sync::Arc;

use crate::delta::{AnnotatedNode, GroupPhase};
use crate::ids::{Name, ObjectKey};
use crate::status::{GangWait, GroupPastReport, GroupReport, QueueReport, ShardReport, WaitReport};

/// A call the outside is to make. Each names what it expects, so that making it twice is harmless.
/// There are as many as pods in a large cycle: what is large and rare stands behind a pointer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Intent {
    /// Bind the pod to the node.
    Bind {
        /// Which pod.
        pod: ObjectKey,
        /// The uid it must still have.
        uid: Name,
        /// Where to.
        node: Name,
        /// What the bind rests on; it names the pod's job.
        ruling: Arc<Ruling>,
    },
    /// See to it that a claim has its volume where the pod goes; comes before the pod's bind, which
    /// must not be made before the claim is bound.
    FixClaim {
        /// Which claim.
        claim: ObjectKey,
        /// The volume it gets; none has one made for the node.
        volume: Option<Name>,
        /// The node the pod goes to.
        node: Name,
        /// The pod that is to be bound.
        pod: ObjectKey,
    },
    /// See to it that a pod has its parts of devices where it goes, and says which they are; comes before
    /// the pod's bind.
    FixDevices {
        /// Which pod.
        pod: ObjectKey,
        /// The uid it must still have.
        uid: Name,
        /// The node it goes to.
        node: Name,
        /// What the devices it shares are called there.
        devices: Box<[Name]>,
    },
    /// Evict the pod.
    Evict {
        /// Which pod.
        pod: ObjectKey,
        /// The uid it must still have.
        uid: Name,
        /// What the eviction rests on; it names the pod's job and the reason.
        ruling: Arc<Ruling>,
    },
    /// Write `status.nominatedNodeName`; none clears it.
    Nominate {
        /// Which pod.
        pod: ObjectKey,
        /// The uid it must still have.
        uid: Name,
        /// The node held for it.
        node: Option<Name>,
    },
    /// Write the annotations that tell of the room held for a pod, in one merge patch that touches
    /// no other key; none removes them.
    Annotate {
        /// The pod.
        pod: ObjectKey,
        /// Its uid.
        uid: Name,
        /// The node held for it.
        reservation: Option<AnnotatedNode>,
    },
    /// Write the pod's condition `PodScheduled=False`; given when the pod begins to wait, or waits for
    /// another class of reason. Numbers in the message that only moved give none.
    Unscheduled {
        /// Which pod.
        pod: ObjectKey,
        /// The uid it must still have.
        uid: Name,
        /// The job it waits with.
        job: ObjectKey,
        /// Why, shared by pods of the job.
        wait: Arc<WaitReport>,
    },
    /// Write the status of a PodGroup; given when phase, counters or the class of its condition
    /// change.
    GroupStatus {
        /// Which PodGroup.
        group: ObjectKey,
        /// Its phase.
        phase: GroupPhase,
        /// The rest of its status.
        report: GroupReport,
    },
    /// Write the times of a PodGroup of KAI's into its annotations; given when one changes.
    GroupPast {
        /// Which PodGroup.
        group: ObjectKey,
        /// All of its times: one that is none is taken away.
        report: Box<GroupPastReport>,
    },
    /// Say why a PodGroup of KAI's waits, in the condition of its node pool and by an event; given when
    /// it begins to wait, or waits for another class of reason.
    GroupWait {
        /// Which PodGroup.
        group: ObjectKey,
        /// Why.
        wait: Box<GangWait>,
    },
    /// Say that room is held for a pod of a PodGroup of KAI's.
    Held {
        /// Which pod.
        pod: ObjectKey,
        /// The uid it must still have.
        uid: Name,
        /// Where.
        node: Name,
        /// What was decided; it names the pod's job.
        ruling: Arc<Ruling>,
    },
    /// Write the status of our shard of nodes; given when it changes.
    ShardStatus {
        /// Which shard.
        shard: Name,
        /// Its status.
        report: Box<ShardReport>,
    },
    /// Write the status of a queue; given when what it uses or is due changes.
    QueueStatus {
        /// Which queue.
        queue: Name,
        /// Its status.
        report: Box<QueueReport>,
    },
}

/// What one cycle decided.
#[derive(Debug, Default)]
pub struct CycleOutcome {
    /// Calls to make, in order.
    pub intents: Vec<Intent>,
    /// What was decided, in the order it was decided.
    pub decisions: Vec<Decision>,
    /// Stages in running order, each with the microseconds it took; empty without a stopwatch.
    pub laps: Vec<(&'static str, u64)>,
    /// What plugins that ask somebody outside had to do with the cycle, each with its name.
    pub consultations: Vec<(&'static str, Consultation)>,
}

/// What a plugin that asks somebody outside says of a cycle.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Consultation {
    /// Questions that were sent.
    pub asked: u64,
    /// Those of them that got no answer, or none that makes sense.
    pub failed: u64,
    /// What went wrong first, as a sentence.
    pub trouble: Option<String>,
    /// A cycle is to come in so many milliseconds even if nothing happens: another answer may be given
    /// by then.
    pub again_ms: Option<i64>,
}

impl CycleOutcome {
    /// Reserves capacity for decisions about more pods with their calls, and for reports on more jobs
    /// and queues: lists of a large cycle are not copied while they grow. Memory nobody writes to costs
    /// nothing.
    pub(crate) fn expect(&mut self, pods: usize, reports: usize) {
        self.decisions.reserve(pods);
        self.intents.reserve(pods + reports);
    }
}

/// What was decided about one pod, in the order it was decided; for reports, never for acting. What it
/// rests on reads as if it were its own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decision {
    /// About which pod.
    pub pod: ObjectKey,
    /// On which node.
    pub node: Name,
    /// What was decided and why: pods of a gang that are placed together share it.
    pub ruling: Arc<Ruling>,
}

impl Deref for Decision {
    type Target = Ruling;

    fn deref(&self) -> &Ruling {
        &self.ruling
    }
}

/// What is the same for pods of one job about which the same was decided: shared by their decisions and
/// calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ruling {
    /// Name of the action that decided.
    pub action: &'static str,
    /// What was decided.
    pub op: DecisionOp,
    /// The pod's job.
    pub job: ObjectKey,
    /// For an eviction: the job it makes room for; `None` if it makes room for nobody in particular.
    pub beneficiary: Option<ObjectKey>,
    /// Why a pod is evicted, or why room is given up.
    pub reason: Option<String>,
}

/// Kind of a [`Decision`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecisionOp {
    /// The pod is to be bound.
    Bind,
    /// The pod is to be evicted.
    Evict,
    /// Room that is not free yet is held for the pod.
    Pipeline,
    /// Room is no longer held for the pod.
    Unpipeline,
}

impl DecisionOp {
    /// The word used in reports.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Bind => "bind",
            Self::Evict => "evict",
            Self::Pipeline => "pipeline",
            Self::Unpipeline => "unpipeline",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_large_cycle_says_of_each_pod_is_small() {
        assert!(size_of::<Intent>() <= 64, "{} bytes an intent", size_of::<Intent>());
        assert!(size_of::<Decision>() <= 32, "{} bytes a decision", size_of::<Decision>());
    }
}
