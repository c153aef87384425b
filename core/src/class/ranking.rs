//! The nodes as one class of tasks sees them: which may serve, which serve best.
//!
//! A ranking is made by one scan over all nodes. After that only rows that changed are looked at
//! again, inside a cycle and across cycles, and the best node is at the top of a tournament.

use bevy_ecs::prelude::Resource;
use glam::I64Vec2;
use rayon::prelude::*;

use super::tree::{self, CLOSED, Tournament};
use super::{Class, ClassId, Classes};
use crate::config::Tuning;
use crate::kernel::fit::{self, Fit};
use crate::policy::{Bar, Pairing, Policies};
use crate::resource::Tail;
use crate::world::{Around, ChangeLog, LogMark, NodeColumns, NodeTails, Symbols};

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
    last_used: u64,
    /// Grade and score in one number, [`CLOSED`] where the node cannot serve.
    ranks: Vec<i64>,
    /// What keeps the class off each node.
    bars: Vec<Bar>,
    ordinals: Vec<u32>,
    /// What each scoring rule measured over all nodes, to scale its scores by.
    scales: Vec<I64Vec2>,
    /// In which capped groups of nodes there is room left for a task of the class.
    group_room: Vec<bool>,
    tree: Tournament,
}

/// A grade outweighs any score: room that is free goes before room that will be.
const GRADE_SHIFT: u32 = 56;
const SCORE_LIMIT: i64 = 1 << 54;

impl Ranking {
    /// Brings the ranking up to date with the nodes.
    fn refresh(
        &mut self,
        class: &Class,
        nodes: NodeColumns<'_>,
        log: &ChangeLog,
        rules: Rules<'_>,
    ) {
        // A group that fills up or opens again concerns all its nodes at once.
        let groups = rules.around.groups;
        if groups.refresh_room(class.group_rule, &class.request, &mut self.group_room) {
            self.mark = None;
        }
        match self.mark.and_then(|mark| log.since(mark)) {
            // Looking at everything once is cheaper than at most rows one by one.
            Some(changed) if changed.len() < nodes.len() / 2 + 16 => {
                for &row in changed {
                    self.look_again(row as usize, class, nodes, rules);
                }
            }
            _ => self.scan(class, nodes, rules),
        }
        self.mark = Some(log.mark());
    }

    fn scan(&mut self, class: &Class, nodes: NodeColumns<'_>, rules: Rules<'_>) {
        let rows = nodes.len();
        self.ordinals.clear();
        self.ordinals.extend(nodes.places.iter().map(|place| place.ordinal));
        self.ranks.resize(rows, CLOSED);
        self.bars.resize(rows, Bar::OPEN);
        let whole = Pairing { class, symbols: rules.symbols, nodes, around: rules.around };
        self.scales = rules.policies.measure(&whole);
        let block = rules.tuning.rows_per_block.max(1);
        let scales = &self.scales;
        let look = |(at, (ranks, bars)): (usize, (&mut [i64], &mut [Bar]))| {
            let first = at * block;
            let pairing = Pairing { nodes: nodes.rows(first..first + ranks.len()), ..whole };
            look_at(&pairing, scales, rules.policies, ranks, bars);
        };
        if rows >= rules.tuning.parallel_threshold {
            let ranks = self.ranks.par_chunks_mut(block);
            ranks.zip(self.bars.par_chunks_mut(block)).enumerate().for_each(look);
        } else {
            let ranks = self.ranks.chunks_mut(block);
            ranks.zip(self.bars.chunks_mut(block)).enumerate().for_each(look);
        }
        self.tree.rebuild(&self.ranks, &self.ordinals);
    }

    fn look_again(&mut self, row: usize, class: &Class, nodes: NodeColumns<'_>, rules: Rules<'_>) {
        let nodes = nodes.rows(row..row + 1);
        let pairing = Pairing { class, symbols: rules.symbols, nodes, around: rules.around };
        let ranks = &mut self.ranks[row..=row];
        let before = ranks[0];
        look_at(&pairing, &self.scales, rules.policies, ranks, &mut self.bars[row..=row]);
        if self.ranks[row] != before {
            self.tree.mend(row, &self.ranks, &self.ordinals);
        }
    }

    /// The best row of all.
    pub fn best(&self) -> Option<u32> {
        self.tree.best(&self.ranks)
    }

    /// The best of some rows.
    pub fn best_of(&self, rows: &[u32]) -> Option<u32> {
        let open = rows.iter().copied().filter(|&row| self.ranks[row as usize] != CLOSED);
        open.reduce(
            |best, row| {
                if tree::beats(row, best, &self.ranks, &self.ordinals) { row } else { best }
            },
        )
    }

    /// How the request fits the row.
    pub fn fit(&self, row: u32) -> Fit {
        match self.ranks[row as usize] {
            CLOSED => Fit::None,
            rank if rank >= ((Fit::Idle as i64) << GRADE_SHIFT) - SCORE_LIMIT => Fit::Idle,
            _ => Fit::Future,
        }
    }

    /// What keeps the class off each row.
    pub fn bars(&self) -> &[Bar] {
        &self.bars
    }
}

