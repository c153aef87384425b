//! Reading quantities: Kubernetes' cases, and a twin that does long multiplication on digits.

use proptest::prelude::*;

use super::*;

const UNIT: i128 = 1_000_000_000;

#[track_caller]
fn reads(text: &str, nanos: i128) {
    assert_eq!(text.parse::<Quantity>().map(|quantity| quantity.nanos), Ok(nanos), "{text}");
    if !text.starts_with(['+', '-']) {
        let (minus, plus) = (format!("-{text}"), format!("+{text}"));
        assert_eq!(minus.parse::<Quantity>().map(|quantity| quantity.nanos), Ok(-nanos), "{minus}");
        assert_eq!(plus.parse::<Quantity>().map(|quantity| quantity.nanos), Ok(nanos), "{plus}");
    }
}

#[track_caller]
fn refuses(text: &str, problem: &QuantityProblem) {
    let error = text.parse::<Quantity>().expect_err(text);
    assert_eq!(error.problem(), problem, "{text}");
    assert_eq!(error.text(), text);
}

#[test]
fn every_suffix_has_its_size() {
    for (text, nanos) in [("5n", 5), ("4u", 4_000), ("3m", 3_000_000), ("9", 9 * UNIT)] {
        reads(text, nanos);
    }
    for (power, suffix) in ["k", "M", "G", "T", "P", "E"].iter().enumerate() {
        reads(&format!("7{suffix}"), 7 * UNIT * 1000i128.pow(power as u32 + 1));
    }
    for (power, suffix) in ["Ki", "Mi", "Gi", "Ti", "Pi", "Ei"].iter().enumerate() {
        reads(&format!("3{suffix}"), 3 * UNIT * 1024i128.pow(power as u32 + 1));
    }
}

#[test]
fn zero_is_zero_with_any_suffix() {
    for suffix in ["", "n", "u", "m", "k", "Ki", "M", "Mi", "E", "Ei", "e5", "E-5"] {
        reads(&format!("0{suffix}"), 0);
        reads(&format!("000.000{suffix}"), 0);
    }
}

#[test]
fn exponents_are_decimal_in_either_case() {
    reads("1e3", 1000 * UNIT);
    reads("1E-3", UNIT / 1000);
    reads("1.3E+6", 1_300_000 * UNIT);
    reads("0.5e0", UNIT / 2);
    reads("1e-0", UNIT);
    // A bare E is the suffix exa.
    reads("1E", 1_000_000_000_000_000_000 * UNIT);
    reads("1E18", 1_000_000_000_000_000_000 * UNIT);
}

#[test]
fn the_dot_may_stand_at_either_end() {
    reads("1.", UNIT);
    reads("1.G", UNIT * UNIT);
    reads(".001", UNIT / 1000);
    reads(".0001k", UNIT / 10);
    reads("100.035k", 100_035 * UNIT);
    reads("6.987654321G", 6_987_654_321 * UNIT);
    reads("1.53E12", 1_530_000_000_000 * UNIT);
}

#[test]
fn fractions_of_binary_units_are_exact() {
    reads("0.5Mi", 512 * 1024 * UNIT);
    reads("100.035Ki", 102_435_840_000_000);
    reads("0.05Gi", 53_687_091_200_000_000);
    reads("0.025Ti", 27_487_790_694_400_000_000);
    reads("1.5Gi", 1536 * 1024 * 1024 * UNIT);
}

#[test]
fn what_is_finer_than_nano_rounds_away_from_zero() {
    reads("3.001n", 4);
    reads("1.1E-9", 2);
    reads("0.0000000001", 1);
    reads("0.5e-9", 1);
    reads("0.9n", 1);
    reads("0.00000012345", 124);
    reads("0.00000012354", 124);
    reads("0.000000000001Ki", 2);
    reads("1e-2147483648", 1);
    reads(&format!("1.{}1", "0".repeat(500)), UNIT + 1);
    reads(&format!("1.{}", "0".repeat(500)), UNIT);
}

#[test]
fn binary_quantities_end_at_the_largest_i64_and_decimal_ones_do_not() {
    let cap = i128::from(i64::MAX) * UNIT;
    reads("8Ei", cap);
    reads("9Ei", cap);
    reads("9223372036854775807Ki", cap);
    reads("7Ei", 7 * (1 << 60) * UNIT);
    reads("12E", 12_000_000_000_000_000_000 * UNIT);
    reads("9223372036854775808", (i128::from(i64::MAX) + 1) * UNIT);
}

#[test]
fn what_no_machine_holds_saturates() {
    reads("1e30", i128::MAX);
    reads("1e2147483647", i128::MAX);
    reads(&"9".repeat(400), i128::MAX);
    reads("0e2147483647", 0);
}

