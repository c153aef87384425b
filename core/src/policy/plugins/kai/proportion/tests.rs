//! Who is served first, and what a queue may take.

use super::*;
use crate::config::Arguments;
use crate::config::Gates;
use crate::delta::{OverQuotaTerms, OverQuotaWeights, QueueFacts};
use crate::policy::testing::{Bed, config, job};
use crate::policy::{OrderKey, PluginConfig, Policies};
use crate::resource::{Dim, Quantity, ResourceNames};
use crate::verdict::{Reason, Verdict};

const GPU: &str = "nvidia.com/gpu";

/// A world in which the plugin divides.
fn bed() -> Bed {
    let plugin =
        PluginConfig { spec: &SPEC, gates: Gates::default(), arguments: Arguments::default() };
    let mut bed = Bed::with(&config(vec![plugin], &[]));
    bed.class("train", 50).class("build", 100);
    bed
}

/// A queue of KAI's with that many GPUs as quota and as limit; none is unlimited, as cpu and memory are.
fn kai(queue: &mut QueueFacts, quota: Option<i64>, limit: Option<i64>) {
    let gpus = |units: Option<i64>| {
        Some(units.map(|units| (GPU.into(), Quantity::from_units(units))).into_iter().collect())
    };
    queue.deserved = gpus(quota);
    queue.capability = gpus(limit);
    queue.priority = 100;
    let one = 1_000_000;
    let weights = OverQuotaWeights { cpu: one, memory: one, gpu: one };
    queue.over_quota = Some(Box::new(OverQuotaTerms { weights, ..OverQuotaTerms::default() }));
}

fn gpus(units: i64) -> Vec<(crate::ids::Name, Quantity)> {
    vec![(GPU.into(), Quantity::from_units(units))]
}

/// A job of so many pods of a GPU each, of which the first ones run.
fn jobs_of(bed: &mut Bed, name: &str, queue: &str, class: &str, pods: [usize; 2]) {
    bed.group(name, pods[1] as u32, |group| {
        group.queue = Some(queue.into());
        group.priority_class = Some(class.into());
    });
    for index in 0..pods[1] {
        let node = (index < pods[0]).then_some("n");
        bed.pod(name, index, node, |pod| pod.request = gpus(1));
    }
}

/// What the queues have as fair share of GPUs.
fn shares(bed: Bed, queues: &'static [&'static str]) -> Vec<i64> {
    bed.look(move |cluster, directory| {
        let gpu = |name: &&str| {
            let queue = cluster.queue(directory.queues[*name]);
            let due = queue.deserved.0.as_ref().expect("it was divided");
            due.iter().find(|(dim, _)| *dim != Dim::CPU && *dim != Dim::MEMORY).unwrap().1 / 1000
        };
        queues.iter().map(gpu).collect()
    })
}

#[test]
fn queues_divide_level_by_level() {
    let mut bed = bed();
    bed.node("n", &[(GPU, 10)]);
    bed.queue("a", |queue| kai(queue, Some(2), None)).queue("b", |queue| kai(queue, Some(4), None));
    for name in ["a1", "a2"] {
        bed.queue(name, |queue| {
            kai(queue, Some(0), None);
            queue.parent = Some("a".into());
        });
    }
    jobs_of(&mut bed, "one", "a1", "train", [0, 9]);
    jobs_of(&mut bed, "two", "a2", "train", [0, 1]);
    jobs_of(&mut bed, "other", "b", "train", [0, 9]);
    assert_eq!(shares(bed, &["a", "b", "a1", "a2"]), [4, 6, 3, 1]);
}

#[test]
fn gated_pods_have_no_share() {
    let mut bed = bed();
    bed.node("n", &[(GPU, 10)]).queue("a", |queue| kai(queue, Some(0), None));
    jobs_of(&mut bed, "one", "a", "train", [0, 2]);
    bed.pod("one", 2, None, |pod| {
        pod.request = gpus(1);
        pod.gates = vec!["g".into()];
    });
    assert_eq!(shares(bed, &["a"]), [2]);
}

