//! Volumes that exist and that no claim has: which nodes reach them, and for whom they are held.
//!
//! Volumes that no rule can tell apart stand on one rack, so that a pool of a thousand network
//! volumes is one entry; a local volume is a rack of its own that one node reaches.

use std::collections::BTreeMap;

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::known::Known;
use super::needs::WISHES_MAX;
use super::rules::{VolumeRules, WishRule, reach};
use super::shared::Shared;
use crate::delta::{AccessModes, NodeTerm, Operator, VolumeFacts, VolumeMode};
use crate::ids::Name;
use crate::resource::Quantity;
use crate::world::node::NodeRules;
use crate::world::symbol::{Symbol, Symbols};

/// What a task got for one of its wishes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Pick {
    /// Nothing: the node cannot serve it.
    #[default]
    Empty,
    /// A volume will be made.
    Made,
    /// The volume of that number in the stock.
    Found(u32),
}

/// A volume in the stock.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub(crate) name: Name,
    pub(super) rack: u32,
    /// Tasks it is held for: several only where they have the claim in common.
    pub(crate) takers: u32,
}

/// Volumes that no rule can tell apart.
#[derive(Clone, Debug)]
pub(crate) struct Rack {
    class: Symbol,
    capacity: Quantity,
    modes: AccessModes,
    mode: VolumeMode,
    /// Labels of its volumes, for selectors.
    labels: NodeRules,
    /// Its items are `first..end`.
    pub(crate) first: u32,
    pub(crate) end: u32,
    /// Items held for nobody.
    pub(crate) free: u32,
    /// No item before this one is free.
    cursor: u32,
    /// Rows that reach it; `None` means every row.
    pub(super) rows: Option<Vec<u32>>,
}

/// The whole stock. Racks are numbered in the order they are preferred in: smallest first, then
/// by the name of their first volume.
#[derive(Debug, Default)]
pub(crate) struct Stock {
    pub(crate) items: Vec<Item>,
    pub(crate) racks: Vec<Rack>,
    /// Racks each row reaches, those that all rows reach left out; ascending.
    at_row: Vec<Vec<u32>>,
    everywhere: Vec<u32>,
}

/// Rack numbers that stand for no rack.
const MADE: u32 = u32::MAX;
const COMMON: u32 = u32::MAX - 1;

/// A node a choice is made for.
#[derive(Clone, Copy)]
pub struct Spot<'a> {
    /// Row of the node.
    pub row: u32,
    /// What rules read of it.
    pub node: &'a NodeRules,
}

impl Stock {
    /// Takes in the volumes that are free now; nothing is held afterwards.
    pub(super) fn fill(&mut self, known: &Known, nodes: &[NodeRules], symbols: &mut Symbols) {
        *self = Self::default();
        self.at_row.resize(nodes.len(), Vec::new());
        let mut kinds: BTreeMap<StockKind<'_>, Vec<&VolumeFacts>> = BTreeMap::new();
        for volume in known.free() {
            kinds.entry(StockKind::of(volume)).or_default().push(volume);
        }
        let mut kinds: Vec<_> = kinds.into_iter().collect();
        kinds.sort_by_key(|(kind, volumes)| (kind.capacity, &volumes[0].name));
        let index = RowIndex::of(&kinds, nodes, symbols);
        for (kind, volumes) in kinds {
            let rack = self.racks.len() as u32;
            let first = self.items.len() as u32;
            let items = volumes.iter().map(|v| Item { name: v.name.clone(), rack, takers: 0 });
            self.items.extend(items);
            let rows = kind.affinity.map(|terms| index.rows(terms, nodes, symbols));
            match &rows {
                None => self.everywhere.push(rack),
                Some(rows) => rows.iter().for_each(|&r| self.at_row[r as usize].push(rack)),
            }
            let end = self.items.len() as u32;
            self.racks.push(kind.rack(first, end, rows, symbols));
        }
    }

