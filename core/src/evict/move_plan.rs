//! Who would have to move where room is made pod by pod, by counting alone.
//!
//! For each task that lacks room the node is found on which it costs least: what its victims there hold of
//! what is asked for. Among equals the node whose victims are served last. A plan is a proposal; whether
//! everybody finds a place is seen when it is tried.

use std::cmp::Reverse;

use bevy_ecs::entity::Entity;
use hashbrown::{HashMap, HashSet};
use rustc_hash::FxBuildHasher;

use crate::place::Session;
use crate::resource::ResourceVec;
use crate::world::ClassId;

use super::candidates::Candidate;
use super::moves::weight_of;
use super::shortage::Shortage;

/// A task that may move.
#[derive(Clone, Debug)]
pub(super) struct Mover {
    pub(super) task: Entity,
    pub(super) job: Entity,
    /// Position in the order of victims: smaller goes first.
    pub(super) place: usize,
    /// The row of its node.
    pub(super) row: u32,
    request: ResourceVec,
    weight: i64,
}

/// Tasks that may move, in the order of victims.
#[derive(Debug, Default)]
pub(super) struct Movers {
    pub(super) list: Vec<Mover>,
    by_row: HashMap<u32, Vec<usize>, FxBuildHasher>,
}

impl Movers {
    /// The tasks of the candidates that may move: queue by queue, job by job, of each the task placed last
    /// first.
    pub(super) fn of(
        session: &Session<'_, '_>,
        shortage: &Shortage,
        candidates: &[Candidate],
        rests: impl Fn(Entity) -> bool,
    ) -> Self {
        let need = shortage.valued();
        let mut queues: Vec<Entity> = candidates.iter().map(|one| queue_of(session, one)).collect();
        queues.sort_unstable();
        queues.dedup();
        session.policies.sort_victim_queues(&session.cluster, &shortage.evictor, &mut queues);
        let rank = |queue: Entity| queues.iter().position(|&other| other == queue);
        let mut order: Vec<&Candidate> = candidates.iter().collect();
        order.sort_by_cached_key(|one| (rank(queue_of(session, one)), one.place));
        let mut movers = Self::default();
        for candidate in order {
            let open = candidate.footprint.open.iter();
            let rows: HashMap<Entity, u32, FxBuildHasher> =
                open.map(|occupant| (occupant.task, occupant.row)).collect();
            let mut tasks: Vec<Entity> =
                rows.keys().copied().filter(|&task| !rests(task)).collect();
            tasks.sort_unstable();
            session.policies.sort_last_first(&session.cluster, &mut tasks);
            for task in tasks {
                let request = session.cluster.task(task).whole_request();
                let (place, weight) = (movers.list.len(), weight_of(&request, &need));
                let (job, row) = (candidate.job, rows[&task]);
                movers.by_row.entry(row).or_default().push(place);
                movers.list.push(Mover { task, job, place, row, request, weight });
            }
        }
        movers
    }

    fn on(&self, row: u32) -> impl Iterator<Item = &Mover> {
        self.by_row.get(&row).into_iter().flatten().map(|&at| &self.list[at])
    }
}

fn queue_of(session: &Session<'_, '_>, candidate: &Candidate) -> Entity {
    session.cluster.job(candidate.job).spec.queue
}

/// What must not be part of a plan: it was, and did not work.
#[derive(Debug, Default)]
pub(super) struct Bans {
    pub(super) tasks: HashSet<Entity, FxBuildHasher>,
    pub(super) rows: HashSet<u32, FxBuildHasher>,
}

/// Who would move, and what that comes to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MovePlan {
    /// What they hold of what is asked for.
    pub(super) cost: i64,
    /// The most important of them, by position.
    pub(super) highest: usize,
    /// Rows that are cleared for tasks.
    pub(super) rows: Vec<u32>,
    /// Indices of those who move, ascending.
    pub(super) movers: Vec<usize>,
}

/// What it costs to make room for one task on a row.
#[derive(Clone, Debug)]
struct RowOffer {
    row: u32,
    cost: i64,
    highest: usize,
    /// What would be left of the room.
    spare: i64,
    movers: Vec<usize>,
}

impl RowOffer {
    fn key(&self, ordinals: &impl Fn(u32) -> u32) -> (i64, usize, i64, u32) {
        (self.cost, self.highest, self.spare, ordinals(self.row))
    }
}

/// Plans for the rows of one place.
pub(super) struct Planner<'a> {
    pub(super) movers: &'a Movers,
    pub(super) rows: &'a [u32],
    pub(super) need: ResourceVec,
    pub(super) bans: &'a Bans,
}

