//! Decimals from and to text, doubles and integers.

use bindery_document::{Decimal, DecimalClass};
use ethnum::U256;

use super::arithmetic::{Rounding, round, to_integral};
use super::{COEFFICIENT_MAX, finite, infinity, nan};

/// The text of a decimal: plain where the exponent is at most zero and the number is not tiny, else scientific
/// (IEEE 754-2008's to-scientific-string, as the BSON specification asks for).
pub(crate) fn format(decimal: Decimal) -> String {
    let (negative, coefficient, exponent) = match decimal.class() {
        DecimalClass::NaN => return "NaN".to_owned(),
        DecimalClass::Infinite(false) => return "Infinity".to_owned(),
        DecimalClass::Infinite(true) => return "-Infinity".to_owned(),
        DecimalClass::Finite { negative, coefficient, exponent } => (negative, coefficient, exponent),
    };
    let digits = coefficient.to_string();
    let sign = if negative { "-" } else { "" };
    let scientific = digits.len() as i32 - 1 + exponent;
    if exponent > 0 || scientific < -6 {
        let (first, rest) = digits.split_at(1);
        let point = if rest.is_empty() { "" } else { "." };
        return format!("{sign}{first}{point}{rest}E{scientific:+}");
    }
    let fraction = exponent.unsigned_abs() as usize;
    if fraction == 0 {
        return format!("{sign}{digits}");
    }
    let padded = format!("{digits:0>width$}", width = fraction + 1);
    let (whole, fraction) = padded.split_at(padded.len() - fraction);
    format!("{sign}{whole}.{fraction}")
}

/// What a text says, before it is rounded.
enum Scanned {
    /// An infinity, or not a number.
    Special(Decimal),
    /// The coefficient of the first so many digits, and whether the digits after them are all 0.
    Number { negative: bool, coefficient: U256, exponent: i32, inexact: bool },
}

