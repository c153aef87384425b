//! What of past use counts, and how much: over which time it is summed up, and how fast it is forgotten.

use super::CronTimes;

/// What of past use counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageWindow {
    /// After how many milliseconds use counts half; none is as much as at first.
    pub half_life_ms: Option<i64>,
    /// From when on it counts.
    pub span: UsageSpan,
}

/// From when on use counts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UsageSpan {
    /// The last so many milliseconds.
    Sliding(i64),
    /// Since the last of the times that are so far from each other.
    Tumbling {
        /// Milliseconds from one to the next.
        size_ms: i64,
        /// One of them, in milliseconds since 1970.
        from_ms: i64,
    },
    /// Since the last of these times.
    Cron(CronTimes),
}

impl UsageSpan {
    /// From when on use counts at a time, both in milliseconds since 1970.
    pub fn start(&self, utc_ms: i64) -> i64 {
        match self {
            Self::Sliding(size_ms) => utc_ms.saturating_sub(*size_ms),
            Self::Tumbling { size_ms, from_ms } => {
                let since = utc_ms.saturating_sub(*from_ms);
                utc_ms.saturating_sub(since.rem_euclid((*size_ms).max(1)))
            }
            Self::Cron(times) => times.last(utc_ms).unwrap_or(utc_ms),
        }
    }
}

/// How past use is kept here, without anybody outside.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UsageRecording {
    /// What of it counts.
    pub window: UsageWindow,
    /// How often it is weighed anew, in milliseconds.
    pub every_ms: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_begins_where_its_kind_says() {
        let tumbling = UsageSpan::Tumbling { size_ms: 100, from_ms: 30 };
        for (now, want) in [(30, 30), (129, 30), (130, 130), (29, -70)] {
            assert_eq!(tumbling.start(now), want);
        }
        assert_eq!(UsageSpan::Sliding(100).start(250), 150);
        let hourly = CronTimes::parse("@hourly").expect("a short form");
        assert_eq!(UsageSpan::Cron(hourly).start(2 * 3_600_000 + 5), 2 * 3_600_000);
    }
}
