//! Who takes back from whom.

use super::*;
use crate::policy::testing::{evictor, named, tasks};
use crate::policy::{Ballot, EvictPurpose, PreemptivePlugin, UnifiedEvictablePlugin};

fn rules(multiplier: u64) -> KaiProportion {
    let resources = SharedResources::new(&mut ResourceNames::default());
    KaiProportion { resources, usage_weight: 0, multiplier }
}

/// Who of the running pods may go for a job, asked in that order.
fn victims(bed: Bed, job: &'static str, asked: &'static [&'static str]) -> Vec<String> {
    bed.look(move |cluster, directory| {
        let candidates = tasks(directory, asked);
        let evictor = evictor(directory, job, None, EvictPurpose::Reclaim);
        match rules(MILLION).unified_evictable(cluster, &evictor, &candidates) {
            Ballot::Abstain => panic!("it has an opinion"),
            Ballot::Only(victims) => named(cluster, &victims),
        }
    })
}

/// May the job take back so many GPUs?
fn may_take(bed: Bed, name: &'static str, units: i64) -> bool {
    bed.look(move |cluster, directory| {
        let mut names = ResourceNames::default();
        SharedResources::new(&mut names);
        let request = names.vector(&gpus(units));
        rules(MILLION).preemptive(cluster, &cluster.job(job(directory, name)), &request)
    })
}

/// Single pods of a queue that run.
fn singles(bed: &mut Bed, queue: &str, count: usize) {
    for at in 0..count {
        jobs_of(bed, &format!("{queue}{at}"), queue, "train", [1, 1]);
    }
}

/// Two queues of quota 2 and 2 among 8 GPUs, of which the second runs all.
fn crowded(wants: usize) -> Bed {
    let mut bed = bed();
    bed.node("n", &[(GPU, 8), ("pods", 50)]);
    bed.queue("poor", |queue| kai(queue, Some(2), None));
    bed.queue("rich", |queue| kai(queue, Some(2), None));
    singles(&mut bed, "rich", 8);
    jobs_of(&mut bed, "asks", "poor", "train", [0, wants]);
    bed
}

#[test]
fn a_queue_takes_back_up_to_its_fair_share() {
    // 2 and 2, and 2 each of what is left.
    for (units, may) in [(4, true), (5, false)] {
        assert_eq!(may_take(crowded(6), "asks", units), may, "{units}");
    }
}

#[test]
fn work_that_makes_way_for_nobody_takes_back_within_quotas_only() {
    for (units, may) in [(2, true), (3, false)] {
        let mut bed = crowded(6);
        jobs_of(&mut bed, "firm", "poor", "build", [0, 6]);
        assert_eq!(may_take(bed, "firm", units), may, "{units}");
    }
}

#[test]
fn a_queue_gives_down_to_its_fair_share_and_to_its_quota_where_another_is_owed() {
    const ALL: &[&str] =
        &["rich0-0", "rich1-0", "rich2-0", "rich3-0", "rich4-0", "rich5-0", "rich6-0"];
    // With three pods the taker is beyond its quota: the giver keeps its fair share of 5.
    assert_eq!(victims(crowded(3), "asks", ALL), ALL[..3]);
    // With two it is owed, and the giver keeps its quota.
    assert_eq!(victims(crowded(2), "asks", ALL), ALL[..6]);
}

#[test]
fn the_rest_of_a_gang_goes_as_one() {
    const ALL: &[&str] = &["gang-0", "gang-1", "gang-2", "gang-3", "gang-4", "gang-5"];
    let world = |min: usize| {
        let mut bed = bed();
        bed.node("n", &[(GPU, 8), ("pods", 50)]);
        bed.queue("poor", |queue| kai(queue, Some(4), None));
        bed.queue("rich", |queue| kai(queue, Some(4), None));
        bed.group("gang", min as u32, |group| {
            group.queue = Some("rich".into());
            group.priority_class = Some("train".into());
        });
        for index in 0..6 {
            bed.pod("gang", index, Some("n"), |pod| pod.request = gpus(1));
        }
        jobs_of(&mut bed, "asks", "poor", "train", [0, 4]);
        bed
    };
    // Two pods bring it down to its quota, and then there is no reason for the other four to go.
    assert_eq!(victims(world(4), "asks", ALL), ALL[..2]);
    // After one it still has too much, so the rest goes.
    assert_eq!(victims(world(5), "asks", ALL), ALL);
}

#[test]
fn a_queue_that_has_too_much_of_something_else_only_gives_nothing_to_one_within_its_quota() {
    let world = |rich_gpus: usize| {
        let mut bed = bed();
        bed.node("n", &[(GPU, 8), ("cpu", 8), ("pods", 50)]);
        bed.queue("poor", |queue| kai(queue, Some(4), None));
        bed.queue("rich", |queue| {
            kai(queue, Some(4), None);
            queue.deserved.as_mut().unwrap().push(("cpu".into(), Quantity::from_units(1)));
        });
        jobs_of(&mut bed, "a", "rich", "train", [rich_gpus, rich_gpus]);
        bed.group("cpus", 1, |group| group.queue = Some("rich".into()));
        bed.pod("cpus", 0, Some("n"), |pod| {
            pod.request = vec![("cpu".into(), Quantity::from_units(4))];
        });
        jobs_of(&mut bed, "asks", "poor", "train", [0, 2]);
        bed
    };
    assert_eq!(victims(world(2), "asks", &["a-0"]), Vec::<String>::new());
    assert_eq!(victims(world(5), "asks", &["a-0", "a-1", "a-2", "a-3", "a-4"]).len(), 5);
}

/// Two departments with shares of 5 GPUs and 5 cores each, of which the second holds 8 cores; the first runs
/// so many GPUs, the second the others, and the first wants one more.
fn departments(first_runs: usize) -> Vec<String> {
    let mut bed = bed();
    bed.node("n", &[(GPU, 10), ("cpu", 10), ("pods", 50)]);
    for (name, parent) in
        [("one", None), ("two", None), ("a", Some("one")), ("b", Some("one")), ("c", Some("two"))]
    {
        bed.queue(name, |queue| {
            kai(queue, Some(0), None);
            queue.deserved.as_mut().unwrap().push(("cpu".into(), Quantity::ZERO));
            queue.parent = parent.map(Into::into);
        });
    }
    let cores = || vec![("cpu".into(), Quantity::from_units(8))];
    for (name, queue, node) in [("waits", "b", None), ("holds", "c", Some("n"))] {
        bed.group(name, 1, |group| group.queue = Some(queue.into()));
        bed.pod(name, 0, node, |pod| pod.request = cores());
    }
    singles(&mut bed, "b", first_runs);
    singles(&mut bed, "c", 10 - first_runs);
    jobs_of(&mut bed, "asks", "a", "train", [0, 1]);
    victims(bed, "asks", &["c0-0"])
}

#[test]
fn a_department_beyond_its_share_stays_behind_those_it_takes_from() {
    // The second gives for its cores in any case. With 5 of 5 GPUs the first is within its share.
    assert_eq!(departments(4), ["c0-0"]);
    // With 6 of 5 it would be beyond, and the second would have 4 of 5.
    assert_eq!(departments(5), Vec::<String>::new());
}

#[test]
fn parts_of_shares_are_compared_with_the_multiplier() {
    let (own, other) = ((6, 5), (13, 10));
    assert!(rules(MILLION).is_behind(own, other));
    assert!(!rules(2 * MILLION).is_behind(own, other));
    assert!(!rules(MILLION).is_behind(own, (12, 10)));
    assert!(rules(MILLION).is_behind((5, 5), (0, 10)));
    assert!(rules(MILLION).is_behind(own, (0, 0)));
    assert!(!rules(MILLION).is_behind((1, 0), (99, 1)));
}

#[test]
fn a_set_of_victims_is_judged_as_a_whole_whatever_its_order() {
    const ONE_WAY: &[&str] = &["rich0-0", "gang-0", "gang-1"];
    const OTHER_WAY: &[&str] = &["gang-1", "rich0-0", "gang-0"];
    let world = || {
        let mut bed = bed();
        bed.node("n", &[(GPU, 8), ("pods", 50)]);
        bed.queue("poor", |queue| kai(queue, Some(4), None));
        bed.queue("rich", |queue| kai(queue, Some(4), None));
        jobs_of(&mut bed, "gang", "rich", "train", [2, 2]);
        singles(&mut bed, "rich", 4);
        jobs_of(&mut bed, "asks", "poor", "train", [0, 4]);
        bed
    };
    // 6 of 4: without the single pod it still has 5, so that the gang may go after it.
    assert_eq!(victims(world(), "asks", ONE_WAY), ONE_WAY);
    assert_eq!(victims(world(), "asks", OTHER_WAY), OTHER_WAY);
}
