//! Decimal128 as a sign, a coefficient and an exponent, and its exact comparison with other numbers.
//!
//! Only what the total order needs is here; arithmetic belongs to the expression language. The
//! layout is IEEE 754-2008 decimal128 in its binary integer coefficient form, as BSON stores it.

use std::cmp::Ordering;
use std::fmt;

/// The largest coefficient: 34 nines.
const COEFFICIENT_MAX: u128 = 10u128.pow(34) - 1;
/// The exponent that biased zero stands for.
const EXPONENT_BIAS: i32 = 6176;

/// The sixteen bytes of a decimal128.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Decimal {
    bits: u128,
}

/// What a decimal128 stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecimalClass {
    /// Not a number.
    NaN,
    /// An infinity; `true` for the negative one.
    Infinite(bool),
    /// (-1)^negative * coefficient * 10^exponent.
    Finite {
        /// The sign.
        negative: bool,
        /// At most 34 digits.
        coefficient: u128,
        /// -6176 to 6111.
        exponent: i32,
    },
}

impl Decimal {
    /// From BSON's little-endian bytes; every pattern is legal.
    #[inline]
    pub fn from_bytes(bytes: [u8; 16]) -> Decimal {
        Decimal { bits: u128::from_le_bytes(bytes) }
    }

    /// BSON's little-endian bytes.
    pub fn to_bytes(self) -> [u8; 16] {
        self.bits.to_le_bytes()
    }

    /// A finite decimal; `None` if the coefficient has over 34 digits or the exponent is out of range.
    pub fn from_parts(negative: bool, coefficient: u128, exponent: i32) -> Option<Decimal> {
        if coefficient > COEFFICIENT_MAX || !(-EXPONENT_BIAS..=6111).contains(&exponent) {
            return None;
        }
        let biased = (exponent + EXPONENT_BIAS) as u128;
        Some(Decimal { bits: (u128::from(negative) << 127) | (biased << 113) | coefficient })
    }

    /// From an integer, exactly.
    pub fn from_i64(n: i64) -> Decimal {
        let bits = (u128::from(n < 0) << 127) | ((EXPONENT_BIAS as u128) << 113) | u128::from(n.unsigned_abs());
        Decimal { bits }
    }

    /// What the bits stand for. Non-canonical coefficients are zero, as the standard says.
    pub fn class(self) -> DecimalClass {
        let negative = self.bits >> 127 == 1;
        let combination = (self.bits >> 122) & 0x1F;
        if combination == 0x1F {
            return DecimalClass::NaN;
        }
        if combination == 0x1E {
            return DecimalClass::Infinite(negative);
        }
        // A leading 11 announces coefficients that do not fit 34 digits.
        let (biased, coefficient) = if combination >> 3 == 3 {
            ((self.bits >> 111) & 0x3FFF, 0)
        } else {
            let coefficient = self.bits & ((1u128 << 113) - 1);
            ((self.bits >> 113) & 0x3FFF, if coefficient > COEFFICIENT_MAX { 0 } else { coefficient })
        };
        DecimalClass::Finite { negative, coefficient, exponent: biased as i32 - EXPONENT_BIAS }
    }

    /// Whether it is not a number.
    pub fn is_nan(self) -> bool {
        self.class() == DecimalClass::NaN
    }

    /// Whether it is zero, of any sign and exponent.
    pub fn is_zero(self) -> bool {
        matches!(self.class(), DecimalClass::Finite { coefficient: 0, .. })
    }

