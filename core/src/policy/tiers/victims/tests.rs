//! The walk over tiers with plugins that say what they are told to, and the order of victims.

mod moves;

use std::sync::Arc;

use super::*;
use crate::policy::testing::{Bed, evictor, job, named, standard, task, tasks, tiers};
use crate::policy::{EvictPurpose, Plugin, PreemptablePlugin, VictimQueueOrderPlugin, plugin};
use crate::world::QueueReadOnlyItem;

/// A plugin that allows tasks by the number at the end of their names; none abstains.
struct Says(Option<&'static [u64]>);

impl Says {
    fn ballot(&self, cluster: &Cluster<'_, '_>, candidates: &[Entity]) -> Ballot {
        self.0.map_or(Ballot::Abstain, |may| Ballot::Only(numbered(cluster, candidates, may)))
    }
}

/// Those of the tasks whose names end in one of the numbers.
fn numbered(cluster: &Cluster<'_, '_>, tasks: &[Entity], numbers: &[u64]) -> Vec<Entity> {
    let is_one = |task: &Entity| {
        let name = &cluster.task(*task).identity.key.name;
        let number = name.rsplit('-').next().and_then(|text| text.parse().ok());
        number.is_some_and(|number| numbers.contains(&number))
    };
    tasks.iter().copied().filter(is_one).collect()
}

plugin!(Says);

impl Plugin for Says {}

impl PreemptablePlugin for Says {
    fn preemptable(&self, cluster: &Cluster<'_, '_>, _: &Evictor, tasks: &[Entity]) -> Ballot {
        self.ballot(cluster, tasks)
    }
}

type Tier = &'static [Option<&'static [u64]>];

/// Which of `v-0` to `v-3` may go, asked in the order 3, 1, 0, 2.
fn walk(said: &'static [Tier]) -> Vec<String> {
    let mut bed = Bed::new();
    bed.node("n", &[("cpu", 9)]).group("v", 1, |_| {}).group("e", 1, |_| {}).running("v", 4, "n");
    bed.look(move |cluster, directory| {
        let says = |said: Option<&'static [u64]>| ("says", Arc::new(Says(said)) as Arc<dyn Plugin>);
        let tier = |tier: &Tier| tier.iter().copied().map(says).collect();
        let policies = tiers(said.iter().map(tier).collect());
        let candidates = tasks(directory, &["v-3", "v-1", "v-0", "v-2"]);
        let evictor = evictor(directory, "e", None, EvictPurpose::Preempt);
        named(cluster, &policies.preemptable(cluster, &evictor, &candidates))
    })
}

#[test]
fn plugins_of_a_tier_narrow_each_other_and_the_order_of_candidates_stays() {
    assert_eq!(walk(&[&[Some(&[0, 1, 3]), Some(&[3, 0, 2])]]), ["v-3", "v-0"]);
}

#[test]
fn who_abstains_is_not_counted() {
    assert_eq!(walk(&[&[None, Some(&[1]), None]]), ["v-1"]);
    assert_eq!(walk(&[&[None], &[Some(&[2])]]), ["v-2"]);
}

#[test]
fn a_tier_that_names_somebody_decides_alone() {
    assert_eq!(walk(&[&[Some(&[1, 2])], &[Some(&[2, 3])]]), ["v-1", "v-2"]);
}

#[test]
fn naming_nobody_ends_the_tier_and_the_next_one_decides() {
    assert_eq!(walk(&[&[Some(&[1]), Some(&[]), Some(&[2])], &[Some(&[3])]]), ["v-3"]);
}

#[test]
fn answers_with_nobody_in_common_cancel_out_within_the_tier() {
    assert_eq!(walk(&[&[Some(&[1]), Some(&[2]), Some(&[0, 3])], &[Some(&[1])]]), ["v-3", "v-0"]);
    assert_eq!(walk(&[&[Some(&[1]), Some(&[2])], &[Some(&[1])]]), ["v-1"]);
}

#[test]
fn nobody_asked_is_nobody_evicted() {
    assert_eq!(walk(&[]), [""; 0]);
    assert_eq!(walk(&[&[None]]), [""; 0]);
    assert_eq!(walk(&[&[Some(&[])], &[Some(&[])]]), [""; 0]);
}

