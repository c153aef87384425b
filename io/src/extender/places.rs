//! Places that are taken and left, told one by one in the order in which that was decided.
//!
//! Volcano tells its extender of every trial and takes most of them back; here it hears of what is
//! decided. A pod the server refuses keeps its whole job from being placed in this cycle.

use muster_core::policy::{Entity, PlacementPlugin};
use muster_core::verdict::{Reason, Verdict};
use muster_core::world::Cluster;
use serde_json::json;

use super::Extender;
use super::answer::Event;
use super::nodes::shown;
use super::payload;
use super::round::Round;
use super::settings::Verb;

impl PlacementPlugin for Extender {
    fn left(&self, cluster: &Cluster<'_, '_>, tasks: &[(Entity, Entity)]) {
        self.tell_left(&self.round(), cluster, tasks);
    }

    fn placed(&self, cluster: &Cluster<'_, '_>, tasks: &[(Entity, Entity)]) -> Result<(), Verdict> {
        let round = self.round();
        if !self.settings.has(Verb::Allocate) {
            return Ok(());
        }
        for (at, &(task, node)) in tasks.iter().enumerate() {
            let told = self.tell_of(&round, cluster, Verb::Allocate, (task, node));
            let why = match told {
                None | Some(Ok(None)) => continue,
                Some(Err(_)) if !self.refuses() => continue,
                Some(Ok(Some(objection))) => shown(&objection),
                Some(Err(why)) => why,
            };
            self.tell_left(&round, cluster, &tasks[..at]);
            round.hold_back();
            let pod = &cluster.task(task).identity.key;
            let node = &cluster.node(node).identity.name;
            let message =
                format!("{} does not agree to pod {pod} on node {node}: {why}", self.who());
            return Err(Verdict::new(Reason::Refused, message));
        }
        Ok(())
    }
}

impl Extender {
    fn tell_left(&self, round: &Round, cluster: &Cluster<'_, '_>, tasks: &[(Entity, Entity)]) {
        if self.settings.has(Verb::Deallocate) {
            for &place in tasks {
                // They leave, whatever is said to that; a failure is counted.
                let _heard = self.tell_of(round, cluster, Verb::Deallocate, place);
            }
        }
    }

    /// Tells of a task and its place; none where the server is not asked about such tasks.
    fn tell_of(
        &self,
        round: &Round,
        cluster: &Cluster<'_, '_>,
        verb: Verb,
        (task, node): (Entity, Entity),
    ) -> Option<Result<Option<String>, String>> {
        let item = cluster.task(task);
        if !self.minds(&round.names, &item.request.amounts) {
            return None;
        }
        let mut told = payload::task(cluster, &round.names, &item);
        told["NodeName"] = json!(&*cluster.node(node).identity.name);
        let body = json!({"task": told}).to_string();
        let answer = round.tell::<Event>(self.way(), verb, body);
        Some(answer.map(Event::objection))
    }
}
