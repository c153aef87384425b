//! In which order the parts of a domain are filled.
//!
//! Scores of nodes are shared by all tasks of a class and know nothing of gangs, so they cannot draw a
//! pod to where the rest of its gang is. The order of looking does that instead: of the domains inside
//! a domain, those that hold members of the gang come first, then the one that holds all the rest and
//! is filled most by it, else the one that takes most; inside each of them the same again. Within a
//! part the best node counts. Where no part has room, all nodes of the domain are looked at together,
//! so a gang that fits is placed in any case.

use std::cmp::Reverse;

use bevy_ecs::entity::Entity;

use super::Session;
use super::domain_order::{DomainNeed, Want, bring_up_to_date, is_inside, room_for};
use super::reach::Rows;
use crate::ids::Name;
use crate::kernel::fit::Fit;
use crate::policy::{Arrangement, Unit};
use crate::ranking::Ranking;
use crate::world::{ClassId, Cluster};

/// Parts to be filled one after the other.
#[derive(Default)]
pub(super) struct FillOrder {
    /// Rows of each part.
    plots: Vec<Vec<u32>>,
    /// The first part that may have room for a class. Nothing is freed while a gang is placed.
    reached: Vec<(ClassId, usize)>,
    /// What nodes are worth to a task by where the other tasks of its job are.
    arrangements: Vec<Box<dyn Arrangement>>,
}

impl FillOrder {
    /// How these tasks of a unit are to fill the rows.
    pub(super) fn of(
        session: &mut Session<'_, '_>,
        (job, subgroup): (Entity, Option<u16>),
        tasks: impl IntoIterator<Item = Entity>,
        rows: Rows<'_>,
    ) -> Self {
        let arrangements =
            session.policies.arrangements(&session.cluster, &session.cluster.job(job));
        let plots = Self::plots(session, (job, subgroup), tasks, rows);
        Self { plots, reached: Vec::new(), arrangements }
    }

    /// Rows of the parts that are filled one after the other; empty where no plugin divides the rows.
    fn plots(
        session: &mut Session<'_, '_>,
        (job, subgroup): (Entity, Option<u16>),
        tasks: impl IntoIterator<Item = Entity>,
        rows: Rows<'_>,
    ) -> Vec<Vec<u32>> {
        let unit = Unit { job: &session.cluster.job(job), subgroup };
        let topology = unit.levels_around().map(|levels| &levels.topology);
        let domain = rows.and_then(|rows| smallest_around(&session.cluster, rows, topology));
        if rows.is_some() && domain.is_none() && topology.is_none() {
            return Vec::new();
        }
        if session.policies.inner_domains(&session.cluster, unit, domain).is_empty() {
            return Vec::new();
        }
        let surplus = session.policies.job_ready(&session.cluster, unit.job);
        let need = DomainNeed::of(session, job, subgroup, tasks);
        let Some(&want) = need.wants.iter().max_by_key(|want| (want.tasks, Reverse(want.class)))
        else {
            return Vec::new();
        };
        bring_up_to_date(session, &need);
        let mut plots = Vec::new();
        let unit = Unit { job: &session.cluster.job(job), subgroup };
        let seats = Unit { subgroup: None, ..unit }.seats(&session.cluster).into_iter();
        let home: Vec<u32> = seats.map(|node| session.cluster.node(node).place.row).collect();
        let layout = Layout { session, unit, want, home: &home, outer: rows, surplus };
        layout.lay_out(domain, want.tasks, &mut plots);
        plots
    }

    /// Is there no order, so that the best node is taken wherever it is?
    pub(super) fn is_free(&self) -> bool {
        self.plots.is_empty() && self.arrangements.is_empty()
    }

    /// The best row for a task of the class: in the first part with free room, else anywhere.
    pub(super) fn best(
        &mut self,
        cluster: &Cluster<'_, '_>,
        (task, class): (Entity, ClassId),
        ranking: &Ranking,
        rows: Rows<'_>,
    ) -> Option<u32> {
        let arrangements = &self.arrangements;
        let best_of = |rows: &[u32]| match arrangements.as_slice() {
            [] => ranking.best_of(rows),
            arrangements => best_arranged(cluster, task, arrangements, ranking, rows),
        };
        if !self.plots.is_empty() {
            let known = self.reached.iter().position(|entry| entry.0 == class);
            let known = known.unwrap_or_else(|| {
                self.reached.push((class, 0));
                self.reached.len() - 1
            });
            let at = &mut self.reached[known].1;
            while let Some(plot) = self.plots.get(*at) {
                let best = best_of(plot).filter(|&row| ranking.fit(row) == Fit::Idle);
                if best.is_some() {
                    return best;
                }
                *at += 1;
            }
        }
        match rows {
            Some(rows) => best_of(rows),
            None if arrangements.is_empty() => ranking.best(),
            None => best_of(&(0..cluster.columns().len() as u32).collect::<Vec<u32>>()),
        }
    }
}

