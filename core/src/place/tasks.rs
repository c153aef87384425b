//! Finds places for the tasks of a sub-group, one after the other.

use bevy_ecs::entity::Entity;

use super::bulk::BulkPlacer;
use super::device_limits::affordable_rows;
use super::fill_order::FillOrder;
use super::left_by_victims::LeftByVictims;
use super::pending::PendingPart;
use super::reach::{Enough, PlaceScope, Reach, Rows, Shortfall, enough, served};
use super::session::Session;
use crate::delta::PreemptionPolicy;
use crate::kernel::fit::Fit;
use crate::reservation::Release;
use crate::statement::Statement;
use crate::verdict::Verdict;
use crate::world::{ClassId, Obstacle, TaskStatus};

/// Places tasks of a part until the part is served or none is left.
pub(super) fn place_tasks(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    part: &mut PendingPart,
    scope: PlaceScope<'_>,
) -> Reach {
    let mut short = Shortfall::default();
    let mut late = Late::default();
    let mut fill_order = FillOrder::of(session, (job, part.subgroup), part.left(), scope.rows);
    let mut bulk = BulkPlacer::default();
    let anywhere = fill_order.is_free() && scope.rows.is_none() && scope.enough != Enough::Covered;
    loop {
        if scope.enough == Enough::Step
            && !holds_room(session, part)
            && let Some(Reach::Covered) = served(session, job, part.subgroup)
        {
            return Reach::Covered;
        }
        if anywhere && short.is_empty() {
            let placed = bulk.place(session, statement, job, part);
            short.placed += placed;
            if placed > 0
                && let Some(reach) = enough(scope, served(session, job, part.subgroup))
            {
                return reach;
            }
        }
        let Some(task) = part.pop().or_else(|| late.next(session, &mut short)) else { break };
        let item = session.cluster.task(task);
        let (class, held) = (item.membership.class, item.status().0 == TaskStatus::Pipelined);
        // Nothing is freed while placing, so what one task of a class did not find no other will;
        // unless room is held for it.
        let refused = short.objection.as_ref().is_some_and(|(of, _)| *of == class);
        let failed = short.classes.contains(&class);
        if (refused || failed) && !held {
            if !refused {
                late.keep(session, task, class);
            }
            continue;
        }
        match place_task(session, statement, job, task, (&mut fill_order, scope.rows)) {
            // What others of its class may have it may not.
            Placement::Kept | Placement::Forbearing => {}
            Placement::Refused(objection) => {
                short.objection.get_or_insert((class, objection));
                short.closed.extend(held.then_some(task));
            }
            Placement::NoRoom => {
                short.classes.extend((!failed).then_some(class));
                short.closed.extend(held.then_some(task));
                late.keep(session, task, class);
            }
            Placement::Placed => {
                short.placed += 1;
                if let Some(reach) = enough(scope, served(session, job, part.subgroup)) {
                    return reach;
                }
            }
        }
    }
    match served(session, job, part.subgroup) {
        Some(reach) if short.is_empty() || short.placed > 0 => reach,
        _ => Reach::Short(short),
    }
}

/// Is room held for the next task of a part?
fn holds_room(session: &Session<'_, '_>, part: &PendingPart) -> bool {
    let next = part.ahead().first();
    next.is_some_and(|&task| session.cluster.task(task).status().0 == TaskStatus::Pipelined)
}

/// Tasks with rules about other pods that found no place: they may find one once others of the gang
/// have theirs, near whom they must be.
#[derive(Default)]
struct Late {
    tasks: Vec<Entity>,
    round: std::vec::IntoIter<Entity>,
    /// Tasks placed when the round began.
    placed: u32,
}

impl Late {
    fn keep(&mut self, session: &Session<'_, '_>, task: Entity, class: ClassId) {
        if !session.classes.get(class).interpod.rules.is_empty() {
            self.tasks.push(task);
        }
    }

    /// The next task to try again. A round follows on another as long as it places something.
    fn next(&mut self, session: &Session<'_, '_>, short: &mut Shortfall) -> Option<Entity> {
        if self.round.len() == 0 && short.placed > self.placed {
            self.placed = short.placed;
            self.round = std::mem::take(&mut self.tasks).into_iter();
            for &task in self.round.as_slice() {
                let class = session.cluster.task(task).membership.class;
                short.classes.retain(|&failed| failed != class);
            }
        }
        self.round.next()
    }
}

/// What became of one task.
enum Placement {
    /// It has a place, or room held, that it had not before.
    Placed,
    /// The room held for it is not free yet.
    Kept,
    /// No node has room.
    NoRoom,
    /// There is only room that victims leave, and nobody may be evicted for it.
    Forbearing,
    /// Its queue may not have it.
    Refused(Verdict),
}