    /// The integer it stands for, if it is one of 64 bits.
    pub fn as_exact_i64(self) -> Option<i64> {
        let DecimalClass::Finite { negative, mut coefficient, mut exponent } = self.class() else {
            return None;
        };
        while exponent < 0 && coefficient != 0 {
            if coefficient % 10 != 0 {
                return None;
            }
            coefficient /= 10;
            exponent += 1;
        }
        if coefficient == 0 {
            return Some(0);
        }
        let magnitude = coefficient.checked_mul(10u128.checked_pow(u32::try_from(exponent).ok()?)?)?;
        let magnitude = i128::try_from(magnitude).ok()?;
        i64::try_from(if negative { -magnitude } else { magnitude }).ok()
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        match self.class() {
            DecimalClass::NaN => f64::NAN,
            DecimalClass::Infinite(true) => f64::NEG_INFINITY,
            DecimalClass::Infinite(false) => f64::INFINITY,
            DecimalClass::Finite { negative, coefficient, exponent } => {
                // The standard library rounds decimal text correctly, so it does the hard part.
                let magnitude: f64 = format!("{coefficient}e{exponent}").parse().unwrap_or(0.0);
                if negative { -magnitude } else { magnitude }
            }
        }
    }

    /// Compares two decimals by value; NaN is below everything and equal to itself.
    pub fn compare(self, other: Decimal) -> Ordering {
        use DecimalClass::{Finite, Infinite, NaN};
        match (self.class(), other.class()) {
            (NaN, NaN) => Ordering::Equal,
            (NaN, _) => Ordering::Less,
            (_, NaN) => Ordering::Greater,
            (Infinite(a), Infinite(b)) => b.cmp(&a),
            (Infinite(negative), Finite { .. }) => {
                if negative {
                    Ordering::Less
                } else {
                    Ordering::Greater
                }
            }
            (Finite { .. }, Infinite(negative)) => {
                if negative {
                    Ordering::Greater
                } else {
                    Ordering::Less
                }
            }
            (
                Finite { negative: n1, coefficient: c1, exponent: e1 },
                Finite { negative: n2, coefficient: c2, exponent: e2 },
            ) => compare_signed(n1, normalize(c1, e1), n2, normalize(c2, e2)),
        }
    }

    /// Compares with a double by exact value; NaN as in [`Decimal::compare`].
    pub fn compare_f64(self, other: f64) -> Ordering {
        if other.is_nan() {
            return if self.is_nan() { Ordering::Equal } else { Ordering::Greater };
        }
        if self.is_nan() {
            return Ordering::Less;
        }
        let nearest = self.to_f64();
        // Rounding is monotonic, so a difference after rounding is a difference before.
        match nearest.partial_cmp(&other) {
            Some(Ordering::Equal) if other != 0.0 && other.is_finite() => self.compare_exact(other),
            Some(Ordering::Equal) if other == 0.0 => self.compare_zero(),
            Some(Ordering::Equal) => self.compare_infinite(other),
            Some(order) => order,
            None => Ordering::Equal,
        }
    }

    /// The comparison with zero: a decimal may round to zero as a double and yet not be zero.
    fn compare_zero(self) -> Ordering {
        match self.class() {
            DecimalClass::Finite { coefficient: 0, .. } => Ordering::Equal,
            DecimalClass::Finite { negative: true, .. } => Ordering::Less,
            _ => Ordering::Greater,
        }
    }

    /// The comparison with an infinity: a large decimal may round to one and yet be finite.
    fn compare_infinite(self, other: f64) -> Ordering {
        match (self.class(), other > 0.0) {
            (DecimalClass::Infinite(_), _) => Ordering::Equal,
            (_, true) => Ordering::Less,
            (_, false) => Ordering::Greater,
        }
    }

    /// Compares with a double through the double's exact decimal digits.
    fn compare_exact(self, other: f64) -> Ordering {
        let DecimalClass::Finite { negative, coefficient, exponent } = self.class() else {
            return Ordering::Equal;
        };
        let (digits, scale) = exact_digits(other.abs());
        let mine = coefficient.to_string();
        let mine_digits = mine.trim_end_matches('0');
        // Both as 0.d1d2d3... * 10^scale, without trailing zeros.
        let my_scale = mine.len() as i32 + exponent;
        let magnitude = my_scale.cmp(&scale).then_with(|| mine_digits.cmp(digits.as_str()));
        if negative { magnitude.reverse() } else { magnitude }
    }
}

