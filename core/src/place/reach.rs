//! How far a placement must get, and how far it got.

use bevy_ecs::entity::Entity;

use super::session::Session;
use crate::verdict::Verdict;
use crate::world::{COVERED, ClassId, READY, TaskStatus};

/// How far a placement got.
#[derive(Clone, Debug)]
pub(crate) enum Reach {
    /// Enough has a place.
    Ready,
    /// Enough has a place or room held.
    Covered,
    /// Not enough.
    Short(Shortfall),
}

/// What a placement failed on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shortfall {
    /// Tasks that found a place or room before it failed.
    pub(crate) placed: u32,
    /// Classes that found none, in the order they failed.
    pub(crate) classes: Vec<ClassId>,
    /// A queue's objection, with the class of tasks it was about.
    pub(crate) objection: Option<(ClassId, Verdict)>,
    /// Tasks that have room held where they may not go any more, and found none elsewhere.
    pub(crate) closed: Vec<Entity>,
}

impl Shortfall {
    /// Did nothing fail?
    pub(crate) fn is_empty(&self) -> bool {
        self.classes.is_empty() && self.objection.is_none()
    }

    /// Adds what another part of the same job failed on.
    pub(super) fn merge(&mut self, other: Self) {
        self.placed += other.placed;
        self.classes.extend(other.classes);
        self.objection = self.objection.take().or(other.objection);
        self.closed.extend(other.closed);
    }
}

/// Do topology wishes bind?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// Yes.
    Kept,
    /// No: to see whether they are what a placement fails on.
    Ignored,
}

/// When a job has enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enough {
    /// When it may be bound; room that is not free yet is held for as many as there is.
    Ready,
    /// As soon as free and held room cover its minimum: nobody makes way for its surplus.
    Covered,
    /// When it may be bound; or when free and held room cover its minimum, as soon as all that was held
    /// has been looked at: room is held for no more than the minimum.
    Step,
}

/// Where, how strictly and how far a job is placed.
#[derive(Clone, Copy, Debug)]
pub(super) struct PlaceScope<'a> {
    pub(super) rows: Rows<'a>,
    pub(super) bounds: Bounds,
    pub(super) enough: Enough,
}

/// Rows that may be used; `None` means every row.
pub(crate) type Rows<'a> = Option<&'a [u32]>;

/// How far it got, if that is far enough to stop.
pub(super) fn enough(scope: PlaceScope<'_>, reach: Option<Reach>) -> Option<Reach> {
    reach.filter(|reach| match scope.enough {
        Enough::Ready | Enough::Step => matches!(reach, Reach::Ready),
        Enough::Covered => !matches!(reach, Reach::Short(_)),
    })
}

/// Has a sub-group its size, or the job its minimum, in places or in room held?
pub(crate) fn is_served(session: &Session<'_, '_>, job: Entity, subgroup: Option<u16>) -> bool {
    served(session, job, subgroup).is_some()
}

/// Has the part what it needs: the sub-group its size, the job its minimum?
pub(super) fn served(
    session: &Session<'_, '_>,
    job: Entity,
    subgroup: Option<u16>,
) -> Option<Reach> {
    let item = session.cluster.job(job);
    let (ready, covered) = match subgroup {
        None => (
            session.policies.job_ready(&session.cluster, &item),
            session.policies.job_pipelined(&item),
        ),
        Some(_) if item.tree().is_some() => {
            let whole = |statuses: &[TaskStatus]| {
                item.progress(statuses).is_some_and(|progress| progress.of(subgroup).is_whole())
            };
            (whole(&READY), whole(&COVERED))
        }
        Some(at) => {
            let group = &item.counts().subgroups[usize::from(at)];
            let size = item.spec.subgroups[usize::from(group.policy)].size;
            let ready = group.count(&READY);
            (ready >= size, ready + group.count(&[TaskStatus::Pipelined]) >= size)
        }
    };
    match (ready, covered) {
        (true, _) => Some(Reach::Ready),
        (false, true) => Some(Reach::Covered),
        (false, false) => None,
    }
}
