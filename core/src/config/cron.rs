//! Times that come again and again, as cron writes them: `0 0 * * 1` is midnight of every Monday.
//!
//! Five fields: minute, hour, day of the month, month, day of the week. A field is `*` or a list of values
//! and ranges such as `1-5`, each with a step if wanted, such as `*/15`. Months and days of the week may be
//! named by their first three letters; Sunday is 0 and 7. Where both the day of the month and that of the
//! week are given, either is enough. `@hourly`, `@daily`, `@weekly`, `@monthly` and `@yearly` stand for what
//! they say. All times are UTC.

use super::DAY_MS;

const MINUTE_MS: i64 = 60_000;
/// Days looked back at most: 29 February is missing for eight years at a time.
const LOOK_BACK_DAYS: i64 = 8 * 366;

/// What each field is called, its least and its largest value, and names of its values from the least on.
const FIELDS: [Field; 5] = [
    Field { name: "minute", least: 0, most: 59, words: &[] },
    Field { name: "hour", least: 0, most: 23, words: &[] },
    Field { name: "day of the month", least: 1, most: 31, words: &[] },
    Field {
        name: "month",
        least: 1,
        most: 12,
        words: &[
            "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
        ],
    },
    Field {
        name: "day of the week",
        least: 0,
        most: 7,
        words: &["sun", "mon", "tue", "wed", "thu", "fri", "sat"],
    },
];

const SHORT: [(&str, &str); 6] = [
    ("@hourly", "0 * * * *"),
    ("@daily", "0 0 * * *"),
    ("@weekly", "0 0 * * 0"),
    ("@monthly", "0 0 1 * *"),
    ("@yearly", "0 0 1 1 *"),
    ("@annually", "0 0 1 1 *"),
];

struct Field {
    name: &'static str,
    least: u32,
    most: u32,
    words: &'static [&'static str],
}

/// Times that come again and again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CronTimes {
    /// For each field a bit per value.
    allowed: [u64; 5],
    /// Is it enough if one of the two kinds of day fits?
    either_day: bool,
}

/// Why a text says no times.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidCron {
    /// Too few fields or too many.
    #[error("has {0} fields; expected minute, hour, day of the month, month and day of the week")]
    Fields(usize),
    /// A field that cannot be read.
    #[error(
        "{field} {text:?}: expected *, or values and ranges from {least} to {most}, such as 1,3-5 or */2"
    )]
    Value {
        /// The field.
        field: &'static str,
        /// What stands there.
        text: String,
        /// Its least value.
        least: u32,
        /// Its largest value.
        most: u32,
    },
    /// A date no year has.
    #[error("names no day that ever comes")]
    Never,
}

impl CronTimes {
    /// Reads the five fields, or the short form.
    pub fn parse(text: &str) -> Result<Self, InvalidCron> {
        let text = text.trim();
        let short = SHORT.iter().find(|short| short.0 == text);
        let fields: Vec<&str> = short.map_or(text, |short| short.1).split_whitespace().collect();
        let fields: [&str; 5] =
            fields.try_into().map_err(|fields: Vec<&str>| InvalidCron::Fields(fields.len()))?;
        let mut allowed = [0; 5];
        for ((field, text), bits) in FIELDS.iter().zip(fields).zip(&mut allowed) {
            *bits = field.read(text)?;
        }
        // Sunday is both.
        allowed[4] = (allowed[4] | allowed[4] >> 7) & 0x7f;
        let either_day = !fields[2].starts_with(['*', '?']) && !fields[4].starts_with(['*', '?']);
        let times = Self { allowed, either_day };
        times.last(LOOK_BACK_DAYS * DAY_MS).map(|_| times).ok_or(InvalidCron::Never)
    }

    /// The last of the times up to one, both in milliseconds since 1970; none where none came for years.
    pub fn last(&self, utc_ms: i64) -> Option<i64> {
        let (today, since) = (utc_ms.div_euclid(DAY_MS), utc_ms.rem_euclid(DAY_MS) / MINUTE_MS);
        let days = (0..=LOOK_BACK_DAYS).filter(|back| self.has_day(today - back));
        let mut times = days.filter_map(|back| {
            let minute =
                self.last_minute(if back == 0 { since } else { DAY_MS / MINUTE_MS - 1 })?;
            Some((today - back) * DAY_MS + minute * MINUTE_MS)
        });
        times.next()
    }

    /// The last minute of a day up to one of it.
    fn last_minute(&self, until: i64) -> Option<i64> {
        let hours = (0..=until / 60).rev().filter(|hour| self.has(1, *hour));
        let mut minutes = hours.filter_map(|hour| {
            let most = if hour == until / 60 { until % 60 } else { 59 };
            let minute = (0..=most).rev().find(|minute| self.has(0, *minute))?;
            Some(hour * 60 + minute)
        });
        minutes.next()
    }

    /// Is the day, counted from the first of 1970, among them?
    fn has_day(&self, day: i64) -> bool {
        let (month, of_month) = month_and_day(day);
        // That day was a Thursday.
        let (by_month, by_week) = (self.has(2, of_month), self.has(4, (day + 4).rem_euclid(7)));
        let fits = if self.either_day { by_month || by_week } else { by_month && by_week };
        fits && self.has(3, month)
    }

