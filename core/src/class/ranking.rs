//! The nodes as one class of tasks sees them: which may serve, which serve best.
//!
//! A ranking is made by one scan over all nodes. After that only rows that changed are looked at
//! again, inside a cycle and across cycles, and the best node is at the top of a tournament.

use std::cmp::Reverse;
use std::sync::Arc;

use glam::I64Vec2;
use rayon::prelude::*;

use super::cells::Cells;
use super::nest::Nest;
use super::sight::{Sight, pairing_of};
use super::tree::{CLOSED, Tournament};
use super::{Class, Classes};
use crate::config::Tuning;
use crate::kernel::fit::Fit;
use crate::near::{News, Surroundings};
use crate::policy::{Bar, Point, Policies};
use crate::world::{Around, ChangeLog, LogMark, NodeColumns, Symbols};

/// What a ranking is made from, besides the nodes.
#[derive(Clone, Copy)]
pub struct Rules<'a> {
    /// Every class.
    pub classes: &'a Classes,
    /// Every rule in force.
    pub policies: &'a Policies,
    /// Texts behind symbols.
    pub symbols: &'a Symbols,
    /// When and how to go parallel.
    pub tuning: &'a Tuning,
    /// The cluster as a whole.
    pub around: Around<'a>,
}

/// One class's view of all nodes.
#[derive(Debug, Default)]
pub struct Ranking {
    mark: Option<LogMark>,
    /// What the volumes looked like to the class as a whole.
    stamp: u64,
    /// When it was last asked for, and how often since it was made.
    last_asked: u64,
    asks: u32,
    /// State of the rules about other pods that were in force.
    near_version: u32,
    /// Grade and score in one number, [`CLOSED`] where the node cannot serve; rules about other pods
    /// in wider surroundings than the node are left to the cells.
    ranks: Vec<i64>,
    /// What keeps the class off each node, rules about other pods left out.
    bars: Vec<Bar>,
    /// The nodes' places in the order of names, the same for all rankings.
    ordinals: Arc<[u32]>,
    /// What each scoring rule measured over all nodes, to scale its scores by.
    scales: Vec<I64Vec2>,
    /// In which capped groups of nodes there is room left for a task of the class.
    group_room: Vec<bool>,
    /// The best row of a scan. It stands until a row changes: many a class has a single task, and for
    /// one question no tournament is played.
    champion: Option<u32>,
    tree: Tournament,
    /// The pods around each node, if the class has rules about them.
    near: Option<Box<Surroundings>>,
    /// Rows by wider surroundings, if it has rules about those: they stand in for the tree.
    cells: Option<Box<Cells>>,
    /// Rows by domain, where domains add to the score: they stand in for the tree too.
    nest: Option<Box<Nest>>,
    /// Which drawing of the tree of domains it rests on.
    drawn: u64,
    /// Rows that are looked at again.
    changed: Vec<u32>,
}

/// Rows this close are looked at in one go with what lies between: that costs less than another look.
const NEARBY_ROWS: u32 = 8;

/// A grade outweighs any score: room that is free goes before room that will be.
const GRADE_SHIFT: u32 = 56;
const SCORE_LIMIT: i64 = 1 << 54;

/// The rank of a grade and a score.
pub(super) fn rank_of(fit: Fit, score: i64) -> i64 {
    ((fit as i64) << GRADE_SHIFT) + score.clamp(-SCORE_LIMIT, SCORE_LIMIT)
}

/// The grade in a rank.
pub(super) fn fit_of(rank: i64) -> Fit {
    match rank {
        CLOSED => Fit::None,
        rank if rank >= ((Fit::Idle as i64) << GRADE_SHIFT) - SCORE_LIMIT => Fit::Idle,
        _ => Fit::Future,
    }
}

/// The score in a rank that is not [`CLOSED`].
pub(super) fn score_of(rank: i64) -> i64 {
    rank - ((fit_of(rank) as i64) << GRADE_SHIFT)
}