    /// Finds a rack for every wish on a node; false if one goes without.
    fn choose(
        &self,
        rules: &VolumeRules,
        shared: &Shared,
        spot: Spot<'_>,
        out: &mut [u32],
    ) -> bool {
        for (at, wish) in rules.wishes.iter().enumerate() {
            let Some(rack) = self.rack_for(wish, shared, spot, &out[..at]) else { return false };
            out[at] = rack;
        }
        true
    }

    fn rack_for(
        &self,
        wish: &WishRule,
        shared: &Shared,
        spot: Spot<'_>,
        earlier: &[u32],
    ) -> Option<u32> {
        if let Some((choice, row)) = wish.shared.and_then(|id| shared.get(id).choice) {
            // Another pod has decided where the volume is.
            let reached = match choice {
                Pick::Found(item) => self.reaches(self.items[item as usize].rack, spot.row),
                Pick::Made | Pick::Empty => row == spot.row,
            };
            return reached.then_some(COMMON);
        }
        let fits = |&&number: &&u32| {
            let rack = &self.racks[number as usize];
            let taken = earlier.iter().filter(|&&other| other == number).count() as u32;
            rack.free > taken && rack.serves(wish)
        };
        let interpod = self.at_row.get(spot.row as usize).into_iter().flatten().find(fits);
        let far = self.everywhere.iter().find(fits);
        let found = [interpod, far].into_iter().flatten().min().copied();
        found.or_else(|| wish.can_be_made(spot.node).then_some(MADE))
    }

    fn reaches(&self, rack: u32, row: u32) -> bool {
        let rows = &self.racks[rack as usize].rows;
        rows.as_ref().is_none_or(|rows| rows.binary_search(&row).is_ok())
    }

    /// Can all wishes be met on a node?
    pub(crate) fn serves(&self, rules: &VolumeRules, shared: &Shared, spot: Spot<'_>) -> bool {
        let mut racks = [MADE; WISHES_MAX];
        rules.wishes.is_empty() || self.choose(rules, shared, spot, &mut racks)
    }

    /// What a task gets for its wishes on a node; nothing is held yet.
    pub(crate) fn picks(
        &self,
        rules: &VolumeRules,
        shared: &Shared,
        spot: Spot<'_>,
        picks: &mut Vec<Pick>,
    ) {
        let mut racks = [MADE; WISHES_MAX];
        let served = self.choose(rules, shared, spot, &mut racks);
        picks.clear();
        for (at, wish) in rules.wishes.iter().enumerate() {
            let pick = match racks[at] {
                _ if !served => Pick::Empty,
                MADE => Pick::Made,
                COMMON => wish.shared.and_then(|id| shared.get(id).choice).unwrap_or_default().0,
                rack => {
                    let earlier = racks[..at].iter().filter(|&&other| other == rack).count();
                    self.free_item(rack, earlier).map_or(Pick::Empty, Pick::Found)
                }
            };
            picks.push(pick);
        }
    }

    /// The free item of a rack at a position.
    fn free_item(&self, rack: u32, skip: usize) -> Option<u32> {
        let rack = &self.racks[rack as usize];
        let free = |&item: &u32| self.items[item as usize].takers == 0;
        (rack.cursor..rack.end).filter(free).nth(skip)
    }

    /// Holds an item for one more task; the rack, if one item fewer is free on it now.
    pub(super) fn take(&mut self, item: u32) -> Option<u32> {
        let entry = &mut self.items[item as usize];
        entry.takers += 1;
        if entry.takers > 1 {
            return None;
        }
        let number = entry.rack;
        let rack = &mut self.racks[number as usize];
        rack.free -= 1;
        while rack.cursor < rack.end && self.items[rack.cursor as usize].takers > 0 {
            rack.cursor += 1;
        }
        Some(number)
    }

