//! Rules about victims: each one needed, and none that its queue's guarantee protects.

use std::collections::BTreeMap;

use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::{Decision, DecisionOp};
use muster_core::resource::{Dim, ResourceNames, ResourceVec};

use super::super::books::Books;
use super::super::books::moves::moved_by;
use super::interpod::is_in_the_way;
use super::replay::Replay;
use super::{Invariant, Watch};

impl Watch {
    /// Takes the decisions again in order; a beneficiary's victims are judged at its last decision
    /// of the cycle, so that what others did later neither accuses nor excuses it.
    pub(super) fn check_victims(&mut self, books: &Books, decisions: &[Decision]) {
        let mut victims: BTreeMap<&ObjectKey, Vec<&ObjectKey>> = BTreeMap::new();
        for decision in decisions.iter().filter(|decision| decision.op == DecisionOp::Evict) {
            if let Some(beneficiary) = &decision.beneficiary {
                victims.entry(beneficiary).or_default().push(&decision.pod);
            }
        }
        if victims.is_empty() {
            return;
        }
        let mut last: BTreeMap<&ObjectKey, usize> = BTreeMap::new();
        for (at, decision) in decisions.iter().enumerate() {
            let mover = || {
                let of = victims.iter().find(|(_, pods)| pods.contains(&&decision.pod));
                of.map_or(&decision.job, |(beneficiary, _)| *beneficiary)
            };
            let whose = match decision.op {
                DecisionOp::Evict => decision.beneficiary.as_ref(),
                DecisionOp::Bind | DecisionOp::Pipeline => Some(mover()),
                DecisionOp::Unpipeline => None,
            };
            if let Some(whose) = whose.filter(|whose| victims.contains_key(whose)) {
                last.insert(whose, at);
            }
        }
        let moved = moved_by(decisions);
        let mut replay = Replay::new(books);
        for (at, decision) in decisions.iter().enumerate() {
            replay.take(decision);
            let takes = decision.op == DecisionOp::Evict && !moved.contains(&decision.pod);
            if takes && decision.action.contains("reclaim") {
                self.check_guarantee(&replay, decision);
            }
            for (beneficiary, _) in last.iter().filter(|entry| *entry.1 == at) {
                self.check_needed(&replay, beneficiary, &victims[beneficiary]);
            }
        }
    }

    fn check_needed(&mut self, replay: &Replay<'_>, beneficiary: &ObjectKey, pods: &[&ObjectKey]) {
        for unit in units(replay, pods) {
            // Where others were moved to for it counts like where it is itself.
            let others = pods.iter().copied().filter(|pod| !unit.contains(pod));
            let placement = replay.placement(beneficiary, others);
            if self.is_needed(replay, (beneficiary, &placement), &unit) {
                continue;
            }
            let names: Vec<String> = unit.iter().map(ToString::to_string).collect();
            self.report(
                Invariant::MinimalVictims,
                format!("{beneficiary} would fit as well without evicting {}", names.join(", ")),
            );
        }
    }

    /// If the unit stayed, would some node of the placement or a queue the beneficiary is in be
    /// overfull, or would it be in the way of a pod by the rules between pods?
    fn is_needed(
        &self,
        replay: &Replay<'_>,
        (beneficiary, placement): (&ObjectKey, &[(&ObjectKey, Name)]),
        unit: &[&ObjectKey],
    ) -> bool {
        let (by_node, by_queue) = held_by(replay, unit);
        let crowds_node = placement.iter().any(|(_, node)| {
            let back = by_node.get(node).zip(replay.node_load(node));
            back.is_some_and(|(back, (mut load, room))| {
                load.add(back);
                back.iter().any(|(dim, amount)| amount > 0 && load.get(dim) > room.get(dim))
            })
        });
        let shares = replay.books.has_shares();
        let crowds_gpus = || {
            let there = |node: &Name| by_node.contains_key(node);
            let mut nodes = placement.iter().map(|(_, node)| node).filter(|node| there(node));
            shares && nodes.any(|node| replay.lacks_gpus(beneficiary, node, unit))
        };
        let crowds_queue = || {
            let path = replay.queues_of(beneficiary);
            let kept = kept_for_others(replay.books, &path);
            path.iter().any(|name| {
                let Some(back) = by_queue.get(name) else { return false };
                let mut load = replay.queue_load(name);
                load.add(back);
                let mut limits = self.limits(replay.books, name);
                limits.any(|(dim, limit)| back.get(dim) > 0 && load.get(dim) > limit)
                    || kept.iter().any(|(dim, rest)| back.get(*dim) > 0 && load.get(*dim) > *rest)
            })
        };
        let bars_the_way = || {
            placement.iter().any(|(key, node)| {
                unit.iter().any(|victim| is_in_the_way(replay.books, victim, key, node))
            })
        };
        crowds_node || crowds_gpus() || crowds_queue() || bars_the_way()
    }

