//! Each rule with a run that keeps it and one that breaks it; decisions are made by hand.

mod trees;

use std::collections::BTreeMap;

use muster_core::delta::{
    ClusterDelta, HostPort, InterPodFacts, InterPodTerm, ObjectRef, Operator, PodFacts, PodPhase,
    PodSelector, Protocol, Requirement, SelectorPart, TierRef, TopologyMode, TopologyWish,
};
use muster_core::intent::{Decision, DecisionOp};

use super::super::books::Books;
use super::super::domains::DomainIndex;
use super::super::fixtures::{
    books, decide, domain, evict_for, gang, halves, key, node, only_cpu, pod, queue, ruled,
    running, set, set_gang, set_queue,
};
use super::super::scenario::{Deletion, FailBind, TimelineEntry};
use super::{Invariant, Watch};
use crate::objects::ObjectKind;

/// Lets the watch see one cycle: its decisions, and the state they led to.
fn cycle(
    watch: &mut Watch,
    books: &mut Books,
    number: u32,
    decisions: &[Decision],
    effect: &[ClusterDelta],
) {
    let mut domains = DomainIndex::default();
    domains.refresh(books);
    watch.decided(books, &domains, decisions, number);
    for delta in effect {
        books.apply(delta);
    }
    domains.refresh(books);
    watch.settled(books, &domains, decisions);
}

fn broken(watch: &Watch) -> Vec<Invariant> {
    watch.violations().iter().map(|violation| violation.invariant).collect()
}

fn leaving(name: &str, gang: &str, cpus: i64, node: &str) -> ClusterDelta {
    let mut pod = running(name, gang, cpus, node);
    pod.deleting = true;
    set(pod)
}

fn held(name: &str, gang: &str, cpus: i64, node: &str) -> ClusterDelta {
    let mut pod = pod(name, gang, cpus);
    pod.nominated = Some(node.into());
    set(pod)
}

fn gone(name: &str) -> ClusterDelta {
    ClusterDelta::Gone(ObjectRef::Pod(key(name)))
}

/// Two low pods of two cpus each on a node of four, and a high pod that waits.
fn crowded(high_cpus: i64) -> Books {
    books(&[
        node("n0", 4),
        set_gang(gang("low", 1)),
        set(running("low-0", "low", 2, "n0")),
        set(running("low-1", "low", 2, "n0")),
        set_gang(gang("high", 1)),
        set(pod("high-0", "high", high_cpus)),
    ])
}

#[test]
fn evicting_a_name_twice_needs_something_new_between() {
    let evict = [evict_for("high", "low-0", "n0", "low")];
    let mut watch = Watch::default();
    let mut books = crowded(2);
    cycle(&mut watch, &mut books, 1, &evict, &[held("high-0", "high", 2, "n0")]);
    watch.timeline(&books, &TimelineEntry::default());
    cycle(&mut watch, &mut books, 2, &evict, &[]);
    assert!(!broken(&watch).contains(&Invariant::NoRepeatEviction));
    cycle(&mut watch, &mut books, 3, &evict, &[]);
    assert!(broken(&watch).contains(&Invariant::NoRepeatEviction));
}

#[test]
fn an_eviction_for_nobody_owes_nothing_but_is_not_made_twice() {
    let shuffle = |pod| {
        ruled(decide(DecisionOp::Evict, pod, "n0", "low"), |ruling| {
            ruling.action = "shuffle";
            ruling.reason = Some("proposed for shuffle by mover".into());
        })
    };
    let mut watch = Watch::default();
    let mut books = crowded(2);
    cycle(&mut watch, &mut books, 1, &[shuffle("low-0")], &[leaving("low-0", "low", 2, "n0")]);
    books.apply(&gone("low-0"));
    cycle(&mut watch, &mut books, 2, &[], &[set(running("low-0", "low", 2, "n0"))]);
    watch.finish(&books);
    assert_eq!(watch.violations(), [], "nobody was to gain by it");

    // Room it has made counts: a pod evicted for it afterwards was not needed.
    let also = [
        shuffle("low-1"),
        evict_for("high", "low-0", "n0", "low"),
        decide(DecisionOp::Pipeline, "high-0", "n0", "high"),
    ];
    let mut other = Watch::default();
    let mut fresh = crowded(2);
    fresh.apply(&set_gang(gang("lower", 1)));
    fresh.apply(&set(running("low-1", "lower", 2, "n0")));
    cycle(&mut other, &mut fresh, 1, &also, &[]);
    assert_eq!(broken(&other), [Invariant::MinimalVictims]);

    cycle(&mut watch, &mut books, 3, &[shuffle("low-0")], &[]);
    assert_eq!(broken(&watch), [Invariant::NoRepeatEviction]);
}

