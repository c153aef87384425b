//! The division over several resources and a tree of queues, against a model that gives unit by unit.

mod victims;

use proptest::prelude::*;

use super::super::queues::tests::{Shape, any_shapes, with_claims};
use super::*;

/// The due of each queue's own jobs in one resource: unit by unit to whoever has least of it by weight.
fn naive(shapes: &[Shape], total: i64, at: usize, ceilings: &[i64]) -> Vec<i64> {
    let floor = |queue: &Shape| {
        let kept = queue.guarantee[at].unwrap_or(0);
        queue.capability[at].map_or(kept, |limit| kept.min(limit))
    };
    let mut dues: Vec<i64> = shapes.iter().map(floor).collect();
    let caps: Vec<i64> = shapes
        .iter()
        .zip(ceilings)
        .map(|(queue, &ceiling)| queue.wants[at].min(ceiling).max(floor(queue)))
        .collect();
    while dues.iter().sum::<i64>() < total {
        let open = (0..dues.len()).filter(|&queue| dues[queue] < caps[queue]);
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

proptest! {
    #[test]
    fn the_division_is_that_of_unit_by_unit(shapes in any_shapes(), total in [0i64..60, 0i64..60]) {
        with_claims(&shapes, total, |claims| {
            let portions = apportion(claims);
            for (at, dim) in [Dim::CPU, Dim::MEMORY].into_iter().enumerate() {
                let ceilings: Vec<i64> = portions
                    .iter()
                    .map(|portion| portion.terms.ceiling.as_ref().unwrap().get(dim))
                    .collect();
                let own = naive(&shapes, total[at], at, &ceilings);
                // A parent is due what its own jobs and its children are.
                let mut want = own.clone();
                for (child, queue) in shapes.iter().enumerate() {
                    let mut next = queue.parent;
                    while let Some(parent) = next {
                        want[parent] += own[child];
                        next = shapes[parent].parent;
                    }
                }
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
                    let ceiling = portions[queue].terms.ceiling.as_ref().unwrap().get(dim);
                    let leaf = shapes.iter().all(|other| other.parent != Some(queue));
                    if leaf && given < total[at] {
                        prop_assert!(due(queue) >= shape.wants[at].min(ceiling));
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
}