    /// What a queue may not exceed: its capability and, where dues are limits, its due.
    fn limits(&self, books: &Books, queue: &Name) -> impl Iterator<Item = (Dim, i64)> {
        let capability = books.queues.get(queue).and_then(|facts| facts.capability.as_ref());
        books.limits(capability).into_iter().chain(books.limits(self.dues.get(queue)))
    }

    /// A queue must keep its guarantee when another queue reclaims. Queues above both lose nothing:
    /// what one child gives the other takes.
    fn check_guarantee(&mut self, replay: &Replay<'_>, decision: &Decision) {
        let Some(victim) = replay.books.pods.get(&decision.pod) else { return };
        let winner = decision.beneficiary.as_ref().map(|job| replay.queues_of(job));
        let winner = winner.unwrap_or_default();
        for name in replay.queues_of(&victim.job) {
            let Some(queue) = replay.books.queues.get(&name).filter(|_| !winner.contains(&name))
            else {
                continue;
            };
            let left = replay.queue_allocated(&name);
            let guarantee = replay.books.limits(queue.guarantee.as_ref());
            let short = guarantee.iter().find(|(dim, guarantee)| {
                victim.counts.get(*dim) > 0 && left.get(*dim) < *guarantee
            });
            let Some(&(dim, guarantee)) = short else { continue };
            self.report(
                Invariant::QueueBounds,
                format!(
                    "evicting {} left queue {name} with {} {}, its guarantee is {}",
                    decision.pod,
                    ResourceNames::quantity(dim, left.get(dim)),
                    replay.books.names.name(dim),
                    ResourceNames::quantity(dim, guarantee),
                ),
            );
        }
    }
}

/// What can only be given back together: a gang that falls below its minimum is one unit, a pod of a
/// gang that works on without it is one by itself.
fn units<'a>(replay: &Replay<'_>, pods: &[&'a ObjectKey]) -> Vec<Vec<&'a ObjectKey>> {
    let mut by_job: BTreeMap<&ObjectKey, Vec<&'a ObjectKey>> = BTreeMap::new();
    for &key in pods {
        if let Some(pod) = replay.books.pods.get(key) {
            by_job.entry(&pod.job).or_default().push(key);
        }
    }
    let mut units = Vec::new();
    for (job, pods) in by_job {
        if replay.books.standing_of(job, |key| !replay.evicted.contains(key)).is_met {
            units.extend(pods.into_iter().map(|pod| vec![pod]));
        } else {
            units.push(pods);
        }
    }
    units
}

/// What the cluster has beside the guarantees of queues that are not on the path, of each resource that
/// is guaranteed to any of them.
fn kept_for_others(books: &Books, path: &[Name]) -> Vec<(Dim, i64)> {
    let mut kept: BTreeMap<Dim, i64> = BTreeMap::new();
    for (_, queue) in books.queues.iter().filter(|(name, _)| !path.contains(name)) {
        for (dim, amount) in books.limits(queue.guarantee.as_ref()) {
            *kept.entry(dim).or_default() += amount;
        }
    }
    let has = |dim: Dim| books.nodes.values().map(|node| node.allocatable.get(dim)).sum::<i64>();
    kept.into_iter().map(|(dim, kept)| (dim, has(dim).saturating_sub(kept))).collect()
}

/// What pods hold together, by node and by queue.
fn held_by(
    replay: &Replay<'_>,
    pods: &[&ObjectKey],
) -> (BTreeMap<Name, ResourceVec>, BTreeMap<Name, ResourceVec>) {
    let mut by_node: BTreeMap<Name, ResourceVec> = BTreeMap::new();
    let mut by_queue: BTreeMap<Name, ResourceVec> = BTreeMap::new();
    for &key in pods {
        let Some(pod) = replay.books.pods.get(key) else { continue };
        let moved = replay.place(key).is_some();
        if let Some(node) = pod.seat() {
            by_node.entry(node.clone()).or_default().add(&pod.request);
        }
        // What is held for the next pod counts already.
        for queue in replay.queues_of(&pod.job).into_iter().filter(|_| !moved) {
            by_queue.entry(queue).or_default().add(&pod.counts);
        }
    }
    (by_node, by_queue)
}
