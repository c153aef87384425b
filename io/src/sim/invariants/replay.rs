//! A cycle's decisions taken again one by one over the books, to see the state each was made in.

use std::collections::{BTreeMap, BTreeSet};

use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::{Decision, DecisionOp};
use muster_core::resource::ResourceVec;

use super::super::books::{Books, PodEntry, PodStatus};

/// The books, and what the decisions so far have moved.
pub(super) struct Replay<'a> {
    pub(super) books: &'a Books,
    /// What each node will carry, beyond the books.
    nodes: BTreeMap<Name, ResourceVec>,
    /// What each queue's pods have on nodes to stay.
    allocated: BTreeMap<Name, ResourceVec>,
    /// What is held for each queue's pods.
    held: BTreeMap<Name, ResourceVec>,
    /// Where room is held for a pod now, where that differs from the books.
    holds: BTreeMap<ObjectKey, Option<Name>>,
    /// Where pods were bound.
    seats: BTreeMap<ObjectKey, Name>,
    /// Pods that were evicted or deleted.
    pub(super) evicted: BTreeSet<ObjectKey>,
}

impl<'a> Replay<'a> {
    pub(super) fn new(books: &'a Books) -> Self {
        Self {
            books,
            nodes: BTreeMap::new(),
            allocated: books.queue_totals(|job| &job.allocated),
            held: books.queue_totals(|job| &job.held),
            holds: BTreeMap::new(),
            seats: BTreeMap::new(),
            evicted: BTreeSet::new(),
        }
    }

    pub(super) fn take(&mut self, decision: &Decision) {
        let Some(pod) = self.books.pods.get(&decision.pod) else { return };
        match decision.op {
            DecisionOp::Evict => {
                let counted = pod.seat().is_some() && pod.status != PodStatus::Releasing;
                if counted && self.evicted.insert(decision.pod.clone()) {
                    self.nodes.entry(decision.node.clone()).or_default().sub(&pod.request);
                    for queue in self.queues_of(&pod.job) {
                        self.allocated.entry(queue).or_default().sub(&pod.counts);
                    }
                }
            }
            DecisionOp::Bind => {
                self.release(&decision.pod);
                self.nodes.entry(decision.node.clone()).or_default().add(&pod.request);
                for queue in self.queues_of(&pod.job) {
                    self.allocated.entry(queue).or_default().add(&pod.counts);
                }
                self.seats.insert(decision.pod.clone(), decision.node.clone());
            }
            DecisionOp::Pipeline => {
                self.release(&decision.pod);
                self.nodes.entry(decision.node.clone()).or_default().add(&pod.request);
                for queue in self.queues_of(&pod.job) {
                    self.held.entry(queue).or_default().add(&pod.counts);
                }
                self.holds.insert(decision.pod.clone(), Some(decision.node.clone()));
            }
            DecisionOp::Unpipeline => self.release(&decision.pod),
        }
    }

    fn release(&mut self, key: &ObjectKey) {
        let Some(pod) = self.books.pods.get(key) else { return };
        let Some(node) = self.hold_of(key) else { return };
        self.nodes.entry(node).or_default().sub(&pod.request);
        for queue in self.queues_of(&pod.job) {
            self.held.entry(queue).or_default().sub(&pod.counts);
        }
        self.holds.insert(key.clone(), None);
    }

    fn hold_of(&self, key: &ObjectKey) -> Option<Name> {
        match self.holds.get(key) {
            Some(hold) => hold.clone(),
            None => self.books.pods.get(key).and_then(|pod| pod.hold().cloned()),
        }
    }

    pub(super) fn queues_of(&self, job: &ObjectKey) -> Vec<Name> {
        self.books.queue_path(&self.books.queue_of(job))
    }

    /// Pods of the job, and the others given, that were just bound or have room held, with the node.
    pub(super) fn placement<'k>(
        &self,
        job: &ObjectKey,
        others: impl Iterator<Item = &'k ObjectKey>,
    ) -> Vec<(&'k ObjectKey, Name)>
    where
        'a: 'k,
    {
        let own = self.books.pods_of(job).map(|(key, _)| key);
        own.chain(others).filter_map(|key| Some((key, self.place(key)?))).collect()
    }

    /// Where the pod was just bound or has room held.
    pub(super) fn place(&self, key: &ObjectKey) -> Option<Name> {
        self.seats.get(key).cloned().or_else(|| self.hold_of(key))
    }

    /// What the node will carry once all have left and come; `None` for a node that is gone.
    pub(super) fn node_load(&self, name: &Name) -> Option<(ResourceVec, &ResourceVec)> {
        let node = self.books.nodes.get(name).filter(|node| node.facts.is_some())?;
        let mut load = node.load();
        if let Some(moved) = self.nodes.get(name) {
            load.add(moved);
        }
        Some((load, &node.allocatable))
    }

    /// Is there no way to serve those pods of a job that go to a node with its GPUs, if some victims stayed?
    pub(super) fn lacks_gpus(&self, job: &ObjectKey, node: &Name, back: &[&ObjectKey]) -> bool {
        let (books, gpu) = (self.books, self.books.gpu());
        let stays = |key: &ObjectKey, pod: &PodEntry| {
            let leaves = pod.status == PodStatus::Releasing || self.evicted.contains(key);
            !leaves || back.contains(&key)
        };
        let mut used = books.gpus(node, stays);
        let offers = gpu.map_or(0, |gpu| books.nodes[node].allocatable.get(gpu));
        let mut comes: Vec<(bool, &PodEntry)> = Vec::new();
        for (key, pod) in books.pods.iter().filter(|(_, pod)| pod.seat().is_none()) {
            let there = self.seats.get(key).cloned().or_else(|| self.hold_of(key));
            if there.as_ref() == Some(node) {
                comes.push((pod.job == *job, pod));
            }
        }
        // Others were served before, whatever is given back.
        comes.sort_by_key(|(own, _)| *own);
        comes.into_iter().any(|(own, pod)| !used.fit(pod, gpu, offers) && own)
    }

    /// What the queue's pods have on nodes to stay.
    pub(super) fn queue_allocated(&self, name: &Name) -> ResourceVec {
        self.allocated.get(name).cloned().unwrap_or_default()
    }

    /// The same with what is held for them.
    pub(super) fn queue_load(&self, name: &Name) -> ResourceVec {
        let mut load = self.queue_allocated(name);
        if let Some(held) = self.held.get(name) {
            load.add(held);
        }
        load
    }
}
