//! Each rule by example, and a twin that spells missing amounts out.

use proptest::prelude::*;

use super::Missing::{Infinity, Zero};
use super::*;

const GPU: Dim = Dim(4);
/// Beyond the hot lanes.
const NIC: Dim = Dim(11);

fn vector(entries: &[(Dim, i64)]) -> ResourceVec {
    let mut vector = ResourceVec::default();
    for &(dim, amount) in entries {
        vector.set(dim, amount);
    }
    vector
}

fn limits(entries: &[(Dim, i64)]) -> Limits {
    let mut limits = Limits::default();
    for &(dim, amount) in entries {
        limits.set(dim, amount);
    }
    limits
}

#[test]
fn at_most_holds_only_when_no_named_dimension_is_above() {
    let left = limits(&[(Dim::CPU, 1000), (NIC, 1)]);
    assert!(less_equal(&left, &limits(&[(Dim::CPU, 1000), (NIC, 1)]), Zero));
    assert!(!less_equal(&left, &limits(&[(Dim::CPU, 999), (NIC, 1)]), Zero));
    assert!(!less_equal(&left, &limits(&[(Dim::CPU, 1000), (NIC, 0)]), Infinity));
}

#[test]
fn at_most_takes_a_missing_bound_as_none_or_as_no_end() {
    let (some, none) = (limits(&[(GPU, 1000)]), Limits::default());
    assert!(!less_equal(&some, &none, Zero));
    assert!(less_equal(&some, &none, Infinity));
    assert!(less_equal(&limits(&[(GPU, 0)]), &none, Zero));
}

#[test]
fn at_most_takes_a_missing_left_side_as_none_or_as_no_end() {
    let (none, bound) = (Limits::default(), limits(&[(GPU, 1000)]));
    assert!(less_equal(&none, &bound, Zero));
    assert!(!less_equal(&none, &bound, Infinity));
    // Even where the bound is negative: what only the right side names is not looked at.
    assert!(less_equal(&none, &limits(&[(GPU, -1)]), Zero));
}

#[test]
fn below_is_strict_in_every_dimension() {
    let left = limits(&[(Dim::CPU, 1), (Dim::MEMORY, 1)]);
    assert!(!less(&left, &limits(&[(Dim::CPU, 2), (Dim::MEMORY, 1)]), Zero));
    assert!(less(&left, &limits(&[(Dim::CPU, 2), (Dim::MEMORY, 2)]), Zero));
    let idle = Limits::from(&ResourceVec::default());
    assert!(!less(&idle, &idle, Zero), "nothing is not below nothing");
}

#[test]
fn below_treats_missing_names_as_at_most_does() {
    let left = limits(&[(Dim::CPU, 1), (GPU, 0)]);
    let right = limits(&[(Dim::CPU, 2)]);
    assert!(!less(&left, &right, Zero), "no gpu is not below a missing one");
    assert!(less(&left, &right, Infinity));
    assert!(!less(&right, &limits(&[(Dim::CPU, 3), (GPU, 9)]), Infinity));
    assert!(less(&right, &limits(&[(Dim::CPU, 3), (GPU, 9)]), Zero));
}

#[test]
fn below_somewhere_needs_one_dimension() {
    let left = limits(&[(Dim::CPU, 5), (Dim::MEMORY, 5)]);
    for missing in [Zero, Infinity] {
        assert!(less_partly(&left, &limits(&[(Dim::CPU, 1), (Dim::MEMORY, 6)]), missing));
        assert!(!less_partly(&left, &limits(&[(Dim::CPU, 5), (Dim::MEMORY, 5)]), missing));
        assert!(less_equal_partly(&left, &limits(&[(Dim::CPU, 1), (Dim::MEMORY, 5)]), missing));
        assert!(!less_equal_partly(&left, &limits(&[(Dim::CPU, 1), (Dim::MEMORY, 4)]), missing));
    }
}

