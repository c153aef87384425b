//! Rows with equal labels of the topology keys in question, judged once for all of them.
//!
//! A cell is the rows that have the same value of every wide label (zone, rack) the rules of a class
//! look at. Each cell has a tournament of its rows, and a tournament of all cells is on top.

use std::cmp::Reverse;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::rank::{Grade, grade_of, rank_of, score_of};
use super::tournament::{CLOSED, Tournament};
use crate::kernel::fit::Fit;
use crate::ranking::TopologyView;
use crate::world::{Exclusion, Obstacle};

/// One cell.
#[derive(Debug, Default)]
struct Cell {
    /// Value of each label; none for labels that are a matter of the row.
    values: Vec<u32>,
    rows: Vec<u32>,
    ranks: Vec<i64>,
    ordinals: Vec<u32>,
    tree: Tournament,
    exclusion: Exclusion,
    score: i64,
    champion: Option<u32>,
    stale: bool,
}

/// All rows of a ranking, by cell.
#[derive(Debug, Default)]
pub(super) struct Cells {
    list: Vec<Cell>,
    /// Cell of each row, and where it stands there.
    spots: Vec<(u32, u32)>,
    /// Cells that have a value of a label.
    by_value: HashMap<(u32, u32), Vec<u32>, FxBuildHasher>,
    /// Rank and ordinal of each cell's champion.
    ranks: Vec<i64>,
    ordinals: Vec<u32>,
    top: Tournament,
    stale: Vec<u32>,
    moved: Vec<(u32, u32)>,
}

impl Cells {
    /// Sorts all rows into cells and judges every cell.
    pub(super) fn new(
        topology: &TopologyView,
        ranks: &[i64],
        ordinals: &[u32],
        row_exclusion: impl Fn(u32) -> Exclusion,
    ) -> Self {
        let mut new = Self::default();
        let mut numbers: HashMap<Vec<u32>, u32, FxBuildHasher> = HashMap::default();
        for row in 0..ranks.len() {
            let values = topology.wide_values(row);
            let at = *numbers.entry(values).or_insert_with_key(|values| {
                new.list.push(Cell { values: values.clone(), ..Cell::default() });
                new.list.len() as u32 - 1
            });
            let cell = &mut new.list[at as usize];
            new.spots.push((at, cell.rows.len() as u32));
            cell.rows.push(row as u32);
            cell.ranks.push(ranks[row]);
            cell.ordinals.push(ordinals[row]);
        }
        for (at, cell) in new.list.iter_mut().enumerate() {
            cell.tree.rebuild(&cell.ranks, &cell.ordinals);
            for axis in 0..topology.axes() {
                let key = (axis as u32, cell.values[axis]);
                new.by_value.entry(key).or_default().push(at as u32);
            }
            judge(cell, topology, &row_exclusion);
        }
        new.ranks = new.list.iter().map(|cell| cell.top_rank(&row_exclusion)).collect();
        new.ordinals = new.list.iter().map(Cell::top_ordinal).collect();
        new.top.rebuild(&new.ranks, &new.ordinals);
        new
    }

    /// A row has changed, and may have another rank.
    pub(super) fn set(&mut self, row: u32, rank: i64) {
        let (at, slot) = self.spots[row as usize];
        let (cell, slot) = (&mut self.list[at as usize], slot as usize);
        if cell.ranks[slot] != rank {
            cell.ranks[slot] = rank;
            cell.tree.mend(slot, &cell.ranks, &cell.ordinals);
        }
        self.note(at);
    }

    /// Every cell has to be judged again.
    pub(super) fn note_all(&mut self) {
        (0..self.list.len() as u32).for_each(|at| self.note(at));
    }

    fn note(&mut self, at: u32) {
        let cell = &mut self.list[at as usize];
        if !cell.stale {
            cell.stale = true;
            self.stale.push(at);
        }
    }