impl Ranking {
    /// Brings the ranking up to date with the nodes.
    pub(super) fn refresh(
        &mut self,
        class: &Class,
        nodes: NodeColumns<'_>,
        log: &ChangeLog,
        ordinals: &Arc<[u32]>,
        rules: Rules<'_>,
    ) {
        // A group that fills up or opens again concerns all its nodes at once.
        let groups = rules.around.groups;
        if groups.refresh_room(class.group_rule, &class.request, &mut self.group_room) {
            self.mark = None;
        }
        // So does a volume that only one pod may use.
        let stamp = rules.around.volumes.stamp(class.volumes.as_ref());
        if self.stamp != stamp {
            self.stamp = stamp;
            self.mark = None;
        }
        // So does another tree of domains, which changes no row.
        if self.nest.is_some() && self.drawn != rules.around.domains.index.version {
            self.mark = None;
        }
        let known = self.mark.filter(|_| self.near_version == class.near.version);
        match known.and_then(|mark| log.since(mark)) {
            // Looking at all rows in runs is cheaper than at some of them one by one.
            Some(changed) if changed.len() < nodes.len() / self.rescan_part() + 16 => {
                self.mend(changed, class, nodes, rules);
            }
            _ => {
                self.ordinals = Arc::clone(ordinals);
                self.scan(class, nodes, rules);
            }
        }
        self.mark = Some(log.mark());
    }

    /// The part of all rows from which on a scan is taken to be cheaper than looking at those that
    /// changed. A quarter is as good as any for a thousand classes of ten pods where changed rows lie
    /// scattered, and the best where they lie side by side. Where rows are sorted into cells or domains a
    /// scan sorts them anew, too.
    fn rescan_part(&self) -> usize {
        if self.near.is_none() && self.nest.is_none() { 4 } else { 2 }
    }

    fn mend(&mut self, changed: &[u32], class: &Class, nodes: NodeColumns<'_>, rules: Rules<'_>) {
        let mut news = News::default();
        if let Some(near) = &mut self.near {
            let mut moved = false;
            for &row in changed {
                moved |= near.observe(row as usize, &nodes.neighbours[row as usize]);
            }
            if moved {
                news = near.settle();
            }
        }
        if news.rows {
            self.scan(class, nodes, rules);
            return;
        }
        self.look_again(changed, class, nodes, rules);
        if let Some(nest) = &mut self.nest {
            nest.settle(class, rules.policies, rules.around.domains);
        }
        if let (Some(cells), Some(near)) = (&mut self.cells, &mut self.near) {
            if news.cells {
                cells.note_all();
            }
            let bars = &self.bars;
            cells.mend(near, |near, row| row_bar(bars, near, row));
        }
    }

    fn scan(&mut self, class: &Class, nodes: NodeColumns<'_>, rules: Rules<'_>) {
        let rows = nodes.len();
        self.near_version = class.near.version;
        self.ranks.resize(rows, CLOSED);
        self.bars.resize(rows, Bar::OPEN);
        let whole = pairing_of(class, nodes, rules);
        self.scales = rules.policies.measure(&whole.rows(0..rows));
        let (filters, scores) = rules.policies.near();
        self.near = Surroundings::new(class, nodes, rules.symbols, filters, scores).map(Box::new);
        let block = rules.tuning.rows_per_block.max(1);
        let (scales, near, ordinals) = (&self.scales, self.near.as_deref(), &self.ordinals);
        let look = |(at, (ranks, bars)): (usize, (&mut [i64], &mut [Bar]))| {
            let first = at * block;
            let sight = Sight { scales, policies: rules.policies, near, ordinals };
            sight.look_at(&whole, first, ranks, bars)
        };
        let best = if rows >= rules.tuning.parallel_threshold {
            let blocks = self.ranks.par_chunks_mut(block).zip(self.bars.par_chunks_mut(block));
            blocks.enumerate().map(look).reduce(|| None, Option::max)
        } else {
            let blocks = self.ranks.chunks_mut(block).zip(self.bars.chunks_mut(block));
            blocks.enumerate().map(look).fold(None, Option::max)
        };
        self.champion = best.map(|best| best.row);
        self.tree.clear();
        let bars = &self.bars;
        let wide = self.near.as_deref().filter(|near| near.is_wide());
        self.cells = wide.map(|near| {
            let cells =
                Cells::new(near, &self.ranks, &self.ordinals, |row| row_bar(bars, near, row));
            Box::new(cells)
        });
        // Rules about wider surroundings settle where such a pod goes; domains add nothing to that.
        let drawn = self.cells.is_none() && rules.policies.is_asked(Point::DomainPull);
        let domains = rules.around.domains;
        self.drawn = domains.index.version;
        self.nest = drawn.then(|| {
            Box::new(Nest::new(class, rules.policies, domains, &self.ranks, &self.ordinals))
        });
    }

