//! Rules about limits: nodes and queues the scheduler placed something on may not be overfull.
//!
//! Only what a bind of the cycle, or for queues a reservation, asked for is judged: a node the timeline made smaller, or a queue
//! whose limit it lowered, is not the scheduler's doing until it adds to it.

use std::collections::BTreeMap;

use muster_core::ids::Name;
use muster_core::intent::{Decision, DecisionOp};
use muster_core::resource::{ResourceNames, ResourceVec};

use super::super::books::Books;
use super::{Invariant, Watch};

/// Binds and reservations that took effect, each with the pod's request as queues count it.
fn placements<'a>(
    books: &'a Books,
    decisions: &'a [Decision],
) -> impl Iterator<Item = (&'a Decision, &'a ResourceVec)> {
    decisions.iter().filter_map(|decision| {
        let pod = books.pods.get(&decision.pod)?;
        let place = match decision.op {
            DecisionOp::Bind => pod.seat(),
            DecisionOp::Pipeline => pod.hold(),
            DecisionOp::Evict | DecisionOp::Unpipeline => None,
        };
        (place == Some(&decision.node)).then_some((decision, &pod.counts))
    })
}

/// Binds that took effect, each with the pod's request.
fn binds<'a>(
    books: &'a Books,
    decisions: &'a [Decision],
) -> impl Iterator<Item = (&'a Decision, &'a ResourceVec)> {
    decisions.iter().filter(|decision| decision.op == DecisionOp::Bind).filter_map(|decision| {
        let pod = books.pods.get(&decision.pod)?;
        (pod.seat() == Some(&decision.node)).then_some((decision, &pod.request))
    })
}

impl Watch {
    pub(super) fn check_nodes(&mut self, books: &Books, decisions: &[Decision]) {
        let mut added: BTreeMap<&Name, ResourceVec> = BTreeMap::new();
        for (decision, request) in binds(books, decisions) {
            added.entry(&decision.node).or_default().add(request);
        }
        let shares = books.has_shares();
        for (name, added) in added {
            let Some(node) = books.nodes.get(name) else { continue };
            if shares {
                self.check_gpus(books, name);
            }
            let over = |dim: &_| node.used.get(*dim) > node.allocatable.get(*dim);
            let asked = added.iter().filter(|entry| entry.1 > 0).map(|entry| entry.0);
            let Some(dim) = asked.into_iter().find(over) else { continue };
            self.report(
                Invariant::NodeBounds,
                format!(
                    "node {name} has {} {} and its pods ask for {}",
                    ResourceNames::quantity(dim, node.allocatable.get(dim)),
                    books.names.name(dim),
                    ResourceNames::quantity(dim, node.used.get(dim)),
                ),
            );
        }
    }

    /// No GPU of a node is shared by more than it holds, and no more are in use than there are.
    fn check_gpus(&mut self, books: &Books, name: &Name) {
        let (used, gpu) = (books.gpus(name, |_, _| true), books.gpu());
        let (Some(node), Some(gpu)) = (books.nodes.get(name), gpu) else { return };
        if let Some(device) = used.overfull() {
            let sentence = format!("pods on GPU {device} of node {name} ask for more than it has");
            self.report(Invariant::NodeBounds, sentence);
        }
        if used.taken() > node.allocatable.get(gpu) {
            let [has, taken] = [node.allocatable.get(gpu), used.taken()];
            let [has, taken] = [has, taken].map(|amount| ResourceNames::quantity(gpu, amount));
            let sentence = format!("node {name} has {has} GPUs, and its pods use {taken}");
            self.report(Invariant::NodeBounds, sentence);
        }
    }

    pub(super) fn check_capabilities(&mut self, books: &Books, decisions: &[Decision]) {
        if books.queues.values().all(|queue| queue.capability.is_none()) {
            return;
        }
        let mut added: BTreeMap<Name, ResourceVec> = BTreeMap::new();
        for (decision, request) in placements(books, decisions) {
            for queue in books.queue_path(&books.queue_of(&decision.job)) {
                added.entry(queue).or_default().add(request);
            }
        }
        if added.is_empty() {
            return;
        }
        // A reservation counts like a bind: redeemed, it must not burst the limit.
        let mut totals = books.queue_totals(|job| &job.allocated);
        for (name, held) in books.queue_totals(|job| &job.held) {
            totals.entry(name).or_default().add(&held);
        }
        for (name, added) in added {
            let (Some(queue), Some(total)) = (books.queues.get(&name), totals.get(&name)) else {
                continue;
            };
            let limits = books.limits(queue.capability.as_ref());
            let over = limits.iter().find(|(dim, limit)| {
                let exceeds = added.get(*dim) > 0 && total.get(*dim) > *limit;
                // Memory counts for limits by the GPU it is on, not by the smallest there is.
                exceeds && (books.gpu() != Some(*dim) || books.gpus_placed(&name) > *limit)
            });
            let Some(&(dim, limit)) = over else { continue };
            self.report(
                Invariant::QueueBounds,
                format!(
                    "queue {name} uses {} {}, its capability is {}",
                    ResourceNames::quantity(dim, total.get(dim)),
                    books.names.name(dim),
                    ResourceNames::quantity(dim, limit),
                ),
            );
        }
    }
}
