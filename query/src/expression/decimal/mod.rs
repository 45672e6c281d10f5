//! Arithmetic of decimal128 as IEEE 754-2008 defines it, which MongoDB follows.
//!
//! Sums, products, quotients, remainders and roundings are exact and then rounded once, half to even, with
//! the standard's preferred exponents (1.10 + 2.2000 is 3.3000). Intermediate results are 256-bit integers.
//! [`elementary`] and [`trigonometric`] have the functions that have no exact result, which [`quad`] evaluates, [`power`]
//! has powers, and [`text`] conversions from and to text and doubles.

pub(crate) mod arithmetic;
pub(crate) mod elementary;
mod exponential;
mod fraction;
pub(crate) mod power;
mod quad;
pub(crate) mod text;
pub(crate) mod trigonometric;

use bindery_document::{Decimal, DecimalClass};

/// The largest coefficient: 34 nines.
pub(crate) const COEFFICIENT_MAX: u128 = 10u128.pow(34) - 1;
/// The least exponent.
pub(crate) const EXPONENT_MIN: i32 = -6176;
/// The greatest exponent.
pub(crate) const EXPONENT_MAX: i32 = 6111;

/// Not a number.
pub(crate) fn nan() -> Decimal {
    Decimal::from_bytes((0x1Fu128 << 122).to_le_bytes())
}

/// An infinity.
pub(crate) fn infinity(negative: bool) -> Decimal {
    Decimal::from_bytes(((u128::from(negative) << 127) | (0x1Eu128 << 122)).to_le_bytes())
}

/// A finite number whose parts are known to fit.
pub(crate) fn finite(negative: bool, coefficient: u128, exponent: i32) -> Decimal {
    let exponent = exponent.clamp(EXPONENT_MIN, EXPONENT_MAX);
    Decimal::from_parts(negative, coefficient.min(COEFFICIENT_MAX), exponent).unwrap_or_else(nan)
}

/// Whether the sign bit is set.
pub(crate) fn is_negative(decimal: Decimal) -> bool {
    match decimal.class() {
        DecimalClass::NaN => false,
        DecimalClass::Infinite(negative) | DecimalClass::Finite { negative, .. } => negative,
    }
}

/// The same number with the other sign.
pub(crate) fn negate(decimal: Decimal) -> Decimal {
    Decimal::from_bytes((u128::from_le_bytes(decimal.to_bytes()) ^ (1 << 127)).to_le_bytes())
}

/// The same number without its sign.
pub(crate) fn abs(decimal: Decimal) -> Decimal {
    Decimal::from_bytes((u128::from_le_bytes(decimal.to_bytes()) & !(1 << 127)).to_le_bytes())
}
