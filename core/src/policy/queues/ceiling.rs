//! What a queue may use at most, what is kept for it and what it is due, down the tree of queues.

use super::{Claims, Portion, QueueClaim};
use crate::resource::{Dim, Limits, ResourceVec};
use crate::world::QueueTerms;

/// The limits of every queue.
///
/// The root may use what the cluster has, within its own capability. A child may use what its parent
/// may, less what is guaranteed to its siblings, within its own capability. What is guaranteed to a
/// parent is at least what is guaranteed to its children.
pub(crate) fn ceilings(claims: &Claims<'_>) -> Vec<QueueTerms> {
    let order = claims.top_down();
    let guarantees = guarantees(claims, &order);
    let promised = claims.of_children(|at| guarantees[at].clone());
    let mut terms: Vec<QueueTerms> = Vec::with_capacity(claims.queues.len());
    terms.resize_with(claims.queues.len(), QueueTerms::default);
    let mut ceilings: Vec<ResourceVec> = vec![ResourceVec::default(); claims.queues.len()];
    for at in order {
        let queue = &claims.queues[at];
        let mut ceiling = match queue.parent {
            None => claims.total.clone(),
            Some(parent) => left_for(&ceilings[parent], &promised[parent], &guarantees[at]),
        };
        for (dim, limit) in queue.capability.iter() {
            ceiling.set(dim, ceiling.get(dim).min(limit));
        }
        ceilings[at] = ceiling.clone();
        if let Some(parent) = queue.parent {
            terms[parent].is_parent = true;
        }
        terms[at].ceiling = Some(ceiling);
        terms[at].guarantee = guarantees[at].clone();
        terms[at].floor = floor(queue);
    }
    for (at, terms) in terms.iter_mut().enumerate() {
        terms.warnings = warnings(claims, at, &promised[at]);
    }
    terms
}

/// What of a parent's ceiling is a child's: all but what is kept for its siblings.
fn left_for(parent: &ResourceVec, promised: &ResourceVec, own: &ResourceVec) -> ResourceVec {
    let mut left = ResourceVec::default();
    for (dim, ceiling) in parent.iter() {
        let free = ceiling.saturating_sub(promised.get(dim)).max(0);
        left.set(dim, free.saturating_add(own.get(dim)).min(ceiling));
    }
    left
}

/// What the queue itself is guaranteed, as far as its capability lets it use it.
fn floor(queue: &QueueClaim<'_>) -> ResourceVec {
    let mut floor = ResourceVec::default();
    for (dim, own) in queue.guarantee.iter() {
        floor.set(dim, queue.capability.get(dim).map_or(own, |limit| own.min(limit)));
    }
    floor
}

/// Room kept for each queue: its own guarantee, as far as its capability lets it use it, or what is
/// kept for its children if that is more.
fn guarantees(claims: &Claims<'_>, order: &[usize]) -> Vec<ResourceVec> {
    let mut kept: Vec<ResourceVec> = vec![ResourceVec::default(); claims.queues.len()];
    for &at in order.iter().rev() {
        let queue = &claims.queues[at];
        for (dim, own) in floor(queue).iter() {
            let most = kept[at].get(dim).max(own);
            kept[at].set(dim, most);
        }
        if let Some(parent) = queue.parent {
            let part = kept[at].clone();
            kept[parent].add(&part);
        }
    }
    kept
}

/// The due of every queue as its object names it: at least its guarantee, at most its ceiling. A
/// parent that names nothing is due what its children are.
pub(crate) fn dues(claims: &Claims<'_>, terms: Vec<QueueTerms>) -> Vec<Portion> {
    let mut deserved: Vec<Limits> = vec![Limits::default(); claims.queues.len()];
    for &at in claims.top_down().iter().rev() {
        let (queue, terms) = (&claims.queues[at], &terms[at]);
        if let Some(named) = &queue.deserved {
            deserved[at] = named.clone();
        }
        let mut due = deserved[at].clone();
        for (dim, kept) in terms.guarantee.iter() {
            due.set(dim, due.values().get(dim).max(kept));
        }
        for (dim, amount) in due.clone().iter() {
            let ceiling = terms.ceiling.as_ref().map_or(amount, |ceiling| ceiling.get(dim));
            due.set(dim, amount.min(ceiling));
        }
        if let Some(parent) =
            queue.parent.filter(|&parent| claims.queues[parent].deserved.is_none())
        {
            for (dim, amount) in due.iter() {
                let sum = deserved[parent].values().get(dim).saturating_add(amount);
                deserved[parent].set(dim, sum);
            }
        }
        deserved[at] = due;
    }
    let portions = deserved.into_iter().zip(terms);
    portions.map(|(deserved, terms)| Portion { deserved, terms }).collect()
}