    /// Looks at rows that changed.
    fn look_again(
        &mut self,
        changed: &[u32],
        class: &Class,
        nodes: NodeColumns<'_>,
        rules: Rules<'_>,
    ) {
        let mut rows = std::mem::take(&mut self.changed);
        rows.clear();
        rows.extend_from_slice(changed);
        if rows.len() > 1 {
            // A row is noted whenever it changes, and many at once often lie side by side.
            rows.sort_unstable();
            rows.dedup();
        }
        let whole = pairing_of(class, nodes, rules);
        for run in rows.chunk_by(|a, b| b - a <= NEARBY_ROWS) {
            let rows = run[0] as usize..=run[run.len() - 1] as usize;
            let (ranks, bars) = (&mut self.ranks[rows.clone()], &mut self.bars[rows]);
            let sight = Sight {
                scales: &self.scales,
                policies: rules.policies,
                near: self.near.as_deref(),
                ordinals: &self.ordinals,
            };
            sight.fill(&whole, run[0] as usize, ranks, bars, |_, _| {});
        }
        match (&mut self.nest, &mut self.cells) {
            (Some(nest), _) => {
                for row in rows.iter().map(|&row| row as usize) {
                    nest.set(class, rules.policies, rules.around.domains, row, self.ranks[row]);
                }
            }
            (None, Some(cells)) => {
                for &row in &rows {
                    cells.set(row, self.ranks[row as usize]);
                }
            }
            (None, None) if rows.is_empty() => {}
            (None, None) if self.tree.is_played() => {
                self.tree.mend_all(&rows, &self.ranks, &self.ordinals);
            }
            (None, None) => self.tree.rebuild(&self.ranks, &self.ordinals),
        }
        self.changed = rows;
    }

    /// Does a row that changes change the rank of that row and nothing else?
    pub(super) fn is_plain(&self) -> bool {
        self.near.is_none() && self.nest.is_none() && self.group_room.is_empty()
    }

    /// Makes ready for rows that change one by one.
    pub(super) fn play(&mut self) {
        if !self.tree.is_played() {
            self.tree.rebuild(&self.ranks, &self.ordinals);
        }
    }

    /// Looks at a row again that has changed. Whoever does so for all that change says in the end
    /// how far it has [come](Self::catch_up).
    pub(crate) fn renew(
        &mut self,
        row: u32,
        class: &Class,
        nodes: NodeColumns<'_>,
        rules: Rules<'_>,
    ) {
        self.look_again(&[row], class, nodes, rules);
    }

    /// Notes that all changes up to the mark have been looked at.
    pub(crate) fn catch_up(&mut self, mark: LogMark) {
        self.mark = Some(mark);
    }

    /// Starts anew and keeps the memory: the next question looks at every row.
    pub(super) fn reset(&mut self) {
        self.mark = None;
        self.asks = 0;
        (self.near, self.cells, self.nest) = (None, None, None);
    }

    /// Notes that it was asked for, or will be asked so often.
    pub(super) fn note_asks(&mut self, now: u64, asks: u32) {
        self.last_asked = now;
        self.asks = self.asks.saturating_add(asks);
    }

    /// When it was last asked for.
    pub(super) fn last_asked(&self) -> u64 {
        self.last_asked
    }

    /// How often it was asked for since it started anew.
    pub(super) fn asks(&self) -> u32 {
        self.asks
    }

