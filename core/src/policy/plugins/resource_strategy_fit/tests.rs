//! Scores and bars over small worlds, through the rankings of real classes.

use super::*;
use crate::config::ArgumentValue::{self, Bool, Float, Int, Map, Text};
use crate::config::{Arguments, Gates};
use crate::delta::PodFacts;
use crate::policy::Clock;
use crate::policy::testing::{Bed, amounts, config, plugin};

fn arguments(entries: Vec<(&str, ArgumentValue)>) -> Arguments {
    let own = |(key, value): (&str, ArgumentValue)| (key.to_owned(), value);
    Arguments(entries.into_iter().map(own).collect())
}

fn strategy(kind: &str, weight: i64) -> ArgumentValue {
    Map(arguments(vec![("type", Text(kind.into())), ("weight", Int(weight))]))
}

/// Where one pod goes under the plugin.
fn place(
    given: Arguments,
    nodes: impl FnOnce(&mut Bed),
    change: impl FnOnce(&mut PodFacts),
) -> Option<String> {
    let tier = vec![plugin("gang", Arguments::default()), plugin("resource-strategy-fit", given)];
    let mut bed = Bed::with(&config(tier, &["enqueue", "allocate", "backfill"]));
    nodes(&mut bed);
    bed.group("g", 1, |_| {}).pod("g", 0, None, change);
    let pods = bed.run().pods();
    pods.iter().find(|pod| &*pod.key.name == "g-0").unwrap().node.as_ref().map(ToString::to_string)
}

/// A node half full and one empty, in cpu and GPUs.
fn two_nodes(bed: &mut Bed) {
    let offer = [("cpu", 8), ("memory", 64), ("a.com/gpu", 8)];
    bed.node("empty", &offer).node("half", &offer).group("old", 1, |_| {});
    let request = amounts([("cpu", 4), ("memory", 4), ("a.com/gpu", 4), ("pods", 1)]);
    bed.pod("old", 0, Some("half"), |pod| pod.request = request);
}

fn ask(pairs: &[(&str, i64)]) -> impl FnOnce(&mut PodFacts) + use<> {
    let mut request = amounts(pairs);
    request.extend(amounts([("pods", 1)]));
    request.sort();
    |pod| pod.request = request
}

#[test]
fn cpu_and_memory_are_spread_unless_told_otherwise() {
    let asks = [("cpu", 1), ("memory", 1)];
    assert_eq!(place(Arguments::default(), two_nodes, ask(&asks)).as_deref(), Some("empty"));
    let packed =
        arguments(vec![("resources", Map(arguments(vec![("cpu", strategy("MostAllocated", 1))])))]);
    assert_eq!(place(packed, two_nodes, ask(&asks)).as_deref(), Some("half"));
}

#[test]
fn the_exact_name_counts_before_the_longest_beginning() {
    let mut names = ResourceNames::default();
    let gpu = names.dim(&"a.com/gpu".into());
    let other = names.dim(&"a.com/fpga".into());
    let far = names.dim(&"b.com/gpu".into());
    let given = arguments(vec![(
        "resources",
        Map(arguments(vec![
            ("*", strategy("MostAllocated", 9)),
            ("a.com/*", strategy("MostAllocated", 2)),
            ("a.com/f*", strategy("MostAllocated", 3)),
            ("a.com/gpu", strategy("LeastAllocated", 4)),
        ])),
    )]);
    let (gates, arguments) = (Gates::default(), SPEC.values(&given));
    let plugin = StrategyFit::build(&mut Setup {
        gates,
        arguments,
        clock: &Clock::default(),
        names: &mut names,
    });
    assert_eq!(plugin.term(gpu, &names), Some(MeanTerm { weight: 4, packing: Packing::Least }));
    assert_eq!(plugin.term(other, &names), Some(MeanTerm { weight: 3, packing: Packing::Most }));
    assert_eq!(plugin.term(far, &names), None);
    assert_eq!(plugin.term(Dim::CPU, &names), None);
}

#[test]
fn a_pod_may_bring_weights_of_its_own() {
    let wish = StrategyWish { packing: Packing::Most, weights: vec![("cpu".into(), 1)] };
    let placed = place(Arguments::default(), two_nodes, |pod| {
        ask(&[("cpu", 1)])(pod);
        pod.constraints.strategy = Some(wish);
    });
    assert_eq!(placed.as_deref(), Some("half"));
}

#[test]
fn names_beyond_the_hot_lanes_are_scored_too() {
    // Far more names than lanes, the packed one last.
    let crowd = |bed: &mut Bed| {
        let names: Vec<String> = (0..9).map(|at| format!("x.com/r{at}")).collect();
        let mut offer: Vec<(&str, i64)> = names.iter().map(|name| (name.as_str(), 8)).collect();
        offer.extend([("cpu", 8), ("z.com/last", 8)]);
        bed.node("a", &offer).node("b", &offer).group("old", 1, |_| {});
        bed.pod("old", 0, Some("b"), |pod| {
            pod.request = amounts([("pods", 1), ("z.com/last", 4)]);
        });
    };
    let given = || {
        arguments(vec![(
            "resources",
            Map(arguments(vec![("z.com/l*", strategy("MostAllocated", 1))])),
        )])
    };
    assert_eq!(place(given(), crowd, ask(&[("z.com/last", 1)])).as_deref(), Some("b"));
    assert_eq!(place(given(), crowd, ask(&[("z.com/last", 5)])).as_deref(), Some("a"));
}

#[test]
fn pods_without_need_avoid_nodes_with_scarce_resources() {
    let sra = arguments(vec![
        ("resourceStrategyFitWeight", Int(0)),
        (
            "sra",
            Map(arguments(vec![
                ("enable", Bool(true)),
                ("resources", Text("a.com/gpu, a.com/fpga".into())),
                ("resourceWeight", Map(arguments(vec![("a.com/gpu", Int(3))]))),
            ])),
        ),
    ]);
    let nodes = |bed: &mut Bed| {
        bed.node("a-gpu", &[("cpu", 8), ("a.com/gpu", 1)]);
        bed.node("b-fpga", &[("cpu", 8), ("a.com/fpga", 1)]);
    };
    assert_eq!(place(sra.clone(), nodes, ask(&[("cpu", 1)])).as_deref(), Some("b-fpga"));
    let asks = [("cpu", 1), ("a.com/gpu", 1)];
    assert_eq!(place(sra, nodes, ask(&asks)).as_deref(), Some("a-gpu"));
}

#[test]
fn room_is_kept_for_idle_devices() {
    let given = || {
        arguments(vec![(
            "proportional",
            Map(arguments(vec![
                ("enable", Bool(true)),
                ("resources", Text("a.com/gpu".into())),
                (
                    "resourceProportion",
                    Map(arguments(vec![
                        ("a.com/gpu.cpu", Float(1.5)),
                        ("a.com/gpu.memory", Float(2.0)),
                    ])),
                ),
            ])),
        )])
    };
    // Four idle devices keep 6 cores and 8 GB of 8 and 10.
    let node = |bed: &mut Bed| {
        bed.node("n", &[("cpu", 8), ("memory", 10_000_000_000), ("a.com/gpu", 4)]);
    };
    let gb = 1_000_000_000;
    let goes = |asks: &[(&str, i64)]| place(given(), node, ask(asks)).is_some();
    assert!(goes(&[("cpu", 2), ("memory", 2 * gb)]));
    assert!(!goes(&[("cpu", 3)]));
    assert!(!goes(&[("memory", 2 * gb + 1)]));
    assert!(goes(&[("cpu", 8), ("a.com/gpu", 1)]));
}