#[test]
fn an_eviction_is_paid_back_when_the_gang_is_bound() {
    let mut watch = Watch::default();
    let mut books = crowded(2);
    let preempt = [
        evict_for("high", "low-0", "n0", "low"),
        decide(DecisionOp::Pipeline, "high-0", "n0", "high"),
    ];
    let effect = [leaving("low-0", "low", 2, "n0"), held("high-0", "high", 2, "n0")];
    cycle(&mut watch, &mut books, 1, &preempt, &effect);
    let bind = [decide(DecisionOp::Bind, "high-0", "n0", "high")];
    let effect = [gone("low-0"), set(running("high-0", "high", 2, "n0"))];
    cycle(&mut watch, &mut books, 2, &bind, &effect);
    watch.finish(&books);
    assert_eq!(watch.violations(), []);
}

#[test]
fn an_eviction_for_a_gang_that_never_comes_is_useless() {
    let preempt = [
        evict_for("high", "low-0", "n0", "low"),
        decide(DecisionOp::Pipeline, "high-0", "n0", "high"),
    ];
    let run = |entry: Option<TimelineEntry>| {
        let mut watch = Watch::default();
        let mut books = crowded(2);
        let effect = [leaving("low-0", "low", 2, "n0"), held("high-0", "high", 2, "n0")];
        cycle(&mut watch, &mut books, 1, &preempt, &effect);
        let unfinished = books.clone();
        books.apply(&gone("low-0"));
        if let Some(entry) = entry {
            watch.timeline(&books, &entry);
        }
        let mut cut_short = Watch::default();
        std::mem::swap(&mut cut_short, &mut watch);
        (cut_short, books, unfinished)
    };
    let (mut watch, books, _) = run(None);
    watch.finish(&books);
    assert_eq!(broken(&watch), [Invariant::NoUselessEviction]);

    let (mut watch, _, unfinished) = run(None);
    watch.finish(&unfinished);
    assert_eq!(broken(&watch), [], "the victim is still leaving: the run was too short to tell");

    let (mut watch, books, _) = run(Some(TimelineEntry::default()));
    watch.finish(&books);
    assert_eq!(broken(&watch), [], "the timeline explains it");
}

#[test]
fn every_victim_must_be_needed() {
    let place = decide(DecisionOp::Pipeline, "high-0", "n0", "high");
    let both =
        [evict_for("high", "low-0", "n0", "low"), evict_for("high", "low-1", "n0", "low"), place];
    let mut watch = Watch::default();
    // The gang of minimum one is gone whole, so it is one unit, and some of it is needed.
    cycle(&mut watch, &mut crowded(2), 1, &both, &[]);
    assert_eq!(broken(&watch), []);

    // Two gangs of one: either would do for two cpus, both are needed for four.
    let apart = |cpus| {
        let mut books = crowded(cpus);
        books.apply(&set_gang(gang("lower", 1)));
        books.apply(&set(running("low-1", "lower", 2, "n0")));
        books
    };
    let mut watch = Watch::default();
    cycle(&mut watch, &mut apart(4), 1, &both, &[]);
    assert_eq!(broken(&watch), []);
    cycle(&mut watch, &mut apart(2), 1, &both, &[]);
    assert!(
        broken(&watch)
            .iter()
            .all(|rule| *rule == Invariant::MinimalVictims || *rule == Invariant::NoRepeatEviction)
    );
    assert!(broken(&watch).contains(&Invariant::MinimalVictims));
}

