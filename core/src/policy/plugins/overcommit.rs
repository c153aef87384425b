//! `overcommit`: admits jobs up to the cluster's size times a factor.
//!
//! Promise: what runs and what admitted jobs were promised together stay below the cluster's size
//! times the factor, so that a few jobs wait ready and the rest do not crowd the cluster with pods.
//! A job that names no `minResources` is no matter of this plugin. Where pods may be evicted, what the
//! job's queue is due and others have borrowed counts as room: otherwise a full cluster would keep the
//! job from ever asking for it back.

use crate::config::{ArgumentKind, arg};
use crate::policy::queues::reclaimable;
use crate::policy::{
    AdmissionContext, Admittance, Build, Evictions, JobEnqueueablePlugin, Plugin, PluginSpec,
    Setup, Words, plugin,
};
use crate::resource::{Dim, ResourceVec};
use crate::verdict::{Reason, Verdict};
use crate::world::{Cluster, JobReadOnlyItem, QueueReadOnlyItem, lacking};

/// What is known of the plugin.
pub(super) const SPEC: PluginSpec = PluginSpec {
    arguments: &[arg(
        "overcommit-factor",
        ArgumentKind::FloatFrom(1),
        "1.2",
        "how many times the cluster's size may be admitted",
    )],
    words: Words {
        admits: Some("all admitted jobs together fit the cluster times its factor"),
        ..Words::NONE
    },
    ..PluginSpec::of::<Overcommit>(
        "overcommit",
        "admits jobs up to the cluster's size times a factor, so that a few wait ready",
    )
};

/// The plugin.
pub(in crate::policy) struct Overcommit {
    /// The factor in thousandths.
    factor_milli: i64,
}

impl Overcommit {
    /// So much of a resource may be admitted in all.
    fn limit(&self, total: i64) -> i64 {
        let limit = i128::from(total) * i128::from(self.factor_milli) / 1000;
        i64::try_from(limit).unwrap_or(i64::MAX)
    }
}

plugin!(Overcommit);

impl Plugin for Overcommit {}

impl Build for Overcommit {
    fn build(setup: &mut Setup<'_>) -> Self {
        // Read once; every decision is made in integers.
        let factor = setup.arguments.float("overcommit-factor");
        Self { factor_milli: (factor * 1000.0).round() as i64 }
    }
}

impl JobEnqueueablePlugin for Overcommit {
    fn job_enqueueable(
        &self,
        cluster: &Cluster<'_, '_>,
        context: &AdmissionContext<'_>,
        job: &JobReadOnlyItem<'_, '_>,
    ) -> Admittance {
        if job.spec.min_resources.is_none() {
            return Admittance::Abstain;
        }
        let asked = lacking(job.spec, job.held());
        let root = root(cluster, job);
        let promised = &root.usage().inqueue;
        let over = |asked: &ResourceVec, spare: &ResourceVec| {
            let asked = asked.iter().filter(|&(dim, asked)| asked > 0 && dim != Dim::PODS);
            let beyond = asked.filter(|&(dim, asked)| {
                let used = cluster.used().get(dim).saturating_add(promised.get(dim));
                let most = self.limit(cluster.capacity().get(dim)).saturating_add(spare.get(dim));
                used.saturating_add(asked) > most
            });
            beyond.min_by(|a, b| context.names.name(a.0).cmp(context.names.name(b.0)))
        };
        if over(&asked, &ResourceVec::default()).is_none() {
            return Admittance::Permit;
        }
        let spare = match context.evictions {
            Evictions::Configured => reclaimable(cluster, job.spec.queue, None),
            Evictions::None => ResourceVec::default(),
        };
        let Some((dim, asked)) = over(&asked, &spare) else { return Admittance::Permit };
        let show = |amount: i64| context.names.display(dim, amount);
        let message = format!(
            "overcommit admits {} {}, {}.{:03} times what the cluster has: {} used, {} promised to \
             admitted jobs, {} asked",
            context.names.name(dim),
            show(self.limit(cluster.capacity().get(dim))),
            self.factor_milli / 1000,
            self.factor_milli % 1000,
            show(cluster.used().get(dim)),
            show(promised.get(dim)),
            show(asked)
        );
        Admittance::Reject(Verdict::new(Reason::NotAdmitted, message))
    }
}

/// The queue all jobs are below.
fn root<'a>(
    cluster: &'a Cluster<'_, '_>,
    job: &JobReadOnlyItem<'_, '_>,
) -> QueueReadOnlyItem<'a, 'a> {
    let mut at = job.spec.queue;
    while let Some(parent) = cluster.queue(at).spec.parent {
        at = parent;
    }
    cluster.queue(at)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::ArgumentValue;
    use crate::policy::testing::build;

    fn plugin(factor: Option<f64>) -> Overcommit {
        let given = factor.map(|factor| ("overcommit-factor", ArgumentValue::Float(factor)));
        build(&SPEC, given)
    }

    #[test]
    fn the_factor_is_at_least_one_and_exact_to_a_thousandth() {
        assert_eq!(plugin(None).limit(10_000), 12_000);
        assert_eq!(plugin(Some(1.0)).limit(10_000), 10_000);
        assert_eq!(plugin(Some(0.5)).limit(10_000), 12_000);
        assert_eq!(plugin(Some(1.123)).limit(10_000), 11_230);
        assert_eq!(plugin(Some(3.0)).limit(i64::MAX), i64::MAX);
    }
}
