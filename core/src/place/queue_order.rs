//! Whose turn it is: the queues with jobs in line, in the order that plugins give them.
//!
//! Either each queue is compared with all others, or they are compared level by level: then each queue
//! that has others below it stands for the best of them among its siblings.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap};

use bevy_ecs::entity::Entity;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::session::Session;
use super::turns::Lines;
use crate::policy::{OrderKey, Standings};
use crate::world::ActiveMark;

/// The queues that may still have turns.
pub(super) enum QueueOrder {
    /// Compared all with all.
    Flat(Flat),
    /// Compared level by level.
    Tree(QueueTree),
}

impl QueueOrder {
    /// The queues that have lines.
    pub(super) fn of(session: &Session<'_, '_>, lines: &Lines) -> Self {
        let standings = session.policies.standings(&session.cluster);
        if session.policies.queues_by_level() {
            return Self::Tree(QueueTree::of(session, standings, lines));
        }
        let joint = standings.are_joint();
        let mut flat = Flat { standings, joint, heap: BinaryHeap::new() };
        flat.fill(session, lines, lines.order.clone());
        Self::Flat(flat)
    }

    /// The queue whose turn it is.
    pub(super) fn first(&mut self, session: &Session<'_, '_>, lines: &Lines) -> Option<Entity> {
        match self {
            Self::Flat(flat) => flat.pop(session, lines),
            Self::Tree(tree) => tree.first(),
        }
    }

    /// The first queue has had its turn, and with it may have changed what was written since the mark.
    pub(super) fn served(
        &mut self,
        session: &Session<'_, '_>,
        lines: &Lines,
        queue: Entity,
        mark: ActiveMark,
    ) {
        match self {
            Self::Flat(flat) => flat.put_back(session, lines, queue, mark),
            Self::Tree(tree) => {
                let mut changed = vec![queue];
                for job in session.cluster.active_jobs.since(mark) {
                    changed.extend(session.cluster.jobs.get(job).map(|job| job.spec.queue));
                }
                changed.sort_unstable();
                changed.dedup();
                for queue in changed {
                    tree.renew(session, lines, queue);
                }
                debug_assert!(tree.is_current(session, lines), "a mended order is that made anew");
            }
        }
    }

    /// The first queue gets no more turns.
    pub(super) fn closed(&mut self, session: &Session<'_, '_>, lines: &Lines, queue: Entity) {
        if let Self::Tree(tree) = self {
            tree.branches.entry(queue).or_default().closed = true;
            tree.renew(session, lines, queue);
        }
    }
}

/// Queues compared all with all.
pub(super) struct Flat {
    standings: Standings,
    /// Can the turn of one queue move the keys of others?
    joint: bool,
    heap: BinaryHeap<Reverse<(OrderKey, Entity)>>,
}

impl Flat {
    fn key(&self, session: &Session<'_, '_>, lines: &Lines, queue: Entity) -> OrderKey {
        let next = lines.next(queue);
        session.policies.queue_key(&session.cluster, &self.standings, queue, next)
    }

    fn fill(&mut self, session: &Session<'_, '_>, lines: &Lines, queues: Vec<Entity>) {
        let keyed = queues.into_iter().map(|at| Reverse((self.key(session, lines, at), at)));
        self.heap = keyed.collect();
    }

    fn pop(&mut self, session: &Session<'_, '_>, lines: &Lines) -> Option<Entity> {
        loop {
            let Reverse((key, queue)) = self.heap.pop()?;
            if self.joint {
                return Some(queue);
            }
            // Serving one queue moves the shares of its ancestors, and with them the place of others.
            let fresh = self.key(session, lines, queue);
            if fresh <= key {
                return Some(queue);
            }
            self.heap.push(Reverse((fresh, queue)));
        }
    }

    fn put_back(
        &mut self,
        session: &Session<'_, '_>,
        lines: &Lines,
        queue: Entity,
        mark: ActiveMark,
    ) {
        if !self.joint {
            self.heap.push(Reverse((self.key(session, lines, queue), queue)));
            return;
        }
        for job in session.cluster.active_jobs.since(mark) {
            self.standings.job_moved(&session.cluster, job);
        }
        let left = self.heap.drain().map(|Reverse((_, queue))| queue).chain([queue]).collect();
        self.fill(session, lines, left);
    }
}

/// Queues compared level by level.
pub(super) struct QueueTree {
    standings: Standings,
    branches: HashMap<Entity, QueueBranch, FxBuildHasher>,
    /// Queues without a parent that have a job in line or below them.
    top: BTreeSet<(OrderKey, Entity)>,
}

/// A queue with a line, or with such queues below it.
#[derive(Default)]
struct QueueBranch {
    /// Its key among its siblings; none while there is nothing to serve.
    key: Option<OrderKey>,
    /// The job it would be served for.
    next: Option<Entity>,
    /// Children with something to serve, in order.
    children: BTreeSet<(OrderKey, Entity)>,
    /// Does its own line get no more turns?
    closed: bool,
}

impl QueueTree {
    fn of(session: &Session<'_, '_>, standings: Standings, lines: &Lines) -> Self {
        let mut tree = Self { standings, branches: HashMap::default(), top: BTreeSet::new() };
        for &queue in &lines.order {
            tree.branches.entry(queue).or_default();
            tree.renew(session, lines, queue);
        }
        tree
    }

    /// Is it what it would be if it were made anew?
    fn is_current(&self, session: &Session<'_, '_>, lines: &Lines) -> bool {
        let standings = session.policies.standings(&session.cluster);
        let (branches, top) = (HashMap::default(), BTreeSet::new());
        let mut anew = Self { standings, branches, top };
        for &queue in &lines.order {
            let closed = self.branches.get(&queue).is_some_and(|branch| branch.closed);
            anew.branches.insert(queue, QueueBranch { closed, ..QueueBranch::default() });
            anew.renew(session, lines, queue);
        }
        let mut queues = self.branches.iter();
        self.top == anew.top
            && queues.all(|(at, one)| {
                anew.branches.get(at).is_some_and(|other| one.children == other.children)
            })
    }

    /// The queue at the end of the path of first children. Its children go before its own line.
    fn first(&self) -> Option<Entity> {
        let mut at = self.top.first()?.1;
        while let Some((_, child)) = self.branches.get(&at)?.children.first() {
            at = *child;
        }
        Some(at)
    }

    /// Puts a queue and those above it where they belong now.
    fn renew(&mut self, session: &Session<'_, '_>, lines: &Lines, queue: Entity) {
        let mut next = Some(queue);
        while let Some(at) = next {
            let parent = session.cluster.queue(at).spec.parent;
            next = parent;
            let Some(branch) = self.branches.get_mut(&at) else { continue };
            let first = branch.children.first().map(|child| child.1);
            let own = lines.next(at).filter(|_| !branch.closed);
            let job = first.map_or(own, |first| self.branches.get(&first)?.next);
            let key =
                job.map(|_| session.policies.queue_key(&session.cluster, &self.standings, at, job));
            let Some(branch) = self.branches.get_mut(&at) else { continue };
            branch.next = job;
            let before = std::mem::replace(&mut branch.key, key.clone());
            let siblings = match parent {
                Some(parent) => &mut self.branches.entry(parent).or_default().children,
                None => &mut self.top,
            };
            if before != key {
                before.map(|before| siblings.remove(&(before, at)));
                key.map(|key| siblings.insert((key, at)));
            }
        }
    }
}