#[test]
fn a_closed_gate_takes_a_plugin_out_of_one_question_but_there_is_none_for_gangs() {
    let mut bed = Bed::new();
    bed.node("n", &[("cpu", 9)]).group("v", 0, |_| {}).group("e", 1, |_| {}).running("v", 1, "n");
    let seen = bed.look(|cluster, directory| {
        let mut gates = crate::config::Gates::default();
        gates.close(crate::config::Gate::Preemptable);
        let mut policies = Policies::default();
        let (name, gang) = standard("gang");
        policies.add((0, name), gang, gates);
        let evictor = evictor(directory, "e", None, EvictPurpose::Preempt);
        let candidates = tasks(directory, &["v-0"]);
        [
            policies.preemptable(cluster, &evictor, &candidates).len(),
            policies.reclaimable(cluster, &evictor, &candidates).len(),
            policies.unified_evictable(cluster, &evictor, &candidates).len(),
        ]
    });
    assert_eq!(seen, [0, 1, 1]);
}

/// Prefers to evict from the queues of these names, in order.
struct From(&'static [&'static str]);

plugin!(From);

impl Plugin for From {}

impl VictimQueueOrderPlugin for From {
    fn victim_queue_order(
        &self,
        _: &Cluster<'_, '_>,
        queue: &QueueReadOnlyItem<'_, '_>,
        _: Entity,
    ) -> i64 {
        let place = self.0.iter().position(|name| **name == *queue.identity.name);
        place.map_or(i64::MAX, |place| place as i64)
    }
}

/// Two queues of two jobs, one of them without PodGroup; all tasks run.
fn two_queues() -> Bed {
    let mut bed = Bed::new();
    bed.node("n", &[("cpu", 99)]).queue("old", |_| {}).queue("young", |_| {}).class("high", 9);
    bed.group("a", 1, |group| group.queue = Some("old".into()));
    bed.group("b", 1, |group| {
        group.queue = Some("old".into());
        group.priority_class = Some("high".into());
    });
    bed.group("c", 1, |group| group.queue = Some("young".into()));
    bed.group("e", 1, |group| group.queue = Some("old".into()));
    for name in ["a", "b", "c", "gone"] {
        bed.running(name, 2, "n");
    }
    bed
}

const ALL: [&str; 8] = ["a-0", "b-0", "c-0", "gone-0", "gone-1", "c-1", "b-1", "a-1"];

fn sorted(from: &'static [&'static str]) -> Vec<String> {
    two_queues().look(move |cluster, directory| {
        let policies = tiers(vec![vec![standard("priority"), ("from", Arc::new(From(from)))]]);
        let evictor = evictor(directory, "e", None, EvictPurpose::Reclaim);
        let mut victims = tasks(directory, &ALL);
        policies.sort_victims(cluster, &evictor, &mut victims);
        let mut other = tasks(directory, &ALL);
        other.reverse();
        policies.sort_victims(cluster, &evictor, &mut other);
        assert_eq!(victims, other, "the order does not depend on the order given");
        named(cluster, &victims)
    })
}

#[test]
fn victims_go_last_served_first() {
    // Tasks of a group that is gone, then the younger queue, then the less important job.
    let want = ["gone-1", "gone-0", "c-1", "c-0", "a-1", "a-0", "b-1", "b-0"];
    assert_eq!(sorted(&[]), want);
}

#[test]
fn a_plugin_may_say_from_which_queue_first() {
    let want = ["gone-1", "gone-0", "a-1", "a-0", "b-1", "b-0", "c-1", "c-0"];
    assert_eq!(sorted(&["old", "young"]), want);
}

#[test]
fn an_evictor_knows_its_queue() {
    let (queue, of_job) = two_queues().look(|cluster, directory| {
        let evictor = evictor(directory, "e", Some("a-0"), EvictPurpose::Preempt);
        assert_eq!(evictor.task, Some(task(directory, "a-0")));
        (evictor.queue(cluster), cluster.job(job(directory, "a")).spec.queue)
    });
    assert_eq!(queue, of_job);
}