#[test]
fn surplus_pods_of_a_gang_are_judged_one_by_one() {
    let mut books = books(&[
        node("n0", 4),
        set_gang(gang("elastic", 1)),
        set(running("e-0", "elastic", 1, "n0")),
        set(running("e-1", "elastic", 1, "n0")),
        set(running("e-2", "elastic", 1, "n0")),
        set(running("e-3", "elastic", 1, "n0")),
        set_gang(gang("high", 1)),
        set(pod("high-0", "high", 1)),
    ]);
    let decisions = [
        evict_for("high", "e-0", "n0", "elastic"),
        evict_for("high", "e-1", "n0", "elastic"),
        decide(DecisionOp::Pipeline, "high-0", "n0", "high"),
    ];
    let mut watch = Watch::default();
    cycle(&mut watch, &mut books, 1, &decisions, &[]);
    assert_eq!(broken(&watch), [Invariant::MinimalVictims; 2]);
    assert!(watch.violations()[0].sentence.contains("without evicting default/e-0"));
}

#[test]
fn a_victim_that_frees_the_queue_is_needed_wherever_it_ran() {
    let mut limited = queue("default");
    limited.capability = Some(only_cpu(4));
    let mut books = books(&[
        node("n0", 4),
        node("n1", 4),
        set_queue(limited),
        set_gang(gang("low", 1)),
        set(running("low-0", "low", 4, "n0")),
        set_gang(gang("high", 1)),
        set(pod("high-0", "high", 4)),
    ]);
    let decisions = [
        evict_for("high", "low-0", "n0", "low"),
        decide(DecisionOp::Pipeline, "high-0", "n1", "high"),
    ];
    let mut watch = Watch::default();
    cycle(&mut watch, &mut books, 1, &decisions, &[]);
    assert_eq!(broken(&watch), []);
}

#[test]
fn a_victim_may_be_needed_for_the_due_where_none_goes_beyond_it() {
    let decisions = [
        evict_for("high", "low-0", "n0", "low"),
        decide(DecisionOp::Pipeline, "high-0", "n1", "high"),
    ];
    let mut state = crowded(2);
    state.apply(&node("n1", 4));
    let mut watch = Watch::default();
    cycle(&mut watch, &mut state.clone(), 1, &decisions, &[]);
    assert_eq!(broken(&watch), [Invariant::MinimalVictims]);
    let mut watch = Watch::default();
    watch.hear_dues(BTreeMap::from([("default".into(), only_cpu(4))]));
    cycle(&mut watch, &mut state, 1, &decisions, &[]);
    assert_eq!(broken(&watch), []);
}