impl Planner<'_> {
    /// Room for these tasks, one after the other, each where it costs least; none if one finds no row.
    pub(super) fn plan(&self, session: &mut Session<'_, '_>, tasks: &[Entity]) -> Option<MovePlan> {
        let mut plan = MovePlan::default();
        let mut taken: HashMap<u32, ResourceVec, FxBuildHasher> = HashMap::default();
        let mut offers: (Option<ClassId>, Vec<RowOffer>) = (None, Vec::new());
        for &task in tasks {
            let class = session.cluster.task(task).membership.class;
            if offers.0 != Some(class) {
                let open = self.open_rows(session, class);
                let all = open.into_iter();
                let found = all.filter_map(|row| self.offer(session, &plan, &taken, class, row));
                offers = (Some(class), found.collect());
            }
            let ordinals = |row: u32| session.cluster.columns().places[row as usize].ordinal;
            let at = (0..offers.1.len()).min_by_key(|&at| offers.1[at].key(&ordinals))?;
            let best = offers.1.swap_remove(at);
            let room = taken.entry(best.row).or_default();
            room.add(&session.classes.get(class).request);
            plan.cost = plan.cost.saturating_add(best.cost);
            plan.rows.push(best.row);
            plan.movers.extend(best.movers);
            offers.1.extend(self.offer(session, &plan, &taken, class, best.row));
        }
        plan.movers.sort_unstable();
        plan.highest = plan.movers.last().copied().unwrap_or(0);
        Some(plan)
    }

    fn open_rows(&self, session: &mut Session<'_, '_>, class: ClassId) -> Vec<u32> {
        let ranking = session.ranking(class);
        let open = self.rows.iter().copied();
        open.filter(|row| !self.bans.rows.contains(row) && !ranking.is_barred_for_good(*row))
            .collect()
    }

    /// The cheapest way to one more task of the class on the row, beside what is planned.
    fn offer(
        &self,
        session: &Session<'_, '_>,
        plan: &MovePlan,
        taken: &HashMap<u32, ResourceVec, FxBuildHasher>,
        class: ClassId,
        row: u32,
    ) -> Option<RowOffer> {
        let request = &session.classes.get(class).request;
        let mut room = session.cluster.columns().future(row as usize);
        if let Some(taken) = taken.get(&row) {
            room.sub(taken);
        }
        let (gone, open): (Vec<&Mover>, Vec<&Mover>) =
            self.movers.on(row).partition(|mover| plan.movers.contains(&mover.place));
        for mover in gone {
            room.add(&mover.request);
        }
        let open: Vec<&Mover> =
            open.into_iter().filter(|mover| !self.bans.tasks.contains(&mover.task)).collect();
        let chosen = if request.fits(&room) { Vec::new() } else { fewest(request, &room, open)? };
        for mover in &chosen {
            room.add(&mover.request);
        }
        room.sub(request);
        Some(RowOffer {
            row,
            cost: chosen.iter().map(|mover| mover.weight).fold(0, i64::saturating_add),
            highest: chosen.iter().map(|mover| mover.place).max().unwrap_or(0),
            spare: weight_of(&room, &self.need),
            movers: chosen.iter().map(|mover| mover.place).collect(),
        })
    }
}

/// The cheapest of a few choices of movers without whom the request fits.
fn fewest<'m>(
    request: &ResourceVec,
    room: &ResourceVec,
    movers: Vec<&'m Mover>,
) -> Option<Vec<&'m Mover>> {
    let with = |mover: &Mover| {
        let mut room = room.clone();
        room.add(&mover.request);
        room
    };
    let alone = movers.iter().copied().filter(|mover| request.fits(&with(mover)));
    let alone = alone.min_by_key(|mover| (mover.weight, mover.place)).map(|mover| vec![mover]);
    let mut by_weight = movers.clone();
    by_weight.sort_by_key(|mover| (Reverse(mover.weight), mover.place));
    let choices =
        [alone, until_it_fits(request, room, movers), until_it_fits(request, room, by_weight)];
    choices.into_iter().flatten().min_by_key(|chosen| {
        let cost = chosen.iter().map(|mover| mover.weight).fold(0, i64::saturating_add);
        (cost, chosen.iter().map(|mover| mover.place).max())
    })
}

/// Movers in order until the request fits, less those that turn out not to be needed, the largest first.
fn until_it_fits<'m>(
    request: &ResourceVec,
    room: &ResourceVec,
    order: Vec<&'m Mover>,
) -> Option<Vec<&'m Mover>> {
    let (mut room, mut chosen) = (room.clone(), Vec::new());
    for mover in order {
        if request.fits(&room) {
            break;
        }
        room.add(&mover.request);
        chosen.push(mover);
    }
    if !request.fits(&room) {
        return None;
    }
    chosen.sort_by_key(|mover| (Reverse(mover.weight), Reverse(mover.place)));
    chosen.retain(|mover| {
        room.sub(&mover.request);
        let needed = !request.fits(&room);
        if needed {
            room.add(&mover.request);
        }
        needed
    });
    Some(chosen)
}
