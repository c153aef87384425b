//! What an evictor sees: who could make way, on which nodes, in which order.
//!
//! Jobs that ask for the same see the same, less what was taken since; so a view is kept until a job
//! asks for something else, and mended for the jobs that lost tasks.

use std::rc::Rc;

use bevy_ecs::entity::Entity;

use crate::place::Session;
use crate::policy::EvictPurpose;
use crate::resource::ResourceVec;
use crate::world::{ClassId, TaskStatus};

use super::action::EvictAction;
use super::bundles::{Bundles, Valuation};
use super::by_node::VictimsByNode;
use super::candidates::{Candidate, CandidatePool};
use super::domains::{Change, FreeableRoom, barred};
use super::refusal::Refusals;
use super::shortage::Shortage;

/// What jobs must have in common to see the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    queue: Entity,
    priority: i32,
    classes: Vec<ClassId>,
    missing: usize,
    sum: ResourceVec,
    /// The job, where others like it would see its own tasks among those that may move.
    alone: Option<Entity>,
}

impl Ask {
    /// Is a task of that class among what is asked for?
    pub(super) fn is_of(&self, class: ClassId) -> bool {
        self.classes.contains(&class)
    }

    pub(super) fn of(session: &Session<'_, '_>, shortage: &Shortage) -> Self {
        let job = session.cluster.job(shortage.evictor.job);
        let moves = shortage.evictor.purpose == EvictPurpose::Consolidate;
        let runs = job.counts().count(&[TaskStatus::Bound, TaskStatus::Running]) > 0;
        Self {
            alone: (moves && runs).then_some(job.entity),
            queue: job.spec.queue,
            priority: job.spec.priority,
            classes: shortage.classes.clone(),
            missing: shortage.missing,
            sum: shortage.sum.clone(),
        }
    }
}

/// What an evictor sees.
pub(super) struct EvictorView {
    ask: Ask,
    /// How much of the pool's losses it has taken in.
    seen: usize,
    /// Who could make way.
    pub(super) candidates: Vec<Candidate>,
    /// Who could not, and why; counted again when they are asked for after losses.
    refusals: Option<Refusals>,
    /// The nodes.
    pub(super) freeable: FreeableRoom,
    /// What could be taken in the whole cluster; made when first looked at.
    bundles: Option<Rc<Bundles>>,
    /// The same, node by node.
    victims_by_node: Option<VictimsByNode>,
}

impl EvictorView {
    /// What a job sees, made from what the last one saw if that is of use.
    pub(super) fn of(
        session: &mut Session<'_, '_>,
        action: &EvictAction,
        pool: &mut CandidatePool,
        shortage: &Shortage,
    ) -> Self {
        let ask = Ask::of(session, shortage);
        let barred = barred(session, shortage);
        let last = pool.last_view.take();
        let same = |view: &EvictorView| view.ask == ask && view.freeable.is_barred_by(&barred);
        if let Some(mut view) = last.filter(same) {
            view.mend(session, action, pool, shortage);
            return view;
        }
        let mut refusals = Refusals::default();
        let candidates = pool.candidates(session, action, shortage.evictor.job, &mut refusals);
        Self {
            ask,
            seen: pool.losses().len(),
            freeable: FreeableRoom::new(session, barred, &candidates),
            candidates,
            refusals: Some(refusals),
            bundles: None,
            victims_by_node: None,
        }
    }

    /// What could be taken in the whole cluster, in order.
    pub(super) fn bundles(
        &mut self,
        session: &Session<'_, '_>,
        action: &EvictAction,
        shortage: &Shortage,
    ) -> Rc<Bundles> {
        let Self { candidates, freeable, bundles, .. } = self;
        let bundles = bundles.get_or_insert_with(|| {
            let counts = |row: u32| freeable.is_open(row);
            Rc::new(Bundles::new(
                session,
                Valuation { action, shortage, counts: &counts },
                candidates,
            ))
        });
        Rc::clone(bundles)
    }

    /// Who could not make way, and why.
    pub(super) fn refusals(
        &mut self,
        session: &mut Session<'_, '_>,
        action: &EvictAction,
        pool: &CandidatePool,
        shortage: &Shortage,
    ) -> Refusals {
        *self.refusals.get_or_insert_with(|| {
            let mut refusals = Refusals::default();
            pool.candidates(session, action, shortage.evictor.job, &mut refusals);
            refusals
        })
    }

    /// The same, node by node.
    pub(super) fn victims_by_node(&mut self, session: &Session<'_, '_>) -> &VictimsByNode {
        let Self { candidates, freeable, victims_by_node, .. } = self;
        victims_by_node.get_or_insert_with(|| VictimsByNode::new(session, candidates, freeable))
    }

    /// Takes in what happened since: jobs that lost tasks are looked at again.
    fn mend(
        &mut self,
        session: &mut Session<'_, '_>,
        action: &EvictAction,
        pool: &CandidatePool,
        shortage: &Shortage,
    ) {
        let mut lost = pool.losses()[self.seen..].to_vec();
        if lost.is_empty() {
            return;
        }
        self.refusals = None;
        self.seen = pool.losses().len();
        lost.sort_unstable();
        lost.dedup();
        // Nobody else looks at it by now: places that were searched are gone.
        let mut bundles = self.bundles.take().and_then(|bundles| Rc::try_unwrap(bundles).ok());
        for job in lost {
            let Some(place) = pool.place(job) else { continue };
            let at = self.candidates.binary_search_by_key(&place, |one| one.place);
            let old = at.ok().map(|at| self.candidates.remove(at));
            let refusals = &mut Refusals::default();
            let new = pool.consider(session, action, shortage.evictor.job, place, refusals);
            let open = |one: &Option<Candidate>| one.as_ref().map(|one| Rc::clone(&one.footprint));
            for (footprint, change) in [(open(&old), Change::Fill), (open(&new), Change::Free)] {
                let occupants = footprint.as_ref().map_or(&[][..], |footprint| &footprint.open);
                self.freeable.change(session, occupants, change);
                if let Some(victims_by_node) = &mut self.victims_by_node {
                    victims_by_node.change(session, &self.freeable, occupants, change);
                }
            }
            let freeable = &self.freeable;
            let counts = |row: u32| freeable.is_open(row);
            if let Some(bundles) = &mut bundles {
                let by = Valuation { action, shortage, counts: &counts };
                bundles.renew(session, by, job, new.as_ref());
            }
            if let (Some(new), Ok(at) | Err(at)) = (new, at) {
                self.candidates.insert(at, new);
            }
        }
        if let Some(bundles) = &mut bundles {
            bundles.sort_queues(session, shortage);
        }
        self.bundles = bundles.map(Rc::new);
        debug_assert!(
            self.equals_a_new_one(session, action, pool, shortage),
            "mended is made anew"
        );
    }

    /// Would a view made from nothing show the same?
    fn equals_a_new_one(
        &self,
        session: &mut Session<'_, '_>,
        action: &EvictAction,
        pool: &CandidatePool,
        shortage: &Shortage,
    ) -> bool {
        let candidates =
            pool.candidates(session, action, shortage.evictor.job, &mut Refusals::default());
        let barred = barred(session, shortage);
        let freeable = FreeableRoom::new(session, barred, &candidates);
        let counts = |row: u32| freeable.is_open(row);
        let by = Valuation { action, shortage, counts: &counts };
        let bundles = self.bundles.as_ref();
        bundles
            .is_none_or(|bundles| bundles.shows() == Bundles::new(session, by, &candidates).shows())
            && self.freeable.bound_of_all(session, shortage).slots
                == freeable.bound_of_all(session, shortage).slots
    }
}
