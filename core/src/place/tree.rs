//! Places the sub-groups of a job where they form a tree.
//!
//! A set has its members placed in sub-group order, each whole or not at all, until as many of them are
//! whole as it needs. A set that has those grows by one step: the first member that can takes what makes
//! it whole, or one pod. A member with a wish for levels of a topology is tried in one domain after the
//! other, with all that is inside it.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use super::job::{search_space, try_domains};
use super::pending::PendingTasks;
use super::reach::{PlaceScope, Reach, Shortfall, served};
use super::session::Session;
use super::tasks::place_tasks;
use crate::policy::{Point, Unit};
use crate::statement::Statement;
use crate::world::{READY, TaskStatus};

/// Places what a set of sub-groups lacks, or lets it grow by a step; without a set, the whole job.
pub(super) fn place_set(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    set: Option<u16>,
    pending: &mut PendingTasks,
    scope: PlaceScope<'_>,
) -> Reach {
    let mut round = TreeRound::of(session, job, set);
    loop {
        if let Some(reach) = round.run(session, statement, job, pending, scope) {
            return reach;
        }
        if !round.has_another() {
            break;
        }
    }
    match served(session, job, set) {
        Some(reach) if !round.grows || round.short.is_empty() => reach,
        _ => Reach::Short(round.short),
    }
}

/// A turn for each member of a set.
struct TreeRound {
    set: Option<u16>,
    /// Has the set what it needs?
    grows: bool,
    members: Vec<u16>,
    /// How many of the members, which come first, have room held.
    held: usize,
    /// Has anything found a place?
    moved: bool,
    /// Members that have another turn when others have their places.
    late: Vec<u16>,
    short: Shortfall,
}

impl TreeRound {
    fn of(session: &Session<'_, '_>, job: Entity, set: Option<u16>) -> Self {
        let members = members(session, job, set);
        Self {
            set,
            grows: is_whole(session, job, set),
            held: members.partition_point(|&member| holds_room(session, job, member)),
            members,
            moved: false,
            late: Vec::new(),
            short: Shortfall::default(),
        }
    }

    /// Gives each member its turn, until the set has enough.
    fn run(
        &mut self,
        session: &mut Session<'_, '_>,
        statement: &mut Statement,
        job: Entity,
        pending: &mut PendingTasks,
        scope: PlaceScope<'_>,
    ) -> Option<Reach> {
        for at in 0..self.members.len() {
            let member = self.members[at];
            if !self.grows && is_whole(session, job, Some(member)) {
                continue;
            }
            let start = statement.checkpoint();
            match place_member(session, statement, job, member, pending, scope) {
                Attempt::Nothing => continue,
                Attempt::Failed(lack, company) => {
                    self.late.extend(company.then_some(member));
                    self.short.merge(lack);
                    continue;
                }
                Attempt::Placed => self.moved |= statement.checkpoint() > start,
            }
            match served(session, job, self.set) {
                _ if self.grows && self.moved => return Some(Reach::Ready),
                Some(Reach::Ready) if !self.grows => return Some(Reach::Ready),
                Some(Reach::Covered) if at + 1 >= self.held => return Some(Reach::Covered),
                _ => {}
            }
        }
        None
    }

    /// Begins another round with those who failed for want of company, if others have places by now.
    fn has_another(&mut self) -> bool {
        (self.members, self.held) = (std::mem::take(&mut self.late), 0);
        std::mem::take(&mut self.moved) && !self.members.is_empty()
    }
}

/// What came of a member's turn.
enum Attempt {
    /// It has no task to place.
    Nothing,
    /// It has what it needs, or one pod more.
    Placed,
    /// It found no place, and whether it may find one when others of the gang have theirs.
    Failed(Shortfall, bool),
}

/// Places what a member lacks, or one step more, where its own wish allows. Without success nothing is
/// changed, and it has no further turn, unless it waits for company.
fn place_member(
    session: &mut Session<'_, '_>,
    statement: &mut Statement,
    job: Entity,
    member: u16,
    pending: &mut PendingTasks,
    scope: PlaceScope<'_>,
) -> Attempt {
    let within = session.cluster.job(job).tree();
    let Some(tree) = within else { return Attempt::Nothing };
    let mut own = pending.take(|subgroup| tree.is_within(subgroup, Some(member)));
    if own.is_done() {
        pending.put_back(own);
        return Attempt::Nothing;
    }
    let (start, untried) = (statement.checkpoint(), own.clone());
    let (is_set, unit) = (tree.is_set(member), (job, Some(member)));
    let space = search_space(session, job, Some(member), scope.bounds);
    let reach = try_domains(
        session,
        statement,
        unit,
        space.as_ref(),
        scope.rows,
        &mut own,
        |session, statement, own, rows| {
            let scope = PlaceScope { rows, ..scope };
            match own.parts_mut() {
                [part] if !is_set => place_tasks(session, statement, job, part, scope),
                _ => place_set(session, statement, job, Some(member), own, scope),
            }
        },
    );
    let attempt = match reach {
        Reach::Ready | Reach::Covered => Attempt::Placed,
        Reach::Short(short) => {
            statement.rollback(&mut session.cluster, start);
            let rules = |class: &_| !session.classes.get(*class).interpod.rules.is_empty();
            let company = short.classes.iter().any(rules);
            own = untried;
            if !company {
                own.drop_tasks();
            }
            Attempt::Failed(short, company)
        }
    };
    pending.put_back(own);
    attempt
}

/// Members of a set in the order they have their turns: those that have room held before others.
fn members(session: &Session<'_, '_>, job: Entity, set: Option<u16>) -> Vec<u16> {
    let item = session.cluster.job(job);
    let Some(tree) = item.tree() else { return Vec::new() };
    let asked = session.policies.is_asked(Point::SubGroupOrder);
    let mut tasks: BTreeMap<u16, Vec<Entity>> = BTreeMap::new();
    for &task in item.members.0.iter().filter(|_| asked) {
        if let Some(subgroup) = session.cluster.task(task).membership.subgroup {
            tasks.entry(subgroup).or_default().push(task);
        }
    }
    let mut members: Vec<u16> = tree.inside(set).collect();
    members.sort_by_cached_key(|&member| {
        let inside = tasks.iter().filter(|(at, _)| tree.is_within(**at, Some(member)));
        let inside: Vec<Entity> = inside.flat_map(|(_, tasks)| tasks).copied().collect();
        let unit = Unit { job: &item, subgroup: Some(member) };
        let keys = session.policies.subgroup_keys(&session.cluster, unit, &inside);
        let name = tree.subgroups[usize::from(member)].name.clone();
        (!holds_room(session, job, member), keys, name)
    });
    members
}

/// Is room held for any pod of a sub-group?
fn holds_room(session: &Session<'_, '_>, job: Entity, subgroup: u16) -> bool {
    let item = session.cluster.job(job);
    let Some(tree) = item.tree() else { return false };
    let mut groups = item.counts().subgroups.iter().enumerate();
    groups.any(|(at, group)| {
        group.count(&[TaskStatus::Pipelined]) > 0 && tree.is_within(at as u16, Some(subgroup))
    })
}

/// Has a sub-group, or the job, all it needs in places?
fn is_whole(session: &Session<'_, '_>, job: Entity, subgroup: Option<u16>) -> bool {
    let progress = session.cluster.job(job).progress(&READY);
    progress.is_some_and(|progress| progress.of(subgroup).is_whole())
}

#[cfg(test)]
mod tests;
