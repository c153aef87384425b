//! Rows inside domains inside domains: the best row where being in a domain adds to its score.
//!
//! What a domain adds is the same for all rows inside it, so it does not matter among them: each
//! domain has a tournament of its own rows and of the champions of the domains inside it, and its own
//! score counts only where its champion meets others. A change in one row therefore plays a few
//! matches in each domain around it, however many rows share those domains.

use std::ops::Range;

use super::Class;
use super::ranking::{fit_of, rank_of, score_of};
use super::tree::{CLOSED, Tournament};
use crate::policy::Policies;
use crate::world::{DomainView, Knots};

/// The rows of a ranking, by domain.
#[derive(Debug, Default)]
pub(super) struct Nest {
    /// In the order of [`Knots`]: domains after those inside them, the cluster last.
    knots: Vec<Knot>,
    /// Where each row stands in its domain's tournament.
    slots: Vec<u32>,
    /// Domains whose sums changed.
    stale: Vec<u32>,
}

#[derive(Debug, Default)]
struct Knot {
    /// Champions of domains inside, then rows of its own.
    entries: Vec<Entry>,
    ranks: Vec<i64>,
    ordinals: Vec<u32>,
    tree: Tournament,
    /// What the domain adds to all of it.
    score: i64,
    /// Where it stands among the entries of its parent.
    slot: u32,
    stale: bool,
}

#[derive(Clone, Copy, Debug)]
enum Entry {
    Row(u32),
    Domain(u32),
}

/// A rank with something added to its score.
fn lift(rank: i64, score: i64) -> i64 {
    if rank == CLOSED {
        return CLOSED;
    }
    rank_of(fit_of(rank), score_of(rank).saturating_add(score))
}

impl Nest {
    /// Sorts all rows into their domains.
    pub(super) fn new(
        class: &Class,
        policies: &Policies,
        view: DomainView<'_>,
        ranks: &[i64],
        ordinals: &[u32],
    ) -> Self {
        let tree = &view.index.knots;
        let mut nest = Self::default();
        nest.knots.resize_with(tree.len(), Knot::default);
        nest.slots.resize(ranks.len(), 0);
        for at in 0..tree.len() {
            nest.knots[at].score = score(class, policies, view, at);
            if let Some(parent) = tree.parent(at) {
                nest.knots[at].slot = nest.knots[parent].push(Entry::Domain(at as u32), CLOSED, 0);
            }
        }
        for row in 0..ranks.len() {
            let home = tree.home(row);
            let rank = lift(ranks[row], outside(class, policies, tree, 0..tree.tier(home)));
            nest.slots[row] = nest.knots[home].push(Entry::Row(row as u32), rank, ordinals[row]);
        }
        for at in 0..tree.len() {
            let knot = &mut nest.knots[at];
            knot.tree.rebuild(&knot.ranks, &knot.ordinals);
            nest.tell_parent(tree, at);
        }
        nest
    }

    /// A row has changed, and may have another rank; so have the sums of the domains it is in.
    pub(super) fn set(
        &mut self,
        class: &Class,
        policies: &Policies,
        view: DomainView<'_>,
        row: usize,
        rank: i64,
    ) {
        let tree = &view.index.knots;
        let home = tree.home(row);
        let rank = lift(rank, outside(class, policies, tree, 0..tree.tier(home)));
        let slot = self.slots[row] as usize;
        let knot = &mut self.knots[home];
        if knot.ranks[slot] != rank {
            knot.ranks[slot] = rank;
            knot.tree.mend(slot, &knot.ranks, &knot.ordinals);
            self.tell_up(tree, home);
        }
        for &at in tree.around(row) {
            let knot = &mut self.knots[at as usize];
            if !knot.stale {
                knot.stale = true;
                self.stale.push(at);
            }
        }
    }

    /// Scores domains anew whose sums changed.
    pub(super) fn settle(&mut self, class: &Class, policies: &Policies, view: DomainView<'_>) {
        while let Some(at) = self.stale.pop() {
            let at = at as usize;
            let score = score(class, policies, view, at);
            let knot = &mut self.knots[at];
            knot.stale = false;
            if knot.score != score {
                knot.score = score;
                self.tell_up(&view.index.knots, at);
            }
        }
    }

    /// The best row of all.
    pub(super) fn best(&self) -> Option<u32> {
        let mut at = self.knots.len().checked_sub(1)?;
        loop {
            let knot = &self.knots[at];
            match knot.entries[knot.tree.best()? as usize] {
                Entry::Row(row) => return Some(row),
                Entry::Domain(inner) => at = inner as usize,
            }
        }
    }

    /// Tells the domains around one of its new champion, as far up as that is news.
    fn tell_up(&mut self, tree: &Knots, mut at: usize) {
        while self.tell_parent(tree, at)
            && let Some(parent) = tree.parent(at)
        {
            let slot = self.knots[at].slot as usize;
            let knot = &mut self.knots[parent];
            knot.tree.mend(slot, &knot.ranks, &knot.ordinals);
            at = parent;
        }
    }

    /// Writes the champion of a domain into the lists of its parent; is it news?
    fn tell_parent(&mut self, tree: &Knots, at: usize) -> bool {
        let Some(parent) = tree.parent(at) else { return false };
        let knot = &self.knots[at];
        let (rank, ordinal) = match knot.tree.best() {
            Some(best) => {
                (lift(knot.ranks[best as usize], knot.score), knot.ordinals[best as usize])
            }
            None => (CLOSED, 0),
        };
        let slot = knot.slot as usize;
        let parent = &mut self.knots[parent];
        let news = (parent.ranks[slot], parent.ordinals[slot]) != (rank, ordinal);
        (parent.ranks[slot], parent.ordinals[slot]) = (rank, ordinal);
        news
    }
}

impl Knot {
    fn push(&mut self, entry: Entry, rank: i64, ordinal: u32) -> u32 {
        self.entries.push(entry);
        self.ranks.push(rank);
        self.ordinals.push(ordinal);
        self.entries.len() as u32 - 1
    }
}

/// What a domain adds to everything inside it, tiers it skips below its parent included.
fn score(class: &Class, policies: &Policies, view: DomainView<'_>, at: usize) -> i64 {
    let tree = &view.index.knots;
    let Some(parent) = tree.parent(at) else { return 0 };
    let tier = tree.tier(at);
    let totals = view.totals(at);
    let own = policies.domain_pull(class, tree.tiers(), tier, totals);
    own.saturating_add(outside(class, policies, tree, tier + 1..tree.tier(parent)))
}

/// What being in no domain of these tiers adds.
fn outside(class: &Class, policies: &Policies, tree: &Knots, tiers: Range<usize>) -> i64 {
    let pulls = tiers.map(|tier| policies.domain_pull(class, tree.tiers(), tier, None));
    pulls.fold(0, i64::saturating_add)
}