/// Reads the text of a decimal, of which so many digits count; `None` if it is none.
fn scan(text: &str, digits: u32) -> Option<Scanned> {
    let (negative, rest) = match text.as_bytes().first()? {
        b'-' => (true, &text[1..]),
        b'+' => (false, &text[1..]),
        _ => (false, text),
    };
    match rest.to_ascii_lowercase().as_str() {
        "nan" => return Some(Scanned::Special(nan())),
        "inf" | "infinity" => return Some(Scanned::Special(infinity(negative))),
        _ => {}
    }
    let (mantissa, exponent) = match rest.find(['e', 'E']) {
        Some(at) => {
            let digits = &rest[at + 1..];
            let unsigned = digits.strip_prefix(['+', '-']).unwrap_or(digits);
            if unsigned.is_empty() || !unsigned.bytes().all(|b| b.is_ascii_digit()) {
                return None;
            }
            // Beyond a million the exponent decides alone; saturate.
            let magnitude = unsigned.parse::<i64>().unwrap_or(i64::MAX).min(1_000_000) as i32;
            (&rest[..at], if digits.starts_with('-') { -magnitude } else { magnitude })
        }
        None => (rest, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    if whole.is_empty() && fraction.is_empty() {
        return None;
    }
    let bound = U256::new(10).pow(digits - 1);
    let (mut coefficient, mut dropped, mut inexact) = (U256::ZERO, 0i32, false);
    for digit in whole.bytes().chain(fraction.bytes()) {
        if !digit.is_ascii_digit() {
            return None;
        }
        let digit = u128::from(digit - b'0');
        if coefficient < bound {
            coefficient = coefficient * U256::new(10) + U256::new(digit);
        } else {
            dropped = dropped.saturating_add(1);
            inexact |= digit != 0;
        }
    }
    let exponent = exponent.saturating_sub(i32::try_from(fraction.len()).unwrap_or(i32::MAX)).saturating_add(dropped);
    Some(Scanned::Number { negative, coefficient, exponent, inexact })
}

/// Reads a decimal; `None` if the text is none. More than 34 digits are rounded half to even.
pub(crate) fn parse(text: &str) -> Option<Decimal> {
    // Some 70 digits decide every rounding to 34, the rest only whether it is exact.
    Some(match scan(text, 71)? {
        Scanned::Special(decimal) => decimal,
        Scanned::Number { negative, coefficient, exponent, inexact } => round(negative, coefficient, exponent, inexact),
    })
}

/// Reads a decimal as MongoDB does when it converts a string: digits after the 34th are cut off. `None` if the text is
/// no decimal, too great for one, or so small that digits are lost for that.
pub(crate) fn parse_cut(text: &str) -> Option<Decimal> {
    match scan(text, 34)? {
        Scanned::Special(decimal) => Some(decimal),
        Scanned::Number { negative, coefficient, exponent, inexact } => {
            let decimal = round(negative, coefficient, exponent, false);
            let is_kept = match decimal.class() {
                DecimalClass::Infinite(_) | DecimalClass::NaN => false,
                // Of a number that is too small for 34 digits nothing may get lost.
                DecimalClass::Finite { exponent: rounded, .. } if rounded > exponent => {
                    let lost = rounded.abs_diff(exponent);
                    !inexact
                        && (coefficient == U256::ZERO
                            || lost < 34 && coefficient % U256::new(10).pow(lost) == U256::ZERO)
                }
                DecimalClass::Finite { .. } => true,
            };
            is_kept.then_some(decimal)
        }
    }
}

/// The double rounded to fifteen digits, all of them written: what MongoDB makes of a double that meets a
/// decimal in arithmetic, and `$toDecimal`.
pub(crate) fn from_f64_15(x: f64) -> Decimal {
    if x == 0.0 {
        return finite(x.is_sign_negative(), 0, 0);
    }
    from_scientific(x, &format!("{:.14e}", x.abs()))
}

/// The double's exact value, rounded to 34 digits: what sums of doubles become beside decimals.
pub(crate) fn from_f64_34(x: f64) -> Decimal {
    if x == 0.0 {
        return finite(x.is_sign_negative(), 0, 0);
    }
    if !x.is_finite() {
        return from_scientific(x, "");
    }
    // Doubles have at most 767 digits; without a fraction all are before the point.
    let exact = format!("{:.1100}", x.abs());
    let trimmed = exact.trim_end_matches('0').trim_end_matches('.');
    let decimal = parse(trimmed).unwrap_or_else(nan);
    if x < 0.0 { super::negate(decimal) } else { decimal }
}

fn from_scientific(x: f64, text: &str) -> Decimal {
    if x.is_nan() {
        return nan();
    }
    if x.is_infinite() {
        return infinity(x < 0.0);
    }
    let decimal = parse(text).unwrap_or_else(nan);
    if x < 0.0 { super::negate(decimal) } else { decimal }
}

/// The integer part, if it fits 64 bits.
pub(crate) fn to_i64(decimal: Decimal, mode: Rounding) -> Option<i64> {
    to_integral(decimal, mode).as_exact_i64()
}

/// From an integer of 128 bits, rounded if it has over 34 digits.
pub(crate) fn from_i128(n: i128) -> Decimal {
    let magnitude = n.unsigned_abs();
    if magnitude <= COEFFICIENT_MAX {
        finite(n < 0, magnitude, 0)
    } else {
        round(n < 0, U256::new(magnitude), 0, false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn doubles_become_fifteen_digits_or_their_exact_value() {
        for (x, short, long) in [
            (0.5, "0.500000000000000", "0.5"),
            (1.0, "1.00000000000000", "1"),
            (123_456_789.125, "123456789.125000", "123456789.125"),
            (1e22, "1.00000000000000E+22", "10000000000000000000000"),
            (1e-7, "1.00000000000000E-7", "9.999999999999999547481118258862587E-8"),
            (5e-324, "4.94065645841247E-324", "4.940656458412465441765687928682214E-324"),
            (f64::MAX, "1.79769313486232E+308", "1.797693134862315708145274237317044E+308"),
            (-0.1, "-0.100000000000000", "-0.1000000000000000055511151231257827"),
        ] {
            assert_eq!(format(from_f64_15(x)), short);
            assert_eq!(format(from_f64_34(x)), long);
        }
    }

    #[test]
    fn text_comes_back() {
        for text in ["0", "-0.00", "1E+3", "1.50", "NaN", "-Infinity", "0.000001", "1E-7", "1.23E+10", "0E-6176"] {
            assert_eq!(format(parse(text).expect("decimal")), text);
        }
        for (text, expected) in [
            ("11111111111111111111111111111111115", Some("1.111111111111111111111111111111111E+34")),
            ("1111111111111111111111111111111112500001", Some("1.111111111111111111111111111111112E+39")),
            ("9.9999999999999999999999999999999999E+6144", Some("9.999999999999999999999999999999999E+6144")),
            ("10E+6144", None),
            ("1.0E-6176", Some("1E-6176")),
            ("1001E-6179", None),
            ("0.5E-6176", None),
            ("9.9999999999999999999999999999999999E-6144", None),
            ("9.9999999999999999999999999999999999E-6143", Some("9.999999999999999999999999999999999E-6143")),
            ("0E-9000", Some("0E-6176")),
            ("0E+9000", Some("0E+6111")),
            ("-inf", Some("-Infinity")),
            ("1e", None),
        ] {
            assert_eq!(parse_cut(text).map(format).as_deref(), expected, "{text}");
        }
        for bad in ["", "x", "1e", ".", "1.2.3", "--1", "1 ", "0x10"] {
            assert!(parse(bad).is_none(), "{bad}");
        }
    }
}
