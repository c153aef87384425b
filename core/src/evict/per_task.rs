//! One task after the other, as Volcano's `preempt` and `reclaim` do it.
//!
//! Each task takes the node that costs least: lowest priority of its victims, then fewest of them. A
//! job with a topology wish is tried in one domain after the other, and inside it a sub-group with a
//! wish of its own in one smaller domain after the other; a sub-group finds room whole or not at all.
//! Nothing is committed unless the job's minimum is covered, sub-groups and roles included.

use bevy_ecs::entity::Entity;

use crate::delta::PreemptionPolicy;
use crate::place::{PartOrder, PendingPart, PendingTasks, Rows, Session, inside, is_served};
use crate::policy::{EvictPurpose, Evictor, Purpose, Unit};
use crate::statement::{Checkpoint, Statement};
use crate::world::{ClassId, READY, TaskStatus};

use super::action::EvictAction;
use super::by_node::VictimsByNode;
use super::candidates::Candidate;
use super::domains::{FreeableRoom, barred};
use super::evictor_view::EvictorView;
use super::fairness::Entitlement;
use super::one_task::make_room;
use super::refusal::SearchEnd;
use super::shortage::Shortage;
use super::surplus::is_elastic;
use super::{EvictionPlan, reprieve};

/// Who makes way for the job, together with its placement.
pub(super) fn decide(
    session: &mut Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    pending: &PendingTasks,
    view: &mut EvictorView,
) -> Result<EvictionPlan, SearchEnd> {
    let bound = view.freeable.bound_of_all(session, shortage);
    let (mut slots, mut tried) = (bound.slots, bound.hopeful);
    let mut found = None;
    if bound.hopeful {
        let entitlements = entitlements(session, action, view);
        let victims_by_node = view.victims_by_node(session);
        found = entitlements.iter().find_map(|&entitlement| {
            TaskByTaskSearch { action, entitlement, shortage, pending, victims_by_node }
                .attempt(session)
        });
    }
    if found.is_none() && action.purpose == EvictPurpose::Preempt {
        let own = [Candidate::own(session, action, shortage.evictor.job)];
        let barred = barred(session, shortage);
        let freeable = FreeableRoom::new(session, barred, &own);
        let bound = freeable.bound_of_all(session, shortage);
        slots += bound.slots;
        tried |= bound.hopeful;
        if bound.hopeful {
            let victims_by_node = &VictimsByNode::new(session, &own, &freeable);
            let entitlement = Entitlement::Due;
            found = TaskByTaskSearch { action, entitlement, shortage, pending, victims_by_node }
                .attempt(session);
        }
    }
    let failed = if tried { SearchEnd::Failed } else { SearchEnd::Infeasible(slots) };
    let mut found = found.ok_or(failed)?;
    give_back(session, &mut found, shortage.evictor.job);
    Ok(found)
}

/// What the job may have of others, tried one after the other: surplus only where there is some, and
/// where nothing is found without it.
fn entitlements(
    session: &Session<'_, '_>,
    action: &EvictAction,
    view: &EvictorView,
) -> &'static [Entitlement] {
    let mut jobs = view.candidates.iter().map(|candidate| session.cluster.job(candidate.job));
    let reclaims = action.purpose == EvictPurpose::Reclaim;
    if reclaims && jobs.any(|job| is_elastic(&job)) {
        &[Entitlement::Due, Entitlement::Surplus]
    } else {
        &[Entitlement::Due]
    }
}

/// In how many domains a placement that was begun may fail before the job waits.
const TRIALS: usize = 8;

/// A search for room one task at a time, and the victims it may choose from.
struct TaskByTaskSearch<'a> {
    action: &'a EvictAction,
    entitlement: Entitlement,
    shortage: &'a Shortage,
    pending: &'a PendingTasks,
    victims_by_node: &'a VictimsByNode,
}

/// What was decided so far.
struct PlanDraft {
    statement: Statement,
    victims: Vec<Entity>,
}

impl PlanDraft {
    fn mark(&self) -> (Checkpoint, usize) {
        (self.statement.checkpoint(), self.victims.len())
    }

    fn return_to(&mut self, session: &mut Session<'_, '_>, mark: (Checkpoint, usize)) {
        self.statement.rollback(&mut session.cluster, mark.0);
        self.victims.truncate(mark.1);
    }
}

