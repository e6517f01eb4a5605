//! The exact values of JSON numbers, whose parsed form may have other digits.

/// The exact value of a JSON number: its significant digits times a power of ten.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    /// Without leading and trailing zeros; empty for zero.
    digits: String,
    exponent: i64,
}

impl Decimal {
    /// Reads the text of a valid JSON number.
    pub(super) fn read(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let all = format!("{}{fraction}", whole.trim_start_matches('-'));
        let all = all.trim_start_matches('0');
        let digits = all.trim_end_matches('0');
        // An exponent beyond 64 bits is far outside every range.
        let exponent = exponent.parse().unwrap_or(match exponent.starts_with('-') {
            true => i64::MIN / 2,
            false => i64::MAX / 2,
        });
        if digits.is_empty() {
            return Self {
                negative: false,
                digits: String::new(),
                exponent: 0,
            };
        }
        let shift = all.len() as i64 - digits.len() as i64 - fraction.len() as i64;
        Self {
            negative: whole.starts_with('-'),
            digits: digits.to_owned(),
            exponent: exponent.saturating_add(shift),
        }
    }

    /// The number of significant digits.
    pub(super) fn significant_digits(&self) -> usize {
        self.digits.len()
    }

    /// The value, if it is a whole number of at most 64 bits that is not negative.
    pub(super) fn whole(&self) -> Option<u64> {
        let factor = 10_u64.checked_pow(u32::try_from(self.exponent).ok()?)?;
        match self.digits.as_str() {
            "" => Some(0),
            _ if self.negative => None,
            digits => digits.parse::<u64>().ok()?.checked_mul(factor),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_with_the_same_value_are_equal_in_any_form() {
        let equal = [
            ["120", "1.2e2"],
            ["120", "120.000"],
            ["120", "12E+1"],
            ["-0.5", "-5e-1"],
            ["0", "-0.0e7"],
            ["100000000000000000000", "1e20"],
        ];
        for [one, other] in equal {
            assert_eq!(Decimal::read(one), Decimal::read(other), "{one} {other}");
        }
        let different = [
            ["9007199254740993", "9007199254740992.0"],
            ["1", "-1"],
            ["1e-400", "0"],
            ["12", "1.2"],
            ["1e99999999999999999999", "1e-99999999999999999999"],
        ];
        for [one, other] in different {
            assert_ne!(Decimal::read(one), Decimal::read(other), "{one} {other}");
        }
    }

    #[test]
    fn whole_values_are_read_exactly_in_any_form() {
        let cases = [
            ("1795829037939.0", Some(1_795_829_037_939)),
            ("1.2e2", Some(120)),
            ("0e-9", Some(0)),
            ("18446744073709551615.0", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("1e19", Some(10_000_000_000_000_000_000)),
            ("1e20", None),
            ("123456789012.00000001", None),
            ("1e-1", None),
            ("-1", None),
            ("1e99999999999999999999", None),
        ];
        for (text, whole) in cases {
            assert_eq!(Decimal::read(text).whole(), whole, "{text}");
        }
    }
}