#[test]
fn a_victim_may_be_needed_for_a_port_or_for_its_company() {
    let decisions = [
        evict_for("high", "low-0", "n0", "low"),
        decide(DecisionOp::Pipeline, "high-0", "n0", "high"),
    ];
    let judged = |stays: InterPodFacts, comes: InterPodFacts| {
        let mut low = running("low-0", "low", 1, "n0");
        low.labels = vec![("app".into(), "low".into())];
        low.constraints.interpod = stays;
        let mut high = pod("high-0", "high", 1);
        high.constraints.interpod = comes;
        let mut state = books(&[
            node("n0", 4),
            set_gang(gang("low", 1)),
            set(low),
            set_gang(gang("high", 1)),
            set(high),
        ]);
        let mut watch = Watch::default();
        cycle(&mut watch, &mut state, 1, &decisions, &[]);
        broken(&watch)
    };
    let ports = |port: u16, address: Option<&str>| {
        let address = address.map(Into::into);
        let ports = vec![HostPort { port, protocol: Protocol::Tcp, address }];
        InterPodFacts { ports, ..InterPodFacts::default() }
    };
    let away = |value: &str, key: &str| {
        let app =
            Requirement { key: "app".into(), operator: Operator::In, values: vec![value.into()] };
        let pods = PodSelector(vec![SelectorPart {
            namespaces: vec!["default".into()],
            namespace_labels: None,
            labels: Some(vec![app]),
        }]);
        let anti_affinity = vec![InterPodTerm { pods, topology_key: key.into() }];
        InterPodFacts { anti_affinity, ..InterPodFacts::default() }
    };
    let none = InterPodFacts::default;
    assert_eq!(judged(ports(80, None), ports(80, Some("10.0.0.1"))), []);
    assert_eq!(judged(none(), away("low", "host")), []);
    let useless = [Invariant::MinimalVictims];
    assert_eq!(judged(none(), none()), useless);
    assert_eq!(judged(ports(80, None), ports(81, None)), useless);
    assert_eq!(judged(ports(80, Some("10.0.0.1")), ports(80, Some("10.0.0.2"))), useless);
    assert_eq!(judged(none(), away("other", "host")), useless);
    assert_eq!(judged(none(), away("low", "zone")), useless, "the node has no such label");
    assert_eq!(judged(away("low", "host"), none()), useless, "it means itself");
}

#[test]
fn what_others_do_later_in_the_cycle_accuses_nobody() {
    // `a` needs the cpu of `v`; later `b` evicts three cpus and takes two, which would leave room
    // for `v` after all.
    let mut books = books(&[
        node("n0", 4),
        set_gang(gang("v", 1)),
        set(running("v-0", "v", 1, "n0")),
        set_gang(gang("w", 1)),
        set(running("w-0", "w", 3, "n0")),
        set_gang(gang("a", 1)),
        set(pod("a-0", "a", 1)),
        set_gang(gang("b", 1)),
        set(pod("b-0", "b", 2)),
    ]);
    let decisions = [
        evict_for("a", "v-0", "n0", "v"),
        decide(DecisionOp::Pipeline, "a-0", "n0", "a"),
        evict_for("b", "w-0", "n0", "w"),
        decide(DecisionOp::Pipeline, "b-0", "n0", "b"),
    ];
    let mut watch = Watch::default();
    cycle(&mut watch, &mut books, 1, &decisions, &[]);
    assert_eq!(broken(&watch), []);
}

fn half_bound(roles: &[(&str, u32)]) -> (Watch, Books) {
    let mut group = gang("g", 2);
    group.min_task_member = roles.iter().map(|(role, min)| ((*role).into(), *min)).collect();
    let mut books =
        books(&[node("n0", 4), set_gang(group), set(pod("g-0", "g", 1)), set(pod("g-1", "g", 1))]);
    let mut watch = Watch::default();
    let bind = [decide(DecisionOp::Bind, "g-0", "n0", "g")];
    cycle(&mut watch, &mut books, 1, &bind, &[set(running("g-0", "g", 1, "n0"))]);
    (watch, books)
}

#[test]
fn no_gang_ends_half_bound() {
    let (mut watch, books) = half_bound(&[]);
    watch.finish(&books);
    assert_eq!(broken(&watch), [Invariant::AllOrNothing]);
}

#[test]
fn a_finished_member_counts_towards_the_minimum() {
    let (mut watch, mut books) = half_bound(&[]);
    let mut done = running("g-1", "g", 1, "n0");
    done.phase = PodPhase::Succeeded;
    books.apply(&set(done));
    watch.finish(&books);
    assert_eq!(broken(&watch), []);
}

#[test]
fn roles_count_only_within_the_gangs_minimum() {
    let finish = |roles: &[(&str, u32)]| {
        let (mut watch, mut books) = half_bound(roles);
        books.apply(&set(running("g-1", "g", 1, "n0")));
        watch.finish(&books);
        broken(&watch)
    };
    assert_eq!(finish(&[("driver", 1)]), [Invariant::AllOrNothing]);
    assert_eq!(finish(&[("driver", 3)]), []);
}

