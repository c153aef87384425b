//! Kubernetes quantities, exactly: an integer number of billionths, never a float.
//!
//! Reading is in `parse`, writing in `format`. A quantity has no memory of the suffix it was read
//! with: `1Gi` and `1073741824` are the same value, and who prints one says which form it wants.

mod parse;
mod format;

pub use format::Format;
pub use parse::{QuantityError, QuantityProblem};

/// Billionths in one unit.
const NANOS_PER_UNIT: i128 = 1_000_000_000;

/// Billionths in one thousandth.
const NANOS_PER_MILLI: i128 = 1_000_000;

/// Billionths in one millionth.
const NANOS_PER_MICRO: i128 = 1_000;

/// An exact amount, in billionths.
///
/// Holds about 10^29 units either way; what is larger stays at that bound. No getter returns more
/// than an `i64`, so nobody sees the difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Quantity {
    /// Never `i128::MIN`, so that each value has its negative.
    nanos: i128,
}

impl Quantity {
    /// Nothing.
    pub const ZERO: Self = Self { nanos: 0 };

    fn from_nanos(nanos: i128) -> Self {
        Self { nanos: nanos.max(-i128::MAX) }
    }

    /// From a number of whole units.
    pub fn from_units(units: i64) -> Self {
        Self { nanos: i128::from(units) * NANOS_PER_UNIT }
    }

    /// From a number of thousandths.
    pub fn from_milli(milli: i64) -> Self {
        Self { nanos: i128::from(milli) * NANOS_PER_MILLI }
    }

    /// Whole units, rounded up, no further from zero than an `i64` reaches.
    ///
    /// Up is towards plus infinity: who asks for a part of a unit is given a whole one.
    pub fn units_ceil(self) -> i64 {
        self.ceil_in(NANOS_PER_UNIT)
    }

    /// Thousandths, rounded up as [`Self::units_ceil`] does.
    pub fn milli_ceil(self) -> i64 {
        self.ceil_in(NANOS_PER_MILLI)
    }

    /// Millionths, rounded up as [`Self::units_ceil`] does.
    pub fn micro_ceil(self) -> i64 {
        self.ceil_in(NANOS_PER_MICRO)
    }

    fn ceil_in(self, unit: i128) -> i64 {
        let ceil = -(-self.nanos).div_euclid(unit);
        ceil.clamp(i128::from(i64::MIN), i128::from(i64::MAX)) as i64
    }

    /// The sum.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "saturates, which `+` does not promise")]
    pub fn add(self, other: Self) -> Self {
        Self::from_nanos(self.nanos.saturating_add(other.nanos))
    }

    /// The difference; may be negative.
    #[must_use]
    #[expect(clippy::should_implement_trait, reason = "saturates, which `-` does not promise")]
    pub fn sub(self, other: Self) -> Self {
        Self::from_nanos(self.nanos.saturating_sub(other.nanos))
    }

    /// The larger of the two.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        Ord::max(self, other)
    }

    /// Exactly nothing?
    pub fn is_zero(self) -> bool {
        self.nanos == 0
    }

    /// Below nothing?
    pub fn is_negative(self) -> bool {
        self.nanos < 0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quantity(text: &str) -> Quantity {
        text.parse().unwrap()
    }

    #[test]
    fn parts_of_a_unit_count_as_a_whole_one() {
        assert_eq!(quantity("1.5").units_ceil(), 2);
        assert_eq!(quantity("1n").units_ceil(), 1);
        assert_eq!(quantity("1n").milli_ceil(), 1);
        assert_eq!(quantity("1.0001").milli_ceil(), 1001);
        assert_eq!(quantity("1.0000001").micro_ceil(), 1_000_001);
        assert_eq!(quantity("2").units_ceil(), 2);
        assert_eq!(quantity("-1.5").units_ceil(), -1);
        assert_eq!(quantity("-1.0001").milli_ceil(), -1000);
    }

    #[test]
    fn getters_stop_at_the_end_of_i64_on_both_sides() {
        assert_eq!(quantity("1e30").units_ceil(), i64::MAX);
        assert_eq!(quantity("-1e30").units_ceil(), i64::MIN);
        assert_eq!(quantity("9223372036854775807").units_ceil(), i64::MAX);
        assert_eq!(quantity("9223372036854775807").milli_ceil(), i64::MAX);
        assert_eq!(quantity("9223372036854775.807").milli_ceil(), i64::MAX);
        assert_eq!(quantity("9223372036854775.806").milli_ceil(), i64::MAX - 1);
    }

    #[test]
    fn constructors_and_getters_are_inverse() {
        for amount in [0, 1, -1, 999, 1000, i64::MAX, i64::MIN] {
            assert_eq!(Quantity::from_units(amount).units_ceil(), amount);
            assert_eq!(Quantity::from_milli(amount).milli_ceil(), amount);
        }
    }

    #[test]
    fn arithmetic_is_exact_and_saturates() {
        assert_eq!(quantity("1500m").add(quantity("1u")), quantity("1.500001"));
        assert_eq!(quantity("1").sub(quantity("1Ki")), quantity("-1023"));
        let far = quantity("1e40");
        assert_eq!(far.add(far), far);
        assert_eq!(quantity("-1e40").sub(far), quantity("-1e40"));
        assert_eq!(quantity("1").max(quantity("999m")), quantity("1"));
        assert_eq!(quantity("-2").max(quantity("-3")), quantity("-2"));
    }

    #[test]
    fn signs_are_told_apart() {
        assert!(quantity("-0").is_zero() && !quantity("-0").is_negative());
        assert!(!quantity("1n").is_zero() && !quantity("1n").is_negative());
        assert!(!quantity("-1n").is_zero() && quantity("-1n").is_negative());
    }
}