#[test]
fn below_somewhere_is_met_by_a_name_only_the_right_side_has_when_missing_is_zero() {
    let left = limits(&[(Dim::CPU, 5), (Dim::MEMORY, 5)]);
    let right = limits(&[(Dim::CPU, 1), (Dim::MEMORY, 1), (GPU, 0)]);
    assert!(less_partly(&left, &right, Zero));
    assert!(less_equal_partly(&left, &right, Zero));
    assert!(!less_partly(&left, &right, Infinity));
    assert!(!less_equal_partly(&left, &right, Infinity));
}

#[test]
fn below_somewhere_is_met_by_a_name_only_the_left_side_has_when_missing_is_no_end() {
    let left = limits(&[(Dim::CPU, 5), (GPU, 9)]);
    let right = limits(&[(Dim::CPU, 1)]);
    assert!(less_partly(&left, &right, Infinity));
    assert!(less_equal_partly(&left, &right, Infinity));
    assert!(!less_partly(&left, &right, Zero));
    assert!(!less_equal_partly(&left, &right, Zero));
}

#[test]
fn the_minimum_never_adds_a_name() {
    let left = limits(&[(Dim::CPU, 5), (GPU, 9), (NIC, 2)]);
    let bound = limits(&[(Dim::CPU, 3), (Dim::MEMORY, 1), (NIC, 7)]);
    let zeroed = limits(&[(Dim::CPU, 3), (GPU, 0), (NIC, 2)]);
    assert_eq!(min_dimension(&left, &bound, Zero), zeroed);
    let kept = limits(&[(Dim::CPU, 3), (GPU, 9), (NIC, 2)]);
    assert_eq!(min_dimension(&left, &bound, Infinity), kept);
}

#[test]
fn the_exceeded_part_is_what_sticks_out() {
    let left = vector(&[(Dim::CPU, 5), (GPU, 9), (NIC, 2)]);
    let right = vector(&[(Dim::CPU, 7), (GPU, 4), (Dim::MEMORY, -3)]);
    let expected = vector(&[(GPU, 5), (NIC, 2), (Dim::MEMORY, 3)]);
    assert_eq!(exceeded_part(&left, &right), expected);
    assert_eq!(exceeded_part(&left, &left), ResourceVec::default());
    assert_eq!(exceeded_part(&left, &ResourceVec::default()), left);
}

#[test]
fn what_lacks_is_told_per_dimension_asked_for() {
    let available = vector(&[(Dim::CPU, 500), (Dim::MEMORY, -1), (GPU, -2)]);
    let request = vector(&[(Dim::CPU, 800), (Dim::MEMORY, 1), (Dim::PODS, 1), (NIC, 4)]);
    let lacking: Vec<_> = fit_delta(&available, &request).collect();
    assert_eq!(lacking, [(Dim::CPU, 300), (Dim::MEMORY, 2), (Dim::PODS, 1), (NIC, 4)]);
    assert_eq!(fit_delta(&available, &vector(&[(Dim::CPU, 500)])).count(), 0);
}

#[test]
fn a_quota_is_judged_where_something_is_asked_and_pods_do_not_count() {
    let used = vector(&[(Dim::CPU, 9), (Dim::MEMORY, 2), (Dim::PODS, 9), (GPU, 1)]);
    let bound = limits(&[(Dim::CPU, 8), (Dim::MEMORY, 2), (Dim::PODS, 1)]);
    let over = |request: &[(Dim, i64)], missing| {
        let request = vector(request);
        exceeded_where_asked(&used, &bound, &request, missing).collect::<Vec<_>>()
    };
    assert_eq!(over(&[(Dim::MEMORY, 1), (Dim::PODS, 1)], Zero), []);
    assert_eq!(over(&[(Dim::CPU, 1), (Dim::MEMORY, 1)], Zero), [Dim::CPU]);
    assert_eq!(over(&[(GPU, 1)], Zero), [GPU]);
    assert_eq!(over(&[(GPU, 1)], Infinity), []);
    assert_eq!(over(&[(NIC, 1)], Zero), [], "none of it is used");
}

