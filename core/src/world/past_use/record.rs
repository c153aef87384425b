//! The record of what queues held, kept here from change to change.
//!
//! It lasts as long as the process: a scheduler that starts again begins anew, and until use has come
//! together again everybody counts as having used nothing.

use bevy_ecs::entity::Entity;
use bevy_ecs::prelude::Resource;
use hashbrown::HashMap;
use rustc_hash::FxBuildHasher;

use super::QueuePast;
use super::account::{Account, HeldAmounts, Sums};
use crate::config::UsageRecording;
use crate::ids::TimeMs;

/// A whole part, in millionths.
const MILLION: i128 = 1_000_000;

/// What queues and the cluster held over time, if that is written down here.
#[derive(Debug, Default, Resource)]
pub(crate) struct UsageRecord(Option<Box<Book>>);

#[derive(Debug)]
struct Book {
    recording: UsageRecording,
    /// Milliseconds from the beginning of 1970 to time zero.
    zero_ms: i64,
    queues: HashMap<Entity, Account, FxBuildHasher>,
    /// What there was to hold.
    cluster: Account,
    /// When use was weighed last.
    weighed: Option<TimeMs>,
}

impl UsageRecord {
    /// A record as the configuration has it, if it has one.
    pub(crate) fn new(recording: Option<&UsageRecording>, zero_ms: i64) -> Self {
        Self(recording.map(|recording| {
            Box::new(Book {
                recording: recording.clone(),
                zero_ms,
                queues: HashMap::default(),
                cluster: Account::new(i64::MIN / 2),
                weighed: None,
            })
        }))
    }

    /// Another configuration is in force; the record goes on if it says the same of it.
    pub(crate) fn reconfigure(&mut self, recording: Option<&UsageRecording>, zero_ms: i64) {
        if self.0.as_ref().map(|book| &book.recording) != recording {
            *self = Self::new(recording, zero_ms);
        }
    }

    /// Is a record kept?
    pub(crate) fn is_kept(&self) -> bool {
        self.0.is_some()
    }

    /// What there is to hold from now on.
    pub(crate) fn offer(&mut self, now: TimeMs, amounts: HeldAmounts) {
        if let Some(book) = &mut self.0 {
            let utc_ms = book.utc_ms(now);
            book.cluster.hold(&book.recording.window, utc_ms, amounts);
        }
    }

    /// What a queue holds from now on.
    pub(crate) fn hold(&mut self, now: TimeMs, queue: Entity, amounts: HeldAmounts) {
        let Some(book) = &mut self.0 else { return };
        let utc_ms = book.utc_ms(now);
        if amounts != [0; 3] || book.queues.contains_key(&queue) {
            let account = book.queues.entry(queue).or_insert_with(|| Account::new(utc_ms));
            account.hold(&book.recording.window, utc_ms, amounts);
        }
    }

    /// When use is weighed next; none if no record is kept, or if it never was.
    pub(crate) fn due(&self) -> Option<TimeMs> {
        let book = self.0.as_ref()?;
        book.weighed.map(|last| TimeMs(last.0.saturating_add(book.recording.every_ms)))
    }

    /// Weighs what was used by now if it is time: for each queue the part of the cluster it used.
    pub(crate) fn weigh(&mut self, now: TimeMs) -> Option<impl Fn(Entity) -> QueuePast> {
        if self.due().is_some_and(|due| now < due) {
            return None;
        }
        let book = self.0.as_mut()?;
        book.weighed = Some(now);
        let (utc_ms, window) = (book.utc_ms(now), &book.recording.window);
        book.cluster.advance(window, utc_ms);
        book.queues.retain(|_, account| {
            account.advance(window, utc_ms);
            !account.is_empty()
        });
        let there = book.cluster.sums(window);
        let queues = &book.queues;
        Some(move |queue: Entity| {
            let used = queues.get(&queue).map(|account| account.sums(window));
            QueuePast(used.map_or([0; 3], |used| parts(used, there)))
        })
    }
}

impl Book {
    fn utc_ms(&self, now: TimeMs) -> i64 {
        now.0.saturating_add(self.zero_ms)
    }
}

