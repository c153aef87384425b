//! What becomes of the room of a pod that is moved, whatever happens to it.

use std::sync::Arc;

use crate::config::{ActionConfig, Arguments, Dialect};
use crate::delta::{ClusterDelta, NodeFacts, ObjectRef, PodFacts, PodPhase};
use crate::ids::TimeMs;
use crate::intent::{CycleOutcome, DecisionOp, Intent};
use crate::policy::testing::kai;
use crate::policy::{Registry, SchedulerConfig};
use crate::reservation::Release;
use crate::scheduler::Scheduler;
use crate::testing::{Built, group, key, node, pod};

fn consolidating() -> SchedulerConfig {
    let registry = Registry::standard().speaking(Dialect::Kai);
    let action = |name: &str| ActionConfig {
        spec: registry.action(name).expect("an action of this version"),
        arguments: Arguments::default(),
    };
    let actions = vec![action("allocate"), action("consolidation")];
    let plugins = ["podgroup", "predicates", "priority", "nodeplacement"];
    SchedulerConfig { actions, ..kai(&plugins) }
}

fn worker(name: &str, group: &str, cpu: i64) -> Built<PodFacts> {
    pod(name).group(group).ask("cpu", cpu)
}

fn four(name: &str) -> Built<NodeFacts> {
    node(name).offer("cpu", 4)
}

/// A pod has moved from n1 to n0, decided at time zero, so that a job finds room.
fn moved() -> (Scheduler, CycleOutcome) {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(1).build().expect("one thread");
    let mut scheduler = Scheduler::new(&consolidating(), Arc::new(pool));
    scheduler.feed([
        ClusterDelta::from(four("n0")),
        four("n1").into(),
        group("stays", 1).into(),
        group("moves", 1).into(),
        group("whole", 1).into(),
        worker("stays-0", "stays", 2).running_on("n0").into(),
        worker("moves-0", "moves", 1).running_on("n1").into(),
        worker("whole-0", "whole", 4).into(),
    ]);
    let outcome = scheduler.run_cycle(TimeMs(0));
    (scheduler, outcome)
}

/// The decisions as operation, pod and node.
fn told(outcome: &CycleOutcome) -> Vec<(DecisionOp, String, String)> {
    let decisions = outcome.decisions.iter();
    decisions.map(|one| (one.op, one.pod.name.to_string(), one.node.to_string())).collect()
}

fn decided(op: DecisionOp, pod: &str, node: &str) -> (DecisionOp, String, String) {
    (op, pod.to_owned(), node.to_owned())
}

/// Runs a cycle after what happened; every total and record is right after it.
fn after(scheduler: &mut Scheduler, time: i64, news: Vec<ClusterDelta>) -> CycleOutcome {
    scheduler.feed(news);
    let outcome = scheduler.run_cycle(TimeMs(time));
    assert_eq!(scheduler.audit(), Vec::<String>::new());
    outcome
}

fn leaving() -> ClusterDelta {
    worker("moves-0", "moves", 1).running_on("n1").leaving().into()
}

fn gone() -> ClusterDelta {
    ClusterDelta::Gone(ObjectRef::Pod(key("moves-0")))
}

/// Pods and nodes of all room that is held.
fn held(scheduler: &mut Scheduler) -> Vec<(String, String)> {
    let pods = scheduler.pods().into_iter();
    pods.filter_map(|pod| Some((pod.key.name.to_string(), pod.reservation?.node.to_string())))
        .collect()
}

fn room(pod: &str, node: &str) -> (String, String) {
    (pod.to_owned(), node.to_owned())
}

#[test]
fn a_pod_is_moved_by_an_eviction_and_a_reservation() {
    let (mut scheduler, outcome) = moved();
    let want = [
        decided(DecisionOp::Evict, "moves-0", "n1"),
        decided(DecisionOp::Pipeline, "moves-0", "n0"),
        decided(DecisionOp::Pipeline, "whole-0", "n1"),
    ];
    assert_eq!(told(&outcome), want);
    assert_eq!(held(&mut scheduler), [room("moves-0", "n0"), room("whole-0", "n1")]);
    // The pod that leaves is nominated for nothing.
    let nominated = outcome.intents.iter().filter(|one| matches!(one, Intent::Nominate { .. }));
    assert_eq!(nominated.count(), 1);
    let job = scheduler.jobs().into_iter().find(|job| *job.key.name == *"moves");
    assert_eq!(job.map(|job| (job.ready, job.pipelined, job.pending)), Some((0, 1, 0)));
    assert_eq!(scheduler.audit(), Vec::<String>::new());
}

#[test]
fn the_next_pod_of_the_name_has_the_room_of_the_one_before() {
    let (mut scheduler, _) = moved();
    assert_eq!(told(&after(&mut scheduler, 1, vec![leaving()])), []);
    assert_eq!(
        told(&after(&mut scheduler, 2, vec![gone()])),
        [decided(DecisionOp::Bind, "whole-0", "n1")]
    );
    assert_eq!(held(&mut scheduler), [room("moves-0", "n0")], "there is no pod, but its room");
    let next = worker("moves-0", "moves", 1).with(|pod| pod.uid = "next".into());
    let outcome = after(&mut scheduler, 3, vec![next.into()]);
    assert_eq!(told(&outcome), [decided(DecisionOp::Bind, "moves-0", "n0")]);
}

