//! What users read in the status of PodGroups, queues and pods: right, stable, and written only when
//! there is news.

use muster_core::delta::{ClusterDelta, GroupPhase, ObjectRef, PodGroupFacts, PodPhase};
use muster_core::ids::TimeMs;
use muster_core::intent::Intent;
use muster_core::report::{JobView, PodView};
use muster_core::resource::Quantity;
use muster_core::scheduler::Scheduler;
use muster_core::status::{ConditionKind, GroupReport, QueueReport};
use muster_core::testing::{Built, amounts, group, node, pod, queue};
use muster_tests::policy::{config, everything, listening, scheduler};

/// Runs a cycle and gives what was written about PodGroups.
fn written(
    scheduler: &mut Scheduler,
    second: i64,
    news: impl IntoIterator<Item = ClusterDelta>,
) -> Vec<(GroupPhase, GroupReport)> {
    scheduler.feed(news);
    let intents = scheduler.run_cycle(TimeMs(second * 1000)).intents;
    let groups = intents.into_iter().filter_map(|intent| match intent {
        Intent::GroupStatus { phase, report, .. } => Some((phase, report)),
        _ => None,
    });
    groups.collect()
}

/// The only status written in a cycle.
fn only(mut written: Vec<(GroupPhase, GroupReport)>) -> (GroupPhase, GroupReport) {
    assert_eq!(written.len(), 1, "{written:?}");
    written.remove(0)
}

fn condition(report: &GroupReport) -> (ConditionKind, &str, &str) {
    let [held] = &report.conditions[..] else { panic!("one condition at a time: {report:?}") };
    (held.kind, &held.reason, &held.message)
}

/// A pod of gang `g` that asks for a whole cpu.
fn member(name: &str) -> Built<muster_core::delta::PodFacts> {
    pod(name).group("g").ask("cpu", 1)
}

fn job(scheduler: &mut Scheduler) -> JobView {
    scheduler.jobs().into_iter().find(|job| &*job.key.name == "g").expect("gang g is there")
}

fn pod_view(scheduler: &mut Scheduler, name: &str) -> PodView {
    scheduler.pods().into_iter().find(|pod| &*pod.key.name == name).expect("the pod is there")
}

/// A gang of three on a node with free room for two: it waits.
fn waiting_gang() -> Scheduler {
    waiting(group("g", 3))
}

fn waiting(group: Built<PodGroupFacts>) -> Scheduler {
    let mut scheduler = scheduler(&everything());
    let tenant = pod("tenant").ask("cpu", 2).running_on("n1");
    scheduler.feed([node("n1").offer("cpu", 4).into(), tenant.into(), group.into()]);
    scheduler.feed((0..3).map(|at| member(&format!("g-a-{at}")).into()));
    scheduler
}

#[test]
fn a_waiting_gang_is_told_once_and_keeps_its_text_while_others_come_and_go() {
    let mut scheduler = waiting_gang();
    scheduler.feed([node("n2").offer("cpu", 8).label("tainted", "no").into()]);
    let busy = |name: &str, cpus: i64| pod(name).ask("cpu", cpus).running_on("n2").into();
    let (phase, report) = only(written(&mut scheduler, 0, [busy("other", 8)]));
    assert_eq!(phase, GroupPhase::Inqueue);
    let text = "3/3 tasks in gang unschedulable: NotEnoughResources: 2 of 3 pods find a place; of 2 \
                matching nodes 2 lack cpu";
    assert_eq!(
        condition(&report),
        (ConditionKind::Unschedulable, "NotEnoughResources", text),
        "the first time"
    );
    for second in 1..6 {
        // Pods of others start and end; now and then a node without room joins.
        let late = format!("n{}", second + 2);
        let news = [
            ClusterDelta::Gone(ObjectRef::Pod(muster_core::testing::key("other"))),
            busy("other", 8),
            node(&late).offer("cpu", 0).into(),
        ];
        assert_eq!(written(&mut scheduler, second, news), []);
        assert_eq!(job(&mut scheduler).conditions[0].message, text);
    }
    let message = job(&mut scheduler).message.unwrap();
    assert!(message.contains("of 7 matching nodes"), "the job itself has fresh numbers: {message}");
}

#[test]
fn the_condition_that_no_longer_holds_is_taken_away() {
    let mut scheduler = waiting_gang();
    only(written(&mut scheduler, 0, []));
    let (_, report) = only(written(&mut scheduler, 1, [node("n2").offer("cpu", 2).into()]));
    let ready = "tasks in gang are ready to be scheduled";
    assert_eq!(condition(&report), (ConditionKind::Scheduled, ready, ""));
    assert_eq!(written(&mut scheduler, 2, []), []);
}

