//! Lengths of time as Go writes them: `500ms`, `1m30s`, `1.5h`.

/// Why a text is no length of time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InvalidDuration {
    /// Not of the form number, unit, number, unit.
    #[error("is not a length of time; expected one such as 30s, 1m30s or 500ms")]
    Malformed,
    /// Longer than an i64 of nanoseconds, which is Go's own limit.
    #[error("is longer than 292 years")]
    TooLong,
}

/// The length in milliseconds, rounded down. Nothing a setting is made of can be negative, so a
/// minus sign is refused.
pub fn parse_ms(text: &str) -> Option<u64> {
    let ns = parse_ns(text).ok().filter(|_| !text.starts_with('-'))?;
    u64::try_from(ns / 1_000_000).ok()
}

/// The length in nanoseconds; a sign may precede it, and `0` needs no unit. It is exact: `0.1s` is
/// 100 ms, and only what lies below a nanosecond is dropped.
pub fn parse_ns(text: &str) -> Result<i64, InvalidDuration> {
    let (sign, magnitude) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    match magnitude {
        "" => return Err(InvalidDuration::Malformed),
        "0" => return Ok(0),
        _ => {}
    }
    let (mut rest, mut total_ns) = (magnitude, 0_i64);
    while !rest.is_empty() {
        let (part_ns, tail) = first_part(rest)?;
        total_ns = total_ns.checked_add(part_ns).ok_or(InvalidDuration::TooLong)?;
        rest = tail;
    }
    Ok(sign * total_ns)
}

/// Nanoseconds of the number and unit a text begins with, and what follows them.
fn first_part(text: &str) -> Result<(i64, &str), InvalidDuration> {
    let in_number = |c: char| c == '.' || c.is_ascii_digit();
    let number_end = text.find(|c| !in_number(c)).ok_or(InvalidDuration::Malformed)?;
    let (number, tail) = text.split_at(number_end);
    let unit_end = tail.find(in_number).unwrap_or(tail.len());
    let (unit, tail) = tail.split_at(unit_end);
    let unit_ns = unit_ns(unit).ok_or(InvalidDuration::Malformed)?;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if (whole.is_empty() && fraction.is_empty()) || fraction.contains('.') {
        return Err(InvalidDuration::Malformed);
    }
    let ns = scaled(whole, fraction, unit_ns).and_then(|ns| i64::try_from(ns).ok());
    Ok((ns.ok_or(InvalidDuration::TooLong)?, tail))
}

fn unit_ns(unit: &str) -> Option<u128> {
    Some(match unit {
        "ns" => 1,
        // Unicode has the letter twice, as a sign of its own and as a Greek one.
        "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
        "ms" => 1_000_000,
        "s" => 1_000_000_000,
        "m" => 60_000_000_000,
        "h" => 3_600_000_000_000,
        _ => return None,
    })
}

/// A decimal number of units in nanoseconds; `None` if it is beyond all bounds.
fn scaled(whole: &str, fraction: &str, unit_ns: u128) -> Option<u128> {
    let number = |digits: &str| if digits.is_empty() { Some(0) } else { digits.parse().ok() };
    let whole: u128 = number(whole)?;
    // More than 18 digits of a fraction are below any unit's nanosecond.
    let fraction = &fraction[..fraction.len().min(18)];
    let part: u128 = number(fraction)?;
    let divisor = 10_u128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    whole.checked_mul(unit_ns)?.checked_add(part.checked_mul(unit_ns)? / divisor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_of_time_are_read_as_go_reads_them() {
        let cases = [
            ("500ms", Some(500)),
            ("1m30s", Some(90_000)),
            ("1.5h", Some(5_400_000)),
            ("0.1s", Some(100)),
            (".5s", Some(500)),
            ("+5s", Some(5_000)),
            ("0", Some(0)),
            ("999us", Some(0)),
            ("1500\u{b5}s", Some(1)),
            ("1500\u{3bc}s", Some(1)),
            ("", None),
            ("+", None),
            ("5", None),
            ("-1s", None),
            ("-0", None),
            ("1 s", None),
            ("1d", None),
            ("1..5s", None),
            (".s", None),
            ("99999999999h", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_ms(text), expected, "{text:?}");
        }
    }

    #[test]
    fn nanoseconds_are_exact_and_have_a_sign() {
        let cases = [
            ("-1.5us", Ok(-1_500)),
            ("1ns", Ok(1)),
            ("0.9ns", Ok(0)),
            ("0.000000000009h", Ok(32)),
            ("9223372036854775807ns", Ok(i64::MAX)),
            ("9223372036854775808ns", Err(InvalidDuration::TooLong)),
            ("9223372036854775807ns1ns", Err(InvalidDuration::TooLong)),
            ("99999999h!", Err(InvalidDuration::Malformed)),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_ns(text), expected, "{text:?}");
        }
    }
}
