//! Reading a quantity: sign, decimal number, suffix or decimal exponent.
//!
//! The grammar is the one Kubernetes documents. Any number of digits is read exactly; what is finer
//! than a billionth rounds away from zero, so that a request for something is never zero.

use std::str::FromStr;

use super::Quantity;

/// Powers of ten that the billionths of a [`Quantity`] add to every exponent.
const NANO_DIGITS: i64 = 9;

/// Where Kubernetes cuts off quantities with a binary suffix: 2^63-1 units.
const BINARY_CAP_NANOS: u128 = i64::MAX as u128 * 1_000_000_000;

/// A text that is no quantity, and what is wrong with it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "{text:?} is not a quantity: {problem}; expected a decimal number, then nothing, an exponent \
     such as e3, or one of n u m k M G T P E Ki Mi Gi Ti Pi Ei (for example 1500m or 32Gi)"
)]
pub struct QuantityError {
    text: String,
    problem: QuantityProblem,
}

impl QuantityError {
    /// The text as it was given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What is wrong with it.
    pub fn problem(&self) -> &QuantityProblem {
        &self.problem
    }
}

/// The ways in which a text fails to be a quantity.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum QuantityProblem {
    /// There is no text at all.
    #[error("it is empty")]
    Empty,
    /// White space before or after; Kubernetes strips it from JSON strings, not from quantities.
    #[error("it has white space around it")]
    WhiteSpace,
    /// Neither before nor after the dot is there a digit.
    #[error("it has no digits in front of its suffix")]
    NoDigits,
    /// What follows the number is none of the known suffixes, nor an exponent.
    #[error("unknown suffix {0:?}")]
    UnknownSuffix(String),
    /// The digits of the exponent are more than any amount can need.
    #[error("exponent {0:?} is out of range")]
    ExponentOutOfRange(String),
}

impl FromStr for Quantity {
    type Err = QuantityError;

    fn from_str(text: &str) -> Result<Self, QuantityError> {
        parse(text).map_err(|problem| QuantityError { text: text.to_owned(), problem })
    }
}

fn parse(text: &str) -> Result<Quantity, QuantityProblem> {
    if text.trim().len() < text.len() {
        return Err(QuantityProblem::WhiteSpace);
    }
    if text.is_empty() {
        return Err(QuantityProblem::Empty);
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (whole, rest) = split_digits(unsigned);
    let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), split_digits);
    if whole.is_empty() && fraction.is_empty() {
        return Err(QuantityProblem::NoDigits);
    }
    let scale = Scale::of(suffix)?;
    let mut digits = Vec::with_capacity(whole.len() + fraction.len());
    digits.extend(whole.bytes().chain(fraction.bytes()).map(|digit| digit - b'0'));
    let ten_to = scale.ten_to + NANO_DIGITS - fraction.len() as i64;
    let nanos = scaled_up(&digits, ten_to, scale.two_to);
    let nanos = if scale.two_to > 0 { nanos.min(BINARY_CAP_NANOS) } else { nanos };
    let nanos = i128::try_from(nanos).unwrap_or(i128::MAX);
    Ok(Quantity::from_nanos(if text.starts_with('-') { -nanos } else { nanos }))
}

fn split_digits(text: &str) -> (&str, &str) {
    text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()))
}

/// What a suffix multiplies by: `10^ten_to * 2^two_to`.
#[derive(Clone, Copy)]
struct Scale {
    ten_to: i64,
    two_to: u32,
}

impl Scale {
    fn of(suffix: &str) -> Result<Self, QuantityProblem> {
        let (ten_to, two_to) = match suffix {
            "n" => (-9, 0),
            "u" => (-6, 0),
            "m" => (-3, 0),
            "" => (0, 0),
            "k" => (3, 0),
            "M" => (6, 0),
            "G" => (9, 0),
            "T" => (12, 0),
            "P" => (15, 0),
            "E" => (18, 0),
            "Ki" => (0, 10),
            "Mi" => (0, 20),
            "Gi" => (0, 30),
            "Ti" => (0, 40),
            "Pi" => (0, 50),
            "Ei" => (0, 60),
            other => (Self::exponent(other)?, 0),
        };
        Ok(Self { ten_to, two_to })
    }

    fn exponent(suffix: &str) -> Result<i64, QuantityProblem> {
        let unknown = || QuantityProblem::UnknownSuffix(suffix.to_owned());
        let exponent = suffix.strip_prefix(['e', 'E']).ok_or_else(unknown)?;
        let (digits, rest) = split_digits(exponent.strip_prefix(['+', '-']).unwrap_or(exponent));
        if digits.is_empty() || !rest.is_empty() {
            return Err(unknown());
        }
        // Beyond 32 bits Kubernetes has no exponents either.
        let value: Result<i32, _> = exponent.parse();
        value.map(i64::from).map_err(|_| QuantityProblem::ExponentOutOfRange(exponent.to_owned()))
    }
}

/// `digits * 10^ten_to * 2^two_to`, rounded up to an integer, `u128::MAX` where it is too large.
///
/// Digits that end up behind the point are multiplied as in school, from the last one on: only the
/// carry into the integer and whether anything is left over matter, so their number has no limit.
fn scaled_up(digits: &[u8], ten_to: i64, two_to: u32) -> u128 {
    let leading_zeros = digits.iter().take_while(|&&digit| digit == 0).count();
    let digits = &digits[leading_zeros..];
    if digits.is_empty() {
        return 0;
    }
    let behind_point = usize::try_from(-ten_to).unwrap_or(0);
    let (whole, behind) = digits.split_at(digits.len().saturating_sub(behind_point));
    let mut carry: u64 = 0;
    let mut left_over = false;
    for &digit in behind.iter().rev() {
        // At most 9 * 2^60 plus a carry below 2^60: fits 64 bits.
        carry += u64::from(digit) << two_to;
        left_over |= !carry.is_multiple_of(10);
        carry /= 10;
    }
    // Zeros between the point and the first digit only shift what was carried.
    for _ in behind.len()..behind_point {
        if carry == 0 {
            break;
        }
        left_over |= !carry.is_multiple_of(10);
        carry /= 10;
    }
    let up = u128::from(carry) + u128::from(left_over);
    let whole = integer(whole, u32::try_from(ten_to).unwrap_or(0))
        .and_then(|whole| whole.checked_mul(1 << two_to))
        .and_then(|whole| whole.checked_add(up));
    whole.unwrap_or(u128::MAX)
}

/// `digits * 10^zeros`, if it fits.
fn integer(digits: &[u8], zeros: u32) -> Option<u128> {
    let mut value: u128 = 0;
    for &digit in digits {
        value = value.checked_mul(10)?.checked_add(u128::from(digit))?;
    }
    if value == 0 { Some(0) } else { value.checked_mul(10u128.checked_pow(zeros)?) }
}

#[cfg(test)]
mod tests;
