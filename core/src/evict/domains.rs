//! Where room could be made for a job: the domains it may use, or the whole cluster.
//!
//! A domain counts with the room that candidates would free, so a packed one is looked at; one that
//! could not hold the job even if all of them left is dropped without a search. Domains of equal
//! preference are tried by what they would cost.

use std::rc::Rc;

use bevy_ecs::entity::Entity;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::class::Class;
use crate::place::Session;
use crate::policy::{Purpose, SearchSpace, Unit};
use crate::resource::ResourceVec;
use crate::world::{FreeDevices, NodeColumns, WHOLE_DEVICE};

use super::action::EvictAction;
use super::bundles::{Bundle, Bundles, Valuation};
use super::candidates::{Candidate, Occupant};
use super::evictor_view::EvictorView;
use super::search::Price;
use super::shortage::Shortage;
use super::surplus::Harm;

/// Domains of one preference whose cost is looked at.
const APPRAISED: usize = 64;

/// A place where room may be made.
pub(super) struct SearchDomain {
    /// Rows of its nodes, ascending; `None` means every node.
    pub(super) rows: Option<Vec<u32>>,
    /// What is free there or will be, unless held, on nodes the job may use.
    pub(super) free: ResourceVec,
    /// What could be taken there.
    pub(super) bundles: Rc<Bundles>,
    /// What that would cost, by a guess.
    pub(super) estimate: Price,
}

impl SearchDomain {
    /// Does the row belong to it?
    pub(super) fn holds(&self, row: u32) -> bool {
        self.rows.as_ref().is_none_or(|rows| rows.binary_search(&row).is_ok())
    }
}

/// The nodes as a job sees them, with all candidates gone.
pub(super) struct FreeableRoom {
    /// Rows no task of the job may ever use.
    barred: Vec<bool>,
    /// What candidates hold, by row.
    held: HashMap<u32, ResourceVec, FxBuildHasher>,
}

/// Rows no task of the job may ever use.
pub(super) fn barred(session: &mut Session<'_, '_>, shortage: &Shortage) -> Vec<bool> {
    let rows = session.cluster.columns().len();
    let mut barred = vec![true; rows];
    for &class in &shortage.classes {
        let ranking = session.ranking(class);
        for (row, barred) in barred.iter_mut().enumerate() {
            *barred &= ranking.is_barred_for_good(row as u32);
        }
    }
    barred
}

impl FreeableRoom {
    pub(super) fn new(
        session: &Session<'_, '_>,
        barred: Vec<bool>,
        candidates: &[Candidate],
    ) -> Self {
        let mut freeable = Self { barred, held: HashMap::default() };
        for candidate in candidates {
            freeable.change(session, &candidate.footprint.open, Change::Free);
        }
        freeable
    }

    /// Are just these rows barred?
    pub(super) fn is_barred_by(&self, barred: &[bool]) -> bool {
        self.barred == barred
    }

    /// Candidates come or go: what they hold could be freed, or not any more.
    pub(super) fn change(
        &mut self,
        session: &Session<'_, '_>,
        occupants: &[Occupant],
        change: Change,
    ) {
        for occupant in occupants.iter().filter(|occupant| !self.barred[occupant.row as usize]) {
            let request = session.cluster.task(occupant.task).request.freed_at_most();
            change.apply(self.held.entry(occupant.row).or_default(), &request);
        }
    }

    /// May the job use the row?
    pub(super) fn is_open(&self, row: u32) -> bool {
        !self.barred[row as usize]
    }

    /// Tasks of the job that would fit on a row if all candidates left; for jobs of one class.
    pub(super) fn slots(&self, session: &Session<'_, '_>, shortage: &Shortage, row: u32) -> usize {
        if !self.is_open(row) {
            return 0;
        }
        let (_, room) = self.rooms(session.cluster.columns(), row);
        let class = session.classes.get(shortage.classes[0]);
        row_slots(class, session.cluster.columns(), row, &room, shortage.missing)
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
    pub(super) fn bound_of_all(&self, session: &Session<'_, '_>, shortage: &Shortage) -> RoomBound {
        self.bound(session, shortage, 0..session.cluster.columns().len() as u32)
    }

    /// Looks at some rows.
    pub(super) fn bound(
        &self,
        session: &Session<'_, '_>,
        shortage: &Shortage,
        rows: impl Iterator<Item = u32>,
    ) -> RoomBound {
        let nodes = session.cluster.columns();
        let class = match shortage.classes.as_slice() {
            [class] => Some(session.classes.get(*class)),
            _ => None,
        };
        let (mut free, mut most, mut slots) = (ResourceVec::default(), ResourceVec::default(), 0);
        for row in rows.filter(|&row| self.is_open(row)) {
            let (now, then) = self.rooms(nodes, row);
            free.add(&now);
            if let Some(class) = class {
                slots += row_slots(class, nodes, row, &then, shortage.missing);
            }
            most.add(&then);
        }
        let hopeful = shortage.least.fits(&most) && (class.is_none() || slots >= shortage.missing);
        RoomBound { free, slots, hopeful }
    }
}

/// What a look at some rows found.
pub(super) struct RoomBound {
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

/// Tasks of a class that fit into the room a row would have at most, counted no further than `enough`. A
/// shared device that somebody leaves counts as if it were empty.
fn row_slots(
    class: &Class,
    nodes: NodeColumns<'_>,
    row: u32,
    room: &ResourceVec,
    enough: usize,
) -> usize {
    let slots = slots_in(class.room(), room, enough);
    let Some(share) = class.share().filter(|_| slots > 0) else { return slots };
    let whole = room.get(share.dim) / WHOLE_DEVICE;
    let free = FreeDevices { now: whole, later: whole, idle: whole };
    let parts = nodes.devices[row as usize].slots(share, free).later;
    slots.min(usize::try_from(parts).unwrap_or(0))
}

/// What a place would cost if room on its nodes were all that counts: bundles are taken in order until
/// enough tasks fit, then those that are not needed are given back, the last first.
fn appraise(
    session: &Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    freeable: &FreeableRoom,
    domain: &SearchDomain,
) -> Price {
    let Some(&class) = shortage.classes.first() else { return Price::default() };
    let (class, nodes) = (session.classes.get(class), session.cluster.columns());
    let mut slots =
        RowSlots { class, nodes, enough: shortage.missing, rooms: HashMap::default(), count: 0 };
    let all = 0..nodes.len() as u32;
    let rows: &mut dyn Iterator<Item = u32> = match &domain.rows {
        Some(rows) => &mut rows.iter().copied(),
        None => &mut all.into_iter(),
    };
    for row in rows.filter(|&row| freeable.is_open(row)) {
        slots.add(row, &nodes.future(row as usize), Change::Free);
    }
    let mut taken: Vec<&Bundle> = Vec::new();
    for at in domain.bundles.of_states(&[Harm::Safe, Harm::Instead, Harm::Whole]) {
        if slots.count >= shortage.missing {
            break;
        }
        let bundle = domain.bundles.bundle(at);
        slots.take(session, freeable, domain, bundle, Change::Free);
        taken.push(bundle);
    }
    for at in (0..taken.len()).rev() {
        slots.take(session, freeable, domain, taken[at], Change::Fill);
        if slots.count >= shortage.missing {
            taken.remove(at);
        } else {
            slots.take(session, freeable, domain, taken[at], Change::Free);
        }
    }
    Price::of(action, taken.into_iter())
}

/// Room comes or goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Free,
    Fill,
}

impl Change {
    fn apply(self, room: &mut ResourceVec, amount: &ResourceVec) {
        match self {
            Self::Free => room.add(amount),
            Self::Fill => room.sub(amount),
        }
    }
}

/// How many requests fit, node by node.
struct RowSlots<'a> {
    class: &'a Class,
    nodes: NodeColumns<'a>,
    enough: usize,
    rooms: HashMap<u32, ResourceVec, FxBuildHasher>,
    count: usize,
}