#[test]
fn what_the_timeline_did_to_a_gang_is_excused() {
    let entries = [
        TimelineEntry {
            delete: vec![Deletion { kind: ObjectKind::Pod, key: key("g-1") }],
            ..TimelineEntry::default()
        },
        TimelineEntry {
            fail_bind: vec![FailBind { pod: key("g-1"), times: None }],
            ..TimelineEntry::default()
        },
    ];
    for entry in entries {
        let (mut watch, books) = half_bound(&[]);
        watch.timeline(&books, &entry);
        watch.finish(&books);
        assert_eq!(broken(&watch), []);
    }
}

#[test]
fn a_gang_half_bound_from_the_start_and_left_alone_is_nobodys_fault() {
    let books = books(&[
        node("n0", 4),
        set_gang(gang("g", 2)),
        set(running("g-0", "g", 1, "n0")),
        set(pod("g-1", "g", 1)),
    ]);
    let mut watch = Watch::default();
    watch.finish(&books);
    assert_eq!(broken(&watch), []);
}

#[test]
fn a_node_may_not_be_bound_beyond_its_room() {
    let mut books = books(&[node("n0", 2), set(pod("a", "a", 1)), set(pod("b", "b", 2))]);
    let mut watch = Watch::default();
    let bind = [decide(DecisionOp::Bind, "a", "n0", "a")];
    cycle(&mut watch, &mut books, 1, &bind, &[set(running("a", "a", 1, "n0"))]);
    assert_eq!(broken(&watch), []);
    let bind = [decide(DecisionOp::Bind, "b", "n0", "b")];
    cycle(&mut watch, &mut books, 2, &bind, &[set(running("b", "b", 2, "n0"))]);
    assert_eq!(broken(&watch), [Invariant::NodeBounds]);
    assert_eq!(watch.violations()[0].sentence, "node n0 has 2 cpu and its pods ask for 3");
}

#[test]
fn a_node_the_timeline_made_too_small_is_excused() {
    let mut books = books(&[node("n0", 2), set(running("a", "a", 2, "n0"))]);
    books.apply(&node("n0", 1));
    let mut watch = Watch::default();
    cycle(&mut watch, &mut books, 1, &[], &[]);
    assert_eq!(broken(&watch), []);
}

#[test]
fn no_queue_is_bound_above_its_capability_nor_those_above_it() {
    let mut parent = queue("team");
    parent.capability = Some(only_cpu(3));
    let mut child = queue("child");
    child.parent = Some("team".into());
    let mut group = gang("g", 1);
    group.queue = Some("child".into());
    let mut books = books(&[
        node("n0", 8),
        set_queue(parent),
        set_queue(child),
        set_gang(group),
        set(running("g-0", "g", 2, "n0")),
        set(pod("g-1", "g", 2)),
    ]);
    let mut watch = Watch::default();
    let bind = [decide(DecisionOp::Bind, "g-1", "n0", "g")];
    cycle(&mut watch, &mut books, 1, &bind, &[set(running("g-1", "g", 2, "n0"))]);
    assert_eq!(broken(&watch), [Invariant::QueueBounds]);
    assert_eq!(watch.violations()[0].sentence, "queue team uses 4 cpu, its capability is 3");
}

#[test]
fn no_reclaim_pushes_a_queue_below_its_guarantee() {
    let run = |guarantee| {
        let mut donor = queue("donor");
        donor.guarantee = Some(only_cpu(guarantee));
        let mut low = gang("low", 1);
        low.queue = Some("donor".into());
        let mut books = books(&[
            node("n0", 4),
            set_queue(donor),
            set_queue(queue("default")),
            set_gang(low),
            set(running("low-0", "low", 2, "n0")),
            set(running("low-1", "low", 2, "n0")),
            set_gang(gang("high", 1)),
            set(pod("high-0", "high", 2)),
        ]);
        let evict = evict_for("high", "low-0", "n0", "low");
        let decisions = [
            ruled(evict, |ruling| ruling.action = "reclaim"),
            decide(DecisionOp::Pipeline, "high-0", "n0", "high"),
        ];
        let mut watch = Watch::default();
        cycle(&mut watch, &mut books, 1, &decisions, &[]);
        broken(&watch)
    };
    assert_eq!(run(2), []);
    assert_eq!(run(3), [Invariant::QueueBounds]);
}

