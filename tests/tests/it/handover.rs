//! A scheduler that follows another, and one whose configuration changes, know what a fresh one knows.

use muster_core::delta::{ClusterDelta, Facts};
use muster_core::ids::TimeMs;
use muster_core::intent::{CycleOutcome, Intent};
use muster_core::policy::SchedulerConfig;
use muster_core::scheduler::Scheduler;
use muster_core::testing as build;
use muster_tests::cluster::any_cluster;
use muster_tests::outside::{Dice, Outside};
use muster_tests::policy::{cases, config, everything, pool, scheduler};
use muster_tests::shape;
use proptest::collection::vec;
use proptest::prelude::*;

const PERIOD_MS: i64 = 1000;

/// Runs cycles in a world that grants every call, until nothing is left to do.
fn settle(leader: &mut Scheduler, outside: &mut Outside, now: &mut i64) -> Vec<ClusterDelta> {
    let mut history = Vec::new();
    for _ in 0..30 {
        *now += PERIOD_MS;
        let outcome = leader.run_cycle(TimeMs(*now));
        let idle = outcome.intents.is_empty();
        outside.take(outcome.intents);
        let news = outside.pass();
        if idle && news.is_empty() {
            break;
        }
        history.extend(news.iter().cloned());
        leader.feed(news);
    }
    history
}

/// What a cycle decided, statuses aside: who takes over tells them once more.
fn decided(outcome: CycleOutcome) -> Vec<Intent> {
    let told = |intent: &Intent| {
        matches!(
            intent,
            Intent::QueueStatus { .. }
                | Intent::Unscheduled { .. }
                | Intent::GroupStatus { .. }
                | Intent::GroupPast { .. }
                | Intent::GroupWait { .. }
        )
    };
    outcome.intents.into_iter().filter(|intent| !told(intent)).collect()
}

/// Everything a world holds now, as a first list tells it.
fn list(start: &[ClusterDelta], outside: &Outside) -> Vec<ClusterDelta> {
    let fixed = start.iter().filter(|delta| {
        !matches!(delta, ClusterDelta::Set(Facts::Pod(_) | Facts::PodGroup(_) | Facts::Node(_)))
    });
    let nodes = outside.nodes().values().map(|node| ClusterDelta::from(node.clone()));
    let groups = outside.groups().values();
    let groups = groups.map(|group| ClusterDelta::from(group.clone()));
    let pods = outside.pods().values().map(|pod| ClusterDelta::from(pod.clone()));
    fixed.cloned().chain(nodes).chain(groups).chain(pods).collect()
}

/// Configurations that differ in stages, order, admission, division of queues, scores and filters.
fn any_config() -> impl Strategy<Value = SchedulerConfig> {
    let texts = [
        "actions: \"allocate, backfill\"\ntiers:\n- plugins: [{name: gang}]\n",
        "actions: \"enqueue, allocate\"\ntiers:\n- plugins: [{name: priority}, {name: gang}]\n\
         - plugins: [{name: drf}, {name: predicates}, {name: proportion}, {name: nodeorder}]\n",
        "actions: \"enqueue, allocate, backfill\"\ntiers:\n- plugins: [{name: gang}]\n\
         - plugins: [{name: predicates}, {name: capacity}, {name: binpack}, {name: nodegroup}, \
         {name: nodeorder, arguments: {imagelocality.weight: 5}}, {name: resource-strategy-fit}]\n",
    ];
    prop_oneof![Just(everything()), prop::sample::select(texts.to_vec()).prop_map(config)]
}

proptest! {
    #![proptest_config(cases(120))]

    #[test]
    fn who_takes_over_decides_as_who_starts_anew(
        objects in any_cluster(),
        late in shape::any_objects(),
        throws in vec(any::<u8>(), 0..20),
    ) {
        let config = everything();
        let (mut leader, mut standby) = (scheduler(&config), scheduler(&config));
        let mut outside = Outside::new(&objects, Dice::new(throws));
        let mut now = 0;
        leader.feed(objects.iter().cloned());
        standby.feed(objects.iter().cloned());
        standby.follow(TimeMs(now));
        for news in settle(&mut leader, &mut outside, &mut now) {
            standby.feed([news]);
            standby.follow(TimeMs(now));
            prop_assert_eq!(standby.audit(), Vec::<String>::new());
        }
        let mut fresh = scheduler(&config);
        fresh.feed(list(&objects, &outside));
        let foreign = late.into_iter().filter(|delta| {
            matches!(delta, ClusterDelta::Set(Facts::Node(_) | Facts::Queue(_)))
        });
        let foreign: Vec<_> = foreign.collect();
        standby.feed(foreign.iter().cloned());
        fresh.feed(foreign);
        let (taken, begun) = (standby.run_cycle(TimeMs(now)), fresh.run_cycle(TimeMs(now)));
        prop_assert_eq!(decided(taken), decided(begun));
        prop_assert_eq!(standby.audit(), Vec::<String>::new());
    }

    #[test]
    fn who_steps_down_assumes_only_what_the_cluster_says(objects in any_cluster()) {
        let config = everything();
        let mut old = scheduler(&config);
        let mut outside = Outside::new(&objects, Dice::new(Vec::new()));
        let mut now = 0;
        old.feed(objects.iter().cloned());
        settle(&mut old, &mut outside, &mut now);
        // Calls of this cycle are never made.
        old.feed([ClusterDelta::from(build::node("late").offer("cpu", 64).facts())]);
        old.run_cycle(TimeMs(now));
        old.follow(TimeMs(now));
        prop_assert_eq!(old.audit(), Vec::<String>::new());
        let mut fresh = scheduler(&config);
        let late = ClusterDelta::from(build::node("late").offer("cpu", 64).facts());
        fresh.feed(list(&objects, &outside).into_iter().chain([late]));
        let (taken, begun) = (old.run_cycle(TimeMs(now)), fresh.run_cycle(TimeMs(now)));
        prop_assert_eq!(decided(taken), decided(begun));
    }

    #[test]
    fn a_new_configuration_decides_as_a_fresh_scheduler_with_it(
        objects in any_cluster(),
        (before, after) in (any_config(), any_config()),
    ) {
        let mut lasting = Scheduler::lasting(&before, pool(1));
        let mut outside = Outside::new(&objects, Dice::new(Vec::new()));
        let mut now = 0;
        lasting.feed(objects.iter().cloned());
        settle(&mut lasting, &mut outside, &mut now);
        prop_assert_eq!(lasting.reconfigure(&after), Ok(()));
        let mut fresh = scheduler(&after);
        fresh.feed(list(&objects, &outside));
        let (kept, begun) = (lasting.run_cycle(TimeMs(now)), fresh.run_cycle(TimeMs(now)));
        prop_assert_eq!(decided(kept), decided(begun));
        prop_assert_eq!(lasting.audit(), Vec::<String>::new());
        let queues = |scheduler: &mut Scheduler| scheduler.queues();
        prop_assert_eq!(queues(&mut lasting), queues(&mut fresh));
    }
}

#[test]
fn a_scheduler_that_keeps_too_little_refuses_a_configuration_that_reads_more() {
    let narrow = config("actions: \"allocate\"\ntiers:\n- plugins: [{name: gang}]\n");
    let mut fixed = Scheduler::new(&narrow, pool(1));
    assert!(fixed.reconfigure(&everything()).is_err());
    assert_eq!(fixed.reconfigure(&narrow), Ok(()));
}
