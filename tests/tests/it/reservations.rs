//! Reservations through a thousand storms: whatever is late, lost, repeated or out of order, room is
//! held only for gangs that can use it, only until a deadline, and every reservation comes to an end.

use std::collections::BTreeMap;

use muster_core::config::Persistence;
use muster_core::delta::{AnnotatedNode, ClusterDelta, Facts};
use muster_core::ids::{Name, TimeMs};
use muster_core::intent::{Decision, DecisionOp, Intent};
use muster_core::policy::SchedulerConfig;
use muster_core::report::PodView;
use muster_core::reservation::ReservationCounts;
use muster_core::resource::Quantity;
use muster_core::scheduler::Scheduler;
use muster_core::testing::{group, key, node, pod, priority_class};
use muster_tests::outside::Dice;
use muster_tests::policy::{cases, config, scheduler};
use muster_tests::storm::{Storm, Weather};
use proptest::collection::vec;
use proptest::prelude::*;

type Check = Result<(), TestCaseError>;

/// Cycles of trouble, and cycles to recover from it.
const STORM: u32 = 24;
const CALM: u32 = 12;
/// How long room is held here, in seconds: less than a storm lasts.
const DEADLINE_S: i64 = 8;

/// Room comes from pods that leave by themselves, or from victims too.
const ACTIONS: [&str; 2] =
    ["enqueue, allocate, backfill", "enqueue, allocate, preempt, reclaim, backfill"];

fn rules(actions: &str, persistence: Persistence) -> SchedulerConfig {
    config(&format!(
        "actions: \"{actions}\"\n\
         tiers:\n\
         - plugins: [{{name: priority}}, {{name: gang}}, {{name: conformance}}]\n\
         - plugins: [{{name: predicates}}, {{name: proportion}}, {{name: nodeorder}}]\n\
         pipeline: {{persistence: {}, deadline: {DEADLINE_S}s}}\n",
        persistence.as_str()
    ))
}

/// One gang: pods, minimum, cpu of each, when it comes, its class, and where its pods run already.
type GangPlan = (u32, u32, i64, u32, bool, Vec<u8>);

fn any_gang() -> impl Strategy<Value = GangPlan> {
    (1_u32..5, 0_u32..3, 1_i64..4, 0_u32..STORM, any::<bool>(), vec(0_u8..3, 0..5)).prop_map(
        |(pods, less, cpu, comes, high, places)| {
            let min = pods.saturating_sub(less).max(1);
            (pods, min, cpu, comes, high, if comes % 2 == 0 { places } else { Vec::new() })
        },
    )
}

/// Three nodes of four cpu, and gangs that come now or later.
fn objects(gangs: &[GangPlan]) -> Vec<(u32, ClusterDelta)> {
    let mut objects: Vec<(u32, ClusterDelta)> = Vec::new();
    for name in ["n0", "n1", "n2"] {
        objects.push((0, node(name).offer("cpu", 4).offer("pods", 10).into()));
    }
    objects.push((0, ClusterDelta::from(priority_class("high", 100))));
    let mut room = [4_i64; 3];
    for (index, (pods, min, cpu, comes, high, places)) in gangs.iter().enumerate() {
        let name = format!("g{index}");
        let runs = !places.is_empty();
        let comes = if runs { 0 } else { *comes };
        let made = group(&name, *min);
        let made = if *high { made.class("high") } else { made };
        objects.push((comes, made.into()));
        for member in 0..*pods {
            let mut made = pod(&format!("{name}-w-{member}")).group(&name).ask("cpu", *cpu);
            if let Some(&place) = places.get(member as usize)
                && room[usize::from(place)] >= *cpu
            {
                room[usize::from(place)] -= cpu;
                made = made.running_on(&format!("n{place}"));
            }
            objects.push((comes, made.into()));
        }
    }
    objects
}

/// Who binds a pod binds as many as its gang needs.
fn check_binds(scheduler: &mut Scheduler, decisions: &[Decision]) -> Check {
    let jobs: BTreeMap<_, _> =
        scheduler.jobs().into_iter().map(|job| (job.key.clone(), job)).collect();
    for decision in decisions.iter().filter(|decision| decision.op == DecisionOp::Bind) {
        let job = &jobs[&decision.job];
        prop_assert!(job.ready >= job.min_available, "{} is bound in part", job.key);
    }
    Ok(())
}

