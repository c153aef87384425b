//! What a Scenario expects of its run, as written under `expect`.

use muster_core::delta::GroupPhase;
use muster_core::ids::{Name, ObjectKey};
use muster_core::resource::Quantity;
use muster_core::verdict::Reason;

/// One entry of `expect`.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The entry on one line as it was written, for reports: `bound {gang: default/a, pods: 3}`.
    pub text: String,
    /// Judge the state after this cycle (counted from 1); none is the end of the run.
    pub cycle: Option<u32>,
    /// What must hold.
    pub assertion: Assertion,
}

/// What must hold.
#[derive(Clone, Debug, PartialEq)]
pub enum Assertion {
    /// A number of pods are bound or running.
    Bound(PodCount),
    /// A number of pods have room held for them.
    Pipelined(PodCount),
    /// A number of pods wait.
    Pending(PodCount),
    /// A number of evictions were made since the run began.
    Evicted {
        /// Whose.
        of: Subject,
        /// How many.
        times: Range<u64>,
    },
    /// The gang's placed pods share one domain of this tier or a lower one.
    SameDomain {
        /// The gang.
        gang: ObjectKey,
        /// Only this sub-group of it, by the name of the policy and the values of its labels.
        subgroup: Option<String>,
        /// The widest tier allowed.
        tier: u32,
    },
    /// The PodGroup is in this phase.
    Phase {
        /// The PodGroup.
        pod_group: ObjectKey,
        /// The phase.
        is: GroupPhase,
    },
    /// The gang waits for this reason.
    Reason {
        /// The gang.
        gang: ObjectKey,
        /// The reason.
        is: Reason,
    },
    /// No decision is made after this cycle.
    QuietAfter(u32),
    /// The queue uses so much, so much is due to it, and it used so much of late.
    Queue {
        /// The queue.
        name: Name,
        /// Bounds by resource name, sorted; a name that is absent is not judged.
        allocated: Bounds,
        /// What is due to a queue of KAI's, likewise.
        fair_share: Vec<(Name, Quantity)>,
        /// The part of the cluster it used of late, in bounds.
        usage: Bounds,
    },
    /// The node has so much left.
    Node {
        /// The node.
        name: Name,
        /// What no pod takes, likewise.
        idle: Bounds,
        /// What pods that leave give back, likewise.
        releasing: Bounds,
    },
    /// Something this version does not have: it never holds.
    Beyond(Beyond),
}

/// Bounds by resource name, sorted.
pub type Bounds = Vec<(Name, Range<Quantity>)>;

/// What an expectation can speak of and this version does not have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Beyond {
    /// Zones within a node.
    NumaZones,
    /// Devices that claims get.
    Devices,
}

impl Beyond {
    /// Why the expectation does not hold.
    pub fn sentence(self) -> &'static str {
        match self {
            Self::NumaZones => "this version has no NUMA zones",
            Self::Devices => "this version allocates no devices to claims",
        }
    }
}

/// How many pods of whom, and where.
#[derive(Clone, Debug, PartialEq)]
pub struct PodCount {
    /// Whose pods.
    pub of: Subject,
    /// How many; `None` means all of them.
    pub pods: Option<Range<u64>>,
    /// Only on these nodes; none is anywhere. A pod of the subject in that state elsewhere fails
    /// the assertion.
    pub nodes: Option<Vec<Name>>,
    /// Only on these GPUs, which they share, by name; none is on any.
    pub devices: Option<Vec<Name>>,
    /// What is expected beside that this version does not have.
    pub beyond: Option<Beyond>,
}

/// Whom an assertion speaks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Subject {
    /// Everything.
    All,
    /// The pods of one gang.
    Gang(ObjectKey),
    /// One pod.
    Pod(ObjectKey),
}

/// Bounds, both included; a missing one does not bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range<T> {
    /// Not less than this.
    pub min: Option<T>,
    /// Not more than this.
    pub max: Option<T>,
}

impl<T: PartialOrd + Copy> Range<T> {
    /// Exactly this.
    pub fn exactly(value: T) -> Self {
        Self { min: Some(value), max: Some(value) }
    }

    /// Is the value within the bounds?
    pub fn contains(&self, value: T) -> bool {
        self.min.is_none_or(|min| min <= value) && self.max.is_none_or(|max| value <= max)
    }
}
