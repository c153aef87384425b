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
        let shares: Vec<i64> = (0..shapes.len()).map(|at| share(&tree, at, 0)).collect();
        // Of 12 the two parts have their quotas of 4 and 6 and one each of the rest; the 5 of the
        // first are divided like that again.
        assert_eq!(shares, [12, 5, 7, 4, 1]);
        assert_eq!(tree.share(3).get(Dim::CPU), Some(4));
    });
}

#[test]
fn what_pods_of_others_take_is_not_shared() {
    with_claims(&[], [0, 0], |claims| {
        let mut names = ResourceNames::default();
        let resources = SharedResources::new(&mut names);
        let amount = |units: i64| {
            let list =
                vec![("nvidia.com/gpu".into(), crate::resource::Quantity::from_units(units))];
            names.clone().vector(&list)
        };
        let (total, others) = (amount(8), amount(3));
        let claims = Claims { total: &total, others: &others, ..claims.clone() };
        assert_eq!(FairTree::total_of(&resources, &claims), [0, 0, 5000]);
    });
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
