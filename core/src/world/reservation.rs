//! Reservations as records: since when room is held for a task, until when, and how it ended.
//!
//! A record is written when a Statement is committed or when a reservation is read back from a pod,
//! never by an attempt that is undone. It lives until its pod is seen on the node (confirmed) or the
//! room is given up (released); the numbers of each are kept here.

use std::collections::{BTreeMap, VecDeque};

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::{Component, Resource};

use super::cluster::{Cluster, row_of};
use super::option_time::OptionTime;
use super::task::{Assumption, LastTransaction};
use crate::config::PipelineConfig;
use crate::ids::TimeMs;
use crate::reservation::{Release, ReservationCounts};

/// Room held for a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reservation {
    /// Where.
    pub node: Entity,
    /// Since when, by our own clock: after a restart, since it was read back.
    pub since: TimeMs,
    /// It is given up at this time if the room is not free by then.
    pub until: TimeMs,
    /// Were pods evicted for it?
    pub evicted: bool,
}

/// The reservation of a task that is committed and neither confirmed nor released. It stays while
/// the task is being bound, so that a bind that fails does not lose the room.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Nomination(pub Option<Reservation>);

/// Since when a task runs and leaves, and what is awaited of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Component)]
pub struct Timing {
    /// It runs, and has been on its node since then as far as is known.
    pub running: OptionTime,
    /// It runs, and what it uses is in what was measured of its node.
    pub measured: bool,
    /// The call about it must be answered by then.
    pub answer_by: OptionTime,
    /// It has been leaving its node since then.
    pub leaving: OptionTime,
    /// Room was held on its node until the deadline and it did not leave: what it takes is no longer
    /// counted as room to come.
    pub stuck: bool,
}

/// What a pod was last seen to say of its reservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Said {
    /// In `status.nominatedNodeName`.
    pub nominated: Option<Entity>,
    /// In the annotations.
    pub annotated: Option<Annotated>,
}

/// What a pod is to say of its reservation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Say<T> {
    /// What it says already.
    #[default]
    Anything,
    /// This; none means that no room is held for it.
    This(Option<T>),
}

impl<T> Say<T> {
    /// What it will say, if it says that now.
    pub fn or(self, now: Option<T>) -> Option<T> {
        match self {
            Self::Anything => now,
            Self::This(wish) => wish,
        }
    }
}

/// What a pod was asked to say and has not been seen to say yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mirror {
    /// In `status.nominatedNodeName`.
    pub nominated: Say<Entity>,
    /// In the annotations.
    pub annotated: Say<Annotated>,
}

/// A reservation as annotations give it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Annotated {
    /// Where.
    pub node: Entity,
    /// Were pods evicted for it?
    pub evicted: bool,
}

/// How a reservation ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The pod is on the node.
    Confirmed,
    /// The room was given up.
    Released(Release),
}

/// What all reservations share: the clock, their deadlines, their numbers.
#[derive(Debug, Resource)]
pub struct Reservations {
    /// The time of the cycle, given from outside.
    pub now: TimeMs,
    /// How long they last and where they are written down.
    pub rules: PipelineConfig,
    /// Their numbers.
    pub counts: ReservationCounts,
    /// When something runs out, in the order of time. Everything is given the same time, so entries
    /// come in that order; one that was settled meanwhile is skipped when its time comes.
    due: VecDeque<(TimeMs, Entity)>,
    /// By when tasks that leave are to be gone.
    leave_by: BTreeMap<Entity, TimeMs>,
    /// Tasks whose pods may have to be written.
    changed: Vec<Entity>,
    /// Tasks that have left, or leave, with room held for the pods that come in their places.
    pub(super) moved: Vec<Entity>,
    /// Tasks without a pod that no room is held for any more.
    pub(super) closed: Vec<Entity>,
}

impl Reservations {
    /// No reservations, under the rules of a configuration.
    pub fn new(rules: PipelineConfig) -> Self {
        Self {
            now: TimeMs::default(),
            rules,
            counts: ReservationCounts::default(),
            due: VecDeque::new(),
            leave_by: BTreeMap::new(),
            changed: Vec::new(),
            moved: Vec::new(),
            closed: Vec::new(),
        }
    }

    /// Reserves capacity for more entries, so that the list of a large cycle is not copied while it grows.
    pub(crate) fn expect(&mut self, tasks: usize) {
        self.due.reserve(tasks);
    }

