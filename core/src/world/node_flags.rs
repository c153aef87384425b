//! What is out of the ordinary about a node, in two bytes a row.
//!
//! Most nodes have no taints, lose no pods and hold nothing for anybody. A pass over all nodes reads
//! this column first and leaves the wide ones alone where nothing is in them.

use std::ops::BitOr;

use bevy_ecs::prelude::Component;

use super::node::{NodeIdentity, NodeRules};
use super::shards::NodeShare;
use super::symbol::Symbol;
use crate::delta::TaintEffect;
use crate::resource::Lanes;

/// A set of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Component)]
#[repr(transparent)]
pub struct NodeFlags(u16);

impl NodeFlags {
    /// The node object is not there.
    pub const ABSENT: Self = Self(1);
    /// It is marked unschedulable.
    pub const UNSCHEDULABLE: Self = Self(2);
    /// It has a taint that keeps pods off.
    pub const REPELS: Self = Self(4);
    /// It has a taint that would rather keep pods off.
    pub const WARNS: Self = Self(8);
    /// Something in the lanes is leaving it, or held on it.
    pub const MOVING: Self = Self(16);
    /// Pods on it count for more than they ask for.
    pub const UNASKED: Self = Self(32);
    /// It is another scheduler's.
    pub const OTHERS: Self = Self(64);
    /// It is another scheduler's, and ours as a last resort.
    pub const LAST_RESORT: Self = Self(128);
    /// It is lent: it belongs to a zone that is open at some hours only.
    pub const LENT: Self = Self(256);

    /// Those that change with the pods on the node.
    const ROOM: Self = Self(Self::MOVING.0 | Self::UNASKED.0);

    /// Whatever any row of a run has.
    pub fn among(rows: &[Self]) -> Self {
        rows.iter().fold(Self::default(), |all, &one| all | one)
    }

    /// Is any of these among them?
    pub fn any(self, of: Self) -> bool {
        self.0 & of.0 != 0
    }

    /// These where they are so, none where not.
    fn when(self, so: bool) -> Self {
        if so { self } else { Self::default() }
    }

    /// With what follows from the object itself.
    #[must_use]
    pub fn with_object(self, identity: &NodeIdentity, rules: &NodeRules) -> Self {
        let kept = Self(self.0 & Self::ROOM.0);
        let taints = rules.taints.iter().map(|taint| match taint.effect {
            TaintEffect::NoSchedule | TaintEffect::NoExecute => Self::REPELS,
            TaintEffect::PreferNoSchedule => Self::WARNS,
        });
        let absent = Self::ABSENT.when(!identity.present);
        let unschedulable = Self::UNSCHEDULABLE.when(rules.unschedulable);
        let share = match rules.share {
            NodeShare::Own => Self::default(),
            NodeShare::Others => Self::OTHERS,
            NodeShare::LastResort => Self::LAST_RESORT,
        };
        let lent = Self::LENT.when(rules.label(Symbol::LENT_ZONE).is_some());
        taints.fold(kept | absent | unschedulable | share | lent, Self::bitor)
    }

    /// With what follows from what is leaving it, held on it, and counted above what was asked for.
    #[must_use]
    pub fn with_room(self, releasing: &Lanes, pipelined: &Lanes, unasked: [i64; 2]) -> Self {
        let kept = Self(self.0 & !Self::ROOM.0);
        let moving = *releasing != Lanes::ZERO || *pipelined != Lanes::ZERO;
        kept | Self::MOVING.when(moving) | Self::UNASKED.when(unasked != [0; 2])
    }
}

impl BitOr for NodeFlags {
    type Output = Self;

    fn bitor(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }
}
