//! Jobs whose sub-groups form a tree, placed by whole cycles.

use crate::delta::{GroupTree, SUBGROUP_LABEL, WholeWhen};
use crate::policy::testing::{Bed, kai};
use crate::testing::{levels, topology, tree};

const PLUGINS: &[&str] =
    &["podgroup", "predicates", "elastic", "subgrouporder", "topology", "nodeplacement"];

/// A sub-group: its name, the set it is part of, and what makes it whole.
type Node<'a> = (&'a str, Option<&'a str>, WholeWhen);

fn bed() -> Bed {
    Bed::with(&kai(PLUGINS))
}

/// A PodGroup `g` with a tree.
fn group(bed: &mut Bed, nodes: &[Node<'_>], change: impl FnOnce(&mut GroupTree)) {
    let mut tree = tree(nodes);
    change(&mut tree);
    bed.group("g", tree.least_pods(), |group| group.tree = Some(Box::new(tree)));
}

/// Pods of sub-groups of `g`, running on a node or waiting.
fn pods(bed: &mut Bed, pods: &[(&str, Option<&str>)]) {
    for (index, &(subgroup, node)) in pods.iter().enumerate() {
        bed.pod("g", index, node, |pod| {
            pod.labels = vec![(SUBGROUP_LABEL.into(), subgroup.into())];
        });
    }
}

const fn of_pods(count: u32) -> WholeWhen {
    WholeWhen::Pods(count)
}

const ALL: WholeWhen = WholeWhen::SubGroups(None);
const ONE: WholeWhen = WholeWhen::SubGroups(Some(1));

const TWO_SETS: &[Node<'_>] = &[
    ("ab", None, ONE),
    ("a", Some("ab"), of_pods(1)),
    ("b", Some("ab"), of_pods(1)),
    ("cd", None, ALL),
    ("c", Some("cd"), of_pods(1)),
    ("d", Some("cd"), of_pods(1)),
];

#[test]
fn a_set_places_as_many_members_as_it_needs_and_then_grows_step_by_step() {
    let build = |cpu: i64| {
        let mut bed = bed();
        bed.node("n", &[("cpu", cpu)]);
        group(&mut bed, TWO_SETS, |_| {});
        let waiting = ["b", "b", "c", "c", "d", "d"].map(|name| (name, None));
        pods(&mut bed, &[&[("a", Some("n"))][..], &waiting].concat());
        bed
    };
    // One of a runs. c and d make the other set whole.
    assert_eq!(build(3).decisions(), ["Bind g-3 n", "Bind g-5 n"]);
    // What is left grows by what b lacks: a set that is whole has no other member below its minimum.
    assert_eq!(build(4).decisions(), ["Bind g-1 n", "Bind g-3 n", "Bind g-5 n"]);
    assert_eq!(build(2).decisions(), [""; 0], "not a part of it");
    assert_eq!(build(7).decisions().len(), 6, "all of it in the end");
}

#[test]
fn the_set_that_is_least_over_its_need_grows_first() {
    let mut bed = bed();
    bed.node("n", &[("cpu", 7)]);
    group(&mut bed, TWO_SETS, |_| {});
    let running = ["a", "a", "b", "c", "d"].map(|name| (name, Some("n")));
    let waiting = ["a", "a", "c", "c"].map(|name| (name, None));
    pods(&mut bed, &[&running[..], &waiting].concat());
    // Two of two sub-groups against two of the one that is needed.
    assert_eq!(bed.decisions(), ["Bind g-7 n", "Bind g-8 n"]);
}

#[test]
fn a_member_that_finds_no_place_leaves_its_turn_to_the_next() {
    let mut bed = bed();
    bed.node("n", &[("cpu", 2)]);
    let nodes = [("a", None, of_pods(3)), ("b", None, of_pods(2))];
    group(&mut bed, &nodes, |tree| tree.min_subgroups = Some(1));
    pods(&mut bed, &["a", "a", "a", "b", "b"].map(|name| (name, None)));
    assert_eq!(bed.decisions(), ["Bind g-3 n", "Bind g-4 n"]);
    assert_eq!(bed.decisions(), [""; 0], "and no part of the first");
}

#[test]
fn a_job_lacks_nothing_if_enough_of_its_sub_groups_run() {
    let mut bed = bed();
    bed.node("n", &[("cpu", 9)]);
    let nodes = [("a", None, of_pods(2)), ("b", None, of_pods(2))];
    group(&mut bed, &nodes, |tree| tree.min_subgroups = Some(1));
    pods(&mut bed, &[("a", Some("n")), ("a", Some("n")), ("b", None)]);
    assert_eq!(bed.decisions(), [""; 0], "one pod of two makes no sub-group");
    bed.pod("g", 3, None, |pod| pod.labels = vec![(SUBGROUP_LABEL.into(), "b".into())]);
    assert_eq!(bed.decisions(), ["Bind g-2 n", "Bind g-3 n"]);
}

#[test]
fn a_gang_that_can_never_be_whole_says_which_pods_it_lacks() {
    let mut bed = bed();
    bed.node("n", &[("cpu", 9)]);
    group(&mut bed, TWO_SETS, |_| {});
    pods(&mut bed, &[("a", None), ("b", None), ("c", None), ("x", None)]);
    assert_eq!(bed.decisions(), [""; 0]);
    let why = "GangIncomplete: 1 of the 2 sub-groups the gang needs can be whole; \
               0 of the 1 pods that sub-group \"d\" needs exist";
    assert_eq!(bed.why("g"), why);
    let aside = bed.run().set_aside();
    let said: Vec<&str> = aside.iter().map(|(_, why)| why.as_str()).collect();
    assert_eq!(said, ["PodGroup default/g has no sub-group \"x\" for pods"]);
}

#[test]
fn room_that_is_being_freed_is_held_for_what_is_lacking_and_binds_nothing() {
    let mut bed = bed();
    bed.node("n", &[("cpu", 2)]).group("o", 1, |_| {});
    bed.pod("o", 0, Some("n"), |pod| pod.deleting = true);
    let nodes = [("a", None, of_pods(1)), ("b", None, of_pods(1))];
    group(&mut bed, &nodes, |_| {});
    pods(&mut bed, &["a", "b", "b"].map(|name| (name, None)));
    assert_eq!(bed.decisions(), ["Pipeline g-0 n", "Pipeline g-1 n"]);
    bed.gone("o-0");
    assert_eq!(bed.decisions(), ["Bind g-0 n", "Bind g-1 n"]);
}

#[test]
fn no_room_is_held_beyond_the_minimum() {
    let mut bed = bed();
    bed.node("n", &[("cpu", 3)]).group("o", 1, |_| {});
    bed.pod("o", 0, Some("n"), |pod| {
        pod.deleting = true;
        pod.request = crate::testing::amounts([("cpu", 3), ("pods", 1)]);
    });
    bed.group("g", 1, |group| group.tree = Some(Box::default()));
    for index in 0..3 {
        bed.pod("g", index, None, |_| {});
    }
    assert_eq!(bed.decisions(), ["Pipeline g-0 n"]);
}

#[test]
fn the_domain_of_a_set_bounds_those_of_its_members() {
    let mut bed = bed();
    // Two zones with two racks each; a rack has room for one pod of three, one of zone a for none.
    for (name, cpu, zone, rack) in
        [("n0", 2, "a", "1"), ("n1", 3, "a", "2"), ("n2", 3, "b", "1"), ("n3", 3, "b", "2")]
    {
        bed.labelled(name, &[("cpu", cpu)], &[("zone", zone), ("rack", rack)]);
    }
    bed.topology(topology("t", &["zone", "rack"]));
    let nodes =
        [("set", None, ALL), ("x", Some("set"), of_pods(1)), ("y", Some("set"), of_pods(1))];
    group(&mut bed, &nodes, |tree| {
        tree.subgroups[0].levels = Some(levels("t", Some("zone"), None));
        tree.subgroups[1].levels = Some(levels("t", Some("rack"), None));
        tree.subgroups[2].levels = Some(levels("t", Some("rack"), None));
    });
    for (index, subgroup) in ["x", "y"].into_iter().enumerate() {
        bed.pod("g", index, None, |pod| {
            pod.labels = vec![(SUBGROUP_LABEL.into(), subgroup.into())];
            pod.request = crate::testing::amounts([("cpu", 3), ("pods", 1)]);
        });
    }
    assert_eq!(bed.decisions(), ["Bind g-0 n2", "Bind g-1 n3"]);
}

#[test]
fn a_member_that_fits_no_domain_is_named() {
    let mut bed = bed();
    for (name, rack) in [("n0", "1"), ("n1", "2")] {
        bed.labelled(name, &[("cpu", 2)], &[("rack", rack)]);
    }
    bed.topology(topology("t", &["rack"]));
    let nodes = [("set", None, ALL), ("x", Some("set"), of_pods(3))];
    group(&mut bed, &nodes, |tree| {
        tree.subgroups[0].levels = Some(levels("t", Some("rack"), None));
    });
    pods(&mut bed, &["x", "x", "x"].map(|name| (name, None)));
    assert_eq!(bed.decisions(), [""; 0]);
    let why = "TopologyUnsatisfied: none of the 2 domains of level \"rack\" of topology \"t\" holds \
               sub-group \"set\": the closest, \"1\", has room for 2 of 3 pods, short of cpu 1";
    assert_eq!(bed.why("g"), why);
}
