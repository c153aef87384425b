//! Cycle after cycle on random clusters, against an outside world that does what it likes: totals
//! stay right, promises are kept, and neither threads nor the order of arrival decide anything.

use std::collections::BTreeMap;

use muster_core::config::{Tuning, Upkeep};
use muster_core::delta::{
    ClusterDelta, GroupPhase, ObjectRef, PodGroupFacts, TierRef, TopologyMode,
};
use muster_core::ids::{Name, ObjectKey, TimeMs};
use muster_core::intent::{Decision, DecisionOp, Intent};
use muster_core::report::PodView;
use muster_core::resource::Quantity;
use muster_core::scheduler::Scheduler;
use muster_core::status::GroupReport;
use muster_core::testing::{group, key, node, pod};
use muster_tests::cluster::{DOMAINS, any_cluster};
use muster_tests::outside::{Dice, Outside};
use muster_tests::policy::{cases, everything, pool, scheduler};
use proptest::collection::vec;
use proptest::prelude::*;

/// Cycles a story lasts.
const CYCLES: i64 = 8;

type Check = Result<(), TestCaseError>;

fn any_dice() -> impl Strategy<Value = Dice> {
    vec(prop_oneof![2 => Just(0_u8), 3 => any::<u8>()], 1..120).prop_map(Dice::new)
}

fn time(cycle: i64) -> TimeMs {
    TimeMs(cycle * 1000)
}

/// Where the pods of a cluster are, and what they ask for.
struct Places<'a> {
    outside: &'a Outside,
    pods: Vec<PodView>,
}

impl Places<'_> {
    /// Pods that take room on their node.
    fn tenants(&self, node: &Name) -> impl Iterator<Item = &PodView> {
        let roomless = ["Pending", "Pipelined", "Succeeded", "Failed"];
        self.pods
            .iter()
            .filter(move |pod| pod.node.as_ref() == Some(node) && !roomless.contains(&pod.status))
    }

    fn asks(&self, pod: &ObjectKey, resource: &Name) -> Quantity {
        let request = &self.outside.pods()[pod].request;
        request.iter().find(|entry| entry.0 == *resource).map_or(Quantity::ZERO, |entry| entry.1)
    }

    fn sum<'b>(&self, pods: impl Iterator<Item = &'b PodView>, resource: &Name) -> Quantity {
        pods.fold(Quantity::ZERO, |sum, pod| sum.add(self.asks(&pod.key, resource)))
    }

    fn of_job(&self, job: &ObjectKey) -> impl Iterator<Item = &PodView> {
        self.pods.iter().filter(move |pod| pod.job.as_ref() == Some(job))
    }
}

/// A bound pod has room now, a reserved one when those who leave have left.
fn check_room(places: &Places<'_>, decision: &Decision) -> Check {
    let node = &places.outside.nodes()[&decision.node];
    for (resource, asked) in &places.outside.pods()[&decision.pod].request {
        if asked.is_zero() {
            continue;
        }
        let offer = node.allocatable.iter().find(|entry| entry.0 == *resource);
        let offer = offer.map_or(Quantity::ZERO, |entry| entry.1);
        let taken = places.sum(places.tenants(&decision.node), resource);
        let leaving = places.tenants(&decision.node).filter(|pod| pod.status == "Releasing");
        let held = places.pods.iter().filter(|pod| pod.nominated.as_ref() == Some(&decision.node));
        let later =
            taken.sub(places.sum(leaving, resource)).add(places.sum(held, resource)).sub(offer);
        if decision.op == DecisionOp::Bind {
            prop_assert!(taken <= offer, "{}: {resource} on {} is over", decision.pod, node.name);
        }
        prop_assert!(later <= Quantity::ZERO, "{}: {} is overbooked", decision.pod, node.name);
    }
    Ok(())
}

const PLACED: [&str; 4] = ["Allocated", "Binding", "Bound", "Running"];

