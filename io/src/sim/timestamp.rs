//! RFC 3339 timestamps, counted from the virtual clock's time zero.

/// Days from 1970-01-01 to 2026-01-01, the day of time zero.
const ZERO_DAY: i64 = 20_454;

/// Milliseconds from 2026-01-01T00:00:00Z to the time a text names; none if it names no time.
/// What lies below a millisecond is dropped.
pub(crate) fn ms_from_zero(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let fixed = bytes.get(..19)?;
    let marks = [(4, b'-'), (7, b'-'), (13, b':'), (16, b':')];
    if marks.iter().any(|&(at, mark)| fixed[at] != mark) || !matches!(fixed[10], b'T' | b't' | b' ')
    {
        return None;
    }
    let (year, month, day) = (number(&fixed[..4])?, number(&fixed[5..7])?, number(&fixed[8..10])?);
    let (hour, minute, second) =
        (number(&fixed[11..13])?, number(&fixed[14..16])?, number(&fixed[17..19])?);
    let (fraction_ms, zone) = fraction(&bytes[19..])?;
    // A leap second is written as 60 and counts as the next minute's first.
    let valid = (1..=12).contains(&month)
        && (1..=days_in(year, month)).contains(&day)
        && hour < 24
        && minute < 60
        && second <= 60;
    if !valid {
        return None;
    }
    let days = days_from_epoch(year, month, day) - ZERO_DAY;
    let minutes = (days * 24 + hour) * 60 + minute - offset_minutes(zone)?;
    Some((minutes * 60 + second) * 1000 + fraction_ms)
}

fn number(digits: &[u8]) -> Option<i64> {
    digits.iter().try_fold(0, |sum, &digit| {
        digit.is_ascii_digit().then(|| sum * 10 + i64::from(digit - b'0'))
    })
}

/// Milliseconds of the fraction that may follow the seconds, and what follows it.
fn fraction(rest: &[u8]) -> Option<(i64, &[u8])> {
    let Some(digits) = rest.strip_prefix(b".") else { return Some((0, rest)) };
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if length == 0 {
        return None;
    }
    let digit = |at: usize| i64::from(digits[..length].get(at).map_or(0, |byte| byte - b'0'));
    Some((digit(0) * 100 + digit(1) * 10 + digit(2), &digits[length..]))
}

fn offset_minutes(zone: &[u8]) -> Option<i64> {
    match zone {
        [b'Z' | b'z'] => Some(0),
        [sign @ (b'+' | b'-'), h1, h2, b':', m1, m2] => {
            let (hours, minutes) = (number(&[*h1, *h2])?, number(&[*m1, *m2])?);
            let total = (hours < 24 && minutes < 60).then_some(hours * 60 + minutes)?;
            Some(if *sign == b'-' { -total } else { total })
        }
        _ => None,
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in(year: i64, month: i64) -> i64 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days from 1970-01-01, in the Gregorian calendar throughout.
fn days_from_epoch(year: i64, month: i64, day: i64) -> i64 {
    let before = year - 1;
    let leaps = |years: i64| years.div_euclid(4) - years.div_euclid(100) + years.div_euclid(400);
    let years = (year - 1970) * 365 + leaps(before) - leaps(1969);
    let months: i64 = (1..month).map(|month| days_in(year, month)).sum();
    years + months + day - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_count_from_the_first_of_january_2026() {
        for (text, ms) in [
            ("2026-01-01T00:00:00Z", 0),
            ("2026-01-01T00:00:01.25Z", 1250),
            ("2026-01-01T00:00:00.123456789Z", 123),
            ("2025-12-31T23:59:59Z", -1000),
            ("2026-01-01T02:00:00+02:00", 0),
            ("2026-01-01T00:00:00-00:30", 1_800_000),
            ("2026-03-01T00:00:00Z", 59 * 86_400_000),
            ("2024-02-29T00:00:00Z", -672 * 86_400_000),
            ("1970-01-01T00:00:00Z", -ZERO_DAY * 86_400_000),
        ] {
            assert_eq!(ms_from_zero(text), Some(ms), "{text}");
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
            "2026-01-01T00:00:00Zjunk",
            "2026-01-0aT00:00:00Z",
            "2026-01-01T00:00:0ä",
        ] {
            assert_eq!(ms_from_zero(text), None, "{text}");
        }
    }
}
