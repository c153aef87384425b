//! Groups with wishes for levels, placed by whole cycles.

use super::*;
use crate::policy::testing::{Bed, kai};
use crate::testing::{levels, topology};

/// Zone a has racks 1 and 2, zone b rack 3; so much cpu is free on a node of each.
fn bed(free: [i64; 3]) -> Bed {
    let mut bed =
        Bed::with(&kai(&["podgroup", "predicates", "elastic", "topology", "nodeplacement"]));
    for (at, cpu) in free.into_iter().enumerate() {
        let (rack, zone) = ((at + 1).to_string(), ["a", "a", "b"][at]);
        bed.labelled(&format!("n{at}"), &[("cpu", cpu)], &[("zone", zone), ("rack", &rack)]);
    }
    bed.topology(topology("t", &["zone", "rack"]));
    bed
}

/// A PodGroup `g` of so many pods with a wish.
fn gang(bed: &mut Bed, pods: usize, wish: LevelWish) {
    bed.group("g", pods as u32, |group| {
        group.tree = Some(Box::new(crate::delta::GroupTree {
            levels: Some(wish),
            ..crate::delta::GroupTree::default()
        }));
    });
    for index in 0..pods {
        bed.pod("g", index, None, |_| {});
    }
}

/// Nodes the pods of the gang are bound to, in the order of pods.
fn nodes(bed: &mut Bed) -> Vec<String> {
    let decisions = bed.decisions();
    decisions.iter().filter_map(|one| one.rsplit(' ').next()).map(str::to_owned).collect()
}

#[test]
fn a_level_required_takes_the_fullest_domain_that_holds_the_gang() {
    let place = |free, pods, level: &'static str| {
        let mut bed = bed(free);
        gang(&mut bed, pods, levels("t", Some(level), None));
        nodes(&mut bed)
    };
    assert_eq!(place([4, 3, 2], 2, "rack"), ["n2", "n2"]);
    assert_eq!(place([4, 3, 2], 3, "rack"), ["n1"; 3], "the fullest that holds all");
    assert_eq!(place([4, 3, 2], 5, "rack"), [""; 0]);
    assert_eq!(place([4, 3, 2], 5, "zone"), ["n1", "n1", "n1", "n0", "n0"]);
    // The racks of the fuller zone come before those of the other.
    assert_eq!(place([4, 4, 5], 1, "rack"), ["n2"]);
}

#[test]
fn a_level_preferred_is_tried_first_and_the_next_wider_then() {
    let place = |pods, required, preferred| {
        let mut bed = bed([4, 3, 2]);
        gang(&mut bed, pods, levels("t", required, Some(preferred)));
        nodes(&mut bed)
    };
    assert_eq!(place(3, None, "rack"), ["n1"; 3]);
    // No rack holds five: a zone does, and its emptiest rack is filled first.
    assert_eq!(place(5, None, "rack"), ["n0", "n0", "n0", "n0", "n1"]);
    assert_eq!(place(5, Some("zone"), "rack"), ["n0", "n0", "n0", "n0", "n1"]);
    assert_eq!(place(9, None, "rack").len(), 9, "anywhere in the end");
    assert_eq!(place(9, Some("zone"), "rack"), [""; 0]);
    assert_eq!(place(5, Some("rack"), "zone"), [""; 0], "a wider preference says nothing");
}

#[test]
fn what_grows_stays_with_what_runs() {
    let mut bed = bed([4, 9, 9]);
    gang(&mut bed, 1, levels("t", Some("rack"), None));
    bed.pod("g", 1, Some("n0"), |_| {});
    bed.pod("g", 2, None, |_| {});
    assert_eq!(bed.decisions(), ["Bind g-0 n0", "Bind g-2 n0"]);
    bed.labelled("n0", &[("cpu", 9)], &[("zone", "a")]);
    bed.pod("g", 3, None, |_| {});
    assert_eq!(bed.decisions(), [""; 0]);
    let why = "TopologyUnsatisfied: the gang must share a domain of level \"rack\" of topology \"t\"; \
               what has its place already, on n0, shares none";
    assert_eq!(bed.why("g"), why);
}

#[test]
fn levels_may_be_named_by_their_alias() {
    let mut bed = bed([1, 1, 2]);
    bed.topology(topology("t", &["zone", "rack"]).with(|topology| {
        topology.levels[1].alias = Some("shelf".into());
    }));
    gang(&mut bed, 2, levels("t", Some("shelf"), None));
    assert_eq!(nodes(&mut bed), ["n2", "n2"]);
}

#[test]
fn what_is_missing_is_named() {
    let why = |wish, change: fn(&mut Bed)| {
        let mut bed = bed([4, 4, 4]);
        change(&mut bed);
        gang(&mut bed, 1, wish);
        assert_eq!(bed.decisions(), [""; 0]);
        bed.why("g")
    };
    assert_eq!(
        why(levels("u", None, Some("rack")), |_| {}),
        "TopologyUnsatisfied: the gang must be placed by topology \"u\", which does not exist; \
         there are \"t\""
    );
    assert_eq!(
        why(levels("t", Some("zone"), Some("row")), |_| {}),
        "TopologyUnsatisfied: the gang must be placed by level \"row\" of topology \"t\", which has \
         no such level; there are \"zone\", \"rack\""
    );
    assert_eq!(
        why(levels("t", Some("rack"), None), |bed| {
            bed.topology(topology("t", &["zone", "rack", "slot"]));
        }),
        "TopologyUnsatisfied: the gang must share a domain of level \"rack\" of topology \"t\"; no \
         node has the labels of all its levels: zone, rack, slot"
    );
}

#[test]
fn nodes_without_the_labels_take_no_part_unless_anything_will_do() {
    let place = |wish| {
        let mut bed = bed([1, 1, 1]);
        bed.node("bare", &[("cpu", 9)]);
        gang(&mut bed, 4, wish);
        nodes(&mut bed)
    };
    assert_eq!(place(levels("t", Some("zone"), None)), [""; 0]);
    assert_eq!(place(levels("t", None, Some("zone"))), ["n0", "n1", "n2", "bare"]);
}

#[test]
fn fullness_is_of_the_resource_that_is_scarcest() {
    let vector = |cpu, memory| {
        let mut vector = ResourceVec::default();
        vector.set(Dim::CPU, cpu);
        vector.set(Dim::MEMORY, memory);
        vector.set(Dim::PODS, 9);
        vector
    };
    let mut totals = DomainTotals { idle: vector(60, 10), ..DomainTotals::default() };
    totals.releasing = vector(50, 0);
    totals.pipelined = vector(10, 0);
    assert_eq!(fullness(&vector(25, 1), &totals, 100), 25, "pod slots do not count");
    assert_eq!(fullness(&vector(25, 5), &totals, 100), 50);
    assert_eq!(fullness(&vector(25, 11), &totals, 100), 100, "what does not fit fills it");
    assert_eq!(fullness(&vector(0, 0), &totals, 100), 0);
}
