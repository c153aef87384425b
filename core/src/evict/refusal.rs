//! Why nobody makes way: which rule protected how many.

use bevy_ecs::entity::Entity;

use crate::cycle::drive::Scene;
use crate::policy::EvictPurpose;
use crate::verdict::{Reason, Verdict};

use super::raid::Raid;

/// Pods that were looked at and spared, by rule.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Refusals {
    /// Of jobs that are as important.
    pub(super) equals: u32,
    /// Of queues that give nothing back.
    pub(super) locked_queues: u32,
    /// Marked not preemptable.
    pub(super) locked: u32,
    /// Running too short a time.
    pub(super) young: u32,
    /// Of jobs that were evicted often enough.
    pub(super) worn: u32,
    /// The queue may not take anything back.
    pub(super) unentitled: bool,
    /// Would there be room if all others left?
    pub(super) hopeful: bool,
}

/// Says why the action found nobody.
pub(super) fn explain(scene: &mut Scene<'_, '_>, raid: &Raid, job: Entity, refusals: &Refusals) {
    let why = text(raid, refusals);
    tell(scene, raid, job, &why);
}

fn text(raid: &Raid, refusals: &Refusals) -> String {
    if refusals.unentitled {
        return "its queue would have more than its due".to_owned();
    }
    let counted = [
        (refusals.equals, "of the same or higher priority"),
        (refusals.locked_queues, "of queues that are not reclaimable"),
        (refusals.locked, "not preemptable"),
        (refusals.young, "running for too short a time"),
        (refusals.worn, "of jobs evicted often enough"),
    ];
    let counted: Vec<String> = counted
        .into_iter()
        .filter(|&(pods, _)| pods > 0)
        .map(|(pods, rule)| format!("{pods} pods {rule}"))
        .collect();
    let rest = match (refusals.hopeful, raid.purpose) {
        (false, _) => "those that might go would not make enough room",
        (true, EvictPurpose::Preempt) => "the rules spare too many of the others",
        (true, EvictPurpose::Reclaim) => "other queues have too little beyond their due",
    };
    if counted.is_empty() {
        rest.to_owned()
    } else {
        format!("spared {}; {rest}", counted.join(", "))
    }
}

/// Adds what an evicting action found to what the job waits for, where room is what it waits for.
pub(super) fn tell(scene: &mut Scene<'_, '_>, raid: &Raid, job: Entity, why: &str) {
    let Some(verdict) = scene.cluster.job(job).verdict.0.clone() else { return };
    let about_room = matches!(
        verdict.reason,
        Reason::NotEnoughResources | Reason::TopologyUnsatisfied | Reason::NoLegalVictims
    );
    if about_room {
        let message = format!("{}; {}: {why}", verdict.message, raid.action);
        scene.judge(job, Some(Verdict::new(Reason::NoLegalVictims, message)));
    }
}