/// Room is held for gangs that exist and are covered, on nodes that exist, and not for ever.
fn check_owners(scheduler: &mut Scheduler, storm: &Storm, now: TimeMs) -> Check {
    for job in scheduler.jobs().iter().filter(|job| job.pipelined > 0) {
        prop_assert!(storm.is_group_told(&job.key), "{} is gone and holds room", job.key);
        let covered = job.ready + job.pipelined >= job.min_available;
        prop_assert!(covered, "{} holds room it cannot use", job.key);
    }
    let held = |pod: &PodView| pod.status == "Pipelined";
    for pod in scheduler.pods().iter().filter(|pod| held(pod)) {
        let Some(room) = &pod.reservation else {
            return Err(TestCaseError::fail(format!("{} has no record", pod.key)));
        };
        prop_assert!(storm.is_told(&room.node), "{} waits for a node that is gone", pod.key);
        prop_assert!(room.since <= now && now < room.until, "{} waits too long", pod.key);
        prop_assert!(room.until.0 - room.since.0 <= DEADLINE_S * 1000);
    }
    Ok(())
}

/// What queues use is never less than nothing.
fn check_queues(scheduler: &mut Scheduler) -> Check {
    for queue in scheduler.queues() {
        for (resource, amount) in &queue.allocated {
            prop_assert!(*amount >= Quantity::ZERO, "{}: {resource} {amount:?}", queue.name);
        }
    }
    Ok(())
}

/// Plays a storm and the calm after it.
fn play(config: &SchedulerConfig, gangs: &[GangPlan], dice: Dice, restarts: &[bool]) -> Check {
    let mut storm = Storm::new(objects(gangs), dice);
    let mut life = scheduler(config);
    let mut ended = ReservationCounts::default();
    for cycle in 0..STORM + CALM {
        let weather = if cycle < STORM { Weather::Storm } else { Weather::Calm };
        let heard = storm.pass(weather);
        if restarts.get(cycle as usize).copied().unwrap_or(false) {
            ended.add(&life.reservations());
            life = scheduler(config);
            life.feed(storm.list());
        } else {
            life.feed(heard);
        }
        // In the calm time passes faster: answers that were lost are given up.
        let calm = i64::from(cycle.saturating_sub(STORM));
        let now = TimeMs(1000 * (i64::from(cycle) + calm * DEADLINE_S));
        let outcome = life.run_cycle(now);
        prop_assert_eq!(life.audit(), Vec::<String>::new());
        check_binds(&mut life, &outcome.decisions)?;
        check_owners(&mut life, &storm, now)?;
        check_queues(&mut life)?;
        storm.take(outcome.intents, weather);
    }
    let left: Vec<PodView> = life.pods();
    let left: Vec<_> =
        left.iter().filter(|pod| ["Pipelined", "Binding"].contains(&pod.status)).collect();
    prop_assert!(left.is_empty(), "left in the end: {left:?}");
    prop_assert_eq!(life.reservations().held(), 0, "after {:?}", ended);
    Ok(())
}

proptest! {
    #![proptest_config(cases(1000))]

    #[test]
    fn every_reservation_is_confirmed_or_released_in_any_storm(
        gangs in vec(any_gang(), 2..7),
        dice in vec(prop_oneof![1 => Just(0_u8), 2 => any::<u8>()], 40..400).prop_map(Dice::new),
        restarts in vec(prop::bool::weighted(0.06), STORM as usize),
        actions in prop::sample::select(&ACTIONS[..]),
        persistence in prop::sample::select(&Persistence::ALL[..3]),
    ) {
        play(&rules(actions, persistence), &gangs, dice, &restarts)?;
    }
}

/// A scheduler in which `g-w-0` waits for `old` to leave `n0`.
fn waiting(config: &SchedulerConfig) -> Scheduler {
    let mut life = scheduler(config);
    life.feed([
        node("n0").offer("cpu", 4).offer("pods", 10).into(),
        group("old", 1).into(),
        group("g", 1).into(),
        pod("old-w-0").group("old").ask("cpu", 4).running_on("n0").leaving().into(),
    ]);
    life.feed([newcomer(1)]);
    life.run_cycle(TimeMs(0));
    life
}

fn newcomer(version: u64) -> ClusterDelta {
    pod("g-w-0").group("g").ask("cpu", 4).with(|pod| pod.version = Some(version)).into()
}

fn status(life: &mut Scheduler) -> &'static str {
    let pods = life.pods();
    pods.iter().find(|pod| pod.key == key("g-w-0")).map_or("gone", |pod| pod.status)
}

