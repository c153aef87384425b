//! What a configuration is made of: switches, arguments, actions, and how the machine is used.
//!
//! The file format lives in the outer crate; here are only values that are already known to be
//! valid. A whole configuration names plugins, which are known further up: it is
//! `policy::SchedulerConfig`.

mod action;
mod argument;
mod dialect;
pub mod boolean;
pub mod duration;
mod view;
mod wall_clock;
mod cron;
mod usage_window;

pub use action::{
    ACTIONS, ALLOW_CONSOLIDATING_KEY, ActionConfig, ActionKind, ActionSpec, EvictPurpose,
    GANG_AWARE_KEY, GangAware, KAI_ACTIONS, MAX_PREEMPTEES_KEY, QUEUE_DEPTH_KEY, STALE_GRACE_KEY,
};
pub use argument::{
    AmountScale, ArgumentKind, ArgumentSpec, ArgumentValue, Arguments, Values, arg, argument,
};
pub use cron::{CronTimes, InvalidCron};
pub use dialect::Dialect;
pub use usage_window::{UsageRecording, UsageSpan, UsageWindow};
pub use view::{DividingQueues, Pool, View, WorkerLabels};
pub use wall_clock::{DAY_MS, TimeOfDay, WallClock};

use crate::ids::Name;

/// A switch per extension point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
#[expect(missing_docs, reason = "each is named after the flag that switches it")]
pub enum Gate {
    JobOrder,
    Hierarchy,
    JobReady,
    JobPipelined,
    TaskOrder,
    Preemptable,
    Reclaimable,
    Preemptive,
    QueueOrder,
    ClusterOrder,
    Predicate,
    BestNode,
    NodeOrder,
    TargetJob,
    ReservedNodes,
    JobEnqueued,
    Victim,
    JobStarving,
    Overused,
    Allocatable,
    HyperNodeOrder,
    SubJobReady,
    SubJobPipelined,
    SubJobOrder,
    HyperNodeGradient,
}

impl Gate {
    /// Every gate, in the order of declaration.
    pub const ALL: [Self; 25] = [
        Self::JobOrder,
        Self::Hierarchy,
        Self::JobReady,
        Self::JobPipelined,
        Self::TaskOrder,
        Self::Preemptable,
        Self::Reclaimable,
        Self::Preemptive,
        Self::QueueOrder,
        Self::ClusterOrder,
        Self::Predicate,
        Self::BestNode,
        Self::NodeOrder,
        Self::TargetJob,
        Self::ReservedNodes,
        Self::JobEnqueued,
        Self::Victim,
        Self::JobStarving,
        Self::Overused,
        Self::Allocatable,
        Self::HyperNodeOrder,
        Self::SubJobReady,
        Self::SubJobPipelined,
        Self::SubJobOrder,
        Self::HyperNodeGradient,
    ];
}

/// The set of open gates of one plugin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gates(u32);

impl Default for Gates {
    /// All open except `Hierarchy` and `ClusterOrder`, as in Volcano.
    fn default() -> Self {
        let all = Gate::ALL.iter().fold(0, |bits, &gate| bits | (1 << gate as u32));
        Self(all & !(1 << Gate::Hierarchy as u32) & !(1 << Gate::ClusterOrder as u32))
    }
}

impl Gates {
    /// Is the gate open?
    pub fn is_open(self, gate: Gate) -> bool {
        self.0 & (1 << gate as u32) != 0
    }

    /// Opens the gate.
    pub fn open(&mut self, gate: Gate) {
        self.0 |= 1 << gate as u32;
    }

    /// Closes the gate.
    pub fn close(&mut self, gate: Gate) {
        self.0 &= !(1 << gate as u32);
    }
}

