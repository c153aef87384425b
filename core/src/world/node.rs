//! Columns of a node: room in lanes, and what rules read of it.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{Component, EntityRef, Resource};
use bytemuck::TransparentWrapper;

use super::device::{FreeDevices, NodeDevices, WHOLE};
use super::load::NodeLoad;
use super::node_flags::NodeFlags;
use super::rows::{NodeContiguousItem, NodeReadOnlyContiguousItem};
use super::shards::NodeShare;
use super::symbol::Symbol;
use super::volume::Attachments;
use crate::delta::TaintEffect;
use crate::ids::Name;
use crate::resource::{Dim, Lanes, ResourceVec, Tail};
use crate::world::PodCounts;

/// Name of a node, and whether the object is there: a node that pods name before it is seen, or
/// after it is gone, is known but absent, with no room and closed to every task.
#[derive(Clone, Debug, Component)]
pub struct NodeIdentity {
    /// Object name.
    pub name: Name,
    /// Has the node object been seen and not gone?
    pub present: bool,
}

/// Where the node stands in the table and in the stable order of nodes. Renewed whenever nodes come
/// or go.
#[derive(Clone, Copy, Debug, Default, Component)]
pub struct NodePlace {
    /// Row of the node's table.
    pub row: u32,
    /// Rank by name (digits compare as numbers), the last tie-break of every choice.
    pub ordinal: u32,
}

/// What rules read of a node besides room.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct NodeRules {
    /// Labels, sorted by key symbol.
    pub labels: Vec<(Symbol, Symbol)>,
    /// Taints.
    pub taints: Vec<NodeTaint>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// The node's own name as a symbol, for field selectors.
    pub name: Option<Symbol>,
    /// Images it holds with their sizes in bytes, sorted by symbol.
    pub images: Vec<(Symbol, i64)>,
    /// Whose it is, where several schedulers divide the cluster.
    pub share: NodeShare,
}

impl NodeRules {
    /// The value of a label.
    pub fn label(&self, key: Symbol) -> Option<Symbol> {
        self.labels.binary_search_by_key(&key, |label| label.0).ok().map(|at| self.labels[at].1)
    }
}

/// A taint in symbols.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NodeTaint {
    /// Taint key.
    pub key: Symbol,
    /// Taint value.
    pub value: Symbol,
    /// What it does.
    pub effect: TaintEffect,
}

macro_rules! lane_column {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Component, TransparentWrapper)]
        #[repr(transparent)]
        pub struct $name(pub(super) Lanes);
    };
}

lane_column!(
    /// What the node offers in all.
    Allocatable
);
lane_column!(
    /// Allocatable less Used; below zero where the node is over.
    Idle
);
lane_column!(
    /// What tasks on the node take, leaving ones included.
    Used
);
lane_column!(
    /// The part of Used whose tasks are leaving.
    Releasing
);
lane_column!(
    /// What is held for tasks that wait for the node.
    Pipelined
);

/// The five amounts above for dimensions beyond the hot lanes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct NodeTails {
    /// Tail of `Allocatable`.
    pub allocatable: Tail,
    /// Tail of `Idle`.
    pub idle: Tail,
    /// Tail of `Used`.
    pub used: Tail,
    /// Tail of `Releasing`.
    pub releasing: Tail,
    /// Tail of `Pipelined`.
    pub pipelined: Tail,
}

/// What tasks on the node count for above what they ask: milli-cpu and bytes of memory that scores
/// assume for containers without request. It takes no room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Component, TransparentWrapper)]
#[repr(transparent)]
pub struct Unasked(pub(super) [i64; 2]);

/// How many tasks are on the node, leaving, awaited and ended ones included: it is known as long as
/// any of them is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Component)]
pub struct Tenants(pub(super) u32);

/// Is no task on the node, or held, awaited or ended there?
pub(crate) fn is_vacant(node: EntityRef<'_>) -> bool {
    node.get::<Tenants>().is_none_or(|tenants| tenants.0 == 0)
}

/// The domains the node belongs to, closest first: those objects name, then those of each topology by
/// labels.
#[derive(Clone, Debug, Default, PartialEq, Eq, Component)]
pub struct DomainPath(pub Vec<Entity>);