#[test]
fn what_is_older_than_what_is_known_changes_nothing() {
    let mut life = waiting(&rules(ACTIONS[0], Persistence::NominatedNode));
    assert_eq!(status(&mut life), "Pipelined");
    // A resync, our own patch, and what was there before it, late.
    let echo = |version| match newcomer(version) {
        ClusterDelta::Set(Facts::Pod(mut pod)) => {
            pod.nominated = Some("n0".into());
            ClusterDelta::Set(Facts::Pod(pod))
        }
        other => other,
    };
    for (cycle, event) in [(1, newcomer(1)), (2, echo(2)), (3, newcomer(1)), (4, echo(2))] {
        life.feed([event]);
        let outcome = life.run_cycle(TimeMs(cycle * 1000));
        assert_eq!(outcome.decisions, []);
        assert_eq!(status(&mut life), "Pipelined", "after event {cycle}");
    }
    // An old version on another node is no news; a new one is, and ends the reservation.
    let bound = |version| {
        pod("g-w-0")
            .group("g")
            .ask("cpu", 4)
            .running_on("n7")
            .with(|pod| pod.version = Some(version))
    };
    life.feed([bound(1).into()]);
    life.run_cycle(TimeMs(5000));
    assert_eq!(status(&mut life), "Pipelined");
    life.feed([bound(3).into()]);
    life.run_cycle(TimeMs(6000));
    assert_eq!(status(&mut life), "Running");
    assert_eq!(life.reservations().held(), 0);
}

#[test]
fn another_instance_reads_what_the_first_one_decided() {
    for persistence in &Persistence::ALL[..3] {
        let config = rules(ACTIONS[0], *persistence);
        let mut first = scheduler(&config);
        let objects = [
            node("n0").offer("cpu", 4).offer("pods", 10).into(),
            group("old", 1).into(),
            group("g", 1).into(),
            pod("old-w-0").group("old").ask("cpu", 4).running_on("n0").leaving().into(),
            newcomer(1),
        ];
        let mut storm = Storm::new(objects.map(|object| (0, object)).into(), Dice::new(vec![]));
        // The second instance hears all and decides nothing until the first one is gone.
        let mut second = scheduler(&config);
        for cycle in 0..3 {
            let heard = storm.pass(Weather::Storm);
            second.feed(heard.clone());
            first.feed(heard);
            let outcome = first.run_cycle(TimeMs(cycle * 1000));
            storm.take(outcome.intents, Weather::Storm);
        }
        assert_eq!(status(&mut first), "Pipelined");
        let outcome = second.run_cycle(TimeMs(3000));
        assert_eq!(outcome.decisions, [], "{persistence:?}");
        assert_eq!(status(&mut second), "Pipelined", "{persistence:?}");
        assert_eq!(second.reservations().restored, 1);
        assert_eq!(second.audit(), Vec::<String>::new());
    }
}

/// What pods are told of reservations in the cycles of a quiet story: `old` leaves before cycle 4.
fn told(persistence: Persistence) -> Vec<(u32, Intent)> {
    let mut storm = Storm::new(
        vec![
            (0, node("n0").offer("cpu", 4).offer("pods", 10).into()),
            (0, group("old", 1).into()),
            (0, group("g", 1).into()),
            (0, pod("old-w-0").group("old").ask("cpu", 4).running_on("n0").leaving().into()),
            (0, newcomer(1)),
        ],
        Dice::new(vec![]),
    );
    let mut life = scheduler(&rules(ACTIONS[0], persistence));
    let mut told = Vec::new();
    for cycle in 0..8 {
        let weather = if cycle < 4 { Weather::Storm } else { Weather::Calm };
        life.feed(storm.pass(weather));
        let outcome = life.run_cycle(TimeMs(i64::from(cycle) * 1000));
        let about =
            |intent: &&Intent| matches!(intent, Intent::Nominate { .. } | Intent::Annotate { .. });
        told.extend(outcome.intents.iter().filter(about).map(|intent| (cycle, intent.clone())));
        storm.take(outcome.intents, weather);
    }
    assert_eq!(life.reservations().confirmed, 1);
    told
}

#[test]
fn pods_are_told_once_and_annotations_are_taken_back() {
    let (pod, uid) = (key("g-w-0"), Name::from("uid-g-w-0"));
    let nominate = |node: Option<&str>| Intent::Nominate {
        pod: pod.clone(),
        uid: uid.clone(),
        node: node.map(Name::from),
    };
    let annotate = |node: Option<&str>| Intent::Annotate {
        pod: pod.clone(),
        uid: uid.clone(),
        reservation: node.map(|node| AnnotatedNode { node: node.into(), evicted: false }),
    };
    assert_eq!(told(Persistence::NominatedNode), [(0, nominate(Some("n0")))]);
    // Bound in cycle 4, seen there before cycle 5.
    let noted = [(0, annotate(Some("n0"))), (5, annotate(None))];
    assert_eq!(told(Persistence::Annotations), noted);
    let [first, last] = noted;
    assert_eq!(told(Persistence::Both), [(0, nominate(Some("n0"))), first, last]);
}
