//! A Scenario after it was read and expanded: what the embedded cluster runs.

use std::path::PathBuf;

use muster_core::ids::ObjectKey;

use super::invariants::Invariant;
use crate::objects::{Object, ObjectKind};

/// One run of the embedded cluster.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// `metadata.name`, or the file's stem for plain manifests; then the variant in brackets.
    pub name: String,
    /// The variant of its file that this run is, where the file has variants.
    pub variant: Option<Variant>,
    /// Where it was read from, for messages.
    pub source: PathBuf,
    /// The scheduler's configuration as text, if the Scenario carries one.
    pub config: Option<String>,
    /// Virtual time from one cycle to the next.
    pub period_ms: i64,
    /// Exactly this many cycles; `None`: until nothing changes.
    pub cycles: Option<u32>,
    /// How nodes behave.
    pub kubelet: Kubelet,
    /// Do evicted pods come back?
    pub recreate: bool,
    /// Objects at time zero, short forms expanded.
    pub objects: Vec<Object>,
    /// What happens later, sorted by time, entries of one time in file order.
    pub timeline: Vec<TimelineEntry>,
    /// The invariants it is held to.
    pub invariants: Checks,
    /// What must hold.
    pub expect: Vec<super::expectation::Expectation>,
    /// What the reader should know about the input, one sentence each.
    pub warnings: Vec<String>,
}

/// The invariants a run is held to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Checks {
    /// Every one.
    #[default]
    All,
    /// Every one but these.
    Except(Vec<Invariant>),
    /// None.
    Off,
}

impl Checks {
    /// Is anything checked at all?
    pub fn any(&self) -> bool {
        *self != Self::Off
    }

    /// Is that one checked?
    pub fn has(&self, invariant: Invariant) -> bool {
        match self {
            Self::All => true,
            Self::Except(left_out) => !left_out.contains(&invariant),
            Self::Off => false,
        }
    }
}

/// One of several runs a file describes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variant {
    /// What tells it apart from the others.
    pub name: String,
    /// Where the file describes it, as in `document 1: spec.variants[0]`.
    pub place: String,
}

/// How nodes behave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Kubelet {
    /// From bound to Running.
    pub start: Delay,
    /// From evicted or deleted to gone.
    pub terminate: Delay,
}

/// How long something takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delay {
    /// A number of milliseconds; zero is before the next cycle.
    Ms(i64),
    /// As long as the pod's own `terminationGracePeriodSeconds` (30 s where absent).
    Grace,
    /// For ever.
    Never,
}

/// What happens at one point of the virtual time.
#[derive(Clone, Debug, Default)]
pub struct TimelineEntry {
    /// Takes effect before the first cycle at or after this time.
    pub at_ms: i64,
    /// Objects added or changed.
    pub apply: Vec<Object>,
    /// Objects removed.
    pub delete: Vec<Deletion>,
    /// Bindings that will fail.
    pub fail_bind: Vec<FailBind>,
    /// Does the scheduler lose its memory?
    pub restart: bool,
}

/// An object to remove.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Deletion {
    /// Which kind.
    pub kind: ObjectKind,
    /// Namespace and name; the namespace is empty for cluster-scoped kinds.
    pub key: ObjectKey,
}

/// Bindings of one pod that fail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailBind {
    /// The pod.
    pub pod: ObjectKey,
    /// How often; none is always.
    pub times: Option<u32>,
}
