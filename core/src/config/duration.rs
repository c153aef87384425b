//! Lengths of time as Go writes them: `500ms`, `1m30s`, `1.5h`.

/// The length in milliseconds, rounded down; none if the text is not a length of time, is negative
/// or is longer than an i64 of nanoseconds (292 years), which is Go's own limit.
pub fn parse_ms(text: &str) -> Option<u64> {
    if text == "0" {
        return Some(0);
    }
    let mut rest = text.strip_prefix('+').unwrap_or(text);
    if rest.is_empty() {
        return None;
    }
    let mut total_ns: u128 = 0;
    while !rest.is_empty() {
        let (number, tail) = split_number(rest)?;
        let (unit_ns, tail) = split_unit(tail)?;
        total_ns = total_ns.checked_add(scaled(number, unit_ns)?)?;
        rest = tail;
    }
    i64::try_from(total_ns).ok()?;
    u64::try_from(total_ns / 1_000_000).ok()
}

/// Splits `12.5ms…` after the number; the number has at least one digit.
fn split_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, tail) = text.split_at(end);
    let digits = number.bytes().any(|byte| byte.is_ascii_digit());
    (digits && number.matches('.').count() <= 1).then_some((number, tail))
}

/// The unit a text begins with, in nanoseconds, and what follows it.
fn split_unit(text: &str) -> Option<(u128, &str)> {
    // Longer spellings first: `m` is also the first letter of `ms`.
    const UNITS: [(&str, u128); 8] = [
        ("ns", 1),
        ("us", 1_000),
        ("\u{b5}s", 1_000),
        ("\u{3bc}s", 1_000),
        ("ms", 1_000_000),
        ("s", 1_000_000_000),
        ("m", 60_000_000_000),
        ("h", 3_600_000_000_000),
    ];
    UNITS.iter().find_map(|(name, ns)| Some((*ns, text.strip_prefix(name)?)))
}

/// A decimal number of units in nanoseconds, in integers, so that `0.1s` is exactly 100 ms.
fn scaled(number: &str, unit_ns: u128) -> Option<u128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let whole: u128 = if whole.is_empty() { 0 } else { whole.parse().ok()? };
    // More than 18 digits of a fraction are below any unit's nanosecond.
    let fraction = &fraction[..fraction.len().min(18)];
    let part: u128 = if fraction.is_empty() { 0 } else { fraction.parse().ok()? };
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
            ("0", Some(0)),
            ("999us", Some(0)),
            ("", None),
            ("5", None),
            ("-1s", None),
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
}
