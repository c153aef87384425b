//! Virtual time as text.

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

/// Days from 0000-03-01 to 2026-01-01, the day of time zero.
const ZERO_DAY: i64 = 719_468 + 20_454;

/// The same point as an object writes it.
pub fn rfc3339(ms: i64) -> String {
    let seconds = ms.div_euclid(1000);
    // Civil date from days, with years that begin in March so that the leap day comes last.
    let (days, second) = (seconds.div_euclid(86_400) + ZERO_DAY, seconds.rem_euclid(86_400));
    let era = days.div_euclid(146_097);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let shifted = (5 * of_year + 2) / 153;
    let day = of_year - (153 * shifted + 2) / 5 + 1;
    let month = if shifted < 10 { shifted + 3 } else { shifted - 9 };
    let year = year + era * 400 + i64::from(month <= 2);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
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
        ] {
            assert_eq!(rfc3339(ms), want);
        }
    }
}
