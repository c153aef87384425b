//! Gangs whose sub-groups form a tree, and levels of topologies.

use muster_core::delta::{GroupTree, LevelWish, SUBGROUP_LABEL, WholeWhen};
use muster_core::testing;

use super::*;

/// A node with a zone and, perhaps, a rack.
fn placed(name: &str, zone: &str, rack: Option<&str>) -> ClusterDelta {
    let node = testing::node(name).offer("cpu", 9).label("zone", zone);
    rack.into_iter().fold(node, |node, rack| node.label("rack", rack)).into()
}

fn of_subgroup(mut pod: PodFacts, subgroup: &str) -> ClusterDelta {
    pod.labels = vec![(SUBGROUP_LABEL.into(), subgroup.into())];
    set(pod)
}

/// A gang of two sets of which one is enough; the first has two sub-groups.
fn tree(levels: [Option<LevelWish>; 2]) -> GroupTree {
    let [of_job, of_set] = levels;
    let mut tree = testing::tree(&[
        ("set", None, WholeWhen::SubGroups(None)),
        ("a", Some("set"), WholeWhen::Pods(1)),
        ("b", Some("set"), WholeWhen::Pods(1)),
        ("c", None, WholeWhen::Pods(2)),
    ]);
    (tree.min_subgroups, tree.levels) = (Some(1), of_job);
    tree.subgroups[0].levels = of_set;
    tree
}

fn with(levels: [Option<LevelWish>; 2]) -> Books {
    let mut group = gang("g", 2);
    group.tree = Some(Box::new(tree(levels)));
    books(&[
        testing::topology("t", &["zone", "rack"]).into(),
        placed("n0", "x", Some("1")),
        placed("n1", "x", Some("2")),
        placed("n2", "y", Some("1")),
        placed("bare", "x", None),
        set_gang(group),
    ])
}

/// What binding pods of `a` and `b` to two nodes breaks.
fn breaks(levels: [Option<LevelWish>; 2], nodes: [&str; 2]) -> Vec<Invariant> {
    let (mut watch, mut books) = (Watch::default(), with(levels));
    let pods = [("g-0", "a", nodes[0]), ("g-1", "b", nodes[1])];
    let decisions = pods.map(|(name, _, node)| decide(DecisionOp::Bind, name, node, "g"));
    let effect = pods.map(|(name, part, node)| of_subgroup(running(name, "g", 1, node), part));
    cycle(&mut watch, &mut books, 1, &decisions, &effect);
    broken(&watch)
}

#[test]
fn levels_required_bind_the_gang_and_its_sets() {
    let level = |required, preferred| Some(testing::levels("t", required, preferred));
    let apart = [Invariant::HardTopology];
    assert_eq!(breaks([level(Some("zone"), None), None], ["n0", "n1"]), []);
    assert_eq!(breaks([level(Some("zone"), None), None], ["n0", "n2"]), apart);
    assert_eq!(
        breaks([level(Some("rack"), None), None], ["n0", "n2"]),
        apart,
        "racks of two zones"
    );
    assert_eq!(breaks([None, level(Some("rack"), None)], ["n0", "n1"]), apart);
    assert_eq!(breaks([None, level(Some("rack"), None)], ["n1", "n1"]), []);
    assert_eq!(
        breaks([None, level(Some("zone"), None)], ["n0", "bare"]),
        apart,
        "it lacks a label"
    );
    assert_eq!(breaks([level(None, Some("rack")), None], ["n0", "n2"]), []);
    assert_eq!(breaks([level(Some("row"), None), None], ["n0", "n2"]), [], "nobody can judge that");
}

#[test]
fn a_gang_is_whole_when_as_many_of_its_sub_groups_are_as_it_needs() {
    let ends = |pods: &[&str]| {
        let (mut watch, mut books) = (Watch::default(), with([None, None]));
        let names: Vec<String> = (0..pods.len()).map(|at| format!("g-{at}")).collect();
        let bind = |name: &String| decide(DecisionOp::Bind, name, "n0", "g");
        let decisions: Vec<Decision> = names.iter().map(bind).collect();
        let effect = names.iter().zip(pods);
        let effect: Vec<ClusterDelta> =
            effect.map(|(name, part)| of_subgroup(running(name, "g", 1, "n0"), part)).collect();
        cycle(&mut watch, &mut books, 1, &decisions, &effect);
        watch.finish(&books);
        broken(&watch)
    };
    assert_eq!(ends(&["a", "b"]), []);
    assert_eq!(ends(&["c", "c"]), []);
    assert_eq!(
        ends(&["a", "c"]),
        [Invariant::AllOrNothing],
        "two pods of sub-groups that need more"
    );
    assert_eq!(ends(&["a", "set"]), [Invariant::AllOrNothing], "a set has no pods of its own");
}