/// What the plugin answers to a job that asks for so many GPUs.
fn answer(bed: Bed, name: &'static str, units: i64) -> Result<(), Verdict> {
    bed.look(move |cluster, directory| {
        let mut names = ResourceNames::default();
        let resources = SharedResources::new(&mut names);
        let plugin = KaiProportion { resources, usage_weight: 0, multiplier: MILLION };
        let request = names.vector(&gpus(units));
        let job = cluster.job(job(directory, name));
        crate::policy::AllocatablePlugin::allocatable(&plugin, cluster, &names, &job, &request)
    })
}

#[test]
fn limits_hold_on_every_level_and_quotas_for_work_that_makes_way_for_nobody() {
    let world = || {
        let mut bed = bed();
        bed.node("n", &[(GPU, 10)]);
        bed.queue("top", |queue| kai(queue, Some(3), Some(6)));
        for (name, quota) in [("a", 4), ("b", 1)] {
            bed.queue(name, |queue| {
                kai(queue, Some(quota), None);
                queue.parent = Some("top".into());
            });
        }
        jobs_of(&mut bed, "firm", "a", "build", [2, 3]);
        jobs_of(&mut bed, "soft", "b", "train", [2, 3]);
        jobs_of(&mut bed, "lost", "top", "train", [0, 1]);
        bed
    };
    assert_eq!(answer(world(), "firm", 1), Ok(()));
    assert_eq!(answer(world(), "soft", 2), Ok(()));
    let refused = |name, units| answer(world(), name, units).expect_err("it is refused");
    assert_eq!(
        refused("soft", 3),
        Verdict::new(
            Reason::QueueOverCapability,
            "queue \"top\" has limit nvidia.com/gpu 6: 4 taken, 3 asked"
        )
    );
    assert_eq!(
        refused("firm", 2),
        Verdict::new(
            Reason::QueueOverQuota,
            "queue \"top\" has quota nvidia.com/gpu 3: 2 taken by jobs that are not preemptible, 2 asked"
        )
    );
    assert_eq!(refused("lost", 1).reason, Reason::NotAdmitted);
}

#[test]
fn queues_of_one_parent_are_compared_before_those_of_different_ones() {
    let plugin =
        PluginConfig { spec: &SPEC, gates: Gates::default(), arguments: Arguments::default() };
    let mut bed = Bed::with(&config(vec![plugin], &["allocate"]));
    bed.node("n", &[(GPU, 3), ("pods", 9)]).class("train", 50);
    for (name, parent, priority) in
        [("low", None, 50), ("high", None, 100), ("a", Some("low"), 200), ("b", Some("high"), 100)]
    {
        bed.queue(name, |queue| {
            kai(queue, Some(0), None);
            queue.parent = parent.map(Into::into);
            queue.priority = priority;
        });
    }
    for name in ["a", "b"] {
        for job in 0..2 {
            jobs_of(&mut bed, &format!("{name}{job}"), name, "train", [0, 1]);
        }
    }
    let placed = bed.look(|cluster, directory| {
        ["a0-0", "a1-0", "b0-0", "b1-0"].map(|name| {
            let task = crate::policy::testing::task(directory, name);
            cluster.task(task).status().0.is_allocated()
        })
    });
    assert_eq!(placed, [true, false, true, true]);
}