/// Sums as parts of others, in millionths.
fn parts(used: Sums, there: Sums) -> [u64; 3] {
    std::array::from_fn(|at| {
        if there[at] <= 0 {
            return 0;
        }
        let part = match used[at].checked_mul(MILLION) {
            Some(millions) => millions / there[at],
            None => used[at] / (there[at] / MILLION).max(1),
        };
        u64::try_from(part).unwrap_or(0)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{UsageSpan, UsageWindow};

    const MINUTE: i64 = 60_000;

    fn record(span: UsageSpan, half_life_ms: Option<i64>) -> UsageRecord {
        let window = UsageWindow { half_life_ms, span };
        UsageRecord::new(Some(&UsageRecording { window, every_ms: MINUTE }), 0)
    }

    fn queue(at: u32) -> Entity {
        Entity::from_raw_u32(at).expect("a small number")
    }

    fn weighed(record: &mut UsageRecord, minute: i64) -> [u64; 2] {
        let past = record.weigh(TimeMs(minute * MINUTE)).expect("it is time");
        [1, 2].map(|at| past(queue(at)).0[2])
    }

    #[test]
    fn parts_of_the_cluster_are_those_of_the_time_that_counts() {
        let mut record = record(UsageSpan::Sliding(168 * MINUTE), None);
        record.offer(TimeMs(0), [0, 0, 16_000]);
        record.hold(TimeMs(0), queue(1), [0, 0, 16_000]);
        record.hold(TimeMs(60 * MINUTE), queue(1), [0, 0, 4_000]);
        record.hold(TimeMs(60 * MINUTE), queue(2), [0, 0, 12_000]);
        assert_eq!(weighed(&mut record, 60), [1_000_000, 0]);
        assert_eq!(weighed(&mut record, 120), [625_000, 375_000]);
        // An hour more, and the first of them counts no more.
        assert_eq!(weighed(&mut record, 228), [250_000, 750_000]);
    }

    #[test]
    fn a_half_life_makes_an_hour_ago_count_half() {
        let mut record = record(UsageSpan::Sliding(168 * 60 * MINUTE), Some(60 * MINUTE));
        record.offer(TimeMs(0), [0, 0, 16_000]);
        record.hold(TimeMs(0), queue(1), [0, 0, 16_000]);
        record.hold(TimeMs(60 * MINUTE), queue(1), [0; 3]);
        record.hold(TimeMs(60 * MINUTE), queue(2), [0, 0, 16_000]);
        let [first, second] = weighed(&mut record, 120);
        assert!((333_332..=333_334).contains(&first), "{first}");
        assert!((666_665..=666_667).contains(&second), "{second}");
    }

    #[test]
    fn a_window_that_tumbles_begins_anew() {
        let span = UsageSpan::Tumbling { size_ms: 60 * MINUTE, from_ms: 0 };
        let mut record = record(span, None);
        record.offer(TimeMs(0), [0, 0, 16_000]);
        record.hold(TimeMs(0), queue(1), [0, 0, 16_000]);
        record.hold(TimeMs(30 * MINUTE), queue(1), [0; 3]);
        assert_eq!(weighed(&mut record, 40), [750_000, 0]);
        record.hold(TimeMs(50 * MINUTE), queue(2), [0, 0, 8_000]);
        assert_eq!(weighed(&mut record, 70), [0, 500_000]);
    }

    #[test]
    fn use_is_weighed_when_it_is_time_and_a_record_that_goes_on_is_kept() {
        let mut record = record(UsageSpan::Sliding(MINUTE), None);
        assert_eq!(record.due(), None);
        weighed(&mut record, 1);
        assert_eq!(record.due(), Some(TimeMs(2 * MINUTE)));
        assert!(record.weigh(TimeMs(2 * MINUTE - 1)).is_none());
        let same = record.0.as_ref().map(|book| book.recording.clone());
        record.reconfigure(same.as_ref(), 0);
        assert_eq!(record.due(), Some(TimeMs(2 * MINUTE)));
        record.reconfigure(None, 0);
        assert!(!record.is_kept());
    }
}
