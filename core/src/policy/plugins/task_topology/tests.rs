//! Which tasks share a bucket, in which order they come, and what nodes are worth to them.

use super::*;
use crate::delta::RoleTopology;
use crate::ids::Name;
use crate::kernel::ratio::SCORE_SCALE;
use crate::policy::testing::{Bed, job, task, tasks};

fn groups(text: &str) -> Vec<Vec<Name>> {
    let groups = text.split(';').filter(|group| !group.is_empty());
    groups.map(|group| group.split(',').map(Into::into).collect()).collect()
}

fn wish(affinity: &str, anti_affinity: &str, order: &str) -> RoleTopology {
    let order = groups(order).concat();
    RoleTopology { affinity: groups(affinity), anti_affinity: groups(anti_affinity), order }
}

/// Two parameter servers, `g-0` and `g-1`, and four workers, `g-2` to `g-5`, which all wait, and a
/// chief nobody speaks of. `a` has room for three of them, `b` for nine.
fn training(wish: RoleTopology) -> Bed {
    let mut bed = Bed::new();
    bed.node("a", &[("cpu", 3)]).node("b", &[("cpu", 9)]);
    bed.group("g", 1, |group| group.role_topology = Some(Box::new(wish)));
    for (index, role) in
        ["ps", "ps", "worker", "worker", "worker", "worker", "chief"].iter().enumerate()
    {
        bed.pod("g", index, None, |pod| pod.role = (*role).into());
    }
    bed
}

const ALL: [&str; 7] = ["g-0", "g-1", "g-2", "g-3", "g-4", "g-5", "g-6"];

/// Tasks with the order they are placed in.
fn order(bed: Bed) -> Option<Vec<i64>> {
    bed.look(|cluster, directory| {
        let entities = tasks(directory, &ALL);
        let items: Vec<_> = entities.iter().map(|&task| cluster.task(task)).collect();
        let job = cluster.job(job(directory, "g"));
        TaskTopology { weight: 1 }.joint_task_order(cluster, &job, &items)
    })
}

/// Points of both nodes for a task.
fn points(bed: Bed, name: &'static str) -> [i64; 2] {
    bed.look(move |cluster, directory| {
        let job = cluster.job(job(directory, "g"));
        let arrangement = TaskTopology { weight: 1 }.arrangement(cluster, &job);
        let rows = ["a", "b"].map(|name| cluster.node(directory.nodes[name]).place.row);
        let mut scores = [0; 2];
        let task = task(directory, name);
        arrangement.expect("the group has a wish").score(cluster, task, &rows, &mut scores);
        scores.map(|score| score / SCORE_SCALE)
    })
}

#[test]
fn roles_that_belong_together_are_one_bucket_and_come_first() {
    let keys = order(training(wish("ps,worker", "", ""))).expect("the group has a wish");
    assert_eq!(keys, [0, 0, 0, 0, 0, 0, 1], "by role they are equal, and the chief is last");
    assert_eq!(order(training(RoleTopology::default())), Some(vec![0; 7]));
}

#[test]
fn servers_that_keep_apart_have_a_bucket_each_with_half_of_the_workers() {
    let keys = order(training(wish("ps,worker", "ps", ""))).expect("the group has a wish");
    // Server before workers, in the one bucket and in the other.
    assert_eq!(keys, [0, 2, 1, 3, 1, 3, 4]);
}

#[test]
fn the_order_of_roles_goes_before_what_they_depend_on() {
    let keys = order(training(wish("ps,worker", "ps", "worker"))).expect("the group has a wish");
    // All workers share a bucket before the first server chooses, and both belong to it.
    assert_eq!(keys, [1, 1, 0, 0, 0, 0, 2]);
}

#[test]
fn a_node_is_worth_as_much_of_the_bucket_as_it_takes() {
    // Six tasks, of which three fit on `a` and all on `b`.
    assert_eq!(points(training(wish("ps,worker", "", "")), "g-2"), [50, 100]);
    assert_eq!(points(training(wish("ps,worker", "", "")), "g-6"), [0, 0], "nobody speaks of it");
}

#[test]
fn what_runs_draws_its_like_and_repels_others() {
    let mut bed = training(wish("worker", "ps,worker", ""));
    bed.pod("g", 7, Some("a"), |pod| pod.role = "worker".into());
    // Five workers: one runs on `a`, where two more have room.
    assert_eq!(points(bed, "g-2"), [60, 80]);
    let mut bed = training(wish("worker", "ps,worker", ""));
    bed.pod("g", 7, Some("a"), |pod| pod.role = "worker".into());
    // The servers are no bucket with anybody; each is worth one, less one for the worker on `a`.
    let [with_worker, without] = points(bed, "g-0");
    assert!(with_worker < without, "{with_worker} {without}");
}

#[test]
fn whatever_is_gone_counts_no_more() {
    let with = |gone: bool| {
        let mut bed = training(wish("worker", "", ""));
        bed.pod("g", 7, Some("a"), |pod| pod.role = "worker".into());
        if gone {
            bed.run();
            bed.gone("g-7");
        }
        points(bed, "g-2")
    };
    assert_eq!(with(false), [60, 80]);
    assert_eq!(with(true), [75, 100], "three and four of four");
}
