//! Finds places for a job: sub-group by sub-group, task by task, within the domains it may use.
//!
//! Everything is tried on a Statement. A sub-group that cannot be placed whole leaves no trace, and so
//! does a domain that was not chosen.

use bevy_ecs::entity::Entity;

use super::drive::Scene;
use super::filling::Filling;
use super::prospect::{Need, sift};
use super::stretch::Stretches;
use super::worksheet::{Open, Part, Sheet};
use crate::class::ClassId;
use crate::kernel::fit::Fit;
use crate::policy::{Obstacle, Purpose, SearchSpace, Unit};
use crate::reservation::Release;
use crate::statement::{Plan, Statement};
use crate::verdict::Verdict;
use crate::world::{READY, TaskStatus};

/// How far a placement got.
#[derive(Clone, Debug)]
pub(crate) enum Reach {
    /// Enough has a place.
    Ready,
    /// Enough has a place or room held.
    Covered,
    /// Not enough.
    Short(Shortfall),
}

/// What a placement failed on.
#[derive(Clone, Debug, Default)]
pub(crate) struct Shortfall {
    /// Tasks that found a place or room before it failed.
    pub(crate) placed: u32,
    /// Classes that found none, in the order they failed.
    pub(crate) classes: Vec<ClassId>,
    /// A queue's objection, with the class of tasks it was about.
    pub(crate) objection: Option<(ClassId, Verdict)>,
    /// Tasks that have room held where they may not go any more, and found none elsewhere.
    pub(crate) closed: Vec<Entity>,
}

impl Shortfall {
    /// Did nothing fail?
    pub(super) fn is_empty(&self) -> bool {
        self.classes.is_empty() && self.objection.is_none()
    }

    /// Adds what another part of the same job failed on.
    fn merge(&mut self, other: Self) {
        self.placed += other.placed;
        self.classes.extend(other.classes);
        self.objection = self.objection.take().or(other.objection);
        self.closed.extend(other.closed);
    }
}

/// Do topology wishes bind?
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Bounds {
    /// Yes.
    Kept,
    /// No: to see whether they are what a placement fails on.
    Ignored,
}

/// When a job has enough.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Enough {
    /// When it may be bound; room that is not free yet is held for as many as there is.
    Ready,
    /// As soon as free and held room cover its minimum: nobody makes way for its surplus.
    Covered,
}

/// Where, how strictly and how far a job is placed.
#[derive(Clone, Copy, Debug)]
struct Scope<'a> {
    rows: Rows<'a>,
    bounds: Bounds,
    enough: Enough,
}

/// Rows that may be used; none is all of them.
pub(crate) type Rows<'a> = Option<&'a [u32]>;

/// Places tasks of a job until it is ready or none is left.
pub(super) fn job(
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    sheet: &mut Sheet,
    bounds: Bounds,
) -> Reach {
    let space = search_space(scene, job, None, bounds);
    within(
        scene,
        statement,
        (job, None),
        space.as_ref(),
        None,
        sheet,
        |scene, statement, sheet, rows| {
            parts(scene, statement, job, sheet, Scope { rows, bounds, enough: Enough::Ready })
        },
    )
}

/// Places tasks of a job on some rows until its minimum is covered; its sub-groups keep their wishes.
pub(crate) fn covering(
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    sheet: &mut Sheet,
    rows: Rows<'_>,
) -> Reach {
    let scope = Scope { rows, bounds: Bounds::Kept, enough: Enough::Covered };
    parts(scene, statement, job, sheet, scope)
}

fn search_space(
    scene: &Scene<'_, '_>,
    job: Entity,
    subgroup: Option<u16>,
    bounds: Bounds,
) -> Option<SearchSpace> {
    if bounds == Bounds::Ignored {
        return None;
    }
    let unit = Unit { job: &scene.cluster.job(job), subgroup };
    scene.policies.search_space(&scene.cluster, unit, Purpose::Allocate)
}

