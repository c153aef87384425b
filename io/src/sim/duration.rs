//! Durations as Go writes them: `30s`, `1m30s`, `500ms`, `1.5h`.

use muster_core::config::duration::{InvalidDuration, parse_ns};
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

/// Milliseconds of a duration text; a sign may precede it, and `0` needs no unit.
pub fn parse_ms(text: &str) -> Result<i64, DurationError> {
    let ns = parse_ns(text).map_err(|error| match error {
        InvalidDuration::Malformed => DurationError::Form(text.to_owned()),
        InvalidDuration::TooLong => DurationError::TooLong(text.to_owned()),
    })?;
    if ns % 1_000_000 != 0 {
        return Err(DurationError::TooFine(text.to_owned()));
    }
    Ok(ns / 1_000_000)
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
