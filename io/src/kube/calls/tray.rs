//! Calls that wait: in order for each subject, acts before reports, reports held back for a moment.

use std::collections::{BTreeMap, VecDeque};
use std::time::{Duration, Instant};

use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::{Act, Call, Report, Subject};

/// Acts come first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rank {
    /// Changes what happens.
    Act,
    /// The same, but waits for somebody else in between: a bind whose claims need their volumes.
    LongAct,
    /// Tells how things stand.
    Report,
}

impl Rank {
    pub(super) fn of(call: &Call) -> Self {
        match call {
            Call::Act(Act::Bind { claims, .. }) if !claims.is_empty() => Self::LongAct,
            Call::Act(_) => Self::Act,
            Call::Report(_) => Self::Report,
        }
    }
}

/// How long a report is held back: what is over by then need not be told, and several become one.
fn hold(report: &Report) -> Duration {
    Duration::from_millis(match report {
        Report::Wait { .. } | Report::Queue(_) => 1_000,
        // Controllers make pods when a group is admitted.
        Report::Group { .. } => 250,
    })
}

#[derive(Debug, Default)]
struct Lane {
    acts: VecDeque<Act>,
    report: Option<Report>,
    /// Is a call of it under way?
    busy: bool,
}

/// Calls that wait.
#[derive(Debug, Default)]
pub(super) struct Tray {
    lanes: HashMap<Subject, Lane, FxBuildHasher>,
    /// Subjects with an act to make, in the order they came.
    ready: VecDeque<Subject>,
    /// Subjects with a report to make, by the time it is due.
    due: BTreeMap<(Instant, u64), Subject>,
    counter: u64,
    waiting: usize,
}

impl Tray {
    /// Adds a call. A report replaces the one that waits; a bind makes it pointless, as it does a
    /// nomination.
    pub(super) fn put(&mut self, subject: Subject, call: Call, now: Instant) {
        let lane = self.lanes.entry_ref(&subject).or_default();
        match call {
            Call::Act(act) => {
                if matches!(act, Act::Bind { .. }) {
                    let before = lane.acts.len();
                    lane.acts.retain(|act| !matches!(act, Act::Nominate { .. }));
                    self.waiting -= before - lane.acts.len();
                    self.waiting -= usize::from(lane.report.take().is_some());
                }
                lane.acts.push_back(act);
                self.waiting += 1;
                if !lane.busy {
                    self.ready.push_back(subject);
                }
            }
            Call::Report(report) => {
                let due = now + hold(&report);
                if lane.report.replace(report).is_none() {
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
    pub(super) fn next(&mut self, now: Instant, lowest: Rank) -> Option<(Subject, Call)> {
        while let Some(subject) = self.ready.pop_front() {
            let Some(lane) = self.lanes.get_mut(&subject).filter(|lane| !lane.busy) else {
                continue;
            };
            if let Some(act) = lane.acts.pop_front() {
                lane.busy = true;
                self.waiting -= 1;
                return Some((subject, Call::Act(act)));
            }
        }
        if lowest == Rank::Act {
            return None;
        }
        while let Some(entry) = self.due.first_entry().filter(|entry| entry.key().0 <= now) {
            let subject = entry.remove();
            let Some(lane) = self.lanes.get_mut(&subject) else { continue };
            // One that is busy is looked at again when it is not.
            if lane.busy {
                continue;
            }
            let Some(report) = lane.report.take() else {
                self.lanes.remove(&subject);
                continue;
            };
            lane.busy = true;
            self.waiting -= 1;
            return Some((subject, Call::Report(report)));
        }
        None
    }

    /// The call of that subject has ended.
    pub(super) fn done(&mut self, subject: &Subject) {
        let Some(lane) = self.lanes.get_mut(subject) else { return };
        lane.busy = false;
        if !lane.acts.is_empty() {
            self.ready.push_back(subject.clone());
        } else if lane.report.is_some() {
            self.remind(Instant::now(), subject.clone());
        } else {
            self.lanes.remove(subject);
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
        self.lanes.retain(|_, lane| {
            lane.acts.clear();
            lane.report = None;
            lane.busy
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
            .lanes
            .iter()
            .map(|(subject, lane)| {
                let state = if lane.busy { "under way" } else { "waiting" };
                let report = if lane.report.is_some() { " and a report" } else { "" };
                format!("{subject:?}: {state}, {} acts{report} to make", lane.acts.len())
            })
            .collect();
        left.sort_unstable();
        left
    }
}

#[cfg(test)]
mod tests;