#[test]
fn a_due_is_met_partly_only_where_somebody_has_something() {
    let deserved = vector(&[(Dim::CPU, 4), (GPU, 1)]);
    let met = |used: &[(Dim, i64)], request: &[(Dim, i64)]| {
        less_equal_partly_where_asked(&vector(used), &deserved, &vector(request))
    };
    assert!(met(&[(Dim::CPU, 4), (GPU, 2)], &[(Dim::CPU, 1), (GPU, 1)]));
    assert!(!met(&[(Dim::CPU, 4), (GPU, 2)], &[(GPU, 1)]));
    assert!(!met(&[], &[(NIC, 1)]), "nobody has or deserves any");
    assert!(met(&[], &[(GPU, 1)]), "a due of which nothing is used");
    assert!(!met(&[(Dim::PODS, 0)], &[(Dim::PODS, 1)]), "pods do not count");
}

#[test]
fn a_due_that_says_nothing_of_a_dimension_is_not_exceeded_there() {
    let used = vector(&[(GPU, 2000), (Dim::CPU, 4000)]);
    let request = vector(&[(GPU, 1000), (Dim::CPU, 1)]);
    let greater = |due: &[(Dim, i64)]| greater_partly_where_relevant(&used, &limits(due), &request);
    assert!(!greater(&[]));
    assert!(greater(&[(GPU, 0)]), "a named zero is a due");
    assert!(!greater(&[(Dim::CPU, 0)]), "of cpu and memory only more than nothing is");
    assert!(greater(&[(Dim::CPU, 1)]));
    assert!(!greater(&[(Dim::CPU, 4000), (GPU, 2000)]));
    let only_pods = vector(&[(Dim::PODS, 5)]);
    assert!(!greater_partly_where_relevant(&only_pods, &limits(&[(Dim::PODS, 1)]), &only_pods));
}

/// A side written out: every dimension below 12, with what it means where it is missing.
fn spelled(side: &Limits, missing: Missing) -> Vec<i128> {
    let missing = if missing == Zero { 0 } else { i128::MAX };
    (0..12).map(|dim| side.get(Dim(dim)).map_or(missing, i128::from)).collect()
}

fn any_limits() -> impl Strategy<Value = Limits> {
    let entry = (0u32..12, prop_oneof![-2i64..3, Just(i64::MAX), Just(i64::MIN)]);
    prop::collection::vec(entry, 0..8)
        .prop_map(|list| limits(&list.iter().map(|&(dim, n)| (Dim(dim), n)).collect::<Vec<_>>()))
}

proptest! {
    #[test]
    fn with_no_end_for_missing_names_at_most_is_the_plain_order(
        left in any_limits(), right in any_limits(),
    ) {
        let (l, r) = (spelled(&left, Infinity), spelled(&right, Infinity));
        let expected = l.iter().zip(&r).all(|(l, r)| l <= r);
        prop_assert_eq!(less_equal(&left, &right, Infinity), expected);
    }

    #[test]
    fn with_nothing_for_missing_names_at_most_is_the_plain_order_where_left_speaks(
        left in any_limits(), right in any_limits(),
    ) {
        let (l, r) = (spelled(&left, Zero), spelled(&right, Zero));
        let spoken = (0..12).filter(|&dim| left.names(Dim(dim))).map(|dim| dim as usize);
        let expected = spoken.into_iter().all(|dim| l[dim] <= r[dim]);
        prop_assert_eq!(less_equal(&left, &right, Zero), expected);
    }

    #[test]
    fn the_minimum_is_at_most_either_side(left in any_limits(), right in any_limits()) {
        let smaller = min_dimension(&left, &right, Infinity);
        for (dim, amount) in smaller.iter() {
            prop_assert!(amount <= left.values().get(dim));
            prop_assert!(right.get(dim).is_none_or(|bound| amount <= bound));
        }
        prop_assert_eq!(smaller.iter().count(), left.iter().count());
    }

    #[test]
    fn no_lack_is_the_same_as_fitting(available in any_limits(), request in any_limits()) {
        let (available, request) = (available.values(), request.values());
        let lacks = fit_delta(available, request).next().is_some();
        prop_assert_eq!(!lacks, request.fits(available));
    }
}
