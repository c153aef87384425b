//! Calls that are said and not made: what the scheduler would do to a cluster another one schedules.

use tracing::{debug, info};

use super::{Act, ActKind, Call, Report};

/// Logs every call of a cycle.
pub(crate) fn say(calls: &[Call]) {
    for call in calls {
        match call {
            Call::Act(act) => say_act(act),
            Call::Report(report) => say_report(report),
        }
    }
}

fn say_act(Act { pod, kind }: &Act) {
    match kind {
        ActKind::Bind { node, ruling, claims } => {
            let (job, action, claims) = (&ruling.job, ruling.action, claims.len());
            info!(%pod, %node, %job, action, claims, "would bind");
        }
        ActKind::Evict { ruling } => {
            let (job, action) = (&ruling.job, ruling.action);
            let makes_room_for = ruling.beneficiary.as_ref().map(ToString::to_string);
            let reason = ruling.reason.as_deref();
            info!(%pod, %job, action, makes_room_for, reason, "would evict");
        }
        ActKind::Nominate(Some(node)) => info!(%pod, %node, "would hold room"),
        ActKind::Nominate(None) => info!(%pod, "would give up the room held for it"),
        // The same in other words.
        ActKind::Annotate(_) | ActKind::Held { .. } => {}
    }
}

fn say_report(report: &Report) {
    match report {
        Report::Wait { pod, job, wait } => {
            // While a gang is being created its pods have another reason with each of them.
            debug!(%pod, %job, reason = wait.message, "would say why it waits");
        }
        Report::Group { group, phase, .. } => {
            debug!(%group, ?phase, "would write the status of the PodGroup");
        }
        Report::Past { group, .. } => debug!(%group, "would write the past of the PodGroup"),
        Report::GangWait { group, wait } => {
            debug!(%group, reason = wait.message, "would say why the PodGroup waits");
        }
        Report::Shard { shard, .. } => debug!(%shard, "would write the status of the shard"),
        Report::Queue { queue, .. } => debug!(%queue, "would write the status of the queue"),
    }
}