    /// Node rows it holds, those of rules about other pods counted apart.
    pub(super) fn size(&self) -> usize {
        self.ranks.len() * (1 + self.near.as_ref().map_or(0, |near| near.rules()))
    }

    /// The best row of all.
    pub fn best(&self) -> Option<u32> {
        match (&self.cells, &self.nest) {
            (Some(cells), _) => cells.best(),
            (None, Some(nest)) => nest.best(),
            (None, None) if !self.tree.is_played() => self.champion,
            (None, None) => self.tree.best(),
        }
    }

    /// The best of some rows. Which domains they are in does not count: whoever asks has chosen one.
    pub fn best_of(&self, rows: &[u32]) -> Option<u32> {
        let key = |row: u32| (self.rank(row), Reverse(self.ordinals[row as usize]));
        let open = rows.iter().map(|&row| (key(row), row)).filter(|entry| entry.0.0 != CLOSED);
        open.max().map(|(_, row)| row)
    }

    fn rank(&self, row: u32) -> i64 {
        match (&self.cells, &self.near) {
            (Some(cells), Some(near)) => cells.rank(row, |row| row_bar(&self.bars, near, row)),
            _ => self.ranks[row as usize],
        }
    }

    /// May the row serve the class at all, now or later?
    pub fn is_open(&self, row: u32) -> bool {
        self.ranks[row as usize] != CLOSED
    }

    /// How the request fits the row.
    pub fn fit(&self, row: u32) -> Fit {
        fit_of(self.rank(row))
    }

    /// What keeps the class off the row.
    pub fn bar(&self, row: u32) -> Bar {
        let Some(near) = &self.near else { return self.bars[row as usize] };
        let mut bar = row_bar(&self.bars, near, row);
        if let Some(cells) = &self.cells {
            bar.join(cells.bar(row));
        }
        bar
    }

    /// Is the row closed to the class whoever leaves it?
    pub fn is_barred_for_good(&self, row: u32) -> bool {
        self.bars[row as usize].later.is_lasting()
    }

    /// What keeps the class off each row.
    pub fn bars(&self) -> impl Iterator<Item = Bar> + '_ {
        (0..self.bars.len() as u32).map(|row| self.bar(row))
    }

    /// What keeps a task of the class off the row room was held for it on, the task itself taken out.
    pub fn bar_of_held(&self, row: u32) -> Bar {
        let mut bar = self.bars[row as usize];
        if let Some(near) = &self.near {
            near.judge_held(row as usize, &mut bar);
        }
        bar
    }
}

/// What keeps a class off a row, rules about wider surroundings left out.
fn row_bar(bars: &[Bar], near: &Surroundings, row: u32) -> Bar {
    let mut bar = bars[row as usize];
    near.judge_row(row as usize, &mut bar);
    bar
}

#[cfg(test)]
mod tests {
    use bevy_ecs::prelude::{Res, ResMut, World};
    use bevy_ecs::system::{RunSystemOnce, SystemParam};
    use proptest::prelude::*;

    use super::super::rankings::Rankings;
    use super::*;
    use crate::config::catalog;
    use crate::config::{Arguments, Gates, PipelineConfig, PluginConfig, SchedulerConfig};
    use crate::statement::Statement;
    use crate::statement::tests::{Step, perform, step, world};
    use crate::world::{Cluster, Names};

    fn with_scores(world: &mut World) {
        let plugin = |name| PluginConfig {
            spec: catalog::plugin(name).expect("in the catalogue"),
            gates: Gates::default(),
            arguments: Arguments::default(),
        };
        let names = [
            "predicates",
            "nodeorder",
            "binpack",
            "resource-strategy-fit",
            "nodegroup",
            "network-topology-aware",
        ];
        let tier = names.map(plugin).to_vec();
        let config = SchedulerConfig {
            actions: Vec::new(),
            tiers: vec![tier],
            tuning: Tuning::default(),
            pipeline: PipelineConfig::default(),
        };
        let mut names = world.resource_mut::<Names>();
        let policies = Policies::new(&config, &mut names.0);
        world.insert_resource(policies);
    }

