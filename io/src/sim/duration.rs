//! Durations as Go writes them: `30s`, `1m30s`, `500ms`, `1.5h`.

use serde::de::{Deserialize, Deserializer, Error, Visitor};

/// A duration in milliseconds, read from text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct DurationMs(pub i64);

/// Why a text is no duration.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DurationError {
    /// Not of the form number, unit, number, unit.
    #[error("{0:?} is not a duration; write one such as 30s, 1m30s or 500ms")]
    Form(String),
    /// Time is counted in milliseconds here.
    #[error("{0:?} is finer than a millisecond; round it to whole milliseconds")]
    TooFine(String),
    /// More than 290 years.
    #[error("{0:?} is too long for a duration")]
    TooLong(String),
}

/// Nanoseconds of each unit; longer names come first where one begins another.
const UNITS: [(&str, i128); 7] = [
    ("ns", 1),
    ("us", 1_000),
    ("µs", 1_000),
    ("ms", 1_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Milliseconds of a duration text; a sign may precede it, and `0` needs no unit.
pub fn parse_ms(text: &str) -> Result<i64, DurationError> {
    let form = || DurationError::Form(text.to_owned());
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    if magnitude == "0" {
        return Ok(0);
    }
    if magnitude.is_empty() {
        return Err(form());
    }
    let mut rest = magnitude;
    let mut nanos: i128 = 0;
    while !rest.is_empty() {
        let number_end = rest.find(|c: char| c != '.' && !c.is_ascii_digit()).ok_or_else(form)?;
        let (number, tail) = rest.split_at(number_end);
        let unit_end = tail.find(|c: char| c == '.' || c.is_ascii_digit()).unwrap_or(tail.len());
        let (unit, tail) = tail.split_at(unit_end);
        let scale = UNITS.iter().find(|entry| entry.0 == unit).ok_or_else(form)?.1;
        nanos += decimal_times(number, scale).ok_or_else(form)?;
        if nanos > i128::from(i64::MAX) {
            return Err(DurationError::TooLong(text.to_owned()));
        }
        rest = tail;
    }
    if nanos % 1_000_000 != 0 {
        return Err(DurationError::TooFine(text.to_owned()));
    }
    Ok(sign * (nanos / 1_000_000) as i64)
}

/// `number` times `scale` in whole nanoseconds, none when it is no number. What lies below a
/// nanosecond is dropped, as Go does; what is beyond any duration stays beyond it.
fn decimal_times(number: &str, scale: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return None;
    }
    // Nineteen digits of the smallest unit are too long already, and keep the product in range.
    let whole = whole
        .trim_start_matches('0')
        .bytes()
        .take(20)
        .fold(0, |sum, digit| sum * 10 + i128::from(digit - b'0'));
    let mut total = whole * scale;
    let mut unit = scale;
    for digit in fraction.bytes() {
        // Digits past the nanosecond add nothing; dropping them keeps long texts harmless.
        unit /= 10;
        total += i128::from(digit - b'0') * unit;
    }
    Some(total)
}

impl<'de> Deserialize<'de> for DurationMs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DurationVisitor)
    }
}

struct DurationVisitor;

impl Visitor<'_> for DurationVisitor {
    type Value = DurationMs;

    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("a duration such as 30s, 1m30s or 500ms")
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<DurationMs, E> {
        parse_ms(text).map(DurationMs).map_err(E::custom)
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<DurationMs, E> {
        self.visit_str(&number.to_string())
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<DurationMs, E> {
        self.visit_str(&number.to_string())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_go_writes_them() {
        for (text, ms) in [
            ("0s", 0),
            ("0", 0),
            ("30s", 30_000),
            ("1m30s", 90_000),
            ("500ms", 500),
            ("1.5h", 5_400_000),
            (".5s", 500),
            ("-10s", -10_000),
            ("2000us", 2),
        ] {
            assert_eq!(parse_ms(text), Ok(ms), "{text}");
        }
    }

    #[test]
    fn what_is_no_duration_is_named() {
        for text in ["", "-", "30", "s", "1d", "1s2", "1..5s", ".s", "1 s", "٣s"] {
            assert_eq!(parse_ms(text), Err(DurationError::Form(text.into())), "{text}");
        }
        assert_eq!(parse_ms("1us"), Err(DurationError::TooFine("1us".into())));
        assert!(matches!(parse_ms("99999999h"), Err(DurationError::TooLong(_))));
        assert!(matches!(parse_ms("999999999999999999999999s"), Err(DurationError::TooLong(_))));
    }
}