/// The columns of a run of node rows, as slices of equal length.
#[derive(Clone, Copy)]
#[expect(missing_docs, reason = "each field is the column of that name")]
pub struct NodeColumns<'a> {
    pub entities: &'a [Entity],
    pub identities: &'a [NodeIdentity],
    pub places: &'a [NodePlace],
    pub rules: &'a [NodeRules],
    pub flags: &'a [NodeFlags],
    pub allocatable: &'a [Lanes],
    pub idle: &'a [Lanes],
    pub used: &'a [Lanes],
    pub releasing: &'a [Lanes],
    pub pipelined: &'a [Lanes],
    pub tails: &'a [NodeTails],
    pub unasked: &'a [[i64; 2]],
    pub pod_counts: &'a [PodCounts],
    pub attachments: &'a [Attachments],
    pub devices: &'a [NodeDevices],
    pub loads: &'a [NodeLoad],
}

impl<'a> NodeColumns<'a> {
    /// The columns of no node.
    pub const EMPTY: Self = Self {
        entities: &[],
        identities: &[],
        places: &[],
        rules: &[],
        flags: &[],
        allocatable: &[],
        idle: &[],
        used: &[],
        releasing: &[],
        pipelined: &[],
        tails: &[],
        unasked: &[],
        pod_counts: &[],
        attachments: &[],
        devices: &[],
        loads: &[],
    };

    /// What a row offers of one resource.
    pub fn offered(&self, row: usize, dim: Dim) -> i64 {
        let of_tail = || self.tails[row].allocatable.get(dim);
        dim.lane().map_or_else(of_tail, |lane| self.allocatable[row].0[lane])
    }

    /// The same of one resource as [`Self::future`] of all.
    pub fn future_idle(&self, row: usize, dim: Dim) -> i64 {
        let tails = &self.tails[row];
        let [idle, releasing, pipelined] = dim.lane().map_or_else(
            || [&tails.idle, &tails.releasing, &tails.pipelined].map(|tail| tail.get(dim)),
            |lane| [self.idle, self.releasing, self.pipelined].map(|column| column[row].0[lane]),
        );
        idle + releasing - pipelined
    }

    /// Whole devices of a row that a task that is not there yet could share.
    pub(crate) fn free_devices(&self, row: usize, dim: Dim) -> FreeDevices {
        let tails = &self.tails[row];
        let parts = |dim: Dim| match dim.lane() {
            Some(lane) => {
                [self.idle, self.releasing, self.pipelined].map(|column| column[row].0[lane])
            }
            None => [&tails.idle, &tails.releasing, &tails.pipelined].map(|tail| tail.get(dim)),
        };
        free_devices(parts(dim), parts(Dim::PODS))
    }

    /// What a row has free or will have free, less what is held on it; may be below zero.
    pub fn future(&self, row: usize) -> ResourceVec {
        let mut hot = self.idle[row];
        hot.add(&self.releasing[row]);
        hot.sub(&self.pipelined[row]);
        let tails = &self.tails[row];
        let mut tail = tails.idle.clone();
        tail.add(&tails.releasing);
        tail.sub(&tails.pipelined);
        ResourceVec { hot, tail }
    }

    /// The table of a query as plain slices.
    pub fn of(table: &NodeReadOnlyContiguousItem<'a, '_>) -> Self {
        Self {
            entities: table.entity,
            identities: table.identity,
            places: table.place,
            rules: table.rules,
            flags: table.flags,
            allocatable: Allocatable::peel_slice(table.allocatable),
            idle: Idle::peel_slice(table.idle),
            used: Used::peel_slice(table.used),
            releasing: Releasing::peel_slice(table.releasing),
            pipelined: Pipelined::peel_slice(table.pipelined),
            tails: table.tails,
            unasked: Unasked::peel_slice(table.unasked),
            pod_counts: table.pod_counts,
            attachments: table.attachments,
            devices: table.devices,
            loads: table.load,
        }
    }

    /// The same of one whose columns are being written.
    pub(super) fn of_writable(table: &'a NodeContiguousItem<'_, '_>) -> Self {
        Self {
            entities: table.entity,
            identities: &table.identity,
            places: &table.place,
            rules: &table.rules,
            flags: &table.flags,
            allocatable: Allocatable::peel_slice(&table.allocatable),
            idle: Idle::peel_slice(&table.idle),
            used: Used::peel_slice(&table.used),
            releasing: Releasing::peel_slice(&table.releasing),
            pipelined: Pipelined::peel_slice(&table.pipelined),
            tails: &table.tails,
            unasked: Unasked::peel_slice(&table.unasked),
            pod_counts: &table.pod_counts,
            attachments: &table.attachments,
            devices: &table.devices,
            loads: &table.load,
        }
    }

