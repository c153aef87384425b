//! Why room is no longer held for a pod, and how often: words and numbers for reports.

use crate::ids::TimeMs;

/// Why a reservation was given up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Release {
    /// The room was not free by its deadline.
    Deadline,
    /// The node is gone.
    NodeGone,
    /// More is held on the node than is free or leaving.
    Overbooked,
    /// Rules no longer allow the pod on the node.
    Closed,
    /// The rest of the gang is not covered any more.
    Uncovered,
    /// The PodGroup or the queue is gone.
    OwnerGone,
    /// The job is not admitted.
    NotAdmitted,
    /// The pod is leaving, has ended or is gone.
    PodGone,
    /// The pod is on another node.
    BoundElsewhere,
    /// The bind that was to follow failed again.
    BindFailed,
    /// The cycle ended, and reservations do not outlive it here.
    Forgotten,
    /// The one that leads no longer holds it.
    Withdrawn,
    /// The pod it was to replace was not evicted.
    Stayed,
}

impl Release {
    /// Every cause, in the order of declaration.
    pub const ALL: [Self; 13] = [
        Self::Deadline,
        Self::NodeGone,
        Self::Overbooked,
        Self::Closed,
        Self::Uncovered,
        Self::OwnerGone,
        Self::NotAdmitted,
        Self::PodGone,
        Self::BoundElsewhere,
        Self::BindFailed,
        Self::Forgotten,
        Self::Withdrawn,
        Self::Stayed,
    ];

    /// The stable code used in results.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deadline => "deadline",
            Self::NodeGone => "node-gone",
            Self::Overbooked => "overbooked",
            Self::Closed => "closed",
            Self::Uncovered => "uncovered",
            Self::OwnerGone => "owner-gone",
            Self::NotAdmitted => "not-admitted",
            Self::PodGone => "pod-gone",
            Self::BoundElsewhere => "bound-elsewhere",
            Self::BindFailed => "bind-failed",
            Self::Forgotten => "forgotten",
            Self::Withdrawn => "withdrawn",
            Self::Stayed => "stayed",
        }
    }

    /// The same for people.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Deadline => "the room was not free by its deadline",
            Self::NodeGone => "the node is gone",
            Self::Overbooked => "more is held on the node than is free or leaving",
            Self::Closed => "rules no longer allow the pod there",
            Self::Uncovered => "the gang as a whole is no longer covered",
            Self::OwnerGone => "its PodGroup or queue is gone",
            Self::NotAdmitted => "its job is not admitted",
            Self::PodGone => "the pod is gone",
            Self::BoundElsewhere => "the pod is on another node",
            Self::BindFailed => "its bind failed",
            Self::Forgotten => "reservations end with the cycle",
            Self::Withdrawn => "the scheduler that leads no longer holds it",
            Self::Stayed => "the pod it was to replace stays",
        }
    }
}

/// How many reservations there were since the scheduler started, by what became of them. What was
/// made or restored is confirmed, released or still held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReservationCounts {
    /// Decided.
    pub made: u64,
    /// Read back from pods.
    pub restored: u64,
    /// Ended with the pod on the node.
    pub confirmed: u64,
    /// Given up, in the order of [`Release::ALL`].
    pub released: [u64; Release::ALL.len()],
}

impl ReservationCounts {
    /// Given up for a cause.
    pub fn released_for(&self, cause: Release) -> u64 {
        self.released[cause as usize]
    }

    /// Made or restored, neither confirmed nor released.
    pub fn held(&self) -> u64 {
        let ended = self.confirmed + self.released.iter().sum::<u64>();
        (self.made + self.restored).saturating_sub(ended)
    }

    /// Adds the numbers of another life of the scheduler.
    pub fn add(&mut self, other: &Self) {
        self.made += other.made;
        self.restored += other.restored;
        self.confirmed += other.confirmed;
        for (total, more) in self.released.iter_mut().zip(other.released) {
            *total += more;
        }
    }
}

/// What is left of a wait, as the end of a sentence. For texts people look at: it must not go into
/// anything that is written when it changes.
pub fn time_left(until: TimeMs, now: TimeMs) -> String {
    let left = until.0.saturating_sub(now.0).max(0);
    format!(", {} s left", (left + 999) / 1000)
}
