//! What is left of a node, what pods are taken to use, and where that is a risk.

use super::*;
use crate::config::{ArgumentValue, Arguments};
use crate::policy::testing::{Bed, build};

/// The plugin with these arguments.
fn usage(given: &[(&str, ArgumentValue)]) -> Usage {
    build(&SPEC, given.iter().cloned())
}

fn map(entries: &[(&str, ArgumentValue)]) -> ArgumentValue {
    let entries = entries.iter().map(|(key, value)| ((*key).to_owned(), value.clone()));
    ArgumentValue::Map(Arguments(entries.collect()))
}

/// Points of a node of which so much is in use, in whole points.
fn points(plugin: &'static str, shares: [i64; 2]) -> i64 {
    let mut bed = Bed::new();
    bed.node("n", &[("cpu", 10), ("memory", 1000)]).load("n", shares);
    bed.look(move |cluster, directory| {
        let plugin = match plugin {
            "memory alone" => usage(&[("cpu.weight", ArgumentValue::Int(0))]),
            _ => usage(&[]),
        };
        plugin.points(cluster.node(directory.nodes["n"]).load()) / SCORE_SCALE
    })
}

#[test]
fn what_is_left_counts_by_weight() {
    assert_eq!(points("both", [20_000, 60_000]), 60);
    assert_eq!(points("memory alone", [20_000, 60_000]), 40);
    assert_eq!(points("both", [130_000, 100_000]), 0, "more than all is all");
}

#[test]
fn pods_count_by_a_part_of_what_they_ask_for_and_may_use() {
    let given = map(&[
        ("request_ratio", ArgumentValue::Float(0.5)),
        ("burst_ratio", ArgumentValue::Float(0.1)),
        ("be_cpu", ArgumentValue::Int(100)),
        ("be_mem", ArgumentValue::Int(1)),
    ]);
    let Estimator { request_ratio, burst_ratio, .. } = usage(&[("estimator", given)]).estimator;
    assert_eq!((request_ratio, burst_ratio), (500_000, 100_000));
    let estimator =
        Estimator { request_ratio, burst_ratio, silent: [100, 1 << 20], ..usage(&[]).estimator };
    let pods = Unmeasured { requests: [2_000, 0], limits: [4_000, 0], silent: 0 };
    // Half of two cores and a tenth of two more.
    assert_eq!(estimator.estimate(&pods, 0, ONE), 1_200);
    assert_eq!(estimator.estimate(&pods, 0, 2 * ONE), 2_400);
    assert_eq!(estimator.estimate(&pods, 0, 9 * ONE), 4_000, "never above their limits");
    let silent = Unmeasured { silent: 3, ..Unmeasured::NONE };
    assert_eq!(estimator.estimate(&silent, 0, 2 * ONE), 600);
    assert_eq!(estimator.estimate(&silent, 1, ONE), 3 << 20);
    let huge = Unmeasured { requests: [i64::MAX; 2], limits: [i64::MAX; 2], silent: 1 << 20 };
    let vast = Estimator { silent: [i64::MAX; 2], ..estimator };
    assert_eq!(vast.estimate(&huge, 1, 1_000 * ONE), i64::MAX);
}

#[test]
fn amounts_of_pods_that_say_nothing_may_be_numbers_or_quantities() {
    assert_eq!(usage(&[]).estimator.silent, [250, 200 << 20]);
    let given = map(&[
        ("be_cpu", ArgumentValue::Text("1500m".into())),
        ("be_mem", ArgumentValue::Text("1Gi".into())),
    ]);
    assert_eq!(usage(&[("estimator", given)]).estimator.silent, [1_500, 1 << 30]);
}

#[test]
fn estimates_are_raised_where_the_load_is_a_risk() {
    let mut bed = Bed::with(&crate::policy::testing::config(
        vec![crate::policy::testing::plugin("usage", Arguments::default())],
        &[],
    ));
    bed.node("calm", &[("cpu", 10), ("memory", 1000)]).load("calm", [10_000, 0]);
    bed.node("risky", &[("cpu", 10), ("memory", 1000)]).load("risky", [55_000, 0]);
    bed.node("unknown", &[("cpu", 10), ("memory", 1000)]);
    bed.group("g", 1, |_| {});
    for (index, node) in ["calm", "risky"].into_iter().enumerate() {
        bed.pod("g", index, Some(node), |pod| {
            pod.phase = crate::delta::PodPhase::Pending;
            pod.constraints.limits = [2_000, 0];
        });
    }
    let loads = bed.look(|cluster, directory| {
        let plugin = usage(&[("memory.weight", ArgumentValue::Int(0))]);
        ["calm", "risky", "unknown"].map(|node| {
            let load = cluster.node(directory.nodes[node]).load();
            plugin.loads(load).map(|loads| loads[0])
        })
    });
    // One core of ten at 0.7; from 62 % on at 0.84.
    assert_eq!(loads, [Some(17_000), Some(63_400), None]);
}

#[test]
fn a_weight_of_zero_takes_the_score_out_and_leaves_the_filter() {
    let plugin = usage(&[("usage.weight", ArgumentValue::Int(0))]);
    assert!(!plugin.takes_part(Point::Score));
    assert!(plugin.takes_part(Point::Filter));
}
