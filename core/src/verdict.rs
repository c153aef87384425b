//! Why a job or a pod waits: a stable code, with the numbers beside it.

/// Why a job waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verdict {
    /// Stable code.
    pub reason: Reason,
    /// The same as a sentence with numbers; the same situation gives the same text.
    pub message: String,
}

impl Verdict {
    /// A verdict with its message.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self { reason, message: message.into() }
    }
}

/// Stable reason codes; the list grows, names never change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The object is malformed.
    SetAside,
    /// A scheduling gate holds a pod the gang needs.
    Gated,
    /// Fewer pods exist than the minimum.
    GangIncomplete,
    /// The queue takes no jobs.
    QueueClosed,
    /// The queue would exceed its capability.
    QueueOverCapability,
    /// The queue would exceed its quota with work that makes way for nobody.
    QueueOverQuota,
    /// Admission has not let the job in.
    NotAdmitted,
    /// Rules other than room leave no node.
    NoNodeMatches,
    /// Nodes match, but have no room.
    NotEnoughResources,
    /// Room exists, but not within one domain of the allowed tier.
    TopologyUnsatisfied,
    /// Not even the empty cluster could hold it.
    NeverFits,
    /// Room could only come from pods that may not be evicted.
    NoLegalVictims,
    /// Reserved; the room is being freed.
    WaitingForVictims,
    /// Binds failed repeatedly; the next attempt comes later.
    BindBackoff,
    /// A time budget ended the search.
    SearchCut,
    /// Somebody outside who is asked does not agree, or has not answered.
    Refused,
    /// It was to be tried once in its node pool, and was.
    TriedOnce,
}

impl Reason {
    /// The code as written in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::SetAside => "SetAside",
            Self::Gated => "Gated",
            Self::GangIncomplete => "GangIncomplete",
            Self::QueueClosed => "QueueClosed",
            Self::QueueOverCapability => "QueueOverCapability",
            Self::QueueOverQuota => "QueueOverQuota",
            Self::NotAdmitted => "NotAdmitted",
            Self::NoNodeMatches => "NoNodeMatches",
            Self::NotEnoughResources => "NotEnoughResources",
            Self::TopologyUnsatisfied => "TopologyUnsatisfied",
            Self::NeverFits => "NeverFits",
            Self::NoLegalVictims => "NoLegalVictims",
            Self::WaitingForVictims => "WaitingForVictims",
            Self::BindBackoff => "BindBackoff",
            Self::SearchCut => "SearchCut",
            Self::Refused => "Refused",
            Self::TriedOnce => "TriedOnce",
        }
    }
}
