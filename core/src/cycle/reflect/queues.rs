//! What each queue uses and is due, told when it changes.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use crate::ids::Name;
use crate::inspect::view_queue;
use crate::intent::Intent;
use crate::place::Session;
use crate::resource::{Limits, ResourceList, ResourceVec};
use crate::status::{QueueReport, QueueState};
use crate::world::QueueReadOnlyItem;

/// What was last told of each queue, and the columns it was made from: comparing those costs no
/// memory. A restart forgets it and tells every queue once.
#[derive(Debug, Default, Resource)]
pub(crate) struct ReportedQueues(HashMap<Entity, Told, FxBuildHasher>);

#[derive(Debug)]
struct Told {
    uid: Name,
    state: QueueState,
    allocated: ResourceVec,
    computed: Option<Limits>,
    given: Option<ResourceList>,
    report: QueueReport,
}

impl Told {
    fn of(queue: &QueueReadOnlyItem<'_, '_>, report: QueueReport) -> Self {
        Self {
            uid: queue.identity.uid.clone(),
            state: queue.spec.state,
            allocated: queue.usage().allocated.clone(),
            computed: queue.deserved.0.clone(),
            given: queue.spec.deserved.clone(),
            report,
        }
    }

    fn still_holds(&self, queue: &QueueReadOnlyItem<'_, '_>) -> bool {
        self.uid == queue.identity.uid
            && self.state == queue.spec.state
            && self.allocated == queue.usage().allocated
            && self.computed == queue.deserved.0
            && self.given == queue.spec.deserved
    }
}

pub(super) fn reflect(session: &mut Session<'_, '_>, told: &mut ReportedQueues) {
    let mut news = Vec::new();
    let mut there = 0;
    // The status of KAI's queues is written by others.
    let ours = |queue: &QueueReadOnlyItem<'_, '_>| {
        queue.identity.present && queue.spec.over_quota.is_none()
    };
    for queue in session.cluster.queues.iter().filter(ours) {
        there += 1;
        if told.0.get(&queue.entity).is_some_and(|told| told.still_holds(&queue)) {
            continue;
        }
        let report = view_queue(&queue, &session.names.0, session.cluster.capacity()).report();
        let before = told.0.insert(queue.entity, Told::of(&queue, report.clone()));
        // The columns may differ where the report does not: a due of zero and no due at all read alike.
        let same = |told: &Told| told.uid == queue.identity.uid && told.report == report;
        if !before.as_ref().is_some_and(same) {
            news.push((queue.identity.name.clone(), report));
        }
    }
    if told.0.len() > there {
        let queues = &session.cluster.queues;
        told.0.retain(|&queue, _| queues.get(queue).is_ok_and(|queue| queue.identity.present));
    }
    news.sort_by(|a, b| a.0.cmp(&b.0));
    let intents = news
        .into_iter()
        .map(|(queue, report)| Intent::QueueStatus { queue, report: report.into() });
    session.outcome.0.intents.extend(intents);
}