impl TaskByTaskSearch<'_> {
    /// Places tasks until the job's minimum is covered; returns that and who has to go. Without success
    /// nothing is changed.
    fn attempt(&self, session: &mut Session<'_, '_>) -> Option<EvictionPlan> {
        let mut draft =
            PlanDraft { statement: Statement::new(self.action.name), victims: Vec::new() };
        let Domains { domains, mut trials } = self.domains(session, None);
        for domain in domains {
            let rows = rows_of(session, domain, None);
            let mut pending = self.pending.clone();
            let placed = self.place_parts(session, &mut draft, &mut pending, rows.as_deref());
            let some = draft.statement.checkpoint() > Checkpoint::START;
            if placed && some {
                let PlanDraft { statement, victims } = draft;
                return Some(EvictionPlan { statement, victims });
            }
            draft.return_to(session, (Checkpoint::START, 0));
            trials -= usize::from(some);
            if trials == 0 {
                break;
            }
        }
        None
    }

    /// Places the parts of the job in some rows, until its minimum is covered. Is it?
    fn place_parts(
        &self,
        session: &mut Session<'_, '_>,
        draft: &mut PlanDraft,
        pending: &mut PendingTasks,
        rows: Rows<'_>,
    ) -> bool {
        let job = self.shortage.evictor.job;
        let mut order = PartOrder::of(session, job, pending);
        while let Some(at) = order.next(session, job, pending) {
            let more: usize = pending.open_tasks().count();
            if !may_be_covered(session, job, more) {
                return false;
            }
            let part = pending.part_mut(at);
            let placed = match part.subgroup {
                None => self.fill(session, draft, part, rows),
                Some(_) => self.place_subgroup(session, draft, part, rows),
            };
            if placed {
                order.placed(session, job, part);
            } else {
                PartOrder::failed(part);
            }
            if self.is_enough(session) {
                return true;
            }
        }
        session.policies.job_pipelined(&session.cluster.job(job))
    }

    /// Has the job all that others may go for?
    fn is_enough(&self, session: &Session<'_, '_>) -> bool {
        let job = session.cluster.job(self.shortage.evictor.job);
        !session.policies.job_starving(&job) && session.policies.job_pipelined(&job)
    }

    /// Places tasks of a sub-group where its own wish allows: as many as it needs, or one if it has those.
    /// Without success nothing is changed.
    fn place_subgroup(
        &self,
        session: &mut Session<'_, '_>,
        draft: &mut PlanDraft,
        part: &mut PendingPart,
        outer: Rows<'_>,
    ) -> bool {
        let Domains { domains, mut trials } = self.domains(session, part.subgroup);
        for domain in domains {
            let rows = rows_of(session, domain, outer);
            let (start, mut trial) = (draft.mark(), part.clone());
            if self.fill(session, draft, &mut trial, rows.as_deref().or(outer)) {
                *part = trial;
                return true;
            }
            trials -= usize::from(draft.mark() > start);
            draft.return_to(session, start);
            if trials == 0 {
                break;
            }
        }
        false
    }

    /// Places tasks of a part in some rows, until the part has what it needs. Has it? Tasks that are no
    /// sub-group need what the job needs, and any of them counts.
    fn fill(
        &self,
        session: &mut Session<'_, '_>,
        draft: &mut PlanDraft,
        part: &mut PendingPart,
        rows: Rows<'_>,
    ) -> bool {
        let job = self.shortage.evictor.job;
        let start = draft.mark().0;
        // Where one task of a class found no room no other will, until something has been placed.
        let mut without_room: Vec<ClassId> = Vec::new();
        while may_be_served(session, job, part)
            && let Some(task) = part.pop()
        {
            let item = session.cluster.task(task);
            let (class, preempts) = (item.membership.class, item.priority.preempts);
            if without_room.contains(&class) {
                continue;
            }
            let evictor = Evictor { task: Some(task), ..self.shortage.evictor };
            let (by, statement) = ((self.action, self.entitlement), &mut draft.statement);
            let Some(taken) =
                make_room(session, by, statement, &evictor, self.victims_by_node, rows)
            else {
                without_room.extend((preempts != PreemptionPolicy::Never).then_some(class));
                continue;
            };
            draft.victims.extend(taken);
            without_room.clear();
            let served = match part.subgroup {
                None => self.is_enough(session),
                subgroup => is_served(session, job, subgroup),
            };
            if served {
                return true;
            }
        }
        part.subgroup.is_none() && draft.mark().0 > start
    }

    /// Where the job, or one of its sub-groups, may be placed.
    fn domains(&self, session: &Session<'_, '_>, subgroup: Option<u16>) -> Domains {
        let item = session.cluster.job(self.shortage.evictor.job);
        let unit = Unit { job: &item, subgroup };
        match session.policies.search_space(&session.cluster, unit, Purpose::Evict) {
            None => Domains { domains: vec![None], trials: 1 },
            Some(space) => {
                Domains { domains: space.groups.into_iter().flatten().collect(), trials: TRIALS }
            }
        }
    }
}

/// Domains in order of preference, `None` being the whole cluster, and in how many of them a placement
/// that was begun may fail.
struct Domains {
    domains: Vec<Option<Entity>>,
    trials: usize,
}

/// Rows of a domain that are among the outer ones; `None` means all of those.
fn rows_of(session: &Session<'_, '_>, domain: Option<Entity>, outer: Rows<'_>) -> Option<Vec<u32>> {
    domain.map(|domain| inside(&session.cluster.domain(domain).spot.rows, outer))
}

/// Could the part have what it needs with the tasks that are left of it? Where tasks of other parts may
/// take their place, any of them counts.
fn may_be_served(session: &Session<'_, '_>, job: Entity, part: &PendingPart) -> bool {
    let item = session.cluster.job(job);
    let Some(at) = part.subgroup else {
        let alone = item.counts().subgroups.is_empty();
        return !alone || may_be_covered(session, job, part.left_count());
    };
    let group = &item.counts().subgroups[usize::from(at)];
    let has = group.count(&READY) + group.count(&[TaskStatus::Pipelined]);
    let size = item.spec.subgroups[usize::from(group.policy)].size;
    has as usize + part.left_count() >= size as usize
}

/// Could the job's minimum be covered with this many more tasks?
fn may_be_covered(session: &Session<'_, '_>, job: Entity, more: usize) -> bool {
    let item = session.cluster.job(job);
    let has = item.counts().ready() + item.counts().pipelined();
    has as usize + more >= item.spec.min_available as usize
}

/// Spares those who are needless by now: room that was made for one task may have served the next. The
/// last taken is looked at first.
fn give_back(session: &mut Session<'_, '_>, plan: &mut EvictionPlan, job: Entity) {
    let EvictionPlan { statement, victims } = plan;
    if victims.len() < 2 {
        return;
    }
    statement.pipeline_all_allocated(&mut session.cluster, job);
    let placed = reprieve::placed(session, job);
    for at in (0..victims.len()).rev() {
        if reprieve::spare(session, statement, &placed, &victims[at..=at]) {
            victims.remove(at);
        }
    }
}
