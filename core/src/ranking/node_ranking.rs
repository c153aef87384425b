//! The nodes as one class of tasks sees them: which may serve, which serve best.
//!
//! A ranking is made by one scan over all nodes. After that only rows that changed are looked at
//! again, inside a cycle and across cycles, and the best node is at the top of a tournament.

use std::cmp::Reverse;
use std::sync::Arc;

use rayon::prelude::*;

use super::by_domain::DomainTournament;
use super::cells::Cells;
use super::rank::{fit_of, grade_of, rank_of, score_of};
use super::scan::{Scan, pairing_of};
use super::tournament::{CLOSED, Tournament};
use crate::class::{Class, Classes};
use crate::config::Tuning;
use crate::kernel::fit::Fit;
use crate::policy::{Point, Policies, ScoreScale};
use crate::ranking::{TopologyChange, TopologyView};
use crate::world::{ChangeLog, ClusterFacts, Exclusion, LogMark, NodeColumns, Symbols};

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
    pub cluster_facts: ClusterFacts<'a>,
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
    interpod_version: u32,
    /// Grade and score in one number, [`CLOSED`] where the node cannot serve; rules about other pods
    /// over wider topologies than the node are left to the cells.
    ranks: Vec<i64>,
    /// What keeps the class off each node, rules about other pods left out.
    exclusions: Vec<Exclusion>,
    /// The nodes' places in the order of names, the same for all rankings.
    ordinals: Arc<[u32]>,
    /// What each scoring rule measured over all nodes, to scale its scores by.
    scales: Vec<ScoreScale>,
    /// In which capped groups of nodes there is room left for a task of the class.
    group_room: Vec<bool>,
    /// The best row of a scan. It stands until a row changes: many a class has a single task, and for
    /// one question no tournament is played.
    champion: Option<u32>,
    tree: Tournament,
    /// The pods around each node, if the class has rules about them.
    topology: Option<Box<TopologyView>>,
    /// Cells of rows, if it has rules over wider topologies: they stand in for the tree.
    cells: Option<Box<Cells>>,
    /// Rows by domain, where domains add to the score: they stand in for the tree too.
    by_domain: Option<Box<DomainTournament>>,
    /// Which drawing of the tree of domains it rests on.
    drawn: u64,
    /// Rows that are looked at again.
    changed: Vec<u32>,
}

