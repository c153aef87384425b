//! Buckets of tasks that want to share a node, and what nodes are worth to them.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::delta::RoleTopology;
use crate::ids::Name;
use crate::kernel::ratio::SCORE_SCALE;
use crate::resource::{Dim, ResourceVec};
use crate::world::{Cluster, JobReadOnlyItem, TaskReadOnlyItem, TaskStatus};

/// Which roles of a job attract and repel each other; roles by their index in the job.
struct Relations {
    /// Roles that belong together, the smaller index first.
    pull: Vec<(usize, usize)>,
    /// Roles that keep apart, likewise.
    push: Vec<(usize, usize)>,
    /// Place of each role in the order its PodGroup gives, then how much it depends on its place.
    rank: Vec<(usize, Reverse<u8>)>,
}

/// Tasks that want to share a node.
#[derive(Default)]
struct Bucket {
    /// In the order they joined.
    tasks: Vec<Entity>,
    /// How many there are of each role.
    roles: BTreeMap<usize, i64>,
    /// What those that wait ask for, in one number.
    bulk: i64,
    /// How many wait.
    waiting: usize,
}

/// The buckets of a job.
pub(super) struct Buckets {
    relations: Relations,
    list: Vec<Bucket>,
    of: BTreeMap<Entity, usize>,
    /// Size of the largest bucket, in tasks.
    largest: i64,
}

/// The pairs of roles a list of groups means: every two roles of a group; a group of one role pairs it
/// with itself.
fn pairs(groups: &[Vec<Name>], index: impl Fn(&Name) -> Option<usize>) -> Vec<(usize, usize)> {
    let mut pairs = Vec::new();
    for group in groups {
        if let [alone] = group.as_slice() {
            pairs.extend(index(alone).map(|at| (at, at)));
            continue;
        }
        let roles: Vec<usize> = group.iter().filter_map(&index).collect();
        for (at, &one) in roles.iter().enumerate() {
            pairs.extend(roles[at + 1..].iter().map(|&other| (one.min(other), one.max(other))));
        }
    }
    pairs.sort_unstable();
    pairs.dedup();
    pairs
}

impl Relations {
    fn of(wish: &RoleTopology, roles: &[&Name]) -> Self {
        let index = |name: &Name| roles.iter().position(|role| *role == name);
        let (pull, push) = (pairs(&wish.affinity, index), pairs(&wish.anti_affinity, index));
        let place = |role: &Name| wish.order.iter().position(|name| name == role);
        let rank = roles.iter().enumerate().map(|(at, role)| {
            let alone = |pairs: &[(usize, usize)]| pairs.contains(&(at, at));
            let with_others = |pairs: &[(usize, usize)]| {
                pairs.iter().any(|&(a, b)| a != b && (a == at || b == at))
            };
            // A role that repels itself is placed first: later there would be one of it on every node.
            let class = if alone(&push) {
                4
            } else if with_others(&pull) {
                3
            } else if alone(&pull) {
                2
            } else {
                u8::from(with_others(&push))
            };
            (place(role).unwrap_or(usize::MAX), Reverse(class))
        });
        let rank = rank.collect();
        Self { pull, push, rank }
    }

    /// Does any rule speak of the role?
    fn concern(&self, role: usize) -> bool {
        self.rank[role].1 != Reverse(0)
    }

    fn pushes(&self, one: usize, other: usize) -> bool {
        self.push.binary_search(&(one.min(other), one.max(other))).is_ok()
    }

    /// Tasks in a bucket that attract the role, less those that repel it.
    fn affinity(&self, role: usize, bucket: &Bucket) -> i64 {
        let with = bucket.roles.iter().map(|(&other, &count)| {
            let pulls = self.pull.binary_search(&(role.min(other), role.max(other))).is_ok();
            count * (i64::from(pulls) - i64::from(self.pushes(role, other)))
        });
        with.sum()
    }
}

/// The node a task has or is held for.
fn seat(task: &TaskReadOnlyItem<'_, '_>) -> Option<Entity> {
    let (status, node) = task.status();
    node.filter(|_| status.is_allocated() || status == TaskStatus::Pipelined)
}

/// The size of a request in one number, to tell small buckets from large ones: milli-cpu, mebibytes and
/// all other amounts, added up.
fn bulk(request: &ResourceVec) -> i64 {
    let part = |(dim, amount): (Dim, i64)| match dim {
        Dim::MEMORY => amount >> 20,
        Dim::PODS => 0,
        _ => amount,
    };
    request.iter().map(part).fold(0, i64::saturating_add)
}

