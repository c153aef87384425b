//! Time zones: from a name or an offset to what clocks show.
//!
//! Names are looked up in a database that is part of the program, so that a configuration means the same
//! on every machine. The zone of the process itself is the machine's business: `TZ` or `/etc/localtime`.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use muster_core::config::WallClock;
use muster_core::ids::TimeMs;

/// Changes of the clock are looked up until then; what holds then is taken to hold for good.
const HORIZON: Timestamp = Timestamp::constant(4_102_444_800, 0); // the year 2100

/// The clock of a zone: `UTC`, an offset such as `+02:00`, or a name such as `Europe/Berlin`.
pub(super) fn read(text: &str) -> Option<WallClock> {
    if text == "UTC" {
        return Some(WallClock::default());
    }
    if let Some(ahead_ms) = offset_ms(text) {
        return Some(WallClock::fixed(ahead_ms));
    }
    TimeZone::get(text).ok().map(|zone| clock(&zone))
}

/// The clock of the zone the process runs in; `None` if it cannot be found out.
pub(crate) fn of_process() -> Option<WallClock> {
    TimeZone::try_system().ok().map(|zone| clock(&zone))
}

/// Milliseconds of an offset such as `-03:30`.
fn offset_ms(text: &str) -> Option<i64> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let (hours, minutes) = rest.split_once(':')?;
    let number = |digits: &str, most: i64| {
        let is_plain = digits.len() == 2 && digits.bytes().all(|byte| byte.is_ascii_digit());
        digits.parse().ok().filter(|&number: &i64| is_plain && number <= most)
    };
    Some(sign * (number(hours, 23)? * 60 + number(minutes, 59)?) * 60_000)
}

fn clock(zone: &TimeZone) -> WallClock {
    let ahead = |offset: jiff::tz::Offset| i64::from(offset.seconds()) * 1000;
    let start = Timestamp::UNIX_EPOCH;
    let changes = zone.following(start).take_while(|change| change.timestamp() < HORIZON);
    let changes =
        changes.map(|change| (TimeMs(change.timestamp().as_millisecond()), ahead(change.offset())));
    WallClock::changing(ahead(zone.to_offset(start)), changes.collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOUR: i64 = 3_600_000;

    fn hour_in(zone: &str, time: &str) -> i64 {
        let time: Timestamp = time.parse().expect("a time");
        let clock = read(zone).unwrap_or_else(|| panic!("{zone} is known"));
        clock.at(TimeMs(time.as_millisecond())).ms / HOUR
    }

    #[test]
    fn a_name_knows_summer_and_winter() {
        assert_eq!(hour_in("Europe/Berlin", "2026-01-15T12:00:00Z"), 13);
        assert_eq!(hour_in("Europe/Berlin", "2026-07-15T12:00:00Z"), 14);
        assert_eq!(hour_in("Europe/Berlin", "2071-07-15T12:00:00Z"), 14, "by its rule");
        assert_eq!(hour_in("Asia/Tokyo", "2026-07-15T18:00:00Z"), 3);
    }

    #[test]
    fn an_offset_is_always_the_same() {
        assert_eq!(hour_in("+05:30", "2026-01-15T12:30:00Z"), 18);
        assert_eq!(hour_in("-03:00", "2026-07-15T01:00:00Z"), 22);
        assert_eq!(hour_in("UTC", "2026-07-15T01:00:00Z"), 1);
    }

    #[test]
    fn what_is_no_zone_is_refused() {
        for bad in ["", "+2", "+24:00", "+02:60", "Europe/Atlantis", "CET+1h", "é"] {
            assert!(read(bad).is_none(), "{bad}");
        }
    }
}
