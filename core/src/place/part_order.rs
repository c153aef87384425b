//! In which order the parts of a job are placed.
//!
//! First the sub-groups without which a policy has fewer than it needs; then tasks without a sub-group
//! and further sub-groups, each whole or not at all; in the end what whole sub-groups have beyond their
//! size, as long as the job lacks some. So nothing beyond a minimum takes the room of a minimum.

use bevy_ecs::entity::Entity;

use super::Session;
use super::pending::{PendingPart, PendingTasks, Standing};
use super::reach::Shortfall;
use crate::world::{JobReadOnlyItem, READY, SubGroup};

/// What is placed at the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum PartStage {
    /// Sub-groups a policy lacks.
    Lacking,
    /// All others.
    Further,
    /// Tasks beyond the size of their sub-group.
    Beyond,
}

/// Gives the parts of a job their turns.
pub(crate) struct PartOrder {
    stage: PartStage,
    next: usize,
    /// Sub-groups each policy lacks.
    lacking: Vec<u32>,
    /// Has anything found a place since the last round began?
    moved: bool,
}

impl PartOrder {
    /// Begins anew: no part was tried.
    pub(crate) fn of(session: &Session<'_, '_>, job: Entity, pending: &mut PendingTasks) -> Self {
        let item = session.cluster.job(job);
        let mut lacking: Vec<u32> =
            item.spec.subgroups.iter().map(|policy| policy.min_subgroups).collect();
        let groups = &item.counts().subgroups;
        for group in groups.iter().filter(|group| is_whole(&item, group)) {
            let lacks = &mut lacking[usize::from(group.policy)];
            *lacks = lacks.saturating_sub(1);
        }
        for part in pending.parts_mut() {
            let whole = |at: u16| is_whole(&item, &groups[usize::from(at)]);
            let placed = part.subgroup.is_some_and(whole);
            part.standing = if placed { Standing::Placed } else { Standing::Open };
        }
        Self { stage: PartStage::Lacking, next: 0, lacking, moved: false }
    }

    /// The part to be placed next; none when there is nothing left to try.
    pub(crate) fn next(
        &mut self,
        session: &Session<'_, '_>,
        job: Entity,
        pending: &mut PendingTasks,
    ) -> Option<usize> {
        let item = session.cluster.job(job);
        loop {
            let parts = pending.parts_mut();
            if let Some(ahead) = parts[self.next..].iter().position(|part| self.is_due(&item, part))
            {
                self.next += ahead;
                return Some(self.next);
            }
            self.next = 0;
            self.stage = match self.stage {
                PartStage::Lacking => PartStage::Further,
                PartStage::Further => PartStage::Beyond,
                PartStage::Beyond => {
                    self.call_late(parts)?;
                    PartStage::Lacking
                }
            };
        }
    }

    fn is_due(&self, job: &JobReadOnlyItem<'_, '_>, part: &PendingPart) -> bool {
        let lacks = |at: u16| {
            let policy = job.counts().subgroups[usize::from(at)].policy;
            self.lacking[usize::from(policy)] > 0
        };
        let due = match self.stage {
            PartStage::Lacking => {
                part.standing == Standing::Open && part.subgroup.is_some_and(lacks)
            }
            PartStage::Further => part.standing == Standing::Open,
            PartStage::Beyond => part.standing == Standing::Placed && part.subgroup.is_some(),
        };
        due && !part.is_done()
    }

    /// Lets parts have another turn that may find a place now that others have theirs.
    fn call_late(&mut self, parts: &mut [PendingPart]) -> Option<()> {
        let late = parts.iter_mut().filter(|part| part.standing == Standing::Late);
        let again = late.map(|part| part.standing = Standing::Open).count();
        (std::mem::take(&mut self.moved) && again > 0).then_some(())
    }

    /// The part has found places.
    pub(crate) fn placed(
        &mut self,
        session: &Session<'_, '_>,
        job: Entity,
        part: &mut PendingPart,
    ) {
        self.moved = true;
        if let (Standing::Open, Some(at)) = (part.standing, part.subgroup) {
            let policy = session.cluster.job(job).counts().subgroups[usize::from(at)].policy;
            let lacks = &mut self.lacking[usize::from(policy)];
            *lacks = lacks.saturating_sub(1);
        }
        part.standing = Standing::Placed;
    }

    /// The part has found none.
    pub(crate) fn failed(part: &mut PendingPart) {
        part.standing = Standing::Failed;
    }

    /// The part, as it was `before`, has found none; if that may be for want of company it has another turn
    /// later.
    pub(super) fn failed_on(
        session: &Session<'_, '_>,
        part: &mut PendingPart,
        before: PendingPart,
        shortfall: &Shortfall,
    ) {
        let company = |class: &_| !session.classes.get(*class).interpod.rules.is_empty();
        if part.subgroup.is_some() && shortfall.classes.iter().any(company) {
            *part = before;
            part.standing = Standing::Late;
        } else {
            Self::failed(part);
        }
    }
}

/// Has a sub-group as many tasks on nodes as it needs?
fn is_whole(job: &JobReadOnlyItem<'_, '_>, group: &SubGroup) -> bool {
    group.count(&READY) >= job.spec.subgroups[usize::from(group.policy)].size
}