#[test]
fn a_pod_of_another_name_has_it_while_the_old_one_still_leaves() {
    let (mut scheduler, _) = moved();
    let other = worker("other-0", "stays", 1);
    let outcome = after(
        &mut scheduler,
        1,
        vec![leaving(), other.into(), worker("moves-x", "moves", 1).into()],
    );
    let binds =
        [decided(DecisionOp::Bind, "moves-x", "n0"), decided(DecisionOp::Bind, "other-0", "n0")];
    assert_eq!(told(&outcome), binds);
    assert_eq!(held(&mut scheduler), [room("whole-0", "n1")]);
    assert_eq!(
        told(&after(&mut scheduler, 2, vec![gone()])),
        [decided(DecisionOp::Bind, "whole-0", "n1")]
    );
}

#[test]
fn a_pod_of_another_kind_does_not_get_it() {
    let (mut scheduler, _) = moved();
    let larger = worker("moves-x", "moves", 3);
    assert_eq!(
        told(&after(&mut scheduler, 1, vec![gone(), larger.into()])),
        [decided(DecisionOp::Bind, "whole-0", "n1")]
    );
    assert_eq!(held(&mut scheduler), [room("moves-0", "n0")]);
    let larger = worker("moves-0", "moves", 3).with(|pod| pod.uid = "next".into());
    after(&mut scheduler, 2, vec![larger.into()]);
    assert_eq!(held(&mut scheduler), []);
    assert_eq!(scheduler.reservations().released_for(Release::PodGone), 1);
}

#[test]
fn room_ends_with_its_deadline_its_node_or_its_group() {
    let (mut scheduler, _) = moved();
    after(&mut scheduler, 1, vec![gone()]);
    let outcome = after(&mut scheduler, 600_000, Vec::new());
    assert_eq!(told(&outcome), [decided(DecisionOp::Unpipeline, "moves-0", "n0")]);
    assert!(scheduler.jobs().iter().all(|job| job.pipelined + job.pending == 0));

    let (mut scheduler, _) = moved();
    let node = ClusterDelta::Gone(ObjectRef::Node("n0".into()));
    let outcome = after(&mut scheduler, 1, vec![leaving(), node]);
    assert_eq!(told(&outcome), [decided(DecisionOp::Unpipeline, "moves-0", "n0")]);
    after(&mut scheduler, 2, vec![gone()]);
    assert_eq!(scheduler.reservations().released_for(Release::NodeGone), 1);

    let (mut scheduler, _) = moved();
    after(&mut scheduler, 1, vec![gone()]);
    let group = ClusterDelta::Gone(ObjectRef::PodGroup(key("moves")));
    let outcome = after(&mut scheduler, 2, vec![group]);
    assert!(told(&outcome).contains(&decided(DecisionOp::Unpipeline, "moves-0", "n0")));
    assert_eq!(scheduler.reservations().released_for(Release::OwnerGone), 1);
    // What nothing refers to goes with the next batch.
    after(&mut scheduler, 3, vec![four("n2").into()]);
    assert!(scheduler.jobs().iter().all(|job| *job.key.name != *"moves"));
}

#[test]
fn who_stays_or_ends_needs_no_other_room() {
    let (mut scheduler, _) = moved();
    let refused = ClusterDelta::EvictFailed {
        pod: key("moves-0"),
        uid: "uid-moves-0".into(),
        reason: "no".into(),
    };
    after(&mut scheduler, 1, vec![refused]);
    assert_eq!(scheduler.reservations().released_for(Release::Stayed), 1);

    let (mut scheduler, _) = moved();
    let ended = worker("moves-0", "moves", 1).ended_on("n1", PodPhase::Succeeded);
    after(&mut scheduler, 1, vec![ended.into()]);
    assert_eq!(scheduler.reservations().released_for(Release::PodGone), 1);
}

#[test]
fn a_standby_forgets_what_no_pod_says() {
    let (mut scheduler, _) = moved();
    after(&mut scheduler, 1, vec![gone()]);
    scheduler.follow(TimeMs(2));
    assert_eq!(scheduler.audit(), Vec::<String>::new());
    assert!(held(&mut scheduler).iter().all(|(pod, _)| pod != "moves-0"));
}

#[test]
fn a_pod_that_was_moved_rests_for_an_hour() {
    let (mut scheduler, _) = moved();
    let next = worker("moves-0", "moves", 1).with(|pod| pod.uid = "next".into());
    after(&mut scheduler, 1, vec![gone(), next.into()]);
    let runs = |name: &str, group: &str, cpu, node: &str| worker(name, group, cpu).running_on(node);
    let next = runs("moves-0", "moves", 1, "n0").with(|pod| pod.uid = "next".into());
    // Now it is the other one's pod that is in the way, and the moved one that would be cheaper to move.
    let batch: Vec<ClusterDelta> = vec![
        next.into(),
        runs("whole-0", "whole", 4, "n1").into(),
        ClusterDelta::Gone(ObjectRef::Pod(key("stays-0"))),
        four("n2").into(),
        group("again", 1).into(),
        worker("third-0", "third", 2).running_on("n2").into(),
        group("third", 1).into(),
        worker("again-0", "again", 4).into(),
    ];
    let outcome = after(&mut scheduler, 2, batch);
    assert!(told(&outcome).contains(&decided(DecisionOp::Evict, "third-0", "n2")), "{outcome:?}");
    assert!(told(&outcome).contains(&decided(DecisionOp::Pipeline, "third-0", "n0")));
}