#[test]
fn counters_and_phase_follow_the_pods_to_the_end() {
    let mut scheduler = scheduler(&everything());
    scheduler.feed([node("n1").offer("cpu", 4).into(), group("g", 2).into()]);
    let running = |name: &str| member(name).running_on("n1");
    let two = [running("g-a-0").into(), running("g-a-1").into()];
    let (phase, report) = only(written(&mut scheduler, 0, two));
    assert_eq!((phase, report.running), (GroupPhase::Running, 2));
    let ended = |name: &str| member(name).ended_on("n1", PodPhase::Succeeded);
    let (phase, report) = only(written(&mut scheduler, 1, [ended("g-a-0").into()]));
    assert_eq!((phase, report.running, report.succeeded), (GroupPhase::Running, 1, 1));
    let (phase, report) = only(written(&mut scheduler, 2, [ended("g-a-1").into()]));
    assert_eq!((phase, report.running, report.succeeded), (GroupPhase::Completed, 0, 2));
    assert_eq!(condition(&report).0, ConditionKind::Scheduled);
}

#[test]
fn a_gang_with_a_failed_member_is_unknown_while_others_run() {
    let mut scheduler = scheduler(&everything());
    scheduler.feed([node("n1").offer("cpu", 4).into(), group("g", 2).into()]);
    let failed = member("g-a-0").ended_on("n1", PodPhase::Failed);
    let news = [failed.into(), member("g-a-1").running_on("n1").into()];
    let (phase, report) = only(written(&mut scheduler, 0, news));
    assert_eq!((phase, report.running, report.failed), (GroupPhase::Unknown, 1, 1));
    assert_eq!(condition(&report).1, "NotEnoughTasks");
}

#[test]
fn a_role_that_lacks_pods_is_named_by_volcano_s_word() {
    let mut scheduler = scheduler(&everything());
    scheduler.feed([node("n1").offer("cpu", 4).into(), group("g", 2).role_min("boss", 1).into()]);
    let (_, report) =
        only(written(&mut scheduler, 0, [member("g-a-0").into(), member("g-a-1").into()]));
    assert_eq!(
        condition(&report),
        (
            ConditionKind::Unschedulable,
            "NotEnoughPodsOfTask",
            "2/2 tasks in gang unschedulable: GangIncomplete: 0 of the 1 pods that role \"boss\" \
             needs exist"
        )
    );
}

#[test]
fn a_group_without_pods_that_is_not_let_in_says_why() {
    let mut scheduler = scheduler(&everything());
    let asks = |facts: &mut PodGroupFacts| facts.min_resources = Some(amounts([("cpu", 8)]));
    scheduler.feed([node("n1").offer("cpu", 4).into()]);
    let (phase, report) = only(written(&mut scheduler, 0, [group("g", 2).with(asks).into()]));
    assert_eq!(phase, GroupPhase::Pending);
    let (kind, reason, message) = condition(&report);
    assert_eq!((kind, reason), (ConditionKind::Unschedulable, "NotEnoughResources"));
    let text = "2/2 tasks in gang unschedulable: NotAdmitted: overcommit admits cpu ";
    assert!(message.starts_with(text), "{message}");
    assert_eq!(written(&mut scheduler, 1, []), []);
    let (phase, report) = only(written(&mut scheduler, 2, [node("n2").offer("cpu", 8).into()]));
    assert_eq!((phase, report), (GroupPhase::Inqueue, GroupReport::default()));
}

#[test]
fn a_phase_nobody_has_written_yet_is_written() {
    let mut scheduler = scheduler(&listening());
    let (phase, report) = only(written(&mut scheduler, 0, [group("g", 2).into()]));
    assert_eq!((phase, report), (GroupPhase::Pending, GroupReport::default()));
}

#[test]
fn a_gang_that_cannot_be_placed_again_is_told_again() {
    let mut scheduler = waiting_gang();
    let first = only(written(&mut scheduler, 0, []));
    let gone = (0..3).map(|at| muster_core::testing::key(&format!("g-a-{at}")));
    let gone = gone.map(|key| ClusterDelta::Gone(ObjectRef::Pod(key)));
    let (_, report) = only(written(&mut scheduler, 1, gone));
    assert_eq!(report, GroupReport::default());
    let anew = (0..3).map(|at| member(&format!("g-b-{at}")).into());
    assert_eq!(only(written(&mut scheduler, 2, anew)), first);
}

#[test]
fn room_is_said_to_be_held_only_where_some_is() {
    let tiers = "tiers: [{plugins: [{name: priority}, {name: gang}, {name: predicates}]}]";
    let mut scheduler = scheduler(&config(&format!("actions: \"enqueue, preempt\"\n{tiers}")));
    scheduler.feed([node("n1").offer("cpu", 1).into(), group("g", 1).into()]);
    // The evicting action holds free room for the minimum, and the rest of the gang stays behind.
    written(&mut scheduler, 0, [member("g-a-0").into(), member("g-a-1").into()]);
    let job = job(&mut scheduler);
    assert_eq!((job.ready, job.pending), (0, 1));
    assert!(job.message.is_none_or(|message| !message.contains("held for 0")));
}

#[test]
fn a_group_without_pods_has_no_condition_and_is_never_completed() {
    let mut scheduler = scheduler(&everything());
    let (phase, report) = only(written(&mut scheduler, 0, [group("g", 0).into()]));
    assert_eq!((phase, report), (GroupPhase::Inqueue, GroupReport::default()));
    assert_eq!(written(&mut scheduler, 1, []), []);
}

