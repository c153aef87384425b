//! Room from evictions: who could go, in which units, in which order, and how few are enough.
//!
//! One search serves one job in one place ([`sites`]): candidates ([`herd`]) are bundled into units
//! that go together ([`bundle`]), put into order ([`market`]), judged by the policies and taken until
//! the job's minimum can be placed ([`clear`]); what turned out not to be needed is given back
//! ([`reprieve`]). Everything happens on a Statement, and nothing leaves it but a whole gang's
//! reservations together with the evictions that make them good.
//!
//! [`gang`] serves a whole gang in one decision, [`per_task`] a task at a time, as Volcano does.

mod raid;
mod need;
mod herd;
mod bundle;
mod market;
mod fairness;
mod sites;
mod view;
mod clear;
mod reprieve;
mod gang;
mod prey;
mod per_task;
mod refusal;

pub(crate) use raid::Raid;

use bevy_ecs::entity::Entity;

use crate::cycle::drive::{Entitled, Scene, drive};
use crate::delta::PreemptionPolicy;
use crate::policy::EvictPurpose;

use herd::Herd;
use raid::Style;
use refusal::Denied;

/// Serves every job that lacks its minimum and could take room from others.
pub(crate) fn run(scene: &mut Scene<'_, '_>, raid: &Raid, waiting: Vec<Entity>) {
    let starving: Vec<Entity> =
        waiting.into_iter().filter(|&job| may_evict(scene, raid, job)).collect();
    if starving.is_empty() {
        return;
    }
    let mut herd = Herd::new(scene);
    let entitled = match raid.purpose {
        EvictPurpose::Preempt => Entitled::All,
        EvictPurpose::Reclaim => Entitled::BelowDue,
    };
    drive(scene, entitled, [starving], |scene, job, _| match raid.style {
        Style::Gang => gang::serve(scene, raid, &mut herd, job),
        Style::Task => per_task::serve(scene, raid, &mut herd, job),
    });
}

/// Does the job lack what it needs to run, and do its pods let others make way for them?
fn may_evict(scene: &mut Scene<'_, '_>, raid: &Raid, job: Entity) -> bool {
    let item = scene.cluster.job(job);
    if item.counts.pending() == 0 || !scene.policies.job_starving(&item) {
        return false;
    }
    let mut members = item.members.0.iter().map(|&task| scene.cluster.task(task));
    let waits = members
        .any(|task| task.traits.preempts == PreemptionPolicy::Never && task.status().1.is_none());
    if waits {
        refusal::deny(scene, raid, job, Denied::Never);
    }
    !waits
}
