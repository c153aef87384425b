//! Rows inside domains inside domains: the best row where being in a domain adds to its score.
//!
//! What a domain adds is the same for all rows inside it, so it does not matter among them: each
//! domain has a tournament of its own rows and of the champions of the domains inside it, and its own
//! score counts only where its champion meets others. A change in one row therefore plays a few
//! matches in each domain around it, however many rows share those domains.

use std::ops::Range;

use super::rank::{grade_of, rank_of, score_of};
use super::tournament::{CLOSED, Tournament};
use crate::class::Class;
use crate::policy::Policies;
use crate::world::{DomainTree, DomainView};

/// The rows of a ranking, by domain.
#[derive(Debug, Default)]
pub(super) struct DomainTournament {
    /// In the order of [`DomainTree`]: domains after those inside them, the cluster last.
    brackets: Vec<Bracket>,
    /// Where each row stands in its domain's tournament.
    slots: Vec<u32>,
    /// Domains whose sums changed.
    stale: Vec<u32>,
}

#[derive(Debug, Default)]
struct Bracket {
    /// Champions of domains inside, then rows of its own.
    entries: Vec<Seed>,
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
enum Seed {
    Row(u32),
    Domain(u32),
}

/// A rank with something added to its score.
fn lift(rank: i64, score: i64) -> i64 {
    if rank == CLOSED {
        return CLOSED;
    }
    rank_of(grade_of(rank), score_of(rank).saturating_add(score))
}

impl DomainTournament {
    /// Sorts all rows into their domains.
    pub(super) fn new(
        class: &Class,
        policies: &Policies,
        view: DomainView<'_>,
        ranks: &[i64],
        ordinals: &[u32],
    ) -> Self {
        let tree = &view.index.nested;
        let mut by_domain = Self::default();
        by_domain.brackets.resize_with(tree.len(), Bracket::default);
        by_domain.slots.resize(ranks.len(), 0);
        for at in 0..tree.len() {
            by_domain.brackets[at].score = score(class, policies, view, at);
            if let Some(parent) = tree.parent(at) {
                by_domain.brackets[at].slot =
                    by_domain.brackets[parent].push(Seed::Domain(at as u32), CLOSED, 0);
            }
        }
        for row in 0..ranks.len() {
            let home = tree.home(row);
            let rank = lift(ranks[row], outside(class, policies, tree, 0..tree.tier(home)));
            by_domain.slots[row] =
                by_domain.brackets[home].push(Seed::Row(row as u32), rank, ordinals[row]);
        }
        for at in 0..tree.len() {
            let bracket = &mut by_domain.brackets[at];
            bracket.tree.rebuild(&bracket.ranks, &bracket.ordinals);
            by_domain.tell_parent(tree, at);
        }
        by_domain
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
        let tree = &view.index.nested;
        let home = tree.home(row);
        let rank = lift(rank, outside(class, policies, tree, 0..tree.tier(home)));
        let slot = self.slots[row] as usize;
        let bracket = &mut self.brackets[home];
        if bracket.ranks[slot] != rank {
            bracket.ranks[slot] = rank;
            bracket.tree.mend(slot, &bracket.ranks, &bracket.ordinals);
            self.tell_up(tree, home);
        }
        for &at in tree.domains_around(row) {
            let bracket = &mut self.brackets[at as usize];
            if !bracket.stale {
                bracket.stale = true;
                self.stale.push(at);
            }
        }
    }

    /// Scores the domains whose sums changed again.
    pub(super) fn settle(&mut self, class: &Class, policies: &Policies, view: DomainView<'_>) {
        while let Some(at) = self.stale.pop() {
            let at = at as usize;
            let score = score(class, policies, view, at);
            let bracket = &mut self.brackets[at];
            bracket.stale = false;
            if bracket.score != score {
                bracket.score = score;
                self.tell_up(&view.index.nested, at);
            }
        }
    }

    /// The best row of all.
    pub(super) fn best(&self) -> Option<u32> {
        let mut at = self.brackets.len().checked_sub(1)?;
        loop {
            let bracket = &self.brackets[at];
            match bracket.entries[bracket.tree.best()? as usize] {
                Seed::Row(row) => return Some(row),
                Seed::Domain(inner) => at = inner as usize,
            }
        }
    }

    /// Tells the domains around one of its new champion, as far up as that is news.
    fn tell_up(&mut self, tree: &DomainTree, mut at: usize) {
        while self.tell_parent(tree, at)
            && let Some(parent) = tree.parent(at)
        {
            let slot = self.brackets[at].slot as usize;
            let bracket = &mut self.brackets[parent];
            bracket.tree.mend(slot, &bracket.ranks, &bracket.ordinals);
            at = parent;
        }
    }

    /// Writes the champion of a domain into the lists of its parent; is it news?
    fn tell_parent(&mut self, tree: &DomainTree, at: usize) -> bool {
        let Some(parent) = tree.parent(at) else { return false };
        let bracket = &self.brackets[at];
        let (rank, ordinal) = match bracket.tree.best() {
            Some(best) => {
                (lift(bracket.ranks[best as usize], bracket.score), bracket.ordinals[best as usize])
            }
            None => (CLOSED, 0),
        };
        let slot = bracket.slot as usize;
        let parent = &mut self.brackets[parent];
        let change = (parent.ranks[slot], parent.ordinals[slot]) != (rank, ordinal);
        (parent.ranks[slot], parent.ordinals[slot]) = (rank, ordinal);
        change
    }
}

impl Bracket {
    fn push(&mut self, entry: Seed, rank: i64, ordinal: u32) -> u32 {
        self.entries.push(entry);
        self.ranks.push(rank);
        self.ordinals.push(ordinal);
        self.entries.len() as u32 - 1
    }
}

/// What a domain adds to everything inside it, tiers it skips below its parent included.
fn score(class: &Class, policies: &Policies, view: DomainView<'_>, at: usize) -> i64 {
    let tree = &view.index.nested;
    let Some(parent) = tree.parent(at) else { return 0 };
    let tier = tree.tier(at);
    let totals = view.totals(at);
    let own = policies.domain_pull(class, tree.tiers(), tier, totals);
    own.saturating_add(outside(class, policies, tree, tier + 1..tree.tier(parent)))
}

/// What being in no domain of these tiers adds.
fn outside(class: &Class, policies: &Policies, tree: &DomainTree, tiers: Range<usize>) -> i64 {
    let pulls = tiers.map(|tier| policies.domain_pull(class, tree.tiers(), tier, None));
    pulls.fold(0, i64::saturating_add)
}
