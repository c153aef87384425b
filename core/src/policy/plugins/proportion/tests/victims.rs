//! Who gives back, where queues share by weight.

use std::collections::BTreeMap;

use proptest::prelude::*;

use crate::config::Arguments;
use crate::policy::plugins::proportion::*;
use crate::policy::testing::{Bed, amounts, config, evictor, named, plugin, task, tasks};

type Amounts = &'static [(&'static str, i64)];

/// A cluster of ten CPUs and ten bytes that queues share by weight.
fn bed() -> Bed {
    let mut bed = Bed::with(&config(vec![plugin("proportion", Arguments::default())], &[]));
    bed.node("n", &[("cpu", 10), ("memory", 10)]);
    bed.queue("mine", |_| {}).queue("a", |_| {}).queue("b", |_| {});
    bed
}

fn runs(bed: &mut Bed, queue: &str, count: usize, request: Amounts) {
    bed.group(queue, 0, |group| group.queue = Some(queue.into()));
    for index in 0..count {
        bed.pod(queue, index, Some("n"), |pod| pod.request = amounts(request));
    }
}

/// The queue `mine` asks for a number of CPUs and bytes.
fn wants(bed: &mut Bed, request: Amounts) {
    bed.group("taker", 0, |group| group.queue = Some("mine".into()));
    bed.pod("taker", 0, None, |pod| pod.request = amounts(request));
}

fn gives(bed: Bed, candidates: &'static [&'static str]) -> Vec<String> {
    bed.look(move |cluster, directory| {
        let candidates = tasks(directory, candidates);
        let task = evictor(directory, "taker", Some("taker-0"), EvictPurpose::Reclaim);
        let gang = evictor(directory, "taker", None, EvictPurpose::Reclaim);
        let ballot = Proportion.reclaimable(cluster, &task, &candidates);
        assert_eq!(ballot, Proportion.unified_evictable(cluster, &gang, &candidates));
        let within = evictor(directory, "taker", None, EvictPurpose::Preempt);
        let opinion = Proportion.unified_evictable(cluster, &within, &candidates);
        assert_eq!(opinion, Ballot::Abstain, "within a queue it has none");
        let Ballot::Only(victims) = ballot else { panic!("it has an opinion") };
        named(cluster, &victims)
    })
}

const CPU: Amounts = &[("cpu", 1), ("pods", 1)];
const BOTH: Amounts = &[("cpu", 1), ("memory", 1), ("pods", 1)];
const MEMORY: Amounts = &[("memory", 1), ("pods", 1)];
const NOBODY: [&str; 0] = [];

#[test]
fn a_queue_gives_the_first_candidates_down_to_its_due() {
    let mut bed = bed();
    runs(&mut bed, "a", 6, CPU);
    runs(&mut bed, "b", 2, CPU);
    wants(&mut bed, &[("cpu", 4), ("pods", 1)]);
    // Due: mine 4, a 4, b 2.
    assert_eq!(gives(bed, &["a-5", "b-1", "a-0", "b-0", "a-3"]), ["a-5", "a-0"]);
}

#[test]
fn a_pod_that_holds_nothing_its_queue_has_too_much_of_stays() {
    let mut bed = bed();
    runs(&mut bed, "a", 8, CPU);
    for index in 8..10 {
        bed.pod("a", index, Some("n"), |pod| pod.request = amounts(MEMORY));
    }
    wants(&mut bed, &[("cpu", 4), ("pods", 1)]);
    // Of 10 CPUs mine is due 4 and a 6; nobody else asks for memory.
    assert_eq!(gives(bed, &["a-8", "a-0", "a-9", "a-1", "a-2"]), ["a-0", "a-1"]);
}

#[test]
fn a_pod_larger_than_what_is_too_much_does_not_go_below_the_guarantee() {
    let town = |guarantee: i64| {
        let mut bed = bed();
        bed.queue("a", |queue| {
            let kept = amounts([("cpu", guarantee)]);
            queue.guarantee = Some(kept);
        });
        runs(&mut bed, "a", 2, &[("cpu", 3), ("pods", 1)]);
        wants(&mut bed, &[("cpu", 9), ("pods", 1)]);
        gives(bed, &["a-0", "a-1"])
    };
    // It has 6 and is due 5: one of its pods of 3 goes, if 3 are enough for its guarantee.
    assert_eq!(town(3), ["a-0"]);
    assert_eq!(town(4), NOBODY);
}

#[test]
fn a_queue_that_is_not_reclaimable_gives_nothing() {
    let mut bed = bed();
    bed.queue("a", |queue| queue.reclaimable = false);
    runs(&mut bed, "a", 6, BOTH);
    wants(&mut bed, &[("cpu", 9), ("pods", 1)]);
    assert_eq!(gives(bed, &["a-0"]), NOBODY);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    /// Queue by queue: while it has more than its due of something the next pod holds, that pod goes.
    #[test]
    fn victims_are_those_of_a_count_per_queue(
        pods in prop::collection::vec((0..2usize, 0i64..3, 0i64..3), 1..9),
        asked in (0i64..8, 0i64..8),
        guarantees in [0i64..4, 0..4],
    ) {
        let mut bed = bed();
        for (name, guarantee) in ["a", "b"].into_iter().zip(guarantees) {
            bed.queue(name, |queue| queue.guarantee = Some(amounts([("cpu", guarantee)])));
            bed.group(name, 0, |group| group.queue = Some(name.into()));
        }
        let name = |at: usize, queue: usize| format!("{}-{at}", ["a", "b"][queue]);
        for (at, &(queue, cpu, memory)) in pods.iter().enumerate() {
            let request = amounts([("cpu", cpu), ("memory", memory), ("pods", 1)]);
            bed.pod(["a", "b"][queue], at, Some("n"), |pod| pod.request = request);
        }
        bed.group("taker", 0, |group| group.queue = Some("mine".into()));
        let request = amounts([("cpu", asked.0), ("memory", asked.1), ("pods", 1)]);
        bed.pod("taker", 0, None, |pod| pod.request = request);
        let (found, plain) = bed.look(move |cluster, directory| {
            let candidates: Vec<Entity> =
                pods.iter().enumerate().map(|(at, pod)| task(directory, &name(at, pod.0))).collect();
            let evictor = evictor(directory, "taker", Some("taker-0"), EvictPurpose::Reclaim);
            let ballot = Proportion.reclaimable(cluster, &evictor, &candidates);
            let mut plain = Vec::new();
            let mut gone: BTreeMap<usize, [i64; 3]> = BTreeMap::new();
            for (at, &(queue, cpu, memory)) in pods.iter().enumerate() {
                let holds = [cpu * 1000, memory, 1];
                let item = cluster.queue(directory.queues[["a", "b"][queue]]);
                let lost = gone.entry(queue).or_default();
                let dims = [Dim::CPU, Dim::MEMORY, Dim::PODS];
                let has = |of: usize| item.usage().allocated.get(dims[of]) - lost[of];
                let due = |of: usize| item.deserved.0.as_ref().unwrap().values().get(dims[of]);
                let over = (0..3).any(|of| holds[of] > 0 && has(of) > due(of));
                if over && (cpu == 0 || has(0) - holds[0] >= guarantees[queue] * 1000) {
                    plain.push(candidates[at]);
                    (0..3).for_each(|of| lost[of] += holds[of]);
                }
            }
            (ballot, Ballot::Only(plain))
        });
        prop_assert_eq!(found, plain);
    }
}