fn racks() -> Books {
    let mut close = gang("g", 2);
    let tier = Some(TierRef::Number(1));
    close.topology = Some(TopologyWish { mode: TopologyMode::Hard, tier });
    books(&[
        node("n0", 4),
        node("n1", 4),
        node("n2", 4),
        domain("rack0", 1, &["n0", "n1"]),
        domain("rack1", 1, &["n2"]),
        set_gang(close),
        set(pod("g-0", "g", 1)),
        set(pod("g-1", "g", 1)),
    ])
}

#[test]
fn a_hard_topology_gang_stays_within_one_domain() {
    let place = |first: &str, second: &str| {
        let mut books = racks();
        let mut watch = Watch::default();
        let decisions = [
            decide(DecisionOp::Bind, "g-0", first, "g"),
            decide(DecisionOp::Pipeline, "g-1", second, "g"),
        ];
        let effect = [set(running("g-0", "g", 1, first)), held("g-1", "g", 1, second)];
        cycle(&mut watch, &mut books, 1, &decisions, &effect);
        broken(&watch)
    };
    assert_eq!(place("n0", "n1"), []);
    assert_eq!(place("n0", "n2"), [Invariant::HardTopology]);
}

#[test]
fn a_subgroup_with_a_hard_wish_stays_within_one_domain() {
    let place = |subgroup: Option<TopologyMode>, second: &str| {
        let wish = |mode| TopologyWish { mode, tier: Some(TierRef::Number(1)) };
        let mut books = racks();
        let mut group = gang("g", 2);
        group.topology =
            Some(TopologyWish { tier: Some(TierRef::Number(2)), ..wish(TopologyMode::Hard) });
        group.subgroups = vec![halves(subgroup.map(wish))];
        books.apply(&set_gang(group));
        let mut watch = Watch::default();
        let half = |mut pod: PodFacts| {
            pod.labels = vec![("half".into(), "a".into())];
            set(pod)
        };
        let decisions = [
            decide(DecisionOp::Bind, "g-0", "n0", "g"),
            decide(DecisionOp::Bind, "g-1", second, "g"),
        ];
        let effect = [half(running("g-0", "g", 1, "n0")), half(running("g-1", "g", 1, second))];
        cycle(&mut watch, &mut books, 1, &decisions, &effect);
        broken(&watch)
    };
    assert_eq!(place(Some(TopologyMode::Hard), "n1"), []);
    assert_eq!(place(Some(TopologyMode::Hard), "n2"), [Invariant::HardTopology]);
    assert_eq!(place(Some(TopologyMode::Soft), "n2"), []);
    assert_eq!(place(None, "n2"), []);
}

#[test]
fn a_gang_that_others_set_apart_is_excused() {
    let mut books = racks();
    books.apply(&set(running("g-0", "g", 1, "n0")));
    books.apply(&set(running("g-1", "g", 1, "n2")));
    books.apply(&set(pod("g-2", "g", 1)));
    let mut watch = Watch::default();
    let decisions = [decide(DecisionOp::Bind, "g-2", "n0", "g")];
    cycle(&mut watch, &mut books, 1, &decisions, &[set(running("g-2", "g", 1, "n0"))]);
    assert_eq!(broken(&watch), []);
}

#[test]
fn a_wrong_total_is_a_breach_of_the_ledger() {
    let mut watch = Watch::default();
    watch.ledger(vec!["node n0: used 2, pods add up to 3".into()], 4);
    assert_eq!(broken(&watch), [Invariant::Ledger]);
    assert_eq!(watch.violations()[0].cycle, 4);
}
