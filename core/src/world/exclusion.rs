//! What keeps a class of tasks off a node, and when.

use crate::kernel::fit::Fit;

/// Why a rule excludes a node.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Obstacle {
    /// No rule does.
    #[default]
    None,
    /// The node object is not there.
    Absent,
    /// The node is another scheduler's.
    OtherShard,
    /// The node is marked unschedulable.
    Unschedulable,
    /// Node selector or required affinity does not match.
    NodeAffinity,
    /// A taint is not tolerated.
    Taint,
    /// A host port the task wants is taken.
    Ports,
    /// None of the pods the task must be near is there.
    PodAffinity,
    /// A pod the task must stay away from is there.
    PodAntiAffinity,
    /// A pod is there that keeps the task away.
    OtherAntiAffinity,
    /// Placing the task there would make the spread too uneven.
    TopologySpread,
    /// A volume of the task is in another zone.
    VolumeZone,
    /// No volume for the task's claims can be reached from there.
    VolumeBinding,
    /// No further volume of that kind can be attached.
    VolumeLimit,
    /// A volume only one pod may use is in use.
    VolumeInUse,
    /// The node belongs to no group of nodes the queue may use.
    NodeGroup,
    /// The queue has used up what it may take of the group of nodes.
    NodeGroupLimit,
    /// The node is lent, and not at this hour.
    LentLater,
    /// The node is lent to others than the task.
    Lent,
    /// Its devices are divided, or not, against what the task asks for.
    DeviceKind,
    /// A pod is there with instances of devices that nobody can count.
    LooseInstances,
    /// What is idle there is kept for tasks that ask for scarce resources.
    Proportional,
    /// More of its cpu is in use than is allowed.
    CpuLoad,
    /// More of its memory is in use than is allowed.
    MemoryLoad,
    /// Somebody outside who is asked wants no such task there.
    Refused,
    /// The same, whichever pods leave the node.
    RefusedForGood,
    /// Somebody outside who must be asked has not answered.
    Unanswered,
    /// A rule of a plugin beyond the built-in ones.
    Other,
}

impl Obstacle {
    /// Every obstacle a node that exists may have, in the order they are reported.
    pub const ALL: [Self; 26] = [
        Self::OtherShard,
        Self::Unschedulable,
        Self::NodeAffinity,
        Self::Taint,
        Self::Ports,
        Self::PodAffinity,
        Self::PodAntiAffinity,
        Self::OtherAntiAffinity,
        Self::TopologySpread,
        Self::VolumeZone,
        Self::VolumeBinding,
        Self::VolumeLimit,
        Self::VolumeInUse,
        Self::NodeGroup,
        Self::NodeGroupLimit,
        Self::LentLater,
        Self::Lent,
        Self::DeviceKind,
        Self::LooseInstances,
        Self::Proportional,
        Self::CpuLoad,
        Self::MemoryLoad,
        Self::Refused,
        Self::RefusedForGood,
        Self::Unanswered,
        Self::Other,
    ];

    /// Does it stay, whichever pods leave the node?
    pub fn is_lasting(self) -> bool {
        matches!(
            self,
            Self::Absent
                | Self::OtherShard
                | Self::Unschedulable
                | Self::NodeAffinity
                | Self::Taint
                | Self::VolumeZone
                | Self::NodeGroup
                | Self::DeviceKind
                | Self::CpuLoad
                | Self::MemoryLoad
                | Self::LentLater
                | Self::Lent
                | Self::RefusedForGood
                | Self::Unanswered
        )
    }

    /// The obstacle in words, after a number of nodes.
    pub fn describe(self) -> &'static str {
        match self {
            Self::None => "open",
            Self::Absent => "gone",
            Self::OtherShard => "of another scheduler's shard",
            Self::Unschedulable => "unschedulable",
            Self::NodeAffinity => "not matching the node selector or affinity",
            Self::Taint => "with a taint not tolerated",
            Self::Ports => "with a wanted host port taken",
            Self::PodAffinity => "without the pods it must be near",
            Self::PodAntiAffinity => "with pods it must stay away from",
            Self::OtherAntiAffinity => "with pods that keep it away",
            Self::TopologySpread => "where it would make the spread too uneven",
            Self::VolumeZone => "in another zone than its volumes",
            Self::VolumeBinding => "that no volume for its claims reaches",
            Self::VolumeLimit => "with no attachment left for its volumes",
            Self::VolumeInUse => "while its volume is used by another pod",
            Self::NodeGroup => "in no node group of its queue",
            Self::NodeGroupLimit => "in a node group of which its queue has enough",
            Self::LentLater => "lent, but not at this hour",
            Self::Lent => "lent to pods that say they may lose them again",
            Self::DeviceKind => "whose GPUs are not divided as it needs them",
            Self::LooseInstances => "with a pod that names its GPU instances in an annotation",
            Self::Proportional => "kept for pods that ask for scarce resources",
            Self::CpuLoad => "whose cpu load is too high",
            Self::MemoryLoad => "whose memory load is too high",
            Self::Refused => "refused by the extender",
            Self::RefusedForGood => "refused by the extender for good",
            Self::Unanswered => "the extender gave no answer about",
            Self::Other => "excluded by a plugin",
        }
    }
}

/// What keeps a class of tasks off a node: right now, and once what is leaving the node has left.
///
/// Most rules bar both. A rule about other pods may bar only one of them: a port held by a pod that is
/// leaving bars now and not later.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Exclusion {
    /// The first rule that keeps tasks from being bound there now.
    pub now: Obstacle,
    /// The first rule that keeps room there from being held for tasks.
    pub later: Obstacle,
}

impl Exclusion {
    /// Nothing keeps tasks off.
    pub const OPEN: Self = Self { now: Obstacle::None, later: Obstacle::None };

    /// A rule that holds now and later; one met before it stays.
    pub fn raise(&mut self, obstacle: Obstacle) {
        self.raise_now(obstacle);
        self.raise_later(obstacle);
    }

    /// A rule that holds until what is leaving has left.
    pub fn raise_now(&mut self, obstacle: Obstacle) {
        if self.now == Obstacle::None {
            self.now = obstacle;
        }
    }

    /// A rule that will hold once what is leaving has left.
    pub fn raise_later(&mut self, obstacle: Obstacle) {
        if self.later == Obstacle::None {
            self.later = obstacle;
        }
    }

    /// What other rules say as well; what was met before stays.
    pub fn join(&mut self, other: Self) {
        self.raise_now(other.now);
        self.raise_later(other.later);
    }

    /// Neither now nor later: further rules need not be asked.
    pub fn is_closed(self) -> bool {
        self.now != Obstacle::None && self.later != Obstacle::None
    }

    /// How the node serves where room alone would give the fit.
    #[must_use]
    pub fn limit(self, room: Fit) -> Fit {
        match (self.now, self.later, room) {
            (Obstacle::None, Obstacle::None, room) => room,
            (Obstacle::None, _, Fit::Idle) => Fit::Idle,
            (_, Obstacle::None, room) => room.min(Fit::Future),
            _ => Fit::None,
        }
    }
}
