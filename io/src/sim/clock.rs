//! Virtual time as text, and times of objects as virtual time.

use std::sync::LazyLock;

use jiff::Timestamp;
use muster_core::policy::Clock;
use regex_lite::Regex;

/// Time zero of every run.
const ZERO: Timestamp = Timestamp::constant(1_767_225_600, 0);

/// A point of the run in seconds since time zero, with a fraction only where there is one: `12s`,
/// `0.5s`.
pub fn text(ms: i64) -> String {
    let sign = if ms < 0 { "-" } else { "" };
    let (seconds, rest) = (ms.unsigned_abs() / 1000, ms.unsigned_abs() % 1000);
    if rest == 0 {
        return format!("{sign}{seconds}s");
    }
    let fraction = format!("{rest:03}");
    format!("{sign}{seconds}.{}s", fraction.trim_end_matches('0'))
}

/// The same point as an object writes it, in whole seconds.
pub fn rfc3339(ms: i64) -> String {
    let second = ZERO.as_second().saturating_add(ms.div_euclid(1000));
    let second = second.clamp(Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
    Timestamp::from_second(second).expect("seconds between two times are a time").to_string()
}

/// What clocks show in a simulation: UTC, wherever it runs, so that results are the same everywhere.
pub(super) fn of_day() -> Clock {
    Clock { zero_ms: ZERO.as_millisecond(), ..Clock::default() }
}

/// The milliseconds from time zero to the time an RFC 3339 text names, rounded down.
pub(crate) fn parse_rfc3339(text: &str) -> Option<i64> {
    // jiff reads more than RFC 3339: times without seconds, short offsets, names of time zones.
    static FORM: LazyLock<Regex> = LazyLock::new(|| {
        let date = r"(\d{4}-\d\d-\d\d[Tt ]\d\d:\d\d:)";
        let seconds = r"(\d\d)(?:(\.\d{1,3})\d*)?";
        let offset = r"([Zz]|[+-](?:[01]\d|2[0-3]):\d\d)";
        Regex::new(&format!("^{date}{seconds}{offset}$")).expect("the pattern is valid")
    });
    let parts = FORM.captures(text)?;
    let part = |number| parts.get(number).map_or("", |part| part.as_str());
    let (minute, second, fraction, offset) = (part(1), part(2), part(3), part(4));
    // A leap second counts as the first second of the next minute; jiff clamps it to 59.
    let (second, leap_ms) = if second == "60" { ("59", 1000) } else { (second, 0) };
    let time: Timestamp = format!("{minute}{second}{fraction}{offset}").parse().ok()?;
    Some(time.as_millisecond() - ZERO.as_millisecond() + leap_ms)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_seconds_have_no_fraction() {
        for (ms, want) in [(0, "0s"), (1000, "1s"), (90_000, "90s"), (500, "0.5s"), (-10, "-0.01s")]
        {
            assert_eq!(text(ms), want);
        }
    }

    #[test]
    fn dates_follow_the_calendar() {
        for (ms, want) in [
            (0, "2026-01-01T00:00:00Z"),
            (-1, "2025-12-31T23:59:59Z"),
            ((365 + 365 + 31 + 28) * 86_400_000, "2028-02-29T00:00:00Z"),
            (90_061_000, "2026-01-02T01:01:01Z"),
            (i64::MAX, "9999-12-30T22:00:00Z"),
        ] {
            assert_eq!(rfc3339(ms), want);
        }
    }

    #[test]
    fn times_count_from_the_first_of_january_2026() {
        for (text, ms) in [
            ("2026-01-01T00:00:00Z", 0),
            ("2026-01-01T00:00:01.25Z", 1250),
            ("2026-01-01T00:00:00.123456789Z", 123),
            ("2025-12-31T23:59:59Z", -1000),
            ("2026-01-01T02:00:00+02:00", 0),
            ("2026-01-01T00:00:00-00:30", 1_800_000),
            ("2026-01-01t00:00:00z", 0),
            ("2026-01-01 00:00:00.000999999999Z", 0),
            ("2025-12-31T23:59:60Z", 0),
            ("2025-12-31T23:59:60.5Z", 500),
            ("1969-12-31T23:59:59.9999Z", -20_454 * 86_400_000 - 1),
            ("2026-03-01T00:00:00Z", 59 * 86_400_000),
            ("2024-02-29T00:00:00Z", -672 * 86_400_000),
            ("1970-01-01T00:00:00Z", -20_454 * 86_400_000),
        ] {
            assert_eq!(parse_rfc3339(text), Some(ms), "{text}");
        }
    }

    #[test]
    fn what_names_no_time_is_refused() {
        for text in [
            "",
            "now",
            "2026-01-01",
            "2026-13-01T00:00:00Z",
            "2026-02-29T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "2026-01-01T00:00:00",
            "2026-01-01T00:00:00.Z",
            "2026-01-01T00:00:00+2",
            "2026-01-01T00:00:00+02",
            "2026-01-01T00:00:00+24:00",
            "2026-01-01T00:00:61Z",
            "2026-01-01T00:00:00,5Z",
            "2026-01-01T00:00Z",
            "20260101T000000Z",
            "+002026-01-01T00:00:00Z",
            "2026-01-01T00:00:00+02:00[Europe/Berlin]",
            "2026-01-01T00:00:00Zjunk",
            "2026-01-0aT00:00:00Z",
            "2026-01-01T00:00:0ä",
        ] {
            assert_eq!(parse_rfc3339(text), None, "{text}");
        }
    }
}
