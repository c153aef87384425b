//! Pods that should have been gone: where KAI's dialect is spoken, nobody waits for their room any more.

use muster_core::ids::{ObjectKey, TimeMs};
use muster_core::resource::ResourceVec;

use super::Books;

impl Books {
    /// Counts no more on the room of pods that were to be gone before that time.
    pub fn give_up_on(&mut self, before: TimeMs) {
        while self.leave_by.first().is_some_and(|(leave_by, _)| *leave_by < before) {
            let overdue = self.leave_by.pop_first();
            if let Some((_, key)) = overdue {
                self.mark_stuck(&key);
            }
        }
    }

    fn mark_stuck(&mut self, key: &ObjectKey) {
        let Some(mut entry) = self.pods.remove(key) else { return };
        self.post(&entry, ResourceVec::sub, |count| *count -= 1);
        entry.stuck = true;
        self.post(&entry, ResourceVec::add, |count| *count += 1);
        self.pods.insert(key.clone(), entry);
    }
}

#[cfg(test)]
mod tests {
    use muster_core::delta::PodFacts;

    use super::super::super::fixtures::{books, node, running, set};
    use super::*;

    #[test]
    fn what_overstays_is_used_and_no_longer_leaving() {
        let leaving = |name: &str, leave_by| {
            let leave_by = Some(TimeMs(leave_by));
            set(PodFacts { deleting: true, leave_by, ..running(name, "g", 1, "n0") })
        };
        let mut books = books(&[node("n0", 4), leaving("late", 1), leaving("later", 2)]);
        let leaves = |books: &Books| {
            let node = &books.nodes["n0"];
            let cpu = |vector: &ResourceVec| vector.get(muster_core::resource::Dim::CPU);
            (cpu(&node.used), cpu(&node.leaving))
        };
        books.give_up_on(TimeMs(1));
        assert_eq!(leaves(&books), (2000, 2000));
        books.give_up_on(TimeMs(2));
        assert_eq!(leaves(&books), (2000, 1000));
        // Told again, it counts as leaving until the next look at the time.
        books.apply(&leaving("late", 1));
        books.give_up_on(TimeMs(9));
        assert_eq!(leaves(&books), (2000, 0));
        assert_eq!(books.audit(), Vec::<String>::new());
    }
}
