//! What is asked to be written into PodGroups of KAI's: when something is new, and nothing else.

use muster_core::delta::{ClusterDelta, GroupTree, ObjectRef, PodFacts, PodGroupFacts, Tries};
use muster_core::ids::{ObjectKey, TimeMs};
use muster_core::intent::Intent;
use muster_core::scheduler::Scheduler;
use muster_core::status::{GangLack, GangWait, GroupTimes, SaidIn};
use muster_core::testing::{Built, group, key, node, pod};
use muster_core::verdict::Reason;
use muster_tests::policy::{config, scheduler};

const KAI: &str = "actions: \"allocate, reclaim, preempt, stalegangeviction\"";

/// What a cycle asks to be written.
#[derive(Debug, Default)]
struct Written {
    times: Vec<(ObjectKey, GroupTimes)>,
    waits: Vec<GangWait>,
    /// Name of the pod, reason of the condition, and where it is said.
    pods: Vec<(String, &'static str, SaidIn)>,
    bound: usize,
    evicted: usize,
}

fn cycle(
    scheduler: &mut Scheduler,
    second: i64,
    news: impl IntoIterator<Item = ClusterDelta>,
) -> Written {
    scheduler.feed(news);
    let mut written = Written::default();
    for intent in scheduler.run_cycle(TimeMs(second * 1000)).intents {
        match intent {
            Intent::GroupPast { group, report } => written.times.push((group, report.times)),
            Intent::GroupWait { wait, .. } => written.waits.push(*wait),
            Intent::Unscheduled { pod, wait, .. } => {
                written.pods.push((pod.name.to_string(), wait.reason, wait.said));
            }
            Intent::Bind { .. } => written.bound += 1,
            Intent::Evict { .. } => written.evicted += 1,
            Intent::GroupStatus { .. } => panic!("its phase is not ours to write"),
            _ => {}
        }
    }
    written
}

/// A gang of KAI's that needs two pods.
fn gang(change: impl FnOnce(&mut GroupTree)) -> Built<PodGroupFacts> {
    let mut tree = GroupTree { pool: "default".into(), ..GroupTree::default() };
    change(&mut tree);
    group("g", 2).with(|facts| facts.tree = Some(Box::new(tree)))
}

/// A pod of the gang that asks for a whole cpu.
fn member(at: usize) -> Built<PodFacts> {
    pod(&format!("g-{at}")).group("g").ask("cpu", 1)
}

/// The gang with two pods that wait, and a node with room for so many.
fn waiting(gang: Built<PodGroupFacts>, cpus: i64) -> Scheduler {
    let mut scheduler = scheduler(&config(KAI));
    scheduler.feed([node("n1").offer("cpu", cpus).into(), gang.into()]);
    scheduler.feed((0..2).map(|at| member(at).into()));
    scheduler
}

fn at(second: i64) -> TimeMs {
    TimeMs(second * 1000)
}

#[test]
fn a_gang_without_a_place_says_so_once_in_the_pool_it_is_in() {
    let mut scheduler = waiting(gang(|tree| tree.pool = "a".into()), 1);
    let written = cycle(&mut scheduler, 0, []);
    let [told] = &written.waits[..] else { panic!("{written:?}") };
    assert_eq!((told.class.lack, told.class.said), (GangLack::Unschedulable, SaidIn::Status));
    assert_eq!(&*told.pool, "a");
    assert_eq!((told.class.reason, told.class.code), ("PodSchedulingErrors", Reason::NeverFits));
    assert!(written.pods.iter().all(|pod| pod.1 == "Unschedulable"), "{written:?}");
    assert_eq!(written.pods.len(), 2);
    let again = cycle(&mut scheduler, 1, [node("n2").offer("memory", 1).into()]);
    assert!(again.waits.is_empty() && again.pods.is_empty(), "{again:?}");
    let moved = cycle(&mut scheduler, 2, [gang(|tree| tree.pool = "b".into()).into()]);
    assert_eq!(moved.waits.iter().map(|wait| &*wait.pool).collect::<Vec<_>>(), ["b"]);
}

#[test]
fn a_gang_that_lacks_pods_says_it_alone_and_by_an_event() {
    let mut scheduler = waiting(gang(|_| {}), 4);
    let written = cycle(&mut scheduler, 0, [ClusterDelta::Gone(ObjectRef::Pod(key("g-1")))]);
    let [told] = &written.waits[..] else { panic!("{written:?}") };
    assert_eq!((told.class.lack, told.class.said), (GangLack::NotReady, SaidIn::EventAlone));
    assert!(written.pods.is_empty(), "an autoscaler would make room for nothing: {written:?}");
}

#[test]
fn pods_of_a_quiet_gang_say_it_by_events_alone() {
    let mut scheduler = waiting(gang(|tree| tree.pods_say = SaidIn::EventAlone), 1);
    let written = cycle(&mut scheduler, 0, []);
    assert!(written.pods.iter().all(|pod| pod.2 == SaidIn::EventAlone), "{written:?}");
    assert_eq!((written.pods.len(), written.waits.len()), (2, 1));
    assert_eq!(written.waits[0].class.said, SaidIn::Status, "the gang itself is not quiet");
}

#[test]
fn the_start_is_noted_when_the_minimum_gets_its_places_and_not_with_every_further_pod() {
    let mut scheduler = waiting(gang(|_| {}), 3);
    let written = cycle(&mut scheduler, 7, []);
    assert_eq!(written.bound, 2);
    assert_eq!(
        written.times,
        [(key("g"), GroupTimes { last_start: Some(at(7)), ..GroupTimes::default() })]
    );
    let more = cycle(&mut scheduler, 9, [member(2).into()]);
    assert_eq!((more.bound, more.times.len()), (1, 0), "{more:?}");
    // Another writer changes the object before the note has arrived in it.
    let news = [gang(|tree| tree.preemption_delay_ms = 5).into()];
    assert!(cycle(&mut scheduler, 10, news).times.is_empty());
}

#[test]
fn what_the_object_says_already_is_not_written_by_a_scheduler_that_starts_anew() {
    let past =
        GroupTimes { last_start: Some(at(3)), stale_since: None, last_eviction: Some(at(2)) };
    let running = |at: usize| member(at).running_on("n1").into();
    let mut scheduler = scheduler(&config(KAI));
    scheduler.feed([node("n1").offer("cpu", 4).into(), gang(|tree| tree.say(past)).into()]);
    let written = cycle(&mut scheduler, 9, [running(0), running(1)]);
    assert!(written.times.is_empty(), "{written:?}");
}

#[test]
fn staleness_is_noted_taken_away_and_survives_a_restart() {
    let running = |at: usize| member(at).running_on("n1").into();
    let mut scheduler = scheduler(&config(KAI));
    scheduler.feed([node("n1").offer("cpu", 4).into(), gang(|_| {}).into()]);
    assert!(cycle(&mut scheduler, 0, [running(0), running(1)]).times.is_empty());
    let lost = ClusterDelta::Gone(ObjectRef::Pod(key("g-1")));
    let stale = GroupTimes { stale_since: Some(at(5)), ..GroupTimes::default() };
    assert_eq!(cycle(&mut scheduler, 5, [lost]).times, [(key("g"), stale)]);
    let mended = cycle(&mut scheduler, 8, [running(1)]);
    assert_eq!(mended.times, [(key("g"), GroupTimes::default())]);
    // The echo of what was written first comes late, and changes nothing.
    assert!(cycle(&mut scheduler, 9, [gang(|tree| tree.say(stale)).into()]).times.is_empty());

    let mut anew = scheduler_with(stale);
    assert_eq!(cycle(&mut anew, 64, [running(0)]).evicted, 0, "its grace is not over");
    let over = cycle(&mut anew, 65, []);
    assert_eq!(over.evicted, 1);
    let evicted = GroupTimes { last_eviction: Some(at(65)), ..stale };
    assert_eq!(over.times[0].1.last_eviction, evicted.last_eviction);
}

/// A scheduler that finds the gang with that past.
fn scheduler_with(past: GroupTimes) -> Scheduler {
    let mut scheduler = scheduler(&config(KAI));
    scheduler.feed([node("n1").offer("cpu", 4).into(), gang(|tree| tree.say(past)).into()]);
    scheduler
}

#[test]
fn a_gang_to_be_tried_once_is_tried_again_in_another_pool_only() {
    let once =
        |pool: &'static str| gang(move |tree| (tree.tries, tree.pool) = (Tries::One, pool.into()));
    let mut scheduler = waiting(once("a"), 1);
    let failed = cycle(&mut scheduler, 0, []);
    assert!(failed.waits[0].message.starts_with("Node-Pool 'a': "), "{failed:?}");
    let room = node("n2").offer("cpu", 4).into();
    let left = cycle(&mut scheduler, 1, [room]);
    assert_eq!((left.bound, left.waits.len(), left.pods.len()), (0, 0, 0), "{left:?}");
    assert_eq!(cycle(&mut scheduler, 2, [once("b").into()]).bound, 2);
}

#[test]
fn a_scheduler_that_starts_anew_knows_where_a_gang_was_tried() {
    let tried = |pool: &'static str| {
        gang(move |tree| {
            (tree.tries, tree.pool, tree.failed_in) = (Tries::One, pool.into(), Some("a".into()));
        })
    };
    let mut scheduler = waiting(tried("a"), 4);
    let left = cycle(&mut scheduler, 0, []);
    assert_eq!((left.bound, left.waits.len(), left.pods.len()), (0, 0, 0), "{left:?}");
    let job = scheduler.jobs().into_iter().find(|job| &*job.key.name == "g").unwrap();
    assert_eq!(job.reason, Some(Reason::TriedOnce));
    assert_eq!(cycle(&mut scheduler, 1, [tried("b").into()]).bound, 2);
}
