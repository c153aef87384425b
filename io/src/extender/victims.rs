//! Who may be evicted, for one task or for a whole gang.
//!
//! Volcano asks an extender only where it evicts task by task. Here its word counts for gangs as well, like
//! that of every plugin that spares pods.

use muster_core::policy::{
    Ballot, Entity, EvictPurpose, Evictor, PreemptablePlugin, ReclaimablePlugin,
    UnifiedEvictablePlugin,
};
use muster_core::world::{Cluster, TaskReadOnlyItem, TaskStatus};
use serde_json::{Value, json};

use super::Extender;
use super::answer::{Victim, Victims};
use super::payload;
use super::round::Round;
use super::settings::Verb;

impl PreemptablePlugin for Extender {
    fn preemptable(&self, cluster: &Cluster<'_, '_>, by: &Evictor, tasks: &[Entity]) -> Ballot {
        self.vote(cluster, Verb::Preemptable, by, tasks)
    }
}

impl ReclaimablePlugin for Extender {
    fn reclaimable(&self, cluster: &Cluster<'_, '_>, by: &Evictor, tasks: &[Entity]) -> Ballot {
        self.vote(cluster, Verb::Reclaimable, by, tasks)
    }
}

impl UnifiedEvictablePlugin for Extender {
    fn unified_evictable(
        &self,
        cluster: &Cluster<'_, '_>,
        by: &Evictor,
        tasks: &[Entity],
    ) -> Ballot {
        let verb = match by.purpose {
            // Whoever is moved makes way as within a queue: no other gains what it has.
            EvictPurpose::Preempt | EvictPurpose::Consolidate => Verb::Preemptable,
            EvictPurpose::Reclaim => Verb::Reclaimable,
        };
        self.vote(cluster, verb, by, tasks)
    }
}

impl Extender {
    fn vote(
        &self,
        cluster: &Cluster<'_, '_>,
        verb: Verb,
        by: &Evictor,
        candidates: &[Entity],
    ) -> Ballot {
        let round = self.round();
        let Some(evictor) = evictor(cluster, by).filter(|_| self.settings.has(verb)) else {
            return Ballot::Abstain;
        };
        if candidates.is_empty() || !self.minds(&round.names, &evictor.request.amounts) {
            return Ballot::Abstain;
        }
        let told = |task: &TaskReadOnlyItem<'_, '_>| payload::task(cluster, &round.names, task);
        let evictees: Vec<Value> =
            candidates.iter().map(|&candidate| told(&cluster.task(candidate))).collect();
        let body = json!({"evictor": told(&evictor), "evictees": evictees}).to_string();
        match round.ask_one::<Victims>(self.way(), verb, body) {
            Ok(answer) if answer.status == 0 => Ballot::Abstain,
            Ok(answer) => self.ballot(&round, cluster, &answer, candidates),
            Err(_) if !self.refuses() => Ballot::Abstain,
            Err(_) => {
                round.hold_back();
                Ballot::Only(Vec::new())
            }
        }
    }

    /// The candidates the server named.
    fn ballot(
        &self,
        round: &Round,
        cluster: &Cluster<'_, '_>,
        answer: &Victims,
        candidates: &[Entity],
    ) -> Ballot {
        let items: Vec<_> = candidates.iter().map(|&candidate| cluster.task(candidate)).collect();
        let named = answer.named();
        if let Some(stranger) = named.iter().find(|victim| !items.iter().any(|it| is(victim, it))) {
            let Victim { uid, namespace, name } = stranger;
            round.note_trouble(&format!(
                "{} names pod {namespace}/{name} {uid:?} as a victim, of which it was not asked; \
                 that counts for nothing",
                self.who()
            ));
        }
        let goes = |item: &&TaskReadOnlyItem<'_, '_>| named.iter().any(|victim| is(victim, item));
        let victims: Vec<Entity> = items.iter().filter(goes).map(|item| item.entity).collect();
        if victims.len() < candidates.len() {
            round.hold_back();
        }
        Ballot::Only(victims)
    }
}

/// Is the candidate meant?
fn is(victim: &Victim, candidate: &TaskReadOnlyItem<'_, '_>) -> bool {
    let identity = candidate.identity;
    if victim.uid.is_empty() {
        let key = &identity.key;
        return *key.name == *victim.name && *key.namespace == *victim.namespace;
    }
    *identity.uid == *victim.uid
}

/// The task room is wanted for: of a job as a whole the first that waits.
fn evictor<'a>(cluster: &'a Cluster<'_, '_>, by: &Evictor) -> Option<TaskReadOnlyItem<'a, 'a>> {
    if let Some(task) = by.task {
        return Some(cluster.task(task));
    }
    let job = cluster.job(by.job);
    let members = job.members.0.iter().map(|&member| cluster.task(member));
    let waiting = members
        .filter(|task| matches!(task.status().0, TaskStatus::Pending | TaskStatus::Pipelined));
    waiting.min_by(|a, b| {
        let key =
            |task: &TaskReadOnlyItem<'_, '_>| (task.identity.index, task.identity.key.clone());
        key(a).cmp(&key(b))
    })
}