impl RowSlots<'_> {
    fn add(&mut self, row: u32, amount: &ResourceVec, change: Change) {
        let room = self.rooms.entry(row).or_default();
        self.count -= row_slots(self.class, self.nodes, row, room, self.enough);
        change.apply(room, amount);
        self.count += row_slots(self.class, self.nodes, row, room, self.enough);
    }

    fn take(
        &mut self,
        session: &Session<'_, '_>,
        freeable: &FreeableRoom,
        domain: &SearchDomain,
        bundle: &Bundle,
        change: Change,
    ) {
        for &task in domain.bundles.tasks(bundle) {
            let item = session.cluster.task(task);
            let row = item.status().1.map(|node| session.cluster.node(node).place.row);
            if let Some(row) = row.filter(|&row| freeable.is_open(row) && domain.holds(row)) {
                self.add(row, &item.request.freed_at_most(), change);
            }
        }
    }
}

/// Places worth a search, in order of preference; if there are none, how many tasks of the job would
/// fit in the best place.
pub(super) fn search_domains(
    session: &Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    view: &mut EvictorView,
) -> Result<Vec<SearchDomain>, usize> {
    let job = session.cluster.job(shortage.evictor.job);
    let unit = Unit { job: &job, subgroup: None };
    let space = session.policies.search_space(&session.cluster, unit, Purpose::Evict);
    let everywhere = || SearchSpace { groups: vec![vec![None]], limit: usize::MAX };
    let SearchSpace { groups, limit } = space.unwrap_or_else(everywhere);
    let limit = limit.min(action.max_domains);
    let (mut search_domains, mut most) = (Vec::new(), 0);
    for group in groups {
        let mut hopeful: Vec<SearchDomain> = group
            .into_iter()
            .filter_map(|domain| {
                let found = search_domain(session, action, shortage, view, domain);
                found.inspect_err(|&slots| most = most.max(slots)).ok()
            })
            .take(APPRAISED)
            .collect();
        if hopeful.len() > 1 {
            for domain in &mut hopeful {
                domain.estimate = appraise(session, action, shortage, &view.freeable, domain);
            }
            hopeful.sort_by_key(|domain| domain.estimate);
        }
        search_domains.extend(hopeful);
        if search_domains.len() >= limit {
            break;
        }
    }
    search_domains.truncate(limit);
    if search_domains.is_empty() { Err(most) } else { Ok(search_domains) }
}

fn search_domain(
    session: &Session<'_, '_>,
    action: &EvictAction,
    shortage: &Shortage,
    view: &mut EvictorView,
    domain: Option<Entity>,
) -> Result<SearchDomain, usize> {
    let estimate = Price::default();
    let Some(domain) = domain else {
        let RoomBound { free, slots, hopeful } = view.freeable.bound_of_all(session, shortage);
        if !hopeful {
            return Err(slots);
        }
        return Ok(SearchDomain {
            rows: None,
            free,
            bundles: view.bundles(session, action, shortage),
            estimate,
        });
    };
    let rows = session.cluster.domain(domain).spot.rows.clone();
    let freeable = &view.freeable;
    let RoomBound { free, slots, hopeful } =
        freeable.bound(session, shortage, rows.iter().copied());
    if !hopeful {
        return Err(slots);
    }
    let counts = |row: u32| freeable.is_open(row) && rows.binary_search(&row).is_ok();
    let by = Valuation { action, shortage, counts: &counts };
    let bundles = Rc::new(Bundles::new(session, by, &view.candidates));
    Ok(SearchDomain { rows: Some(rows), free, bundles, estimate })
}
