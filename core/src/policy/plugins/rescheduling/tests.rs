//! Which nodes are idle and overloaded, and who leaves.

use super::*;
use crate::config::Arguments;
use crate::delta::QosClass;
use crate::policy::testing::{Bed, build, named, tasks};

const MEMORY: (&str, i64) = ("memory", 1_000);

/// Idle below 30 % of cpu, overloaded above 70 %.
fn strategy() -> LowNodeUtilization {
    let whole = WHOLE_LOAD;
    LowNodeUtilization { idle: [30_000, whole, whole], target: [70_000, whole, whole] }
}

/// Who leaves of the pods named.
fn leaving(bed: Bed, pods: &'static [&'static str]) -> Vec<String> {
    bed.look(move |cluster, directory| {
        named(cluster, &strategy().victims(cluster, &tasks(directory, pods)))
    })
}

/// One overloaded node with pods of one cpu each, and one idle one.
fn bed(overload: i64) -> Bed {
    let mut bed = Bed::new();
    bed.node("hot", &[("cpu", 10), MEMORY]).load("hot", [overload, 0]);
    bed.node("idle", &[("cpu", 10), MEMORY]).load("idle", [10_000, 0]);
    bed.group("g", 1, |_| {});
    bed
}

#[test]
fn pods_leave_until_the_node_is_at_its_target() {
    let mut bed = bed(85_000);
    bed.running("g", 4, "hot");
    // The youngest first; two of one cpu bring 85 % to 65 %.
    assert_eq!(leaving(bed, &["g-0", "g-1", "g-2", "g-3"]), ["g-3", "g-2"]);
}

#[test]
fn those_without_priority_go_first_then_the_least_important_then_the_least_promised() {
    let mut bed = bed(99_000);
    bed.pod("g", 0, Some("hot"), |pod| pod.priority = Some(1));
    bed.pod("g", 1, Some("hot"), |pod| (pod.priority, pod.qos) = (Some(0), QosClass::Guaranteed));
    bed.pod("g", 2, Some("hot"), |pod| pod.priority = Some(0));
    bed.pod("g", 3, Some("hot"), |_| {});
    let order = bed.look(|cluster, directory| {
        let mut found = tasks(directory, &["g-0", "g-1", "g-2", "g-3"]);
        found.sort_by_cached_key(|&task| order(&cluster.task(task)));
        named(cluster, &found)
    });
    assert_eq!(order, ["g-3", "g-2", "g-1", "g-0"]);
}

#[test]
fn who_asks_for_nothing_the_node_has_too_much_of_stays() {
    let mut bed = bed(85_000);
    bed.pod("g", 0, Some("hot"), |pod| {
        pod.request = crate::policy::testing::amounts([("memory", 100), ("pods", 1)]);
    });
    bed.pod("g", 1, Some("hot"), |_| {});
    assert_eq!(leaving(bed, &["g-0", "g-1"]), ["g-1"]);
}

#[test]
fn a_cordoned_node_is_not_idle_and_an_unknown_one_is_nothing() {
    let mut bed = Bed::new();
    bed.node("hot", &[("cpu", 10), MEMORY]).load("hot", [85_000, 0]);
    bed.node_with("cordoned", &[("cpu", 10), MEMORY], |node| node.unschedulable = true);
    bed.load("cordoned", [0, 0]);
    bed.node("unknown", &[("cpu", 10), MEMORY]);
    bed.group("g", 1, |_| {}).running("g", 2, "hot");
    assert_eq!(leaving(bed, &["g-0", "g-1"]), [""; 0]);
}

#[test]
fn full_pod_slots_are_a_load() {
    let mut bed = Bed::new();
    bed.node("full", &[("cpu", 10), MEMORY, ("pods", 2)]).load("full", [50_000, 0]);
    bed.node("idle", &[("cpu", 10), MEMORY, ("pods", 10)]).load("idle", [0, 0]);
    bed.group("g", 1, |_| {}).running("g", 2, "full");
    let gone = bed.look(|cluster, directory| {
        let slots = LowNodeUtilization { target: [WHOLE_LOAD, WHOLE_LOAD, 60_000], ..strategy() };
        named(cluster, &slots.victims(cluster, &tasks(directory, &["g-0", "g-1"])))
    });
    assert_eq!(gone, ["g-1"]);
}

#[test]
fn without_strategies_nobody_is_named_and_limits_are_hundred_percent() {
    let plugin: Rescheduling = build(&SPEC, []);
    assert_eq!((plugin.strategies.len(), plugin.interval_ms), (0, 300_000));
    let none = Values::new("test", SPEC.arguments, Arguments::NONE);
    assert_eq!(none.maps("strategies").count(), 0);
    let params = Values::new("test", STRATEGY, Arguments::NONE).map("params");
    let whole = [WHOLE_LOAD; 3];
    assert_eq!(LowNodeUtilization::new(params), LowNodeUtilization { idle: whole, target: whole });
}
