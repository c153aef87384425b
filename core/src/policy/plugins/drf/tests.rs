//! Shares, victims by share, and queues in a tree.

use std::sync::Arc;

use super::*;
use crate::config::Gates;
use crate::ids::Name;
use crate::policy::testing::{Bed, evictor, named, tasks};
use crate::policy::{EvictPurpose, OrderKey, Policies};
use crate::resource::Dim;

fn vector(cpu: i64, memory: i64) -> ResourceVec {
    let mut vector = ResourceVec::default();
    vector.set(Dim::CPU, cpu);
    vector.set(Dim::MEMORY, memory);
    vector
}

#[test]
fn the_larger_part_is_dominant() {
    assert_eq!(dominant_share(&vector(1000, 300), &vector(8000, 1000)), 300_000_000);
    assert_eq!(dominant_share(&vector(4000, 300), &vector(8000, 1000)), 500_000_000);
}

#[test]
fn a_resource_that_vanished_counts_as_held_entirely() {
    assert_eq!(dominant_share(&vector(1, 0), &vector(0, 1000)), 1_000_000_000);
}

fn preempted(rich: usize, poor: usize) -> Vec<String> {
    let mut bed = Bed::new();
    bed.node("n", &[("cpu", 100)]).group("rich", 1, |_| {}).group("poor", 1, |_| {});
    bed.running("rich", rich, "n").running("poor", poor, "n").pod("poor", poor, None, |_| {});
    bed.look(move |cluster, directory| {
        let names: Vec<String> = (0..rich).map(|index| format!("rich-{index}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let task = format!("poor-{poor}");
        let evictor = evictor(directory, "poor", Some(&task), EvictPurpose::Preempt);
        match Drf.preemptable(cluster, &evictor, &tasks(directory, &names)) {
            Ballot::Abstain => panic!("drf has an opinion"),
            Ballot::Only(victims) => named(cluster, &victims),
        }
    })
}

#[test]
fn the_richer_job_gives_until_both_are_even() {
    // Five and one: the poor one would have two, and the rich one keeps at least as many.
    assert_eq!(preempted(5, 1), ["rich-0", "rich-1", "rich-2"]);
    assert_eq!(preempted(3, 1), ["rich-0"]);
    assert_eq!(preempted(2, 1), [""; 0]);
}

/// A queue at a path of names with weights.
fn queue_at(bed: &mut Bed, name: &str, path: &[(&str, u32)]) {
    let path = path.iter().map(|&(name, weight)| (Name::from(name), weight * 1000)).collect();
    bed.queue(name, |queue| queue.hierarchy = path);
}

/// Names of queues, the first to be served first.
fn served(bed: Bed) -> Vec<String> {
    bed.look(|cluster, _| {
        let mut policies = Policies::default();
        policies.add((0, "drf"), Arc::new(Drf), Gates::default());
        let mut queues: Vec<(OrderKey, String)> = cluster
            .queues
            .iter()
            .filter(|queue| !["root", "default"].contains(&&*queue.identity.name))
            .map(|queue| {
                (
                    policies.queue_key(cluster, &policies.standings(cluster), queue.entity, None),
                    queue.identity.name.to_string(),
                )
            })
            .collect();
        queues.sort();
        queues.into_iter().map(|entry| entry.1).collect()
    })
}

fn job_of(bed: &mut Bed, name: &str, queue: &str, running: usize) {
    bed.group(name, 1, |group| group.queue = Some(queue.into()));
    bed.running(name, running, "n").pod(name, running, None, |_| {});
}

#[test]
fn branches_count_before_what_is_below_them() {
    let mut bed = Bed::new();
    bed.node("n", &[("cpu", 100)]);
    queue_at(&mut bed, "sales-a", &[("sales", 1), ("a", 1)]);
    queue_at(&mut bed, "sales-b", &[("sales", 1), ("b", 1)]);
    queue_at(&mut bed, "lab", &[("lab", 1)]);
    job_of(&mut bed, "a", "sales-a", 6);
    job_of(&mut bed, "b", "sales-b", 1);
    job_of(&mut bed, "l", "lab", 4);
    // a is scaled down to b's share, so that sales counts as 2 and goes before lab with 4; within
    // sales b goes before a.
    assert_eq!(served(bed), ["sales-b", "sales-a", "lab"]);
}

#[test]
fn a_branch_of_twice_the_weight_may_have_twice_as_much() {
    let table = [(5, 3, ["heavy", "light"]), (7, 3, ["light", "heavy"])];
    for (heavy, light, want) in table {
        let mut bed = Bed::new();
        bed.node("n", &[("cpu", 100)]);
        queue_at(&mut bed, "heavy", &[("heavy", 2)]);
        queue_at(&mut bed, "light", &[("light", 1)]);
        job_of(&mut bed, "h", "heavy", heavy);
        job_of(&mut bed, "l", "light", light);
        assert_eq!(served(bed), want, "{heavy} {light}");
    }
}

#[test]
fn a_branch_that_has_all_it_asks_for_goes_last() {
    let mut bed = Bed::new();
    bed.node("n", &[("cpu", 100)]);
    queue_at(&mut bed, "full", &[("full", 1)]);
    queue_at(&mut bed, "rich", &[("rich", 1)]);
    bed.group("f", 1, |group| group.queue = Some("full".into())).running("f", 1, "n");
    job_of(&mut bed, "r", "rich", 9);
    assert_eq!(served(bed), ["rich", "full"]);
}

#[test]
fn queues_take_back_from_branches_that_stay_ahead() {
    let mut bed = Bed::new();
    bed.node("n", &[("cpu", 9)]);
    queue_at(&mut bed, "rich", &[("rich", 1)]);
    queue_at(&mut bed, "poor", &[("poor", 1)]);
    queue_at(&mut bed, "even", &[("even", 1)]);
    job_of(&mut bed, "r", "rich", 4);
    job_of(&mut bed, "e", "even", 2);
    job_of(&mut bed, "p", "poor", 1);
    let victims = bed.look(|cluster, directory| {
        let evictor = evictor(directory, "p", Some("p-1"), EvictPurpose::Reclaim);
        // poor would have 2; rich keeps 3, even would keep 1.
        let candidates = tasks(directory, &["r-0", "e-0", "r-1"]);
        match Drf.reclaimable(cluster, &evictor, &candidates) {
            Ballot::Abstain => panic!("drf has an opinion"),
            Ballot::Only(victims) => named(cluster, &victims),
        }
    });
    assert_eq!(victims, ["r-0", "r-1"]);
}
