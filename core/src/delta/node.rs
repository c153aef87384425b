//! Nodes.

use super::NodeDeviceFacts;
use crate::ids::Name;
use crate::resource::ResourceList;

/// A node as scheduling sees it.
#[derive(Clone, Debug, PartialEq)]
pub struct NodeFacts {
    /// Object name.
    pub name: Name,
    /// Labels, sorted by key.
    pub labels: Vec<(Name, Name)>,
    /// Taints in the order of the object.
    pub taints: Vec<Taint>,
    /// `spec.unschedulable`.
    pub unschedulable: bool,
    /// `status.allocatable`.
    pub allocatable: ResourceList,
    /// Milli-cpu and bytes of memory of `status.capacity`, where it has them.
    pub capacity: [Option<i64>; 2],
    /// `status.images`: every name of an image with its size in bytes.
    pub images: Vec<(Name, i64)>,
    /// What it says of its devices beside their number.
    pub devices: NodeDeviceFacts,
}

/// A taint of a node.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Taint {
    /// Taint key.
    pub key: Name,
    /// Taint value, empty if none.
    pub value: Name,
    /// What it does to pods that do not tolerate it.
    pub effect: TaintEffect,
}

/// Effect of a taint.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum TaintEffect {
    /// New pods stay away.
    NoSchedule,
    /// New pods would rather stay away.
    PreferNoSchedule,
    /// New pods stay away, running ones are moved off by the cluster.
    NoExecute,
}