/// The exact decimal digits of a positive double as 0.d1d2... * 10^scale, without trailing zeros.
fn exact_digits(value: f64) -> (String, i32) {
    // 767 significant digits are the most that a double needs.
    let text = format!("{value:.780e}");
    let (mantissa, exponent) = text.split_once('e').unwrap_or((&text, "0"));
    let digits: String = mantissa.chars().filter(char::is_ascii_digit).collect();
    (digits.trim_end_matches('0').to_owned(), exponent.parse::<i32>().unwrap_or(0) + 1)
}

/// Scales a coefficient to exactly 34 digits, so that the exponent alone decides between unequal ones.
/// Zero gives the least exponent.
pub(crate) fn normalize(mut coefficient: u128, mut exponent: i32) -> (i32, u128) {
    if coefficient == 0 {
        return (i32::MIN, 0);
    }
    while coefficient <= COEFFICIENT_MAX / 10 {
        coefficient *= 10;
        exponent -= 1;
    }
    (exponent, coefficient)
}

fn compare_signed(n1: bool, m1: (i32, u128), n2: bool, m2: (i32, u128)) -> Ordering {
    let zero = |m: (i32, u128)| m.1 == 0;
    match (n1 && !zero(m1), n2 && !zero(m2)) {
        (false, false) => m1.cmp(&m2),
        (true, true) => m2.cmp(&m1),
        (true, false) => Ordering::Less,
        (false, true) => Ordering::Greater,
    }
}

impl Decimal {
    /// For a finite value that is not zero: exponent and coefficient scaled to exactly 34 digits.
    /// Equal values give equal pairs, and greater magnitudes greater pairs.
    pub fn normalized(self) -> Option<(i32, u128)> {
        match self.class() {
            DecimalClass::Finite { coefficient, exponent, .. } if coefficient != 0 => {
                Some(normalize(coefficient, exponent))
            }
            _ => None,
        }
    }
}

impl fmt::Debug for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&bson::Decimal128::from_bytes(self.to_bytes()), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Decimal {
        Decimal::from_bytes(text.parse::<bson::Decimal128>().expect("decimal").bytes())
    }

    #[test]
    fn decimals_compare_by_value_not_by_digits() {
        assert_eq!(decimal("1.0").compare(decimal("1.00")), Ordering::Equal);
        assert_eq!(decimal("-2").compare(decimal("1")), Ordering::Less);
        assert_eq!(decimal("0E+3").compare(decimal("-0")), Ordering::Equal);
        assert_eq!(decimal("NaN").compare(decimal("-Infinity")), Ordering::Less);
        assert_eq!(decimal("9999999999999999999999999999999999E6111").compare(decimal("Infinity")), Ordering::Less);
    }

    #[test]
    fn doubles_compare_exactly() {
        assert_eq!(decimal("0.1").compare_f64(0.1), Ordering::Less);
        assert_eq!(decimal("0.5").compare_f64(0.5), Ordering::Equal);
        assert_eq!(decimal("1E-400").compare_f64(0.0), Ordering::Greater);
        assert_eq!(decimal("-1E-400").compare_f64(0.0), Ordering::Less);
        assert_eq!(decimal("1E400").compare_f64(f64::INFINITY), Ordering::Less);
        assert_eq!(decimal("9007199254740993").compare_f64(9_007_199_254_740_992.0), Ordering::Greater);
        assert_eq!(decimal("NaN").compare_f64(f64::NAN), Ordering::Equal);
    }

    #[test]
    fn integers_come_back_exactly() {
        assert_eq!(decimal("1.50E1").as_exact_i64(), Some(15));
        assert_eq!(decimal("1.5").as_exact_i64(), None);
        assert_eq!(decimal("-9223372036854775808").as_exact_i64(), Some(i64::MIN));
        assert_eq!(decimal("9223372036854775808").as_exact_i64(), None);
        assert_eq!(Decimal::from_i64(-7).compare(decimal("-7")), Ordering::Equal);
    }
}
