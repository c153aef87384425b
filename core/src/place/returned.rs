//! Jobs that made way for another one, and are back.
//!
//! Room that is left over is often enough for the less important of them alone. Were it to take that at
//! once, a more important one that needs a little more than is free would evict it again, and the pod
//! would start for nothing. So it waits until those have had their turn in an action that evicts: one
//! cycle. Whoever was not evicted waits for nobody, and nobody waits twice for the same turn.

use bevy_ecs::entity::Entity;

use super::session::Session;
use crate::policy::Evictions;
use crate::verdict::{Reason, Verdict};

/// Why such a job had no turn: another cycle will give it one, and comes at once.
pub(crate) const AFTER_OTHERS: &str = "it made way for another job, and more important jobs of its queue \
                                       that did so too look for room first";

/// Jobs that made way and have had no turn since in an action that evicts.
pub(crate) struct ReturnedJobs(Vec<Entity>);

impl ReturnedJobs {
    /// Those among the jobs to be served.
    pub(crate) fn among(session: &Session<'_, '_>, jobs: &[Entity]) -> Self {
        let unheard = |job: &Entity| session.cluster.job(*job).evictions.is_unheard();
        match session.settings.evictions {
            Evictions::Configured => Self(jobs.iter().copied().filter(unheard).collect()),
            Evictions::None => Self(Vec::new()),
        }
    }

    /// Does the job leave what is free to a more important one? Then its verdict says so.
    pub(crate) fn defers(&self, session: &mut Session<'_, '_>, job: Entity) -> bool {
        if !self.0.contains(&job) {
            return false;
        }
        let own = session.cluster.job(job).spec;
        let goes_first = |&other: &Entity| {
            let other = session.cluster.job(other);
            let more = other.spec.queue == own.queue && other.spec.priority > own.priority;
            more && other.counts().pending() > 0 && session.policies.job_starving(&other)
        };
        let defers = self.0.iter().any(goes_first);
        if defers {
            session.judge(job, Some(Verdict::new(Reason::SearchCut, AFTER_OTHERS)));
        }
        defers
    }

    /// The job had its turn; if it lacks nothing it needs any more, nobody waits for it.
    pub(crate) fn served(&self, session: &mut Session<'_, '_>, job: Entity) {
        if self.0.contains(&job) && !session.policies.job_starving(&session.cluster.job(job)) {
            session.cluster.job_mut(job).evictions.hear();
        }
    }
}