    /// Notes by when a task is to be gone; none for one that stays.
    pub(crate) fn note_leave_by(&mut self, task: Entity, leave_by: Option<TimeMs>) {
        match leave_by {
            Some(time) => drop(self.leave_by.insert(task, time)),
            None => drop(self.leave_by.remove(&task)),
        }
    }

    /// From when on nobody counts on a task to leave that is to be gone by then.
    fn overdue_at(&self, leave_by: TimeMs) -> Option<TimeMs> {
        let after = self.rules.stuck_after_ms?;
        Some(TimeMs(leave_by.0.saturating_add(after).saturating_add(1)))
    }

    /// When something that begins now runs out.
    fn end_of_patience(&mut self, task: Entity) -> TimeMs {
        let until = TimeMs(self.now.0.saturating_add(self.rules.deadline_ms));
        self.due.push_back((until, task));
        until
    }

    /// Notes that what the task's pod says of its reservation may have to change.
    pub fn touch(&mut self, task: Entity) {
        self.changed.push(task);
    }

    /// Is room held for pods that are to come in the place of others?
    pub(crate) fn has_moves(&self) -> bool {
        !self.moved.is_empty()
    }

    /// Tasks without a pod or room, and the jobs they left, since the last call.
    pub(crate) fn take_closed(&mut self) -> Vec<Entity> {
        std::mem::take(&mut self.closed)
    }

    /// Tasks whose pods may have to be written, since the last call; repeats included.
    pub fn take_changed(&mut self) -> Vec<Entity> {
        std::mem::take(&mut self.changed)
    }
}

impl Cluster<'_, '_> {
    /// Writes the record of room that is held from now on.
    pub(crate) fn begin_reservation(&mut self, task: Entity, node: Entity, evicted: bool) {
        self.reservations.counts.made += 1;
        self.record(task, node, evicted);
    }

    /// Writes the record of room an earlier life of the scheduler held.
    pub(crate) fn restore_reservation(&mut self, task: Entity, node: Entity, evicted: bool) {
        self.reservations.counts.restored += 1;
        self.record(task, node, evicted);
    }

    fn record(&mut self, task: Entity, node: Entity, evicted: bool) {
        debug_assert!(
            self.task(task).cold.nomination.0.is_none(),
            "the old record was ended first"
        );
        self.renew(task, node, evicted);
    }

    /// Writes the record of room that was held before, for another pod or a leaving one.
    pub(crate) fn renew(&mut self, task: Entity, node: Entity, evicted: bool) {
        let since = self.reservations.now;
        let until = self.reservations.end_of_patience(task);
        let Ok(mut item) = self.tasks.get_mut(task) else { return };
        item.cold.nomination = Nomination(Some(Reservation { node, since, until, evicted }));
        if item.heir_home().is_some() {
            self.reservations.moved.push(task);
        }
        self.reservations.touch(task);
    }

    /// Ends the record of a task, if it has one.
    pub(crate) fn end_reservation(&mut self, task: Entity, end: End) {
        let Ok(mut item) = self.tasks.get_mut(task) else { return };
        if item.cold.nomination.0.is_none() {
            return;
        }
        item.cold.nomination.0 = None;
        let counts = &mut self.reservations.counts;
        match end {
            End::Confirmed => counts.confirmed += 1,
            End::Released(cause) => counts.released[cause as usize] += 1,
        }
        self.reservations.touch(task);
    }

    /// Notes that a call about the task leaves now.
    pub(crate) fn await_answer(&mut self, task: Entity) {
        let until = self.reservations.end_of_patience(task);
        if let Ok(mut item) = self.tasks.get_mut(task) {
            item.timing.answer_by = until.into();
        }
    }

    /// Notes that calls about tasks leave now, after which nothing tells of earlier attempts.
    pub(crate) fn await_answers(&mut self, waiting: impl Iterator<Item = Entity>) {
        let Self { tasks, entities, reservations, .. } = self;
        let Ok(mut tables) = tasks.contiguous_iter_mut() else { return };
        let Some(mut tasks) = tables.next() else { return };
        let timings = tasks.timing.bypass_change_detection();
        let cold = tasks.cold.bypass_change_detection();
        for task in waiting {
            let row = row_of(entities, task);
            timings[row].answer_by = reservations.end_of_patience(task).into();
            if cold[row].last.0.is_some() {
                cold[row].last = LastTransaction(None);
            }
        }
    }

