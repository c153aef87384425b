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
            EvictPurpose::Preempt => Verb::Preemptable,
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
        let named = match round.ask_one::<Victims>(self.way(), verb, body) {
            Ok(answer) if answer.status == 0 => return Ballot::Abstain,
            Ok(answer) => answer,
            Err(_) if !self.refuses() => return Ballot::Abstain,
            Err(_) => {
                round.hold_back();
                return Ballot::Only(Vec::new());
            }
        };
        let is = |victim: &Victim, candidate: &TaskReadOnlyItem<'_, '_>| {
            let identity = candidate.identity;
            let by_name =
                *identity.key.name == *victim.name && *identity.key.namespace == *victim.namespace;
            if victim.uid.is_empty() { by_name } else { *identity.uid == *victim.uid }
        };
        let items: Vec<_> = candidates.iter().map(|&candidate| cluster.task(candidate)).collect();
        let stranger =
            named.named().iter().find(|victim| !items.iter().any(|item| is(victim, item)));
        if let Some(Victim { uid, namespace, name }) = stranger {
            round.note_trouble(&format!(
                "{} names pod {namespace}/{name} {uid:?} as a victim, of which it was not asked; \
                 that counts for nothing",
                self.who()
            ));
        }
        let goes =
            |item: &TaskReadOnlyItem<'_, '_>| named.named().iter().any(|victim| is(victim, item));
        let victims: Vec<Entity> =
            items.iter().filter(|item| goes(item)).map(|item| item.entity).collect();
        if victims.len() < candidates.len() {
            round.hold_back();
        }
        Ballot::Only(victims)
    }
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
