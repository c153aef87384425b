//! What parameters set in a configuration that was read.

use muster_core::config::{
    ALLOW_CONSOLIDATING_KEY, ActionConfig, ArgumentKind, ArgumentValue, Dialect, DividingQueues,
    EvictionMode, FitErrors, MAX_PREEMPTEES_KEY, Pool, STALE_GRACE_KEY, View, WorkerLabels,
    argument,
};
use muster_core::policy::SchedulerConfig;

use super::{
    CPU_WORKER, EVICTION_CONDITION, FIT_ERRORS, GPU_WORKER, HIERARCHY, MAX_MOVED, MOVES_IN_RECLAIM,
    PERIOD, POOL_KEY, POOL_VALUE, Params, QUEUE_LABEL, RESTRICT, STALE_GRACE, STUCK_AFTER,
};
use crate::config::boolean;

/// Parameters that are an argument of an action: which action, and the key there.
const OF_ACTIONS: [(&str, &str, &str); 3] = [
    (STALE_GRACE, "stalegangeviction", STALE_GRACE_KEY),
    (MAX_MOVED, "consolidation", MAX_PREEMPTEES_KEY),
    (MOVES_IN_RECLAIM, "reclaim", ALLOW_CONSOLIDATING_KEY),
];

impl Params {
    /// Puts them into the configuration; what could not be, one sentence each.
    pub(in crate::config) fn apply(&self, config: &mut SchedulerConfig) -> Vec<String> {
        config.view = self.view();
        let tuning = &mut config.tuning;
        if let Some(ms) = self.ms(PERIOD).filter(|ms| *ms > 0) {
            tuning.period_ms = ms;
        }
        if self.switch(FIT_ERRORS) == Some(true) {
            tuning.fit_errors = FitErrors::PerNode;
        }
        let says_why = self.switch(EVICTION_CONDITION).unwrap_or(config.dialect != Dialect::Kai);
        if tuning.eviction == EvictionMode::Delete && !says_why {
            tuning.eviction = EvictionMode::BareDelete;
        }
        if let Some(ms) = self.ms(STUCK_AFTER).and_then(|ms| i64::try_from(ms).ok()) {
            config.pipeline.stuck_after_ms = Some(ms);
        }
        let given = OF_ACTIONS.iter().filter_map(|(name, action, key)| {
            let text = self.text(name)?;
            let why = set_argument(&mut config.actions, (action, key), text).err()?;
            Some(format!("{name} has no effect: {why}"))
        });
        given.collect()
    }

    fn view(&self) -> View {
        let divided = [POOL_KEY, POOL_VALUE].iter().any(|name| self.text(name).is_some());
        let pool = || Pool { key: self.label(POOL_KEY), value: self.label(POOL_VALUE) };
        let workers = || WorkerLabels { cpu: self.label(CPU_WORKER), gpu: self.label(GPU_WORKER) };
        View {
            pool: divided.then(pool),
            workers: (self.switch(RESTRICT) == Some(true)).then(workers),
            queue_label: self.text(QUEUE_LABEL).map(Into::into),
            hierarchy: match self.switch(HIERARCHY) {
                Some(false) => DividingQueues::Flat,
                _ => DividingQueues::Full,
            },
        }
    }
}

fn set_argument(
    actions: &mut [ActionConfig],
    (name, key): (&str, &str),
    text: &str,
) -> Result<(), String> {
    let Some(action) = actions.iter_mut().find(|action| action.spec.name == name) else {
        return Err(format!("{name} is not among the actions"));
    };
    let Some(spec) = argument(action.spec.arguments, key) else {
        return Err(format!("{name} does not do that in this version"));
    };
    let value = match spec.kind {
        ArgumentKind::Bool => boolean::parse(text).map(ArgumentValue::Bool),
        kind @ (ArgumentKind::Int | ArgumentKind::IntFrom(_)) => {
            let number = text.parse().ok().filter(|number| kind.admits_int(*number));
            number.map(ArgumentValue::Int)
        }
        _ => Some(ArgumentValue::Text(text.to_owned())),
    };
    let value = value.ok_or_else(|| format!("{text:?} is no value of {key} of {name}"))?;
    let given = &mut action.arguments.0;
    given.retain(|(other, _)| other != key);
    given.push((key.to_owned(), value));
    given.sort_by(|left, right| left.0.cmp(&right.0));
    Ok(())
}