    /// The way back of [`Self::take`].
    pub(super) fn put_back(&mut self, item: u32) -> Option<u32> {
        let entry = &mut self.items[item as usize];
        entry.takers -= 1;
        if entry.takers > 0 {
            return None;
        }
        let rack = &mut self.racks[entry.rack as usize];
        rack.free += 1;
        rack.cursor = rack.cursor.min(item);
        Some(entry.rack)
    }
}

impl Rack {
    fn serves(&self, wish: &WishRule) -> bool {
        self.class == wish.class
            && self.capacity >= wish.size
            && self.mode == wish.mode
            && self.modes.covers(wish.modes)
            && wish.selects(&self.labels)
    }
}

/// What rules read of a volume.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct StockKind<'a> {
    capacity: Quantity,
    class: &'a Name,
    modes: AccessModes,
    mode: VolumeMode,
    labels: &'a [(Name, Name)],
    affinity: Option<&'a Vec<NodeTerm>>,
}

impl<'a> StockKind<'a> {
    fn of(volume: &'a VolumeFacts) -> Self {
        Self {
            capacity: volume.capacity,
            class: &volume.class,
            modes: volume.modes,
            mode: volume.mode,
            labels: &volume.labels,
            affinity: volume.affinity.as_ref(),
        }
    }

    fn rack(&self, first: u32, end: u32, rows: Option<Vec<u32>>, symbols: &mut Symbols) -> Rack {
        let mut labels: Vec<_> = self
            .labels
            .iter()
            .map(|(key, value)| (symbols.intern(key), symbols.intern(value)))
            .collect();
        labels.sort_unstable();
        Rack {
            class: symbols.intern(self.class),
            capacity: self.capacity,
            modes: self.modes,
            mode: self.mode,
            labels: NodeRules { labels, ..NodeRules::default() },
            first,
            end,
            free: end - first,
            cursor: first,
            rows,
        }
    }
}

/// Rows by the labels that affinities of volumes name, so that a local volume finds its node without
/// a look at all of them.
struct RowIndex {
    by_label: HashMap<(Symbol, Symbol), Vec<u32>, FxBuildHasher>,
}

impl RowIndex {
    fn of(
        kinds: &[(StockKind<'_>, Vec<&VolumeFacts>)],
        nodes: &[NodeRules],
        symbols: &mut Symbols,
    ) -> Self {
        let terms = kinds.iter().filter_map(|(kind, _)| kind.affinity).flatten();
        let mut keys: Vec<Symbol> =
            terms.filter_map(anchor).map(|(key, _)| symbols.intern(key)).collect();
        keys.sort_unstable();
        keys.dedup();
        let mut by_label: HashMap<_, Vec<u32>, FxBuildHasher> = HashMap::default();
        for (row, node) in nodes.iter().enumerate() {
            for &key in &keys {
                if let Some(value) = node.label(key) {
                    by_label.entry((key, value)).or_default().push(row as u32);
                }
            }
        }
        Self { by_label }
    }

    /// Rows any one of the terms matches, ascending.
    fn rows(&self, terms: &Vec<NodeTerm>, nodes: &[NodeRules], symbols: &mut Symbols) -> Vec<u32> {
        let matcher = reach(terms, symbols);
        let mut rows = Vec::new();
        for term in terms {
            match anchor(term) {
                Some((key, values)) => {
                    for value in values {
                        let label = (symbols.intern(key), symbols.intern(value));
                        rows.extend(self.by_label.get(&label).into_iter().flatten().copied());
                    }
                }
                None => rows.extend(0..nodes.len() as u32),
            }
        }
        rows.sort_unstable();
        rows.dedup();
        rows.retain(|&row| matcher.admits(&nodes[row as usize], symbols));
        rows
    }
}

/// A label the term allows a few values of.
fn anchor(term: &NodeTerm) -> Option<(&Name, &[Name])> {
    let one_of = term.labels.iter().find(|test| test.operator == Operator::In)?;
    Some((&one_of.key, &one_of.values))
}
