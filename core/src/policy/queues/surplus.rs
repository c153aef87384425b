//! Who may give a task back, by what its queue has, is due and is guaranteed.
//!
//! Pure functions over amounts, so that a search for victims can ask them about a running count: what
//! the queue would have after the victims chosen so far.

use crate::resource::{Dim, Limits, ResourceVec};

/// By the rule of `capacity`: may the queue, having so much, give a task that asks for `victim`?
///
/// Its guarantee must stay covered. Then it must have more than its due of something the task holds; a
/// task that holds nothing the due speaks of is borrowed room in any case. A name the due gives with
/// zero is a due of nothing, whatever the resource.
pub fn has_borrowed(
    allocated: &ResourceVec,
    due: &Limits,
    guarantee: &ResourceVec,
    victim: &ResourceVec,
) -> bool {
    let covered = guarantee
        .iter()
        .all(|(dim, kept)| allocated.get(dim).saturating_sub(victim.get(dim)) >= kept);
    let mut spoken_of =
        held(victim).filter_map(|dim| due.get(dim).map(|due| (dim, due))).peekable();
    if spoken_of.peek().is_none() {
        return covered;
    }
    covered && spoken_of.any(|(dim, due)| allocated.get(dim) > due)
}

/// By the rule of `proportion`: has the queue, having so much, more than its due of anything?
pub fn exceeds_due(allocated: &ResourceVec, due: &Limits) -> bool {
    due.iter().any(|(dim, due)| allocated.get(dim) > due)
}

/// What a task holds that queues are judged by.
fn held(task: &ResourceVec) -> impl Iterator<Item = Dim> + '_ {
    task.iter().filter(|&(dim, amount)| amount > 0 && dim != Dim::PODS).map(|(dim, _)| dim)
}

#[cfg(test)]
mod tests {
    use super::*;

    const GPU: Dim = Dim(4);

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
    fn a_queue_gives_what_is_beyond_its_due_and_not_below_its_guarantee() {
        let victim = vector(&[(Dim::CPU, 2), (Dim::PODS, 1)]);
        let cases = [
            // has, due, guarantee: gives
            (5, Some(4), 0, true),
            (4, Some(4), 0, false),
            (3, Some(4), 0, false),
            (1, Some(0), 0, true),
            (5, None, 0, true),
            (5, None, 4, false),
            (5, Some(2), 4, false),
            (6, Some(2), 4, true),
        ];
        for (has, due, guarantee, gives) in cases {
            let due = due.map_or_else(Limits::default, |due| limits(&[(Dim::CPU, due)]));
            let found = has_borrowed(
                &vector(&[(Dim::CPU, has), (Dim::PODS, 9)]),
                &due,
                &vector(&[(Dim::CPU, guarantee)]),
                &victim,
            );
            assert_eq!(found, gives, "has {has}, due {due:?}, guaranteed {guarantee}");
        }
    }

    #[test]
    fn only_what_the_due_speaks_of_is_compared() {
        let due = limits(&[(GPU, 2)]);
        let has = vector(&[(Dim::CPU, 100), (GPU, 2)]);
        let none = ResourceVec::default();
        assert!(!has_borrowed(&has, &due, &none, &vector(&[(Dim::CPU, 4), (GPU, 1)])));
        assert!(has_borrowed(&has, &due, &none, &vector(&[(Dim::CPU, 4)])));
    }

    #[test]
    fn one_resource_beyond_the_due_is_enough_for_a_share_by_weight() {
        let due = limits(&[(Dim::CPU, 4), (Dim::MEMORY, 9)]);
        assert!(!exceeds_due(&vector(&[(Dim::CPU, 4), (Dim::MEMORY, 9)]), &due));
        assert!(exceeds_due(&vector(&[(Dim::CPU, 5)]), &due));
        assert!(!exceeds_due(&vector(&[(GPU, 5)]), &due));
    }
}