    /// Judges cells whose counts or rows changed.
    pub(super) fn mend(
        &mut self,
        topology: &mut TopologyView,
        row_exclusion: impl Fn(&TopologyView, u32) -> Exclusion,
    ) {
        let mut moved = std::mem::take(&mut self.moved);
        topology.take_moved(&mut moved);
        for key in moved.drain(..) {
            let touched = self.by_value.get(&key).map_or(&[][..], Vec::as_slice);
            for &at in touched {
                let cell = &mut self.list[at as usize];
                if !cell.stale {
                    cell.stale = true;
                    self.stale.push(at);
                }
            }
        }
        self.moved = moved;
        let topology = &*topology;
        let row_exclusion = |row| row_exclusion(topology, row);
        while let Some(at) = self.stale.pop() {
            let cell = &mut self.list[at as usize];
            cell.stale = false;
            judge(cell, topology, &row_exclusion);
            let top = (cell.top_rank(&row_exclusion), cell.top_ordinal());
            let at = at as usize;
            if top != (self.ranks[at], self.ordinals[at]) {
                (self.ranks[at], self.ordinals[at]) = top;
                self.top.mend(at, &self.ranks, &self.ordinals);
            }
        }
    }

    /// The best row of all.
    pub(super) fn best(&self) -> Option<u32> {
        let cell = self.top.best()?;
        self.list[cell as usize].champion_row()
    }

    /// The rank of a row with all that its cell adds.
    pub(super) fn rank(&self, row: u32, row_exclusion: impl Fn(u32) -> Exclusion) -> i64 {
        let (at, slot) = self.spots[row as usize];
        self.list[at as usize].rank(slot as usize, &row_exclusion)
    }

    /// What rules about wide labels say of a row.
    pub(super) fn exclusion(&self, row: u32) -> Exclusion {
        self.list[self.spots[row as usize].0 as usize].exclusion
    }
}

fn judge(cell: &mut Cell, topology: &TopologyView, row_exclusion: &impl Fn(u32) -> Exclusion) {
    cell.exclusion = Exclusion::OPEN;
    topology.judge_cell(&cell.values, &mut cell.exclusion);
    cell.score = topology.score_cell(&cell.values);
    cell.champion = cell.choose(row_exclusion);
}

impl Cell {
    /// Where the row stands that serves best.
    fn choose(&self, row_exclusion: &impl Fn(u32) -> Exclusion) -> Option<u32> {
        let rank = |at: u32| self.rank(at as usize, row_exclusion);
        if self.exclusion.now == Obstacle::None || self.exclusion.later != Obstacle::None {
            return self.tree.best().filter(|&best| rank(best) != CLOSED);
        }
        // Nothing can be had here before pods have left: free room counts for no more than room to
        // come, and rows with a rule of their own about what comes later are closed. The tournament
        // knows neither.
        let rows = (0..self.rows.len() as u32).map(|at| (rank(at), at));
        let open = rows.filter(|entry| entry.0 != CLOSED);
        let best = open.max_by_key(|&(rank, at)| (rank, Reverse(self.ordinals[at as usize])));
        best.map(|(_, at)| at)
    }

    /// The rank of a row of the cell with all that the cell adds.
    fn rank(&self, at: usize, row_exclusion: &impl Fn(u32) -> Exclusion) -> i64 {
        let rank = self.ranks[at];
        if rank == CLOSED {
            return CLOSED;
        }
        let waits = self.exclusion.now != Obstacle::None;
        if waits && row_exclusion(self.rows[at]).later != Obstacle::None {
            return CLOSED;
        }
        let Grade { fit, preference } = grade_of(rank);
        match self.exclusion.limit(fit) {
            Fit::None => CLOSED,
            fit => rank_of(Grade { fit, preference }, score_of(rank).saturating_add(self.score)),
        }
    }

    fn top_rank(&self, row_exclusion: &impl Fn(u32) -> Exclusion) -> i64 {
        self.champion.map_or(CLOSED, |at| self.rank(at as usize, row_exclusion))
    }

    fn top_ordinal(&self) -> u32 {
        self.champion.map_or(u32::MAX, |at| self.ordinals[at as usize])
    }

    fn champion_row(&self) -> Option<u32> {
        self.champion.map(|at| self.rows[at as usize])
    }
}