    fn has(&self, field: usize, value: i64) -> bool {
        self.allowed[field] >> value & 1 == 1
    }
}

impl Field {
    fn read(&self, text: &str) -> Result<u64, InvalidCron> {
        let parts: Option<Vec<u64>> = text.split(',').map(|part| self.part(part)).collect();
        let parts = parts.ok_or_else(|| InvalidCron::Value {
            field: self.name,
            text: text.to_owned(),
            least: self.least,
            most: self.most,
        })?;
        Ok(parts.into_iter().fold(0, |bits, part| bits | part))
    }

    /// The values of one entry of a list.
    fn part(&self, text: &str) -> Option<u64> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => (range, step.parse::<usize>().ok().filter(|&step| step > 0)?),
            None => (text, 1),
        };
        let (first, last) = match range.split_once('-') {
            Some((first, last)) => (self.value(first)?, self.value(last)?),
            None if range == "*" || range == "?" => (self.least, self.most),
            None => (self.value(range)?, self.value(range)?),
        };
        // A value with a step begins a range without an end.
        let last = if step > 1 && first == last { self.most } else { last };
        (first <= last).then(|| (first..=last).step_by(step).fold(0, |bits, at| bits | 1 << at))
    }

    fn value(&self, text: &str) -> Option<u32> {
        let named = self.words.iter().position(|word| word.eq_ignore_ascii_case(text));
        let named = named.and_then(|at| u32::try_from(at).ok()).map(|at| at + self.least);
        let value = named.or_else(|| text.parse().ok())?;
        (self.least..=self.most).contains(&value).then_some(value)
    }
}

/// Month and day of the month of a day counted from the first of 1970. Years are taken to begin in March,
/// so that the odd day of a leap year is the last one.
fn month_and_day(day: i64) -> (i64, i64) {
    const DAYS_OF_400_YEARS: i64 = 146_097;
    // From the first of March of the year 0 to the first of 1970.
    let day = (day + 719_468).rem_euclid(DAYS_OF_400_YEARS);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let of_year = day - (365 * year + year / 4 - year / 100);
    // Five months have 153 days, from March on and again from August on.
    let month = (5 * of_year + 2) / 153;
    let of_month = of_year - (153 * month + 2) / 5 + 1;
    ((month + 2) % 12 + 1, of_month)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Milliseconds to a time of 2026, of which the first day is a Thursday.
    fn at(day: i64, hour: i64, minute: i64) -> i64 {
        (20_454 + day) * DAY_MS + (hour * 60 + minute) * MINUTE_MS
    }

    fn last(text: &str, now: i64) -> Option<i64> {
        CronTimes::parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).last(now)
    }

    #[test]
    fn the_last_time_is_found() {
        let now = at(9, 10, 20) + 30_000;
        for (text, want) in [
            ("* * * * *", at(9, 10, 20)),
            ("*/15 * * * *", at(9, 10, 15)),
            ("30 * * * *", at(9, 9, 30)),
            ("@daily", at(9, 0, 0)),
            ("0 12 * * *", at(8, 12, 0)),
            ("0 0 * * 1", at(4, 0, 0)),
            ("0 0 * * Mon", at(4, 0, 0)),
            ("0 0 * * 7", at(3, 0, 0)),
            ("@monthly", at(0, 0, 0)),
            ("0 6 15 * *", at(-17, 6, 0)),
            ("5,40 8-9 * JAN *", at(9, 9, 40)),
            // The fifth is one, and so is every Friday.
            ("0 0 5 * 5", at(8, 0, 0)),
            ("0 0 29 2 *", at(-672, 0, 0)),
        ] {
            assert_eq!(last(text, now), Some(want), "{text}");
        }
        assert_eq!(last("0 10 * * *", at(9, 10, 0)), Some(at(9, 10, 0)), "the time itself counts");
    }

    #[test]
    fn months_follow_the_calendar() {
        for (day, want) in [
            (0, (1, 1)),
            (58, (2, 28)),
            (59, (3, 1)),
            (364, (12, 31)),
            (-1, (12, 31)),
            (-673, (2, 28)),
            (-672, (2, 29)),
            (-671, (3, 1)),
        ] {
            assert_eq!(month_and_day(20_454 + day), want, "{day}");
        }
    }

    #[test]
    fn what_says_no_times_is_refused_with_what_was_expected() {
        for (text, want) in [
            ("", "has 0 fields"),
            ("0 0 * *", "has 4 fields"),
            ("60 * * * *", "minute \"60\": expected *, or values and ranges from 0 to 59"),
            ("0 0 0 * *", "day of the month \"0\""),
            ("0 0 * * mit", "day of the week \"mit\""),
            ("*/0 * * * *", "minute \"*/0\""),
            ("5-1 * * * *", "minute \"5-1\""),
            ("0 0 31 feb *", "names no day that ever comes"),
        ] {
            let error = CronTimes::parse(text).expect_err(text).to_string();
            assert!(error.contains(want), "{text}: {error}");
        }
    }
}