    /// All ranks and bars, and the best row, as found and as it should be.
    type Seen = (Vec<(i64, Bar)>, [Option<u32>; 2]);

    /// The best row, from what every domain around it adds.
    fn best_naively(ranking: &Ranking, class: &Class, rules: Rules<'_>) -> Option<u32> {
        let view = rules.around.domains;
        let tree = &view.index.knots;
        let pulled = |row: u32| {
            let mut around = vec![tree.home(row as usize)];
            while let Some(parent) = tree.parent(around[around.len() - 1]) {
                around.push(parent);
            }
            let pull = |tier: usize| {
                let there = around.iter().find(|&&at| tree.tier(at) == tier);
                let totals = there.and_then(|&at| view.totals(at));
                rules.policies.domain_pull(class, tree.tiers(), tier, totals)
            };
            (0..tree.tiers().len() - 1).map(pull).sum::<i64>()
        };
        let open = (0..ranking.ranks.len() as u32).filter(|&row| ranking.rank(row) != CLOSED);
        open.max_by_key(|&row| {
            let rank = ranking.rank(row);
            // Wide rules about other pods settle it where there are any.
            let pull = if ranking.cells.is_some() { 0 } else { pulled(row) };
            (rank_of(fit_of(rank), score_of(rank) + pull), Reverse(ranking.ordinals[row as usize]))
        })
    }

    /// Everything rankings are made from but the cluster.
    #[derive(SystemParam)]
    struct Book<'w> {
        classes: Res<'w, Classes>,
        policies: Res<'w, Policies>,
        symbols: Res<'w, Symbols>,
        names: Res<'w, Names>,
    }

    /// Ranks of every class: kept up to date since the last call, and made anew.
    fn both(cluster: &Cluster<'_, '_>, kept: &mut Rankings, book: &Book<'_>) -> Vec<[Seen; 2]> {
        let rules = Rules {
            classes: &book.classes,
            policies: &book.policies,
            symbols: &book.symbols,
            tuning: &Tuning::default(),
            around: Around {
                domains: cluster.domain_view(),
                groups: &cluster.groups,
                images: &cluster.images,
                volumes: &cluster.volumes,
                names: &book.names.0,
            },
        };
        let mut fresh = Rankings::default();
        let classes = rules.classes.ids();
        classes
            .map(|class| {
                let (nodes, log) = (cluster.columns(), &*cluster.log);
                let kept = kept.of(class, nodes, log, rules);
                let fresh = fresh.of(class, nodes, log, rules);
                [kept, fresh].map(|ranking| {
                    let rows = 0..ranking.ranks.len() as u32;
                    let best = best_naively(ranking, rules.classes.get(class), rules);
                    (
                        rows.map(|row| (ranking.rank(row), ranking.bar(row))).collect(),
                        [ranking.best(), best],
                    )
                })
            })
            .collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn rankings_kept_up_to_date_equal_rankings_made_anew(
            rounds in prop::collection::vec(prop::collection::vec(step(), 0..12), 1..5),
        ) {
            let mut world = world();
            with_scores(&mut world);
            let seen = world.run_system_once(
                move |mut cluster: Cluster<'_, '_>,
                      book: Book<'_>,
                      mut kept: ResMut<'_, Rankings>| {
                    let mut seen = both(&cluster, &mut kept, &book);
                    let mut statement = Statement::new("test");
                    for steps in &rounds {
                        let steps: &[Step] = steps;
                        perform(&mut cluster, &mut statement, steps);
                        seen.extend(both(&cluster, &mut kept, &book));
                    }
                    statement.discard(&mut cluster);
                    seen.extend(both(&cluster, &mut kept, &book));
                    seen
                },
            ).expect("runs");
            prop_assert!(!seen.is_empty());
            for [kept, fresh] in seen {
                prop_assert_eq!(kept.1[0], kept.1[1], "the best is the best");
                prop_assert_eq!(kept, fresh);
            }
        }
    }
}
