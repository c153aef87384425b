//! Writing a quantity: in the shortest exact form of the style asked for.

use std::fmt;

use super::{NANOS_PER_UNIT, Quantity};

/// Suffixes of the decimal style by the power of a thousand above nano.
const DECIMAL: [&str; 10] = ["n", "u", "m", "", "k", "M", "G", "T", "P", "E"];

/// Index of the unit itself in [`DECIMAL`].
const UNIT: usize = 3;

/// Suffixes of the binary style by the power of 1024.
const BINARY: [&str; 7] = ["", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"];

/// Styles of writing a quantity. Each is exact, and every Kubernetes client reads all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// No suffix above the unit: `8`, `1500m`, `4000`. Counts of cpus, pods and devices read best so.
    Plain,
    /// The largest decimal suffix that keeps the number whole: `8`, `1500m`, `4k`.
    DecimalSi,
    /// The largest binary suffix that keeps the number whole: `32Gi`, `1536Mi`. As in Kubernetes,
    /// amounts below 1024 and amounts with a fraction are written in [`Self::DecimalSi`].
    BinarySi,
}

impl Format {
    /// The style in which people write amounts of a resource: binary for what is counted in bytes.
    pub fn of(resource: &str) -> Self {
        let bytes = matches!(resource, "memory" | "ephemeral-storage" | "storage")
            || resource.starts_with("hugepages-");
        if bytes { Self::BinarySi } else { Self::Plain }
    }
}

impl Quantity {
    /// The amount in a style of the caller's choice; reading it back gives the same amount.
    pub fn format(self, format: Format) -> String {
        match format {
            Format::Plain => self.decimal(UNIT),
            Format::DecimalSi => self.decimal(DECIMAL.len() - 1),
            Format::BinarySi => self.binary(),
        }
    }

    fn decimal(self, largest: usize) -> String {
        let mut number = self.nanos;
        let mut power = 0;
        while power < largest && number % 1000 == 0 && number != 0 {
            number /= 1000;
            power += 1;
        }
        // Zero has every suffix and needs none; above exa there are only exponents.
        match number {
            0 => "0".to_owned(),
            _ if power + 1 == DECIMAL.len() && number % 1000 == 0 => Self::above_exa(number),
            _ => format!("{number}{}", DECIMAL[power]),
        }
    }

    fn above_exa(mut number: i128) -> String {
        let mut exponent = 18;
        while number % 1000 == 0 {
            number /= 1000;
            exponent += 3;
        }
        format!("{number}e{exponent}")
    }

    fn binary(self) -> String {
        let units = self.nanos / NANOS_PER_UNIT;
        let magnitude = units.unsigned_abs();
        // Beyond 2^63-1 a binary suffix would be cut off when it is read again.
        let readable = (1024..=i64::MAX as u128).contains(&magnitude);
        if self.nanos % NANOS_PER_UNIT != 0 || !readable {
            return self.decimal(DECIMAL.len() - 1);
        }
        let power = (magnitude.trailing_zeros() / 10) as usize;
        format!("{}{}", units >> (10 * power), BINARY[power])
    }
}

/// [`Format::Plain`]: without a resource's name no suffix above the unit is the safe choice, since
/// nobody wants to read `1Ki` cpus or `4k` pods.
impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.format(Format::Plain))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn writes(text: &str, plain: &str, decimal: &str, binary: &str) {
        let quantity: Quantity = text.parse().unwrap();
        assert_eq!(quantity.to_string(), plain, "{text} plain");
        assert_eq!(quantity.format(Format::Plain), plain, "{text} plain");
        assert_eq!(quantity.format(Format::DecimalSi), decimal, "{text} decimal");
        assert_eq!(quantity.format(Format::BinarySi), binary, "{text} binary");
    }

    #[test]
    fn amounts_read_as_people_write_them() {
        writes("3000m", "3", "3", "3");
        writes("1500m", "1500m", "1500m", "1500m");
        writes("1.5", "1500m", "1500m", "1500m");
        writes("4000", "4000", "4k", "4000");
        writes("34359738368", "34359738368", "34359738368", "32Gi");
        writes("1.5Gi", "1610612736", "1610612736", "1536Mi");
        writes("1Ki", "1024", "1024", "1Ki");
        writes("1023", "1023", "1023", "1023");
        writes("1000", "1000", "1k", "1k");
        writes("1025", "1025", "1025", "1025");
        writes("2Ei", "2305843009213693952", "2305843009213693952", "2Ei");
        writes("1.000000001", "1000000001n", "1000000001n", "1000000001n");
        writes("2048.5", "2048500m", "2048500m", "2048500m");
        writes("1u", "1u", "1u", "1u");
    }

    #[test]
    fn signs_and_zero_are_written_plainly() {
        writes("0Ki", "0", "0", "0");
        writes("-0", "0", "0", "0");
        writes("+5", "5", "5", "5");
        writes("-1500m", "-1500m", "-1500m", "-1500m");
        writes("-2Mi", "-2097152", "-2097152", "-2Mi");
    }

    #[test]
    fn what_exceeds_exa_gets_an_exponent_and_what_exceeds_i64_no_binary_suffix() {
        writes("1E", "1000000000000000000", "1E", "976562500000000Ki");
        writes("1000E", "1000000000000000000000", "1e21", "1e21");
        let zebi = "1180591620717411303424";
        writes(zebi, zebi, zebi, zebi);
    }

    #[test]
    fn bytes_are_binary_and_counts_are_plain() {
        for name in ["memory", "ephemeral-storage", "hugepages-2Mi", "hugepages-1Gi"] {
            assert_eq!(Format::of(name), Format::BinarySi, "{name}");
        }
        for name in ["cpu", "pods", "nvidia.com/gpu", "example.com/memory"] {
            assert_eq!(Format::of(name), Format::Plain, "{name}");
        }
    }

    #[test]
    fn width_and_alignment_are_kept_for_tables() {
        assert_eq!(format!("{:>6}|", Quantity::from_milli(1500)), " 1500m|");
    }

    proptest! {
        #[test]
        fn whatever_is_written_reads_back_the_same(
            nanos in prop_oneof![
                any::<i128>(),
                any::<i64>().prop_map(|units| i128::from(units) * NANOS_PER_UNIT),
                (any::<i32>(), 0u32..29).prop_map(|(n, zeros)| i128::from(n) * 10i128.pow(zeros)),
                (any::<i32>(), 0u32..60).prop_map(|(n, bits)| (i128::from(n) << bits) * NANOS_PER_UNIT),
            ],
        ) {
            let quantity = Quantity::from_nanos(nanos);
            for format in [Format::Plain, Format::DecimalSi, Format::BinarySi] {
                let text = quantity.format(format);
                prop_assert_eq!(text.parse(), Ok(quantity), "{:?} {}", format, text);
            }
        }
    }
}
