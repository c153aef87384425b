//! Shares in a tree of queues: hierarchical dominant resource fairness.
//!
//! Inner nodes come from the queues' paths, leaves are jobs. A leaf is saturated when it has all it
//! asks for of something it holds, or holds something the cluster has no more of. An inner node is
//! saturated when all its children are. What an inner node counts as holding is the sum over its
//! children, each scaled down to the smallest share among those that still want more: a child that is
//! ahead of its siblings does not make their common branch look rich. Saturated children count as
//! they are, because nobody can even them out any more.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use super::{PARTS, dominant_share, holding};
use crate::ids::Name;
use crate::resource::ResourceVec;
use crate::world::{Cluster, QueueReadOnlyItem};

/// Levels below the root that are compared; queues that differ only further down are equal.
pub(super) const LEVELS: usize = 6;

/// Added to the key of a saturated node: it goes after every node that wants more.
const SATURATED: i64 = 1 << 60;

/// Keeps six digits of a share that is divided by its weight.
const WEIGHED: i128 = 1_000_000;

/// Path and weights of a queue without annotation: a branch of its own, of weight 1.
fn path_of(queue: &QueueReadOnlyItem<'_, '_>) -> Vec<(Name, u32)> {
    match &queue.spec.hierarchy {
        path if path.is_empty() => vec![(queue.identity.name.clone(), 1000)],
        path => path.clone(),
    }
}

#[derive(Clone, Debug, Default)]
struct Branch {
    /// In thousandths.
    weight: i64,
    parent: Option<usize>,
    /// What counts as held.
    held: ResourceVec,
    /// Of a job, what it asks for in all; none is an inner node.
    asked: Option<ResourceVec>,
    share: i64,
    saturated: bool,
}

/// The tree, children behind their parents.
#[derive(Clone, Debug)]
pub(super) struct Tree {
    branches: Vec<Branch>,
    /// Inner nodes of each queue below the root, the highest first.
    paths: BTreeMap<Entity, Vec<usize>>,
    leaves: BTreeMap<Entity, usize>,
    /// What all jobs hold.
    taken: ResourceVec,
    total: ResourceVec,
}

impl Tree {
    /// The tree of the cluster as it is, settled.
    pub(super) fn of(cluster: &Cluster<'_, '_>) -> Self {
        let mut tree = Self {
            branches: vec![Branch { weight: 1000, ..Branch::default() }],
            paths: BTreeMap::new(),
            leaves: BTreeMap::new(),
            taken: ResourceVec::default(),
            total: cluster.capacity.0.clone(),
        };
        // Where queues disagree on the weight of a node they share, the oldest is right.
        let mut queues: Vec<_> = cluster.queues.iter().collect();
        queues.sort_by(|a, b| {
            (a.identity.created, &a.identity.uid).cmp(&(b.identity.created, &b.identity.uid))
        });
        let mut known: BTreeMap<(usize, Name), usize> = BTreeMap::new();
        for queue in &queues {
            let mut at = 0;
            let mut nodes = Vec::new();
            for (name, weight) in path_of(queue) {
                at = *known.entry((at, name)).or_insert_with(|| {
                    let weight = i64::from(weight.max(1000));
                    tree.branches.push(Branch { weight, parent: Some(at), ..Branch::default() });
                    tree.branches.len() - 1
                });
                nodes.push(at);
            }
            tree.paths.insert(queue.entity, nodes);
        }
        for job in &cluster.jobs {
            let parent = tree.paths.get(&job.spec.queue).and_then(|path| path.last()).copied();
            tree.leaf(job.entity, parent, holding(&job), job.held.asked.clone());
        }
        tree.settle();
        tree
    }

    fn leaf(&mut self, job: Entity, parent: Option<usize>, held: ResourceVec, asked: ResourceVec) {
        self.taken.add(&held);
        let asked = Some(asked);
        self.leaves.insert(job, self.branches.len());
        self.branches.push(Branch { weight: 1000, parent, held, asked, ..Branch::default() });
    }

    /// The job holds so much more.
    pub(super) fn add(&mut self, job: Entity, request: &ResourceVec) {
        let Some(&leaf) = self.leaves.get(&job) else { return };
        self.branches[leaf].held.add(request);
        self.taken.add(request);
    }