/// Whoever binds a pod binds as many as its gang needs, in all and of each role.
fn check_minimum(places: &Places<'_>, group: &PodGroupFacts) -> Check {
    let ready = |role: Option<&Name>| {
        let pods = places.of_job(&group.key);
        let pods = pods.filter(|pod| PLACED.contains(&pod.status) || pod.status == "Succeeded");
        let of_role =
            |pod: &&PodView| role.is_none_or(|r| places.outside.pods()[&pod.key].role == *r);
        pods.filter(of_role).count() as u32
    };
    prop_assert!(ready(None) >= group.min_member, "{} is bound below its minimum", group.key);
    let sum: u32 = group.min_task_member.iter().map(|entry| entry.1).sum();
    for (role, min) in group.min_task_member.iter().filter(|_| group.min_member >= sum) {
        prop_assert!(ready(Some(role)) >= *min, "{} lacks pods of role {role}", group.key);
    }
    Ok(())
}

/// A gang with a hard wish sits within one domain of an allowed tier.
fn check_topology(places: &Places<'_>, group: &PodGroupFacts) -> Check {
    let Some(wish) = group.topology.as_ref().filter(|wish| wish.mode == TopologyMode::Hard) else {
        return Ok(());
    };
    let Some(TierRef::Number(highest)) = wish.tier else { return Ok(()) };
    let sits = |pod: &&PodView| PLACED.contains(&pod.status) || pod.status == "Pipelined";
    let nodes: Vec<&Name> = places
        .of_job(&group.key)
        .filter(sits)
        .filter_map(|pod| pod.node.as_ref().or(pod.nominated.as_ref()))
        .collect();
    let holds = |domain: &[&str]| nodes.iter().all(|node| domain.contains(&&***node));
    let together = DOMAINS.iter().any(|(tier, domain)| *tier <= highest && holds(domain));
    prop_assert!(together, "{} is spread over {nodes:?}", group.key);
    Ok(())
}

fn check_promises(places: &Places<'_>, decisions: &[Decision]) -> Check {
    for decision in decisions {
        if !matches!(decision.op, DecisionOp::Bind | DecisionOp::Pipeline) {
            continue;
        }
        check_room(places, decision)?;
        if let Some(group) = places.outside.groups().get(&decision.job) {
            if decision.op == DecisionOp::Bind {
                check_minimum(places, group)?;
            }
            check_topology(places, group)?;
        }
    }
    let mut bound = BTreeMap::new();
    for decision in decisions.iter().filter(|decision| decision.op == DecisionOp::Bind) {
        let before = bound.insert(&decision.pod, &decision.node);
        prop_assert!(before.is_none(), "{} is bound twice in a cycle", decision.pod);
    }
    Ok(())
}

/// Runs a scheduler against the world; `look` sees every cycle.
fn live(
    scheduler: &mut Scheduler,
    objects: &[ClusterDelta],
    dice: Dice,
    mut look: impl FnMut(&mut Scheduler, &Outside, &[Decision]) -> Check,
) -> Check {
    let mut outside = Outside::new(objects, dice);
    scheduler.feed(objects.to_vec());
    for cycle in 0..CYCLES {
        let outcome = scheduler.run_cycle(time(cycle));
        look(scheduler, &outside, &outcome.decisions)?;
        outside.take(outcome.intents);
        scheduler.feed(outside.pass());
    }
    Ok(())
}

/// A story as text: what was decided and known after each cycle.
fn story(
    scheduler: &mut Scheduler,
    objects: &[ClusterDelta],
    dice: Dice,
) -> Result<Vec<String>, TestCaseError> {
    let mut story = Vec::new();
    live(scheduler, objects, dice, |scheduler, _, decisions| {
        story.push(format!("{decisions:#?}\n{}", scheduler.fingerprint()));
        Ok(())
    })?;
    Ok(story)
}

fn group_status(intent: &Intent) -> Option<(&ObjectKey, GroupPhase, &GroupReport)> {
    match intent {
        Intent::GroupStatus { group, phase, report } => Some((group, *phase, report)),
        _ => None,
    }
}