/// Rows this close are looked at in one go with what lies between: that costs less than another look.
const NEARBY_ROWS: u32 = 8;

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
        let groups = rules.cluster_facts.groups;
        if groups.refresh_room(class.group_rule, &class.request, &mut self.group_room) {
            self.mark = None;
        }
        // So does a volume that only one pod may use.
        let stamp = rules.cluster_facts.volumes.stamp(class.volumes.as_ref());
        if self.stamp != stamp {
            self.stamp = stamp;
            self.mark = None;
        }
        // So does another tree of domains, which changes no row.
        if self.by_domain.is_some() && self.drawn != rules.cluster_facts.domains.index.version {
            self.mark = None;
        }
        let known = self.mark.filter(|_| self.interpod_version == class.interpod.version);
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
        if self.topology.is_none() && self.by_domain.is_none() { 4 } else { 2 }
    }

    fn mend(&mut self, changed: &[u32], class: &Class, nodes: NodeColumns<'_>, rules: Rules<'_>) {
        let mut change = TopologyChange::default();
        if let Some(topology) = &mut self.topology {
            let mut moved = false;
            for &row in changed {
                moved |= topology.observe(row as usize, &nodes.pod_counts[row as usize]);
            }
            if moved {
                change = topology.settle();
            }
        }
        if change.rows {
            self.scan(class, nodes, rules);
            return;
        }
        self.rescore(changed, class, nodes, rules);
        if let Some(by_domain) = &mut self.by_domain {
            by_domain.settle(class, rules.policies, rules.cluster_facts.domains);
        }
        if let (Some(cells), Some(topology)) = (&mut self.cells, &mut self.topology) {
            if change.cells {
                cells.note_all();
            }
            let exclusions = &self.exclusions;
            cells.mend(topology, |topology, row| row_exclusion(exclusions, topology, row));
        }
    }

    fn scan(&mut self, class: &Class, nodes: NodeColumns<'_>, rules: Rules<'_>) {
        let rows = nodes.len();
        self.interpod_version = class.interpod.version;
        self.ranks.resize(rows, CLOSED);
        self.exclusions.resize(rows, Exclusion::OPEN);
        let whole = pairing_of(class, nodes, rules);
        self.scales = rules.policies.measure(&whole.rows(0..rows));
        let (filters, scores) = rules.policies.interpod();
        self.topology =
            TopologyView::new(class, nodes, rules.symbols, filters, scores).map(Box::new);
        let block = rules.tuning.rows_per_block.max(1);
        let (scales, topology, ordinals) = (&self.scales, self.topology.as_deref(), &self.ordinals);
        let look = |(at, (ranks, exclusions)): (usize, (&mut [i64], &mut [Exclusion]))| {
            let first = at * block;
            let scan = Scan { scales, policies: rules.policies, topology, ordinals };
            scan.look_at(&whole, first, ranks, exclusions)
        };
        let best = if rows >= rules.tuning.parallel_threshold {
            let blocks =
                self.ranks.par_chunks_mut(block).zip(self.exclusions.par_chunks_mut(block));
            blocks.enumerate().map(look).reduce(|| None, Option::max)
        } else {
            let blocks = self.ranks.chunks_mut(block).zip(self.exclusions.chunks_mut(block));
            blocks.enumerate().map(look).fold(None, Option::max)
        };
        self.champion = best.map(|best| best.row);
        self.tree.clear();
        let exclusions = &self.exclusions;
        let wide = self.topology.as_deref().filter(|topology| topology.is_wide());
        self.cells = wide.map(|topology| {
            let cells = Cells::new(topology, &self.ranks, &self.ordinals, |row| {
                row_exclusion(exclusions, topology, row)
            });
            Box::new(cells)
        });
        // Rules over wider topologies settle where such a pod goes; domains add nothing to that.
        let drawn = self.cells.is_none() && rules.policies.is_asked(Point::DomainPull);
        let domains = rules.cluster_facts.domains;
        self.drawn = domains.index.version;
        self.by_domain = drawn.then(|| {
            Box::new(DomainTournament::new(
                class,
                rules.policies,
                domains,
                &self.ranks,
                &self.ordinals,
            ))
        });
    }

    /// Looks at rows that changed.
    fn rescore(
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
            let (ranks, exclusions) = (&mut self.ranks[rows.clone()], &mut self.exclusions[rows]);
            let scan = Scan {
                scales: &self.scales,
                policies: rules.policies,
                topology: self.topology.as_deref(),
                ordinals: &self.ordinals,
            };
            scan.fill(&whole, run[0] as usize, ranks, exclusions, |_, _| {});
        }
        match (&mut self.by_domain, &mut self.cells) {
            (Some(by_domain), _) => {
                for row in rows.iter().map(|&row| row as usize) {
                    by_domain.set(
                        class,
                        rules.policies,
                        rules.cluster_facts.domains,
                        row,
                        self.ranks[row],
                    );
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
        self.topology.is_none() && self.by_domain.is_none() && self.group_room.is_empty()
    }

    /// Makes ready for rows that change one by one.
    pub(super) fn play(&mut self) {
        if !self.tree.is_played() {
            self.tree.rebuild(&self.ranks, &self.ordinals);
        }
    }

    /// Looks at a row again that has changed. A caller that does so for every changed row says in the end
    /// how far it has [come](Self::catch_up).
    pub(crate) fn renew(
        &mut self,
        row: u32,
        class: &Class,
        nodes: NodeColumns<'_>,
        rules: Rules<'_>,
    ) {
        self.rescore(&[row], class, nodes, rules);
    }

    /// Notes that all changes up to the mark have been looked at.
    pub(crate) fn catch_up(&mut self, mark: LogMark) {
        self.mark = Some(mark);
    }

    /// Starts over and keeps the memory: the next question looks at every row.
    pub(super) fn reset(&mut self) {
        self.mark = None;
        self.asks = 0;
        (self.topology, self.cells, self.by_domain) = (None, None, None);
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

    /// How often it was asked for since it started over.
    pub(super) fn asks(&self) -> u32 {
        self.asks
    }

    /// Node rows it holds, those of rules about other pods counted apart.
    pub(super) fn size(&self) -> usize {
        self.ranks.len() * (1 + self.topology.as_ref().map_or(0, |topology| topology.rules()))
    }

    /// The best row of all.
    pub fn best(&self) -> Option<u32> {
        match (&self.cells, &self.by_domain) {
            (Some(cells), _) => cells.best(),
            (None, Some(by_domain)) => by_domain.best(),
            (None, None) if !self.tree.is_played() => self.champion,
            (None, None) => self.tree.best(),
        }
    }

    /// The best of some rows. Which domains they are in does not count: the caller has chosen one.
    pub fn best_of(&self, rows: &[u32]) -> Option<u32> {
        let key = |row: u32| (self.rank(row), Reverse(self.ordinals[row as usize]));
        let open = rows.iter().map(|&row| (key(row), row)).filter(|entry| entry.0.0 != CLOSED);
        open.max().map(|(_, row)| row)
    }

    /// The best of some rows once each has so much more of a score. Domains do not count here either.
    pub fn best_with(&self, rows: &[u32], more: &[i64]) -> Option<u32> {
        let open = rows.iter().zip(more).filter(|(row, _)| self.is_open(**row));
        let ranked = open.filter_map(|(&row, &more)| {
            let rank = Some(self.rank(row)).filter(|&rank| rank != CLOSED)?;
            let rank = rank_of(grade_of(rank), score_of(rank).saturating_add(more));
            Some(((rank, Reverse(self.ordinals[row as usize])), row))
        });
        ranked.max().map(|(_, row)| row)
    }

    fn rank(&self, row: u32) -> i64 {
        match (&self.cells, &self.topology) {
            (Some(cells), Some(topology)) => {
                cells.rank(row, |row| row_exclusion(&self.exclusions, topology, row))
            }
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
    pub fn exclusion(&self, row: u32) -> Exclusion {
        let Some(topology) = &self.topology else { return self.exclusions[row as usize] };
        let mut exclusion = row_exclusion(&self.exclusions, topology, row);
        if let Some(cells) = &self.cells {
            exclusion.join(cells.exclusion(row));
        }
        exclusion
    }

    /// Is the row closed to the class, whatever pods leave it?
    pub fn is_barred_for_good(&self, row: u32) -> bool {
        self.exclusions[row as usize].later.is_lasting()
    }

    /// What keeps the class off each row.
    pub fn exclusions(&self) -> impl Iterator<Item = Exclusion> + '_ {
        (0..self.exclusions.len() as u32).map(|row| self.exclusion(row))
    }

    /// What keeps a task of the class off the row room was held for it on, the task itself taken out.
    pub fn exclusion_of_held(&self, row: u32) -> Exclusion {
        let mut exclusion = self.exclusions[row as usize];
        if let Some(topology) = &self.topology {
            topology.judge_held(row as usize, &mut exclusion);
        }
        exclusion
    }
}

/// What keeps a class off a row, rules over wider topologies left out.
fn row_exclusion(exclusions: &[Exclusion], topology: &TopologyView, row: u32) -> Exclusion {
    let mut exclusion = exclusions[row as usize];
    topology.judge_row(row as usize, &mut exclusion);
    exclusion
}

#[cfg(test)]
mod tests {
    use bevy_ecs::prelude::{Res, ResMut, World};
    use bevy_ecs::system::{RunSystemOnce, SystemParam};
    use proptest::prelude::*;

    use super::super::rankings::Rankings;
    use super::*;
    use crate::config::Arguments;
    use crate::policy::testing::{config, plugin};
    use crate::statement::Statement;
    use crate::statement::tests::{Step, perform, step, world};
    use crate::world::{Cluster, Names};

    fn with_scores(world: &mut World) {
        let names = [
            "predicates",
            "nodeorder",
            "binpack",
            "resource-strategy-fit",
            "nodegroup",
            "network-topology-aware",
        ];
        let tier = names.map(|name| plugin(name, Arguments::default())).to_vec();
        let config = config(tier, &[]);
        let mut names = world.resource_mut::<Names>();
        let policies = Policies::new(&config, &mut names.0);
        world.insert_resource(policies);
    }

    /// All ranks and bars, and the best row, as found and as it should be.
    type Seen = (Vec<(i64, Exclusion)>, [Option<u32>; 2]);

    /// The best row, from what every domain around it adds.
    fn best_naively(ranking: &Ranking, class: &Class, rules: Rules<'_>) -> Option<u32> {
        let view = rules.cluster_facts.domains;
        let tree = &view.index.nested;
        let pulled = |row: u32| {
            let mut cluster_facts = vec![tree.home(row as usize)];
            while let Some(parent) = tree.parent(cluster_facts[cluster_facts.len() - 1]) {
                cluster_facts.push(parent);
            }
            let pull = |tier: usize| {
                let there = cluster_facts.iter().find(|&&at| tree.tier(at) == tier);
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
            (
                rank_of(grade_of(rank), score_of(rank) + pull),
                Reverse(ranking.ordinals[row as usize]),
            )
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

    /// Ranks of every class: kept up to date since the last call, and rebuilt.
    fn both(cluster: &Cluster<'_, '_>, kept: &mut Rankings, book: &Book<'_>) -> Vec<[Seen; 2]> {
        let rules = Rules {
            classes: &book.classes,
            policies: &book.policies,
            symbols: &book.symbols,
            tuning: &Tuning::default(),
            cluster_facts: ClusterFacts {
                domains: cluster.domain_view(),
                groups: &cluster.groups,
                lending: &cluster.lending,
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
                        rows.map(|row| (ranking.rank(row), ranking.exclusion(row))).collect(),
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
