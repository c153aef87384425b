//! The division over several resources and a tree of queues, against a model that gives unit by unit.

mod victims;

use proptest::prelude::*;

use super::*;
use crate::policy::queues::tests::{Shape, any_shapes, with_claims};

/// A queue and those above it.
fn path(shapes: &[Shape], queue: usize) -> Vec<usize> {
    std::iter::successors(Some(queue), |&at| shapes[at].parent).collect()
}

/// What each queue and those below it have together.
fn together(shapes: &[Shape], own: &[i64]) -> Vec<i64> {
    let mut sums = vec![0; own.len()];
    for (queue, amount) in own.iter().enumerate() {
        for at in path(shapes, queue) {
            sums[at] += amount;
        }
    }
    sums
}

/// The due of each queue's own jobs in one resource: unit by unit to the queue that has least of it by
/// weight, as long as it and everybody above it may have one more.
fn naive(shapes: &[Shape], total: i64, at: usize, terms: &[(i64, i64)]) -> Vec<i64> {
    let floor = |queue: usize| {
        let children = (0..shapes.len()).filter(|&child| shapes[child].parent == Some(queue));
        (terms[queue].1 - children.map(|child| terms[child].1).sum::<i64>()).max(0)
    };
    let mut dues: Vec<i64> = (0..shapes.len()).map(floor).collect();
    while dues.iter().sum::<i64>() < total {
        let sums = together(shapes, &dues);
        let open = (0..dues.len()).filter(|&queue| {
            let room = path(shapes, queue).into_iter().all(|at| sums[at] < terms[at].0);
            dues[queue] < shapes[queue].wants[at] && room
        });
        let next = open.reduce(|best, queue| {
            let weight = |queue: usize| i64::from(shapes[queue].weight);
            let lower = (dues[queue] + 1) * weight(best) < (dues[best] + 1) * weight(queue);
            if lower { queue } else { best }
        });
        let Some(queue) = next else { break };
        dues[queue] += 1;
    }
    dues
}

/// Ceiling and effective guarantee of each queue.
fn terms(portions: &[Portion], dim: Dim) -> Vec<(i64, i64)> {
    let of = |portion: &Portion| {
        let ceiling = portion.terms.ceiling.as_ref().expect("the division sets one");
        (ceiling.get(dim), portion.terms.guarantee.get(dim))
    };
    portions.iter().map(of).collect()
}

proptest! {
    #[test]
    fn the_division_is_that_of_unit_by_unit(shapes in any_shapes(), total in [0i64..60, 0i64..60]) {
        with_claims(&shapes, total, |claims| {
            let portions = apportion(claims);
            for (at, dim) in [Dim::CPU, Dim::MEMORY].into_iter().enumerate() {
                let own = naive(&shapes, total[at], at, &terms(&portions, dim));
                let want = together(&shapes, &own);
                let have: Vec<i64> =
                    portions.iter().map(|portion| portion.deserved.values().get(dim)).collect();
                prop_assert_eq!(have, want);
            }
            Ok(())
        })?;
    }

    #[test]
    fn nothing_is_left_over_while_a_queue_wants_it_and_may_have_it(
        shapes in any_shapes(),
        total in [0i64..60, 0i64..60],
    ) {
        with_claims(&shapes, total, |claims| {
            let portions = apportion(claims);
            for (at, dim) in [Dim::CPU, Dim::MEMORY].into_iter().enumerate() {
                let due = |queue: usize| portions[queue].deserved.values().get(dim);
                let given = due(0);
                for (queue, shape) in shapes.iter().enumerate() {
                    let most = terms(&portions, dim);
                    let full = path(&shapes, queue).into_iter().any(|at| due(at) >= most[at].0);
                    let leaf = shapes.iter().all(|other| other.parent != Some(queue));
                    if leaf && given < total[at] {
                        prop_assert!(due(queue) >= shape.wants[at] || full);
                    }
                    if let (true, Some(limit)) = (leaf, shape.capability[at]) {
                        prop_assert!(due(queue) <= limit);
                    }
                    let kept = shape.guarantee[at].unwrap_or(0);
                    let usable = shape.capability[at].map_or(kept, |limit| kept.min(limit));
                    prop_assert!(due(queue) >= usable);
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn what_others_take_counts_where_queues_take_from_each_other_and_nowhere_else(
        shapes in any_shapes(),
        total in [0i64..60, 0i64..60],
        others in [1i64..60, 0i64..60],
    ) {
        with_claims(&shapes, total, |claims| {
            let mut taken = ResourceVec::default();
            taken.set(Dim::CPU, others[0]);
            taken.set(Dim::MEMORY, others[1]);
            let portions = apportion(&Claims { others: &taken, ..claims.clone() });
            for (portion, alone) in portions.iter().zip(apportion(claims)) {
                prop_assert_eq!(&portion.deserved, &alone.deserved);
                prop_assert_eq!(&alone.terms.lasting_due, &None);
            }
            let lasting = portions[0].terms.lasting_due.clone().expect("others take something");
            for (at, dim) in [Dim::CPU, Dim::MEMORY].into_iter().enumerate() {
                let left = (total[at] - others[at]).max(portions[0].terms.guarantee.get(dim));
                prop_assert!(lasting.values().get(dim) <= left);
            }
            Ok(())
        })?;
    }
}
