//! Everything an action reads and writes, with the settings and the clock it goes by.

use std::sync::Arc;

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{Res, ResMut, Resource};
use bevy_ecs::system::SystemParam;

use crate::class::Classes;
use crate::config::{ActionKind, Tuning};
use crate::ids::TimeMs;
use crate::intent::CycleOutcome;
use crate::policy::{Evictions, Policies, SchedulerConfig};
use crate::ranking::{Ranking, Rankings, Rules};
use crate::statement::Statement;
use crate::verdict::Verdict;
use crate::world::{
    ClassId, Cluster, ClusterFacts, JobVerdict, LastTransaction, Names, Quotas, SetAside, Symbols,
};

/// Everything an action reads and writes.
#[derive(SystemParam)]
pub(crate) struct Session<'w, 's> {
    pub(crate) cluster: Cluster<'w, 's>,
    pub(crate) policies: Res<'w, Policies>,
    pub(crate) classes: Res<'w, Classes>,
    pub(crate) symbols: Res<'w, Symbols>,
    pub(crate) names: Res<'w, Names>,
    pub(crate) settings: Res<'w, Settings>,
    pub(crate) now: Res<'w, Now>,
    pub(crate) aside: Res<'w, SetAside>,
    pub(crate) quotas: ResMut<'w, Quotas>,
    pub(crate) rankings: ResMut<'w, Rankings>,
    pub(crate) outcome: ResMut<'w, Outcome>,
    pub(crate) alarm: ResMut<'w, Alarm>,
    pub(crate) refused: ResMut<'w, Refused>,
}

/// What evicting actions found for jobs they could not help in this cycle: name of the action and why,
/// in their order. Which comes first, such an action or the one that finds out what is lacking, is the
/// configuration's matter; a reason has both.
#[derive(Clone, Debug, Default, Resource)]
pub(crate) struct Refused(pub(crate) Vec<(Entity, String)>);

/// When somebody who is spared for the time being may be looked at again.
#[derive(Clone, Copy, Debug, Default, Resource)]
pub(crate) struct Alarm(pub(crate) Option<TimeMs>);

impl Session<'_, '_> {
    /// How the nodes look to a class of tasks right now.
    pub(crate) fn ranking(&mut self, class: ClassId) -> &Ranking {
        let rules = Rules {
            classes: &self.classes,
            policies: &self.policies,
            symbols: &self.symbols,
            tuning: &self.settings.tuning,
            cluster_facts: ClusterFacts {
                domains: self.cluster.domain_view(),
                volumes: &self.cluster.volumes,
                groups: &self.cluster.groups,
                lending: &self.cluster.lending,
                images: &self.cluster.images,
                names: &self.names.0,
            },
        };
        self.rankings.of(class, self.cluster.columns(), &self.cluster.log, rules)
    }

    /// Drops what an earlier attempt had in mind for the job's tasks: reports speak of the last one.
    pub(crate) fn forget_attempt(&mut self, job: Entity) {
        let Cluster { jobs, tasks, .. } = &mut self.cluster;
        let Ok(item) = jobs.get(job) else { return };
        for &task in &item.members.0 {
            if let Ok(mut task) = tasks.get_mut(task)
                && task.cold.last.0.is_some()
            {
                task.cold.last = LastTransaction(None);
            }
        }
    }

    /// Asks for a cycle at that time, even if nothing happens.
    pub(crate) fn wake_at(&mut self, time: Option<TimeMs>) {
        self.alarm.0 = match (self.alarm.0, time) {
            (Some(first), Some(time)) => Some(first.min(time)),
            (alarm, time) => alarm.or(time),
        };
    }

    /// Makes a transaction so, unless a plugin objects to places it takes: then it is undone.
    pub(crate) fn conclude(&mut self, statement: Statement) -> Result<(), Verdict> {
        statement.conclude(&mut self.cluster, &self.policies, &mut self.outcome.0)
    }

    /// Writes why a job waits, if that is news.
    pub(crate) fn judge(&mut self, job: Entity, verdict: Option<Verdict>) {
        let mut item = self.cluster.job_mut(job);
        if item.verdict.0 != verdict {
            *item.verdict = JobVerdict(verdict);
        }
    }
}

/// The time of the cycle, given from outside.
#[derive(Clone, Copy, Debug, Default, Resource)]
pub(crate) struct Now(pub(crate) TimeMs);

/// What the cycle has decided so far.
#[derive(Debug, Default, Resource)]
pub(crate) struct Outcome(pub(crate) CycleOutcome);

/// Which parts of the configuration the actions read.
#[derive(Clone, Debug, Resource)]
pub(crate) struct Settings {
    pub(crate) tuning: Tuning,
    /// Without the `enqueue` action jobs are admitted as they come.
    pub(crate) admission: Admission,
    /// Whether room may come from evictions.
    pub(crate) evictions: Evictions,
    /// Measures the actions' time budget; without one no budget is kept.
    pub(crate) stopwatch: Option<Stopwatch>,
}

/// Microseconds since some start, given from outside.
#[derive(Clone)]
pub(crate) struct Stopwatch(pub(crate) Arc<dyn Fn() -> u64 + Send + Sync>);

impl std::fmt::Debug for Stopwatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Stopwatch")
    }
}

impl Settings {
    pub(crate) fn new(config: &SchedulerConfig) -> Self {
        let mut kinds = config.actions.iter().map(|action| action.spec.kind);
        let enqueues = kinds.clone().any(|kind| kind == ActionKind::Enqueue);
        let admission = if enqueues { Admission::Enqueue } else { Admission::Implicit };
        let evicts = kinds.any(|kind| matches!(kind, ActionKind::Evict(..)));
        let evictions = if evicts { Evictions::Configured } else { Evictions::None };
        Self { tuning: config.tuning.clone(), admission, evictions, stopwatch: None }
    }

    /// When an action that starts now must end, and the watch to see it by.
    pub(crate) fn deadline(&self) -> Option<Deadline> {
        let stopwatch = self.stopwatch.clone()?;
        let end = (stopwatch.0)() + self.tuning.action_budget_ms? * 1000;
        Some(Deadline { stopwatch, end })
    }
}

/// The end of an action's time.
pub(crate) struct Deadline {
    stopwatch: Stopwatch,
    end: u64,
}

impl Deadline {
    /// Is the time over?
    pub(crate) fn is_over(&self) -> bool {
        (self.stopwatch.0)() >= self.end
    }
}

/// How jobs are admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// By the `enqueue` action.
    Enqueue,
    /// By whichever action meets them first.
    Implicit,
}