/// What is odd about a queue's limits. None of it stops anything: the tighter limit counts.
fn warnings(claims: &Claims<'_>, at: usize, kept_for_children: &ResourceVec) -> Vec<String> {
    let queue = &claims.queues[at];
    let show = |dim: Dim, amount: i64| {
        format!("{} {}", claims.names.name(dim), claims.names.display(dim, amount))
    };
    let mut found: Vec<(Dim, u8, String)> = Vec::new();
    let mut note = |dim: Dim, kind: u8, text: String| found.push((dim, kind, text));
    for (dim, kept) in queue.guarantee.iter() {
        if let Some(limit) = queue.capability.get(dim).filter(|&limit| limit < kept) {
            let (kept, limit) = (show(dim, kept), show(dim, limit));
            note(dim, 0, format!("guarantee {kept} is above capability {limit}; {limit} is kept"));
        }
        let due = queue.deserved.as_ref().and_then(|due| due.get(dim));
        if let Some(due) = due.filter(|&due| due < kept) {
            let (kept, due) = (show(dim, kept), show(dim, due));
            note(dim, 1, format!("guarantee {kept} is above deserved {due}; it is due {kept}"));
        }
    }
    for (dim, due) in queue.deserved.iter().flat_map(Limits::iter) {
        if let Some(limit) = queue.capability.get(dim).filter(|&limit| limit < due) {
            let (due, limit) = (show(dim, due), show(dim, limit));
            note(dim, 2, format!("deserved {due} is above capability {limit}; it is due {limit}"));
        }
    }
    children_beyond(claims, at, kept_for_children, &mut note);
    found.sort_by(|a, b| {
        let names = claims.names.name(a.0).cmp(claims.names.name(b.0));
        names.then(a.1.cmp(&b.1)).then_with(|| a.2.cmp(&b.2))
    });
    found.into_iter().map(|(_, _, text)| text).collect()
}

/// Limits of children that do not fit under their parent's.
fn children_beyond(
    claims: &Claims<'_>,
    at: usize,
    kept: &ResourceVec,
    note: &mut impl FnMut(Dim, u8, String),
) {
    let queue = &claims.queues[at];
    let show = |dim: Dim, amount: i64| {
        format!("{} {}", claims.names.name(dim), claims.names.display(dim, amount))
    };
    for (dim, own) in queue.guarantee.iter().filter(|&(dim, own)| kept.get(dim) > own) {
        let (sum, own) = (show(dim, kept.get(dim)), show(dim, own));
        note(dim, 3, format!("the guarantees of its children make {sum}, its own is {own}"));
    }
    let children = || claims.queues.iter().filter(|child| child.parent == Some(at));
    for (dim, own) in queue.deserved.iter().flat_map(Limits::iter) {
        let dues = children().filter_map(|child| child.deserved.as_ref()?.get(dim));
        let sum = dues.fold(0i64, i64::saturating_add);
        if sum > own {
            let (sum, own) = (show(dim, sum), show(dim, own));
            note(dim, 4, format!("its children deserve {sum} together, it deserves {own}"));
        }
    }
    for (dim, own) in queue.capability.iter() {
        for child in children().filter(|child| child.capability.get(dim).is_some_and(|c| c > own)) {
            let beyond = child.capability.values().get(dim);
            let (beyond, own) = (show(dim, beyond), show(dim, own));
            let text = format!("child {:?} has capability {beyond}, it has {own}", child.name);
            note(dim, 5, text);
        }
    }
}