/// The `schedule:` section: how the cycle uses the machine. None of it changes what is decided,
/// except that a time budget may end a search early, which the verdict then says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tuning {
    /// Worker threads of the one pool; none is one per core.
    pub threads: Option<usize>,
    /// Node rows one thread takes at a time.
    pub rows_per_block: usize,
    /// Node rows from which on a pass goes parallel.
    pub parallel_threshold: usize,
    /// Longest time an action may take, in milliseconds; none is no limit.
    pub action_budget_ms: Option<u64>,
    /// Jobs of one queue an action tries in a cycle; `None` means no limit.
    pub jobs_per_queue: Option<u32>,
    /// Longest sleep between two cycles, in milliseconds.
    pub period_ms: u64,
    /// How pods are asked to leave on a real cluster.
    pub eviction: EvictionMode,
    /// How much is said of the nodes when a job finds no room.
    pub fit_errors: FitErrors,
    /// How rankings of nodes follow what changes. No file sets it: there is nothing to gain from it
    /// but a second opinion.
    pub upkeep: Upkeep,
}

/// How the rankings of nodes follow what changes on them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Upkeep {
    /// Rows that changed are looked at again.
    #[default]
    Mend,
    /// All rows are looked at for every task: the naive twin tests and benches compare with.
    Rescan,
}

/// How much the reason of a job without room says of the nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FitErrors {
    /// How many nodes stand in the way for which reason.
    #[default]
    Counted,
    /// That, and for each node what it lacks.
    PerNode,
}

/// How a pod is asked to leave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum EvictionMode {
    /// It is deleted, with a condition that says why.
    #[default]
    Delete,
    /// It is deleted, and only an event says why.
    BareDelete,
    /// The Eviction API is asked, which may say no on account of a disruption budget.
    Evict,
}

impl Default for Tuning {
    fn default() -> Self {
        Self {
            threads: None,
            rows_per_block: 1024,
            parallel_threshold: 2048,
            action_budget_ms: None,
            jobs_per_queue: None,
            period_ms: 1000,
            eviction: EvictionMode::Delete,
            fit_errors: FitErrors::Counted,
            upkeep: Upkeep::Mend,
        }
    }
}

/// The `sharding:` section: which nodes are ours where several schedulers divide a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sharding {
    /// Name of the `NodeShard` that lists our nodes.
    pub shard: Name,
    /// What the others are to us.
    pub mode: ShardingMode,
}

/// What nodes outside our shard are to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShardingMode {
    /// Closed.
    Hard,
    /// The last resort: used where none of our own will do.
    Soft,
}

impl ShardingMode {
    /// Every value, in the order the documents list them.
    pub const ALL: [Self; 2] = [Self::Hard, Self::Soft];

    /// The word used in the file and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hard => "hard",
            Self::Soft => "soft",
        }
    }
}

/// The `pipeline:` section: how long room is held for a pod, and where that is written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PipelineConfig {
    /// Where reservations are written down for the next start of the scheduler.
    pub persistence: Persistence,
    /// Longest time room is held, or a call goes unanswered, in milliseconds.
    pub deadline_ms: i64,
    /// How long after a pod was to be gone its room is still counted as room to come, in milliseconds;
    /// none is until somebody waited for it in vain.
    pub stuck_after_ms: Option<i64>,
}

impl Default for PipelineConfig {
    fn default() -> Self {
        Self { persistence: Persistence::NominatedNode, deadline_ms: 600_000, stuck_after_ms: None }
    }
}

/// Where reservations are written down.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Persistence {
    /// In `status.nominatedNodeName` of the pod.
    NominatedNode,
    /// In annotations of the pod.
    Annotations,
    /// In both; the annotations count where they disagree.
    Both,
    /// Nowhere: they are forgotten at the end of each cycle. For comparisons.
    None,
}

impl Persistence {
    /// Every value, in the order the documents list them.
    pub const ALL: [Self; 4] = [Self::NominatedNode, Self::Annotations, Self::Both, Self::None];

    /// The word used in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NominatedNode => "nominatedNode",
            Self::Annotations => "annotations",
            Self::Both => "both",
            Self::None => "none",
        }
    }

    /// Is `status.nominatedNodeName` written and read?
    pub fn nominates(self) -> bool {
        matches!(self, Self::NominatedNode | Self::Both)
    }

    /// Are annotations written and read?
    pub fn annotates(self) -> bool {
        matches!(self, Self::Annotations | Self::Both)
    }
}
