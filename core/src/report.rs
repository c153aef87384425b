//! Pods, jobs and queues as the scheduler sees them: plain values for other programs and reports.

use std::collections::BTreeMap;

use crate::delta::{GroupPhase, UsedParts};
use crate::ids::{Name, ObjectKey, TimeMs};
use crate::resource::Quantity;
use crate::status::{Condition, QueueReport, QueueState};
use crate::verdict::Reason;

/// Pods that wait, counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Pods that wait, by why their job does; `None` for jobs nobody has looked at yet.
    pub waiting: BTreeMap<Option<Reason>, u32>,
    /// Pods with room held for them.
    pub reserved: u32,
}

/// A pod as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PodView {
    /// Namespace and name.
    pub key: ObjectKey,
    /// Status: Pending, Allocated, Pipelined, Binding, Bound, Running, Releasing, Succeeded,
    /// Failed, Unknown.
    pub status: &'static str,
    /// Node it is on or is being bound to.
    pub node: Option<Name>,
    /// Node held for it.
    pub nominated: Option<Name>,
    /// Devices it shares on either: what they are called there.
    pub devices: Vec<Name>,
    /// Its job.
    pub job: Option<ObjectKey>,
    /// Why it waits, if it does: its own reason, else its job's.
    pub reason: Option<Reason>,
    /// The same as a sentence; the same situation gives the same text.
    pub message: Option<String>,
    /// The reason of its condition `PodScheduled=False`: `Schedulable` if it would have a place but
    /// for the rest of its gang, else `Unschedulable`. `None` if it does not wait, or is gated: then
    /// the condition is not the scheduler's.
    pub unscheduled: Option<&'static str>,
    /// The room held for it, if any.
    pub reservation: Option<ReservationView>,
}

/// Room held for a pod, as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReservationView {
    /// Where.
    pub node: Name,
    /// Since when.
    pub since: TimeMs,
    /// Given up at this time if the room is not free by then.
    pub until: TimeMs,
    /// Were pods evicted for it?
    pub evicted: bool,
    /// Pods on that node that are leaving, sorted by key; none where the room is free and the rest of
    /// the gang is waited for.
    pub waits_for: Vec<ObjectKey>,
}

/// A job as the scheduler sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JobView {
    /// Namespace and name of the PodGroup, or of the pod that is a gang of one.
    pub key: ObjectKey,
    /// Its queue.
    pub queue: Name,
    /// Phase.
    pub phase: GroupPhase,
    /// Minimum number of pods.
    pub min_available: u32,
    /// Pods allocated, binding, bound, running or succeeded.
    pub ready: u32,
    /// Pods with room held for them.
    pub pipelined: u32,
    /// Pods waiting.
    pub pending: u32,
    /// Why it waits, if it does.
    pub reason: Option<Reason>,
    /// The same as a sentence with numbers. Where room is held it ends with the time left: unlike the
    /// condition, which is written, it changes with every look.
    pub message: Option<String>,
    /// Conditions as last written to the object, or read from it.
    pub conditions: Vec<Condition>,
}

/// A queue as the scheduler sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct QueueView {
    /// Object name.
    pub name: Name,
    /// What its pods and those of its children use, sorted by name.
    pub allocated: Vec<(Name, Quantity)>,
    /// Its due, as far as a plugin computes one, sorted by name.
    pub deserved: Vec<(Name, Quantity)>,
    /// Does it take jobs?
    pub state: QueueState,
    /// Largest part of its due (or of the cluster) it uses, in parts per million.
    pub share_ppm: u64,
    /// Its hard limit, sorted by name.
    pub capability: Vec<(Name, Quantity)>,
    /// Room kept for it, sorted by name.
    pub guarantee: Vec<(Name, Quantity)>,
    /// What it uses beyond its due, sorted by name; empty where no plugin says what is due.
    pub borrowed: Vec<(Name, Quantity)>,
    /// What is odd about its limits or its place in the tree, as a sentence.
    pub warnings: Vec<String>,
    /// The part of the cluster it used of late: of cpu, memory and GPUs, in millionths.
    pub past: UsedParts,
}

impl QueueView {
    /// What the queue's status says.
    pub(crate) fn report(self) -> QueueReport {
        let Self { state, allocated, deserved, share_ppm, borrowed, .. } = self;
        QueueReport { state, allocated, deserved, share_ppm, borrowed }
    }
}
