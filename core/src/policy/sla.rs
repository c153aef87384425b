//! `sla`: a job that has waited as long as it may is admitted and may hold what it gets.
//!
//! Promise: of two jobs the one whose waiting time ends first is served first, those without a limit
//! last. Once it has ended the job is admitted and may hold reservations, unless a plugin of the same
//! tier or an earlier one objects: to overrule others, `sla` stands in a tier above them.
//!
//! Arguments: `sla-waiting-time` (none), the limit of jobs that name none themselves. A PodGroup names
//! its own in the annotation `volcano.sh/sla-waiting-time`, else `sla-waiting-time`.

use super::{Admittance, Desk, Point, Policy, Vote};
use crate::config::Arguments;
use crate::ids::TimeMs;
use crate::world::{Cluster, JobReadOnlyItem};

/// The plugin.
pub(super) struct Sla {
    /// The limit of jobs that name none.
    default_ms: Option<i64>,
}

impl Sla {
    pub(super) fn new(arguments: &Arguments) -> Self {
        Self { default_ms: arguments.duration_ms("sla-waiting-time").filter(|&ms| ms > 0) }
    }

    fn end(&self, created: TimeMs, own_ms: Option<i64>) -> Option<TimeMs> {
        own_ms.or(self.default_ms).map(|limit| TimeMs(created.0.saturating_add(limit)))
    }
}

impl Policy for Sla {
    fn name(&self) -> &'static str {
        "sla"
    }

    fn points(&self) -> &'static [Point] {
        &[Point::JobOrder, Point::JobEnqueueable, Point::JobPipelined, Point::Deadline]
    }

    fn job_order(&self, _cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> i64 {
        self.deadline(job).map_or(i64::MAX, |end| end.0)
    }

    fn deadline(&self, job: &JobReadOnlyItem<'_, '_>) -> Option<TimeMs> {
        self.end(job.identity.created, job.spec.wait_ms)
    }

    fn job_enqueueable(
        &self,
        _cluster: &Cluster<'_, '_>,
        _desk: &Desk<'_>,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Admittance {
        if job.overdue.0 { Admittance::Permit } else { Admittance::Abstain }
    }

    fn job_pipelined(&self, job: &JobReadOnlyItem<'_, '_>) -> Vote {
        if job.overdue.0 { Vote::Permit } else { Vote::Abstain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ArgumentValue;

    fn plugin(text: Option<&str>) -> Sla {
        let given = text.map(|text| ("sla-waiting-time".into(), ArgumentValue::Text(text.into())));
        Sla::new(&Arguments(given.into_iter().collect()))
    }

    #[test]
    fn the_jobs_own_limit_goes_before_the_configured_one() {
        let cases = [
            (None, None, None),
            (Some("1m"), None, Some(61_000)),
            (Some("1m"), Some(5_000), Some(6_000)),
            (None, Some(5_000), Some(6_000)),
            (Some("0"), None, None),
        ];
        for (configured, own, end) in cases {
            assert_eq!(plugin(configured).end(TimeMs(1_000), own), end.map(TimeMs));
        }
    }
}