fn place_task(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    task: Entity,
    (fill_order, rows): (&mut FillOrder, Rows<'_>),
) -> Placement {
    let item = session.cluster.task(task);
    let (class, preempts) = (item.membership.class, item.priority.preempts);
    let leaves = match item.status() {
        (TaskStatus::Releasing, from) => from,
        _ => None,
    };
    // If rules changed and the node may not serve it any more, it is placed like any other.
    if let (TaskStatus::Pipelined, Some(node)) = item.status()
        && let Some(placement) = redeem_reservation(session, statement, task, node)
    {
        return placement;
    }
    if statement.evicts() && preempts == PreemptionPolicy::Never && leaves.is_none() {
        return place_beside_victims(session, statement, job, task, rows);
    }
    let allowed = session.policies.allocatable(
        &session.cluster,
        &session.names.0,
        &session.cluster.job(job),
        session.classes.get(class).least(),
    );
    if let Err(objection) = allowed {
        return Placement::Refused(objection);
    }
    let affordable = match affordable_rows(session, job, class, rows) {
        Ok(affordable) => affordable,
        Err(objection) => return Placement::Refused(objection),
    };
    let rows = affordable.as_deref().or(rows);
    session.ranking(class);
    let ranking = session.rankings.latest(class).expect("it was brought up to date just now");
    // Who fits again where it is stays there.
    let own = leaves.map(|node| session.cluster.node(node).place.row).filter(|&row| {
        rows.is_none_or(|rows| rows.binary_search(&row).is_ok()) && ranking.fit(row) != Fit::None
    });
    let best = own.or_else(|| fill_order.best(&session.cluster, (task, class), ranking, rows));
    let Some(row) = best else { return Placement::NoRoom };
    let fit = ranking.fit(row);
    if take(session, statement, task, row, fit) { Placement::Placed } else { Placement::NoRoom }
}

/// Finds a place for a task nobody may be evicted for, in a transaction that evicts for others of its
/// job: neither what victims leave on nodes nor what they leave in its queue is for it.
fn place_beside_victims(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    task: Entity,
    rows: Rows<'_>,
) -> Placement {
    let class = session.cluster.task(task).membership.class;
    let left = LeftByVictims::of(session, statement);
    let item = session.cluster.job(job);
    let asked = left.with(session, item.spec.queue, session.classes.get(class).least());
    let names = &session.names.0;
    if session.policies.allocatable(&session.cluster, names, &item, &asked).is_err() {
        return Placement::Forbearing;
    }
    let rows = left.other_rows(session, rows);
    let ranking = session.ranking(class);
    let Some(row) = ranking.best_of(&rows) else { return Placement::Forbearing };
    let fit = ranking.fit(row);
    if take(session, statement, task, row, fit) { Placement::Placed } else { Placement::Forbearing }
}

/// Takes what is free on a node for a task, or what will be; is there either?
fn take(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    task: Entity,
    row: u32,
    fit: Fit,
) -> bool {
    let node = session.cluster.columns().entities[row as usize];
    let leaves = session.cluster.task(task).status().0 == TaskStatus::Releasing;
    let done = match fit {
        Fit::Idle | Fit::Future if leaves => statement.relocate(&mut session.cluster, task, node),
        Fit::Idle => statement.allocate(&mut session.cluster, task, node),
        Fit::Future => statement.pipeline(&mut session.cluster, task, node),
        Fit::None => return false,
    };
    debug_assert!(done.is_ok(), "only tasks that wait or are being evicted are listed");
    true
}

/// Finds a place or room for one task on some rows.
pub(crate) fn place_one_task(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    task: Entity,
    rows: Rows<'_>,
) -> bool {
    let place = (&mut FillOrder::default(), rows);
    matches!(place_task(session, statement, job, task, place), Placement::Placed | Placement::Kept)
}

/// Turns a reservation into a place if the room is free by now; none, and the reservation is gone, if
/// the node may not serve the task any more.
fn redeem_reservation(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    task: Entity,
    node: Entity,
) -> Option<Placement> {
    let item = session.cluster.task(task);
    let (class, request) = (item.membership.class, item.request.clone());
    let row = session.cluster.node(node).place.row;
    // What is held for the task itself must not stand in its way.
    let start = statement.checkpoint();
    let unpipelined = statement.unpipeline(&mut session.cluster, task, Release::Closed);
    debug_assert!(unpipelined.is_ok(), "the task was pipelined a moment ago");
    let exclusion = session.ranking(class).exclusion_of_held(row);
    if exclusion.is_closed() {
        return None;
    }
    let room = session.cluster.node(node);
    if exclusion.now != Obstacle::None
        || !request.room().hot.fits(room.idle())
        || !request.room().tail.fits(&room.tails().idle)
        || session.cluster.device_fit(node, &request) != Fit::Idle
    {
        statement.rollback(&mut session.cluster, start);
        return Some(Placement::Kept);
    }
    let done = statement.allocate(&mut session.cluster, task, node);
    debug_assert!(done.is_ok(), "a pending task may be allocated");
    Some(Placement::Placed)
}
