//! Random trees of queues: what must hold for the shares of each.

use proptest::prelude::*;

use super::*;
use crate::policy::queues::fair_share::tests::by_the_rules as fair_share_rules;
use crate::policy::queues::tests::{Shape, any_shapes, with_claims};
use crate::resource::{Dim, ResourceNames};

fn tree(claims: &Claims<'_>) -> FairTree {
    weighed_tree(0, claims)
}

/// A tree in which usage of late counts so much.
fn weighed_tree(usage_weight: u64, claims: &Claims<'_>) -> FairTree {
    let mut names = claims.names.clone();
    FairTree::new(SharedResources::new(&mut names), usage_weight, claims)
}

/// All queues as news.
fn news<'a>(claims: &Claims<'a>) -> Vec<QueueNews<'a>> {
    let queues = claims.queues.iter().enumerate();
    queues.map(|(queue, claim)| QueueNews { queue, usage: claim.usage, past: claim.past }).collect()
}

/// Claims of queues that used these parts of the cluster of late, each with what those below it used.
fn with_past<'a>(claims: &Claims<'a>, own: &[u64]) -> Claims<'a> {
    let mut claims = claims.clone();
    for (at, &part) in own.iter().enumerate() {
        let mut next = Some(at);
        while let Some(queue) = next {
            claims.queues[queue].past.iter_mut().for_each(|past| *past += part);
            next = claims.queues[queue].parent;
        }
    }
    claims
}

/// What up to eight queues used themselves, no more than the cluster together.
fn any_past() -> impl Strategy<Value = Vec<u64>> {
    prop::collection::vec(0..=MILLION / 9, 9)
}

/// The shares by the rules, level by level from the root down.
fn by_the_rules(usage_weight: u64, claims: &Claims<'_>, resource: usize) -> Vec<i64> {
    let anew = weighed_tree(usage_weight, claims);
    let mut shares: Vec<i64> = anew.seats.iter().map(|seat| seat.share[resource]).collect();
    for parent in claims.top_down() {
        let below = (0..shares.len()).filter(|&at| claims.queues[at].parent == Some(parent));
        let below: Vec<usize> = below.collect();
        let contenders: Vec<Contender<'_>> = below
            .iter()
            .map(|&at| Contender {
                quota: anew.seats[at].quota[resource],
                limit: anew.seats[at].limit[resource],
                weight: anew.seats[at].weights[resource],
                usage: claims.queues[at].past[resource],
                priority: claims.queues[at].priority,
                request: anew.seats[at].request[resource],
                age: (claims.queues[at].created, claims.queues[at].uid),
            })
            .collect();
        let pot =
            Pot { total: shares[parent], unit: SharedResources::UNITS[resource], usage_weight };
        let divided = fair_share_rules(pot, &contenders);
        below.into_iter().zip(divided).for_each(|(at, share)| shares[at] = share);
    }
    shares
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
        let changed: Vec<QueueNews<'_>> = path
            .into_iter()
            .map(|queue| QueueNews { queue, usage: &uses[queue], past: [0; 3] })
            .collect();
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
        past in [any_past(), any_past()],
        usage_weight in 0..3 * MILLION,
    ) {
        let mut other = shapes.clone();
        for (at, wants) in wants {
            other[at.index(shapes.len())].wants = wants;
        }
        let mut kept = with_claims(&shapes, totals[0], |claims| {
            weighed_tree(usage_weight, &with_past(claims, &past[0][..shapes.len()]))
        });
        with_claims(&other, totals[1], |claims| {
            let claims = &with_past(claims, &past[1][..shapes.len()]);
            let before: Vec<Amounts> = kept.seats.iter().map(|seat| seat.share).collect();
            let told = kept.update(claims.total, claims.others, &news(claims));
            let anew = weighed_tree(usage_weight, claims);
            for (at, seat) in anew.seats.iter().enumerate() {
                prop_assert_eq!(kept.seats[at].share, seat.share);
                prop_assert_eq!(told.iter().any(|one| one.0 == at), before[at] != seat.share);
            }
            Ok(())
        })?;
    }
}

proptest! {
    #[test]
    fn a_tree_with_past_use_is_that_of_the_rules(
        shapes in any_shapes(), total in [0i64..80, 0i64..80], past in any_past(),
        usage_weight in prop_oneof![Just(0), Just(MILLION), (0..50u64).prop_map(|k| k * MILLION / 10)],
    ) {
        with_claims(&shapes, total, |claims| {
            let claims = &with_past(claims, &past[..shapes.len()]);
            let tree = weighed_tree(usage_weight, claims);
            for resource in 0..2 {
                let found: Vec<i64> = (0..shapes.len()).map(|at| share(&tree, at, resource)).collect();
                prop_assert_eq!(found, by_the_rules(usage_weight, claims, resource));
            }
            Ok(())
        })?;
    }

    #[test]
    fn past_use_touches_no_quota_passes_no_limit_and_leaves_nothing_over(
        shapes in any_shapes(), total in [0i64..80, 0i64..80], past in any_past(),
        usage_weight in 0..=MILLION,
    ) {
        with_claims(&shapes, total, |claims| {
            let claims = &with_past(claims, &past[..shapes.len()]);
            let tree = weighed_tree(usage_weight, claims);
            for (at, seat) in tree.seats.iter().enumerate().skip(1) {
                for resource in 0..2 {
                    let most = seat.limit[resource].unwrap_or(i64::MAX).min(seat.request[resource]);
                    let there = share(&tree, seat.parent.unwrap_or(0), resource);
                    let quota = seat.quota[resource].unwrap_or(there).min(most);
                    prop_assert!(share(&tree, at, resource) >= quota, "quota of {at}");
                    prop_assert!(share(&tree, at, resource) <= most, "limit of {at}");
                    let siblings = &tree.seats[seat.parent.unwrap_or(0)].children;
                    let given: i64 = siblings.iter().map(|&one| share(&tree, one, resource)).sum();
                    let wants = share(&tree, at, resource) < most && seat.weights[resource] > 0;
                    prop_assert!(given >= there || !wants, "{at} wants what nobody has");
                }
            }
            Ok(())
        })?;
    }

    /// Names decide nothing but ties, which amounts of cpu and memory do not have.
    #[test]
    fn whoever_used_more_of_late_gets_no_more_of_what_is_beyond_quotas(
        wants in [0i64..99, 0i64..99], total in 1i64..99, past in [0..=MILLION / 2, 0..=MILLION / 2],
        usage_weight in 0..=2 * MILLION,
    ) {
        let queue = |wants| Shape {
            parent: Some(0),
            weight: 1,
            capability: [None, None],
            deserved: None,
            guarantee: [None, None],
            wants: [wants, 0],
        };
        let shapes = [Shape { parent: None, ..queue(0) }, queue(wants[0]), queue(wants[1])];
        let both = |past: [u64; 2]| with_claims(&shapes, [total, 0], |claims| {
            let tree = weighed_tree(usage_weight, &with_past(claims, &[0, past[0], past[1]]));
            [share(&tree, 1, 0), share(&tree, 2, 0)]
        });
        let (before, after) = (both([past[0].min(past[1]), 0]), both([past[0].max(past[1]), 0]));
        prop_assert!(after[0] <= before[0], "{after:?} {before:?}");
        prop_assert!(after[1] >= before[1], "{after:?} {before:?}");
    }
}
