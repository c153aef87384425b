//! Calls that wait: in order for each object, acts before reports, reports held back for a moment.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Act, ActKind, Call, Report, Subject};

/// Acts come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// Changes what happens.
    Act,
    /// The same, but waits for other controllers in between: a bind whose claims need their volumes.
    LongAct,
    /// Writes how things stand.
    Report,
}

impl Rank {
    pub(super) fn of(call: &Call) -> Self {
        match call {
            Call::Act(Act { kind: ActKind::Bind { claims, .. }, .. }) if !claims.is_empty() => {
                Self::LongAct
            }
            Call::Act(_) => Self::Act,
            Call::Report(_) => Self::Report,
        }
    }
}

/// How long a report is held back: what is over by then need not be written, and several become one.
fn hold(report: &Report) -> Duration {
    Duration::from_millis(match report {
        Report::Wait { .. } | Report::Queue { .. } => 1_000,
        // Controllers make pods when a group is admitted.
        Report::Group { .. } | Report::GangWait { .. } => 250,
        // Another scheduler waits for the nodes we let go; a scheduler that takes over goes by the past.
        Report::Shard { .. } | Report::Past { .. } => 0,
    })
}

#[derive(Debug, Default)]
struct ObjectQueue {
    acts: VecDeque<Act>,
    report: Option<Report>,
    /// Is a call of it under way?
    busy: bool,
}

/// Calls that wait.
#[derive(Debug, Default)]
pub(super) struct CallQueue {
    objects: HashMap<Subject, ObjectQueue, FxBuildHasher>,
    /// Subjects with an act to make, in the order they came.
    ready: VecDeque<Subject>,
    /// Subjects with a report to make, by the time it is due.
    due: BTreeMap<(Instant, u64), Subject>,
    counter: u64,
    waiting: usize,
}

impl CallQueue {
    /// Adds a call. A report replaces the one that waits; a bind makes it pointless, as it does a
    /// nomination.
    pub(super) fn put(&mut self, call: Call, now: Instant) {
        let subject = call.subject();
        let object = self.objects.entry_ref(&subject).or_default();
        match call {
            Call::Act(act) => {
                if matches!(act.kind, ActKind::Bind { .. }) {
                    let before = object.acts.len();
                    object.acts.retain(|act| !matches!(act.kind, ActKind::Nominate(_)));
                    self.waiting -= before - object.acts.len();
                    self.waiting -= usize::from(object.report.take().is_some());
                }
                object.acts.push_back(act);
                self.waiting += 1;
                if !object.busy {
                    self.ready.push_back(subject);
                }
            }
            Call::Report(report) => {
                let due = now + hold(&report);
                if object.report.replace(report).is_none() {
                    self.waiting += 1;
                    self.remind(due, subject);
                }
            }
        }
    }

    fn remind(&mut self, due: Instant, subject: Subject) {
        self.counter += 1;
        self.due.insert((due, self.counter), subject);
    }

    /// The next call to make, of that rank or above; its subject is busy until [`Self::done`].
    pub(super) fn next(&mut self, now: Instant, lowest: Rank) -> Option<Call> {
        while let Some(subject) = self.ready.pop_front() {
            let Some(object) = self.objects.get_mut(&subject).filter(|object| !object.busy) else {
                continue;
            };
            if let Some(act) = object.acts.pop_front() {
                object.busy = true;
                self.waiting -= 1;
                return Some(Call::Act(act));
            }
        }
        if lowest == Rank::Act {
            return None;
        }
        while let Some(entry) = self.due.first_entry().filter(|entry| entry.key().0 <= now) {
            let subject = entry.remove();
            let Some(object) = self.objects.get_mut(&subject) else { continue };
            // One that is busy is looked at again when it is not.
            if object.busy {
                continue;
            }
            let Some(report) = object.report.take() else {
                self.objects.remove(&subject);
                continue;
            };
            object.busy = true;
            self.waiting -= 1;
            return Some(Call::Report(report));
        }
        None
    }

    /// The call of that subject has ended.
    pub(super) fn done(&mut self, subject: &Subject) {
        let Some(object) = self.objects.get_mut(subject) else { return };
        object.busy = false;
        if !object.acts.is_empty() {
            self.ready.push_back(subject.clone());
        } else if object.report.is_some() {
            self.remind(Instant::now(), subject.clone());
        } else {
            self.objects.remove(subject);
        }
    }

    /// When the next report is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.due.first_key_value().map(|entry| entry.0.0)
    }

    /// Makes every report due now.
    pub(super) fn hurry(&mut self) {
        let now = Instant::now();
        for (_, subject) in std::mem::take(&mut self.due) {
            self.remind(now, subject);
        }
    }

    /// Forgets all that is not under way.
    pub(super) fn clear(&mut self) {
        self.ready.clear();
        self.due.clear();
        self.waiting = 0;
        self.objects.retain(|_, object| {
            object.acts.clear();
            object.report = None;
            object.busy
        });
    }

    /// Number of calls that wait.
    pub(super) fn len(&self) -> usize {
        self.waiting
    }

    /// Does nothing wait?
    pub(super) fn is_empty(&self) -> bool {
        self.waiting == 0
    }

    /// What waits or is under way, in words.
    pub(super) fn describe(&self) -> Vec<String> {
        let mut left: Vec<String> = self
            .objects
            .iter()
            .map(|(subject, object)| {
                let state = if object.busy { "under way" } else { "waiting" };
                let report = if object.report.is_some() { " and a report" } else { "" };
                format!("{subject:?}: {state}, {} acts{report} to make", object.acts.len())
            })
            .collect();
        left.sort_unstable();
        left
    }
}

#[cfg(test)]
mod tests;