#[test]
fn a_gang_that_lost_members_says_so_in_the_same_cycle() {
    let mut scheduler = scheduler(&everything());
    let member = pod("g-a-0").group("g").ask("cpu", 1).running_on("n1");
    scheduler.feed([node("n1").offer("cpu", 4).into(), group("g", 2).into(), member.into()]);
    let intents = scheduler.run_cycle(time(0)).intents;
    let told: Vec<_> = intents.iter().filter_map(group_status).collect();
    let [(group, phase, report)] = &told[..] else { panic!("told once: {intents:?}") };
    assert_eq!((*group, *phase), (&key("g"), GroupPhase::Unknown));
    assert_eq!((report.running, &*report.conditions[0].reason), (1, "NotEnoughTasks"));
    assert_eq!(
        report.conditions[0].message,
        "1/2 tasks in gang unschedulable: GangIncomplete: 1 of the 2 pods the gang needs exist"
    );
    assert_eq!(scheduler.run_cycle(time(1)).intents, []);
}

proptest! {
    #![proptest_config(cases(400))]

    #[test]
    fn totals_stay_right_and_promises_are_kept(objects in any_cluster(), dice in any_dice()) {
        let mut scheduler = scheduler(&everything());
        live(&mut scheduler, &objects, dice, |scheduler, outside, decisions| {
            prop_assert_eq!(scheduler.audit(), Vec::<String>::new());
            let places = Places { outside, pods: scheduler.pods() };
            check_promises(&places, decisions)
        })?;
    }

    #[test]
    fn threads_and_blocks_change_nothing(
        objects in any_cluster(),
        dice in any_dice(),
        rows_per_block in prop::sample::select(&[1_usize, 3, 5, 7][..]),
    ) {
        let mut config = everything();
        let alone = story(&mut scheduler(&config), &objects, dice.clone())?;
        config.tuning = Tuning { rows_per_block, parallel_threshold: 1, ..config.tuning };
        let together = story(&mut Scheduler::new(&config, pool(4)), &objects, dice)?;
        prop_assert_eq!(alone, together);
    }

    #[test]
    fn looking_at_every_node_for_every_task_changes_nothing(
        objects in any_cluster(),
        dice in any_dice(),
    ) {
        let mut config = everything();
        let mended = story(&mut scheduler(&config), &objects, dice.clone())?;
        config.tuning.upkeep = Upkeep::Rescan;
        let rescanned = story(&mut scheduler(&config), &objects, dice)?;
        prop_assert_eq!(mended, rescanned);
    }

    #[test]
    fn who_arrives_first_is_not_served_first_for_it(
        (objects, shuffled) in any_cluster().prop_flat_map(|objects| {
            (Just(objects.clone()), Just(objects).prop_shuffle())
        }),
    ) {
        let decide = |objects: Vec<ClusterDelta>| {
            let mut scheduler = scheduler(&everything());
            scheduler.feed(objects);
            scheduler.run_cycle(time(0)).decisions
        };
        prop_assert_eq!(decide(objects), decide(shuffled));
    }

    #[test]
    fn nothing_new_leaves_nothing_to_decide(objects in any_cluster(), dice in any_dice()) {
        let mut scheduler = scheduler(&everything());
        live(&mut scheduler, &objects, dice, |_, _, _| Ok(()))?;
        let mut left = 1;
        for _ in 0..4 {
            let outcome = scheduler.run_cycle(time(CYCLES));
            left = outcome.decisions.len() + outcome.intents.len();
        }
        prop_assert_eq!(left, 0, "it still decides without news");
        // News of nothing: the cycle runs in full instead of being skipped.
        scheduler.feed([ClusterDelta::Gone(ObjectRef::Pod(ObjectKey::new("no", "such-pod")))]);
        let outcome = scheduler.run_cycle(time(CYCLES));
        prop_assert_eq!(outcome.decisions, vec![]);
        prop_assert_eq!(outcome.intents, vec![]);
    }
}
