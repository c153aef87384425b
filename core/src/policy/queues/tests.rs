//! Random trees of queues: ceilings against a model, and what must hold for any of them.

use proptest::prelude::*;

use super::*;
use crate::resource::Dim;

/// A queue of a test: the first is the root. Amounts are of cpu and memory.
#[derive(Clone, Debug)]
pub(crate) struct Shape {
    pub(crate) parent: Option<usize>,
    pub(crate) weight: u32,
    pub(crate) capability: [Option<i64>; 2],
    pub(crate) deserved: Option<[Option<i64>; 2]>,
    pub(crate) guarantee: [Option<i64>; 2],
    /// What its own jobs want.
    pub(crate) wants: [i64; 2],
}

const DIMS: [Dim; 2] = [Dim::CPU, Dim::MEMORY];

/// A root without limits and up to seven queues below it, anywhere.
pub(crate) fn any_shapes() -> impl Strategy<Value = Vec<Shape>> {
    let amount = || prop::option::weighted(0.4, 0i64..30);
    let pair = move || [amount(), amount()];
    let queue = (
        any::<prop::sample::Index>(),
        1u32..5,
        pair(),
        prop::option::of(pair()),
        pair(),
        [0i64..40, 0i64..40],
    );
    prop::collection::vec(queue, 0..8).prop_map(|queues| {
        let bare = [None, None];
        let root = Shape {
            parent: None,
            weight: 1,
            capability: bare,
            deserved: None,
            guarantee: bare,
            wants: [0, 0],
        };
        let mut shapes = vec![root];
        for (parent, weight, capability, deserved, guarantee, wants) in queues {
            // Only some have a guarantee, or nothing is left to divide.
            let guarantee =
                guarantee.map(|amount| amount.filter(|amount| amount % 3 == 0).map(|a| a / 3));
            let parent = Some(parent.index(shapes.len()));
            shapes.push(Shape { parent, weight, capability, deserved, guarantee, wants });
        }
        shapes
    })
}

fn limits(amounts: &[Option<i64>; 2]) -> Limits {
    let mut limits = Limits::default();
    for (dim, amount) in DIMS.into_iter().zip(amounts) {
        if let Some(amount) = amount {
            limits.set(dim, *amount);
        }
    }
    limits
}

