//! Comparing resource vectors when either side may not name a dimension.
//!
//! The rules are those queues are judged by; a node is judged by [`ResourceVec::fits`] instead, which
//! looks at what the task asks for and at nothing else. Amounts are integers, so there is no
//! tolerance: equal is equal.

use super::{Dim, Limits, ResourceVec};

/// What a dimension means that one side of a comparison does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Missing {
    /// There is none of it.
    Zero,
    /// There is no end of it.
    Infinity,
}

/// Is `left` at most `right` in every dimension?
///
/// Dimensions that `left` names are compared. With [`Missing::Zero`] what `right` does not name is
/// nothing, and what only `right` names does not matter. With [`Missing::Infinity`] what `right` does
/// not name is no bound, and a name that only `right` has is exceeded: `left` is endless there.
pub fn less_equal(left: &Limits, right: &Limits, missing: Missing) -> bool {
    everywhere(left, right, missing, |left, right| left <= right)
}

/// Is `left` below `right` in every dimension? Missing names are treated as in [`less_equal`].
///
/// Nothing is not below nothing: two sides that both name a dimension with zero fail.
pub fn less(left: &Limits, right: &Limits, missing: Missing) -> bool {
    everywhere(left, right, missing, |left, right| left < right)
}

/// Is `left` below `right` in at least one dimension?
///
/// With [`Missing::Zero`] a name that only `right` has suffices, whatever its amount. With
/// [`Missing::Infinity`] a name that only `left` has suffices: any amount is below no end.
pub fn less_partly(left: &Limits, right: &Limits, missing: Missing) -> bool {
    somewhere(left, right, missing, |left, right| left < right)
}

/// Is `left` at most `right` in at least one dimension? Missing names are treated as in
/// [`less_partly`].
pub fn less_equal_partly(left: &Limits, right: &Limits, missing: Missing) -> bool {
    somewhere(left, right, missing, |left, right| left <= right)
}

fn everywhere(
    left: &Limits,
    right: &Limits,
    missing: Missing,
    holds: fn(i64, i64) -> bool,
) -> bool {
    match missing {
        Missing::Zero => left.iter().all(|(dim, amount)| holds(amount, right.values().get(dim))),
        Missing::Infinity => {
            right.iter().all(|(dim, _)| left.names(dim))
                && left
                    .iter()
                    .all(|(dim, amount)| right.get(dim).is_none_or(|bound| holds(amount, bound)))
        }
    }
}

fn somewhere(left: &Limits, right: &Limits, missing: Missing, holds: fn(i64, i64) -> bool) -> bool {
    match missing {
        Missing::Zero => {
            right.iter().any(|(dim, _)| !left.names(dim))
                || left.iter().any(|(dim, amount)| holds(amount, right.values().get(dim)))
        }
        Missing::Infinity => {
            left.iter().any(|(dim, amount)| right.get(dim).is_none_or(|bound| holds(amount, bound)))
        }
    }
}

/// The smaller amount of each dimension that `left` names; no names are added.
///
/// A dimension that `bound` does not name becomes zero with [`Missing::Zero`] and stays as it is with
/// [`Missing::Infinity`].
#[must_use]
pub fn min_dimension(left: &Limits, bound: &Limits, missing: Missing) -> Limits {
    let mut smaller = Limits::default();
    for (dim, amount) in left.iter() {
        smaller.set(
            dim,
            match (bound.get(dim), missing) {
                (Some(bound), _) => amount.min(bound),
                (None, Missing::Zero) => 0,
                (None, Missing::Infinity) => amount,
            },
        );
    }
    smaller
}

/// By how much `left` exceeds `right` in each dimension, zero where it does not.
///
/// Missing is nothing on both sides: a debt of `right` (a negative amount) that `left` does not name
/// is exceeded by its size.
#[must_use]
pub fn exceeded_part(left: &ResourceVec, right: &ResourceVec) -> ResourceVec {
    let mut exceeded = ResourceVec::default();
    let dims = left.iter().chain(right.iter()).map(|(dim, _)| dim);
    for dim in dims {
        exceeded.set(dim, left.get(dim).saturating_sub(right.get(dim)).max(0));
    }
    exceeded
}

/// Dimensions in which `available` is short of `request`, each with how much is lacking.
///
/// Only what the request asks for is looked at. Room below zero has to be made up first, so it counts
/// as lacking too.
pub fn fit_delta<'a>(
    available: &'a ResourceVec,
    request: &'a ResourceVec,
) -> impl Iterator<Item = (Dim, i64)> + 'a {
    request.iter().filter(|&(_, ask)| ask > 0).filter_map(|(dim, ask)| {
        let lacking = ask.saturating_sub(available.get(dim));
        (lacking > 0).then_some((dim, lacking))
    })
}

/// Dimensions that `request` asks for and in which `used` is above `bound`, `pods` aside.
///
/// This is how quotas are checked: a queue that is over in cpu still takes tasks that only want
/// memory. With [`Missing::Zero`] a dimension the bound does not name allows nothing, with
/// [`Missing::Infinity`] anything.
pub fn exceeded_where_asked<'a>(
    used: &'a ResourceVec,
    bound: &'a Limits,
    request: &'a ResourceVec,
    missing: Missing,
) -> impl Iterator<Item = Dim> + 'a {
    asked(request).filter(move |&dim| match (bound.get(dim), missing) {
        (Some(bound), _) => used.get(dim) > bound,
        (None, Missing::Zero) => used.get(dim) > 0,
        (None, Missing::Infinity) => false,
    })
}

/// Is `used` at most `deserved` in a dimension that `request` asks for, `pods` aside?
///
/// Missing is nothing. A dimension of which neither side has anything decides nothing: otherwise a
/// request for what nobody deserves would count as within its due.
pub fn less_equal_partly_where_asked(
    used: &ResourceVec,
    deserved: &ResourceVec,
    request: &ResourceVec,
) -> bool {
    asked(request).any(|dim| {
        let (used, deserved) = (used.get(dim), deserved.get(dim));
        (used > 0 || deserved > 0) && used <= deserved
    })
}

/// Is `used` above `deserved` in a dimension that `request` asks for and `deserved` speaks of?
///
/// Of cpu and memory it speaks where it gives more than nothing, of any other dimension where it
/// names it, be it with zero. `pods` never count.
pub fn greater_partly_where_relevant(
    used: &ResourceVec,
    deserved: &Limits,
    request: &ResourceVec,
) -> bool {
    asked(request).any(|dim| {
        let relevant = match dim {
            Dim::CPU | Dim::MEMORY => deserved.values().get(dim) > 0,
            _ => deserved.names(dim),
        };
        relevant && used.get(dim) > deserved.values().get(dim)
    })
}

/// Dimensions of a request that queues are judged by: every task is one pod, so `pods` say nothing.
fn asked(request: &ResourceVec) -> impl Iterator<Item = Dim> + '_ {
    request.iter().filter(|&(dim, ask)| ask > 0 && dim != Dim::PODS).map(|(dim, _)| dim)
}

#[cfg(test)]
mod tests;
