//! Who may give a task back, by what its queue has, is due and is guaranteed.
//!
//! Pure functions over amounts, so that a search for victims can ask them about a running count: what
//! the queue would have after the victims chosen so far.

use crate::resource::{Dim, Limits, ResourceVec};

/// Has the queue, without the task, still what it is guaranteed of everything the task holds? What
/// the task does not hold is not touched, so a guarantee nobody uses does not protect the rest.
pub(crate) fn covers(
    allocated: &ResourceVec,
    guarantee: &ResourceVec,
    victim: &ResourceVec,
) -> bool {
    guarantee.iter().all(|(dim, kept)| {
        let taken = victim.get(dim);
        taken <= 0 || allocated.get(dim).saturating_sub(taken) >= kept
    })
}

/// By the rule of `capacity`: has the queue, having so much, more than its due of something the task
/// holds?
///
/// A task that holds nothing the due speaks of is borrowed room in any case. A name the due gives
/// with zero is a due of nothing, whatever the resource.
pub(crate) fn is_borrowed(allocated: &ResourceVec, due: &Limits, victim: &ResourceVec) -> bool {
    let mut spoken_of =
        held(victim).filter_map(|dim| due.get(dim).map(|due| (dim, due))).peekable();
    spoken_of.peek().is_none() || spoken_of.any(|(dim, due)| allocated.get(dim) > due)
}

/// Is the queue due any of what a task holds or asks for?
pub(crate) fn is_due_any(due: &Limits, task: &ResourceVec) -> bool {
    held(task).any(|dim| due.values().get(dim) > 0)
}

/// By the rule of `proportion`: has the queue, having so much, more than its due of something the
/// task holds? Pods count here: they are divided like everything else.
pub(crate) fn exceeds_due(allocated: &ResourceVec, due: &Limits, victim: &ResourceVec) -> bool {
    due.iter().any(|(dim, due)| victim.get(dim) > 0 && allocated.get(dim) > due)
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
            let has_all = vector(&[(Dim::CPU, has), (Dim::PODS, 9)]);
            let found = covers(&has_all, &vector(&[(Dim::CPU, guarantee)]), &victim)
                && is_borrowed(&has_all, &due, &victim);
            assert_eq!(found, gives, "has {has}, due {due:?}, guaranteed {guarantee}");
        }
    }

    #[test]
    fn only_what_the_due_speaks_of_is_compared() {
        let due = limits(&[(GPU, 2)]);
        let has = vector(&[(Dim::CPU, 100), (GPU, 2)]);
        assert!(!is_borrowed(&has, &due, &vector(&[(Dim::CPU, 4), (GPU, 1)])));
        assert!(is_borrowed(&has, &due, &vector(&[(Dim::CPU, 4)])));
    }

    #[test]
    fn a_guarantee_protects_what_it_names_and_nothing_else() {
        let guarantee = vector(&[(Dim::CPU, 4), (GPU, 2), (Dim::PODS, 3)]);
        let has = vector(&[(Dim::CPU, 5), (Dim::PODS, 4)]);
        assert!(covers(&has, &guarantee, &vector(&[(Dim::CPU, 1), (Dim::PODS, 1)])));
        assert!(!covers(&has, &guarantee, &vector(&[(Dim::CPU, 2), (Dim::PODS, 1)])));
        let few = vector(&[(Dim::CPU, 9), (Dim::PODS, 3)]);
        assert!(!covers(&few, &guarantee, &vector(&[(Dim::CPU, 1), (Dim::PODS, 1)])));
    }

    #[test]
    fn being_due_nothing_of_it_is_not_being_due_any() {
        let due = limits(&[(Dim::CPU, 0), (GPU, 2)]);
        assert!(!is_due_any(&due, &vector(&[(Dim::CPU, 1), (Dim::MEMORY, 1)])));
        assert!(is_due_any(&due, &vector(&[(Dim::CPU, 1), (GPU, 1)])));
    }

    #[test]
    fn a_share_by_weight_gives_tasks_that_hold_what_it_has_too_much_of() {
        let due = limits(&[(Dim::CPU, 4), (Dim::MEMORY, 9), (Dim::PODS, 2)]);
        let task = vector(&[(Dim::CPU, 1), (Dim::PODS, 1)]);
        assert!(!exceeds_due(&vector(&[(Dim::CPU, 4), (Dim::PODS, 2)]), &due, &task));
        assert!(exceeds_due(&vector(&[(Dim::CPU, 5), (Dim::PODS, 2)]), &due, &task));
        assert!(exceeds_due(&vector(&[(Dim::CPU, 4), (Dim::PODS, 3)]), &due, &task));
        assert!(!exceeds_due(&vector(&[(Dim::MEMORY, 10)]), &due, &task));
    }
}
