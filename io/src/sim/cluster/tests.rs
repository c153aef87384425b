//! The rules of the embedded cluster, one test each.

use std::sync::Arc;

use muster_core::delta::{ClusterDelta, Facts, GroupPhase, ObjectRef};
use muster_core::ids::{Name, ObjectKey};
use muster_core::intent::{DecisionOp, Intent, Ruling};
use muster_core::resource::Quantity;
use muster_core::status::{Condition, GroupReport, QueueReport, QueueState};
use muster_core::verdict::Reason;

use super::super::scenario::{Checks, Delay, Deletion, FailBind, Kubelet, Scenario};
use super::Cluster;
use crate::objects::{Node, Object, ObjectKind, Pod, PodGroup, PodGroupCondition};

fn scenario(objects: Vec<Object>) -> Scenario {
    Scenario {
        name: "rules".into(),
        variant: None,
        source: "rules.yaml".into(),
        config: None,
        period_ms: 1000,
        cycles: None,
        kubelet: Kubelet { start: Delay::Ms(0), terminate: Delay::Ms(0) },
        recreate: false,
        objects,
        timeline: Vec::new(),
        invariants: Checks::All,
        expect: Vec::new(),
        warnings: Vec::new(),
    }
}

fn node(name: &str) -> Object {
    let mut node = Node::default();
    node.metadata.name = name.into();
    Object::Node(Box::new(node))
}

fn pod(json: &str) -> Object {
    Object::Pod(Box::new(serde_json::from_str::<Pod>(json).unwrap()))
}