/// Fills ranks and bars for a run of rows.
fn look_at(
    pairing: &Pairing<'_>,
    scales: &[I64Vec2],
    policies: &Policies,
    ranks: &mut [i64],
    bars: &mut [Bar],
) {
    let (class, nodes) = (pairing.class, &pairing.nodes);
    bars.fill(Bar::OPEN);
    policies.filter(pairing, bars);
    ranks.fill(0);
    policies.score(pairing, scales, ranks);
    let request = &class.request;
    let mut grades = [Fit::None; GRADE_ROWS];
    for first in (0..ranks.len()).step_by(GRADE_ROWS) {
        let rows = first..ranks.len().min(first + GRADE_ROWS);
        let grades = &mut grades[..rows.len()];
        let room = nodes.rows(rows.clone());
        fit::grade(&request.hot, room.idle, room.releasing, room.pipelined, grades);
        for (row, grade) in rows.zip(grades) {
            if !request.tail.is_empty() {
                *grade = (*grade).min(grade_tail(&request.tail, &nodes.tails[row]));
            }
            ranks[row] = match bars[row].limit(*grade) {
                Fit::None => CLOSED,
                fit => ((fit as i64) << GRADE_SHIFT) + ranks[row].clamp(-SCORE_LIMIT, SCORE_LIMIT),
            };
        }
    }
}

/// Rows graded at a time, on the stack.
const GRADE_ROWS: usize = 64;

fn grade_tail(request: &Tail, node: &NodeTails) -> Fit {
    let mut future = node.idle.clone();
    future.add(&node.releasing);
    future.sub(&node.pipelined);
    match (request.fits(&future), request.fits(&node.idle)) {
        (false, _) => Fit::None,
        (true, false) => Fit::Future,
        (true, true) => Fit::Idle,
    }
}

/// The rankings of all classes in use.
#[derive(Debug, Default, Resource)]
pub struct Rankings {
    by_class: Vec<Option<Box<Ranking>>>,
    cycle: u64,
}

/// Cycles a ranking is kept without being asked for.
const KEEP_CYCLES: u64 = 16;
/// Node rows all rankings together may hold: about 1.3 GiB.
const ROWS_MAX: usize = 50_000_000;

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
            self.by_class.resize_with(at + 1, || None);
        }
        let ranking = self.by_class[at].get_or_insert_default();
        ranking.last_used = self.cycle;
        ranking.refresh(rules.classes.get(class), nodes, log, rules);
        ranking
    }

    /// Ends a cycle: rankings nobody asked for in a while are dropped, and the longest unused ones
    /// when all together grow too large.
    pub fn end_cycle(&mut self) {
        let cycle = self.cycle;
        self.cycle += 1;
        let mut live: Vec<(u64, usize, usize)> = Vec::new();
        for (at, slot) in self.by_class.iter_mut().enumerate() {
            let Some(ranking) = slot else { continue };
            if ranking.last_used + KEEP_CYCLES < cycle {
                *slot = None;
            } else {
                live.push((ranking.last_used, at, ranking.ranks.len()));
            }
        }
        let mut rows: usize = live.iter().map(|entry| entry.2).sum();
        live.sort_unstable();
        for (_, at, size) in live {
            if rows <= ROWS_MAX {
                break;
            }
            self.by_class[at] = None;
            rows -= size;
        }
    }
}

#[cfg(test)]
mod tests {
    use bevy_ecs::prelude::{Res, ResMut, World};
    use bevy_ecs::system::{RunSystemOnce, SystemParam};
    use proptest::prelude::*;

    use super::*;
    use crate::config::catalog;
    use crate::config::{Arguments, Gates, PluginConfig, SchedulerConfig};
    use crate::statement::Statement;
    use crate::statement::tests::{Step, perform, step, world};
    use crate::world::{Cluster, Names};

    fn with_scores(world: &mut World) {
        let plugin = |name| PluginConfig {
            spec: catalog::plugin(name).expect("in the catalogue"),
            gates: Gates::default(),
            arguments: Arguments::default(),
        };
        let names = ["predicates", "nodeorder", "binpack", "resource-strategy-fit", "nodegroup"];
        let tier = names.map(plugin).to_vec();
        let config =
            SchedulerConfig { actions: Vec::new(), tiers: vec![tier], tuning: Tuning::default() };
        let mut names = world.resource_mut::<Names>();
        let policies = Policies::new(&config, &mut names.0);
        world.insert_resource(policies);
    }

    /// All ranks, and the best row.
    type Seen = (Vec<i64>, Option<u32>);

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
                groups: &cluster.groups,
                images: &cluster.images,
                names: &book.names.0,
            },
        };
        let mut fresh = Rankings::default();
        (0..rules.classes.len() as u32)
            .map(|class| {
                let (class, nodes, log) = (ClassId(class), cluster.columns(), &*cluster.log);
                let kept = kept.of(class, nodes, log, rules);
                let fresh = fresh.of(class, nodes, log, rules);
                [kept, fresh].map(|ranking| (ranking.ranks.clone(), ranking.best()))
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
                prop_assert_eq!(kept, fresh);
            }
        }
    }
}