    /// The job is judged as if it held so much more, and still wanted as much as before: it must not
    /// look content because of room that is only being sought for it.
    pub(super) fn promise(&mut self, job: Entity, request: &ResourceVec) {
        self.add(job, request);
        let leaf = self.leaves.get(&job).and_then(|&leaf| self.branches[leaf].asked.as_mut());
        if let Some(asked) = leaf {
            asked.add(request);
        }
    }

    /// The job holds so much less.
    pub(super) fn sub(&mut self, job: Entity, request: &ResourceVec) {
        let Some(&leaf) = self.leaves.get(&job) else { return };
        self.branches[leaf].held.sub(request);
        self.taken.sub(request);
    }

    /// Shares and saturation of all nodes anew, from the leaves up.
    pub(super) fn settle(&mut self) {
        // Per inner node: the smallest share of a child that wants more, and whether none does.
        let mut smallest = vec![PARTS; self.branches.len()];
        for branch in &mut self.branches {
            if branch.asked.is_none() {
                branch.held = ResourceVec::default();
                branch.saturated = true;
            }
        }
        // Parents stand before children, so backwards every child is done before its parent. What
        // children add is scaled by the smallest share of all of them, hence two rounds a level.
        let order = self.by_depth();
        for level in order.iter().rev() {
            for &at in level {
                self.finish(at);
                let branch = &self.branches[at];
                if let Some(parent) = branch.parent
                    && branch.share != 0
                    && !branch.saturated
                {
                    smallest[parent] = smallest[parent].min(i128::from(branch.share));
                }
            }
            for &at in level {
                self.contribute(at, &smallest);
            }
        }
    }

    fn by_depth(&self) -> Vec<Vec<usize>> {
        let mut depths = vec![0_usize; self.branches.len()];
        let mut levels: Vec<Vec<usize>> = Vec::new();
        for (at, branch) in self.branches.iter().enumerate() {
            depths[at] = branch.parent.map_or(0, |parent| depths[parent] + 1);
            if levels.len() <= depths[at] {
                levels.resize(depths[at] + 1, Vec::new());
            }
            levels[depths[at]].push(at);
        }
        levels
    }

    /// Share and saturation of a node whose children are done.
    fn finish(&mut self, at: usize) {
        let share = dominant_share(&self.branches[at].held, &self.total);
        let saturated = match &self.branches[at].asked {
            Some(asked) => self.is_saturated(&self.branches[at].held, asked),
            None => self.branches[at].saturated,
        };
        self.branches[at].share = share;
        self.branches[at].saturated = saturated;
    }

    fn is_saturated(&self, held: &ResourceVec, asked: &ResourceVec) -> bool {
        held.iter().filter(|&(dim, amount)| amount > 0 && asked.get(dim) > 0).any(
            |(dim, amount)| amount >= asked.get(dim) || self.taken.get(dim) >= self.total.get(dim),
        )
    }

    /// Adds a node to what its parent counts as holding.
    fn contribute(&mut self, at: usize, smallest: &[i128]) {
        let Some(parent) = self.branches[at].parent else { return };
        let Branch { held, share, saturated, .. } = self.branches[at].clone();
        let parent_branch = &mut self.branches[parent];
        parent_branch.saturated &= saturated;
        if share == 0 {
            return;
        }
        let mut part = held;
        if !saturated {
            let entries: Vec<_> = part.iter().collect();
            for (dim, amount) in entries {
                let scaled = i128::from(amount) * smallest[parent] / i128::from(share);
                part.set(dim, i64::try_from(scaled).unwrap_or(i64::MAX));
            }
        }
        parent_branch.held.add(&part);
    }

    /// Keys of a queue, level by level below the root: smaller is served first. A queue whose path
    /// is shorter goes before those below it.
    pub(super) fn keys(&self, queue: Entity) -> [i64; LEVELS] {
        let path = self.paths.get(&queue).map_or(&[][..], Vec::as_slice);
        let own = path.iter().map(|&at| {
            let branch = &self.branches[at];
            let weighed = i128::from(branch.share) * WEIGHED / i128::from(branch.weight);
            let weighed = i64::try_from(weighed).unwrap_or(i64::MAX).min(SATURATED - 1);
            weighed + if branch.saturated { SATURATED } else { 0 }
        });
        let mut keys = [0; LEVELS];
        keys.iter_mut().zip(own).for_each(|(key, own)| *key = own);
        keys
    }
}

#[cfg(test)]
mod tests;
