//! What an evictor sees: who could make way, on which nodes, in which order.
//!
//! Jobs that ask for the same see the same, less what was taken since; so a view is kept until a job
//! asks for something else, and mended for the jobs that lost tasks.

use std::rc::Rc;

use bevy_ecs::entity::Entity;

use crate::class::ClassId;
use crate::cycle::drive::Scene;
use crate::resource::ResourceVec;

use super::herd::{Candidate, Herd};
use super::market::{Appraiser, Market};
use super::need::Need;
use super::prey::Prey;
use super::raid::Raid;
use super::refusal::Refusals;
use super::sites::{Flow, Terrain, barred};

/// What jobs must have in common to see the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    queue: Entity,
    priority: i32,
    classes: Vec<ClassId>,
    missing: usize,
    sum: ResourceVec,
}

impl Ask {
    /// Is a task of that class among what is asked for?
    pub(super) fn is_of(&self, class: ClassId) -> bool {
        self.classes.contains(&class)
    }

    pub(super) fn of(scene: &Scene<'_, '_>, need: &Need) -> Self {
        let job = scene.cluster.job(need.evictor.job);
        Self {
            queue: job.spec.queue,
            priority: job.spec.priority,
            classes: need.classes.clone(),
            missing: need.missing,
            sum: need.sum.clone(),
        }
    }
}

/// What an evictor sees.
pub(super) struct View {
    ask: Ask,
    /// How much of the herd's losses it has taken in.
    seen: usize,
    /// Who could make way.
    pub(super) candidates: Vec<Candidate>,
    /// Who could not, and why; counted anew when somebody asks after losses.
    refusals: Option<Refusals>,
    /// The nodes.
    pub(super) terrain: Terrain,
    /// What could be taken in the whole cluster; made when first looked at.
    market: Option<Rc<Market>>,
    /// The same, node by node.
    prey: Option<Prey>,
}

impl View {
    /// What a job sees, made from what the last one saw if that is of use.
    pub(super) fn of(scene: &mut Scene<'_, '_>, raid: &Raid, herd: &mut Herd, need: &Need) -> Self {
        let ask = Ask::of(scene, need);
        let barred = barred(scene, need);
        let last = herd.last_view.take();
        let same = |view: &View| view.ask == ask && view.terrain.is_barred_by(&barred);
        if let Some(mut view) = last.filter(same) {
            view.mend(scene, raid, herd, need);
            return view;
        }
        let mut refusals = Refusals::default();
        let candidates = herd.candidates(scene, raid, need.evictor.job, &mut refusals);
        Self {
            ask,
            seen: herd.losses().len(),
            terrain: Terrain::new(scene, barred, &candidates),
            candidates,
            refusals: Some(refusals),
            market: None,
            prey: None,
        }
    }

    /// What could be taken in the whole cluster, in order.
    pub(super) fn market(&mut self, scene: &Scene<'_, '_>, raid: &Raid, need: &Need) -> Rc<Market> {
        let Self { candidates, terrain, market, .. } = self;
        let market = market.get_or_insert_with(|| {
            let counts = |row: u32| terrain.is_open(row);
            Rc::new(Market::new(scene, Appraiser { raid, need, counts: &counts }, candidates))
        });
        Rc::clone(market)
    }

    /// Who could not make way, and why.
    pub(super) fn refusals(
        &mut self,
        scene: &mut Scene<'_, '_>,
        raid: &Raid,
        herd: &Herd,
        need: &Need,
    ) -> Refusals {
        *self.refusals.get_or_insert_with(|| {
            let mut refusals = Refusals::default();
            herd.candidates(scene, raid, need.evictor.job, &mut refusals);
            refusals
        })
    }

    /// The same, node by node.
    pub(super) fn prey(&mut self, scene: &Scene<'_, '_>) -> &Prey {
        let Self { candidates, terrain, prey, .. } = self;
        prey.get_or_insert_with(|| Prey::new(scene, candidates, terrain))
    }

    /// Takes in what happened since: jobs that lost tasks are looked at again.
    fn mend(&mut self, scene: &mut Scene<'_, '_>, raid: &Raid, herd: &Herd, need: &Need) {
        let mut lost = herd.losses()[self.seen..].to_vec();
        if lost.is_empty() {
            return;
        }
        self.refusals = None;
        self.seen = herd.losses().len();
        lost.sort_unstable();
        lost.dedup();
        // Nobody else looks at it by now: places that were searched are gone.
        let mut market = self.market.take().and_then(|market| Rc::try_unwrap(market).ok());
        for job in lost {
            let Some(place) = herd.place(job) else { continue };
            let at = self.candidates.binary_search_by_key(&place, |one| one.place);
            let old = at.ok().map(|at| self.candidates.remove(at));
            let refusals = &mut Refusals::default();
            let new = herd.consider(scene, raid, need.evictor.job, place, refusals);
            let open = |one: &Option<Candidate>| one.as_ref().map(|one| Rc::clone(&one.footprint));
            for (footprint, flow) in [(open(&old), Flow::Fill), (open(&new), Flow::Free)] {
                let stands = footprint.as_ref().map_or(&[][..], |footprint| &footprint.open);
                self.terrain.change(scene, stands, flow);
                if let Some(prey) = &mut self.prey {
                    prey.change(scene, &self.terrain, stands, flow);
                }
            }
            let terrain = &self.terrain;
            let counts = |row: u32| terrain.is_open(row);
            if let Some(market) = &mut market {
                let by = Appraiser { raid, need, counts: &counts };
                market.renew(scene, by, job, new.as_ref());
            }
            if let (Some(new), Ok(at) | Err(at)) = (new, at) {
                self.candidates.insert(at, new);
            }
        }
        if let Some(market) = &mut market {
            market.sort_queues(scene, need);
        }
        self.market = market.map(Rc::new);
        debug_assert!(self.equals_a_new_one(scene, raid, herd, need), "mended is made anew");
    }

    /// Would a view made from nothing show the same?
    fn equals_a_new_one(
        &self,
        scene: &mut Scene<'_, '_>,
        raid: &Raid,
        herd: &Herd,
        need: &Need,
    ) -> bool {
        let candidates = herd.candidates(scene, raid, need.evictor.job, &mut Refusals::default());
        let barred = barred(scene, need);
        let terrain = Terrain::new(scene, barred, &candidates);
        let counts = |row: u32| terrain.is_open(row);
        let by = Appraiser { raid, need, counts: &counts };
        let market = self.market.as_ref();
        market.is_none_or(|market| market.shows() == Market::new(scene, by, &candidates).shows())
            && self.terrain.survey_all(scene, need).slots == terrain.survey_all(scene, need).slots
    }
}