/// Turns shapes into claims and hands them on.
pub(crate) fn with_claims<T>(
    shapes: &[Shape],
    total: [i64; 2],
    check: impl FnOnce(&Claims<'_>) -> T,
) -> T {
    let names = ResourceNames::default();
    let labels: Vec<Name> = (0..shapes.len()).map(|at| format!("q{at}").into()).collect();
    let mut uses = vec![QueueUse::default(); shapes.len()];
    for (at, shape) in shapes.iter().enumerate() {
        let mut next = Some(at);
        while let Some(queue) = next {
            uses[queue].requested.add(limits(&shape.wants.map(Some)).values());
            next = shapes[queue].parent;
        }
    }
    let queues = shapes.iter().zip(&labels).zip(&uses).map(|((shape, name), usage)| QueueClaim {
        name,
        parent: shape.parent,
        weight: shape.weight,
        capability: limits(&shape.capability),
        deserved: shape.deserved.as_ref().map(limits),
        guarantee: limits(&shape.guarantee).values().clone(),
        priority: 0,
        created: TimeMs(0),
        uid: name,
        over_quota: None,
        usage,
        wants: Wants::Everything,
        past: [0; 3],
    });
    let total = limits(&total.map(Some)).values().clone();
    let others = ResourceVec::default();
    check(&Claims { queues: queues.collect(), total: &total, others: &others, names: &names })
}

/// What is kept for a queue, by walking down from it.
fn kept(shapes: &[Shape], queue: usize, at: usize) -> i64 {
    let children = (0..shapes.len()).filter(|&child| shapes[child].parent == Some(queue));
    let below: i64 = children.map(|child| kept(shapes, child, at)).sum();
    let own = shapes[queue].guarantee[at].unwrap_or(0);
    below.max(shapes[queue].capability[at].map_or(own, |limit| own.min(limit)))
}

/// What a queue may use, by walking up from it.
fn may_use(shapes: &[Shape], queue: usize, at: usize, total: i64) -> i64 {
    let ceiling = match shapes[queue].parent {
        None => total,
        Some(parent) => {
            let above = may_use(shapes, parent, at, total);
            let siblings = (0..shapes.len()).filter(|&child| shapes[child].parent == Some(parent));
            let promised: i64 = siblings.map(|child| kept(shapes, child, at)).sum();
            ((above - promised).max(0) + kept(shapes, queue, at)).min(above)
        }
    };
    shapes[queue].capability[at].map_or(ceiling, |limit| ceiling.min(limit))
}

proptest! {
    #[test]
    fn ceilings_are_those_of_the_walk_up(shapes in any_shapes(), total in [0i64..60, 0i64..60]) {
        with_claims(&shapes, total, |claims| {
            for (queue, terms) in ceilings(claims).into_iter().enumerate() {
                let ceiling = terms.ceiling.unwrap();
                for (at, dim) in DIMS.into_iter().enumerate() {
                    prop_assert_eq!(ceiling.get(dim), may_use(&shapes, queue, at, total[at]));
                    prop_assert_eq!(terms.guarantee.get(dim), kept(&shapes, queue, at));
                }
                let has_children = shapes.iter().any(|shape| shape.parent == Some(queue));
                prop_assert_eq!(terms.is_parent, has_children);
            }
            Ok(())
        })?;
    }

    /// What is guaranteed to a queue can be had even if everybody else is at their ceiling, as long as
    /// the guarantees fit the cluster and the limits above them.
    #[test]
    fn nobody_can_take_what_is_guaranteed_to_a_sibling(shapes in any_shapes(), total in 0i64..60) {
        with_claims(&shapes, [total, total], |claims| {
            let terms = ceilings(claims);
            for (queue, shape) in shapes.iter().enumerate() {
                let Some(parent) = shape.parent else { continue };
                let ceiling = |queue: usize| terms[queue].ceiling.as_ref().unwrap().get(Dim::CPU);
                let siblings = (0..shapes.len()).filter(|&other| shapes[other].parent == Some(parent));
                let promised: i64 = siblings.clone().map(|one| terms[one].guarantee.get(Dim::CPU)).sum();
                if promised <= ceiling(parent) {
                    for other in siblings.filter(|&other| other != queue) {
                        let rest = ceiling(parent) - ceiling(other);
                        prop_assert!(rest >= terms[queue].guarantee.get(Dim::CPU));
                    }
                }
            }
            Ok(())
        })?;
    }

    #[test]
    fn a_due_lies_between_guarantee_and_ceiling(shapes in any_shapes(), total in [0i64..60, 0i64..60]) {
        with_claims(&shapes, total, |claims| {
            for (queue, Portion { deserved, terms }) in dues(claims, ceilings(claims)).iter().enumerate() {
                let ceiling = terms.ceiling.as_ref().unwrap();
                for (dim, due) in deserved.iter() {
                    prop_assert!(due <= ceiling.get(dim));
                    prop_assert!(due >= terms.guarantee.get(dim).min(ceiling.get(dim)));
                }
                let leaf = !terms.is_parent;
                if let (true, None) = (leaf, shapes[queue].deserved) {
                    prop_assert!(deserved.iter().all(|(dim, _)| terms.guarantee.get(dim) > 0));
                }
            }
            Ok(())
        })?;
    }
}

fn plain(parent: Option<usize>) -> Shape {
    let bare = [None, None];
    Shape { parent, weight: 1, capability: bare, deserved: None, guarantee: bare, wants: [0, 0] }
}

#[test]
fn limits_that_contradict_each_other_are_told_and_the_tighter_one_counts() {
    let parent = Shape {
        capability: [Some(10), None],
        deserved: Some([Some(6), None]),
        guarantee: [Some(2), None],
        ..plain(Some(0))
    };
    let child = Shape {
        capability: [Some(12), None],
        deserved: Some([Some(14), None]),
        guarantee: [Some(3), None],
        ..plain(Some(1))
    };
    let strict = Shape {
        capability: [None, Some(4)],
        deserved: Some([None, Some(1)]),
        guarantee: [None, Some(5)],
        ..plain(Some(0))
    };
    with_claims(&[plain(None), parent, child, strict], [40, 40], |claims| {
        let portions = dues(claims, ceilings(claims));
        let warnings: Vec<_> =
            portions.iter().map(|portion| portion.terms.warnings.clone()).collect();
        assert_eq!(warnings[0], Vec::<String>::new());
        assert_eq!(
            warnings[1],
            [
                "the guarantees of its children make cpu 3m, its own is cpu 2m",
                "its children deserve cpu 14m together, it deserves cpu 6m",
                "child \"q2\" has capability cpu 12m, it has cpu 10m",
            ]
        );
        assert_eq!(
            warnings[2],
            ["deserved cpu 14m is above capability cpu 12m; it is due cpu 12m"]
        );
        assert_eq!(
            warnings[3],
            [
                "guarantee memory 5 is above capability memory 4; memory 4 is kept",
                "guarantee memory 5 is above deserved memory 1; it is due memory 5",
            ]
        );
        let due = |queue: usize, dim| portions[queue].deserved.values().get(dim);
        assert_eq!(due(2, Dim::CPU), 10, "capped by what the parent may use");
        assert_eq!(due(3, Dim::MEMORY), 4);
    });
}

#[test]
fn a_parent_without_a_due_of_its_own_is_due_what_its_children_are() {
    let child = |cpu| Shape { deserved: Some([Some(cpu), None]), ..plain(Some(1)) };
    with_claims(&[plain(None), plain(Some(0)), child(3), child(4)], [40, 40], |claims| {
        let portions = dues(claims, ceilings(claims));
        assert_eq!(portions[1].deserved.get(Dim::CPU), Some(7));
        assert_eq!(portions[1].deserved.get(Dim::MEMORY), None);
        assert_eq!(portions[0].deserved.get(Dim::CPU), Some(7));
    });
}
