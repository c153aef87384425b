//! Jobs that no eviction can help, remembered for as long as that is certain.
//!
//! The proof is a count: the tasks that would fit, node by node, if every candidate left. It holds
//! until nodes have changed by which the job might gain what it lacks: a node that changed since counts
//! as if it were empty. So "no" costs what changed, not the cluster. That no moves help is not proved by a
//! count, so it is remembered only until any node changes.

use std::collections::VecDeque;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Resource;

use crate::ids::TimeMs;
use crate::place::Session;
use crate::policy::{EvictPurpose, Purpose, SearchSpace, Unit};
use crate::world::{ClassId, LogMark};

use super::action::{EvictAction, Style};
use super::domains::FreeableRoom;
use super::evictor_view::Ask;
use super::shortage::Shortage;

/// Proofs that are kept; the oldest makes way.
const KEPT: usize = 64;

/// Searches that were in vain.
#[derive(Default, Resource)]
pub(crate) struct InfeasibleCache {
    proofs: VecDeque<Proof>,
    jams: VecDeque<Jam>,
}

/// A search for moves that found none. What it found out holds until a node changes: any may have had a part
/// in it.
struct Jam {
    of: ShortageKind,
    why: String,
    mark: LogMark,
}

/// Why a kind of job cannot be helped.
struct Proof {
    of: ShortageKind,
    /// What is said of it.
    why: String,
    /// Tasks that would fit in the best place.
    slots: usize,
    /// Tasks that would fit on each row.
    rows: Vec<u16>,
    /// When the nodes were looked at.
    mark: LogMark,
    /// When somebody who is spared for the time being may go.
    until: Option<TimeMs>,
}

/// Jobs one proof is good for.
#[derive(PartialEq, Eq)]
struct ShortageKind {
    purpose: EvictPurpose,
    ask: Ask,
    /// Where candidates differ from job to job, the job.
    job: Option<Entity>,
    /// The domains room may be made in, as the tree was drawn then; `None` is the whole cluster.
    space: Option<(u64, SearchSpace)>,
}

impl ShortageKind {
    fn of(session: &Session<'_, '_>, action: &EvictAction, shortage: &Shortage) -> Self {
        let evictor = shortage.evictor;
        // Task by task, tasks of the job itself may make way for others of it.
        let own = action.style == Style::Task && action.purpose == EvictPurpose::Preempt;
        let unit = Unit { job: &session.cluster.job(evictor.job), subgroup: None };
        let space = session.policies.search_space(&session.cluster, unit, Purpose::Evict);
        Self {
            purpose: evictor.purpose,
            ask: Ask::of(session, shortage),
            job: own.then_some(evictor.job),
            space: space.map(|space| (session.cluster.domain_index().version, space)),
        }
    }
}

/// Does what bars nodes for the job change only with the nodes themselves? Then the log tells.
fn is_provable(session: &Session<'_, '_>, shortage: &Shortage) -> bool {
    let [class] = shortage.classes.as_slice() else { return false };
    let class = session.classes.get(*class);
    class.interpod.rules.is_empty() && class.volumes.is_none() && class.group_rule.is_none()
}

impl InfeasibleCache {
    /// The class is no more, and another may get its number.
    pub(crate) fn forget(&mut self, class: ClassId) {
        self.proofs.retain(|proof| !proof.of.ask.is_of(class));
        self.jams.retain(|jam| !jam.of.ask.is_of(class));
    }

    /// What was said of jobs like this one, if it still holds.
    pub(super) fn still(
        &mut self,
        session: &mut Session<'_, '_>,
        action: &EvictAction,
        shortage: &Shortage,
    ) -> Option<String> {
        if !is_provable(session, shortage) {
            return None;
        }
        let kind = ShortageKind::of(session, action, shortage);
        let unchanged =
            |jam: &Jam| session.cluster.log.since(jam.mark).is_some_and(<[u32]>::is_empty);
        self.jams.retain(unchanged);
        if let Some(jam) = self.jams.iter().find(|jam| jam.of == kind) {
            return Some(jam.why.clone());
        }
        let at = self.proofs.iter().position(|proof| proof.of == kind)?;
        if !self.proofs[at].holds(session, shortage) {
            self.proofs.remove(at);
            return None;
        }
        let proof = &self.proofs[at];
        session.wake_at(proof.until);
        Some(proof.why.clone())
    }

    /// Remembers what was just found: the number of tasks that would fit in the best domain.
    pub(super) fn note(
        &mut self,
        session: &Session<'_, '_>,
        action: &EvictAction,
        shortage: &Shortage,
        freeable: &FreeableRoom,
        found: Infeasible,
    ) {
        if !is_provable(session, shortage) {
            return;
        }
        let Infeasible { slots, until, why } = found;
        let count = session.cluster.columns().len() as u32;
        let fits = |row| u16::try_from(freeable.slots(session, shortage, row)).unwrap_or(u16::MAX);
        let rows = (0..count).map(fits).collect();
        let (of, mark) = (ShortageKind::of(session, action, shortage), session.cluster.log.mark());
        if self.proofs.len() == KEPT {
            self.proofs.pop_front();
        }
        self.proofs.push_back(Proof { of, why, slots, rows, mark, until });
    }

    /// Remembers that no moves help.
    pub(super) fn note_jam(
        &mut self,
        session: &Session<'_, '_>,
        action: &EvictAction,
        shortage: &Shortage,
        why: String,
    ) {
        if !is_provable(session, shortage) {
            return;
        }
        if self.jams.len() == KEPT {
            self.jams.pop_front();
        }
        let (of, mark) = (ShortageKind::of(session, action, shortage), session.cluster.log.mark());
        self.jams.push_back(Jam { of, why, mark });
    }
}

/// What a search in vain has found.
pub(super) struct Infeasible {
    /// Tasks that would fit in the best place.
    pub(super) slots: usize,
    /// When somebody who is spared for the time being may go.
    pub(super) until: Option<TimeMs>,
    /// What is said of it.
    pub(super) why: String,
}

impl Proof {
    fn holds(&self, session: &Session<'_, '_>, shortage: &Shortage) -> bool {
        if self.until.is_some_and(|until| until <= session.now.0) {
            return false;
        }
        let Some(changed) = session.cluster.log.since(self.mark) else { return false };
        // Where a minimum is spared for the time being, a job that grows on one node may spare a task on
        // another.
        if self.until.is_some() && !changed.is_empty() {
            return false;
        }
        let request = session.classes.get(shortage.classes[0]).room();
        let nodes = session.cluster.columns();
        let mut changed = changed.to_vec();
        changed.sort_unstable();
        changed.dedup();
        let gains = changed.iter().map(|&row| {
            let all = nodes.allocatable[row as usize].0.iter().zip(request.hot.0);
            let fit = all.filter(|&(_, ask)| ask > 0).map(|(&has, ask)| has / ask).min();
            let empty = fit.map_or(shortage.missing, |fit| usize::try_from(fit).unwrap_or(0));
            empty.min(shortage.missing).saturating_sub(usize::from(self.rows[row as usize]))
        });
        self.slots + gains.sum::<usize>() < shortage.missing
    }
}
