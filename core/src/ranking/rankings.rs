//! The rankings of all classes in use, and how many of them are kept.
//!
//! A ranking is worth its memory if it is asked for again. A class of a single task is asked for once:
//! its ranking is taken apart when the job's turn is over, and the memory serves the next class. So
//! thousands of classes of one pod each cost no more memory than one.

use std::sync::Arc;

use bevy_ecs::prelude::Resource;

use super::{Ranking, Rules};
use crate::config::Upkeep;
use crate::world::{ChangeLog, ClassId, NodeColumns};

/// The rankings of all classes in use.
#[derive(Debug, Default, Resource)]
pub struct Rankings {
    by_class: Vec<CachedRanking>,
    /// Classes that were met for the first time in this turn.
    fresh: Vec<ClassId>,
    /// Memory for the next ranking.
    #[expect(clippy::vec_box, reason = "they move to and from slots of their classes")]
    spare: Vec<Box<Ranking>>,
    /// Places of the nodes in the order of names, and the numbering of rows they belong to.
    ordinals: (u64, Arc<[u32]>),
    /// Questions so far.
    asked: u64,
    /// Where `asked` stood when the last cycles ended, the latest last.
    cycles: Vec<u64>,
    /// Node rows all rankings hold together.
    rows: usize,
}

#[derive(Debug, Default)]
struct CachedRanking {
    ranking: Option<Box<Ranking>>,
    /// Was the class asked for before? Then it will be asked for again.
    known: bool,
}

/// Cycles a ranking is kept without being asked for.
const KEEP_CYCLES: usize = 16;
/// Node rows all rankings together may hold: about 1.3 GiB.
const ROWS_MAX: usize = 50_000_000;
/// Rankings whose memory is kept for others.
const SPARE_MAX: usize = 4;

impl Rankings {
    /// The up-to-date ranking of a class.
    pub fn of(
        &mut self,
        class: ClassId,
        nodes: NodeColumns<'_>,
        log: &ChangeLog,
        rules: Rules<'_>,
    ) -> &Ranking {
        let at = class.0 as usize;
        if self.by_class.len() <= at {
            self.by_class.resize_with(at + 1, CachedRanking::default);
        }
        self.asked += 1;
        if self.ordinals.0 != log.epoch() || self.ordinals.1.len() != nodes.len() {
            let ordinals = nodes.places.iter().map(|place| place.ordinal);
            self.ordinals = (log.epoch(), ordinals.collect());
        }
        let slot = &mut self.by_class[at];
        if slot.ranking.is_none() && !std::mem::replace(&mut slot.known, true) {
            self.fresh.push(class);
        }
        let before = slot.ranking.as_ref().map_or(0, |ranking| ranking.size());
        let spare = &mut self.spare;
        let ranking = slot.ranking.get_or_insert_with(|| spare.pop().unwrap_or_default());
        if rules.tuning.upkeep == Upkeep::Rescan {
            // Every row again, in the same memory: what is compared is the work, not the allocator.
            ranking.reset();
        }
        ranking.note_asks(self.asked, 1);
        ranking.refresh(rules.classes.get(class), nodes, log, &self.ordinals.1, rules);
        self.rows = self.rows + ranking.size() - before;
        ranking
    }

    /// The up-to-date ranking of a class, for somebody who asks it so often and tells it meanwhile which
    /// rows change; `None` where a row concerns others, too.
    pub(crate) fn lend(&mut self, class: ClassId, asks: usize) -> Option<&mut Ranking> {
        let ranking = self.by_class.get_mut(class.0 as usize)?.ranking.as_deref_mut()?;
        if !ranking.is_plain() {
            return None;
        }
        ranking.note_asks(self.asked, asks as u32);
        ranking.play();
        Some(ranking)
    }

    /// The ranking of a class as it was when it was last asked for in this turn.
    pub fn latest(&self, class: ClassId) -> Option<&Ranking> {
        self.by_class.get(class.0 as usize)?.ranking.as_deref()
    }

    /// Ends the turn of a job: what was asked for once is taken apart, and if all together are too
    /// large, so are those that were not asked for longest.
    pub fn end_turn(&mut self) {
        while let Some(class) = self.fresh.pop() {
            let slot = &self.by_class[class.0 as usize];
            if slot.ranking.as_ref().is_some_and(|ranking| ranking.asks() == 1) {
                self.take_apart(class);
            }
        }
        if self.rows > ROWS_MAX {
            // Some more than needed, so that the next turns find room.
            self.shrink(ROWS_MAX / 4 * 3);
        }
    }

    /// Ends a cycle: rankings nobody asked for in a while are dropped.
    pub fn end_cycle(&mut self) {
        self.end_turn();
        self.cycles.push(self.asked);
        if self.cycles.len() <= KEEP_CYCLES {
            return;
        }
        let oldest = self.cycles.remove(0);
        for at in 0..self.by_class.len() {
            let ranking = self.by_class[at].ranking.as_ref();
            if ranking.is_some_and(|ranking| ranking.last_asked() <= oldest) {
                self.drop_ranking(ClassId(at as u32));
            }
        }
    }

    /// Forgets a class: its number may be given to another.
    pub fn forget(&mut self, class: ClassId) {
        self.drop_ranking(class);
        if let Some(slot) = self.by_class.get_mut(class.0 as usize) {
            slot.known = false;
        }
    }

    /// Node rows all rankings hold together.
    pub fn rows(&self) -> usize {
        self.rows
    }

    fn take_out(&mut self, class: ClassId) -> Option<Box<Ranking>> {
        let ranking = self.by_class.get_mut(class.0 as usize)?.ranking.take()?;
        self.rows -= ranking.size();
        Some(ranking)
    }

    fn drop_ranking(&mut self, class: ClassId) {
        drop(self.take_out(class));
    }

    fn take_apart(&mut self, class: ClassId) {
        if let Some(mut ranking) = self.take_out(class)
            && self.spare.len() < SPARE_MAX
        {
            ranking.reset();
            self.spare.push(ranking);
        }
    }

    fn shrink(&mut self, rows: usize) {
        let kept = self.by_class.iter().enumerate();
        let age = kept.filter_map(|(at, slot)| Some((slot.ranking.as_ref()?.last_asked(), at)));
        let mut oldest: Vec<(u64, usize)> = age.collect();
        oldest.sort_unstable();
        for (_, at) in oldest {
            if self.rows <= rows {
                break;
            }
            self.drop_ranking(ClassId(at as u32));
        }
    }
}