#[test]
fn a_pod_that_leaves_without_ever_having_had_a_node_does_not_count() {
    let mut scheduler = scheduler(&everything());
    let news = [group("g", 1).into(), member("g-a-0").leaving().into()];
    let (phase, _) = only(written(&mut scheduler, 0, news));
    assert_eq!(phase, GroupPhase::Inqueue);
}

#[test]
fn a_restart_writes_nothing_that_the_object_says_already() {
    let mut first = waiting_gang();
    let (phase, report) = only(written(&mut first, 0, []));
    let known = group("g", 3).with(|facts: &mut PodGroupFacts| {
        (facts.phase, facts.report) = (Some(phase), report);
    });
    assert_eq!(written(&mut waiting(known), 5, []), []);
}

#[test]
fn pods_that_would_fit_are_told_apart_from_those_that_do_not() {
    let mut scheduler = waiting_gang();
    written(&mut scheduler, 0, []);
    let words: Vec<_> = ["g-a-0", "g-a-1", "g-a-2"]
        .map(|name| pod_view(&mut scheduler, name).unscheduled)
        .into_iter()
        .collect();
    assert_eq!(words, [Some("Schedulable"), Some("Schedulable"), Some("Unschedulable")]);
    let waits = pod_view(&mut scheduler, "g-a-2");
    assert_eq!(
        waits.message.as_deref(),
        Some("2 of 3 pods find a place; of 1 matching nodes 1 lack cpu")
    );
    assert_eq!(
        pod_view(&mut scheduler, "g-a-0").message.as_deref(),
        Some(
            "would fit, but waits for its gang: 2 of 3 pods find a place; of 1 matching nodes 1 \
             lack cpu"
        )
    );
    // With the node gone none of them fits any more, and what was in mind for them is forgotten.
    written(&mut scheduler, 1, [ClusterDelta::Gone(ObjectRef::Node("n1".into()))]);
    assert_eq!(pod_view(&mut scheduler, "g-a-0").unscheduled, Some("Unschedulable"));
}

fn queue_reports(
    scheduler: &mut Scheduler,
    second: i64,
    news: impl IntoIterator<Item = ClusterDelta>,
) -> Vec<(String, QueueReport)> {
    scheduler.feed(news);
    let intents = scheduler.run_cycle(TimeMs(second * 1000)).intents;
    let queues = intents.into_iter().filter_map(|intent| match intent {
        Intent::QueueStatus { queue, report } => Some((queue.to_string(), *report)),
        _ => None,
    });
    queues.collect()
}

#[test]
fn a_queue_and_those_above_it_are_told_what_they_use_when_it_changes() {
    let mut scheduler = scheduler(&everything());
    let names = |told: &[(String, QueueReport)]| -> Vec<String> {
        told.iter().map(|entry| entry.0.clone()).collect()
    };
    let queues = [queue("above").into(), queue("below").parent("above").into()];
    let told = queue_reports(&mut scheduler, 0, queues);
    assert_eq!(names(&told), ["above", "below", "default", "root"]);
    let user = pod("p").queue("below").ask("cpu", 3).running_on("n1");
    let news = [node("n1").offer("cpu", 4).into(), user.into()];
    let told = queue_reports(&mut scheduler, 1, news);
    assert_eq!(names(&told), ["above", "below", "root"]);
    for (name, report) in &told {
        let cpu = report.allocated.iter().find(|entry| &*entry.0 == "cpu").map(|entry| entry.1);
        assert_eq!(cpu, Some(Quantity::from_units(3)), "{name}");
    }
    assert_eq!(queue_reports(&mut scheduler, 2, [node("n2").offer("cpu", 4).into()]), []);
}

#[test]
fn a_queue_with_odd_parents_or_limits_is_listed_until_it_is_mended() {
    let mut scheduler = scheduler(&everything());
    let limited = |cpu: i64| {
        queue("over").with(|queue| {
            queue.deserved = Some(amounts([("cpu", 8)]));
            queue.capability = Some(amounts([("cpu", cpu)]));
        })
    };
    let odd = [
        queue("left").parent("right").into(),
        queue("right").parent("left").into(),
        queue("orphan").parent("nobody").into(),
        limited(4).into(),
    ];
    written(&mut scheduler, 0, odd);
    let listed = |scheduler: &Scheduler| -> Vec<String> {
        scheduler.set_aside().iter().map(|(object, why)| format!("{object}: {why}")).collect()
    };
    assert_eq!(
        listed(&scheduler),
        [
            "Queue left: its parents form a circle; it is treated as a child of root",
            "Queue orphan: its parent \"nobody\" does not exist; it is treated as a child of root",
            "Queue over: deserved cpu 8 is above capability cpu 4; it is due cpu 4",
            "Queue right: its parents form a circle; it is treated as a child of root",
        ]
    );
    let mended = [queue("left").into(), queue("orphan").into(), limited(8).into()];
    written(&mut scheduler, 1, mended);
    assert_eq!(listed(&scheduler), Vec::<String>::new());
}