    /// Notes that the eviction of a task is decided now.
    pub(crate) fn begin_leaving(&mut self, task: Entity) {
        self.await_answer(task);
        let now = self.reservations.now;
        if let Ok(mut item) = self.tasks.get_mut(task) {
            item.timing.leaving = item.timing.leaving.get().unwrap_or(now).into();
        }
    }

    /// Tasks whose reservation, or whose wait for an answer, ends now.
    pub(crate) fn take_due(&mut self) -> Vec<Entity> {
        let mut due = Vec::new();
        while self.next_due().is_some_and(|until| until <= self.reservations.now) {
            due.extend(self.reservations.due.pop_front().map(|(_, task)| task));
        }
        due
    }

    /// Tasks that should have been gone by now for so long that nobody counts on it any more.
    pub(crate) fn take_overdue(&mut self) -> Vec<Entity> {
        let reservations = &mut *self.reservations;
        let is_over = |leave_by: TimeMs| {
            reservations.overdue_at(leave_by).is_some_and(|at| at <= reservations.now)
        };
        let over = reservations.leave_by.iter().filter(|entry| is_over(*entry.1));
        let over: Vec<Entity> = over.map(|(task, _)| *task).collect();
        for task in &over {
            reservations.leave_by.remove(task);
        }
        over
    }

    /// When the next task that leaves is overdue.
    pub(crate) fn next_overdue(&self) -> Option<TimeMs> {
        let first = self.reservations.leave_by.values().min()?;
        self.reservations.overdue_at(*first)
    }

    /// When the next reservation or wait for an answer ends.
    pub(crate) fn next_due(&mut self) -> Option<TimeMs> {
        while let Some(&(until, task)) = self.reservations.due.front() {
            let open = self.tasks.get(task).is_ok_and(|task| {
                task.timing.answer_by == until.into()
                    || task.cold.nomination.0.is_some_and(|record| record.until == until)
            });
            if open {
                return Some(until);
            }
            self.reservations.due.pop_front();
        }
        None
    }

    /// The bind of a task failed, or was not heard of again: the task waits, and its job pauses if
    /// this is not the first time in a row.
    ///
    /// After a first failure the room stays held if it was reserved, or if others of the gang have
    /// their places: a gang does not lose what was left for it, or the pod that makes it whole, to a
    /// single refusal. After that the task goes where it can.
    pub(crate) fn bind_refused(&mut self, task: Entity) {
        let (now, item) = (self.reservations.now, self.task(task));
        let (record, job) = (item.cold.nomination.0, item.membership.job);
        let Some(Assumption::Binding(node)) = item.assumed.0 else { return };
        let (mut failures, mut others) = (0, 0);
        if let Some(mut job) = job.map(|job| self.job_mut(job)) {
            job.backoff.fail(now);
            failures = job.backoff.failures;
            others = (job.counts.ready() + job.counts.pipelined()).saturating_sub(1);
        }
        let held = match record {
            Some(record) => record.until > now,
            None => others > 0,
        };
        let held = held && failures <= 1;
        self.assume(task, held.then_some(Assumption::Pipelined(node)));
        match (held, record) {
            (true, None) => self.begin_reservation(task, node, false),
            (false, _) => self.end_reservation(task, End::Released(Release::BindFailed)),
            // The mirrors said nothing while the bind was under way.
            (true, Some(_)) => self.reservations.touch(task),
        }
        if let Ok(mut item) = self.tasks.get_mut(task) {
            item.timing.answer_by = OptionTime::NONE;
        }
    }

    /// The eviction of a task was refused, or not heard of again: it stays where it is.
    pub(crate) fn stay(&mut self, task: Entity) {
        self.assume(task, None);
        self.end_reservation(task, End::Released(Release::Stayed));
        if let Ok(mut item) = self.tasks.get_mut(task) {
            *item.timing = Timing { running: item.timing.running, ..Timing::default() };
        }
    }

    /// Stops counting on a leaving task's room.
    pub(crate) fn distrust(&mut self, task: Entity) {
        self.detach(task);
        if let Ok(mut item) = self.tasks.get_mut(task) {
            item.timing.stuck = true;
        }
        self.attach(task);
    }
}