    /// Number of rows.
    pub fn len(&self) -> usize {
        self.entities.len()
    }

    /// No rows?
    pub fn is_empty(&self) -> bool {
        self.entities.is_empty()
    }

    /// Some of the rows.
    #[must_use]
    pub fn rows(&self, range: std::ops::Range<usize>) -> Self {
        Self {
            entities: &self.entities[range.clone()],
            identities: &self.identities[range.clone()],
            places: &self.places[range.clone()],
            rules: &self.rules[range.clone()],
            flags: &self.flags[range.clone()],
            allocatable: &self.allocatable[range.clone()],
            idle: &self.idle[range.clone()],
            used: &self.used[range.clone()],
            releasing: &self.releasing[range.clone()],
            pipelined: &self.pipelined[range.clone()],
            tails: &self.tails[range.clone()],
            unasked: &self.unasked[range.clone()],
            pod_counts: &self.pod_counts[range.clone()],
            attachments: &self.attachments[range.clone()],
            devices: &self.devices[range.clone()],
            loads: &self.loads[range],
        }
    }
}

/// Whole devices that could be shared, of what is idle, leaving and held of them and of slots for pods.
/// Whoever holds a device for those that share it takes a slot, too.
pub(super) fn free_devices(devices: [i64; 3], slots: [i64; 3]) -> FreeDevices {
    let [whole, slots] = [devices, slots].map(|[idle, releasing, pipelined]| {
        let later = idle + releasing - pipelined;
        [idle.min(later), later]
    });
    let at = |when: usize| (whole[when].max(0) / WHOLE).min((slots[when] - 1).max(0));
    FreeDevices { now: at(0), later: at(1), idle: devices[0].max(0) / WHOLE }
}

/// What all present nodes offer together, and what pods of other schedulers take of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Resource)]
pub struct ClusterTotals {
    pub(super) offered: ResourceVec,
    pub(super) by_others: ResourceVec,
}

impl ClusterTotals {
    /// What all nodes offer together.
    pub(crate) fn offered(&self) -> &ResourceVec {
        &self.offered
    }

    /// What pods of other schedulers take of it, leaving ones included.
    pub(crate) fn by_others(&self) -> &ResourceVec {
        &self.by_others
    }
}

/// What pods take of all nodes together, leaving ones and those of other schedulers included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Resource)]
pub struct ClusterUse(pub(super) ResourceVec);

/// Node rows in the order they changed. A reader remembers how far it has read and later looks only
/// at what was written since; when nodes come or go rows are renumbered and a new epoch begins.
#[derive(Debug, Default, Resource)]
pub struct ChangeLog {
    epoch: u64,
    rows: Vec<u32>,
}

/// Below this many rows the log is not worth trimming.
const LOG_ROWS_MIN: usize = 16_384;

/// How far a reader of the [`ChangeLog`] has come.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LogMark {
    epoch: u64,
    read: usize,
}

impl ChangeLog {
    /// Notes that a row changed.
    pub fn touch(&mut self, row: u32) {
        self.rows.push(row);
    }

    /// Reserves capacity for more notes.
    pub(crate) fn expect(&mut self, rows: usize) {
        self.rows.reserve(rows);
    }

    /// Forgets everything once reading it costs more than looking at all rows.
    pub fn trim(&mut self, nodes: usize) {
        if self.rows.len() > nodes.max(LOG_ROWS_MIN) * 4 {
            self.renumber();
        }
    }

    /// Renumbers: every reader starts over.
    pub fn renumber(&mut self) {
        self.epoch += 1;
        self.rows.clear();
    }

    /// Which numbering of rows this is, or a later one that is the same.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Where the log ends now.
    pub fn mark(&self) -> LogMark {
        LogMark { epoch: self.epoch, read: self.rows.len() }
    }

    /// Rows changed since the mark, repeats included; `None` if the mark is of another epoch.
    pub fn since(&self, mark: LogMark) -> Option<&[u32]> {
        (mark.epoch == self.epoch).then(|| &self.rows[mark.read..])
    }

    /// Rows noted in this epoch.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Nothing noted in this epoch?
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }
}
