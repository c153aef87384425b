//! Where room could be made for a job: the domains it may use, or the whole cluster.
//!
//! A domain counts with the room that candidates would free, so a packed one is looked at; one that
//! could not hold the job even if all of them left is dropped without a search. Domains of equal
//! preference are tried by what they would cost.

use std::rc::Rc;

use bevy_ecs::entity::Entity;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::cycle::drive::Scene;
use crate::policy::{Purpose, SearchSpace, Unit as Placed};
use crate::resource::ResourceVec;
use crate::world::NodeColumns;

use super::bundle::State;
use super::clear::Price;
use super::herd::{Candidate, Stand};
use super::market::{Appraiser, Market, Unit};
use super::need::Need;
use super::raid::Raid;
use super::view::View;

/// Domains of one preference whose cost is looked at.
const APPRAISED: usize = 64;

/// A place where room may be made.
pub(super) struct Site {
    /// Rows of its nodes, ascending; none is all nodes.
    pub(super) rows: Option<Vec<u32>>,
    /// What is free there or will be, unless held, on nodes the job may use.
    pub(super) free: ResourceVec,
    /// What could be taken there.
    pub(super) market: Rc<Market>,
    /// What that would cost, by a guess.
    pub(super) estimate: Price,
}

impl Site {
    /// Does the row belong to it?
    pub(super) fn holds(&self, row: u32) -> bool {
        self.rows.as_ref().is_none_or(|rows| rows.binary_search(&row).is_ok())
    }
}

/// The nodes as a job sees them, with all candidates gone.
pub(super) struct Terrain {
    /// Rows no task of the job may ever use.
    barred: Vec<bool>,
    /// What candidates hold, by row.
    held: HashMap<u32, ResourceVec, FxBuildHasher>,
}

/// Rows no task of the job may ever use.
pub(super) fn barred(scene: &mut Scene<'_, '_>, need: &Need) -> Vec<bool> {
    let rows = scene.cluster.columns().len();
    let mut barred = vec![true; rows];
    for &class in &need.classes {
        let ranking = scene.ranking(class);
        for (row, barred) in barred.iter_mut().enumerate() {
            *barred &= ranking.is_barred_for_good(row as u32);
        }
    }
    barred
}

impl Terrain {
    pub(super) fn new(scene: &Scene<'_, '_>, barred: Vec<bool>, candidates: &[Candidate]) -> Self {
        let mut terrain = Self { barred, held: HashMap::default() };
        for candidate in candidates {
            terrain.change(scene, &candidate.footprint.open, Flow::Free);
        }
        terrain
    }

    /// Are just these rows barred?
    pub(super) fn is_barred_by(&self, barred: &[bool]) -> bool {
        self.barred == barred
    }

    /// Candidates come or go: what they hold could be freed, or not any more.
    pub(super) fn change(&mut self, scene: &Scene<'_, '_>, stands: &[Stand], flow: Flow) {
        for stand in stands.iter().filter(|stand| !self.barred[stand.row as usize]) {
            let request = scene.cluster.task(stand.task).whole_request();
            flow.apply(self.held.entry(stand.row).or_default(), &request);
        }
    }

    /// May the job use the row?
    pub(super) fn is_open(&self, row: u32) -> bool {
        !self.barred[row as usize]
    }

    /// Tasks of the job that would fit on a row if all candidates left; for jobs of one class.
    pub(super) fn slots(&self, scene: &Scene<'_, '_>, need: &Need, row: u32) -> usize {
        if !self.is_open(row) {
            return 0;
        }
        let (_, room) = self.rooms(scene.cluster.columns(), row);
        slots_in(&scene.classes.get(need.classes[0]).request, &room, need.missing)
    }

    /// What is free on a row, and what would be if all candidates left.
    fn rooms(&self, nodes: NodeColumns<'_>, row: u32) -> (ResourceVec, ResourceVec) {
        let mut free = nodes.future(row as usize);
        let mut most = free.clone();
        if let Some(held) = self.held.get(&row) {
            most.add(held);
        }
        // A node that is over in something lacks it, but others do not lack it for that.
        for room in [&mut free, &mut most] {
            room.hot.0.iter_mut().for_each(|lane| *lane = (*lane).max(0));
        }
        (free, most)
    }

    /// Looks at the whole cluster.
    pub(super) fn survey_all(&self, scene: &Scene<'_, '_>, need: &Need) -> Survey {
        self.survey(scene, need, 0..scene.cluster.columns().len() as u32)
    }

    /// Looks at some rows.
    fn survey(
        &self,
        scene: &Scene<'_, '_>,
        need: &Need,
        rows: impl Iterator<Item = u32>,
    ) -> Survey {
        let nodes = scene.cluster.columns();
        let request = match need.classes.as_slice() {
            [class] => Some(&scene.classes.get(*class).request),
            _ => None,
        };
        let (mut free, mut most, mut slots) = (ResourceVec::default(), ResourceVec::default(), 0);
        for row in rows.filter(|&row| self.is_open(row)) {
            let (now, then) = self.rooms(nodes, row);
            free.add(&now);
            if let Some(request) = request {
                slots += slots_in(request, &then, need.missing);
            }
            most.add(&then);
        }
        let hopeful = need.least.fits(&most) && (request.is_none() || slots >= need.missing);
        Survey { free, slots, hopeful }
    }
}

/// What a look at some rows found.
pub(super) struct Survey {
    /// What is free there or will be, unless held.
    pub(super) free: ResourceVec,
    /// Tasks that would fit there if all candidates left; counted for jobs of one class.
    pub(super) slots: usize,
    /// Could the job be placed there if all candidates left?
    pub(super) hopeful: bool,
}

