//! What the books say after deltas.

use muster_core::delta::PodPhase;

use super::super::fixtures::{books, gang, key, node, pod, queue, running, set, set_gang};
use super::*;

fn cpu(vector: &ResourceVec) -> i64 {
    vector.get(Dim::CPU)
}

#[test]
fn a_pod_counts_where_it_is_and_as_what_it_is() {
    let mut held = pod("held", "g", 3);
    held.nominated = Some("n0".into());
    let mut leaving = running("leaving", "g", 2, "n0");
    leaving.deleting = true;
    let mut done = running("done", "g", 5, "n0");
    done.phase = PodPhase::Succeeded;
    let mut foreign = running("foreign", "other", 7, "n0");
    foreign.ownership = Ownership::Foreign;
    let books = books(&[
        node("n0", 64),
        set_gang(gang("g", 1)),
        set(running("run", "g", 1, "n0")),
        set(held),
        set(leaving),
        set(done),
        set(foreign),
    ]);
    let node = &books.nodes["n0"];
    assert_eq!((cpu(&node.used), cpu(&node.leaving), cpu(&node.held)), (10_000, 2000, 3000));
    assert_eq!((cpu(&node.load()), node.pods), (11_000, 3));
    let job = &books.jobs[&key("g")];
    assert_eq!((cpu(&job.allocated), cpu(&job.held)), (1000, 3000));
    assert!(!books.jobs.contains_key(&key("other")), "foreign pods are nobody's job");
    assert_eq!(books.audit(), Vec::<String>::new());
}

#[test]
fn a_pod_that_changes_or_goes_leaves_no_trace() {
    let mut books = books(&[node("n0", 4), set(running("p", "g", 1, "n0"))]);
    books.apply(&set(running("p", "g", 1, "n1")));
    assert_eq!(cpu(&books.nodes["n0"].used), 0);
    books.apply(&ClusterDelta::Gone(ObjectRef::Pod(key("p"))));
    assert!(!books.nodes.contains_key("n1"), "a node that never was is forgotten");
    assert!(books.jobs.is_empty() && books.pods.is_empty());
    assert!(books.ever.contains(&key("p")) && books.ever.contains(&key("g")));
}

#[test]
fn pods_outlive_their_node() {
    let mut books = books(&[node("n0", 4), set(running("p", "g", 1, "n0"))]);
    books.apply(&ClusterDelta::Gone(ObjectRef::Node("n0".into())));
    assert_eq!((cpu(&books.nodes["n0"].used), cpu(&books.nodes["n0"].allocatable)), (1000, 0));
    assert!(books.nodes["n0"].facts.is_none());
}

#[test]
fn queues_count_what_is_below_them() {
    let mut child = queue("child");
    child.parent = Some("team".into());
    let mut group = gang("g", 1);
    group.queue = Some("child".into());
    let mut loner = running("loner", "", 2, "n0");
    loner.group = None;
    loner.queue = Some("team".into());
    let books = books(&[
        node("n0", 4),
        ClusterDelta::from(queue("team")),
        ClusterDelta::from(child),
        set_gang(group),
        set(running("g-0", "g", 1, "n0")),
        set(loner),
        set(running("other", "nowhere", 1, "n0")),
    ]);
    let totals = books.queue_totals(|job| &job.allocated);
    assert_eq!((cpu(&totals["child"]), cpu(&totals["team"])), (1000, 3000));
    assert_eq!((cpu(&totals["default"]), cpu(&totals["root"])), (1000, 4000));
}

#[test]
fn queues_that_contain_each_other_are_children_of_the_root() {
    let (mut a, mut b) = (queue("a"), queue("b"));
    a.parent = Some("b".into());
    b.parent = Some("a".into());
    let books = books(&[ClusterDelta::from(a), ClusterDelta::from(b)]);
    assert_eq!(books.queue_path(&"a".into()), ["a", "root"].map(Name::from));
}

#[test]
fn a_total_that_drifted_is_found() {
    let mut books = books(&[node("n0", 4), set(running("p", "g", 1, "n0"))]);
    books.nodes.get_mut("n0").unwrap().used.set(Dim::CPU, 1);
    assert_eq!(books.audit().len(), 1);
}
