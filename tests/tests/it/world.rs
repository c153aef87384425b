//! What a scheduler knows depends on what it was told, not on the order or the detours.

use muster_core::delta::{ClusterDelta, GroupPhase};
use muster_core::ids::TimeMs;
use muster_core::scheduler::Scheduler;
use muster_tests::policy::{cases, listening, scheduler};
use muster_tests::shape::{any_histories, any_objects};
use proptest::collection::vec;
use proptest::prelude::*;

/// All that can be asked of a scheduler, as one text. Why something waits is the word of an action,
/// and the phase Unknown, which stands where Running or Pending would, and the conditions rest on it;
/// without actions none of it is knowledge.
fn knowledge(scheduler: &mut Scheduler) -> String {
    let (mut pods, mut jobs) = (scheduler.pods(), scheduler.jobs());
    for pod in &mut pods {
        (pod.reason, pod.message, pod.unscheduled) = (None, None, None);
    }
    for job in &mut jobs {
        (job.phase, job.reason, job.message) = (GroupPhase::Pending, None, None);
        job.conditions.clear();
    }
    let mut known = scheduler.fingerprint();
    for phase in [" Unknown [", " Running ["] {
        known = known.replace(phase, " Pending [");
    }
    let (queues, aside) = (scheduler.queues(), scheduler.set_aside());
    format!("{known}\n{pods:#?}\n{jobs:#?}\n{queues:#?}\n{aside:#?}")
}

/// What a scheduler knows after the batches, one cycle each; nothing is ever decided.
fn told(batches: impl IntoIterator<Item = Vec<ClusterDelta>>) -> Result<String, TestCaseError> {
    let mut scheduler = scheduler(&listening());
    for (at, batch) in batches.into_iter().enumerate() {
        scheduler.feed(batch);
        let outcome = scheduler.run_cycle(TimeMs(at as i64 * 1000));
        prop_assert!(outcome.decisions.is_empty());
        prop_assert_eq!(scheduler.audit(), Vec::<String>::new());
    }
    Ok(knowledge(&mut scheduler))
}

/// Fails with the lines two texts do not share.
fn same(have: &str, want: &str) -> Result<(), TestCaseError> {
    let only = |a: &str, b: &str| -> Vec<String> {
        a.lines().filter(|line| !b.lines().any(|other| other == *line)).map(Into::into).collect()
    };
    prop_assert!(have == want, "has {:#?}\nwants {:#?}", only(have, want), only(want, have));
    Ok(())
}

/// Cuts a list where the marks say.
fn cut(deltas: Vec<ClusterDelta>, cuts: &[bool]) -> Vec<Vec<ClusterDelta>> {
    let mut batches = vec![Vec::new()];
    for (at, delta) in deltas.into_iter().enumerate() {
        if cuts[at % cuts.len()] && batches.last().is_some_and(|batch| !batch.is_empty()) {
            batches.push(Vec::new());
        }
        batches.last_mut().expect("there is always one").push(delta);
    }
    batches
}

/// Objects in an order of their own each time, beside the order they were made in.
fn shuffled_objects() -> impl Strategy<Value = (Vec<ClusterDelta>, Vec<ClusterDelta>)> {
    any_objects().prop_flat_map(|objects| {
        let shuffled = Just(objects.clone()).prop_shuffle();
        (Just(objects), shuffled)
    })
}

/// Histories merged: each in its own order, among each other at random.
fn merge(histories: &[Vec<ClusterDelta>], picks: &[prop::sample::Index]) -> Vec<ClusterDelta> {
    let mut rest: Vec<_> = histories.iter().map(|history| history.iter()).collect();
    let mut merged = Vec::new();
    for pick in picks.iter().cycle() {
        rest.retain(|history| history.len() > 0);
        if rest.is_empty() {
            break;
        }
        let at = pick.index(rest.len());
        merged.extend(rest[at].next().cloned());
    }
    merged
}

fn is_gone(delta: &ClusterDelta) -> bool {
    matches!(delta, ClusterDelta::Gone(_))
}

fn any_cuts() -> impl Strategy<Value = Vec<bool>> {
    vec(prop::bool::weighted(0.3), 1..40)
}

proptest! {
    #![proptest_config(cases(200))]

    #[test]
    fn order_of_arrival_does_not_matter(
        (objects, shuffled) in shuffled_objects(),
        cuts in any_cuts(),
    ) {
        let at_once = told([objects])?;
        same(&told([shuffled.clone()])?, &at_once)?;
        same(&told(cut(shuffled, &cuts))?, &at_once)?;
    }

    #[test]
    fn detours_leave_no_trace(
        histories in any_histories(),
        picks in vec(any::<prop::sample::Index>(), 1..60),
        cuts in any_cuts(),
    ) {
        let last = histories.iter().filter_map(|history| history.last());
        let last: Vec<ClusterDelta> = last.filter(|delta| !is_gone(delta)).cloned().collect();
        let merged = merge(&histories, &picks);
        same(&told(cut(merged, &cuts))?, &told([last])?)?;
    }

    #[test]
    fn telling_twice_changes_nothing((objects, again) in shuffled_objects()) {
        same(&told([objects.clone(), again])?, &told([objects])?)?;
    }
}
