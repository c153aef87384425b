//! The time of day somewhere: how far the clock on the wall is ahead of UTC, and from when on.
//!
//! Names of time zones and their history are known outside; here they are numbers, so that a rule that
//! goes by the time of day needs nothing but the time it is told.

use crate::ids::TimeMs;

/// Milliseconds of a day.
pub const DAY_MS: i64 = 86_400_000;

/// How far the clocks of a place are ahead of UTC.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WallClock {
    /// Before the first change, in milliseconds.
    first_ms: i64,
    /// From when on it is how much, in order.
    changes: Vec<(TimeMs, i64)>,
}

/// What a clock shows at some time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TimeOfDay {
    /// Milliseconds since midnight.
    pub ms: i64,
    /// When the clock is put forward or back next.
    pub changes: Option<TimeMs>,
}

impl WallClock {
    /// A clock that is always so far ahead.
    pub fn fixed(ahead_ms: i64) -> Self {
        Self { first_ms: ahead_ms, changes: Vec::new() }
    }

    /// A clock that is put forward and back; the changes are in order of time.
    pub fn changing(first_ms: i64, changes: Vec<(TimeMs, i64)>) -> Self {
        Self { first_ms, changes }
    }

    /// The same clock where time is counted from so many milliseconds later.
    #[must_use]
    pub fn counted_from(&self, start_ms: i64) -> Self {
        let shifted = |&(from, ahead): &(TimeMs, i64)| (TimeMs(from.0 - start_ms), ahead);
        // What the clock shows must not depend on where counting starts within a day.
        let rest = start_ms.rem_euclid(DAY_MS);
        let changes = self.changes.iter().map(shifted);
        Self {
            first_ms: self.first_ms + rest,
            changes: changes.map(|(from, ahead)| (from, ahead + rest)).collect(),
        }
    }

    /// What it shows.
    pub fn at(&self, now: TimeMs) -> TimeOfDay {
        let past = self.changes.partition_point(|change| change.0 <= now);
        let ahead = past.checked_sub(1).map_or(self.first_ms, |last| self.changes[last].1);
        let ms = now.0.saturating_add(ahead).rem_euclid(DAY_MS);
        TimeOfDay { ms, changes: self.changes.get(past).map(|change| change.0) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    #[test]
    fn a_clock_is_put_forward_and_back() {
        let clock =
            WallClock::changing(HOUR, vec![(TimeMs(10 * HOUR), 2 * HOUR), (TimeMs(DAY_MS), HOUR)]);
        let shown = |hours: i64| clock.at(TimeMs(hours * HOUR));
        assert_eq!(shown(9), TimeOfDay { ms: 10 * HOUR, changes: Some(TimeMs(10 * HOUR)) });
        assert_eq!(shown(10), TimeOfDay { ms: 12 * HOUR, changes: Some(TimeMs(DAY_MS)) });
        assert_eq!(shown(25), TimeOfDay { ms: 2 * HOUR, changes: None });
        assert_eq!(shown(-2).ms, 23 * HOUR, "the day before");
    }

    #[test]
    fn where_counting_starts_is_not_seen() {
        let clock = WallClock::changing(HOUR, vec![(TimeMs(10 * HOUR), 2 * HOUR)]);
        let later = clock.counted_from(7 * HOUR);
        for hours in -30..60 {
            let (now, moved) = (TimeMs(hours * HOUR), TimeMs((hours - 7) * HOUR));
            assert_eq!(clock.at(now).ms, later.at(moved).ms, "{hours}");
            let changes = clock.at(now).changes.map(|time| time.0 - 7 * HOUR);
            assert_eq!(changes, later.at(moved).changes.map(|time| time.0), "{hours}");
        }
    }
}
