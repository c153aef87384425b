//! How many classes and rankings are kept.

use super::Rankings;
use crate::class::Classes;
use crate::config::Arguments;
use crate::policy::testing::{Bed, amounts, config, plugin};

/// Of 110 pods each.
const NODES: usize = 20;

/// A cluster of a few nodes that places what comes.
fn bed() -> Bed {
    let plugins = ["gang", "predicates", "nodeorder"];
    let tier = plugins.map(|name| plugin(name, Arguments::default())).to_vec();
    let mut bed = Bed::with(&config(tier, &["allocate"]));
    for node in 0..NODES {
        bed.node(&format!("n{node}"), &[("cpu", 1_000_000)]);
    }
    bed
}

/// A pod on its own that asks for a number of cores.
fn waits(bed: &mut Bed, pod: usize, cores: usize) {
    bed.pod("p", pod, None, |facts| {
        facts.group = None;
        facts.request = amounts([("cpu", cores as i64), ("pods", 1)]);
    });
}

#[test]
fn classes_of_pods_that_are_gone_are_dropped() {
    let mut bed = bed();
    let mut most = 0;
    for wave in 0..6 {
        for pod in 0..2_000 {
            waits(&mut bed, pod, 1 + wave * 2_000 + pod);
        }
        bed.decide();
        for pod in 0..2_000 {
            bed.gone(&format!("p-{pod}"));
        }
        bed.decide();
        most = most.max(bed.world().resource::<Classes>().len());
    }
    // Twelve thousand different requests have come and gone.
    assert!(most < 8_300, "{most} classes are kept");
    waits(&mut bed, 0, 3);
    assert_eq!(bed.decide(), 1, "a class with a number others had is placed like any other");
}

#[test]
fn a_class_asked_for_once_keeps_no_ranking() {
    let mut bed = bed();
    for pod in 0..100 {
        waits(&mut bed, pod, 1 + pod);
    }
    assert_eq!(bed.decide(), 100);
    assert_eq!(bed.world().resource::<Rankings>().rows(), 0);
    for pod in 0..100 {
        waits(&mut bed, 100 + pod, 1_000);
    }
    assert_eq!(bed.decide(), 100);
    assert_eq!(
        bed.world().resource::<Rankings>().rows(),
        NODES,
        "one that is asked for again does"
    );
}
