//! Jobs there may be something to do for, so that no stage looks at all of them.
//!
//! A job comes onto the list of active jobs whenever one of its columns is written, and stays as long as it waits
//! for anything: admission, room, the end of a pause. What is not on it is as it was when it was last
//! looked at.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Resource;

/// The jobs, in no particular order and some of them several times.
#[derive(Debug, Default, Resource)]
pub struct ActiveJobs {
    jobs: Vec<Entity>,
    /// How many at the front are sorted and free of repeats.
    sorted: usize,
}

/// A position to look back to.
#[derive(Clone, Copy, Debug)]
pub struct ActiveMark {
    entries: usize,
    sorted: usize,
}

/// Entries not sorted in yet from which on it is worth the while.
const LOOSE_MAX: usize = 4_096;

impl ActiveJobs {
    /// Puts a job onto the list of active jobs.
    pub fn note(&mut self, job: Entity) {
        // The tasks of one job are mostly written one after the other.
        if self.jobs.last() != Some(&job) {
            self.jobs.push(job);
        }
    }

    /// Where it stands now.
    pub fn mark(&self) -> ActiveMark {
        ActiveMark { entries: self.jobs.len(), sorted: self.sorted }
    }

    /// Jobs written since the mark, each once, perhaps with some that were not.
    pub fn since(&self, mark: ActiveMark) -> Vec<Entity> {
        // The last entry before the mark stands for writes to the same job after it.
        let from = if self.sorted == mark.sorted { mark.entries.saturating_sub(1) } else { 0 };
        let mut jobs = self.jobs[from..].to_vec();
        jobs.sort_unstable();
        jobs.dedup();
        jobs
    }

    /// Every job that is active, each once, in an order that is the same for the same history. Some may
    /// be gone by now.
    pub fn jobs(&mut self) -> &[Entity] {
        if self.sorted < self.jobs.len() {
            self.jobs.sort_unstable();
            self.jobs.dedup();
            self.sorted = self.jobs.len();
        }
        &self.jobs
    }

    /// Takes jobs off that need not be looked at before something is written.
    pub fn retain(&mut self, keep: impl FnMut(&Entity) -> bool) {
        self.jobs();
        self.jobs.retain(keep);
        self.sorted = self.jobs.len();
    }

    /// Keeps the list short while nobody works through it.
    pub fn tidy(&mut self) {
        if self.jobs.len() - self.sorted > self.sorted + LOOSE_MAX {
            self.jobs();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_job_is_on_it_once_however_often_it_was_noted() {
        let job = |index| Entity::from_raw_u32(index).expect("not the last number");
        let mut active_jobs = ActiveJobs::default();
        for index in [3, 1, 1, 3, 2, 3] {
            active_jobs.note(job(index));
        }
        assert_eq!(active_jobs.jobs().len(), 3);
        active_jobs.retain(|&it| it != job(1));
        active_jobs.note(job(2));
        active_jobs.note(job(1));
        let mut expected = [job(1), job(2), job(3)];
        expected.sort_unstable();
        assert_eq!(active_jobs.jobs(), expected);
        for _ in 0..LOOSE_MAX {
            active_jobs.note(job(2));
            active_jobs.note(job(3));
        }
        active_jobs.tidy();
        assert_eq!(active_jobs.jobs.len(), 3);
    }

    #[test]
    fn whoever_was_written_since_a_mark_is_found() {
        let job = |index| Entity::from_raw_u32(index).expect("not the last number");
        let mut active_jobs = ActiveJobs::default();
        for index in [5, 7] {
            active_jobs.note(job(index));
        }
        let mark = active_jobs.mark();
        // The same job as last time leaves no new entry.
        active_jobs.note(job(7));
        assert_eq!(active_jobs.since(mark), [job(7)]);
        for index in [9, 8, 9] {
            active_jobs.note(job(index));
        }
        let mut since = vec![job(7), job(8), job(9)];
        since.sort_unstable();
        assert_eq!(active_jobs.since(mark), since);
        active_jobs.jobs();
        assert!(
            since.iter().all(|job| active_jobs.since(mark).contains(job)),
            "also when put in order"
        );
    }
}
