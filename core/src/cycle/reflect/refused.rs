//! Why evictions did not help, added to what a job waits for.
//!
//! An evicting action may run before the one that says what is lacking, or after it; either way the
//! reason has what is lacking first, then what each evicting action found, in their order.

use std::collections::BTreeMap;

use bevy_ecs::entity::Entity;

use crate::place::Session;
use crate::verdict::{Reason, Verdict};

pub(super) fn join(session: &mut Session<'_, '_>) {
    let mut found: BTreeMap<Entity, Vec<String>> = BTreeMap::new();
    for (job, why) in std::mem::take(&mut session.refused.0) {
        found.entry(job).or_default().push(why);
    }
    for (job, why) in found {
        if let Some(verdict) = joined(session, job, &why.join("; ")) {
            session.judge(job, Some(verdict));
        }
    }
}

/// The verdict on a job for which no room could be made; `None` where another one says more.
fn joined(session: &Session<'_, '_>, job: Entity, why: &str) -> Option<Verdict> {
    let item = session.cluster.job(job);
    if session.policies.job_ready(&session.cluster, &item) || session.policies.job_pipelined(&item)
    {
        return None;
    }
    let message = match &item.verdict.0 {
        // Nobody said in this cycle what is lacking.
        None => why.to_owned(),
        Some(verdict) if verdict.reason == Reason::NoLegalVictims => why.to_owned(),
        Some(verdict) => match verdict.reason {
            Reason::NotEnoughResources | Reason::TopologyUnsatisfied => {
                format!("{}; {why}", verdict.message)
            }
            _ => return None,
        },
    };
    Some(Verdict::new(Reason::NoLegalVictims, message))
}