fn waiting(name: &str) -> Object {
    pod(&format!(r#"{{"metadata":{{"name":"{name}"}}}}"#))
}

fn running(name: &str, node: &str) -> Object {
    pod(&format!(
        r#"{{"metadata":{{"name":"{name}"}},"spec":{{"nodeName":"{node}"}},"status":{{"phase":"Running"}}}}"#
    ))
}

fn key(name: &str) -> ObjectKey {
    ObjectKey::new("default", name)
}

fn uid(cluster: &Cluster, name: &str) -> Name {
    cluster.pod(&key(name)).unwrap().metadata.uid.as_deref().unwrap().into()
}

/// What a call rests on; an API server does not look at it.
fn ruling(op: DecisionOp, pod: &str) -> Arc<Ruling> {
    Arc::new(Ruling { action: "test", op, job: key(pod), beneficiary: None, reason: None })
}

fn bind_call(pod: &str, uid: &str, node: &str) -> Intent {
    let ruling = ruling(DecisionOp::Bind, pod);
    Intent::Bind { pod: key(pod), uid: uid.into(), node: node.into(), ruling }
}

fn evict_call(pod: &str, uid: &str) -> Intent {
    Intent::Evict { pod: key(pod), uid: uid.into(), ruling: ruling(DecisionOp::Evict, pod) }
}

fn bind(cluster: &mut Cluster, name: &str, node: &str, now_ms: i64) {
    let uid = uid(cluster, name);
    cluster.call(&[bind_call(name, &uid, node)], now_ms);
}

fn evict(cluster: &mut Cluster, name: &str, now_ms: i64) {
    let uid = uid(cluster, name);
    cluster.call(&[evict_call(name, &uid)], now_ms);
}

/// Lets everything happen that is due by then.
fn pass(cluster: &mut Cluster, now_ms: i64) {
    while cluster.next_due_ms().is_some_and(|due_ms| due_ms <= now_ms) {
        cluster.fire_next();
    }
}

fn phase(cluster: &Cluster, name: &str) -> String {
    cluster.pod(&key(name)).unwrap().status.phase.clone().unwrap_or_else(|| "Pending".into())
}

fn failed_binds(cluster: &Cluster) -> usize {
    let failed = |delta: &&ClusterDelta| matches!(delta, ClusterDelta::BindFailed { .. });
    cluster.outcomes.iter().filter(failed).count()
}

fn deletion(name: &str) -> [Deletion; 1] {
    [Deletion { kind: ObjectKind::Pod, key: key(name) }]
}

#[test]
fn a_bound_pod_has_its_node_at_once_and_runs_before_the_next_cycle() {
    let mut cluster = Cluster::new(&scenario(vec![node("n0"), waiting("p")]));
    cluster.store.pod_mut(&key("p")).unwrap().status.nominated_node_name = Some("n0".into());
    bind(&mut cluster, "p", "n0", 0);
    let pod = cluster.pod(&key("p")).unwrap();
    assert_eq!(pod.spec.node_name.as_deref(), Some("n0"));
    assert_eq!(pod.status.nominated_node_name, None);
    assert_eq!(phase(&cluster, "p"), "Pending");
    pass(&mut cluster, 1000);
    assert_eq!(phase(&cluster, "p"), "Running");
}

#[test]
fn a_slow_or_dead_kubelet_starts_late_or_never() {
    let mut slow = scenario(vec![node("n0"), waiting("p")]);
    slow.kubelet.start = Delay::Ms(3000);
    let mut cluster = Cluster::new(&slow);
    bind(&mut cluster, "p", "n0", 1000);
    pass(&mut cluster, 3999);
    assert_eq!(phase(&cluster, "p"), "Pending");
    pass(&mut cluster, 4000);
    assert_eq!(phase(&cluster, "p"), "Running");

    slow.kubelet.start = Delay::Never;
    let mut cluster = Cluster::new(&slow);
    bind(&mut cluster, "p", "n0", 1000);
    pass(&mut cluster, i64::MAX);
    assert_eq!(phase(&cluster, "p"), "Pending");
}

#[test]
fn an_evicted_pod_is_gone_before_the_next_cycle() {
    let mut cluster = Cluster::new(&scenario(vec![node("n0"), running("p", "n0")]));
    evict(&mut cluster, "p", 2000);
    assert!(cluster.pod(&key("p")).unwrap().metadata.deletion_timestamp.is_some());
    assert!(cluster.has_leaving_pods());
    pass(&mut cluster, 3000);
    assert!(cluster.pod(&key("p")).is_none());
    assert!(!cluster.has_leaving_pods());
}

#[test]
fn a_pod_the_timeline_deletes_is_gone_before_that_cycle() {
    let mut cluster = Cluster::new(&scenario(vec![node("n0"), running("p", "n0")]));
    cluster.delete(&deletion("p"), 5000);
    pass(&mut cluster, 5000);
    assert!(cluster.pod(&key("p")).is_none());
}

#[test]
fn a_pod_leaves_after_its_own_grace_period_or_never() {
    let graceful = pod(
        r#"{"metadata":{"name":"p"},"spec":{"nodeName":"n0","terminationGracePeriodSeconds":5},"status":{"phase":"Running"}}"#,
    );
    let mut slow = scenario(vec![node("n0"), graceful, running("q", "n0")]);
    slow.kubelet.terminate = Delay::Grace;
    let mut cluster = Cluster::new(&slow);
    evict(&mut cluster, "p", 0);
    evict(&mut cluster, "q", 0);
    pass(&mut cluster, 4999);
    assert!(cluster.pod(&key("p")).is_some());
    pass(&mut cluster, 5000);
    assert!(cluster.pod(&key("p")).is_none() && cluster.pod(&key("q")).is_some());
    pass(&mut cluster, 30_000);
    assert!(cluster.pod(&key("q")).is_none());

    slow.kubelet.terminate = Delay::Never;
    let mut cluster = Cluster::new(&slow);
    evict(&mut cluster, "p", 0);
    pass(&mut cluster, i64::MAX);
    assert!(cluster.pod(&key("p")).is_some());
    assert!(!cluster.has_leaving_pods(), "a pod that never leaves is nothing to wait for");
}

#[test]
fn a_pod_without_node_goes_at_once() {
    let mut slow = scenario(vec![waiting("p")]);
    slow.kubelet.terminate = Delay::Ms(10_000);
    let mut cluster = Cluster::new(&slow);
    cluster.delete(&deletion("p"), 0);
    assert!(cluster.pod(&key("p")).is_none());
}

#[test]
fn a_pod_that_comes_already_leaving_is_seen_leaving_once() {
    let leaving = pod(
        r#"{"metadata":{"name":"p","deletionTimestamp":"2026-01-01T00:00:00Z"},"spec":{"nodeName":"n0"},"status":{"phase":"Running"}}"#,
    );
    let mut cluster = Cluster::new(&scenario(vec![node("n0"), leaving]));
    pass(&mut cluster, 0);
    assert!(cluster.pod(&key("p")).is_some());
    pass(&mut cluster, 1000);
    assert!(cluster.pod(&key("p")).is_none());
}

#[test]
fn an_evicted_pod_comes_back_as_another_one_that_waits() {
    let mut sharing = running("p", "n0");
    for label in ["runai-gpu-group", "runai-gpu-group/a", "app"] {
        let labels = &mut sharing.metadata_mut().unwrap().labels;
        labels.insert(label.into(), "a".into());
    }
    let mut lively = scenario(vec![node("n0"), sharing]);
    lively.recreate = true;
    let mut cluster = Cluster::new(&lively);
    let before = uid(&cluster, "p");
    evict(&mut cluster, "p", 2000);
    pass(&mut cluster, 3000);
    let pod = cluster.pod(&key("p")).unwrap();
    assert_ne!(pod.metadata.uid.as_deref(), Some(&*before));
    assert_eq!((pod.spec.node_name.as_deref(), pod.status.phase.as_deref()), (None, None));
    assert_eq!(pod.metadata.deletion_timestamp, None);
    assert_eq!(pod.metadata.created_ms, Some(2000));
    assert_eq!(pod.metadata.labels.keys().collect::<Vec<_>>(), ["app"], "its GPU is open again");
}

#[test]
fn a_pod_its_owner_deleted_does_not_come_back() {
    let mut lively = scenario(vec![node("n0"), running("p", "n0"), running("q", "n0")]);
    lively.recreate = true;
    lively.kubelet.terminate = Delay::Ms(5000);
    let mut cluster = Cluster::new(&lively);
    cluster.delete(&deletion("p"), 0);
    evict(&mut cluster, "q", 0);
    cluster.delete(&deletion("q"), 1000);
    pass(&mut cluster, 10_000);
    assert!(cluster.pod(&key("p")).is_none() && cluster.pod(&key("q")).is_none());
}

#[test]
fn a_pod_succeeds_after_its_time_counted_from_running() {
    let short = |name: &str, rest: &str| {
        pod(&format!(
            r#"{{"metadata":{{"name":"{name}","annotations":{{"muster.sh/run-for":"5s"}}}}{rest}}}"#
        ))
    };
    let mut timed = scenario(vec![
        node("n0"),
        short("p", ""),
        short("q", r#","spec":{"nodeName":"n0"},"status":{"phase":"Running"}"#),
    ]);
    timed.kubelet.start = Delay::Ms(2000);
    let mut cluster = Cluster::new(&timed);
    bind(&mut cluster, "p", "n0", 1000);
    pass(&mut cluster, 5000);
    assert_eq!(
        (phase(&cluster, "q"), phase(&cluster, "p")),
        ("Succeeded".into(), "Running".into())
    );
    pass(&mut cluster, 7999);
    assert_eq!(phase(&cluster, "p"), "Running");
    pass(&mut cluster, 8000);
    assert_eq!(phase(&cluster, "p"), "Succeeded");
}

#[test]
fn a_run_time_that_is_no_duration_is_a_warning() {
    let odd = pod(
        r#"{"metadata":{"name":"p","annotations":{"muster.sh/run-for":"soon"}},"spec":{"nodeName":"n0"},"status":{"phase":"Running"}}"#,
    );
    let mut cluster = Cluster::new(&scenario(vec![node("n0"), odd]));
    pass(&mut cluster, i64::MAX);
    assert_eq!(phase(&cluster, "p"), "Running");
    assert!(cluster.take_warnings()[0].contains("run-for"));
}

#[test]
fn deleting_a_node_leaves_its_pods() {
    let mut cluster = Cluster::new(&scenario(vec![node("n0"), running("p", "n0")]));
    let key_of_node = ObjectKind::Node.key(None, "n0");
    cluster.delete(&[Deletion { kind: ObjectKind::Node, key: key_of_node }], 0);
    pass(&mut cluster, 10_000);
    assert!(!cluster.has_node(&"n0".into()));
    assert_eq!(phase(&cluster, "p"), "Running");
}

#[test]
fn deleting_what_is_not_there_is_a_warning() {
    let mut cluster = Cluster::new(&scenario(vec![]));
    cluster.delete(&deletion("p"), 3000);
    assert_eq!(cluster.take_warnings(), ["timeline at 3s: there is no Pod default/p to delete"]);
}

#[test]
fn applying_again_keeps_identity_status_and_node() {
    let mut cluster = Cluster::new(&scenario(vec![node("n0"), running("p", "n0")]));
    let before = cluster.pod(&key("p")).unwrap().metadata.clone();
    cluster.apply([pod(r#"{"metadata":{"name":"p","labels":{"new":"yes"}}}"#)], 7000);
    let now = cluster.pod(&key("p")).unwrap();
    assert_eq!((&now.metadata.uid, now.metadata.created_ms), (&before.uid, before.created_ms));
    assert_eq!(now.spec.node_name.as_deref(), Some("n0"));
    assert_eq!(now.status.phase.as_deref(), Some("Running"));
    assert_eq!(now.metadata.labels.get("new").map(String::as_str), Some("yes"));

    cluster.apply([pod(r#"{"metadata":{"name":"p"},"status":{"phase":"Failed"}}"#)], 8000);
    assert_eq!(phase(&cluster, "p"), "Failed");
}

#[test]
fn a_binding_fails_as_often_as_the_timeline_says() {
    let mut cluster = Cluster::new(&scenario(vec![node("n0"), waiting("p"), waiting("q")]));
    let failures =
        [FailBind { pod: key("p"), times: Some(2) }, FailBind { pod: key("q"), times: None }];
    cluster.fail_bindings(&failures);
    for now in [0, 1000] {
        bind(&mut cluster, "p", "n0", now);
        assert_eq!(cluster.pod(&key("p")).unwrap().spec.node_name, None);
    }
    bind(&mut cluster, "p", "n0", 2000);
    assert_eq!(cluster.pod(&key("p")).unwrap().spec.node_name.as_deref(), Some("n0"));
    for now in 0..5 {
        bind(&mut cluster, "q", "n0", now);
    }
    assert_eq!(cluster.pod(&key("q")).unwrap().spec.node_name, None);
    assert_eq!(failed_binds(&cluster), 7);
}

#[test]
fn binding_what_or_where_nothing_is_fails() {
    let mut cluster =
        Cluster::new(&scenario(vec![node("n0"), node("n1"), waiting("p"), running("q", "n0")]));
    let (p, q) = (uid(&cluster, "p"), uid(&cluster, "q"));
    cluster.call(
        &[
            bind_call("p", &p, "gone"),
            bind_call("gone", "x", "n0"),
            bind_call("p", "another", "n0"),
            bind_call("q", &q, "n1"),
        ],
        0,
    );
    assert_eq!(failed_binds(&cluster), 4);
    cluster.call(&[bind_call("q", &q, "n0")], 0);
    assert_eq!(failed_binds(&cluster), 4, "bound there already is success");
}

#[test]
fn evicting_a_pod_that_is_gone_comes_back_as_a_failure() {
    let mut cluster = Cluster::new(&scenario(vec![]));
    cluster.call(&[evict_call("p", "x")], 0);
    assert!(matches!(&cluster.outcomes[..], [ClusterDelta::EvictFailed { .. }]));
}

#[test]
fn nominations_and_phases_are_written_once() {
    let mut group = PodGroup::default();
    group.metadata.name = "g".into();
    let mut cluster =
        Cluster::new(&scenario(vec![node("n0"), waiting("p"), Object::PodGroup(Box::new(group))]));
    cluster.changed.clear();
    cluster.changed_set.clear();
    let uid = uid(&cluster, "p");
    let calls = [
        Intent::Nominate { pod: key("p"), uid, node: Some("n0".into()) },
        Intent::GroupStatus {
            group: key("g"),
            phase: GroupPhase::Inqueue,
            report: GroupReport { running: 1, ..GroupReport::default() },
        },
    ];
    cluster.call(&calls, 0);
    assert_eq!(cluster.changed.len(), 2);
    let pod = cluster.pod(&key("p")).unwrap();
    assert_eq!(pod.status.nominated_node_name.as_deref(), Some("n0"));
    cluster.changed.clear();
    cluster.changed_set.clear();
    cluster.call(&calls, 1000);
    assert!(cluster.changed.is_empty());
}

#[test]
fn a_status_is_stored_and_only_a_new_phase_is_news() {
    let mut group = PodGroup::default();
    group.metadata.name = "g".into();
    let foreign = PodGroupCondition { kind: "Audited".into(), ..PodGroupCondition::default() };
    group.status.conditions.push(foreign.clone());
    let mut cluster = Cluster::new(&scenario(vec![Object::PodGroup(Box::new(group))]));
    cluster.changed.clear();
    cluster.changed_set.clear();
    let write = |condition: Condition| Intent::GroupStatus {
        group: key("g"),
        phase: GroupPhase::Pending,
        report: GroupReport { failed: 2, conditions: vec![condition], ..GroupReport::default() },
    };
    let stuck = Condition::unschedulable("NotEnoughTasks", (1, 1), Reason::GangIncomplete, "few");
    cluster.call(&[write(stuck)], 0);
    assert_eq!(cluster.changed.len(), 1, "the phase was not written before");
    cluster.changed.clear();
    cluster.changed_set.clear();
    cluster.call(&[write(Condition::scheduled())], 0);
    assert!(cluster.changed.is_empty());
    let status = &cluster.group(&key("g")).unwrap().status;
    assert_eq!(status.failed, 2);
    let kinds: Vec<_> = status.conditions.iter().map(|entry| entry.kind.as_str()).collect();
    assert_eq!(kinds, ["Audited", "Scheduled"], "what others wrote stays, ours is replaced");
}

#[test]
fn a_queue_keeps_its_state_and_gets_one_where_it_has_none() {
    let queue = |name: &str, state: Option<&str>| {
        let mut queue = crate::objects::Queue::default();
        queue.metadata.name = name.into();
        queue.status.state = state.map(Into::into);
        Object::Queue(Box::new(queue))
    };
    let objects = vec![queue("new", None), queue("odd", Some("Unknown"))];
    let mut cluster = Cluster::new(&scenario(objects));
    let write = |name: &str| Intent::QueueStatus {
        queue: name.into(),
        report: Box::new(QueueReport {
            state: QueueState::Open,
            allocated: vec![("cpu".into(), Quantity::from_units(3))],
            deserved: Vec::new(),
            share_ppm: 0,
            borrowed: Vec::new(),
        }),
    };
    cluster.call(&[write("new"), write("odd"), write("never-was")], 0);
    let status = |name: &str| {
        let key = ObjectKind::Queue.key(None, name);
        let Some(Object::Queue(queue)) = cluster.store.get(ObjectKind::Queue, &key) else {
            panic!("{name} is there");
        };
        (queue.status.state.clone(), queue.status.allocated["cpu"].to_string())
    };
    assert_eq!(status("new"), (Some("Open".into()), "3".into()));
    assert_eq!(status("odd"), (Some("Unknown".into()), "3".into()));
}

#[test]
fn a_default_queue_exists_unless_given() {
    let cluster = Cluster::new(&scenario(vec![]));
    let key = ObjectKind::Queue.key(None, "default");
    assert!(cluster.store.get(ObjectKind::Queue, &key).is_some());

    let mut given = crate::objects::Queue::default();
    given.metadata.name = "default".into();
    given.spec.weight = Some(7);
    let cluster = Cluster::new(&scenario(vec![Object::Queue(Box::new(given))]));
    let Some(Object::Queue(queue)) = cluster.store.get(ObjectKind::Queue, &key) else {
        panic!("the given queue is kept");
    };
    assert_eq!(queue.spec.weight, Some(7));
}

#[test]
fn beside_queues_of_kai_no_default_queue_is_made() {
    let kai = read_object(
        ObjectKind::KaiQueue,
        r#"{"metadata": {"name": "q"}, "spec": {"resources": {}}}"#,
    );
    let cluster = Cluster::new(&scenario(vec![kai]));
    assert!(
        cluster.store.get(ObjectKind::Queue, &ObjectKind::Queue.key(None, "default")).is_none()
    );
}

fn read_object(kind: ObjectKind, text: &str) -> Object {
    Object::from_json(kind, text).unwrap()
}

#[test]
fn a_name_in_both_dialects_is_set_aside_until_one_of_the_two_is_gone() {
    let group = |kind| {
        read_object(kind, r#"{"metadata": {"name": "g"}, "spec": {"queue": "q", "minMember": 3}}"#)
    };
    let mut cluster = Cluster::new(&scenario(vec![group(ObjectKind::KaiPodGroup)]));
    let told = |cluster: &mut Cluster| cluster.take_deltas().pop().expect("something changed");
    let is_kai = |delta: ClusterDelta| match delta {
        ClusterDelta::Set(Facts::PodGroup(facts)) => facts.tree.is_some(),
        other => panic!("{other:?}"),
    };
    let key = ObjectKey::new("default", "g");
    let delete = |kind| [Deletion { kind, key: key.clone() }];
    cluster.take_deltas();
    for gone in [ObjectKind::PodGroup, ObjectKind::KaiPodGroup] {
        let other = gone.namesake().unwrap();
        cluster.apply([group(gone), group(other)], 0);
        let ClusterDelta::SetAside { object, reason } = told(&mut cluster) else { panic!() };
        assert_eq!(object, ObjectRef::PodGroup(key.clone()));
        assert_eq!(
            reason,
            "both scheduling.volcano.sh and scheduling.run.ai have a PodGroup of this name; one of them \
             has to go"
        );
        cluster.delete(&delete(gone), 0);
        assert_eq!(is_kai(told(&mut cluster)), other == ObjectKind::KaiPodGroup);
    }
    cluster.delete(&delete(ObjectKind::PodGroup), 0);
    assert_eq!(told(&mut cluster), ClusterDelta::Gone(ObjectRef::PodGroup(key.clone())));
}
