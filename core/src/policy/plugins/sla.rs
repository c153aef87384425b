//! `sla`: a job that has waited as long as it may is admitted and may hold what it gets.
//!
//! Promise: of two jobs the one whose waiting time ends first is served first, those without a limit
//! last. Once it has ended the job is admitted and may hold reservations, unless a plugin of the same
//! tier or an earlier one objects: to overrule others, `sla` stands in a tier above them.
//!
//! The limit of jobs that name none themselves is an argument. A PodGroup names its own in the
//! annotation `volcano.sh/sla-waiting-time`, else `sla-waiting-time`.

use crate::config::{ArgumentKind, arg};
use crate::ids::TimeMs;
use crate::policy::{
    AdmissionContext, Admittance, Build, DeadlinePlugin, JobEnqueueablePlugin, JobOrderPlugin,
    JobPipelinedPlugin, Plugin, PluginSpec, Setup, Vote, Words, plugin,
};
use crate::world::{Cluster, JobReadOnlyItem};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    arguments: &[arg(
        "sla-waiting-time",
        ArgumentKind::Duration,
        "",
        "longest wait of jobs that do not name their own",
    )],
    words: Words { job_order: Some("nearest end of its waiting time"), ..Words::NONE },
    ..PluginSpec::of::<Sla>(
        "sla",
        "a job that has waited longer than its limit is admitted and served first",
    )
};

/// The plugin.
pub(in crate::policy) struct Sla {
    /// The limit of jobs that name none.
    default_ms: Option<i64>,
}

impl Sla {
    fn end(&self, created: TimeMs, own_ms: Option<i64>) -> Option<TimeMs> {
        own_ms.or(self.default_ms).map(|limit| TimeMs(created.0.saturating_add(limit)))
    }
}

plugin!(Sla);

impl Plugin for Sla {}

impl Build for Sla {
    fn build(setup: &mut Setup<'_>) -> Self {
        Self { default_ms: setup.arguments.duration_ms("sla-waiting-time").filter(|&ms| ms > 0) }
    }
}

impl JobOrderPlugin for Sla {
    fn job_order(&self, _cluster: &Cluster<'_, '_>, job: &JobReadOnlyItem<'_, '_>) -> i64 {
        self.deadline(job).map_or(i64::MAX, |end| end.0)
    }
}

impl DeadlinePlugin for Sla {
    fn deadline(&self, job: &JobReadOnlyItem<'_, '_>) -> Option<TimeMs> {
        self.end(job.identity.created, job.spec.wait_ms)
    }
}

impl JobEnqueueablePlugin for Sla {
    fn job_enqueueable(
        &self,
        _cluster: &Cluster<'_, '_>,
        _desk: &AdmissionContext<'_>,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Admittance {
        if job.overdue.0 { Admittance::Permit } else { Admittance::Abstain }
    }
}

impl JobPipelinedPlugin for Sla {
    fn job_pipelined(&self, job: &JobReadOnlyItem<'_, '_>) -> Vote {
        if job.overdue.0 { Vote::Permit } else { Vote::Abstain }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ArgumentValue;
    use crate::policy::testing::build;

    fn plugin(text: Option<&str>) -> Sla {
        let given = text.map(|text| ("sla-waiting-time", ArgumentValue::Text(text.into())));
        build(&SPEC, given)
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