/// Requests that fit into some room, counted no further than `enough`.
pub(super) fn slots_in(request: &ResourceVec, room: &ResourceVec, enough: usize) -> usize {
    let asked = request.iter().filter(|&(_, ask)| ask > 0);
    let fits = asked.map(|(dim, ask)| usize::try_from(room.get(dim) / ask).unwrap_or(0)).min();
    fits.unwrap_or(enough).min(enough)
}

/// What a place would cost if room on its nodes were all that counts: units are taken in order until
/// enough tasks fit, then those that are not needed are given back, the last first.
fn appraise(
    scene: &Scene<'_, '_>,
    raid: &Raid,
    need: &Need,
    terrain: &Terrain,
    site: &Site,
) -> Price {
    let Some(&class) = need.classes.first() else { return Price::default() };
    let request = &scene.classes.get(class).request;
    let mut slots = Slots { request, enough: need.missing, rooms: HashMap::default(), count: 0 };
    let nodes = scene.cluster.columns();
    let all = 0..nodes.len() as u32;
    let rows: &mut dyn Iterator<Item = u32> = match &site.rows {
        Some(rows) => &mut rows.iter().copied(),
        None => &mut all.into_iter(),
    };
    for row in rows.filter(|&row| terrain.is_open(row)) {
        slots.add(row, &nodes.future(row as usize), Flow::Free);
    }
    let mut taken: Vec<&Unit> = Vec::new();
    for at in site.market.of_states(&[State::Safe, State::Instead, State::Whole]) {
        if slots.count >= need.missing {
            break;
        }
        let unit = site.market.unit(at);
        slots.take(scene, terrain, site, unit, Flow::Free);
        taken.push(unit);
    }
    for at in (0..taken.len()).rev() {
        slots.take(scene, terrain, site, taken[at], Flow::Fill);
        if slots.count >= need.missing {
            taken.remove(at);
        } else {
            slots.take(scene, terrain, site, taken[at], Flow::Free);
        }
    }
    Price::of(raid, taken.into_iter())
}

/// Room comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Flow {
    Free,
    Fill,
}

impl Flow {
    fn apply(self, room: &mut ResourceVec, amount: &ResourceVec) {
        match self {
            Self::Free => room.add(amount),
            Self::Fill => room.sub(amount),
        }
    }
}

/// How many requests fit, node by node.
struct Slots<'a> {
    request: &'a ResourceVec,
    enough: usize,
    rooms: HashMap<u32, ResourceVec, FxBuildHasher>,
    count: usize,
}

impl Slots<'_> {
    fn add(&mut self, row: u32, amount: &ResourceVec, flow: Flow) {
        let room = self.rooms.entry(row).or_default();
        self.count -= slots_in(self.request, room, self.enough);
        flow.apply(room, amount);
        self.count += slots_in(self.request, room, self.enough);
    }

    fn take(
        &mut self,
        scene: &Scene<'_, '_>,
        terrain: &Terrain,
        site: &Site,
        unit: &Unit,
        flow: Flow,
    ) {
        for &task in site.market.tasks(unit) {
            let item = scene.cluster.task(task);
            let row = item.status().1.map(|node| scene.cluster.node(node).place.row);
            if let Some(row) = row.filter(|&row| terrain.is_open(row) && site.holds(row)) {
                self.add(row, &item.whole_request(), flow);
            }
        }
    }
}

/// Places worth a search, in order of preference; if there are none, how many tasks of the job would
/// fit in the best place.
pub(super) fn sites(
    scene: &Scene<'_, '_>,
    raid: &Raid,
    need: &Need,
    view: &mut View,
) -> Result<Vec<Site>, usize> {
    let job = scene.cluster.job(need.evictor.job);
    let unit = Placed { job: &job, subgroup: None };
    let space = scene.policies.search_space(&scene.cluster, unit, Purpose::Evict);
    let everywhere = || SearchSpace { groups: vec![vec![None]], limit: usize::MAX };
    let SearchSpace { groups, limit } = space.unwrap_or_else(everywhere);
    let limit = limit.min(raid.max_domains);
    let (mut sites, mut most) = (Vec::new(), 0);
    for group in groups {
        let mut hopeful: Vec<Site> = group
            .into_iter()
            .filter_map(|domain| {
                let site = site(scene, raid, need, view, domain);
                site.inspect_err(|&slots| most = most.max(slots)).ok()
            })
            .take(APPRAISED)
            .collect();
        if hopeful.len() > 1 {
            for site in &mut hopeful {
                site.estimate = appraise(scene, raid, need, &view.terrain, site);
            }
            hopeful.sort_by_key(|site| site.estimate);
        }
        sites.extend(hopeful);
        if sites.len() >= limit {
            break;
        }
    }
    sites.truncate(limit);
    if sites.is_empty() { Err(most) } else { Ok(sites) }
}

fn site(
    scene: &Scene<'_, '_>,
    raid: &Raid,
    need: &Need,
    view: &mut View,
    domain: Option<Entity>,
) -> Result<Site, usize> {
    let estimate = Price::default();
    let Some(domain) = domain else {
        let Survey { free, slots, hopeful } = view.terrain.survey_all(scene, need);
        if !hopeful {
            return Err(slots);
        }
        return Ok(Site { rows: None, free, market: view.market(scene, raid, need), estimate });
    };
    let rows = scene.cluster.domain(domain).spot.rows.clone();
    let terrain = &view.terrain;
    let Survey { free, slots, hopeful } = terrain.survey(scene, need, rows.iter().copied());
    if !hopeful {
        return Err(slots);
    }
    let counts = |row: u32| terrain.is_open(row) && rows.binary_search(&row).is_ok();
    let by = Appraiser { raid, need, counts: &counts };
    let market = Rc::new(Market::new(scene, by, &view.candidates));
    Ok(Site { rows: Some(rows), free, market, estimate })
}
