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
use crate::policy::QueueTable;
use crate::resource::{Dim, ResourceVec};
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
    children: Vec<usize>,
    /// Children that want more.
    wanting: usize,
    /// Shares of those among them that hold anything, and how many have it.
    hungry: BTreeMap<i64, u32>,
}

impl Branch {
    /// What children are evened out to: the smallest share of one that wants more.
    fn level(&self) -> i128 {
        self.hungry.first_key_value().map_or(PARTS, |(&share, _)| PARTS.min(share.into()))
    }

    /// Counts a child in what it wants.
    fn count_in(&mut self, child: &QueueStanding) {
        self.wanting += usize::from(!child.saturated);
        if child.is_hungry() {
            *self.hungry.entry(child.share).or_default() += 1;
        }
    }

    /// Counts a child no more.
    fn count_out(&mut self, child: &QueueStanding) {
        self.wanting -= usize::from(!child.saturated);
        if let Some(count) = self.hungry.get_mut(&child.share).filter(|_| child.is_hungry()) {
            *count -= 1;
            if *count == 0 {
                self.hungry.remove(&child.share);
            }
        }
    }

    fn standing(&self) -> QueueStanding {
        QueueStanding { held: self.held.clone(), share: self.share, saturated: self.saturated }
    }
}

/// What a parent sees of a child.
#[derive(Clone, Debug)]
struct QueueStanding {
    held: ResourceVec,
    share: i64,
    saturated: bool,
}

impl QueueStanding {
    fn is_hungry(&self) -> bool {
        self.share != 0 && !self.saturated
    }

