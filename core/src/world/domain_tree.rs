//! The tree of domains in numbers, for what is asked for every node.
//!
//! Every node hangs on one domain, the closest it is in, and every domain on its parent or on the
//! cluster. A node that is in several domains of a tier hangs on the first of them by name, but counts
//! in the sums of all.

use bevy_ecs::entity::Entity;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::domain::{DomainIndex, DomainTotals};

/// The tree, and for each node where it hangs. Domains are numbered from the lowest tier up, so that a
/// domain comes after those inside it; the cluster is the last number.
#[derive(Debug, Default)]
pub struct DomainTree {
    /// Tiers there are, ascending, that of the cluster last.
    tiers: Vec<u64>,
    list: Vec<DomainNode>,
    /// Where the list of domains around each node row begins in `around`; one entry more than rows.
    starts: Vec<u32>,
    around: Vec<u32>,
}

#[derive(Debug)]
struct DomainNode {
    /// Index of its tier.
    tier: u32,
    parent: u32,
    /// Its row in the table of domains.
    row: u32,
}

impl DomainTree {
    /// The tree of an index, given the parent and the table row of each domain, and the domains around
    /// each node, closest first.
    pub(crate) fn new<'a>(
        index: &DomainIndex,
        place: impl Fn(Entity) -> Option<(Option<Entity>, u32)>,
        paths: impl Iterator<Item = &'a [Entity]>,
    ) -> Self {
        let tiers = index.tiers.iter().map(|(tier, _)| u64::from(*tier)).chain([index.root]);
        let mut tree = Self { tiers: tiers.collect(), ..Self::default() };
        let domains = index.tiers.iter().enumerate();
        let domains = domains.flat_map(|(tier, (_, all))| all.iter().map(move |one| (tier, *one)));
        let numbered: Vec<(usize, Entity)> = domains.collect();
        let numbers: HashMap<Entity, u32, FxBuildHasher> =
            numbered.iter().enumerate().map(|(at, &(_, domain))| (domain, at as u32)).collect();
        let root = numbered.len() as u32;
        for &(tier, domain) in &numbered {
            let (parent, row) = place(domain).unwrap_or((None, u32::MAX));
            let parent = parent.and_then(|parent| numbers.get(&parent)).copied().unwrap_or(root);
            tree.list.push(DomainNode { tier: tier as u32, parent, row });
        }
        for path in paths {
            tree.starts.push(tree.around.len() as u32);
            tree.around.extend(path.iter().filter_map(|domain| numbers.get(domain)));
        }
        tree.starts.push(tree.around.len() as u32);
        tree
    }

    /// Number of domains, the cluster included.
    pub fn len(&self) -> usize {
        self.list.len() + 1
    }

    /// Always at least the cluster.
    pub fn is_empty(&self) -> bool {
        false
    }

    /// Tiers there are, ascending, that of the cluster last.
    pub fn tiers(&self) -> &[u64] {
        &self.tiers
    }

    /// Index of a domain's tier; that of the cluster is the last.
    pub fn tier(&self, at: usize) -> usize {
        self.list.get(at).map_or(self.tiers.len().saturating_sub(1), |node| node.tier as usize)
    }

    /// What a domain hangs on; `None` for the cluster.
    pub fn parent(&self, at: usize) -> Option<usize> {
        self.list.get(at).map(|node| node.parent as usize)
    }

    /// Domains a node is in, closest first, the cluster left out.
    pub fn domains_around(&self, row: usize) -> &[u32] {
        match (self.starts.get(row), self.starts.get(row + 1)) {
            (Some(&from), Some(&to)) => &self.around[from as usize..to as usize],
            _ => &[],
        }
    }

    /// What a node hangs on.
    pub fn home(&self, row: usize) -> usize {
        self.domains_around(row).first().map_or(self.list.len(), |&at| at as usize)
    }
}

/// The tree with the sums over each domain.
#[derive(Clone, Copy)]
pub struct DomainView<'a> {
    /// The tree.
    pub index: &'a DomainIndex,
    /// Sums, a row a domain.
    pub(crate) totals: &'a [DomainTotals],
}

impl<'a> DomainView<'a> {
    /// Sums over a domain; `None` for the cluster.
    pub fn totals(&self, at: usize) -> Option<&'a DomainTotals> {
        self.totals.get(self.index.nested.list.get(at)?.row as usize)
    }
}
