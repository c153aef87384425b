//! Random trees of queues: what must hold for the shares of each.

use proptest::prelude::*;

use super::*;
use crate::policy::queues::tests::{Shape, any_shapes, with_claims};
use crate::resource::{Dim, ResourceNames};

fn tree(claims: &Claims<'_>) -> FairTree {
    let mut names = claims.names.clone();
    FairTree::new(SharedResources::new(&mut names), 0, claims)
}

fn share(tree: &FairTree, at: usize, resource: usize) -> i64 {
    tree.seats[at].share[resource]
}

#[test]
fn children_divide_the_share_of_their_parent() {
    let queue = |parent, deserved: i64, wants| Shape {
        parent,
        weight: 1,
        capability: [None, None],
        deserved: Some([Some(deserved), None]),
        guarantee: [None, None],
        wants: [wants, 0],
    };
    let root = Shape { deserved: None, ..queue(None, 0, 0) };
    let shapes = [
        root,
        queue(Some(0), 4, 0),
        queue(Some(0), 6, 9),
        queue(Some(1), 3, 9),
        queue(Some(1), 0, 9),
    ];
    with_claims(&shapes, [12, 0], |claims| {
        let tree = tree(claims);
        let found: Vec<i64> = (0..shapes.len()).map(|at| share(&tree, at, 0)).collect();
        // Of 12 the two parts have their quotas of 4 and 6 and one each of the rest; the 5 of the
        // first are divided like that again.
        assert_eq!(found, [12, 5, 7, 4, 1]);
        assert_eq!(tree.share(3).get(Dim::CPU), Some(4));
    });
}

#[test]
fn what_pods_of_others_take_is_not_shared() {
    let mut names = ResourceNames::default();
    let resources = SharedResources::new(&mut names);
    let amount = |units: i64| {
        let list = vec![("nvidia.com/gpu".into(), crate::resource::Quantity::from_units(units))];
        names.clone().vector(&list)
    };
    let (total, others) = (amount(8), amount(3));
    assert_eq!(total_of(resources, &total, &others), [0, 0, 5000]);
}

proptest! {
    #[test]
    fn every_level_keeps_limits_and_quotas_and_wastes_nothing(
        shapes in any_shapes(), total in [0i64..80, 0i64..80],
    ) {
        with_claims(&shapes, total, |claims| {
            let tree = tree(claims);
            for resource in 0..2 {
                for (at, seat) in tree.seats.iter().enumerate().skip(1) {
                    let most = seat.limit[resource].unwrap_or(i64::MAX).min(seat.request[resource]);
                    let quota = seat.quota[resource].unwrap_or(i64::MAX).min(most);
                    let there = share(&tree, seat.parent.unwrap_or(0), resource);
                    prop_assert!(share(&tree, at, resource) >= quota.min(there), "quota of {at}");
                    prop_assert!(share(&tree, at, resource) <= most, "limit of {at}");
                }
                for (at, seat) in tree.seats.iter().enumerate() {
                    let children = || seat.children.iter().copied();
                    let given: i64 = children().map(|child| share(&tree, child, resource)).sum();
                    let wants = |child: usize| {
                        let seat = &tree.seats[child];
                        seat.limit[resource].unwrap_or(i64::MAX).min(seat.request[resource])
                            > seat.share[resource] && seat.weights[resource] > 0
                    };
                    prop_assert!(
                        given >= share(&tree, at, resource) || !children().any(wants),
                        "something is left below {at}"
                    );
                }
            }
            Ok(())
        })?;
    }
}

/// A tree of four levels: ten queues below the root, ten below each of them, and nine below each of those.
fn wide_tree() -> Vec<Shape> {
    let queue = |parent, wants| Shape {
        parent,
        weight: 1,
        capability: [None, None],
        deserved: None,
        guarantee: [None, None],
        wants: [wants, wants],
    };
    let mut shapes = vec![queue(None, 0)];
    shapes.extend((0..10).map(|_| queue(Some(0), 0)));
    shapes.extend((0..100).map(|at| queue(Some(1 + at / 10), 0)));
    shapes.extend((0..900).map(|at| queue(Some(11 + at / 9), 100)));
    shapes
}

#[test]
fn a_finished_pod_costs_the_levels_it_reaches() {
    with_claims(&wide_tree(), [30_000, 90_000], |claims| {
        let mut tree = tree(claims);
        let all = std::mem::take(&mut tree.divided);
        // The level of nobody, the root's and those of 110 parents, for three resources.
        assert_eq!(all, 3 * 112);
        let mut uses: Vec<QueueUse> =
            claims.queues.iter().map(|claim| claim.usage.clone()).collect();
        let mut path = Vec::new();
        let mut next = Some(1010);
        while let Some(at) = next {
            let cpu = uses[at].requested.get(Dim::CPU);
            uses[at].requested.set(Dim::CPU, cpu - 1);
            path.push(at);
            next = claims.queues[at].parent;
        }
        let changed: Vec<(usize, &QueueUse)> = path.into_iter().map(|at| (at, &uses[at])).collect();
        tree.update(claims.total, claims.others, &changed);
        assert!(tree.divided <= 4, "{} levels divided", tree.divided);
    });
}

proptest! {
    #[test]
    fn a_tree_that_was_updated_is_the_one_made_anew(
        shapes in any_shapes(),
        totals in [[0i64..80, 0i64..80], [0i64..80, 0i64..80]],
        wants in prop::collection::vec((any::<prop::sample::Index>(), [0i64..40, 0i64..40]), 1..5),
    ) {
        let mut other = shapes.clone();
        for (at, wants) in wants {
            other[at.index(shapes.len())].wants = wants;
        }
        let mut kept = with_claims(&shapes, totals[0], tree);
        with_claims(&other, totals[1], |claims| {
            let all: Vec<(usize, &QueueUse)> =
                claims.queues.iter().map(|claim| claim.usage).enumerate().collect();
            let before: Vec<Amounts> = kept.seats.iter().map(|seat| seat.share).collect();
            let told = kept.update(claims.total, claims.others, &all);
            let anew = tree(claims);
            for (at, seat) in anew.seats.iter().enumerate() {
                prop_assert_eq!(kept.seats[at].share, seat.share);
                prop_assert_eq!(told.iter().any(|one| one.0 == at), before[at] != seat.share);
            }
            Ok(())
        })?;
    }
}