#[test]
fn refusals_say_what_is_wrong() {
    refuses("", &QuantityProblem::Empty);
    for text in [" 1", "1 ", "1\n", " "] {
        refuses(text, &QuantityProblem::WhiteSpace);
    }
    for text in ["aoeu", "+", "-", ".", "-.", "m", "Ki", "--1", "e3"] {
        refuses(text, &QuantityProblem::NoDigits);
    }
    for (text, suffix) in [
        ("1.1.M", ".M"),
        ("1+1.0M", "+1.0M"),
        ("0.1mi", "mi"),
        ("0.1am", "am"),
        (".5i", "i"),
        ("-3.01i", "i"),
        ("-3.01e-", "e-"),
        ("1e", "e"),
        ("1e3.5", "e3.5"),
        ("1e+-3", "e+-3"),
        ("1K", "K"),
        ("1g", "g"),
        ("1Ki5", "Ki5"),
        ("1 Gi", " Gi"),
        ("1,5", ",5"),
        ("1é", "é"),
        ("1\u{661}", "\u{661}"),
    ] {
        refuses(text, &QuantityProblem::UnknownSuffix(suffix.to_owned()));
    }
    refuses("1e2147483648", &QuantityProblem::ExponentOutOfRange("2147483648".to_owned()));
}

#[test]
fn the_message_names_the_text_the_problem_and_the_form() {
    let message = "12x".parse::<Quantity>().unwrap_err().to_string();
    assert!(message.starts_with(r#""12x" is not a quantity: unknown suffix "x"; expected"#));
    assert!(message.contains("32Gi"));
}

/// The amount in billionths as decimal digits, by doubling and shifting digit strings.
fn twin(whole: &str, fraction: &str, ten_to: i64, two_to: u32) -> String {
    let mut digits: Vec<u8> = format!("{whole}{fraction}").bytes().map(|b| b - b'0').collect();
    for _ in 0..two_to {
        let mut carry = 0;
        for digit in digits.iter_mut().rev() {
            let doubled = *digit * 2 + carry;
            *digit = doubled % 10;
            carry = doubled / 10;
        }
        digits.insert(0, carry);
    }
    let zeros = ten_to + 9 - fraction.len() as i64;
    digits.resize(digits.len() + zeros.max(0) as usize, 0);
    let mut inexact = false;
    for _ in zeros..0 {
        inexact |= digits.pop().is_some_and(|digit| digit != 0);
    }
    if inexact {
        digits.insert(0, 0);
        let at = digits.iter().rposition(|&digit| digit != 9).unwrap();
        digits[at] += 1;
        digits[at + 1..].fill(0);
    }
    let text: String = digits.iter().map(|&digit| char::from(digit + b'0')).collect();
    let text = text.trim_start_matches('0');
    if text.is_empty() { "0".to_owned() } else { text.to_owned() }
}

const SUFFIXES: [(&str, i64, u32); 16] = [
    ("n", -9, 0),
    ("u", -6, 0),
    ("m", -3, 0),
    ("", 0, 0),
    ("k", 3, 0),
    ("M", 6, 0),
    ("G", 9, 0),
    ("T", 12, 0),
    ("P", 15, 0),
    ("E", 18, 0),
    ("Ki", 0, 10),
    ("Mi", 0, 20),
    ("Gi", 0, 30),
    ("Ti", 0, 40),
    ("Pi", 0, 50),
    ("Ei", 0, 60),
];

fn check_against_twin(whole: &str, fraction: &str, suffix: &str, ten_to: i64, two_to: u32) {
    let text = format!("{whole}.{fraction}{suffix}");
    // Amounts beyond the type's range are larger than any number the twin's digits parse to.
    let expected = twin(whole, fraction, ten_to, two_to).parse().unwrap_or(i128::MAX);
    let cap = i128::from(i64::MAX) * UNIT;
    let expected = if two_to > 0 { expected.min(cap) } else { expected };
    assert_eq!(text.parse::<Quantity>().map(|quantity| quantity.nanos), Ok(expected), "{text}");
}

proptest! {
    #[test]
    fn suffixed_amounts_equal_long_multiplication(
        whole in "[0-9]{0,25}",
        fraction in "[0-9]{1,30}",
        suffix in 0..SUFFIXES.len(),
    ) {
        let (suffix, ten_to, two_to) = SUFFIXES[suffix];
        check_against_twin(&whole, &fraction, suffix, ten_to, two_to);
    }

    #[test]
    fn amounts_with_exponent_equal_long_multiplication(
        whole in "[0-9]{1,12}",
        fraction in "[0-9]{0,12}",
        exponent in -40i64..40,
    ) {
        check_against_twin(&whole, &fraction, &format!("e{exponent}"), exponent, 0);
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "[-+.0-9eEinumkKMGTP ]{0,12}|.{0,12}") {
        let _ = text.parse::<Quantity>();
    }
}