/// Tries the domains of a group on a checkpoint, the best first, and keeps the first plan by which the
/// unit can start; if it can start in none, the first by which it can wait for room. The first group
/// that has a plan decides. Without a search space there is nothing to choose.
fn within<S: Open>(
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    unit: (Entity, Option<u16>),
    space: Option<&SearchSpace>,
    outer: Rows<'_>,
    left: &mut S,
    mut attempt: impl FnMut(&mut Scene<'_, '_>, &mut Statement, &mut S, Rows<'_>) -> Reach,
) -> Reach {
    let Some(space) = space else { return attempt(scene, statement, left, outer) };
    let need = Need::of(scene, unit.0, unit.1, left.left_over());
    let mut short = Shortfall::default();
    for group in &space.groups {
        let mut waiting: Option<(Plan, S)> = None;
        for prospect in sift(scene, unit, &need, group, outer) {
            if waiting.is_some() && !prospect.at_once {
                break;
            }
            let start = statement.checkpoint();
            let rows = prospect
                .domain
                .map(|domain| inside(&scene.cluster.domain(domain).spot.rows, outer));
            let mut trial = left.clone();
            match attempt(scene, statement, &mut trial, rows.as_deref().or(outer)) {
                Reach::Ready => {
                    *left = trial;
                    return Reach::Ready;
                }
                Reach::Covered if waiting.is_none() => {
                    waiting = Some((statement.save(start), trial));
                }
                // The furthest attempt says most about what is lacking.
                Reach::Short(other) if short.is_empty() || other.placed > short.placed => {
                    short = other;
                }
                Reach::Covered | Reach::Short(_) => {}
            }
            statement.rollback(&mut scene.cluster, start);
        }
        if let Some((plan, trial)) = waiting {
            statement.recover(&mut scene.cluster, &plan);
            *left = trial;
            return Reach::Covered;
        }
    }
    if short.is_empty() {
        // No domain was worth a trial.
        short.classes.extend(need.wants.first().map(|want| want.class));
    }
    Reach::Short(short)
}

/// Rows of a domain that lie inside another choice of rows.
fn inside(rows: &[u32], outer: Rows<'_>) -> Vec<u32> {
    let kept = |row: &&u32| outer.is_none_or(|outer| outer.binary_search(row).is_ok());
    rows.iter().filter(kept).copied().collect()
}

/// Places the parts of a sheet in order until the job is ready.
fn parts(
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    sheet: &mut Sheet,
    scope: Scope<'_>,
) -> Reach {
    let before = statement.checkpoint();
    let mut short = Shortfall::default();
    for part in sheet.open_parts() {
        let start = statement.checkpoint();
        let space = part.subgroup.and_then(|at| search_space(scene, job, Some(at), scope.bounds));
        let reach = within(
            scene,
            statement,
            (job, part.subgroup),
            space.as_ref(),
            scope.rows,
            part,
            |scene, statement, part, rows| {
                tasks(scene, statement, job, part, Scope { rows, ..scope })
            },
        );
        if let Reach::Short(shortfall) = reach {
            if part.subgroup.is_some() {
                statement.rollback(&mut scene.cluster, start);
            }
            short.merge(shortfall);
        }
        if statement.checkpoint() > before
            && let Some(reach) = enough(scope, served(scene, job, None))
        {
            return reach;
        }
    }
    let item = scene.cluster.job(job);
    match scene.policies.job_ready(&item) {
        // Nothing of the surplus found a place: the job goes on as it is, and says why.
        true if !short.is_empty() => Reach::Short(short),
        true => Reach::Ready,
        false if scene.policies.job_pipelined(&item) => Reach::Covered,
        false => Reach::Short(short),
    }
}

/// Places tasks of a part until the part is served or none is left.
fn tasks(
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    part: &mut Part,
    scope: Scope<'_>,
) -> Reach {
    let mut short = Shortfall::default();
    let mut late = Late::default();
    let mut filling = Filling::of(scene, (job, part.subgroup), part.left(), scope.rows);
    let mut stretches = Stretches::default();
    let anywhere = filling.is_free() && scope.rows.is_none() && scope.enough == Enough::Ready;
    loop {
        if anywhere && short.is_empty() {
            let placed = stretches.place(scene, statement, job, part);
            short.placed += placed;
            if placed > 0
                && let Some(reach) = enough(scope, served(scene, job, part.subgroup))
            {
                return reach;
            }
        }
        let Some(task) = part.pop().or_else(|| late.next(scene, &mut short)) else { break };
        let item = scene.cluster.task(task);
        let (class, held) = (item.membership.class, item.status().0 == TaskStatus::Pipelined);
        // Nothing is freed while placing, so what one task of a class did not find no other will;
        // unless room is held for it.
        let refused = short.objection.as_ref().is_some_and(|(of, _)| *of == class);
        let failed = short.classes.contains(&class);
        if (refused || failed) && !held {
            if !refused {
                late.keep(scene, task, class);
            }
            continue;
        }
        match one(scene, statement, job, task, (&mut filling, scope.rows)) {
            Placement::Kept => {}
            Placement::Refused(objection) => {
                short.objection.get_or_insert((class, objection));
                short.closed.extend(held.then_some(task));
            }
            Placement::NoRoom => {
                short.classes.extend((!failed).then_some(class));
                short.closed.extend(held.then_some(task));
                late.keep(scene, task, class);
            }
            Placement::Placed => {
                short.placed += 1;
                if let Some(reach) = enough(scope, served(scene, job, part.subgroup)) {
                    return reach;
                }
            }
        }
    }
    match served(scene, job, part.subgroup) {
        Some(reach) if short.is_empty() || short.placed > 0 => reach,
        _ => Reach::Short(short),
    }
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
    fn keep(&mut self, scene: &Scene<'_, '_>, task: Entity, class: ClassId) {
        if !scene.classes.get(class).near.rules.is_empty() {
            self.tasks.push(task);
        }
    }

    /// The next task to try again. A round follows on another as long as it places something.
    fn next(&mut self, scene: &Scene<'_, '_>, short: &mut Shortfall) -> Option<Entity> {
        if self.round.len() == 0 && short.placed > self.placed {
            self.placed = short.placed;
            self.round = std::mem::take(&mut self.tasks).into_iter();
            for &task in self.round.as_slice() {
                let class = scene.cluster.task(task).membership.class;
                short.classes.retain(|&failed| failed != class);
            }
        }
        self.round.next()
    }
}

/// How far it got, if that is far enough to stop.
fn enough(scope: Scope<'_>, reach: Option<Reach>) -> Option<Reach> {
    reach.filter(|reach| match scope.enough {
        Enough::Ready => matches!(reach, Reach::Ready),
        Enough::Covered => !matches!(reach, Reach::Short(_)),
    })
}

/// Has the part what it needs: the sub-group its size, the job its minimum?
fn served(scene: &Scene<'_, '_>, job: Entity, subgroup: Option<u16>) -> Option<Reach> {
    let item = scene.cluster.job(job);
    let (ready, covered) = match subgroup {
        None => (scene.policies.job_ready(&item), scene.policies.job_pipelined(&item)),
        Some(at) => {
            let group = &item.counts.subgroups[usize::from(at)];
            let size = item.spec.subgroups[usize::from(group.policy)].size;
            let ready = group.count(&READY);
            (ready >= size, ready + group.count(&[TaskStatus::Pipelined]) >= size)
        }
    };
    match (ready, covered) {
        (true, _) => Some(Reach::Ready),
        (false, true) => Some(Reach::Covered),
        (false, false) => None,
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
    /// Its queue may not have it.
    Refused(Verdict),
}

fn one(
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    task: Entity,
    (filling, rows): (&mut Filling, Rows<'_>),
) -> Placement {
    let item = scene.cluster.task(task);
    let class = item.membership.class;
    // If rules changed and the node may not serve it any more, it is placed like any other.
    if let (TaskStatus::Pipelined, Some(node)) = item.status()
        && let Some(placement) = redeem(scene, statement, task, node)
    {
        return placement;
    }
    let queue = scene.cluster.queue(scene.cluster.job(job).spec.queue);
    let allowed = scene.policies.allocatable(
        &scene.cluster,
        &scene.names.0,
        &queue,
        &scene.classes.get(class).request,
    );
    if let Err(objection) = allowed {
        return Placement::Refused(objection);
    }
    let ranking = scene.ranking(class);
    let Some(row) = filling.best(class, ranking, rows) else { return Placement::NoRoom };
    let fit = ranking.fit(row);
    let node = scene.cluster.columns().entities[row as usize];
    let done = match fit {
        Fit::Idle => statement.allocate(&mut scene.cluster, task, node),
        Fit::Future => statement.pipeline(&mut scene.cluster, task, node),
        Fit::None => return Placement::NoRoom,
    };
    debug_assert!(done.is_ok(), "sheets hold only pending and pipelined tasks");
    Placement::Placed
}

/// Finds a place or room for one task on some rows.
pub(crate) fn one_task(
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    task: Entity,
    rows: Rows<'_>,
) -> bool {
    let place = (&mut Filling::default(), rows);
    matches!(one(scene, statement, job, task, place), Placement::Placed | Placement::Kept)
}

/// Turns a reservation into a place if the room is free by now; none, and the reservation is gone, if
/// the node may not serve the task any more.
fn redeem(
    scene: &mut Scene<'_, '_>,
    statement: &mut Statement,
    task: Entity,
    node: Entity,
) -> Option<Placement> {
    let item = scene.cluster.task(task);
    let (class, request) = (item.membership.class, item.request.clone());
    let row = scene.cluster.node(node).place.row;
    // What is held for the task itself must not stand in its way.
    let start = statement.checkpoint();
    let unpipelined = statement.unpipeline(&mut scene.cluster, task, Release::Closed);
    debug_assert!(unpipelined.is_ok(), "the task was pipelined a moment ago");
    let bar = scene.ranking(class).bar_of_held(row);
    if bar.is_closed() {
        return None;
    }
    let room = scene.cluster.node(node);
    if bar.now != Obstacle::None
        || !request.amounts.hot.fits(&room.idle.0)
        || !request.amounts.tail.fits(&room.tails.idle)
    {
        statement.rollback(&mut scene.cluster, start);
        return Some(Placement::Kept);
    }
    let done = statement.allocate(&mut scene.cluster, task, node);
    debug_assert!(done.is_ok(), "a pending task may be allocated");
    Some(Placement::Placed)
}