/// Names of the queues below one parent in the order they are served, each with its next job.
fn served(bed: Bed, line: &'static [(&'static str, Option<&'static str>)]) -> Vec<&'static str> {
    bed.look(move |cluster, directory| {
        let mut policies = Policies::default();
        let resources = SharedResources::new(&mut ResourceNames::default());
        let plugin = KaiProportion { resources, usage_weight: 0, multiplier: MILLION };
        policies.add((0, "proportion"), std::sync::Arc::new(plugin), Gates::default());
        let standings = policies.standings(cluster);
        let mut keyed: Vec<(OrderKey, &str)> = line
            .iter()
            .map(|&(name, next)| {
                let next = next.map(|next| job(directory, next));
                (policies.queue_key(cluster, &standings, directory.queues[name], next), name)
            })
            .collect();
        keyed.sort();
        keyed.into_iter().map(|(_, name)| name).collect()
    })
}

#[test]
fn a_queue_within_its_quota_goes_before_one_of_higher_priority() {
    let mut bed = bed();
    bed.node("n", &[(GPU, 10)]);
    bed.queue("high", |queue| {
        kai(queue, Some(0), None);
        queue.priority = 200;
    });
    bed.queue("owed", |queue| kai(queue, Some(2), None));
    bed.queue("full", |queue| kai(queue, Some(2), None));
    jobs_of(&mut bed, "h", "high", "train", [0, 1]);
    jobs_of(&mut bed, "o", "owed", "train", [0, 2]);
    jobs_of(&mut bed, "f", "full", "train", [0, 3]);
    let line = &[("high", Some("h")), ("full", Some("f")), ("owed", Some("o"))];
    assert_eq!(served(bed, line), ["owed", "high", "full"]);
}

#[test]
fn beyond_quotas_the_smaller_part_with_the_next_job_goes_first() {
    let mut bed = bed();
    bed.node("n", &[(GPU, 12)]);
    for name in ["a", "b", "c"] {
        bed.queue(name, |queue| kai(queue, Some(1), None));
    }
    jobs_of(&mut bed, "ran-a", "a", "train", [2, 2]);
    jobs_of(&mut bed, "ran-b", "b", "train", [1, 1]);
    jobs_of(&mut bed, "ran-c", "c", "train", [2, 2]);
    jobs_of(&mut bed, "wide", "b", "train", [0, 3]);
    jobs_of(&mut bed, "small", "a", "train", [0, 1]);
    jobs_of(&mut bed, "other", "c", "train", [0, 2]);
    // Shares of 12 are 3, 4 and 4: with the next job that is all of each; without it, a quarter of b.
    let line = &[("a", Some("small")), ("b", Some("wide")), ("c", Some("other"))];
    assert_eq!(served(bed, line), ["b", "c", "a"]);
}

#[test]
fn a_queue_beyond_its_share_of_everything_goes_last() {
    let standing = |has: Amounts, share: Amounts| ShareStanding {
        has,
        share,
        quota: [Some(0); 3],
        limit: [None; 3],
    };
    let total = [10_000, 10_000, 10_000];
    let keys = |standing: &ShareStanding, priority| standing.keys(priority, [0; 3], total);
    let beyond = keys(&standing([5, 5, 5], [4, 4, 4]), 200);
    let in_two = keys(&standing([5, 5, 4], [4, 4, 4]), 100);
    assert!(in_two < beyond);
    // What a queue may have nothing of counts a thousand times.
    let none =
        ShareStanding { quota: [Some(4), Some(4), Some(0)], ..standing([0, 0, 0], [4, 4, 0]) };
    let some = keys(&ShareStanding { has: [1, 0, 0], ..standing([0; 3], [1000, 4, 4000]) }, 100);
    let with_gpu = none.keys(100, [0, 0, 1000], total);
    assert!(some < with_gpu);
    assert_eq!(with_gpu[4], 1000 * crate::world::WHOLE_SHARE);
}

#[test]
fn arguments_have_their_defaults_and_stay_in_range() {
    use crate::config::ArgumentValue;
    use crate::policy::testing::build;
    let weight = |given: Option<f64>| {
        let given = given.map(|value| ("kValue", ArgumentValue::Float(value)));
        build::<KaiProportion>(&SPEC, given).usage_weight
    };
    assert_eq!([None, Some(0.5), Some(0.0), Some(-3.0)].map(weight), [1_000_000, 500_000, 0, 0]);
}

mod reclaim;
