//! The four number types and how they widen when they meet: int, long, double, decimal.

use bindery_document::{Decimal, Kind, Value};

use super::decimal::text::{from_f64_15, from_i128};

/// A number of any type.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Int(i32),
    Long(i64),
    Double(f64),
    Decimal(Decimal),
}

/// The widest type among operands; results have it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Width {
    Int,
    Long,
    Double,
    Decimal,
}

impl Number {
    #[inline]
    pub(crate) fn of(value: &Value<'_>) -> Option<Number> {
        match value {
            Value::Int32(n) => Some(Number::Int(*n)),
            Value::Int64(n) => Some(Number::Long(*n)),
            Value::Double(d) => Some(Number::Double(*d)),
            Value::Decimal128(d) => Some(Number::Decimal(*d)),
            _ => None,
        }
    }

    /// The number in a value's bytes.
    #[inline(always)]
    pub(crate) fn of_bytes(kind: Kind, bytes: &[u8]) -> Option<Number> {
        match kind {
            Kind::Double => Some(Number::Double(f64::from_le_bytes(bytes.try_into().ok()?))),
            Kind::Int32 => Some(Number::Int(i32::from_le_bytes(bytes.try_into().ok()?))),
            Kind::Int64 => Some(Number::Long(i64::from_le_bytes(bytes.try_into().ok()?))),
            Kind::Decimal128 => Some(Number::Decimal(Decimal::from_bytes(bytes.try_into().ok()?))),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn width(self) -> Width {
        match self {
            Number::Int(_) => Width::Int,
            Number::Long(_) => Width::Long,
            Number::Double(_) => Width::Double,
            Number::Decimal(_) => Width::Decimal,
        }
    }

    #[inline]
    pub(crate) fn to_f64(self) -> f64 {
        match self {
            Number::Int(n) => f64::from(n),
            Number::Long(n) => n as f64,
            Number::Double(d) => d,
            Number::Decimal(d) => d.to_f64(),
        }
    }

    /// As a decimal; doubles are rounded to fifteen digits.
    pub(crate) fn to_decimal(self) -> Decimal {
        match self {
            Number::Int(n) => Decimal::from_i64(i64::from(n)),
            Number::Long(n) => Decimal::from_i64(n),
            Number::Double(d) => from_f64_15(d),
            Number::Decimal(d) => d,
        }
    }

    /// The integer of an int or a long.
    #[inline]
    pub(crate) fn integer(self) -> Option<i64> {
        match self {
            Number::Int(n) => Some(i64::from(n)),
            Number::Long(n) => Some(n),
            _ => None,
        }
    }

    #[inline]
    pub(crate) fn is_nan(self) -> bool {
        match self {
            Number::Double(d) => d.is_nan(),
            Number::Decimal(d) => d.is_nan(),
            _ => false,
        }
    }
}

impl From<Number> for Value<'_> {
    #[inline]
    fn from(number: Number) -> Self {
        match number {
            Number::Int(n) => Value::Int32(n),
            Number::Long(n) => Value::Int64(n),
            Number::Double(d) => Value::Double(d),
            Number::Decimal(d) => Value::Decimal128(d),
        }
    }
}

/// An integer result: an int if both the operands were and it fits, a long if it fits, else a double.
#[inline]
pub(crate) fn integer_result(n: i128, width: Width) -> Number {
    if width == Width::Int
        && let Ok(int) = i32::try_from(n)
    {
        return Number::Int(int);
    }
    match i64::try_from(n) {
        Ok(long) => Number::Long(long),
        Err(_) => Number::Double(n as f64),
    }
}

/// The decimal nearest to an integer of 128 bits.
pub(crate) fn decimal_of(n: i128) -> Decimal {
    from_i128(n)
}