impl Buckets {
    /// Sorts the tasks of a job into buckets; `None` if its PodGroup says nothing of roles.
    pub(super) fn of(cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> Option<Self> {
        let wish = job.spec.role_topology.as_deref()?;
        let roles: Vec<&Name> = job.counts().roles.iter().map(|role| &role.name).collect();
        let relations = Relations::of(wish, &roles);
        let mut buckets = Self { relations, list: Vec::new(), of: BTreeMap::new(), largest: 1 };
        let tasks = job.members.0.iter().map(|&task| cluster.task(task));
        let concerned = tasks.filter(|task| {
            let waits = task.status().0 == TaskStatus::Pending && !task.traits.gated;
            let role = usize::from(task.membership.role);
            buckets.relations.concern(role) && (waits || seat(task).is_some())
        });
        let mut concerned: Vec<TaskReadOnlyItem<'_, '_>> = concerned.collect();
        concerned.sort_by_cached_key(|task| {
            // Tasks that have a node come first, node by node: their buckets are given.
            let seat = seat(task).map(|node| cluster.node(node).place.ordinal);
            let rank = buckets.relations.rank[usize::from(task.membership.role)];
            let identity = task.identity;
            (seat.is_none(), seat, rank, identity.index, identity.key.clone())
        });
        let mut on_node: BTreeMap<Entity, usize> = BTreeMap::new();
        for task in &concerned {
            let role = usize::from(task.membership.role);
            let at = match seat(task) {
                Some(node) => *on_node.entry(node).or_insert_with(|| buckets.open()),
                None => buckets.choose(role).unwrap_or_else(|| buckets.open()),
            };
            buckets.join(at, role, task);
        }
        let largest = buckets.list.iter().map(|bucket| bucket.tasks.len()).max();
        buckets.largest = largest.unwrap_or(1) as i64;
        Some(buckets)
    }

    fn open(&mut self) -> usize {
        self.list.push(Bucket::default());
        self.list.len() - 1
    }

    /// The bucket with the highest affinity for the role, the smallest of several; `None` if all repel it.
    fn choose(&self, role: usize) -> Option<usize> {
        let affinity = |bucket: &Bucket| self.relations.affinity(role, bucket);
        let known = self.list.iter().enumerate();
        let best =
            known.max_by_key(|(at, bucket)| (affinity(bucket), Reverse(bucket.bulk), Reverse(*at)));
        best.filter(|(_, bucket)| affinity(bucket) >= 0).map(|(at, _)| at)
    }

    fn join(&mut self, at: usize, role: usize, task: &TaskReadOnlyItem<'_, '_>) {
        let bucket = &mut self.list[at];
        bucket.tasks.push(task.entity);
        *bucket.roles.entry(role).or_default() += 1;
        if seat(task).is_none() {
            bucket.waiting += 1;
            bucket.bulk = bucket.bulk.saturating_add(bulk(&task.request.amounts));
        }
        self.of.insert(task.entity, at);
    }

    /// The order in which tasks of the job are placed: bucket by bucket, those with most tasks waiting
    /// first, and by role inside a bucket; tasks without a bucket come last.
    pub(super) fn order(&self, tasks: &[TaskReadOnlyItem<'_, '_>]) -> Vec<i64> {
        let key = |task: &TaskReadOnlyItem<'_, '_>| {
            let at = *self.of.get(&task.entity)?;
            let rank = self.relations.rank[usize::from(task.membership.role)];
            Some((Reverse(self.list[at].waiting), at, rank))
        };
        let keys: Vec<_> = tasks.iter().map(key).collect();
        let mut sorted: Vec<_> = keys.iter().flatten().collect();
        sorted.sort_unstable();
        sorted.dedup();
        let place = |key: &Option<_>| match key {
            Some(key) => sorted.binary_search(&key).unwrap_or(sorted.len()),
            None => sorted.len(),
        };
        keys.iter().map(|key| place(key) as i64).collect()
    }

    /// Adds the score of nodes for a waiting task: 100 points for a node that has, or has room for, the
    /// whole of the largest bucket.
    pub(super) fn score(
        &self,
        cluster: &Cluster<'_, '_>,
        (job, task): (Entity, Entity),
        weight: i64,
        rows: &[u32],
        scores: &mut [i64],
    ) {
        let Some(&at) = self.of.get(&task) else { return };
        let role = usize::from(cluster.task(task).membership.role);
        // `sums[n]` is what the task and `n` others of its bucket ask for together.
        let mut sums = vec![cluster.task(task).request.amounts.clone()];
        let mut there: BTreeMap<u32, i64> = BTreeMap::new();
        for &other in self.list[at].tasks.iter().filter(|&&other| other != task) {
            let other = cluster.task(other);
            if let Some(node) = seat(&other) {
                *there.entry(cluster.node(node).place.row).or_default() += 1;
            } else if other.status().0 == TaskStatus::Pending {
                let mut sum = sums[sums.len() - 1].clone();
                sum.add(&other.request.amounts);
                sums.push(sum);
            }
        }
        for &other in &cluster.job(job).members.0 {
            let other = cluster.task(other);
            let role_of_other = usize::from(other.membership.role);
            if let Some(node) = seat(&other)
                && self.relations.pushes(role, role_of_other)
            {
                *there.entry(cluster.node(node).place.row).or_default() -= 1;
            }
        }
        let nodes = cluster.columns();
        for (&row, score) in rows.iter().zip(scores) {
            let room = nodes.future(row as usize);
            let fitting = sums.partition_point(|sum| sum.fits(&room)) as i64;
            if fitting > 0 {
                let points = there.get(&row).copied().unwrap_or(0) + fitting;
                let score_here = points.saturating_mul(weight).saturating_mul(100 * SCORE_SCALE);
                *score = score.saturating_add(score_here / self.largest);
            }
        }
    }
}