    /// What the parent counts as held for it.
    fn evened(&self, level: i128) -> ResourceVec {
        if self.share == 0 {
            return ResourceVec::default();
        }
        let mut part = self.held.clone();
        if !self.saturated {
            for (dim, amount) in self.held.iter() {
                let scaled = i128::from(amount) * level / i128::from(self.share);
                part.set(dim, i64::try_from(scaled).unwrap_or(i64::MAX));
            }
        }
        part
    }
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
            total: cluster.capacity().clone(),
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
                    tree.grow(Branch { weight, parent: Some(at), ..Branch::default() })
                });
                nodes.push(at);
            }
            tree.paths.insert(queue.entity, nodes);
        }
        for job in &cluster.jobs {
            let parent = tree.paths.get(&job.spec.queue).and_then(|path| path.last()).copied();
            tree.leaf(job.entity, parent, holding(&job), job.held().asked.clone());
        }
        tree.settle();
        tree
    }

    /// Puts a branch below its parent.
    fn grow(&mut self, branch: Branch) -> usize {
        let at = self.branches.len();
        if let Some(parent) = branch.parent {
            self.branches[parent].children.push(at);
        }
        self.branches.push(branch);
        at
    }

    fn leaf(&mut self, job: Entity, parent: Option<usize>, held: ResourceVec, asked: ResourceVec) {
        self.taken.add(&held);
        let asked = Some(asked);
        let leaf = self.grow(Branch { weight: 1000, parent, held, asked, ..Branch::default() });
        self.leaves.insert(job, leaf);
    }

    /// The job holds so much more.
    pub(super) fn add(&mut self, job: Entity, request: &ResourceVec) {
        self.change(job, |held, _| held.add(request));
    }

    /// The job is judged as if it held so much more, and still wanted as much as before: it must not
    /// look content because of room that is only being sought for it.
    pub(super) fn promise(&mut self, job: Entity, request: &ResourceVec) {
        self.change(job, |held, asked| {
            held.add(request);
            asked.add(request);
        });
    }

    /// The job holds so much less.
    pub(super) fn sub(&mut self, job: Entity, request: &ResourceVec) {
        self.change(job, |held, _| held.sub(request));
    }

    /// Changes what a job holds and asks for, and whatever follows from it: mostly the branches above
    /// it and nothing beside them.
    fn change(&mut self, job: Entity, change: impl FnOnce(&mut ResourceVec, &mut ResourceVec)) {
        let Some(&leaf) = self.leaves.get(&job) else { return };
        let before = self.branches[leaf].standing();
        let branch = &mut self.branches[leaf];
        let Some(asked) = &mut branch.asked else { return };
        change(&mut branch.held, asked);
        let ends = self.used_up();
        self.taken.sub(&before.held);
        self.taken.add(&self.branches[leaf].held);
        if self.used_up() == ends {
            self.finish(leaf);
            self.mend(leaf, before);
        } else {
            // A resource has come to its end, or is there again: that concerns every job.
            self.settle();
        }
    }

    /// Resources the cluster has no more of.
    fn used_up(&self) -> Vec<Dim> {
        let ends = self.taken.iter().filter(|&(dim, taken)| taken >= self.total.get(dim));
        ends.map(|(dim, _)| dim).collect()
    }

    /// Recomputes shares and saturation of all nodes, from the leaves up.
    pub(super) fn settle(&mut self) {
        // Children stand behind their parents.
        for at in (0..self.branches.len()).rev() {
            if self.branches[at].asked.is_none() {
                self.gather(at);
            }
            self.finish(at);
        }
    }

    /// What an inner node counts as holding, from all its children.
    fn gather(&mut self, at: usize) {
        let mut branch = std::mem::take(&mut self.branches[at]);
        let children: Vec<QueueStanding> =
            branch.children.iter().map(|&child| self.branches[child].standing()).collect();
        (branch.wanting, branch.hungry) = (0, BTreeMap::new());
        for child in &children {
            branch.count_in(child);
        }
        branch.held = ResourceVec::default();
        let level = branch.level();
        for child in &children {
            branch.held.add(&child.evened(level));
        }
        self.branches[at] = branch;
    }

    /// Tells the branches above a node that it has changed.
    fn mend(&mut self, mut at: usize, mut before: QueueStanding) {
        while let Some(parent) = self.branches[at].parent {
            let now = self.branches[at].standing();
            let branch = &mut self.branches[parent];
            let (own, level) = (branch.standing(), branch.level());
            branch.count_out(&before);
            branch.count_in(&now);
            if branch.level() == level {
                branch.held.sub(&before.evened(level));
                branch.held.add(&now.evened(level));
            } else {
                // All its children are evened out to another level.
                self.gather(parent);
            }
            self.finish(parent);
            (at, before) = (parent, own);
        }
    }

    /// Share and saturation of a node whose children are done.
    fn finish(&mut self, at: usize) {
        let branch = &self.branches[at];
        let share = dominant_share(&branch.held, &self.total);
        let saturated = match &branch.asked {
            Some(asked) => self.is_saturated(&branch.held, asked),
            None => branch.wanting == 0,
        };
        let branch = &mut self.branches[at];
        (branch.share, branch.saturated) = (share, saturated);
    }

    fn is_saturated(&self, held: &ResourceVec, asked: &ResourceVec) -> bool {
        held.iter().filter(|&(dim, amount)| amount > 0 && asked.get(dim) > 0).any(
            |(dim, amount)| amount >= asked.get(dim) || self.taken.get(dim) >= self.total.get(dim),
        )
    }

    /// Brings a job up to date with the cluster.
    fn renew(&mut self, cluster: &Cluster<'_, '_>, job: Entity) {
        let Ok(item) = cluster.jobs.get(job) else { return };
        let (holds, asks) = (holding(&item), &item.held().asked);
        self.change(job, |held, asked| {
            *held = holds;
            asked.clone_from(asks);
        });
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

impl QueueTable for Tree {
    fn job_moved(&mut self, cluster: &Cluster<'_, '_>, job: Entity) {
        self.renew(cluster, job);
    }

    fn keys(&self, queue: Entity, keys: &mut [i64]) {
        keys.iter_mut().zip(Self::keys(self, queue)).for_each(|(key, own)| *key = own);
    }
}

#[cfg(test)]
mod tests;