/// The best row for a task by what its class sees and what the others of its job want.
fn best_arranged(
    cluster: &Cluster<'_, '_>,
    task: Entity,
    arrangements: &[Box<dyn Arrangement>],
    ranking: &Ranking,
    rows: &[u32],
) -> Option<u32> {
    let mut more = vec![0; rows.len()];
    for arrangement in arrangements {
        arrangement.score(cluster, task, rows, &mut more);
    }
    ranking.best_with(rows, &more)
}

/// The smallest domain that contains all these rows: of a topology by labels, or of those objects name.
fn smallest_around(
    cluster: &Cluster<'_, '_>,
    rows: &[u32],
    topology: Option<&Name>,
) -> Option<Entity> {
    let first = cluster.columns().entities[*rows.first()? as usize];
    let contains = |domain: &Entity| {
        let domain = cluster.domain(*domain);
        let inner = &domain.spot.rows;
        domain.spec.level.as_ref().map(|level| &level.topology) == topology
            && inner.len() >= rows.len()
            && rows.iter().all(|row| inner.binary_search(row).is_ok())
    };
    cluster.node(first).domains.0.iter().copied().find(contains)
}

/// What the order of parts is made from.
struct Layout<'a, 'w, 's> {
    session: &'a Session<'w, 's>,
    unit: Unit<'a>,
    /// The class with most tasks: parts are measured by it.
    want: Want,
    /// Rows the job has places on, one entry for each place.
    home: &'a [u32],
    outer: Rows<'a>,
    /// Has the job its minimum? Then each further task only goes near those it has.
    surplus: bool,
}

/// A domain inside the one that is laid out.
struct Inner {
    domain: Entity,
    rows: Vec<u32>,
    /// Places the job has there.
    held: usize,
    /// Tasks it can take at once.
    room: u32,
}

impl Layout<'_, '_, '_> {
    /// Adds the parts of a domain that are to take a number of tasks.
    fn lay_out(&self, domain: Option<Entity>, mut left: u32, plots: &mut Vec<Vec<u32>>) {
        let inner = self.session.policies.inner_domains(&self.session.cluster, self.unit, domain);
        let mut inner: Vec<Inner> =
            inner.into_iter().filter_map(|domain| self.measure(domain, left)).collect();
        // Most room first; the sort is stable, so equal ones stay in the order of names.
        inner.sort_by_key(|part| Reverse((part.held, part.room)));
        while left > 0 && !inner.is_empty() {
            let next = match inner.iter().position(|part| part.held == 0) {
                // Of those that take all that is left, the one with least room to spare.
                Some(0) => {
                    let enough = inner.iter().take_while(|part| part.room >= left).count();
                    let least = inner[..enough].last().map(|part| part.room);
                    inner.iter().position(|part| Some(part.room) == least).unwrap_or(0)
                }
                _ => 0,
            };
            let part = inner.remove(next);
            let share = left.min(part.room);
            self.lay_out(Some(part.domain), share, plots);
            plots.push(part.rows);
            left -= share;
        }
    }

    fn measure(&self, domain: Entity, left: u32) -> Option<Inner> {
        let rows = &self.session.cluster.domain(domain).spot.rows;
        let held = self.home.iter().filter(|row| rows.binary_search(row).is_ok()).count();
        if self.surplus && held == 0 {
            return None;
        }
        let rows: Vec<u32> =
            rows.iter().copied().filter(|&row| is_inside(self.outer, row)).collect();
        // Counted without a limit: parts are compared by how much room they have to spare.
        let room = room_for(self.session, self.want.class, &rows, None, u32::MAX).now;
        (room > 0 && left > 0).then_some(Inner { domain, rows, held, room })
    }
}
