//! What keeps a cycle short: the time budget of an action and the number of jobs it tries.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use muster_core::delta::{ClusterDelta, ObjectRef, PreemptionPolicy};
use muster_core::ids::TimeMs;
use muster_core::intent::Intent;
use muster_core::scheduler::Scheduler;
use muster_core::testing::{group, key, node, pod, priority_class};
use muster_core::verdict::Reason;
use muster_tests::policy::{config, pool};

/// Classes that may be there without a task; a few more, and those are dropped.
const CROWD: usize = 4000;

const POLICY: &str = "actions: allocate\n\
                      tiers: [{plugins: [{name: gang}, {name: predicates}]}]\n";

/// Three jobs of one pod each, and room for all.
fn objects() -> Vec<ClusterDelta> {
    let mut objects = vec![node("n0").offer("cpu", 8).offer("pods", 10).into()];
    for name in ["a", "b", "c"] {
        objects.push(group(name, 1).into());
        objects.push(pod(&format!("{name}-0")).group(name).ask("cpu", 1).into());
    }
    objects
}

fn reasons(scheduler: &mut Scheduler) -> Vec<Option<Reason>> {
    scheduler.jobs().iter().map(|job| job.reason).collect()
}

#[test]
fn an_action_out_of_time_says_so_and_goes_on_in_the_next_cycle() {
    let config = config(&format!("{POLICY}schedule: {{actionBudget: 2ms}}\n"));
    // Every look at the watch costs a millisecond: one turn fits, the second does not.
    let looks = Arc::new(AtomicU64::new(0));
    let watch = move || looks.fetch_add(1, Ordering::Relaxed) * 1000;
    let mut scheduler = Scheduler::new(&config, pool(1)).with_stopwatch(Arc::new(watch));
    scheduler.feed(objects());
    let first = scheduler.run_cycle(TimeMs(0));
    assert_eq!(first.decisions.len(), 1, "{:?}", first.decisions);
    assert_eq!(reasons(&mut scheduler), [None, Some(Reason::SearchCut), Some(Reason::SearchCut)]);
    let second = scheduler.run_cycle(TimeMs(1000));
    assert_eq!(second.decisions.len(), 1, "nothing was fed, yet something was left to do");
}

#[test]
fn without_a_watch_a_budget_changes_nothing() {
    let config = config(&format!("{POLICY}schedule: {{actionBudget: 1ms}}\n"));
    let mut scheduler = Scheduler::new(&config, pool(1));
    scheduler.feed(objects());
    assert_eq!(scheduler.run_cycle(TimeMs(0)).decisions.len(), 3);
}

#[test]
fn no_more_jobs_of_a_queue_are_tried_than_allowed() {
    let config = config(&format!("{POLICY}schedule: {{jobsPerQueue: 2}}\n"));
    let mut scheduler = Scheduler::new(&config, pool(1));
    scheduler.feed(objects());
    assert_eq!(scheduler.run_cycle(TimeMs(0)).decisions.len(), 2);
    assert_eq!(reasons(&mut scheduler), [None, None, Some(Reason::SearchCut)]);
}

#[test]
fn an_evicting_action_out_of_time_says_so() {
    let text = "actions: gangpreempt\n\
                tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}]}]\n\
                schedule: {actionBudget: 2ms}\n";
    let looks = Arc::new(AtomicU64::new(0));
    let watch = move || looks.fetch_add(1, Ordering::Relaxed) * 1000;
    let mut scheduler = Scheduler::new(&config(text), pool(1)).with_stopwatch(Arc::new(watch));
    scheduler
        .feed([ClusterDelta::from(priority_class("high", 100)), node("n0").offer("cpu", 2).into()]);
    for low in ["l0", "l1"] {
        scheduler.feed([pod(low).ask("cpu", 1).running_on("n0").into()]);
    }
    for high in ["h0", "h1"] {
        let waits = pod(&format!("{high}-0")).group(high).ask("cpu", 1);
        scheduler.feed([group(high, 1).class("high").into(), waits.into()]);
    }
    let evicts = |outcome: &muster_core::intent::CycleOutcome| {
        let evicted = |intent: &&Intent| matches!(intent, Intent::Evict { .. });
        outcome.intents.iter().filter(evicted).count()
    };
    let first = scheduler.run_cycle(TimeMs(0));
    assert_eq!(evicts(&first), 1, "{:?}", first.decisions);
    assert!(reasons(&mut scheduler).contains(&Some(Reason::SearchCut)));
    assert_eq!(evicts(&scheduler.run_cycle(TimeMs(1000))), 1, "the rest comes in the next cycle");
}

#[test]
fn what_is_remembered_of_a_class_ends_with_it() {
    let text = "actions: \"allocate, gangpreempt\"\n\
                tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}]}]\n";
    let mut scheduler = Scheduler::new(&config(text), pool(1));
    let high = |name: &str, zone: &str| -> [ClusterDelta; 2] {
        let waits = pod(&format!("{name}-0")).group(name).ask("cpu", 2).with(|pod| {
            pod.constraints.node_selector = vec![("zone".into(), zone.into())];
        });
        [group(name, 1).class("high").into(), waits.into()]
    };
    scheduler.feed([
        ClusterDelta::from(priority_class("high", 100)),
        node("n0").label("zone", "a").offer("cpu", 2).into(),
        node("n1").label("zone", "b").offer("cpu", 2).into(),
        group("peer", 1).class("high").into(),
        pod("peer-0").group("peer").ask("cpu", 2).running_on("n0").into(),
        pod("low").ask("cpu", 2).running_on("n1").into(),
    ]);
    // Thousands of pods that are all different, and after them one that cannot be helped.
    let crowd: Vec<String> = (0..CROWD).map(|at| format!("crowd-{at}")).collect();
    let patient = |name: &str, ask: i64| -> ClusterDelta {
        let waits = pod(name).ask("cpu", ask);
        waits.with(|pod| pod.preempts = Some(PreemptionPolicy::Never)).into()
    };
    scheduler.feed(crowd.iter().zip(100..).map(|(name, ask)| patient(name, ask)));
    scheduler.feed(high("first", "a"));
    scheduler.run_cycle(TimeMs(0));
    scheduler.run_cycle(TimeMs(1000));
    let reason = |scheduler: &mut Scheduler, name: &str| {
        let jobs = scheduler.jobs();
        jobs.iter().find(|job| &*job.key.name == name).and_then(|job| job.reason)
    };
    assert_eq!(reason(&mut scheduler, "first"), Some(Reason::NoLegalVictims));
    // All of them go, their classes with them; one comes that asks for as much on another node.
    let gone = crowd.iter().map(String::as_str).chain(["first-0"]);
    scheduler.feed(gone.map(|name| ClusterDelta::Gone(ObjectRef::Pod(key(name)))));
    scheduler.feed([ClusterDelta::Gone(ObjectRef::PodGroup(key("first")))]);
    scheduler.feed((0..200).map(|at| patient(&format!("more-{at}"), 10_000 + at)));
    scheduler.run_cycle(TimeMs(2000));
    scheduler.feed(high("second", "b"));
    let outcome = scheduler.run_cycle(TimeMs(3000));
    let evicted = outcome.intents.iter().filter(|one| matches!(one, Intent::Evict { .. })).count();
    assert_eq!(evicted, 1, "{:?}", reason(&mut scheduler, "second"));
}
